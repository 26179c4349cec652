//! The server: processes that come and go, and the handlers in them.

use std::collections::{BTreeMap, VecDeque};

use bowline_proto::link::ConnectionId;
use bowline_proto::server::{Session, SessionConfig, SessionEvent};
use bowline_proto::{Carrier, Instant, RequestKey};
use bowline_types::capabilities::{ResourcesCapability, ServerCapabilities, ToolsCapability};
use bowline_types::common::Implementation;
use bowline_types::{RequestId, Revisions};
use bytes::Bytes;

use super::build::revisions;
use super::handlers::{Incoming, Job};
use super::http::Sessions;
use super::wire::{To, Writing};
use super::{End, SimCarrier, World};
use crate::fault::Fault;
use crate::trace_text::Column;

/// What there is of the server.
#[derive(Debug)]
pub(super) struct Server {
    revisions: Revisions,
    /// The process at the other end of the pipe.
    pub(super) pipe: Option<(ConnectionId, Session)>,
    /// Bytes that arrived on the pipe and were not read yet.
    inbox: VecDeque<Bytes>,
    /// Nothing is read.
    pub(super) is_deaf: bool,
    /// Nothing is written.
    pub(super) is_mute: bool,
    /// Nothing more is read, for ever.
    pub(super) is_half_closed: bool,
    pub(super) writing: Writing,
    /// The process on the pipe began after the faults.
    is_well: bool,
    /// The process over HTTP.
    pub(super) is_up: bool,
    pub(super) sessions: Sessions,
    pub(super) jobs: BTreeMap<u64, Job>,
    pub(super) next_job: u64,
    /// When the last bytes to the server arrive: those after them come later.
    last_arrival: Instant,
}

/// Where a request came from.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Pipe(ConnectionId, RequestKey),
    Session(u64, RequestKey),
    /// On a POST that no session knows.
    Post(u64, RequestId),
}

impl Server {
    pub(super) fn new(revisions: Revisions) -> Self {
        Self {
            revisions,
            pipe: None,
            inbox: VecDeque::new(),
            is_deaf: false,
            is_mute: false,
            is_half_closed: false,
            writing: Writing::default(),
            is_well: false,
            is_up: true,
            sessions: Sessions::default(),
            jobs: BTreeMap::new(),
            next_job: 0,
            last_arrival: Instant::START,
        }
    }

    pub(super) fn revisions(&self) -> Revisions {
        self.revisions
    }

    /// The next process, or this one over HTTP, speaks these.
    pub(super) fn set_revisions(&mut self, revisions: Revisions) {
        self.revisions = revisions;
    }

    pub(super) fn config(&self, carrier: SimCarrier) -> SessionConfig {
        let mut config = SessionConfig::new(Implementation::new("sim server", "0"));
        let mut resources = ResourcesCapability::new();
        resources.subscribe = Some(true);
        let capabilities = ServerCapabilities::new()
            .tools(ToolsCapability::new())
            .resources(resources);
        config.capabilities(capabilities).revisions(self.revisions);
        config.carrier(match carrier {
            SimCarrier::Pipe => Carrier::SharedStream,
            SimCarrier::Http => Carrier::StreamPerRequest,
        });
        config
    }

    /// The process whose client is gone ends.
    pub(super) fn on_client_gone(&mut self, connection_id: ConnectionId) {
        if self
            .pipe
            .as_ref()
            .is_some_and(|(served, _)| *served == connection_id)
        {
            self.pipe = None;
            self.inbox.clear();
        }
    }

    pub(super) fn unstall(&mut self) {
        self.is_deaf = false;
        self.is_mute = false;
    }

    pub(super) fn heal(&mut self) {
        self.unstall();
        self.is_up = true;
        self.revisions = Revisions::ALL;
    }

    pub(super) fn next_timer(&self) -> Option<Instant> {
        let pipe = self
            .pipe
            .as_ref()
            .and_then(|(_, session)| session.poll_timeout());
        [pipe, self.sessions.next_timer()]
            .into_iter()
            .flatten()
            .min()
    }

    pub(super) fn time_out(&mut self, now: Instant) {
        if let Some((_, session)) = &mut self.pipe {
            session.handle_timeout(now);
        }
        self.sessions.time_out(now);
    }

    /// Bytes come in the order in which they were sent.
    pub(super) fn in_order(&mut self, at: Instant) -> Instant {
        self.last_arrival = self.last_arrival.max(at);
        self.last_arrival
    }

    /// Returns `true` if the client watches all these, as far as it can be seen: on a pipe, in
    /// the handshake era, with a process that was always well.
    pub(super) fn watches_all<'a>(&self, mut uris: impl Iterator<Item = &'a str>) -> bool {
        match &self.pipe {
            Some((_, session)) if self.is_well && session.revision().is_some() => {
                uris.all(|uri| session.is_subscribed(uri))
            }
            Some(_) | None => true,
        }
    }

    /// Returns the connection of the process on the pipe.
    pub(super) fn connection_id(&self) -> Option<ConnectionId> {
        self.pipe.as_ref().map(|(connection_id, _)| *connection_id)
    }
}

impl World {
    /// The transport is open: on a pipe a process starts at its other end.
    pub(super) fn start_server(&mut self, connection_id: ConnectionId) {
        if self.hit(Fault::EraChange) {
            self.server.revisions = revisions(&mut self.random);
        }
        if self.carrier == SimCarrier::Http {
            return;
        }
        let spoken = self.server.revisions;
        self.note(Column::Server, || {
            format!("process {connection_id} starts, speaks {spoken}")
        });
        let session = Session::new(self.now, self.server.config(SimCarrier::Pipe));
        self.server.pipe = Some((connection_id, session));
        self.server.inbox.clear();
        self.server.unstall();
        self.server.is_half_closed = false;
        self.server.is_well = self.is_healed;
        self.server.jobs.clear();
        self.draw_writing();
    }

    pub(super) fn server_receives(&mut self, connection_id: ConnectionId, chunk: Bytes) {
        if self.server.connection_id() != Some(connection_id)
            || self.client.connection_id != Some(connection_id)
        {
            return;
        }
        // A server that frames with headers is answered so, and reads both.
        let headers = chunk.iter().position(|byte| *byte == b'{').unwrap_or(0);
        let has_headers = chunk.starts_with(b"Content-Length");
        self.server.inbox.push_back(if has_headers {
            [&chunk[headers..], b"\n"].concat().into()
        } else {
            chunk
        });
    }

    /// The server does what it can in this moment.
    pub(super) fn serve(&mut self) -> bool {
        match self.carrier {
            SimCarrier::Pipe => self.serve_pipe(),
            SimCarrier::Http => self.serve_sessions(),
        }
    }

    fn serve_pipe(&mut self) -> bool {
        let now = self.now;
        let Some((connection_id, session)) = &mut self.server.pipe else {
            return false;
        };
        let connection_id = *connection_id;
        let mut has_moved = false;
        if !self.server.is_deaf
            && session.wants_read()
            && let Some(chunk) = self.server.inbox.pop_front()
        {
            has_moved = true;
            self.client.in_pipe = self.client.in_pipe.saturating_sub(chunk.len().max(1));
            if self.server.inbox.is_empty() {
                self.client.in_pipe = 0;
            }
            if !self.server.is_half_closed {
                session.read_buffer().extend_from_slice(&chunk);
                session.handle_read(now);
            }
        }
        let mut events = Vec::new();
        while let Some(event) = session.poll_event() {
            events.push(event);
        }
        let mut frames = Vec::new();
        while !self.server.is_mute
            && let Some(transmit) = session.poll_transmit()
        {
            frames.push(Bytes::from(transmit.to_bytes()));
        }
        has_moved |= !events.is_empty() || !frames.is_empty();
        let is_over = events
            .iter()
            .any(|event| matches!(event, SessionEvent::Closed(_)));
        for event in events {
            self.on_session_event(&|request| Place::Pipe(connection_id, request), event);
        }
        for frame in frames {
            self.emit(To::Pipe(connection_id), &frame);
        }
        if is_over {
            // A process whose client is lost to it has nothing left to do.
            self.end_pipe(connection_id, End::Eof);
        }
        has_moved
    }

    pub(super) fn on_session_event(
        &mut self,
        place: &dyn Fn(RequestKey) -> Place,
        event: SessionEvent,
    ) {
        match event {
            SessionEvent::Request {
                request,
                method,
                params,
                context,
            } => {
                let params = params.as_ref().map_or("{}", |params| params.as_str());
                self.accept_request(&Incoming {
                    place: place(request),
                    method,
                    params,
                    is_stateless: context.is_some(),
                });
            }
            SessionEvent::RequestCancelled(request) | SessionEvent::RequestTimedOut(request) => {
                self.note(Column::Server, || format!("request {request} is cancelled"));
                let place = place(request);
                let mut jobs = self.server.jobs.values_mut();
                if let Some(job) = jobs.find(|job| job.place.is(&place)) {
                    job.is_cancelled = true;
                }
            }
            _ => {}
        }
    }

    /// The server dies, with all that it knew.
    pub(super) fn crash(&mut self) {
        self.note(Column::Server, || "crashes".into());
        self.server.jobs.clear();
        match self.carrier {
            SimCarrier::Pipe => {
                if let Some((connection_id, _)) = self.server.pipe.take() {
                    let end = if self.random.one_in(2) {
                        End::Eof
                    } else {
                        End::Lost
                    };
                    self.end_pipe(connection_id, end);
                }
            }
            SimCarrier::Http => self.crash_http(),
        }
    }
}

impl Place {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Pipe(a, b), Self::Pipe(c, d)) => (a, b) == (c, d),
            (Self::Session(a, b), Self::Session(c, d)) => (a, b) == (c, d),
            (Self::Post(a, _), Self::Post(b, _)) => a == b,
            (Self::Pipe(..) | Self::Session(..) | Self::Post(..), _) => false,
        }
    }
}
