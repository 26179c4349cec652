//! The carrier with a stream per request: POSTs, sessions, streams.

use std::collections::BTreeMap;
use std::time::Duration;

use bowline_proto::connection::{MessageHeaders, StreamEnd};
use bowline_proto::link::ConnectionId;
use bowline_proto::server::{
    Headers, Routed, RouterConfig, Session, SessionPhase, route, write_response,
};
use bowline_proto::{CallId, Instant, StreamId, TransmitKind};
use bowline_types::envelope::{Envelope, write_error};
use bowline_types::{ErrorObject, RequestId};
use bytes::Bytes;

use super::handlers::Incoming;
use super::server::Place;
use super::user::object;
use super::wire::{To, has};
use super::{End, SimCarrier, SimEvent, StreamInput, StreamInputKind, World};
use crate::fault::Fault;
use crate::trace_text::Column;

/// A POST on its way.
#[derive(Debug)]
pub(super) struct Post {
    number: u64,
    connection_id: ConnectionId,
    call: Option<CallId>,
    frame: Bytes,
    headers: MessageHeaders,
    session: Option<u64>,
}

/// What the server knows of its clients.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    sessions: BTreeMap<u64, (ConnectionId, Session)>,
    posts: BTreeMap<u64, OpenPost>,
    next: u64,
}

/// A POST whose stream is open.
#[derive(Clone, Copy, Debug)]
struct OpenPost {
    connection_id: ConnectionId,
    call: CallId,
    /// The session that its response opens.
    opens: Option<u64>,
}

impl Sessions {
    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Session> {
        self.sessions.get_mut(&number).map(|(_, session)| session)
    }

    pub(super) fn next_timer(&self) -> Option<Instant> {
        let timers = self
            .sessions
            .values()
            .filter_map(|(_, session)| session.poll_timeout());
        timers.min()
    }

    pub(super) fn time_out(&mut self, now: Instant) {
        for (_, session) in self.sessions.values_mut() {
            session.handle_timeout(now);
        }
        self.sessions
            .retain(|_, (_, session)| session.phase() != SessionPhase::Closed);
    }

    /// Some stream that is open.
    pub(super) fn first_stream(&self) -> Option<(ConnectionId, CallId)> {
        self.posts
            .values()
            .next()
            .map(|post| (post.connection_id, post.call))
    }
}

impl World {
    /// The client sends a message, or closes the stream of a call.
    pub(super) fn post(&mut self, connection_id: ConnectionId, kind: TransmitKind, frame: Bytes) {
        let call = match kind {
            TransmitKind::Call(call) => Some(call),
            TransmitKind::Reset(call) => {
                if let Some(post) = self.client.streams.remove(&call) {
                    self.server.sessions.posts.remove(&post);
                }
                return;
            }
            _ => None,
        };
        self.sequence += 1;
        let number = self.sequence;
        if let Some(call) = call {
            if self.hit(Fault::NotSent) {
                return self.end_stream(connection_id, call, StreamEnd::NotSent("no route".into()));
            }
            if !self.server.is_up {
                return self.refuse_connection(connection_id, call);
            }
            self.client.streams.insert(call, number);
        }
        let is_initialize = has(&frame, "\"method\":\"initialize\"");
        let session = self.client.session.filter(|_| !is_initialize);
        let post = Post {
            number,
            connection_id,
            call,
            headers: MessageHeaders::from_frame(&frame, self.link.revision()),
            frame,
            session,
        };
        let delay = self.latency();
        self.after(delay, SimEvent::Post(post));
    }

    /// Refuses a connection: one call is lost, or all of them if no other stream is open.
    fn refuse_connection(&mut self, connection_id: ConnectionId, call: CallId) {
        if self.client.streams.is_empty() {
            let delay = self.latency();
            return self.after(delay, SimEvent::Ends(connection_id, End::Lost));
        }
        self.end_stream(
            connection_id,
            call,
            StreamEnd::NotSent("connection refused".into()),
        );
    }

    /// A POST comes to the server.
    pub(super) fn on_post(&mut self, post: &Post) {
        let Post {
            number,
            connection_id,
            call,
            ..
        } = *post;
        if let Some(call) = call {
            let end = if !self.server.is_up || self.hit(Fault::StreamLost) {
                Some(StreamEnd::Lost("reset".into()))
            } else if self.hit(Fault::Refused) {
                let status = self.random.pick(&[400, 404, 429, 500, 503]).unwrap_or(500);
                Some(StreamEnd::Refused(status))
            } else {
                None
            };
            if let Some(end) = end {
                return self.end_stream(connection_id, call, end);
            }
            let opens = None;
            let open = OpenPost {
                connection_id,
                call,
                opens,
            };
            self.server.sessions.posts.insert(number, open);
        }
        let frame = post.frame.clone();
        let pairs = post.headers.iter();
        let headers = Headers::collect(pairs.map(|(name, value): (&str, &str)| (name, value)));
        let config = RouterConfig::new(self.server.revisions());
        match route(&config, &frame, Some(&headers)) {
            Routed::Stateless(request) => self.accept_request(&Incoming {
                place: Place::Post(number, request.id),
                method: request.method,
                params: request.params.as_str(),
                is_stateless: true,
            }),
            Routed::Session(message) => self.on_session_post(post, message),
            Routed::Refused(refusal) => {
                let mut body = Vec::new();
                write_error(&mut body, refusal.id.as_ref(), &refusal.error);
                self.write_on_post(number, &body);
                self.end_post(number, StreamEnd::Refused(refusal.status));
            }
            _ => self.oracle.violated("a route that no driver knows"),
        }
    }

    fn on_session_post(&mut self, post: &Post, message: Envelope<'_>) {
        let is_initialize = has(&post.frame, "\"method\":\"initialize\"");
        let number = match post.session {
            None if is_initialize => {
                let session = Session::new(self.now, self.server.config(SimCarrier::Http));
                let sessions = &mut self.server.sessions;
                sessions.next += 1;
                let number = sessions.next;
                sessions
                    .sessions
                    .insert(number, (post.connection_id, session));
                if let Some(open) = sessions.posts.get_mut(&post.number) {
                    open.opens = Some(number);
                }
                number
            }
            None => return self.end_post(post.number, StreamEnd::Refused(400)),
            Some(number) => number,
        };
        let now = self.now;
        let Some(session) = self.server.sessions.get_mut(number) else {
            return self.forget_post(post);
        };
        session.handle_message(now, Some(StreamId::new(post.number)), &post.frame, message);
        if post.call.is_none() {
            self.server.sessions.posts.remove(&post.number);
        }
    }

    /// 404: there is no such session any more.
    fn forget_post(&mut self, post: &Post) {
        self.note(Column::Server, || "404: no such session".into());
        self.server.sessions.posts.remove(&post.number);
        if let Some(call) = post.call {
            self.send_on_stream(StreamInput {
                connection_id: post.connection_id,
                stream: Some(call),
                kind: StreamInputKind::Expired,
            });
        }
    }

    /// Takes the messages and events of the sessions.
    pub(super) fn serve_sessions(&mut self) -> bool {
        let mut has_moved = false;
        let numbers: Vec<u64> = self.server.sessions.sessions.keys().copied().collect();
        for number in numbers {
            while let Some(event) = self
                .server
                .sessions
                .get_mut(number)
                .and_then(Session::poll_event)
            {
                has_moved = true;
                self.on_session_event(&|request| Place::Session(number, request), event);
            }
            while !self.server.is_mute
                && let Some((connection_id, session)) =
                    self.server.sessions.sessions.get_mut(&number)
            {
                let connection_id = *connection_id;
                let Some(transmit) = session.poll_transmit() else {
                    break;
                };
                has_moved = true;
                let frame = transmit.to_bytes();
                match transmit.stream {
                    Some(stream) => self.write_on_post(stream.get(), &frame),
                    None => self.emit(To::Stream(connection_id, None, None), &frame),
                }
                if let (Some(stream), TransmitKind::Response) = (transmit.stream, transmit.kind) {
                    self.end_post(stream.get(), StreamEnd::Complete);
                }
            }
        }
        has_moved
    }

    /// Answers a request that no session knows.
    pub(super) fn answer_post(
        &mut self,
        number: u64,
        id: &RequestId,
        answer: Result<&str, &ErrorObject>,
    ) {
        let mut body = Vec::new();
        match answer {
            Ok(result) => write_response(&mut body, id, &object(result)),
            Err(error) => write_error(&mut body, Some(id), error),
        }
        self.write_on_post(number, &body);
        self.end_post(number, StreamEnd::Complete);
    }

    pub(super) fn notify_on_post(&mut self, number: u64, method: &str, body: &str) {
        let frame = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{{body}}}}}"#);
        self.write_on_post(number, frame.as_bytes());
    }

    fn write_on_post(&mut self, number: u64, frame: &[u8]) {
        if let Some(post) = self.server.sessions.posts.get(&number).copied() {
            self.emit(
                To::Stream(post.connection_id, Some(post.call), post.opens),
                frame,
            );
        }
    }

    fn end_post(&mut self, number: u64, end: StreamEnd) {
        if let Some(post) = self.server.sessions.posts.remove(&number) {
            self.end_stream(post.connection_id, post.call, end);
        }
    }

    /// All streams end.
    fn end_posts(&mut self) {
        let numbers: Vec<u64> = self.server.sessions.posts.keys().copied().collect();
        for number in numbers {
            self.end_post(number, StreamEnd::Lost("reset".into()));
        }
    }

    /// One stream of many ends.
    pub(super) fn lose_stream(&mut self) {
        let first = self.server.sessions.posts.keys().next().copied();
        if let Some(number) = first {
            self.end_post(number, StreamEnd::Lost("cut off".into()));
        }
    }

    /// The sessions are forgotten; what is open stays open, or not.
    pub(super) fn expire_sessions(&mut self) {
        self.note(Column::Server, || "forgets its sessions".into());
        self.server.sessions.sessions.clear();
        if self.random.one_in(2) {
            self.end_posts();
        }
    }

    pub(super) fn crash_http(&mut self) {
        self.server.sessions.sessions.clear();
        self.end_posts();
        self.server.is_up = false;
        let down = Duration::from_millis(50) + self.random.millis(6000);
        self.after(down, SimEvent::Restart);
    }
}
