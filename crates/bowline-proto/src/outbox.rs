//! The outgoing queue: bounded, first in first out.
//!
//! The order on the wire is the order of the commands. Calls and notifications are refused
//! when the queue is full; responses are always queued, and reading stops when there are too many
//! of them. Queued messages can be removed again.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};

use crate::calls::CallId;
use crate::config::Carrier;
use crate::defect::{self, Defect};
use crate::monotonic_table::MonotonicTable;
use crate::time::Instant;

/// A stream of the driver, on a carrier with a stream per request: the driver chooses the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(u64);

impl StreamId {
    /// Creates the stream of this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns its number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// A message for the driver to send: head, shared body and tail, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transmit {
    /// The kind of the message.
    pub kind: TransmitKind,
    /// The stream of the message: that of the request that it answers or relates to. `None` on a
    /// shared stream, and for messages without a related request.
    pub stream: Option<StreamId>,
    /// The part that differs from one attempt to the next: the id, `_meta`.
    pub head: Bytes,
    /// The part that is the same. Shared with the call that keeps it for another attempt.
    pub body: Bytes,
    /// The end of the message.
    pub tail: Bytes,
    /// The HTTP status of the response to a single request: 200, but for an error that has a status
    /// of its own. Only the first message of a stream can have one.
    pub status: u16,
    /// Its place in the queue, to which it can be returned.
    pub(crate) slot: Slot,
}

impl Transmit {
    /// Returns the number of bytes altogether.
    pub fn len(&self) -> usize {
        self.head.len() + self.body.len() + self.tail.len()
    }

    /// Returns the number of bytes of the frame, without the headers before it and the line end
    /// behind it.
    pub(crate) fn frame_len(&self) -> usize {
        let headers = self.head.iter().position(|byte| *byte == b'{').unwrap_or(0);
        let line_end = usize::from(self.tail.ends_with(b"\n"));
        self.len() - headers - line_end
    }

    /// Appends the frame, without the headers before it and the line end behind it.
    pub(crate) fn append_frame_to(&self, out: &mut Vec<u8>) {
        let headers = self.head.iter().position(|byte| *byte == b'{').unwrap_or(0);
        out.extend_from_slice(self.head.get(headers..).unwrap_or_default());
        out.extend_from_slice(&self.body);
        out.extend_from_slice(self.tail.strip_suffix(b"\n").unwrap_or(&self.tail));
    }

    /// Returns `true` if the protocol requires the message: a response, a cancellation, a part of
    /// the handshake.
    pub(crate) fn is_owed(&self) -> bool {
        match self.slot.account {
            Account::Own => false,
            Account::Responses | Account::Nothing => true,
        }
    }

    /// Returns `true` if there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the message in one piece. Copies; a driver writes the parts instead.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&*self.head, &*self.body, &*self.tail].concat()
    }

    /// Appends the message: cheaper than three writes when it is small.
    pub fn append_to(&self, out: &mut BytesMut) {
        out.reserve(self.len());
        for part in [&self.head, &self.body, &self.tail] {
            out.extend_from_slice(part);
        }
    }
}

/// The kind of a [`Transmit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransmitKind {
    /// One of our calls. On a carrier with a stream per request it opens its stream.
    Call(CallId),
    /// A notification.
    Notification,
    /// The response to a request of the peer.
    Response,
    /// Nothing to write: the stream of this call is closed, which cancels it.
    Reset(CallId),
}

/// The limits of the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutboxLimits {
    /// Messages of our own.
    pub(crate) messages: usize,
    /// Their bytes.
    pub(crate) bytes: usize,
    /// Responses, beyond which reading stops.
    pub(crate) responses: usize,
}

/// A place in the queue, by which a message can be removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

/// The queue's data of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slot {
    ticket: Ticket,
    account: Account,
    /// The number of failed attempts to send it, and the time of the first.
    attempts: u32,
    since: Option<Instant>,
    /// The call that it cancels.
    pub(crate) cancels: Option<CallId>,
}

/// Messages that wait for each other: on a shared stream all, otherwise those of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lane {
    Shared,
    Stream(StreamId),
    Call(CallId),
}

/// The queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// What a message counts against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Account {
    /// The limits on our own messages.
    Own,
    /// The responses that we owe.
    Responses,
    /// Nothing: cancellations and the handshake, which calls bound.
    #[default]
    Nothing,
}

#[derive(Debug)]
pub(crate) struct Outbox {
    limits: OutboxLimits,
    carrier: Carrier,
    queue: MonotonicTable<Ticket, Transmit>,
    next: u64,
    messages: usize,
    bytes: usize,
    responses: usize,
    response_bytes: usize,
    /// Bytes that the driver has taken and not yet written.
    unwritten: usize,
    /// Lanes whose transport was busy a moment ago, and until when they wait.
    busy: BTreeMap<Lane, Instant>,
}

impl Outbox {
    pub(crate) fn new(limits: OutboxLimits, carrier: Carrier) -> Self {
        Self {
            limits,
            carrier,
            queue: MonotonicTable::new(),
            next: 0,
            messages: 0,
            bytes: 0,
            responses: 0,
            response_bytes: 0,
            unwritten: 0,
            busy: BTreeMap::new(),
        }
    }

    /// Queues a call or a notification. A single message may be larger than the queue's
    /// bytes when it has the queue to itself.
    pub(crate) fn push(&mut self, transmit: Transmit) -> Result<Ticket, Full> {
        let has_room = self.messages < self.limits.messages
            && (self.bytes == 0 || self.bytes + transmit.len() <= self.limits.bytes);
        if !has_room && !defect::is(Defect::UnboundedQueue) {
            return Err(Full);
        }
        Ok(self.enqueue(Account::Own, transmit))
    }

    /// Queues a message that the protocol requires: a response, or the cancellation of a call.
    pub(crate) fn push_owed(&mut self, transmit: Transmit) -> Ticket {
        let account = match transmit.kind {
            TransmitKind::Response => Account::Responses,
            TransmitKind::Call(_) | TransmitKind::Notification | TransmitKind::Reset(_) => {
                Account::Nothing
            }
        };
        self.enqueue(account, transmit)
    }

    /// Returns `true` if the message is still in the queue.
    pub(crate) fn holds(&self, ticket: Ticket) -> bool {
        self.queue.contains(ticket)
    }

    /// Removes a message from the queue, if it is still there.
    pub(crate) fn take_back(&mut self, ticket: Ticket) -> Option<Transmit> {
        let transmit = self.queue.remove(ticket)?;
        self.release(&transmit);
        Some(transmit)
    }

    /// Removes the cancellation of a call that was never sent.
    pub(crate) fn take_back_cancel(&mut self, call: CallId) {
        let cancels = |transmit: &Transmit| transmit.slot.cancels == Some(call);
        let cancel = self.queue.iter().find(|(_, transmit)| cancels(transmit));
        if let Some((ticket, _)) = cancel {
            self.take_back(ticket);
        }
    }

    /// Returns the next message to send.
    pub(crate) fn pop(&mut self) -> Option<Transmit> {
        if self.busy.is_empty() {
            let (_, transmit) = self.queue.pop_first()?;
            self.release(&transmit);
            return Some(transmit);
        }
        let is_free = |transmit: &Transmit| !self.busy.contains_key(&self.lane(transmit));
        let free = self.queue.iter().find(|(_, transmit)| is_free(transmit));
        let (ticket, _) = free?;
        self.take_back(ticket)
    }

    /// Returns the next message that is no call. Calls stay in the queue, so that each is known not
    /// to be sent.
    pub(crate) fn pop_non_call(&mut self) -> Option<Transmit> {
        let is_call = |transmit: &Transmit| matches!(transmit.kind, TransmitKind::Call(_));
        let (ticket, _) = self.queue.iter().find(|(_, transmit)| !is_call(transmit))?;
        self.take_back(ticket)
    }

    /// Returns a message that could not be sent to the front of its lane, which is paused until
    /// then.
    pub(crate) fn put_back(&mut self, transmit: Transmit, until: Instant) -> Ticket {
        let ticket = transmit.slot.ticket;
        self.pause(&transmit, until);
        self.count(&transmit);
        self.queue.insert(ticket, transmit);
        ticket
    }

    /// Pauses the lane of a message whose transport was busy.
    pub(crate) fn pause(&mut self, transmit: &Transmit, until: Instant) {
        self.busy.insert(self.lane(transmit), until);
    }

    /// Resumes the lanes whose pause is over.
    pub(crate) fn resume(&mut self, now: Instant) {
        self.busy.retain(|_, until| *until > now);
    }

    /// Returns when the next pause is over.
    pub(crate) fn next_resume(&self) -> Option<Instant> {
        self.busy.values().min().copied()
    }

    /// Releases memory that is only kept for reuse.
    pub(crate) fn shrink_to_fit(&mut self) {
        if self.queue.is_empty() {
            self.queue = MonotonicTable::new();
        }
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self) {
        *self = Self {
            // An old ticket must not match a new message.
            next: self.next,
            ..Self::new(self.limits, self.carrier)
        };
    }

    /// Returns `true` if there is room for more responses.
    pub(crate) fn accepts_responses(&self) -> bool {
        self.responses < self.limits.responses && self.response_bytes <= self.limits.bytes
    }

    /// Returns `true` if there is room for the response of a handler, here and at the driver.
    pub(crate) fn has_room_for_response(&self) -> bool {
        self.accepts_responses() && self.response_bytes + self.unwritten <= self.limits.bytes
    }

    /// Returns the number of counts what the driver has taken and not yet written. What it was
    /// before.
    pub(crate) fn set_unwritten_bytes(&mut self, bytes: usize) -> usize {
        std::mem::replace(&mut self.unwritten, bytes)
    }

    fn lane(&self, transmit: &Transmit) -> Lane {
        match (self.carrier, transmit.stream, transmit.kind) {
            (Carrier::SharedStream, _, _) => Lane::Shared,
            (Carrier::StreamPerRequest, Some(stream), _) => Lane::Stream(stream),
            (
                Carrier::StreamPerRequest,
                None,
                TransmitKind::Call(call) | TransmitKind::Reset(call),
            ) => Lane::Call(call),
            (
                Carrier::StreamPerRequest,
                None,
                TransmitKind::Notification | TransmitKind::Response,
            ) => Lane::Shared,
        }
    }

    fn enqueue(&mut self, account: Account, mut transmit: Transmit) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        transmit.slot.ticket = ticket;
        transmit.slot.account = account;
        self.count(&transmit);
        self.queue.insert(ticket, transmit);
        ticket
    }

    fn count(&mut self, transmit: &Transmit) {
        match transmit.slot.account {
            Account::Own => {
                self.messages += 1;
                self.bytes += transmit.len();
            }
            Account::Responses => {
                self.responses += 1;
                self.response_bytes += transmit.len();
            }
            Account::Nothing => {}
        }
    }

    fn release(&mut self, transmit: &Transmit) {
        match transmit.slot.account {
            Account::Own => {
                self.messages = self.messages.saturating_sub(1);
                self.bytes = self.bytes.saturating_sub(transmit.len());
            }
            Account::Responses => {
                self.responses = self.responses.saturating_sub(1);
                self.response_bytes = self.response_bytes.saturating_sub(transmit.len());
            }
            Account::Nothing => {}
        }
    }
}

impl Transmit {
    /// Counts a failed attempt to send. Returns the number of attempts and the time of the first.
    pub(crate) fn count_attempt(&mut self, now: Instant) -> (u32, Instant) {
        self.slot.attempts = self.slot.attempts.saturating_add(1);
        let since = *self.slot.since.get_or_insert(now);
        (self.slot.attempts, since)
    }
}

#[cfg(test)]
mod tests;
