//! The server's sessions: how they are opened, become records when they are idle, and end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bowline_proto::server::{
    EventLog, EventLogConfig, EventLogStats, Session, SessionConfig, SessionId, SessionPhase,
    SessionRecord,
};
use bowline_proto::{Carrier, Instant, RequestKey, StreamId, Timeouts};
use bowline_types::capabilities::{ServerCapabilities, ToolsCapability};
use bowline_types::common::Implementation;
use bowline_types::envelope::Envelope;
use bowline_types::{Revision, Revisions};
use bytes::Bytes;

use super::handlers::Job;
use super::http::{Arrival, Connection};
use super::{ServerWorld, SimEvent};
use crate::fault::Fault;
use crate::random::Random;
use crate::trace_text::Column;

/// How long a session without connections and handlers is kept.
pub(super) const SESSION_LIFETIME: Duration = Duration::from_secs(25);

/// The server.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) sessions: BTreeMap<u64, ServedSession>,
    pub(super) connections: BTreeMap<u64, Connection>,
    pub(super) jobs: BTreeMap<u64, Job>,
    pub(super) next_job: u64,
    opened: u64,
    session_config: Arc<SessionConfig>,
    pub(super) log_config: EventLogConfig,
    /// Streams have the same numbers in all sessions.
    pub(super) has_common_numbers: bool,
    ended_logs: Vec<EventLogStats>,
}

/// A session on the server.
#[derive(Debug)]
pub(super) struct ServedSession {
    core: Core,
    pub(super) log: EventLog,
    /// The streams of the calls.
    pub(super) requests: BTreeMap<RequestKey, (StreamId, u64)>,
    pub(super) server_stream: Option<StreamId>,
    /// The newest event of that stream that a connection was sent, and the index of the message after
    /// it.
    pub(super) server_sent: (u64, u64),
    next_stream: u64,
    streams: usize,
    id: SessionId,
    /// The client has finished the handshake.
    pub(super) is_ready: bool,
    pub(super) idle_since: Instant,
}

/// A session with something open in it, or what is kept of one.
#[derive(Debug)]
enum Core {
    Live(Box<Session>),
    Idle(Box<SessionRecord>),
    Over,
}

impl ServedSession {
    /// Returns the session, which goes on from its record if it was idle.
    pub(super) fn wake(
        &mut self,
        now: Instant,
        config: &Arc<SessionConfig>,
    ) -> Option<&mut Session> {
        self.core = match std::mem::replace(&mut self.core, Core::Over) {
            Core::Idle(record) => {
                Core::Live(Box::new(Session::resume(now, Arc::clone(config), *record)))
            }
            other => other,
        };
        self.live()
    }

    pub(super) fn live(&mut self) -> Option<&mut Session> {
        match &mut self.core {
            Core::Live(session) => Some(session),
            Core::Idle(_) | Core::Over => None,
        }
    }

    pub(super) fn revision(&self) -> Option<Revision> {
        match &self.core {
            Core::Live(session) => session.revision(),
            Core::Idle(record) => Some(record.revision()),
            Core::Over => None,
        }
    }

    /// Returns `true` if streams begin with a priming event.
    pub(super) fn has_priming(&self) -> bool {
        self.revision() >= Some(Revision::V2025_11_25)
    }

    /// A connection was sent an event of the server's own stream, whose message, if it has one, is
    /// the one before `next`.
    pub(super) fn note_server_sent(&mut self, sequence: u64, next: Option<u64>) {
        let (newest, index) = self.server_sent;
        if sequence > newest {
            self.server_sent = (sequence, next.unwrap_or(index));
        }
    }

    pub(super) fn next_stream(&mut self) -> StreamId {
        self.next_stream += 1;
        self.streams += 1;
        StreamId::new(self.next_stream)
    }

    fn is_busy(&self) -> bool {
        match &self.core {
            Core::Live(session) => session.open_handlers() > 0 || session.pending() > 0,
            Core::Idle(_) | Core::Over => false,
        }
    }

    fn timeout(&self) -> Option<Instant> {
        match &self.core {
            Core::Live(session) => session.poll_timeout(),
            Core::Idle(_) | Core::Over => None,
        }
    }
}

impl Node {
    pub(super) fn draw(random: &mut Random) -> Self {
        let mut log_config = EventLogConfig::default();
        log_config.events = random.pick(&[6, 20, 200]).unwrap_or(200);
        log_config.bytes = random.pick(&[2500, 10_000, 200_000]).unwrap_or(10_000);
        log_config.unread_bytes = random.pick(&[3000, 10_000, 200_000]).unwrap_or(10_000);
        log_config.age = Duration::from_secs(5 + random.below(5));
        log_config.streams = random.pick(&[6, 1000, 1000]).unwrap_or(1000);
        let mut session = SessionConfig::new(Implementation::new("sim server", "0"));
        session
            .capabilities(ServerCapabilities::new().tools(ToolsCapability::new()))
            .revisions(Revisions::ALL)
            .carrier(Carrier::StreamPerRequest)
            .request_timeouts(Timeouts::new(
                Duration::from_secs(4),
                Duration::from_secs(8),
            ));
        Self {
            sessions: BTreeMap::new(),
            connections: BTreeMap::new(),
            jobs: BTreeMap::new(),
            next_job: 0,
            opened: 0,
            session_config: session.into(),
            log_config,
            has_common_numbers: random.one_in(3),
            ended_logs: Vec::new(),
        }
    }

    pub(super) fn opened(&self) -> u64 {
        self.opened
    }

    /// Returns the session of that number, awake.
    pub(super) fn wake(&mut self, now: Instant, session: u64) -> Option<&mut Session> {
        let config = &self.session_config;
        self.sessions.get_mut(&session)?.wake(now, config)
    }

    pub(super) fn unstall(&mut self, connection: u64) {
        if let Some(open) = self.connections.get_mut(&connection) {
            open.is_stalled = false;
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.sessions
            .values()
            .filter_map(ServedSession::timeout)
            .min()
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        for session in self.sessions.values_mut() {
            if let Some(session) = session.live() {
                session.handle_timeout(now);
            }
        }
    }

    /// Returns what is beyond its limit.
    pub(super) fn excess(&self) -> Option<String> {
        let config = &self.log_config;
        let events = config.events + config.unread_bytes / EventLogConfig::EVENT_OVERHEAD;
        let bytes = config.bytes + config.unread_bytes;
        self.sessions.iter().find_map(|(number, session)| {
            let (len, kept) = (session.log.len(), session.log.bytes());
            let is_beyond = len > events || kept > bytes;
            is_beyond.then(|| format!("session {number} keeps {len} events of {kept} bytes"))
        })
    }

    /// Returns `true` if nothing is kept at a later time.
    pub(super) fn is_at_rest(&mut self, later: Instant) -> bool {
        self.sessions.values_mut().all(|session| {
            session.log.handle_timeout(later);
            session.log.is_empty() && session.log.bytes() == 0
        })
    }

    pub(super) fn log_stats(&self) -> impl Iterator<Item = EventLogStats> {
        let open = self.sessions.values().map(|session| session.log.stats());
        open.chain(self.ended_logs.iter().copied())
    }

    /// Returns `true` if events or streams of a session can be gone.
    pub(super) fn may_have_gap(&self, session: u64) -> bool {
        self.sessions.get(&session).is_none_or(|session| {
            let stats = session.log.stats();
            stats.evicted + stats.expired > 0 || session.streams > self.log_config.streams
        })
    }

    pub(super) fn find(&self, id: Option<&SessionId>) -> Option<u64> {
        let mut sessions = self.sessions.iter();
        let found = sessions.find(|(_, session)| Some(&session.id) == id);
        found.map(|(number, _)| *number)
    }
}

impl ServerWorld {
    pub(super) fn open_session(&mut self, connection: u64, frame: &Bytes, message: Envelope<'_>) {
        let mut session = Session::new(self.now, Arc::clone(&self.node.session_config));
        session.handle_message(self.now, Some(StreamId::new(0)), frame, message);
        let Some(response) = session.poll_transmit() else {
            return self.oracle.violated("initialize has no response");
        };
        self.node.opened += 1;
        let number = self.node.opened;
        let text = format!("{number}-{:016x}", self.random.draw());
        let Ok(id) = SessionId::new(&text) else {
            return self.oracle.violated("a session id that is none");
        };
        let first_stream = if self.node.has_common_numbers {
            0
        } else {
            self.random.below(1 << 40)
        };
        let served = ServedSession {
            core: Core::Live(Box::new(session)),
            log: EventLog::new(self.node.log_config),
            requests: BTreeMap::new(),
            server_stream: None,
            server_sent: (0, 0),
            next_stream: first_stream,
            streams: 0,
            id,
            is_ready: false,
            idle_since: self.now,
        };
        self.node.sessions.insert(number, served);
        self.note(Column::Server, || format!("session {number} is open"));
        self.write_head(connection, 200, Some(text));
        self.write(connection, &response.to_bytes());
        self.end_response(connection, Arrival::End);
    }

    /// Ends a session, and everything in it.
    pub(super) fn end_session(&mut self, number: u64, why: &str) {
        let Some(mut ended) = self.node.sessions.remove(&number) else {
            return;
        };
        self.note(Column::Server, || format!("session {number} is {why}"));
        if let Some(session) = ended.live() {
            session.close(self.now);
        }
        self.node.ended_logs.push(ended.log.stats());
        self.node.jobs.retain(|_, job| job.session != number);
        self.oracle.on_session_ended(number);
        let connections = self.node.connections.iter();
        let of_session = connections.filter(|(_, open)| open.session == number);
        let open: Vec<u64> = of_session.map(|(connection, _)| *connection).collect();
        for connection in open {
            self.end_response(connection, Arrival::End);
        }
    }

    /// The server looks after its sessions: those without anything open become records, and those
    /// that were idle for long end.
    pub(super) fn sweep(&mut self) {
        let is_eager = self.faults.has(Fault::NodeIdle) && !self.is_healed;
        let pause = if is_eager { 100 } else { 1000 };
        self.after(Duration::from_millis(pause), SimEvent::Sweep);
        let numbers: Vec<u64> = self.node.sessions.keys().copied().collect();
        for number in numbers {
            let mut connections = self.node.connections.values();
            let is_connected = connections.any(|open| open.session == number);
            let Some(session) = self.node.sessions.get_mut(&number) else {
                continue;
            };
            session.log.handle_timeout(self.now);
            let is_closed = session
                .live()
                .is_some_and(|session| session.phase() == SessionPhase::Closed);
            if is_closed {
                if session.is_ready {
                    self.oracle
                        .violated("the session of an honest client was closed");
                }
                self.end_session(number, "closed");
            } else if is_connected || session.is_busy() {
                session.idle_since = self.now;
            } else if session.idle_since + SESSION_LIFETIME <= self.now {
                self.end_session(number, "expired");
            } else if session.live().is_some() && self.hit(Fault::NodeIdle) {
                self.reduce_to_record(number);
            }
        }
    }

    fn reduce_to_record(&mut self, number: u64) {
        let Some(session) = self.node.sessions.get_mut(&number) else {
            return;
        };
        session.core = match std::mem::replace(&mut session.core, Core::Over) {
            Core::Live(live) => match live.into_record() {
                Some(record) => Core::Idle(Box::new(record)),
                None => {
                    return self.oracle.violated("an idle session without a record");
                }
            },
            other => other,
        };
        self.note(Column::Server, || format!("session {number} is a record"));
    }
}

/// Returns the number in the id of a session.
pub(super) fn session_number(id: &str) -> Option<u64> {
    id.split('-').next()?.parse().ok()
}
