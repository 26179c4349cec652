//! Transcripts of a server's session on a shared stream. `<` is what the client says.

use std::time::Duration;

use bowline_proto::server::{Routed, RouterConfig, Session, SessionConfig, SessionEvent, route};
use bowline_proto::{CallId, Instant, Transmit};
use bowline_types::capabilities::{ResourcesCapability, ServerCapabilities, ToolsCapability};
use bowline_types::common::Implementation;
use bowline_types::logging::LoggingLevel;
use bowline_types::{
    ErrorObject, JsonObject, JsonRef, RequestId, Revision, Revisions, Wire, envelope,
};
use bytes::Bytes;

use super::{Player, Script, counted, play, replay_all};

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
    let mut server = Server {
        session: Session::new(Instant::START, config),
        router: RouterConfig::new(revisions),
        calls: Vec::new(),
    };
    play(text, &mut server)
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

struct Server {
    session: Session,
    router: RouterConfig,
    calls: Vec<CallId>,
}

impl Player for Server {
    fn step(&mut self, script: &mut Script, step: &str) {
        let now = script.now();
        if let Some(frame) = step.strip_prefix("< ") {
            return self.client_says(script, frame);
        }
        let command = step.strip_prefix("! ").expect("a command");
        let (name, rest) = command.split_once(' ').unwrap_or((command, ""));
        let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
        let id = || RequestId::from_json(first).expect("an id");
        match name {
            "respond" => {
                let result = JsonRef::parse(second).expect("a result");
                script.refusal(self.session.respond(&id(), result).err());
            }
            "respond-error" => {
                let error = ErrorObject::new(-32603, "failed");
                script.refusal(self.session.respond_error(&id(), &error).err());
            }
            "ask" => match self.session.ask(now, first, second.to_owned()) {
                Ok(call) => self.calls.push(call),
                Err(error) => script.refusal(Some(format!("{error:?}"))),
            },
            "cancel" => {
                let call = self.calls[first.parse::<usize>().expect("a number") - 1];
                self.session.cancel(now, call, "no longer wanted");
            }
            "notify" => {
                if !self.session.notify(first, second.to_owned()) {
                    script.refusal(Some("no room"));
                }
            }
            "shut-down" => self.session.shut_down(),
            "close" => self.session.close(),
            "wait" => {}
            "show" => script.event(&self.show()),
            other => panic!("unknown command {other}"),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.session.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.session.poll_timeout()
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.session.poll_transmit()
    }

    fn poll_event(&mut self) -> Option<String> {
        self.session.poll_event().map(|event| words(&event))
    }
}

impl Server {
    fn client_says(&mut self, script: &mut Script, frame: &str) {
        let frame = Bytes::copy_from_slice(frame.as_bytes());
        match route(&self.router, &frame, None) {
            Routed::Session(message) => self.session.handle_message(script.now(), &frame, message),
            Routed::Stateless(request) => {
                self.session.handle_stateless();
                script.event(&format!("stateless {}, id {}", request.method, request.id));
            }
            Routed::Refused(refusal) => {
                let mut out = Vec::new();
                envelope::write_error(&mut out, refusal.id.as_ref(), &refusal.error);
                let text = String::from_utf8(out).expect("UTF-8");
                script.write(&format!("> {text}"));
            }
            other => panic!("{other:?}"),
        }
    }

    fn show(&self) -> String {
        let text = format!(
            "{}, {} open, logs info {}, watches file:///a {}; {}",
            self.session.phase().as_str(),
            self.session.open_requests(),
            self.session.logs(&LoggingLevel::Info),
            self.session.watches("file:///a"),
            counted(&format!("{:?}", self.session.stats()))
        );
        text.trim_end_matches("; ").to_owned()
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
