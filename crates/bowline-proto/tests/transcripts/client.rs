//! Transcripts of a client's connection.

use std::time::Duration;

use bowline_proto::codec::{FrameLimits, Framing, Oversize};
use bowline_proto::connection::{CallError, CallRequest, Event, Outcome, StreamEnd};
use bowline_proto::{
    CallId, CancelDialect, Carrier, Config, Connection, IdCounter, Instant, Timeouts, Transmit,
};
use bowline_types::common::Implementation;
use bowline_types::{Era, ErrorObject, JsonRef, RequestId, Revision, Wire};
use bytes::Bytes;

use super::{Player, Script, counted, play, replay_all};

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
    let mut client = Client {
        is_shared: !text.contains("\n% carrier http"),
        connection: Connection::new(config, IdCounter::new()),
        calls: Vec::new(),
    };
    play(text, &mut client)
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

struct Client {
    connection: Connection,
    is_shared: bool,
    calls: Vec<CallId>,
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
            "respond" => {
                let (id, result) = rest.split_once(' ').expect("an id and a result");
                let id = RequestId::from_json(id).expect("an id");
                let result = JsonRef::parse(result).expect("a result");
                script.refusal(self.connection.respond(&id, result).err());
            }
            "respond-error" => {
                let id = RequestId::from_json(rest).expect("an id");
                let error = ErrorObject::new(-1, "user rejected");
                script.refusal(self.connection.respond_error(&id, &error).err());
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
        self.connection.poll_transmit()
    }

    fn poll_event(&mut self) -> Option<String> {
        self.connection.poll_event().map(|event| words(&event))
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
