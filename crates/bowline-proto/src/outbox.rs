//! The outgoing queue: bounded, first in first out.
//!
//! The order on the wire is the order of the commands. Calls and notifications are refused
//! when the queue is full; answers that we owe are always taken, and their number tells
//! when to stop reading. What has not left can be taken back.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};

use crate::calls::CallId;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

/// The queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// What a message counts against.
#[derive(Clone, Copy, Debug)]
enum Account {
    /// The limits on our own messages.
    Own,
    /// The answers that we owe.
    Answers,
    /// Nothing: cancellations and the handshake, which calls bound.
    Nothing,
}

#[derive(Debug)]
pub(crate) struct Outbox {
    limits: OutboxLimits,
    queue: BTreeMap<Ticket, (Account, Transmit)>,
    next: u64,
    messages: usize,
    bytes: usize,
    answers: usize,
    answer_bytes: usize,
    /// What the driver took last, which it may put back.
    in_hand: Option<(Ticket, Account)>,
    /// How often the message at the head of the queue was offered in vain.
    attempts: (Ticket, u32),
}

impl Outbox {
    pub(crate) fn new(limits: OutboxLimits) -> Self {
        Self {
            limits,
            queue: BTreeMap::new(),
            next: 0,
            messages: 0,
            bytes: 0,
            answers: 0,
            answer_bytes: 0,
            in_hand: None,
            attempts: (Ticket(0), 0),
        }
    }

    /// Queues a call or a notification. A single message may be larger than the queue's
    /// bytes when it has the queue to itself.
    pub(crate) fn push(&mut self, transmit: Transmit) -> Result<Ticket, Full> {
        let has_room = self.messages < self.limits.messages
            && (self.bytes == 0 || self.bytes + transmit.len() <= self.limits.bytes);
        if !has_room {
            return Err(Full);
        }
        self.messages += 1;
        self.bytes += transmit.len();
        Ok(self.enqueue(Account::Own, transmit))
    }

    /// Queues what is owed: an answer, or the cancellation of a call.
    pub(crate) fn push_owed(&mut self, transmit: Transmit) -> Ticket {
        if transmit.kind == TransmitKind::Answer {
            self.answers += 1;
            self.answer_bytes += transmit.len();
            return self.enqueue(Account::Answers, transmit);
        }
        self.enqueue(Account::Nothing, transmit)
    }

    /// Takes back what has not left.
    pub(crate) fn take_back(&mut self, ticket: Ticket) -> Option<Transmit> {
        let (account, transmit) = self.queue.remove(&ticket)?;
        self.settle(account, &transmit);
        Some(transmit)
    }

    /// The next message to send.
    pub(crate) fn pop(&mut self) -> Option<Transmit> {
        let (ticket, (account, transmit)) = self.queue.pop_first()?;
        self.in_hand = Some((ticket, account));
        self.settle(account, &transmit);
        Some(transmit)
    }

    /// The transport didn't take what was taken last. How often that was.
    pub(crate) fn count_attempt(&mut self) -> u32 {
        let Some((ticket, _)) = self.in_hand else {
            return 0;
        };
        let before = match self.attempts {
            (same, attempts) if same == ticket => attempts,
            _ => 0,
        };
        self.attempts = (ticket, before.saturating_add(1));
        self.attempts.1
    }

    /// Puts back what was taken last and could not be sent: it is the next one again.
    pub(crate) fn put_back(&mut self, transmit: Transmit) -> Option<Ticket> {
        let (ticket, account) = self.in_hand.take()?;
        match account {
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
        self.queue.insert(ticket, (account, transmit));
        Some(ticket)
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self) {
        *self = Self {
            // A ticket that somebody still holds must not fit a new message.
            next: self.next,
            ..Self::new(self.limits)
        };
    }

    /// Whether the answers that we owe leave room for more.
    pub(crate) fn takes_answers(&self) -> bool {
        self.answers < self.limits.answers && self.answer_bytes <= self.limits.bytes
    }

    fn enqueue(&mut self, account: Account, transmit: Transmit) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        self.queue.insert(ticket, (account, transmit));
        ticket
    }

    fn settle(&mut self, account: Account, transmit: &Transmit) {
        match account {
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
        }
    }

    fn outbox() -> Outbox {
        Outbox::new(OutboxLimits {
            messages: 2,
            bytes: 10,
            answers: 2,
        })
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
}
