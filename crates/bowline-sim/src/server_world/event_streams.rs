//! The messages of the sessions: from the core into the event logs, and from there to connections.
//!
//! A POST with a call has a stream, and so has a GET without `Last-Event-ID`, for messages that
//! belong to no call. A GET with one resumes.

use std::time::Duration;

use bowline_proto::codec::{write_comment, write_priming, write_retry};
use bowline_proto::server::{
    EventData, EventId, EventReader, OpenStreamError, Read, ReplayError, SessionEvent,
};
use bowline_proto::{RequestKey, TransmitKind};
use bowline_types::envelope::Envelope;
use bytes::Bytes;

use super::http::Arrival;
use super::{ServerWorld, SimEvent};
use crate::fault::Fault;
use crate::oracle::{Mark, number_after};
use crate::trace_text::Column;

/// How long clients should wait before they reconnect: the `retry:` of the server.
pub(super) const RETRY: Duration = Duration::from_millis(300);

impl ServerWorld {
    /// Answers a POST with a stream.
    pub(super) fn respond_with_stream(
        &mut self,
        connection: u64,
        number: u64,
        frame: &Bytes,
        message: Envelope<'_>,
    ) {
        let now = self.now;
        if self.node.wake(now, number).is_none() {
            return;
        }
        let Some(session) = self.node.sessions.get_mut(&number) else {
            return;
        };
        let stream = session.next_stream();
        let reader = match session.log.open(now, stream) {
            Ok(reader) => reader,
            Err(error) => return self.refuse_stream(connection, error),
        };
        if session.has_priming() {
            let _ = session.log.append(now, stream, EventData::Priming);
        }
        if let Some(live) = session.live() {
            live.handle_message(now, Some(stream), frame, message);
        }
        while let Some(event) = session.live().and_then(|live| live.poll_event()) {
            if let SessionEvent::Request {
                request, params, ..
            } = event
            {
                let params = params.as_ref().map_or("{}", |params| params.as_str());
                let call = number_after(params.as_bytes(), "\"nonce\":").unwrap_or(0);
                session.requests.insert(request, (stream, call));
                self.start_job(number, request, call);
                break;
            }
        }
        self.attach(connection, number, reader, false);
    }

    /// Answers a GET: a new stream, or one that is resumed.
    pub(super) fn open_stream(&mut self, connection: u64, number: u64, last: Option<&str>) {
        let now = self.now;
        let Some(session) = self.node.sessions.get_mut(&number) else {
            return;
        };
        let Some(last) = last else {
            return self.open_server_stream_for(connection, number);
        };
        let id = EventId::parse(last.as_bytes()).map_err(ReplayError::from);
        match id.and_then(|id| session.log.replay(now, id)) {
            Ok(replay) => {
                self.counts.resumed += 1;
                let has_priming = session.has_priming();
                self.attach(connection, number, replay.reader, true);
                if has_priming {
                    let mut priming = Vec::new();
                    write_priming(&mut priming, replay.position.text().as_str(), Some(RETRY));
                    self.write(connection, &priming);
                }
            }
            Err(error) => {
                self.counts.refused += 1;
                self.refuse(connection, &error.refusal());
            }
        }
    }

    /// Answers a GET without an id: with the stream of the server's own messages, from what no
    /// connection was sent.
    fn open_server_stream_for(&mut self, connection: u64, number: u64) {
        let now = self.now;
        let Some(session) = self.node.sessions.get_mut(&number) else {
            return;
        };
        let current = session.server_stream;
        let continued = current.and_then(|stream| session.log.continue_stream(now, stream).ok());
        if let Some(continued) = continued {
            let has_priming = session.has_priming();
            let (sent, next) = session.server_sent;
            let position = continued.position;
            // Otherwise events were removed before a connection was sent them.
            let head = session.log.head(continued.reader.stream());
            let is_whole = head.is_some_and(|head| head.removed_through <= sent);
            let next = is_whole.then_some(next);
            self.oracle.on_server_stream_continued(connection, next);
            self.attach(connection, number, continued.reader, true);
            if let Some(position) = position.filter(|_| has_priming) {
                let mut priming = Vec::new();
                write_priming(&mut priming, position.text().as_str(), Some(RETRY));
                self.write(connection, &priming);
            }
            return;
        }
        let stream = session.next_stream();
        let reader = match session.log.open(now, stream) {
            Ok(reader) => reader,
            Err(error) => return self.refuse_stream(connection, error),
        };
        if session.has_priming() {
            let _ = session.log.append(now, stream, EventData::Priming);
        }
        session.server_stream = Some(stream);
        self.oracle.on_server_stream_opened(connection);
        self.attach(connection, number, reader, false);
    }

    fn refuse_stream(&mut self, connection: u64, error: OpenStreamError) {
        self.note(Column::Server, || format!("{connection}: 503 {error}"));
        self.write_head(connection, 503, None);
        self.end_response(connection, Arrival::End);
    }

    /// Moves everything that can be moved in this moment.
    pub(super) fn serve(&mut self) {
        let numbers: Vec<u64> = self.node.sessions.keys().copied().collect();
        for number in numbers {
            self.drain(number);
        }
        let connections: Vec<u64> = self.node.connections.keys().copied().collect();
        for connection in connections {
            self.flush(connection);
        }
    }

    /// Takes the events and messages of a session's core.
    fn drain(&mut self, number: u64) {
        while let Some(session) = self.node.sessions.get_mut(&number)
            && let Some(live) = session.live()
        {
            if let Some(event) = live.poll_event() {
                self.on_session_event(number, event);
                continue;
            }
            let Some(transmit) = live.poll_transmit() else {
                return;
            };
            let Some(stream) = transmit.stream.or(session.server_stream) else {
                continue;
            };
            let mut frame = transmit.to_bytes();
            if frame.last() == Some(&b'\n') {
                frame.pop();
            }
            let data = if transmit.kind == TransmitKind::Response {
                EventData::FinalResponse(frame.into())
            } else {
                EventData::Message(frame.into())
            };
            // The stream may have ended: its request was cancelled.
            let _ = session.log.append(self.now, stream, data);
        }
    }

    fn on_session_event(&mut self, number: u64, event: SessionEvent) {
        match event {
            SessionEvent::Ready => {
                if let Some(session) = self.node.sessions.get_mut(&number) {
                    session.is_ready = true;
                }
            }
            SessionEvent::RequestCancelled(request) => self.on_cancelled(number, request),
            SessionEvent::Ended { call, outcome, .. } => {
                self.on_question_ended(number, call, &outcome);
            }
            _ => {}
        }
    }

    fn on_cancelled(&mut self, number: u64, request: RequestKey) {
        let Some(session) = self.node.sessions.get_mut(&number) else {
            return;
        };
        if let Some((stream, call)) = session.requests.get(&request).copied() {
            let _ = session.log.end(self.now, stream);
            self.note(Column::Server, || format!("call {call} is cancelled"));
            self.cancel_job(number, request);
        }
    }

    /// Sends what a connection may read.
    fn flush(&mut self, connection: u64) {
        loop {
            let Some(open) = self.node.connections.get(&connection) else {
                return;
            };
            let (Some(reader), false) = (&open.reader, open.is_stalled) else {
                return;
            };
            let Some(session) = self.node.sessions.get_mut(&open.session) else {
                return;
            };
            match session.log.poll_read(self.now, reader) {
                Read::Pending => return,
                Read::Event(event) => {
                    if session.server_stream == Some(event.id.stream()) {
                        let next = Mark::parse(event.data.as_bytes()).map(|mark| mark.index + 1);
                        session.note_server_sent(event.id.sequence(), next);
                    }
                    let mut bytes = Vec::new();
                    event.write_sse(&mut bytes, Some(RETRY));
                    self.write_event(connection, &bytes);
                    if self.hit(Fault::SlowReader) {
                        self.stall(connection);
                    }
                }
                Read::Polling { retry } => {
                    let mut bytes = Vec::new();
                    write_retry(&mut bytes, retry);
                    self.write(connection, &bytes);
                    self.end_response(connection, Arrival::End);
                }
                Read::Ended | Read::Displaced => self.end_response(connection, Arrival::End),
                Read::Lagged => self.end_response(connection, Arrival::Lost),
                _ => self.oracle.violated("a read that no driver knows"),
            }
        }
    }

    fn stall(&mut self, connection: u64) {
        if let Some(open) = self.node.connections.get_mut(&connection) {
            open.is_stalled = true;
            let delay = Duration::from_millis(200) + self.random.millis(8000);
            self.after(delay, SimEvent::Unstall(connection));
        }
    }

    /// Begins a response that is a stream.
    fn attach(&mut self, connection: u64, number: u64, reader: EventReader, is_resumed: bool) {
        if let Some(open) = self.node.connections.get_mut(&connection) {
            open.session = number;
            open.reader = Some(reader);
            open.is_resumed = is_resumed;
        }
        self.write_stream_head(connection);
        if self.random.one_in(4) {
            let mut comment = Vec::new();
            write_comment(&mut comment, "here");
            self.write(connection, &comment);
        }
    }

    /// Forgets a connection, on the side of the server.
    pub(super) fn close_connection(&mut self, connection: u64) {
        let Some(closed) = self.node.connections.remove(&connection) else {
            return;
        };
        if let Some(reader) = closed.reader
            && let Some(session) = self.node.sessions.get_mut(&closed.session)
        {
            session.log.detach(self.now, reader);
        }
    }
}
