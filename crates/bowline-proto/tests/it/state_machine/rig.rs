//! A link in any state, and what is to be seen of it from outside.

use std::time::Duration;

use bowline_proto::codec::{FrameLimits, Oversize};
use bowline_proto::connection::StreamEnd;
use bowline_proto::link::{
    Action, CallKey, ConnectionId, LinkCall, LinkConfig, LinkError, LinkEvent, LinkState,
    StopOutcome, Transition,
};
use bowline_proto::{
    CallId, CallRequest, Carrier, Config, IdCounter, Instant, Link, Outcome, RequestKey, Sent,
    Timeouts, Transmit, TransmitKind,
};
use bowline_types::common::Implementation;
use serde_json::Value;

/// The result of `initialize` from a server of the handshake era.
const AGREED: &str =
    r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;

pub(crate) struct Rig {
    pub(crate) link: Link,
    pub(crate) now: Instant,
    pub(crate) connection_id: Option<ConnectionId>,
    /// A call that is with the server.
    pub(crate) pending: Option<CallKey>,
    /// A call that waits for a connection.
    pub(crate) waiting: Option<CallKey>,
    /// The server's request that a handler works on.
    pub(crate) request: Option<RequestKey>,
    /// The id of the last call that was sent.
    pub(crate) last_id: u64,
    /// The id of the last message of a handshake.
    handshake_id: u64,
    pub(crate) last: Option<Transmit>,
    /// The transitions that were reported.
    pub(crate) transitions: Vec<Transition>,
    /// The calls that have ended.
    pub(crate) ended: Vec<CallKey>,
    is_shared: bool,
}

impl Rig {
    /// A link that has just begun.
    pub(crate) fn new(configure: impl FnOnce(&mut Config)) -> Self {
        Self::with(IdCounter::new(), configure, |_| {})
    }

    pub(crate) fn with(
        ids: IdCounter,
        configure: impl FnOnce(&mut Config),
        configure_link: impl FnOnce(&mut LinkConfig),
    ) -> Self {
        let mut config = Config::new(Implementation::new("rig", "0"));
        config.call_timeouts(Timeouts::new(seconds(500), seconds(600)));
        let mut frames = FrameLimits::default();
        frames.frame = 1000;
        frames.oversize = Oversize::Stop;
        config.limits().frames(frames);
        configure(&mut config);
        let is_shared = !format!("{config:?}").contains("StreamPerRequest");
        let mut config = LinkConfig::new(config);
        configure_link(&mut config);
        let mut rig = Self {
            link: Link::new(Instant::START, config, ids),
            now: Instant::START,
            connection_id: None,
            pending: None,
            waiting: None,
            request: None,
            last_id: 0,
            handshake_id: 0,
            last: None,
            transitions: Vec::new(),
            ended: Vec::new(),
            is_shared,
        };
        rig.discard_effects();
        rig
    }

    pub(crate) fn http() -> Self {
        Self::new(|config| {
            config.carrier(Carrier::StreamPerRequest);
        })
    }

    /// Brings a link into a state: with a call that waits, or one that is with the server.
    pub(crate) fn of(state: LinkState) -> Self {
        Self::new(|_| {}).to(state)
    }

    pub(crate) fn to(mut self, state: LinkState) -> Self {
        match state {
            LinkState::Starting => self.wait_for_ready(),
            LinkState::Initializing => {
                self.wait_for_ready();
                self.open();
            }
            LinkState::Ready => self.become_ready(),
            LinkState::Backoff => {
                self.wait_for_ready();
                let connection_id = self.connection_id.expect("it was opened");
                let error = bowline_proto::link::OpenError::transient("refused");
                self.link.handle_open_failed(self.now, connection_id, error);
            }
            LinkState::Closing => {
                self.become_ready();
                assert_eq!(self.link.stop(self.now), StopOutcome::Started);
            }
            LinkState::Closed => {
                self = self.to(LinkState::Closing);
                self.wait(Duration::from_millis(50));
            }
        }
        self.discard_effects();
        assert_eq!(self.link.state(), state);
        self
    }

    /// Opens, agrees, and makes a call that the server doesn't answer.
    pub(crate) fn become_ready(&mut self) {
        self.open();
        self.fall_back();
        self.initialized();
        self.discard_effects();
        let call = LinkCall::new(CallRequest::new("tools/call", &b""[..]).with_progress());
        self.pending = Some(self.link.call(self.now, call).expect("it is ready"));
        self.discard_effects();
    }

    pub(crate) fn open(&mut self) {
        let connection_id = self.connection_id.expect("it was opened");
        self.link.handle_opened(self.now, connection_id);
        self.discard_effects();
    }

    /// The server doesn't know the probe: `initialize` is sent.
    pub(crate) fn fall_back(&mut self) {
        if self.link.state() == LinkState::Initializing {
            self.refuse(-32601, "null");
            self.discard_effects();
        }
    }

    pub(crate) fn initialized(&mut self) {
        self.agree(AGREED);
    }

    fn wait_for_ready(&mut self) {
        let call = LinkCall::new(CallRequest::new("waiting", &b""[..])).wait_for_ready();
        self.waiting = Some(self.link.call(self.now, call).expect("it may wait"));
    }

    /// The server answers the last call.
    pub(crate) fn answer(&mut self, result: &str) {
        self.answer_to(self.last_id, result);
    }

    pub(crate) fn answer_to(&mut self, id: u64, result: &str) {
        self.receive(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
        ));
    }

    /// The server answers the last message of the handshake.
    pub(crate) fn agree(&mut self, result: &str) {
        self.answer_to(self.handshake_id, result);
    }

    /// The server refuses the last message of the handshake.
    pub(crate) fn refuse(&mut self, code: i32, data: &str) {
        let id = self.handshake_id;
        self.receive(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"no","data":{data}}}}}"#
        ));
    }

    /// Receives a message of the server, on the current transport.
    pub(crate) fn receive(&mut self, frame: &str) {
        let Some(connection_id) = self.connection_id else {
            return;
        };
        if !self.is_shared {
            let frame = bytes::Bytes::copy_from_slice(frame.as_bytes());
            return self
                .link
                .handle_message(self.now, connection_id, None, &frame);
        }
        if let Some(buffer) = self.link.read_buffer(connection_id) {
            buffer.extend_from_slice(frame.as_bytes());
            buffer.extend_from_slice(b"\n");
        }
        self.link.handle_read(self.now, connection_id);
    }

    pub(crate) fn lose(&mut self) {
        if let Some(connection_id) = self.connection_id {
            self.link.handle_lost(self.now, connection_id, "gone");
        }
    }

    pub(crate) fn end_stream(&mut self, end: StreamEnd) {
        if let Some(connection_id) = self.connection_id {
            let call = call_id(self.last_id);
            self.link
                .handle_stream_end(self.now, connection_id, call, end);
        }
    }

    /// Time passes, with every timeout on the way.
    pub(crate) fn wait(&mut self, time: Duration) {
        let until = self.now + time;
        let mut at_once = 0;
        while let Some(due) = self.link.poll_timeout()
            && due <= until
        {
            // One timeout may lead to another one, but not for ever.
            at_once = if due > self.now { 0 } else { at_once + 1 };
            assert!(at_once < 3, "it spins");
            self.now = self.now.max(due);
            self.link.handle_timeout(self.now);
        }
        self.now = until;
    }

    /// Does what the link wants, and forgets it.
    pub(crate) fn discard_effects(&mut self) {
        drop(self.effects());
    }

    /// Returns a description of the link's actions, messages and events.
    pub(crate) fn effects(&mut self) -> Vec<String> {
        let mut effects = Vec::new();
        while let Some(action) = self.link.poll_action() {
            effects.push(match action {
                Action::Open(connection_id) => {
                    self.connection_id = Some(connection_id);
                    format!("open {connection_id}")
                }
                Action::Close(connection_id) => format!("close {connection_id}"),
                other => panic!("{other:?}"),
            });
        }
        while let Some(transmit) = self.link.poll_transmit() {
            effects.push(self.describe_message(&transmit));
            self.last = Some(transmit);
        }
        while let Some(event) = self.link.poll_event() {
            effects.extend(self.describe_event(event));
        }
        effects
    }

    fn describe_message(&mut self, transmit: &Transmit) -> String {
        if let TransmitKind::Reset(_) = transmit.kind {
            return "> reset".into();
        }
        let message: Value = serde_json::from_slice(&transmit.to_bytes()).expect("JSON");
        match (&message["method"], &message["error"]["code"]) {
            (Value::String(method), _) => {
                if let Some(id) = message["id"].as_u64() {
                    self.last_id = id;
                    if ["server/discover", "initialize"].contains(&method.as_str()) {
                        self.handshake_id = id;
                    }
                }
                let method = method.trim_start_matches("notifications/");
                format!("> {method}")
            }
            (_, Value::Number(code)) => format!("> error {code}"),
            (_, _) => "> answer".into(),
        }
    }

    fn describe_event(&mut self, event: LinkEvent) -> Option<String> {
        Some(match event {
            // The state is shown by itself.
            LinkEvent::State(transition) => {
                self.transitions.push(transition);
                return None;
            }
            LinkEvent::Ready { session, agreement } => {
                format!("session {session} {}", agreement.revision)
            }
            LinkEvent::Ended {
                call,
                outcome,
                sent,
            } => {
                self.ended.push(call);
                format!("{}: {}", self.name(call), ending(&outcome, sent))
            }
            LinkEvent::Progress { call, .. } => format!("{}: progress", self.name(call)),
            LinkEvent::Request {
                request, method, ..
            } => {
                self.request = Some(request);
                format!("request {method}")
            }
            LinkEvent::RequestCancelled(_) => "request cancelled".into(),
            LinkEvent::Notification { method, .. } => format!("notification {method}"),
            other => panic!("{other:?}"),
        })
    }

    fn name(&self, call: CallKey) -> &'static str {
        match Some(call) {
            call if call == self.pending => "pending",
            call if call == self.waiting => "waiting",
            _ => "call",
        }
    }

    /// The timer of the state: calls have far longer ones.
    pub(crate) fn timer(&self) -> String {
        let left = self.link.poll_timeout().map(|at| at.since(self.now));
        match left.filter(|left| *left <= seconds(60)) {
            None => "none".into(),
            Some(left) if self.link.state() == LinkState::Backoff => match left.as_millis() {
                0 => "now".into(),
                800..=1200 => "first wait".into(),
                1201..=2400 => "second wait".into(),
                30_000 => "longest wait".into(),
                millis => format!("{millis} ms"),
            },
            Some(left) => format!("{left:?}"),
        }
    }
}

/// The id of a call, as the driver knows it from what was sent.
pub(crate) fn call_id(id: u64) -> CallId {
    IdCounter::starting_at(id.max(1)).issue().expect("an id")
}

pub(crate) fn ending(outcome: &Outcome, sent: Sent) -> String {
    match outcome {
        Outcome::Lost { .. } => format!("lost, sent {sent:?}").to_lowercase(),
        Outcome::Backpressure { attempts } => format!("backpressure after {attempts}"),
        other => other.name().into(),
    }
}

pub(crate) fn refusal(error: LinkError) -> String {
    match error {
        LinkError::Unavailable { next_attempt, .. } => match next_attempt {
            Some(_) => "unavailable until the next attempt".into(),
            None => "unavailable".into(),
        },
        LinkError::Backpressure => "backpressure".into(),
        LinkError::Shutdown => "shutdown".into(),
        LinkError::GaveUp => "gave up".into(),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
