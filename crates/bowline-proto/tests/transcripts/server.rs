//! Transcripts of a server's session. `<` is what the client says. On a shared stream the
//! session reads it; with `% carrier http` it is a POST, whose headers and stream stand before
//! the message: `< [7 Mcp-Method: tools/list] {…}`.

use std::time::Duration;

use bowline_proto::codec::FrameLimits;
use bowline_proto::server::{
    Headers, Routed, RouterConfig, Session, SessionConfig, SessionEvent, route,
};
use bowline_proto::{
    CallId, CallRequest, Carrier, Instant, Payload, RequestKey, StreamId, Transmit,
};
use bowline_types::capabilities::{ResourcesCapability, ServerCapabilities, ToolsCapability};
use bowline_types::common::Implementation;
use bowline_types::logging::LoggingLevel;
use bowline_types::{ErrorObject, JsonObject, Revision, Revisions, envelope};
use bytes::Bytes;

use super::{Player, Script, counted, ending, play, replay_all, with_params};

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
        is_shared: !text.contains("\n% carrier http"),
        session: Session::new(Instant::START, config),
        router: RouterConfig::new(revisions),
        calls: Vec::new(),
        requests: Vec::new(),
        last: None,
    };
    play(text, &mut server)
}

fn configure(config: &mut SessionConfig, revisions: &mut Revisions, setting: &str) {
    let (name, value) = setting.split_once(' ').unwrap_or((setting, ""));
    let number = || value.parse::<usize>().expect("a number");
    let seconds = || Duration::from_secs(value.parse().expect("seconds"));
    match name {
        "revisions" => {
            let names = value
                .split(',')
                .map(|name| name.parse::<Revision>().expect("a revision"));
            *revisions = names.collect();
            config.revisions(*revisions);
        }
        "carrier" => drop(config.carrier(Carrier::StreamPerRequest)),
        "max-requests" => drop(config.limits().max_peer_requests(number())),
        "max-id-bytes" => drop(config.limits().max_peer_id_bytes(number())),
        "max-queued" => drop(config.limits().max_queued(number())),
        "max-pending" => drop(config.limits().max_pending(number())),
        "max-batch" => drop(config.limits().max_batch(number())),
        "max-undelivered" => drop(config.limits().max_undelivered(number())),
        "max-watched" => drop(config.max_watched(number(), 1000)),
        "max-watched-bytes" => drop(config.max_watched(1000, number())),
        "nonsense" => drop(
            config
                .limits()
                .nonsense_budget(value.parse().expect("a number")),
        ),
        "stall-timeout" => drop(config.limits().stall_timeout(seconds())),
        "handler-timeout" => drop(config.handler_timeout(Some(seconds()))),
        "max-frame" => {
            let mut frames = FrameLimits::default();
            frames.frame = number();
            frames.oversize = bowline_proto::codec::Oversize::Skip;
            config.limits().frames(frames);
        }
        "only-logs" => drop(config.handshake_timeout(Duration::from_secs(30), true)),
        "no-capabilities" => drop(config.capabilities(ServerCapabilities::new())),
        other => panic!("unknown setting {other}"),
    }
}

struct Server {
    session: Session,
    is_shared: bool,
    router: RouterConfig,
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
        let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
        match name {
            "respond" => {
                let result = Payload::from(JsonObject::parse(second).expect("a result"));
                let request = self.request_of(first);
                script.refusal(self.session.respond(now, request, result).err());
            }
            "respond-error" => {
                let error = ErrorObject::new(-32603, "failed");
                let request = self.request_of(first);
                script.refusal(self.session.respond_error(now, request, &error).err());
            }
            "release" => {
                let request = self.request_of(first);
                self.session.release(now, request);
            }
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
            "busy" => {
                let transmit = self.last.take().expect("something was sent");
                self.session.handle_busy(now, transmit);
            }
            "shut-down" => self.session.shut_down(),
            "eof" => self.session.handle_eof(now),
            "lost" => self.session.handle_lost(now, rest),
            "close" => self.session.close(now),
            "wait" => {}
            "wants-read" => {
                let wants = self.session.wants_read();
                script.event(&format!("wants to read: {wants}"));
            }
            "sample" => {
                let sample = self.session.malformed_sample().unwrap_or("none");
                script.event(&format!("sample: {sample}"));
            }
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
        self.client_posts(script, frame);
    }

    /// A POST: `[STREAM NAME: VALUE, NAME: VALUE] MESSAGE`.
    fn client_posts(&mut self, script: &mut Script, post: &str) {
        let (head, frame) = post
            .strip_prefix('[')
            .and_then(|post| post.split_once("] "))
            .expect("a head in brackets");
        let (stream, headers) = head.split_once(' ').unwrap_or((head, ""));
        let stream = StreamId::new(stream.parse().expect("the number of a stream"));
        let headers = headers.split(", ").filter_map(|pair| pair.split_once(": "));
        let headers = Headers::collect(headers);
        let frame = Bytes::copy_from_slice(frame.as_bytes());
        match route(&self.router, &frame, Some(&headers)) {
            Routed::Session(message) => {
                let now = script.now();
                self.session
                    .handle_message(now, Some(stream), &frame, message);
            }
            Routed::Stateless(request) => {
                let (method, id) = (request.method, request.id);
                script.event(&format!("stateless {method}, id {id}"));
            }
            Routed::Refused(refusal) => {
                let mut out = Vec::new();
                envelope::write_error(&mut out, refusal.id.as_ref(), &refusal.error);
                let text = String::from_utf8(out).expect("UTF-8");
                let (stream, status) = (stream.get(), refusal.status);
                script.write(&format!("> (on {stream}) {status} {text}"));
            }
            other => panic!("{other:?}"),
        }
    }

    fn ask(&mut self, script: &mut Script, about: Option<RequestKey>, rest: &str) {
        let (mut method, mut body) = rest.split_once(' ').unwrap_or((rest, ""));
        let wants_progress = method == "progress";
        if wants_progress {
            (method, body) = body.split_once(' ').unwrap_or((body, ""));
        }
        let mut request = CallRequest::new(method.to_owned(), body.to_owned());
        if wants_progress {
            request = request.wants_progress();
        }
        match self.session.ask(script.now(), about, request) {
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
            "{}, {} open of {}, logs info {}, watches file:///a {}; {}",
            self.session.phase().as_str(),
            self.session.open_requests(),
            self.session.handled(),
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
        SessionEvent::Ended { call, outcome } => format!("ask {call} ended: {}", ending(outcome)),
        SessionEvent::HandshakeTimedOut => "handshake timed out".into(),
        SessionEvent::Closed(reason) => format!("closed: {reason}"),
        other => panic!("{other:?}"),
    }
}
