//! The user: calls, cancels, subscribes, answers, stops.

use std::time::Duration;

use bowline_proto::link::{
    CallKey, LinkCall, LinkError, LinkEvent, LinkState as State, StopOutcome, SubscriptionKey,
};
use bowline_proto::{CallRequest, Payload, RequestKey, Timeouts, TransmitKind};
use bowline_types::subscriptions::SubscriptionFilter;
use bowline_types::{ErrorObject, JsonObject};
use bytes::Bytes;

use super::{SimEvent, World};
use crate::fault::Fault;
use crate::random::Random;
use crate::trace_text::Column;

/// How long a call may take altogether.
const TOTAL: Duration = Duration::from_secs(40);
/// The configured timeouts of calls without their own.
pub(super) const TOTAL_OF_PING: Duration = Duration::from_secs(50);

/// What a user is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// Does anything.
    Any,
    /// Makes many calls at once.
    Bursts,
    /// Waits for the connection, always.
    Patient,
    /// Listens.
    ListenSubscriptions,
    /// Cancels what it calls.
    Cancels,
    /// Stops in the middle.
    Stops,
}

/// What the user knows.
#[derive(Debug)]
pub(super) struct User {
    style: Style,
    actions: u64,
    /// A call was refused by a link that is ready: its ids are used up.
    pub(super) is_put_off: bool,
    nonce: u64,
    subscriptions: Vec<(SubscriptionKey, String)>,
}

impl User {
    pub(super) fn draw(random: &mut Random) -> Self {
        let style = match random.below(9) {
            0 => Style::Bursts,
            1 => Style::Patient,
            2 => Style::ListenSubscriptions,
            3 => Style::Cancels,
            4 => Style::Stops,
            _ => Style::Any,
        };
        Self {
            style,
            actions: 10 + random.below(40),
            is_put_off: false,
            nonce: 0,
            subscriptions: Vec::new(),
        }
    }
}

impl World {
    /// Does something, and something else a little later.
    pub(super) fn act(&mut self) {
        if self.is_healed || self.user.actions == 0 {
            return;
        }
        self.user.actions -= 1;
        let pause = match self.random.below(4) {
            0 => Duration::ZERO,
            1 => self.random.millis(30),
            _ => self.random.millis(1500),
        };
        self.after(pause, SimEvent::User);
        match (self.user.style, self.random.below(8)) {
            (Style::Bursts, 0..=3) => (0..12).for_each(|_| self.call()),
            (Style::Patient, 0..=5) => self.call(),
            (Style::ListenSubscriptions, 0..=2) => self.subscribe(),
            (Style::ListenSubscriptions, 3) => self.unsubscribe(),
            (Style::Cancels, 0..=3) => self.cancel_any(),
            (Style::Stops, 0) => self.stop(),
            (_, _) => self.act_at_random(),
        }
    }

    fn act_at_random(&mut self) {
        match self.random.below(24) {
            0..=10 => self.call(),
            11..=13 => self.cancel_any(),
            14 => self.ping(),
            15..=16 => self.notify(),
            17 => self.subscribe(),
            18 => self.unsubscribe(),
            19 => {
                let now = self.clock();
                self.link.reconnect_now(now);
            }
            20 => {
                let now = self.clock();
                if let Some(call) = self.any_call() {
                    let is_waiting = self.random.one_in(2);
                    self.link.set_call_paused(now, call, is_waiting);
                }
            }
            21 if self.random.one_in(6) => self.stop(),
            22 => (0..self.random.below(9)).for_each(|_| self.notify()),
            _ => {}
        }
    }

    fn call(&mut self) {
        self.make_call();
    }

    /// A call when all is well again: it has its result.
    pub(super) fn call_at_last(&mut self) {
        if self.link.state() != State::Ready {
            return;
        }
        if let Some(call) = self.make_call() {
            self.oracle.on_last_made(call);
        }
    }

    fn make_call(&mut self) -> Option<CallKey> {
        self.user.nonce += 1;
        let nonce = self.user.nonce;
        let method = self
            .random
            .pick(&["tools/call", "tools/call", "tools/list", "prompts/get"]);
        let body = format!(r#""name":"t","arguments":{{"nonce":{nonce}}}"#);
        let mut request = CallRequest::new(method.unwrap_or("tools/call"), Bytes::from(body));
        if self.random.one_in(3) {
            request = request.with_progress();
        }
        let idle = if self.is_healed {
            Duration::from_secs(15)
        } else {
            Duration::from_millis(200 + self.random.below(12_000))
        };
        let mut timeouts = Timeouts::new(idle, TOTAL);
        timeouts.progress_counts = self.random.one_in(2);
        request = request.timeouts(timeouts);
        let mut call = LinkCall::new(request);
        let is_patient = self.user.style == Style::Patient || self.random.one_in(3);
        if is_patient {
            call = call.wait_for_ready();
        }
        if self.random.one_in(3) {
            call = call.idempotent();
        }
        if self.random.one_in(3) {
            call = call.tool("t");
        }
        let made = self.link.call(self.clock(), call);
        self.note(Column::Client, || match &made {
            Ok(key) if is_patient => format!("call {key} ({nonce}), patient"),
            Ok(key) => format!("call {key} ({nonce})"),
            Err(error) => format!("no call: {error}"),
        });
        if matches!(
            made,
            Err(LinkError::Unavailable {
                state: State::Ready,
                ..
            })
        ) {
            self.user.is_put_off = true;
        }
        let key = made.ok()?;
        let now = self.clock();
        let times = (now, now + TOTAL);
        self.oracle.on_made(&self.link, key, Some(nonce), times);
        Some(key)
    }

    fn ping(&mut self) {
        let made = self.link.ping(self.clock());
        self.note(Column::Client, || format!("ping: {made:?}"));
        if let Ok(key) = made {
            let now = self.clock();
            let times = (now, now + TOTAL_OF_PING);
            self.oracle.on_made(&self.link, key, None, times);
        }
    }

    fn notify(&mut self) {
        if self
            .link
            .notify("notifications/roots/list_changed", Bytes::new())
            .is_ok()
        {
            self.note(Column::Client, || "notifies".into());
            self.oracle.on_notified();
        }
    }

    fn any_call(&mut self) -> Option<CallKey> {
        let open = self.oracle.open_calls();
        self.random.pick(&open)
    }

    fn cancel_any(&mut self) {
        let times = 1 + self.random.below(3);
        if let Some(call) = self.any_call() {
            self.cancel(call, times);
        }
    }

    pub(super) fn cancel(&mut self, call: CallKey, times: u64) {
        let now = self.clock();
        self.note(Column::Client, || {
            format!("cancels call {call}, {times} times")
        });
        for _ in 0..times {
            self.link.cancel(now, call, "no longer wanted");
        }
    }

    fn subscribe(&mut self) {
        let uri = format!("sim:{}", self.random.below(4));
        let filter = SubscriptionFilter::new().resource_subscriptions([uri.clone()]);
        let subscribed = self.link.subscribe(self.clock(), filter);
        self.note(Column::Client, || format!("subscribes: {subscribed:?}"));
        let kept = subscribed.ok().map(|key| (key, uri));
        self.user.subscriptions.extend(kept);
    }

    fn unsubscribe(&mut self) {
        if let Some((key, _)) = self.user.subscriptions.pop() {
            self.note(Column::Client, || format!("unsubscribes {key}"));
            let now = self.clock();
            self.link.unsubscribe(now, key);
        }
    }

    pub(super) fn unsubscribe_all(&mut self) {
        let open = self.user.subscriptions.iter().map(|(_, uri)| uri.as_str());
        if self.link.state() == State::Ready && !self.server.watches_all(open) {
            self.oracle.violated("a subscription was not opened again");
        }
        while !self.user.subscriptions.is_empty() {
            self.unsubscribe();
        }
    }

    fn stop(&mut self) {
        let now = self.clock();
        if self.random.one_in(2) {
            self.part();
        }
        let stop = self.link.stop(now);
        self.note(Column::Client, || format!("stops: {stop:?}"));
        self.oracle.on_stopped();
        if self.link.stop(now) != StopOutcome::AlreadyClosing {
            self.oracle.violated("a second stop began anew");
        }
    }

    /// Takes what is still to be sent before a stop, as a driver does that writes it while the
    /// transport is closed.
    fn part(&mut self) {
        while self.link.state() == State::Ready
            && let Some(transmit) = self.link.poll_final_transmit()
        {
            self.oracle.on_taken();
            if let TransmitKind::Call(call) = transmit.kind {
                self.oracle
                    .violated(format!("4: call {call} is sent before a stop"));
            }
            self.oracle.on_sent(transmit.kind, &transmit.to_bytes());
        }
    }

    /// Reacts to an event, as the user.
    pub(super) fn react(&mut self, event: LinkEvent) {
        match event {
            LinkEvent::InputRequired { call, .. } => {
                let delay = self.random.millis(800);
                self.after(delay, SimEvent::Input(call));
            }
            LinkEvent::Request { request, .. } => {
                let delay = if self.hit(Fault::SlowHandler) {
                    self.random.millis(40_000)
                } else {
                    self.random.millis(100)
                };
                self.after(delay, SimEvent::Handled(request));
            }
            LinkEvent::SubscriptionEnded { subscription, .. } => {
                self.user
                    .subscriptions
                    .retain(|(key, _)| *key != subscription);
            }
            _ => {}
        }
    }

    pub(super) fn provide_input(&mut self, call: CallKey) {
        let now = self.clock();
        let given = self
            .link
            .provide_input(now, call, &object(r#"{"q":{"action":"decline"}}"#));
        self.note(Column::Client, || {
            format!("input for call {call}: {given:?}")
        });
    }

    /// The handler of a server's request is done.
    pub(super) fn on_handled(&mut self, request: RequestKey) {
        let now = self.clock();
        self.oracle.on_handled(request);
        let done = match self.random.below(4) {
            0 => self
                .link
                .respond_error(now, request, &ErrorObject::internal_error("no")),
            1 => {
                self.link.release(now, request);
                Ok(())
            }
            _ => self.link.respond(now, request, Payload::EMPTY),
        };
        self.note(Column::Client, || {
            format!("request {request} handled: {done:?}")
        });
    }
}

/// Returns an object from its text.
pub(super) fn object(text: &str) -> Payload {
    JsonObject::parse(text).map_or(Payload::EMPTY, Payload::from)
}
