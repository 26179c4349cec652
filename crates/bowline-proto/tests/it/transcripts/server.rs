//! Transcripts of a server's session. `<` is a message of the client. On a shared stream the
//! session reads it; with `% carrier http` it is an HTTP request, whose stream and headers
//! stand before the message: `< [7 Mcp-Method: tools/list] {…}`.

use std::time::Duration;

use bowline_proto::codec::Oversize;
use bowline_proto::server::{
    HandshakeHttpConfig, RouterConfig, Session, SessionConfig, SessionEvent,
};
use bowline_proto::{CallId, CallRequest, Carrier, Instant, Payload, RequestKey, Transmit};
use bowline_types::capabilities::{
    ClientCapabilities, ResourcesCapability, SamplingCapability, ServerCapabilities,
    ToolsCapability,
};
use bowline_types::common::Implementation;
use bowline_types::logging::LoggingLevel;
use bowline_types::{ErrorObject, JsonObject, Revisions};

use super::http::Http;
use super::settings::{self, seconds};
use super::{Player, Script, counted, ending, play, replay_all, with_params};

#[test]
fn transcripts_of_servers_hold() {
    let count = replay_all("server", replay);
    assert!(count >= 80, "only {count} transcripts");
}

fn replay(text: &str) -> String {
    let capabilities = ServerCapabilities::new()
        .tools(ToolsCapability::new())
        .resources(ResourcesCapability::new().subscribe(true))
        .logging(JsonObject::new());
    let mut config = SessionConfig::new(Implementation::new("server", "1"));
    config.capabilities(capabilities);
    let mut http = Http {
        router: RouterConfig::new(Revisions::ALL),
        handshake_era: None,
        required: ClientCapabilities::new(),
    };
    for (name, value) in settings::of(text) {
        configure(&mut config, &mut http, name, value);
    }
    let mut server = Server {
        is_shared: !text.contains("\n% carrier http"),
        session: Session::new(Instant::START, config),
        http,
        calls: Vec::new(),
        requests: Vec::new(),
        last: None,
    };
    play(text, &mut server)
}

fn configure(config: &mut SessionConfig, http: &mut Http, name: &str, value: &str) {
    let number = || value.parse::<usize>().expect("a number");
    match name {
        "revisions" => {
            let revisions = settings::revisions(value);
            config.revisions(revisions);
            http.router = RouterConfig::new(revisions);
        }
        "carrier" => drop(config.carrier(Carrier::StreamPerRequest)),
        "handshake-era" if value == "without-sessions" => {
            let config = HandshakeHttpConfig::new(http.router.revisions);
            http.handshake_era = Some(config.without_sessions());
        }
        "handshake-era" => {
            http.handshake_era = Some(HandshakeHttpConfig::new(http.router.revisions))
        }
        "requires-sampling" => {
            http.required = ClientCapabilities::new().sampling(SamplingCapability::new());
        }
        "max-resource-subscriptions" => drop(config.max_resource_subscriptions(number(), 1000)),
        "max-subscribed-bytes" => drop(config.max_resource_subscriptions(1000, number())),
        "handler-timeout" => drop(config.handler_timeout(Some(seconds(value)))),
        "request-timeout" => drop(config.request_timeouts(settings::timeouts(value))),
        "only-logs" => drop(config.handshake_timeout(Duration::from_secs(30), true)),
        "no-capabilities" => drop(config.capabilities(ServerCapabilities::new())),
        other => settings::limit(config.limits(), Oversize::Skip, other, value),
    }
}

struct Server {
    session: Session,
    is_shared: bool,
    http: Http,
    calls: Vec<CallId>,
    requests: Vec<RequestKey>,
    last: Option<Transmit>,
}

impl Player for Server {
    fn step(&mut self, script: &mut Script, step: &str) {
        let now = script.now();
        if let Some(frame) = step.strip_prefix("< ") {
            return self.client_says(script, frame);
        }
        let command = step.strip_prefix("! ").expect("a command");
        let (name, rest) = command.split_once(' ').unwrap_or((command, ""));
        let is_known = self.wants(script, name, rest)
            || self.answers(script, name, rest)
            || self.world(now, name, rest)
            || self.shows(script, name);
        assert!(is_known, "unknown command {name}");
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.session.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.session.poll_timeout()
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        let transmit = self.session.poll_transmit();
        if transmit.is_some() {
            self.last.clone_from(&transmit);
        }
        transmit
    }

    fn poll_event(&mut self) -> Option<String> {
        let event = self.session.poll_event()?;
        if let SessionEvent::Request { request, .. } = &event {
            self.requests.push(*request);
        }
        Some(words(&event))
    }
}

impl Server {
    fn client_says(&mut self, script: &mut Script, frame: &str) {
        if self.is_shared {
            let buffer = self.session.read_buffer();
            buffer.extend_from_slice(frame.as_bytes());
            buffer.extend_from_slice(b"\n");
            return self.session.handle_read(script.now());
        }
        self.http.request(script, frame, &mut self.session);
    }

    /// Runs a command of the application. Returns `false` for another command.
    fn wants(&mut self, script: &mut Script, name: &str, rest: &str) -> bool {
        let now = script.now();
        let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
        match name {
            "ask" => self.ask(script, None, rest),
            "ask-about" => self.ask(script, Some(self.request_of(first)), second),
            "cancel" => {
                let call = self.calls[first.parse::<usize>().expect("a number") - 1];
                self.session.cancel(now, call, "no longer wanted");
            }
            "notify" => {
                let sent = self.session.notify(None, first, second.to_owned());
                script.refusal(sent.err());
            }
            "notify-about" => {
                let (method, body) = second.split_once(' ').unwrap_or((second, ""));
                let about = Some(self.request_of(first));
                let sent = self.session.notify(about, method, body.to_owned());
                script.refusal(sent.err());
            }
            "shut-down" => self.session.shut_down(),
            "unwritten" => {
                let bytes = rest.parse().expect("a number of bytes");
                self.session.set_unwritten_bytes(now, bytes);
            }
            "refuse-open" => self.session.refuse_open_requests(now),
            "close" => self.session.close(now),
            "wait" => {}
            _ => return false,
        }
        true
    }

    /// What a handler of the application does.
    fn answers(&mut self, script: &mut Script, name: &str, rest: &str) -> bool {
        let now = script.now();
        let (number, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        match name {
            "respond" => {
                let result = Payload::from(JsonObject::parse(rest).expect("a result"));
                let request = self.request_of(number);
                script.refusal(self.session.respond(now, request, result).err());
            }
            "respond-error" => {
                let words = if rest.is_empty() { "failed" } else { rest };
                let error = ErrorObject::new(-32603, words);
                let request = self.request_of(number);
                script.refusal(self.session.respond_error(now, request, &error).err());
            }
            "release" => {
                let request = self.request_of(number);
                self.session.release(now, request);
            }
            _ => return false,
        }
        true
    }

    /// What happens beside the messages of the client.
    fn world(&mut self, now: Instant, name: &str, rest: &str) -> bool {
        match name {
            "busy" => {
                let transmit = self.last.take().expect("something was sent");
                self.session.handle_busy(now, transmit);
            }
            "bytes" => {
                let buffer = self.session.read_buffer();
                buffer.extend_from_slice(rest.replace("\\n", "\n").as_bytes());
                self.session.handle_read(now);
            }
            "eof" => self.session.handle_eof(now),
            "lost" => self.session.handle_lost(now, rest),
            _ => return false,
        }
        true
    }

    /// What is to be seen from outside.
    fn shows(&self, script: &mut Script, name: &str) -> bool {
        let words = match name {
            "wants-read" => format!("wants to read: {}", self.session.wants_read()),
            "room-for-response" => format!(
                "room for a response: {}",
                self.session.has_room_for_response()
            ),
            "sample" => {
                let sample = self.session.malformed_sample().unwrap_or("none");
                format!("sample: {sample}")
            }
            "show" => self.show(),
            _ => return false,
        };
        script.event(&words);
        true
    }

    fn ask(&mut self, script: &mut Script, about: Option<RequestKey>, rest: &str) {
        let (mut method, mut body) = rest.split_once(' ').unwrap_or((rest, ""));
        let wants_progress = method == "progress";
        if wants_progress {
            (method, body) = body.split_once(' ').unwrap_or((body, ""));
        }
        let mut request = CallRequest::new(method.to_owned(), body.to_owned());
        if wants_progress {
            request = request.with_progress();
        }
        match self.session.send_request(script.now(), about, request) {
            Ok(call) => self.calls.push(call),
            Err(error) => script.refusal(Some(error)),
        }
    }

    /// The requests of the client are numbered from 1.
    fn request_of(&self, number: &str) -> RequestKey {
        self.requests[number.parse::<usize>().expect("a request") - 1]
    }

    fn show(&self) -> String {
        let text = format!(
            "{}, {} open of {}, log level info enabled: {}, subscribed to file:///a: {}; {}",
            self.session.phase().as_str(),
            self.session.open_requests(),
            self.session.open_handlers(),
            self.session.is_log_level_enabled(&LoggingLevel::Info),
            self.session.is_subscribed("file:///a"),
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
        SessionEvent::Request {
            request,
            method,
            params,
            context,
        } => {
            let revision = context.as_ref().map(|context| context.revision);
            let era = revision.map_or(String::new(), |revision| format!(" ({revision})"));
            with_params(format!("request {request}: {method}{era}"), params.as_ref())
        }
        SessionEvent::RequestCancelled(request) => format!("request {request} cancelled"),
        SessionEvent::RequestTimedOut(request) => format!("request {request} timed out"),
        SessionEvent::Notification { method, .. } => format!("notification {method}"),
        SessionEvent::Progress { call, params } => format!("ask {call} progress {params:?}"),
        SessionEvent::Ended {
            call,
            outcome,
            sent,
        } => format!("ask {call} ended: {}", ending(outcome, Some(*sent))),
        SessionEvent::HandshakeTimedOut => "handshake timed out".into(),
        SessionEvent::Closed(reason) => format!("closed: {reason}"),
        other => panic!("{other:?}"),
    }
}
