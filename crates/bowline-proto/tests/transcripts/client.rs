//! Transcripts of a client's connection.

use std::time::Duration;

use bowline_proto::codec::{FrameLimits, Framing, Oversize};
use bowline_proto::connection::{CallRequest, Event, Outcome, StreamEnd};
use bowline_proto::{
    CallId, CancelDialect, Carrier, Config, Connection, IdCounter, Instant, Timeouts,
};
use bowline_types::common::Implementation;
use bowline_types::{Era, ErrorObject, JsonRef, RequestId, Revision, Wire};
use bytes::Bytes;

use super::{Line, replay_all, stamp};

#[test]
fn transcripts_of_clients_hold() {
    let count = replay_all("client", replay);
    assert!(count >= 20, "only {count} transcripts");
}

fn replay(text: &str) -> String {
    let mut config = Config::new(Implementation::new("client", "1"));
    for line in text.lines() {
        if let Some(setting) = line.strip_prefix("% ") {
            configure(&mut config, setting);
        }
    }
    let mut replay = Replay {
        is_shared: !text.contains("\n% carrier http"),
        connection: Connection::new(config, IdCounter::new()),
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

fn configure(config: &mut Config, setting: &str) {
    let (name, value) = setting.split_once(' ').unwrap_or((setting, ""));
    let seconds = || Duration::from_secs(value.parse().expect("seconds"));
    let number = || value.parse().expect("a number");
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
        "max-pending" => config.max_pending(number()),
        "max-queued" => config.max_queued(number()),
        "max-peer-requests" => config.max_peer_requests(number()),
        "max-batch" => config.max_batch(number()),
        "nonsense" => config.nonsense_budget(value.parse().expect("a number")),
        "max-frame" => {
            let (frame, policy) = value.split_once(' ').unwrap_or((value, "stop"));
            let mut limits = FrameLimits::default();
            limits.frame = frame.parse().expect("a number");
            if policy == "skip" {
                limits.oversize = Oversize::Skip;
            }
            config.frames(limits)
        }
        other => panic!("unknown setting {other}"),
    };
}

struct Replay {
    connection: Connection,
    is_shared: bool,
    now: u64,
    calls: Vec<CallId>,
    out: String,
}

impl Replay {
    fn now(&self) -> Instant {
        Instant::START + Duration::from_millis(self.now)
    }

    /// Lets the time pass, with every timeout on the way.
    fn advance(&mut self, millis: u64) {
        let until = Instant::START + Duration::from_millis(millis);
        while let Some(due) = self.connection.poll_timeout()
            && due <= until
        {
            self.now = due.as_nanos() / 1_000_000;
            self.connection.handle_timeout(due);
            self.effects();
        }
        self.now = millis;
    }

    fn step(&mut self, step: &str) {
        let now = self.now();
        if let Some(frame) = step.strip_prefix("< ") {
            return self.peer_says(frame);
        }
        let command = step.strip_prefix("! ").expect("a command");
        let (name, rest) = command.split_once(' ').unwrap_or((command, ""));
        match name {
            "open" => self.connection.open(now),
            "call" => self.call(rest),
            "cancel" => {
                let call = self.call_of(rest);
                self.connection.cancel(now, call, "no longer wanted");
            }
            "notify" => {
                let (method, body) = rest.split_once(' ').unwrap_or((rest, ""));
                if let Err(error) = self
                    .connection
                    .notify(method, Bytes::copy_from_slice(body.as_bytes()))
                {
                    self.event(&format!("refused: {error}"));
                }
            }
            "respond" => {
                let (id, result) = rest.split_once(' ').expect("an id and a result");
                let id = RequestId::from_json(id).expect("an id");
                let result = JsonRef::parse(result).expect("a result");
                if let Err(error) = self.connection.respond(&id, result) {
                    self.event(&format!("refused: {error}"));
                }
            }
            "respond-error" => {
                let id = RequestId::from_json(rest).expect("an id");
                let error = ErrorObject::new(-1, "user rejected");
                if let Err(error) = self.connection.respond_error(&id, &error) {
                    self.event(&format!("refused: {error}"));
                }
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
                    _ => StreamEnd::NotSent("refused".into()),
                };
                self.connection.handle_stream_end(now, call, end);
            }
            "stats" => self.stats(),
            other => panic!("unknown command {other}"),
        }
    }

    /// The frame as it stands, with its line end on a shared stream.
    fn peer_says(&mut self, frame: &str) {
        let now = self.now();
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
    fn call(&mut self, mut rest: &str) {
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
        match self.connection.call(self.now(), request) {
            Ok(call) => self.calls.push(call),
            Err(error) => self.event(&format!("refused: {error}")),
        }
    }

    /// The calls of the user are numbered from 1; `#7` is the id 7 of any call.
    fn call_of(&self, number: &str) -> CallId {
        if let Some(id) = number.strip_prefix('#') {
            let id = id.parse().expect("an id");
            return IdCounter::starting_at(id).issue().expect("an id");
        }
        self.calls[number.parse::<usize>().expect("a call") - 1]
    }

    fn effects(&mut self) {
        while let Some(transmit) = self.connection.poll_transmit() {
            let bytes = transmit.to_bytes();
            let text = String::from_utf8(bytes).expect("UTF-8");
            let text = match transmit.kind {
                bowline_proto::TransmitKind::Reset(call) => {
                    format!("(reset of the stream of {call})")
                }
                _ => text.trim_end_matches('\n').replace("\r\n", "\\r\\n"),
            };
            self.out += &format!("{} > {text}\n", stamp(self.now));
        }
        while let Some(event) = self.connection.poll_event() {
            let words = words(&event);
            self.event(&words);
        }
    }

    fn event(&mut self, words: &str) {
        self.out += &format!("{} * {words}\n", stamp(self.now));
    }

    fn stats(&mut self) {
        let stats = format!("{:?}", self.connection.stats());
        let fields = stats.trim_start_matches("Stats { ").trim_end_matches(" }");
        let counted: Vec<_> = fields
            .split(", ")
            .filter(|field| !field.ends_with(": 0"))
            .collect();
        let (pending, tombstones) = (self.connection.pending(), self.connection.tombstones());
        let text = format!(
            "pending {pending}, tombstones {tombstones}; {}",
            counted.join(", ")
        );
        self.event(text.trim_end_matches("; "));
    }
}

fn words(event: &Event) -> String {
    match event {
        Event::Ready(agreement) => format!("ready {}", agreement.revision),
        Event::Ended { call, outcome } => format!("call {call} ended: {}", ending(outcome)),
        Event::Progress { call, params } => format!("call {call} progress {params:?}"),
        Event::Request { id, method, params } => {
            let params = params
                .as_ref()
                .map(|params| format!(" {params:?}"))
                .unwrap_or_default();
            format!("request {method}, id {id}{params}")
        }
        Event::RequestCancelled(id) => format!("request {id} cancelled"),
        Event::Notification { method, params } => {
            let params = params
                .as_ref()
                .map(|params| format!(" {params:?}"))
                .unwrap_or_default();
            format!("notification {method}{params}")
        }
        Event::Closed(reason) => format!("closed: {reason}"),
        other => panic!("{other:?}"),
    }
}

fn ending(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Result(payload) => format!("result {payload:?}"),
        Outcome::Error(error) => format!("error {error}"),
        Outcome::TimedOut { elapsed } => format!("timed out after {elapsed:?}"),
        Outcome::Lost { reason, sent } => format!("lost, sent {sent:?}: {reason}"),
        other => format!("{other:?}"),
    }
}
