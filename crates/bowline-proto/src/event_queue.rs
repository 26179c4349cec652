//! What waits to be told to the driver, and how much that may be.

use std::collections::VecDeque;

use crate::calls::CallId;
use crate::defect::{self, Defect};
use crate::outcome::{Outcome, Sent};

/// What an event costs beside its payload.
const EVENT: usize = 128;

/// Something that waits to be told.
pub(crate) trait EventPayload {
    /// Bytes of payload that it holds.
    fn payload_len(&self) -> usize;
}

/// An event of one of the two sides.
pub(crate) trait EndpointEvent: EventPayload {
    /// A call of ours has ended.
    fn ended(call: CallId, outcome: Outcome, sent: Sent) -> Self;
}

/// Events in their order, and their weight.
#[derive(Debug)]
pub(crate) struct EventQueue<E> {
    queue: VecDeque<E>,
    weight: usize,
    /// What waits elsewhere and came from here.
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

    /// Whether more may be read. Outcomes are bounded by the calls that wait, and the rest
    /// by this.
    pub(crate) fn has_room(&self) -> bool {
        let weight = self.weight.saturating_add(self.outer_backlog);
        weight <= self.limit || defect::is(Defect::UnboundedEvents)
    }

    /// Counts what was taken and waits elsewhere. Whether that is less than before.
    pub(crate) fn set_outer_backlog(&mut self, weight: usize) -> bool {
        std::mem::replace(&mut self.outer_backlog, weight) > weight
    }

    /// Gives back what is only kept to be used again.
    pub(crate) fn shrink(&mut self) {
        self.queue.shrink_to_fit();
    }

    /// What waits.
    pub(crate) fn weight(&self) -> usize {
        self.weight
    }
}
