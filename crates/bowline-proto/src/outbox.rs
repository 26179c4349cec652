//! The outgoing queue: bounded, first in first out.
//!
//! The order on the wire is the order of the commands. Calls and notifications are refused
//! when the queue is full; answers that we owe are always taken, and their number tells
//! when to stop reading. What has not left can be taken back.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::calls::CallId;

/// Something for the driver to send: head, shared body and tail, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transmit {
    /// What it is.
    pub kind: TransmitKind,
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

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The message in one piece. Copies; a driver writes the parts instead.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&*self.head, &*self.body, &*self.tail].concat()
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
        let (_, (account, transmit)) = self.queue.pop_first()?;
        self.settle(account, &transmit);
        Some(transmit)
    }

    /// Whether the answers that we owe leave room for more.
    pub(crate) fn takes_answers(&self) -> bool {
        self.answers < self.limits.answers
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
            Account::Answers => self.answers = self.answers.saturating_sub(1),
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
