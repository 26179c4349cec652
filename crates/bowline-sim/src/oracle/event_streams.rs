//! What must hold of a server's event streams over HTTP, seen by its clients and its handlers.
//!
//! Handlers number what they send on a stream, and clients report what arrives on which connection
//! and after which event id. Nothing of the server's state is known here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::number_after;

/// What marks a message of a handler, so that its receiver knows where it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) session: u64,
    /// The call on whose stream it is sent; 0 for the stream of the server's own messages.
    pub(crate) call: u64,
    /// The number of messages before it on its stream.
    pub(crate) index: u64,
    /// It is the final response.
    pub(crate) is_answer: bool,
}

impl Mark {
    /// Parses the mark in a message.
    pub(crate) fn parse(message: &[u8]) -> Option<Self> {
        let session = number_after(message, "\"mark\":{\"session\":")?;
        Some(Self {
            session,
            call: number_after(message, ",\"call\":")?,
            index: number_after(message, ",\"index\":")?,
            is_answer: number_after(message, ",\"answer\":")? == 1,
        })
    }
}

impl fmt::Display for Mark {
    /// Writes the mark as a member of an object.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            session,
            call,
            index,
            is_answer,
        } = *self;
        write!(
            f,
            r#""mark":{{"session":{session},"call":{call},"index":{index},"answer":{}}}"#,
            u8::from(is_answer)
        )
    }
}

/// Where a connection reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// A call's stream from its beginning.
    Call(u64),
    /// A new stream of the server's own messages.
    ServerStream,
    /// After an event that the client has received.
    After,
    /// After an event that it has made up: a stream of its own session at most.
    Anywhere,
}

/// The position of a client on a stream, which a connection moves on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Position {
    call: Option<u64>,
    /// The index of the next message.
    next: Option<u64>,
}

impl Position {
    /// The index after the final response.
    const END: u64 = u64::MAX;
}

#[derive(Debug)]
struct Reading {
    session: u64,
    position: Position,
}

/// A stream, as its handler knows it.
#[derive(Debug, Default)]
struct Sending {
    sent: u64,
    is_answered: bool,
    /// The server has taken note of the cancellation before there was a response.
    is_cancelled: bool,
}

/// What is known of the event streams of a server from outside.
#[derive(Debug, Default)]
pub(crate) struct StreamOracle {
    violation: Option<String>,
    sending: BTreeMap<(u64, u64), Sending>,
    reading: BTreeMap<u64, Reading>,
    /// The position after each event that was received, by session and id.
    positions: BTreeMap<(u64, String), Position>,
    ended: BTreeSet<u64>,
    /// Calls whose answer arrived, or whose loss was explained.
    resolved: BTreeSet<(u64, u64)>,
    pub(crate) answers: u64,
    pub(crate) losses: u64,
}

impl StreamOracle {
    pub(crate) fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }

    pub(crate) fn violated(&mut self, what: impl Into<String>) {
        self.violation.get_or_insert_with(|| what.into());
    }

    // What handlers do.

    /// Returns the mark of the next message of a handler.
    pub(crate) fn next_mark(&self, session: u64, call: u64, is_answer: bool) -> Mark {
        let sending = self.sending.get(&(session, call));
        Mark {
            session,
            call,
            index: sending.map_or(0, |sending| sending.sent),
            is_answer,
        }
    }

    /// The server took a message of a handler.
    pub(crate) fn on_sent(&mut self, mark: Mark) {
        let sending = self.sending.entry((mark.session, mark.call)).or_default();
        if sending.is_cancelled {
            let call = mark.call;
            return self.violated(format!("a message for call {call}, which was cancelled"));
        }
        sending.sent += u64::from(!mark.is_answer);
        sending.is_answered |= mark.is_answer;
    }

    /// The server took note of a cancellation.
    pub(crate) fn on_cancelled(&mut self, session: u64, call: u64) {
        let sending = self.sending.entry((session, call)).or_default();
        sending.is_cancelled = !sending.is_answered;
    }

    /// A session was deleted, or forgotten after its time.
    pub(crate) fn on_session_ended(&mut self, session: u64) {
        self.ended.insert(session);
    }

    /// The server answers a request to a session with a status.
    pub(crate) fn on_status(&mut self, session: u64, status: u16) {
        // There is no session 0.
        let is_over = session == 0 || self.ended.contains(&session);
        if is_over != (status == 404) {
            let state = if is_over {
                "that is over"
            } else {
                "that is open"
            };
            self.violated(format!("{status} in session {session}, {state}"));
        }
    }

    /// The server opened a stream for its own messages: what it sends from now on.
    pub(crate) fn on_server_stream_opened(&mut self, connection: u64) {
        if let Some(reading) = self.reading.get_mut(&connection) {
            let sending = self.sending.get(&(reading.session, 0));
            reading.position.next = Some(sending.map_or(0, |sending| sending.sent));
        }
    }

    /// The server goes on with the stream of its own messages: from this one on, or, where messages
    /// are gone, from any.
    pub(crate) fn on_server_stream_continued(&mut self, connection: u64, next: Option<u64>) {
        if let Some(reading) = self.reading.get_mut(&connection) {
            reading.position.next = next;
        }
    }

    // What clients see.

    /// A client sends a request whose response is a stream.
    pub(crate) fn on_opened(
        &mut self,
        connection: u64,
        session: u64,
        start: Start,
        last_event_id: Option<&str>,
    ) {
        let position = match start {
            Start::Call(call) => Position {
                call: Some(call),
                next: Some(0),
            },
            Start::ServerStream => Position {
                call: Some(0),
                next: None,
            },
            Start::After | Start::Anywhere => {
                let key = (session, last_event_id.unwrap_or_default().to_owned());
                let known = self.positions.get(&key).copied();
                known.unwrap_or(Position {
                    call: None,
                    next: None,
                })
            }
        };
        let reading = Reading { session, position };
        self.reading.insert(connection, reading);
    }

    /// An event arrived on a connection. Returns its mark, unless it isn't a handler's.
    pub(crate) fn on_event(&mut self, connection: u64, id: &str, message: &[u8]) -> Option<Mark> {
        let mark = Mark::parse(message);
        let Some(mut reading) = self.reading.remove(&connection) else {
            return mark;
        };
        if let Some(mark) = mark {
            self.check_message(&mut reading, mark);
        }
        let position = reading.position;
        let key = (reading.session, id.to_owned());
        let session = reading.session;
        self.reading.insert(connection, reading);
        if id.is_empty() {
            self.violated("an event without an id");
        } else if position.next.is_some()
            && self
                .positions
                .insert(key, position)
                .is_some_and(|known| known != position)
        {
            self.violated(format!("id {id} of session {session} has two positions"));
        }
        mark
    }

    fn check_message(&mut self, reading: &mut Reading, mark: Mark) {
        let Mark { call, index, .. } = mark;
        if mark.session != reading.session {
            let (wrong, right) = (mark.session, reading.session);
            return self.violated(format!("an event of session {wrong} in session {right}"));
        }
        if let Some(expected) = reading.position.call.filter(|expected| *expected != call) {
            return self.violated(format!(
                "an event of call {call} on the stream of {expected}"
            ));
        }
        match reading.position.next {
            Some(next) if index != next => {
                let what = if next == Position::END {
                    "after the answer".into()
                } else {
                    format!("where {next} is next")
                };
                return self.violated(format!("event {index} of call {call} {what}"));
            }
            Some(_) | None => {}
        }
        reading.position = Position {
            call: Some(call),
            next: Some(if mark.is_answer {
                Position::END
            } else {
                index + 1
            }),
        };
        let sending = self.sending.get(&(mark.session, call));
        if mark.is_answer && sending.is_none_or(|sending| !sending.is_answered) {
            self.violated(format!("call {call} has an answer that no handler gave"));
        }
    }

    /// A call has its answer.
    pub(crate) fn on_answered(&mut self, session: u64, call: u64) {
        self.answers += 1;
        if !self.resolved.insert((session, call)) {
            self.violated(format!("call {call} has two answers"));
        }
    }

    /// A call has no answer, and its client knows why.
    pub(crate) fn on_lost(&mut self, session: u64, call: u64) {
        self.losses += 1;
        if !self.resolved.insert((session, call)) {
            self.violated(format!("call {call} is lost after its end"));
        }
    }

    /// The server refused to resume after an event that it had sent.
    pub(crate) fn on_gap(&mut self, session: u64, is_possible: bool) {
        if !is_possible {
            self.violated(format!("session {session} has a gap where nothing is gone"));
        }
    }

    /// The stream of a call ended as if all had been sent.
    pub(crate) fn on_stream_ended(&mut self, session: u64, call: u64) {
        let sending = self.sending.get(&(session, call));
        if sending.is_none_or(|sending| !sending.is_cancelled) {
            self.violated(format!(
                "the stream of call {call} ended without its answer"
            ));
        }
    }

    /// All is over, and a client still reads the server's own stream: nothing may be missing.
    pub(crate) fn check_server_stream(&mut self, connection: u64) {
        let Some(reading) = self.reading.get(&connection) else {
            return;
        };
        let sending = self.sending.get(&(reading.session, 0));
        let sent = sending.map_or(0, |sending| sending.sent);
        let session = reading.session;
        if let Some(next) = reading.position.next.filter(|next| *next != sent) {
            self.violated(format!(
                "session {session} received {next} of {sent} messages"
            ));
        }
    }
}
