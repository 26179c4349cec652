//! Transcripts of a client's connection.

use bowline_proto::codec::{Framing, Oversize};
use bowline_proto::connection::{Event, StreamEnd};
use bowline_proto::{
    CallError, CallId, CallRequest, CancelDialect, Carrier, Config, Connection, IdCounter, Instant,
    Keepalive, Payload, RequestKey, Transmit,
};
use bowline_types::common::Implementation;
use bowline_types::{Era, ErrorObject, JsonObject};
use bytes::Bytes;

use super::settings::{self, seconds};
use super::{Player, Script, counted, ending, play, replay_all, with_params};

#[test]
fn transcripts_of_clients_hold() {
    let count = replay_all("client", replay);
    assert!(count >= 110, "only {count} transcripts");
}

fn replay(text: &str) -> String {
    let mut config = Config::new(Implementation::new("client", "1"));
    let mut counter = IdCounter::new();
    for (name, value) in settings::of(text) {
        match name {
            "first-id" => counter = IdCounter::starting_at(value.parse().expect("an id")),
            _ => configure(&mut config, name, value),
        }
    }
    let mut client = Client {
        is_shared: !text.contains("\n% carrier http"),
        connection: Connection::new(config, counter),
        calls: Vec::new(),
        requests: Vec::new(),
        last: None,
    };
    play(text, &mut client)
}

pub(crate) fn configure(config: &mut Config, name: &str, value: &str) {
    match name {
        "revisions" => config.revisions(settings::revisions(value)),
        "known-era" if value == "handshake" => config.known_era(Some(Era::Handshake)),
        "known-era" => config.known_era(Some(Era::Stateless)),
        "carrier" => config.carrier(Carrier::StreamPerRequest),
        "framing" => config.framing(Framing::ContentLength),
        "cancel" => config.cancel_dialect(CancelDialect::CancelRequest),
        "handshake-timeout" => config.handshake_timeout(seconds(value)),
        "startup-timeout" => config.startup_timeout(Some(seconds(value))),
        "probe-timeout" => config.probe_timeout(seconds(value)),
        "call-timeout" => config.call_timeouts(settings::timeouts(value)),
        "keepalive" => {
            let (interval, missed) = value.split_once(' ').expect("an interval and a limit");
            let missed = missed.parse().expect("a limit");
            config.keepalive(Some(Keepalive::new(seconds(interval), missed)))
        }
        other => {
            settings::limit(config.limits(), Oversize::Stop, other, value);
            config
        }
    };
}

struct Client {
    connection: Connection,
    is_shared: bool,
    calls: Vec<CallId>,
    requests: Vec<RequestKey>,
    last: Option<Transmit>,
}

impl Player for Client {
    fn step(&mut self, script: &mut Script, step: &str) {
        let now = script.now();
        if let Some(frame) = step.strip_prefix("< ") {
            return self.peer_says(now, frame);
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
        self.connection.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.connection.poll_timeout()
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        let transmit = self.connection.poll_transmit();
        if transmit.is_some() {
            self.last.clone_from(&transmit);
        }
        transmit
    }

    fn poll_event(&mut self) -> Option<String> {
        let event = self.connection.poll_event()?;
        if let Event::Request { request, .. } = &event {
            self.requests.push(*request);
        }
        Some(words(&event))
    }
}

impl Client {
    /// Runs a command of the application. Returns `false` for another command.
    fn wants(&mut self, script: &mut Script, name: &str, rest: &str) -> bool {
        let now = script.now();
        match name {
            "open" => self.connection.open(now),
            "call" => script.refusal(self.call(now, rest).err()),
            "ping" => match self.connection.ping(now) {
                Ok(call) => self.calls.push(call),
                Err(error) => script.refusal(Some(error)),
            },
            "cancel" => {
                let call = self.call_of(rest);
                self.connection.cancel(now, call, "no longer wanted");
            }
            "notify" => {
                let (method, body) = rest.split_once(' ').unwrap_or((rest, ""));
                let sent = self.connection.notify(method, body.to_owned());
                script.refusal(sent.err());
            }
            "waiting-for-us" => {
                let (call, is_waiting) = rest.split_once(' ').expect("a call and a state");
                let (call, is_waiting) = (self.call_of(call), is_waiting == "yes");
                self.connection.set_call_paused(now, call, is_waiting);
            }
            "close" => self.connection.close(now),
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
                let request = self.request_of(number);
                let result = Payload::from(JsonObject::parse(rest).expect("a result"));
                script.refusal(self.connection.respond(now, request, result).err());
            }
            "respond-error" => {
                let request = self.request_of(number);
                let words = if rest.is_empty() {
                    "user rejected"
                } else {
                    rest
                };
                let error = ErrorObject::new(-1, words);
                script.refusal(self.connection.respond_error(now, request, &error).err());
            }
            "release" => {
                let request = self.request_of(number);
                self.connection.release(now, request);
            }
            _ => return false,
        }
        true
    }

    /// What happens beside the messages of the peer.
    fn world(&mut self, now: Instant, name: &str, rest: &str) -> bool {
        match name {
            "busy" => {
                let transmit = self.last.take().expect("something was sent");
                self.connection.handle_busy(now, transmit);
            }
            "activity" => self.connection.handle_activity(now),
            "bytes" => {
                let text = rest.replace("\\n", "\n");
                let buffer = self.connection.read_buffer();
                buffer.extend_from_slice(text.as_bytes());
                self.connection.handle_read(now);
            }
            "eof" => self.connection.handle_eof(now),
            "lost" => self.connection.handle_lost(now, rest),
            "end" => {
                let (call, how) = rest.split_once(' ').expect("a call and an end");
                let call = self.call_of(call);
                let end = match how {
                    "complete" => StreamEnd::Complete,
                    "lost" => StreamEnd::Lost("reset".into()),
                    "not-sent" => StreamEnd::NotSent("refused".into()),
                    status => StreamEnd::Refused(status.parse().expect("a status")),
                };
                self.connection.handle_stream_end(now, call, end);
            }
            _ => return false,
        }
        true
    }

    /// What is to be seen from outside.
    fn shows(&self, script: &mut Script, name: &str) -> bool {
        let words = match name {
            "wants-read" => format!("wants to read: {}", self.connection.wants_read()),
            "sample" => {
                let sample = self.connection.malformed_sample().unwrap_or("none");
                format!("sample: {sample}")
            }
            "handled" => format!("handles {}", self.connection.open_handlers()),
            "stats" => self.stats(),
            _ => return false,
        };
        script.event(&words);
        true
    }

    /// The frame as it stands, with its line end on a shared stream. Over HTTP `(on 7)` may
    /// say on the stream of which call it came.
    fn peer_says(&mut self, now: Instant, frame: &str) {
        if self.is_shared {
            self.connection
                .read_buffer()
                .extend_from_slice(frame.as_bytes());
            self.connection.read_buffer().extend_from_slice(b"\n");
            self.connection.handle_read(now);
        } else {
            let on = frame
                .strip_prefix("(on ")
                .and_then(|rest| rest.split_once(") "));
            let stream = on.map(|(call, _)| self.call_of(&format!("#{call}")));
            let frame = on.map_or(frame, |(_, frame)| frame);
            let frame = Bytes::copy_from_slice(frame.as_bytes());
            self.connection.handle_message(now, stream, &frame);
        }
    }

    /// `call [progress] [timeout=S] METHOD MEMBERS`
    fn call(&mut self, now: Instant, mut rest: &str) -> Result<(), CallError> {
        let mut wants_progress = false;
        let mut timeouts = None;
        loop {
            let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
            if word == "progress" {
                wants_progress = true;
            } else if let Some(seconds) = word.strip_prefix("timeout=") {
                timeouts = Some(settings::timeouts(&format!("{seconds} 20")));
            } else {
                break;
            }
            rest = after;
        }
        let (method, body) = rest.split_once(' ').unwrap_or((rest, ""));
        let mut request =
            CallRequest::new(method.to_owned(), Bytes::copy_from_slice(body.as_bytes()));
        if wants_progress {
            request = request.with_progress();
        }
        if let Some(timeouts) = timeouts {
            request = request.timeouts(timeouts);
        }
        self.calls.push(self.connection.call(now, request)?);
        Ok(())
    }

    /// The calls of the user are numbered from 1; `#7` is the id 7 of any call.
    fn call_of(&self, number: &str) -> CallId {
        if let Some(id) = number.strip_prefix('#') {
            let id = id.parse().expect("an id");
            return IdCounter::starting_at(id).issue().expect("an id");
        }
        self.calls[number.parse::<usize>().expect("a call") - 1]
    }

    /// The requests of the server are numbered from 1.
    fn request_of(&self, number: &str) -> RequestKey {
        self.requests[number.parse::<usize>().expect("a request") - 1]
    }

    fn stats(&self) -> String {
        let counted = counted(&format!("{:?}", self.connection.stats()));
        let (pending, tombstones) = (self.connection.pending(), self.connection.tombstones());
        let text = format!("pending {pending}, tombstones {tombstones}; {counted}");
        text.trim_end_matches("; ").to_owned()
    }
}

fn words(event: &Event) -> String {
    match event {
        Event::Ready(agreement) => format!("ready {}", agreement.revision),
        Event::Ended {
            call,
            outcome,
            sent,
        } => format!("call {call} ended: {}", ending(outcome, Some(*sent))),
        Event::Progress { call, params, .. } => format!("call {call} progress {params:?}"),
        Event::Request {
            request,
            method,
            params,
        } => with_params(format!("request {request}: {method}"), params.as_ref()),
        Event::RequestCancelled(request) => format!("request {request} cancelled"),
        Event::Notification { method, params } => {
            with_params(format!("notification {method}"), params.as_ref())
        }
        Event::Closed(reason) => format!("closed: {reason}"),
        other => panic!("{other:?}"),
    }
}
