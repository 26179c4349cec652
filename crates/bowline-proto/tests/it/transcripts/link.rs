//! Transcripts of a link: `* open 1` and `* close 1` are what it wants of the transport.

use bowline_proto::connection::StreamEnd;
use bowline_proto::link::{
    Action, CallKey, ConnectionId, LinkCall, LinkConfig, LinkError, LinkEvent, OpenError,
    SubscriptionKey,
};
use bowline_proto::{CallId, CallRequest, Config, IdCounter, Instant, Link, Payload, Transmit};
use bowline_types::JsonObject;
use bowline_types::common::Implementation;
use bowline_types::subscriptions::SubscriptionFilter;
use bytes::Bytes;

use super::client::configure;
use super::settings;
use super::{Player, Script, counted, ending, play, replay_all, with_params};

#[test]
fn transcripts_of_links_hold() {
    let count = replay_all("link", replay);
    assert!(count >= 16, "only {count} transcripts");
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
    let config = LinkConfig::new(config);
    let mut player = Linked {
        is_shared: !text.contains("\n% carrier http"),
        link: Link::new(Instant::START, config, counter),
        connection_id: None,
        calls: Vec::new(),
        subscriptions: Vec::new(),
    };
    play(text, &mut player)
}

struct Linked {
    link: Link,
    is_shared: bool,
    connection_id: Option<ConnectionId>,
    calls: Vec<CallKey>,
    subscriptions: Vec<SubscriptionKey>,
}

impl Player for Linked {
    fn step(&mut self, script: &mut Script, step: &str) {
        let now = script.now();
        if let Some(frame) = step.strip_prefix("< ") {
            return self.peer_says(now, frame);
        }
        let command = step.strip_prefix("! ").expect("a command");
        let (name, rest) = command.split_once(' ').unwrap_or((command, ""));
        let is_known = self.wants(script, name, rest) || self.world(now, name, rest);
        assert!(is_known, "unknown command {name}");
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.link.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.link.poll_timeout()
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.link.poll_transmit()
    }

    fn poll_event(&mut self) -> Option<String> {
        if let Some(action) = self.link.poll_action() {
            return Some(match action {
                Action::Open(connection_id) => {
                    self.connection_id = Some(connection_id);
                    format!("open {connection_id}")
                }
                Action::Close(connection_id) => format!("close {connection_id}"),
                other => panic!("{other:?}"),
            });
        }
        Some(words(&self.link.poll_event()?))
    }
}

impl Linked {
    /// Runs a command of the application. Returns `false` for another command.
    fn wants(&mut self, script: &mut Script, name: &str, rest: &str) -> bool {
        let now = script.now();
        match name {
            "call" => script.refusal(self.call(now, rest).err()),
            "cancel" => {
                let call = self.call_of(rest);
                self.link.cancel(now, call, "no longer wanted");
            }
            "input" => {
                let (call, responses) = rest.split_once(' ').expect("a call and its input");
                let responses = JsonObject::parse(responses).expect("an object");
                let call = self.call_of(call);
                let given = self
                    .link
                    .provide_input(now, call, &Payload::from(responses));
                script.refusal(given.err());
            }
            "subscribe" => {
                let uris = rest.split(' ').map(str::to_owned);
                let filter =
                    SubscriptionFilter::new().resource_subscriptions(uris.collect::<Vec<_>>());
                let subscribed = self.link.subscribe(now, filter);
                self.subscriptions.push(subscribed.expect("there is room"));
            }
            "unsubscribe" => {
                let place = rest.parse::<usize>().expect("a number") - 1;
                self.link.unsubscribe(now, self.subscriptions[place]);
            }
            "stop" => script.event(&format!("{:?}", self.link.stop(now))),
            "reconnect" => script.event(&self.link.reconnect_now(now).to_string()),
            "stats" => {
                let counted = counted(&format!("{:?}", self.link.stats()));
                let (pending, tombstones) = (self.link.pending(), self.link.tombstones());
                let text = format!("pending {pending}, tombstones {tombstones}; {counted}");
                script.event(text.trim_end_matches("; "));
            }
            "wait" => {}
            _ => return false,
        }
        true
    }

    /// What happens to the transport.
    fn world(&mut self, now: Instant, name: &str, rest: &str) -> bool {
        let connection_id = self.connection_id.expect("a transport");
        match name {
            "opened" => self.link.handle_opened(now, connection_id),
            "open-failed" => {
                let error = OpenError::transient(rest);
                self.link.handle_open_failed(now, connection_id, error);
            }
            "lost" => self.link.handle_lost(now, connection_id, rest),
            "eof" => self.link.handle_eof(now, connection_id),
            "crash" => self.link.handle_crash(now),
            "expired" => self
                .link
                .handle_session_expired(now, connection_id, id(rest)),
            "end" => {
                let (call, how) = rest.split_once(' ').expect("a call and an end");
                let end = match how {
                    "complete" => StreamEnd::Complete,
                    "lost" => StreamEnd::Lost("reset".into()),
                    "not-sent" => StreamEnd::NotSent("refused".into()),
                    status => StreamEnd::Refused(status.parse().expect("a status")),
                };
                self.link
                    .handle_stream_end(now, connection_id, id(call), end);
            }
            _ => return false,
        }
        true
    }

    fn peer_says(&mut self, now: Instant, frame: &str) {
        let connection_id = self.connection_id.expect("a transport");
        if self.is_shared {
            if let Some(buffer) = self.link.read_buffer(connection_id) {
                buffer.extend_from_slice(frame.as_bytes());
                buffer.extend_from_slice(b"\n");
            }
            self.link.handle_read(now, connection_id);
        } else {
            let frame = Bytes::copy_from_slice(frame.as_bytes());
            self.link.handle_message(now, connection_id, None, &frame);
        }
    }

    /// `call [wait] [idempotent] [tool=NAME] [timeout=S] METHOD MEMBERS`
    fn call(&mut self, now: Instant, mut rest: &str) -> Result<(), LinkError> {
        let (mut waits, mut is_idempotent, mut tool, mut timeouts) = (false, false, None, None);
        loop {
            let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
            match word {
                "wait" => waits = true,
                "idempotent" => is_idempotent = true,
                _ => match word.split_once('=') {
                    Some(("tool", name)) => tool = Some(name),
                    Some(("timeout", time)) => timeouts = Some(settings::timeouts(time)),
                    _ => break,
                },
            }
            rest = after;
        }
        let (method, body) = rest.split_once(' ').unwrap_or((rest, ""));
        let body = Bytes::copy_from_slice(body.as_bytes());
        let mut request = CallRequest::new(method.to_owned(), body);
        if let Some(timeouts) = timeouts {
            request = request.timeouts(timeouts);
        }
        let mut call = LinkCall::new(request);
        if waits {
            call = call.wait_for_ready();
        }
        if is_idempotent {
            call = call.idempotent();
        }
        if let Some(tool) = tool {
            call = call.tool(tool);
        }
        self.calls.push(self.link.call(now, call)?);
        Ok(())
    }

    /// The calls of the user are numbered from 1.
    fn call_of(&self, number: &str) -> CallKey {
        self.calls[number.parse::<usize>().expect("a call") - 1]
    }
}

/// A call by its id, as the driver knows it from what was sent.
fn id(number: &str) -> CallId {
    let id = number.parse().expect("an id");
    IdCounter::starting_at(id).issue().expect("an id")
}

fn words(event: &LinkEvent) -> String {
    match event {
        LinkEvent::State(change) => {
            let (from, to, cause) = (change.from, change.to, &change.cause);
            format!("{from} → {to}: {cause}")
        }
        LinkEvent::Ready { session, agreement } => {
            format!("session {session} {}", agreement.revision)
        }
        LinkEvent::Ended {
            call,
            outcome,
            sent,
        } => format!("call {call} ended: {}", ending(outcome, Some(*sent))),
        LinkEvent::Progress { call, params } => format!("call {call} progress {params:?}"),
        LinkEvent::InputRequired {
            call,
            round,
            result,
        } => format!("call {call} needs input, round {round}: {result:?}"),
        LinkEvent::Request {
            request,
            method,
            params,
        } => with_params(format!("request {request}: {method}"), params.as_ref()),
        LinkEvent::RequestCancelled(request) => format!("request {request} cancelled"),
        LinkEvent::Notification { method, params } => {
            with_params(format!("notification {method}"), params.as_ref())
        }
        LinkEvent::SubscriptionOpened { subscription, .. } => {
            format!("subscription {subscription} is open")
        }
        LinkEvent::SubscriptionGap { subscription, .. } => {
            format!("subscription {subscription} is open again")
        }
        LinkEvent::SubscriptionEnded {
            subscription,
            outcome,
        } => format!(
            "subscription {subscription} ended: {}",
            ending(outcome, None)
        ),
        other => panic!("{other:?}"),
    }
}
