//! Transcripts of a server's session on a shared stream. `<` is what the client says.

use std::time::Duration;

use bowline_proto::server::{Routed, RouterConfig, Session, SessionConfig, SessionEvent, route};
use bowline_proto::{CallId, Instant};
use bowline_types::capabilities::{ResourcesCapability, ServerCapabilities, ToolsCapability};
use bowline_types::common::Implementation;
use bowline_types::logging::LoggingLevel;
use bowline_types::{
    ErrorObject, JsonObject, JsonRef, RequestId, Revision, Revisions, Wire, envelope,
};
use bytes::Bytes;

use super::{Line, replay_all, stamp};

#[test]
fn transcripts_of_servers_hold() {
    let count = replay_all("server", replay);
    assert!(count >= 14, "only {count} transcripts");
}

fn replay(text: &str) -> String {
    let capabilities = ServerCapabilities::new()
        .tools(ToolsCapability::new())
        .resources(ResourcesCapability::new().subscribe(true))
        .logging(JsonObject::new());
    let mut config = SessionConfig::new(Implementation::new("server", "1"));
    config.capabilities(capabilities);
    let mut revisions = Revisions::ALL;
    for line in text.lines() {
        if let Some(setting) = line.strip_prefix("% ") {
            configure(&mut config, &mut revisions, setting);
        }
    }
    let mut replay = Replay {
        session: Session::new(Instant::START, config),
        router: RouterConfig::new(revisions),
        now: 0,
        calls: Vec::new(),
        out: String::new(),
    };
    for line in text.lines() {
        match Line::parse(line) {
            Line::Step { millis, step } => {
                replay.advance(millis);
                replay.out += &format!("{} {step}\n", stamp(millis));
                replay.step(step);
                replay.effects();
            }
            Line::Effect => {}
            Line::Other(other) => replay.out += &format!("{other}\n"),
        }
    }
    replay.out
}

fn configure(config: &mut SessionConfig, revisions: &mut Revisions, setting: &str) {
    let (name, value) = setting.split_once(' ').unwrap_or((setting, ""));
    let number = || value.parse::<usize>().expect("a number");
    match name {
        "revisions" => {
            let names = value
                .split(',')
                .map(|name| name.parse::<Revision>().expect("a revision"));
            *revisions = names.collect();
            config.revisions(*revisions);
        }
        "max-requests" => drop(config.max_requests(number())),
        "max-watched" => drop(config.max_watched(number())),
        "max-batch" => drop(config.max_batch(number())),
        "only-logs" => drop(config.handshake_timeout(Duration::from_secs(30), true)),
        "no-capabilities" => drop(config.capabilities(ServerCapabilities::new())),
        other => panic!("unknown setting {other}"),
    }
}

struct Replay {
    session: Session,
    router: RouterConfig,
    now: u64,
    calls: Vec<CallId>,
    out: String,
}

impl Replay {
    fn now(&self) -> Instant {
        Instant::START + Duration::from_millis(self.now)
    }

    fn advance(&mut self, millis: u64) {
        let until = Instant::START + Duration::from_millis(millis);
        while let Some(due) = self.session.poll_timeout()
            && due <= until
        {
            self.now = due.as_nanos() / 1_000_000;
            self.session.handle_timeout(due);
            self.effects();
        }
        self.now = millis;
    }

    fn step(&mut self, step: &str) {
        let now = self.now();
        if let Some(frame) = step.strip_prefix("< ") {
            return self.client_says(frame);
        }
        let command = step.strip_prefix("! ").expect("a command");
        let (name, rest) = command.split_once(' ').unwrap_or((command, ""));
        let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
        let id = || RequestId::from_json(first).expect("an id");
        match name {
            "respond" => {
                let result = JsonRef::parse(second).expect("a result");
                let outcome = self.session.respond(&id(), result);
                self.refused(outcome.err().map(|error| error.to_string()));
            }
            "respond-error" => {
                let error = ErrorObject::new(-32603, "failed");
                let outcome = self.session.respond_error(&id(), &error);
                self.refused(outcome.err().map(|error| error.to_string()));
            }
            "ask" => match self.session.ask(now, first, second.to_owned()) {
                Ok(call) => self.calls.push(call),
                Err(error) => self.refused(Some(format!("{error:?}"))),
            },
            "cancel" => {
                let call = self.calls[first.parse::<usize>().expect("a number") - 1];
                self.session.cancel(now, call, "no longer wanted");
            }
            "notify" => {
                if !self.session.notify(first, second.to_owned()) {
                    self.refused(Some("no room".into()));
                }
            }
            "shut-down" => self.session.shut_down(),
            "close" => self.session.close(),
            "wait" => {}
            "show" => self.show(),
            other => panic!("unknown command {other}"),
        }
    }

    fn client_says(&mut self, frame: &str) {
        let frame = Bytes::copy_from_slice(frame.as_bytes());
        let now = self.now();
        match route(&self.router, &frame, None) {
            Routed::Session(message) => self.session.handle_message(now, &frame, message),
            Routed::Stateless(request) => {
                self.session.handle_stateless();
                let words = format!("stateless {}, id {}", request.method, request.id);
                self.event(&words);
            }
            Routed::Refused(refusal) => {
                let mut out = Vec::new();
                envelope::write_error(&mut out, refusal.id.as_ref(), &refusal.error);
                let text = String::from_utf8(out).expect("UTF-8");
                self.out += &format!("{} > {text}\n", stamp(self.now));
            }
            other => panic!("{other:?}"),
        }
    }

    fn effects(&mut self) {
        while let Some(transmit) = self.session.poll_transmit() {
            let text = String::from_utf8(transmit.to_bytes()).expect("UTF-8");
            self.out += &format!("{} > {}\n", stamp(self.now), text.trim_end());
        }
        while let Some(event) = self.session.poll_event() {
            self.event(&words(&event));
        }
    }

    fn refused(&mut self, error: Option<String>) {
        if let Some(error) = error {
            self.event(&format!("refused: {error}"));
        }
    }

    fn event(&mut self, words: &str) {
        self.out += &format!("{} * {words}\n", stamp(self.now));
    }

    fn show(&mut self) {
        let stats = format!("{:?}", self.session.stats());
        let fields = stats
            .trim_start_matches("SessionStats { ")
            .trim_end_matches(" }");
        let counted: Vec<_> = fields
            .split(", ")
            .filter(|field| !field.ends_with(": 0"))
            .collect();
        let text = format!(
            "{}, {} open, logs info {}, watches file:///a {}; {}",
            self.session.phase().as_str(),
            self.session.open_requests(),
            self.session.logs(&LoggingLevel::Info),
            self.session.watches("file:///a"),
            counted.join(", ")
        );
        self.event(text.trim_end_matches("; "));
    }
}

fn words(event: &SessionEvent) -> String {
    match event {
        SessionEvent::Initialized(client) => {
            format!("initialized {} {}", client.revision, client.info.name)
        }
        SessionEvent::Ready => "ready".into(),
        SessionEvent::Request { id, method, params } => {
            let params = params
                .as_ref()
                .map(|params| format!(" {params:?}"))
                .unwrap_or_default();
            format!("request {method}, id {id}{params}")
        }
        SessionEvent::RequestCancelled(id) => format!("request {id} cancelled"),
        SessionEvent::Notification { method, .. } => format!("notification {method}"),
        SessionEvent::Ended { call, outcome } => format!("ask {call} ended: {outcome:?}"),
        SessionEvent::HandshakeTimedOut => "handshake timed out".into(),
        SessionEvent::Closed => "closed".into(),
        other => panic!("{other:?}"),
    }
}
