//! The outgoing queue: bounded, first in first out.
//!
//! The order on the wire is the order of the commands. Calls and notifications are refused
//! when the queue is full; answers that we owe are always taken, and their number tells
//! when to stop reading. What has not left can be taken back.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};

use crate::calls::CallId;
use crate::config::Carrier;
use crate::defect::{self, Defect};
use crate::time::Instant;

/// A stream of the driver's, on a carrier with a stream per request: the driver numbers
/// them as it likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(u64);

impl StreamId {
    /// The stream of this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Something for the driver to send: head, shared body and tail, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transmit {
    /// What it is.
    pub kind: TransmitKind,
    /// The stream that it belongs to: the one of the request that it answers or is about.
    /// `None` on a shared stream, and for what is about nothing in particular.
    pub stream: Option<StreamId>,
    /// What differs from one attempt to the next: the id, `_meta`.
    pub head: Bytes,
    /// What doesn't. Shared with the call that keeps it for another attempt.
    pub body: Bytes,
    /// What closes the message.
    pub tail: Bytes,
    /// Its place in the queue, where it can be put back.
    pub(crate) slot: Slot,
}

impl Transmit {
    /// Bytes altogether.
    pub fn len(&self) -> usize {
        self.head.len() + self.body.len() + self.tail.len()
    }

    /// Bytes of the frame, without the headers before it and the line end behind it.
    pub(crate) fn frame_len(&self) -> usize {
        let headers = self.head.iter().position(|byte| *byte == b'{').unwrap_or(0);
        let line_end = usize::from(self.tail.ends_with(b"\n"));
        self.len() - headers - line_end
    }

    /// Whether the protocol owes it to the peer: an answer, a cancellation, a part of the
    /// handshake.
    pub(crate) fn is_owed(&self) -> bool {
        match self.slot.account {
            Account::Own => false,
            Account::Answers | Account::Nothing => true,
        }
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The message in one piece. Copies; a driver writes the parts instead.
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

/// What a [`Transmit`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransmitKind {
    /// A call of ours. On a carrier with a stream per request it opens its stream.
    Call(CallId),
    /// A notification.
    Notification,
    /// The answer to a request of the peer.
    Answer,
    /// Nothing to write: the stream of this call is closed, which cancels it.
    Reset(CallId),
}

/// What may wait in the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutboxLimits {
    /// Messages of our own.
    pub(crate) messages: usize,
    /// Their bytes.
    pub(crate) bytes: usize,
    /// Answers that we owe, beyond which reading stops.
    pub(crate) answers: usize,
}

/// A place in the queue, by which a message can be taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

/// What the queue knows of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slot {
    ticket: Ticket,
    account: Account,
    /// How often it was offered in vain, and since when.
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
    /// The answers that we owe.
    Answers,
    /// Nothing: cancellations and the handshake, which calls bound.
    #[default]
    Nothing,
}

#[derive(Debug)]
pub(crate) struct Outbox {
    limits: OutboxLimits,
    carrier: Carrier,
    queue: BTreeMap<Ticket, Transmit>,
    next: u64,
    messages: usize,
    bytes: usize,
    answers: usize,
    answer_bytes: usize,
    /// Lanes whose transport was busy a moment ago, and until when they wait.
    busy: BTreeMap<Lane, Instant>,
}

impl Outbox {
    pub(crate) fn new(limits: OutboxLimits, carrier: Carrier) -> Self {
        Self {
            limits,
            carrier,
            queue: BTreeMap::new(),
            next: 0,
            messages: 0,
            bytes: 0,
            answers: 0,
            answer_bytes: 0,
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

    /// Queues what is owed: an answer, or the cancellation of a call.
    pub(crate) fn push_owed(&mut self, transmit: Transmit) -> Ticket {
        let account = match transmit.kind {
            TransmitKind::Answer => Account::Answers,
            TransmitKind::Call(_) | TransmitKind::Notification | TransmitKind::Reset(_) => {
                Account::Nothing
            }
        };
        self.enqueue(account, transmit)
    }

    /// Takes back what has not left.
    pub(crate) fn take_back(&mut self, ticket: Ticket) -> Option<Transmit> {
        let transmit = self.queue.remove(&ticket)?;
        self.settle(&transmit);
        Some(transmit)
    }

    /// Takes back the cancellation of a call, which was never sent.
    pub(crate) fn take_back_cancel(&mut self, call: CallId) {
        let mut queued = self.queue.iter();
        let cancel = queued.find(|(_, transmit)| transmit.slot.cancels == Some(call));
        if let Some((&ticket, _)) = cancel {
            self.take_back(ticket);
        }
    }

    /// The next message to send.
    pub(crate) fn pop(&mut self) -> Option<Transmit> {
        let (ticket, _) = match self.busy.is_empty() {
            true => self.queue.first_key_value(),
            false => {
                let mut queued = self.queue.iter();
                queued.find(|(_, transmit)| !self.busy.contains_key(&self.lane(transmit)))
            }
        }?;
        self.take_back(*ticket)
    }

    /// Puts back what could not be sent: it is the next one of its lane again, which waits
    /// until then.
    pub(crate) fn put_back(&mut self, transmit: Transmit, until: Instant) -> Ticket {
        let ticket = transmit.slot.ticket;
        self.pause(&transmit, until);
        self.count(&transmit);
        self.queue.insert(ticket, transmit);
        ticket
    }

    /// The transport of a message was busy: what goes there waits.
    pub(crate) fn pause(&mut self, transmit: &Transmit, until: Instant) {
        self.busy.insert(self.lane(transmit), until);
    }

    /// Lanes that have waited long enough may be tried again.
    pub(crate) fn resume(&mut self, now: Instant) {
        self.busy.retain(|_, until| *until > now);
    }

    /// When the next lane has waited long enough.
    pub(crate) fn next_resume(&self) -> Option<Instant> {
        self.busy.values().min().copied()
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self) {
        *self = Self {
            // A ticket that somebody still holds must not fit a new message.
            next: self.next,
            ..Self::new(self.limits, self.carrier)
        };
    }

    /// Whether the answers that we owe leave room for more.
    pub(crate) fn takes_answers(&self) -> bool {
        self.answers < self.limits.answers && self.answer_bytes <= self.limits.bytes
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
                TransmitKind::Notification | TransmitKind::Answer,
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
            Account::Answers => {
                self.answers += 1;
                self.answer_bytes += transmit.len();
            }
            Account::Nothing => {}
        }
    }

    fn settle(&mut self, transmit: &Transmit) {
        match transmit.slot.account {
            Account::Own => {
                self.messages = self.messages.saturating_sub(1);
                self.bytes = self.bytes.saturating_sub(transmit.len());
            }
            Account::Answers => {
                self.answers = self.answers.saturating_sub(1);
                self.answer_bytes = self.answer_bytes.saturating_sub(transmit.len());
            }
            Account::Nothing => {}
        }
    }
}

impl Transmit {
    /// It was offered in vain. How often by now, and since when.
    pub(crate) fn count_attempt(&mut self, now: Instant) -> (u32, Instant) {
        self.slot.attempts = self.slot.attempts.saturating_add(1);
        let since = *self.slot.since.get_or_insert(now);
        (self.slot.attempts, since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: TransmitKind, body: &'static str) -> Transmit {
        Transmit {
            kind,
            stream: None,
            head: Bytes::new(),
            body: Bytes::from_static(body.as_bytes()),
            tail: Bytes::from_static(b"\n"),
            slot: Slot::default(),
        }
    }

    fn outbox() -> Outbox {
        let limits = OutboxLimits {
            messages: 2,
            bytes: 10,
            answers: 2,
        };
        Outbox::new(limits, Carrier::SharedStream)
    }

    // proves: F-BP-02
    #[test]
    fn it_is_full_at_its_limits() {
        let note = |body| message(TransmitKind::Notification, body);
        let mut by_count = outbox();
        by_count.push(note("a")).unwrap();
        by_count.push(note("b")).unwrap();
        assert_eq!(by_count.push(note("c")), Err(Full));
        by_count.pop();
        assert!(by_count.push(note("c")).is_ok());
        let mut by_bytes = outbox();
        by_bytes.push(note("1234")).unwrap();
        assert_eq!(by_bytes.push(note("12345")), Err(Full));
        assert!(by_bytes.push(note("1234")).is_ok());
        let mut alone = outbox();
        assert!(alone.push(note("much more than ten bytes")).is_ok());
        assert_eq!(alone.push(note("")), Err(Full));
    }

    #[test]
    fn answers_are_always_taken_and_say_when_to_stop_reading() {
        let mut outbox = outbox();
        for expected in [true, true, false, false] {
            assert_eq!(outbox.takes_answers(), expected);
            outbox.push_owed(message(TransmitKind::Answer, "a"));
        }
        while outbox.pop().is_some() {}
        assert!(outbox.takes_answers() && outbox.queue.is_empty());
    }

    // proves: F-CA-01
    #[test]
    fn what_has_not_left_can_be_taken_back() {
        let mut outbox = outbox();
        let first = outbox
            .push(message(TransmitKind::Notification, "1"))
            .unwrap();
        outbox
            .push(message(TransmitKind::Notification, "2"))
            .unwrap();
        assert!(outbox.take_back(first).is_some());
        assert!(outbox.take_back(first).is_none());
        assert_eq!(outbox.pop().unwrap().to_bytes(), b"2\n");
        assert!(outbox.pop().is_none());
        assert!(
            outbox
                .push(message(TransmitKind::Notification, "3"))
                .is_ok()
        );
    }

    #[test]
    fn what_is_owed_leaves_the_limits_alone() {
        let note = |body| message(TransmitKind::Notification, body);
        let mut outbox = outbox();
        for _ in 0..5 {
            outbox.push_owed(note("cancel"));
        }
        outbox.push(note("a")).unwrap();
        outbox.push(note("b")).unwrap();
        for _ in 0..5 {
            outbox.pop();
        }
        assert_eq!(outbox.push(note("c")), Err(Full));
    }

    #[test]
    fn what_is_put_back_counts_again_and_comes_first() {
        let note = |body| message(TransmitKind::Notification, body);
        let mut outbox = outbox();
        outbox.push(note("a")).unwrap();
        outbox.push(note("b")).unwrap();
        let mut first = outbox.pop().unwrap();
        assert_eq!(first.count_attempt(Instant::START).0, 1);
        outbox.put_back(first, Instant::NEVER);
        assert_eq!(outbox.push(note("c")), Err(Full));
        assert!(outbox.pop().is_none(), "the lane waits");
        outbox.resume(Instant::NEVER);
        let mut again = outbox.pop().unwrap();
        assert_eq!(again.to_bytes(), b"a\n");
        assert_eq!(again.count_attempt(Instant::START).0, 2);
        assert!(outbox.push(note("c")).is_ok());

        let owed = message(TransmitKind::Answer, "x");
        for _ in 0..2 {
            outbox.push_owed(owed.clone());
        }
        assert!(!outbox.takes_answers());
        while outbox
            .pop()
            .is_some_and(|it| it.kind != TransmitKind::Answer)
        {}
        assert!(outbox.takes_answers());
        let taken = outbox.pop().unwrap();
        outbox.push_owed(owed);
        assert!(outbox.takes_answers());
        outbox.put_back(taken, Instant::START);
        assert!(!outbox.takes_answers());
    }

    #[test]
    fn a_busy_stream_stops_no_other() {
        let limits = OutboxLimits {
            messages: 9,
            bytes: 99,
            answers: 9,
        };
        let mut outbox = Outbox::new(limits, Carrier::StreamPerRequest);
        for stream in [3, 4, 3] {
            let mut answer = message(TransmitKind::Answer, "x");
            answer.stream = Some(StreamId::new(stream));
            outbox.push_owed(answer);
        }
        let (three, four) = (outbox.pop().unwrap(), outbox.pop().unwrap());
        // Both were taken before either was known to be busy.
        outbox.put_back(three, Instant::NEVER);
        outbox.put_back(four, Instant::START);
        outbox.resume(Instant::START);
        assert_eq!(outbox.pop().unwrap().stream, Some(StreamId::new(4)));
        assert!(outbox.pop().is_none());
        assert_eq!(outbox.next_resume(), Some(Instant::NEVER));
    }
}
