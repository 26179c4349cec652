//! Transcripts of a client's connection.

use std::time::Duration;

use bowline_proto::codec::{FrameLimits, Framing, Oversize};
use bowline_proto::connection::{Event, StreamEnd};
use bowline_proto::{
    CallError, CallId, CallRequest, CancelDialect, Carrier, Config, Connection, IdCounter, Instant,
    Keepalive, Payload, RequestKey, Timeouts, Transmit,
};
use bowline_types::common::Implementation;
use bowline_types::{Era, ErrorObject, JsonObject, Revision};
use bytes::Bytes;

use super::{Player, Script, counted, ending, play, replay_all, with_params};

#[test]
fn transcripts_of_clients_hold() {
    let count = replay_all("client", replay);
    assert!(count >= 20, "only {count} transcripts");
}

fn replay(text: &str) -> String {
    let mut config = Config::new(Implementation::new("client", "1"));
    let mut counter = IdCounter::new();
    for line in text.lines() {
        let Some(setting) = line.strip_prefix("% ") else {
            continue;
        };
        match setting.strip_prefix("first-id ") {
            Some(first) => counter = IdCounter::starting_at(first.parse().expect("an id")),
            None => configure(&mut config, setting),
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

fn configure(config: &mut Config, setting: &str) {
    let (name, value) = setting.split_once(' ').unwrap_or((setting, ""));
    let seconds = || Duration::from_secs(value.parse().expect("seconds"));
    match name {
        "revisions" => {
            let revisions = value
                .split(',')
                .map(|name| name.parse::<Revision>().expect("a revision"));
            config.revisions(revisions.collect())
        }
        "known-era" if value == "handshake" => config.known_era(Some(Era::Handshake)),
        "known-era" => config.known_era(Some(Era::Stateless)),
        "carrier" => config.carrier(Carrier::StreamPerRequest),
        "framing" => config.framing(Framing::ContentLength),
        "cancel" => config.cancel_dialect(CancelDialect::CancelRequest),
        "handshake-timeout" => config.handshake_timeout(seconds()),
        "call-timeout" => config.call_timeouts(Timeouts::new(seconds(), Duration::from_secs(600))),
        "startup-timeout" => config.startup_timeout(Some(seconds())),
        "keepalive" => {
            let (interval, missed) = value.split_once(' ').expect("an interval and a limit");
            let interval = Duration::from_secs(interval.parse().expect("seconds"));
            config.keepalive(Some(Keepalive::new(
                interval,
                missed.parse().expect("a limit"),
            )))
        }
        other => {
            limit(config, other, value);
            config
        }
    };
}

fn limit(config: &mut Config, name: &str, value: &str) {
    let number = || value.parse().expect("a number");
    let limits = config.limits();
    match name {
        "max-pending" => limits.max_pending(number()),
        "max-queued" => limits.max_queued(number()),
        "max-queued-bytes" => limits.max_queued_bytes(number()),
        "max-peer-requests" => limits.max_peer_requests(number()),
        "max-peer-id-bytes" => limits.max_peer_id_bytes(number()),
        "max-batch" => limits.max_batch(number()),
        "max-undelivered" => limits.max_undelivered(number()),
        "nonsense" => limits.nonsense_budget(value.parse().expect("a number")),
        "stall-timeout" => {
            limits.stall_timeout(Duration::from_secs(value.parse().expect("seconds")))
        }
        "max-frame" => {
            let (frame, policy) = value.split_once(' ').unwrap_or((value, "stop"));
            let mut frames = FrameLimits::default();
            frames.frame = frame.parse().expect("a number");
            if policy == "skip" {
                frames.oversize = Oversize::Skip;
            }
            limits.frames(frames)
        }
        other => panic!("unknown setting {other}"),
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
        match name {
            "open" => self.connection.open(now),
            "call" => {
                let made = self.call(now, rest);
                script.refusal(made.err());
            }
            "cancel" => {
                let call = self.call_of(rest);
                self.connection.cancel(now, call, "no longer wanted");
            }
            "notify" => {
                let (method, body) = rest.split_once(' ').unwrap_or((rest, ""));
                let sent = self
                    .connection
                    .notify(method, Bytes::copy_from_slice(body.as_bytes()));
                script.refusal(sent.err());
            }
            "ping" => match self.connection.ping(now) {
                Ok(call) => self.calls.push(call),
                Err(error) => script.refusal(Some(error)),
            },
            "respond" => {
                let (request, result) = rest.split_once(' ').expect("a request and a result");
                let request = self.request_of(request);
                let result = Payload::from(JsonObject::parse(result).expect("a result"));
                script.refusal(self.connection.respond(now, request, result).err());
            }
            "respond-error" => {
                let request = self.request_of(rest);
                let error = ErrorObject::new(-1, "user rejected");
                script.refusal(self.connection.respond_error(now, request, &error).err());
            }
            "release" => {
                let request = self.request_of(rest);
                self.connection.release(now, request);
            }
            "waiting-for-us" => {
                let (call, is_waiting) = rest.split_once(' ').expect("a call and a state");
                let call = self.call_of(call);
                let is_waiting = is_waiting == "yes";
                self.connection.set_waiting_for_us(now, call, is_waiting);
            }
            "busy" => {
                let transmit = self.last.take().expect("something was sent");
                self.connection.handle_busy(now, transmit);
            }
            "activity" => self.connection.handle_activity(now),
            "bytes" => {
                let text = rest.replace("\\n", "\n");
                self.connection
                    .read_buffer()
                    .extend_from_slice(text.as_bytes());
                self.connection.handle_read(now);
            }
            "wants-read" => {
                let wants = self.connection.wants_read();
                script.event(&format!("wants to read: {wants}"));
            }
            "sample" => {
                let sample = self.connection.malformed_sample().unwrap_or("none");
                script.event(&format!("sample: {sample}"));
            }
            "close" => self.connection.close(now),
            "eof" => self.connection.handle_eof(now),
            "lost" => self.connection.handle_lost(now, rest),
            "wait" => {}
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
            "stats" => script.event(&self.stats()),
            other => panic!("unknown command {other}"),
        }
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
    /// The frame as it stands, with its line end on a shared stream.
    fn peer_says(&mut self, now: Instant, frame: &str) {
        if self.is_shared {
            self.connection
                .read_buffer()
                .extend_from_slice(frame.as_bytes());
            self.connection.read_buffer().extend_from_slice(b"\n");
            self.connection.handle_read(now);
        } else {
            self.connection
                .handle_message(now, &Bytes::copy_from_slice(frame.as_bytes()));
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
                let idle = Duration::from_secs(seconds.parse().expect("seconds"));
                let mut limits = Timeouts::new(idle, Duration::from_secs(20));
                limits.progress_counts = true;
                timeouts = Some(limits);
            } else {
                break;
            }
            rest = after;
        }
        let (method, body) = rest.split_once(' ').unwrap_or((rest, ""));
        let mut request =
            CallRequest::new(method.to_owned(), Bytes::copy_from_slice(body.as_bytes()));
        if wants_progress {
            request = request.wants_progress();
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
        Event::Ended { call, outcome } => format!("call {call} ended: {}", ending(outcome)),
        Event::Progress { call, params } => format!("call {call} progress {params:?}"),
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
