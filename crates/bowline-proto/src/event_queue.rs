//! The queue of events for the driver, and its limit.

use std::collections::VecDeque;

use crate::calls::CallId;
use crate::defect::{self, Defect};
use crate::outcome::{Outcome, Sent};

/// Bytes that an event costs beside its payload.
const EVENT: usize = 128;

/// An event that can be queued.
pub(crate) trait EventPayload {
    /// Returns the number of bytes of payload that it holds.
    fn payload_len(&self) -> usize;
}

/// An event of an endpoint, of either side.
pub(crate) trait EndpointEvent: EventPayload {
    /// Creates the event of a call that has ended.
    fn ended(call: CallId, outcome: Outcome, sent: Sent) -> Self;
}

/// Events in their order, and their weight.
#[derive(Debug)]
pub(crate) struct EventQueue<E> {
    queue: VecDeque<E>,
    weight: usize,
    /// The weight of events that were taken from here and wait elsewhere.
    outer_backlog: usize,
    limit: usize,
}

impl<E: EventPayload> EventQueue<E> {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            queue: VecDeque::new(),
            weight: 0,
            outer_backlog: 0,
            limit,
        }
    }

    pub(crate) fn push(&mut self, event: E) {
        self.weight += EVENT + event.payload_len();
        self.queue.push_back(event);
    }

    pub(crate) fn pop(&mut self) -> Option<E> {
        let event = self.queue.pop_front()?;
        self.weight = self.weight.saturating_sub(EVENT + event.payload_len());
        Some(event)
    }

    /// Returns `true` if more may be read. Outcomes are bounded by the calls that wait, and the
    /// rest by this.
    pub(crate) fn has_room(&self) -> bool {
        let weight = self.weight.saturating_add(self.outer_backlog);
        weight <= self.limit || defect::is(Defect::UnboundedEvents)
    }

    /// Sets the weight of events that were taken and wait elsewhere. Returns `true` if it is less
    /// than before.
    pub(crate) fn set_outer_backlog(&mut self, weight: usize) -> bool {
        std::mem::replace(&mut self.outer_backlog, weight) > weight
    }

    /// Releases memory that is only kept for reuse.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.queue.shrink_to_fit();
    }

    /// Returns the weight of the queued events.
    pub(crate) fn weight(&self) -> usize {
        self.weight
    }
}
