//! The oracle: checks the invariants of docs/state-machine.md from outside of a link.
//!
//! It knows the calls, the messages on the wire and the events, and nothing of the link's
//! internals. The first violation is kept; the world stops at it.
//!
//! - `states`: transitions without gaps, and waits that grow. `edges`: the edges that are listed.
//! - `wire`: ids, cancellations and responses as the server sees them.
//! - `delivery`: whether a call was sent, and the report of the link.
//! - `event_streams`: sessions of a server over HTTP, and resumption: an oracle of its own.

mod delivery;
mod edges;
mod event_streams;
mod states;
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bowline_proto::link::{Action, CallKey, LinkEvent, LinkState as State};
use bowline_proto::{CallId, Instant, Link, Outcome, RequestKey};
use bowline_types::{Era, Revision};

use crate::random::Random;

use delivery::Deliveries;
pub(crate) use event_streams::{Mark, Start, StreamOracle};
pub(crate) use wire::number_after;

/// The limits that a world configures and that the oracle holds a link to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) pending: usize,
    pub(crate) tombstones: usize,
    pub(crate) queued: usize,
    pub(crate) peer_requests: usize,
    pub(crate) undelivered: usize,
    pub(crate) first_wait: Duration,
    pub(crate) longest_wait: Duration,
}

/// A call that has not ended.
#[derive(Debug)]
struct Open {
    /// What marks its message.
    nonce: Option<u64>,
    made: Instant,
    /// When it has ended, whatever happens.
    latest: Instant,
}

/// What is known of a link from outside.
#[derive(Debug)]
pub(crate) struct Oracle {
    bounds: Bounds,
    /// Frames may be changed on their way, so that a response may be another call's.
    may_misroute: bool,
    /// All that is queued leaves at once.
    is_flowing: bool,
    violation: Option<String>,
    open: BTreeMap<CallKey, Open>,
    made: u64,
    by_nonce: BTreeMap<u64, CallKey>,
    /// Ids that were sent on this connection and have not ended.
    in_flight: BTreeMap<CallId, Option<u64>>,
    /// All ids that left, and the marks of their calls.
    sent: BTreeMap<u64, CallId>,
    sent_marks: BTreeSet<u64>,
    /// The deliveries of the calls that have not ended.
    deliveries: Deliveries,
    answered: BTreeSet<CallId>,
    cancelled: BTreeSet<CallId>,
    owed_cancels: BTreeSet<CallId>,
    highest_id: u64,
    state: State,
    since: Instant,
    failures: u32,
    /// When the wait may end.
    earliest: Instant,
    session: u64,
    is_stopped: bool,
    /// Requests of the server whose handlers are not done, and whether they may be answered.
    requests: BTreeMap<RequestKey, bool>,
    last_request: u64,
    /// Requests of the server that were sent on this connection, by id, less their responses.
    unanswered: BTreeMap<String, i64>,
    /// Notifications that were taken and have not left.
    queued: usize,
    /// Bytes of events that a slow consumer has found.
    found: usize,
    transports: BTreeSet<u64>,
    /// `notifications/initialized` was sent on this connection.
    has_sent_initialized: bool,
    /// Calls whose responses were given to the link in this step.
    delivered: BTreeSet<u64>,
    /// The last call, and whether it had a result.
    last: Option<(CallKey, bool)>,
}

impl Oracle {
    pub(crate) fn new(bounds: Bounds, may_misroute: bool, is_flowing: bool) -> Self {
        Self {
            bounds,
            may_misroute,
            is_flowing,
            violation: None,
            open: BTreeMap::new(),
            made: 0,
            by_nonce: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            sent: BTreeMap::new(),
            sent_marks: BTreeSet::new(),
            deliveries: Deliveries::default(),
            answered: BTreeSet::new(),
            cancelled: BTreeSet::new(),
            owed_cancels: BTreeSet::new(),
            highest_id: 0,
            state: State::Starting,
            since: Instant::START,
            failures: 0,
            earliest: Instant::START,
            session: 0,
            is_stopped: false,
            requests: BTreeMap::new(),
            last_request: 0,
            unanswered: BTreeMap::new(),
            queued: 0,
            found: 0,
            transports: BTreeSet::new(),
            has_sent_initialized: false,
            delivered: BTreeSet::new(),
            last: None,
        }
    }

    pub(crate) fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }

    pub(crate) fn violated(&mut self, what: impl Into<String>) {
        if self.violation.is_none() {
            self.violation = Some(what.into());
        }
    }

    /// Returns calls of the user that have not ended.
    pub(crate) fn open_calls(&self) -> Vec<CallKey> {
        self.open.keys().copied().collect()
    }

    /// Returns the call whose message has this mark, while it has not ended.
    pub(crate) fn call_of(&self, nonce: u64) -> Option<CallKey> {
        let call = self.by_nonce.get(&nonce)?;
        self.open.contains_key(call).then_some(*call)
    }

    /// Returns the highest id that left.
    pub(crate) fn highest_id(&self) -> u64 {
        self.highest_id
    }

    /// Returns an id that left a little while ago.
    pub(crate) fn some_id(&self, random: &mut Random) -> u64 {
        self.highest_id.saturating_sub(random.below(5))
    }

    /// Returns the number of calls that were made.
    pub(crate) fn made(&self) -> u64 {
        self.made
    }

    /// A call of the user was taken.
    pub(crate) fn on_made(
        &mut self,
        link: &Link,
        call: CallKey,
        nonce: Option<u64>,
        (made, latest): (Instant, Instant),
    ) {
        self.made += 1;
        let open = Open {
            nonce,
            made,
            latest,
        };
        if self.open.insert(call, open).is_some() {
            self.violated(format!("1: key {call} was used twice"));
        }
        self.by_nonce.extend(nonce.map(|nonce| (nonce, call)));
        let (pending, most) = (link.pending(), self.bounds.pending);
        if pending > most {
            self.violated(format!("5: {pending} calls wait, {most} may"));
        }
    }

    /// A call when all is well again.
    pub(crate) fn on_last_made(&mut self, call: CallKey) {
        self.last = Some((call, false));
    }

    /// Returns `true` if the last call had its result.
    pub(crate) fn is_well(&self) -> bool {
        self.last.is_none_or(|(_, is_well)| is_well)
    }

    pub(crate) fn on_notified(&mut self) {
        self.queued += 1;
        if self.queued > self.bounds.queued {
            self.violated("5: more notifications wait to be sent than may");
        }
    }

    pub(crate) fn on_stopped(&mut self) {
        self.is_stopped = true;
    }

    pub(crate) fn on_action(&mut self, action: Action) {
        match action {
            Action::Open(connection_id) => {
                if let Some(left) = self.transports.first() {
                    let left = *left;
                    self.violated(format!("4: transport {left} was left behind"));
                }
                self.transports.insert(connection_id.get());
                self.has_sent_initialized = false;
                self.on_connection_over();
            }
            Action::Close(connection_id) => {
                self.transports.remove(&connection_id.get());
                self.on_connection_over();
            }
            _ => self.violated("an action that no driver knows"),
        }
    }

    /// A transport ended by itself, which its driver knows.
    pub(crate) fn on_transport_over(&mut self, connection_id: u64) {
        self.transports.remove(&connection_id);
    }

    fn on_connection_over(&mut self) {
        self.in_flight.clear();
        self.owed_cancels.clear();
        self.unanswered.clear();
        self.queued = 0;
    }

    /// Checks an event.
    pub(crate) fn on_event(&mut self, link: &Link, event: &LinkEvent, is_prompt: bool) {
        match event {
            LinkEvent::State(transition) => self.on_transition(link, transition, is_prompt),
            LinkEvent::Ready { session, .. } => {
                if *session != self.session + 1 {
                    self.violated(format!("session {session} after {}", self.session));
                }
                self.session = *session;
            }
            LinkEvent::Ended {
                call,
                outcome,
                sent,
            } => {
                self.check_delivery(*call, *sent, is_prompt);
                self.on_ended(link, *call, outcome, is_prompt);
            }
            LinkEvent::Progress { call, params } => {
                self.find(params.as_str().len());
                if !self.open.contains_key(call) {
                    self.violated(format!("1: progress of call {call}, which has ended"));
                }
            }
            LinkEvent::InputRequired { call, .. } => match self.open.get(call) {
                Some(open) => {
                    let nonce = open.nonce;
                    let ids = self.ids_of(nonce);
                    self.answered.extend(&ids);
                    self.in_flight.retain(|id, _| !ids.contains(id));
                }
                None => self.violated(format!("1: input for call {call}, which has ended")),
            },
            LinkEvent::Request {
                request, params, ..
            } => {
                self.find(params.as_ref().map_or(0, |params| params.as_str().len()));
                self.on_request(*request);
            }
            LinkEvent::RequestCancelled(request) => match self.requests.get_mut(request) {
                Some(is_open) if *is_open => *is_open = false,
                Some(_) => self.violated(format!("request {request} was cancelled twice")),
                // Its handler was faster than who takes the events.
                None => {}
            },
            LinkEvent::Notification { params, .. } => {
                self.find(params.as_ref().map_or(0, |params| params.as_str().len()));
            }
            LinkEvent::SubscriptionOpened { .. }
            | LinkEvent::SubscriptionGap { .. }
            | LinkEvent::SubscriptionEnded { .. } => {}
            _ => self.violated("an event that no driver knows"),
        }
    }

    /// All events were taken.
    pub(crate) fn on_drained(&mut self) {
        // What one chunk more than the limit can hold.
        let most = self.bounds.undelivered + 12_000;
        if self.found > most {
            let found = self.found;
            self.violated(format!("5: {found} bytes of events waited, {most} may"));
        }
        self.found = 0;
    }

    fn find(&mut self, payload: usize) {
        self.found += 128 + payload;
    }

    fn on_request(&mut self, request: RequestKey) {
        if request.get() <= self.last_request {
            self.violated(format!("the key of request {request} was used twice"));
        }
        self.last_request = self.last_request.max(request.get());
        self.requests.insert(request, true);
        let (handled, most) = (self.requests.len(), self.bounds.peer_requests);
        if handled > most {
            self.violated(format!("5: {handled} requests are handled, {most} may"));
        }
    }

    /// The handler of a request is done.
    pub(crate) fn on_handled(&mut self, request: RequestKey) {
        self.requests.remove(&request);
    }

    fn on_ended(&mut self, link: &Link, call: CallKey, outcome: &Outcome, is_prompt: bool) {
        let Some(open) = self.open.remove(&call) else {
            return self.violated(format!("1: call {call} ended twice: {outcome:?}"));
        };
        let ids = self.ids_of(open.nonce);
        self.in_flight.retain(|id, _| !ids.contains(id));
        if let Some((last, is_well)) = &mut self.last {
            *is_well |= *last == call && matches!(outcome, Outcome::Result(_));
        }
        match outcome {
            Outcome::Result(result) => {
                let echo = number_after(result.as_str().as_bytes(), "\"echo\":");
                if !self.may_misroute && echo.is_some() && echo != open.nonce {
                    self.violated(format!("1: call {call} has the response of another one"));
                }
                self.answered.extend(ids);
            }
            Outcome::Error(_) => self.answered.extend(ids),
            Outcome::TimedOut { .. } | Outcome::Cancelled => {
                let has_left = open.nonce.is_none_or(|n| self.sent_marks.contains(&n));
                let was_ready = self.state == State::Ready && self.since <= open.made;
                if !has_left && was_ready && self.is_flowing && outcome.name() == "timed_out" {
                    self.violated(format!(
                        "call {call} waited in vain on a link that is ready"
                    ));
                }
                let may_look = is_prompt && link.revision().is_some();
                if may_look && !ids.is_empty() && link.tombstones() == 0 {
                    self.violated(format!("call {call} was given up and not remembered"));
                }
                let is_done = |id: &CallId| self.cancelled.contains(id);
                let owed: Vec<_> = ids.into_iter().filter(|id| !is_done(id)).collect();
                self.owed_cancels.extend(owed);
            }
            Outcome::CancelledByServer
            | Outcome::Unsupported(_)
            | Outcome::Invalid(_)
            | Outcome::TooLarge { .. }
            | Outcome::Backpressure { .. }
            | Outcome::Lost { .. }
            | Outcome::Shutdown => {}
            _ => self.violated("an unknown outcome"),
        }
    }

    fn ids_of(&self, nonce: Option<u64>) -> Vec<CallId> {
        let of_call = |(_, other): &(&CallId, &Option<u64>)| nonce.is_some() && **other == nonce;
        let ids = self.in_flight.iter().filter(of_call);
        ids.map(|(id, _)| *id).collect()
    }

    /// Checks the link after a step. `is_drained` is `true` if all its events were taken.
    pub(crate) fn check(&mut self, link: &Link, is_drained: bool) {
        if link.tombstones() > self.bounds.tombstones {
            self.violated(format!("5: {} tombstones", link.tombstones()));
        }
        if link.history().len() > 64 {
            self.violated("5: more than 64 changes of state are remembered");
        }
        if link.pending() > 2 * self.bounds.pending {
            self.violated(format!("5: {} calls wait", link.pending()));
        }
        if link.state() == State::Closed && link.poll_timeout().is_some() {
            self.violated("3: a timer is armed in Closed");
        }
        if !is_drained {
            return;
        }
        let (pending, open) = (link.pending(), self.open.len());
        if pending < open {
            self.violated(format!("1: {open} calls have not ended, {pending} wait"));
        }
        if link.state() != self.state {
            let (state, reported) = (link.state(), self.state);
            self.violated(format!("6: the state is {state}, {reported} was reported"));
        }
        let is_over = matches!(link.state(), State::Closing | State::Closed);
        if (is_over || self.is_stopped) && (pending > 0 || open > 0) {
            self.violated(format!("4: {pending} calls wait after the end"));
        }
        if is_over != self.is_stopped && self.is_stopped {
            self.violated("4: it goes on after it was stopped");
        }
    }

    /// Looks at the calls after the timers have fired, with all events taken.
    pub(crate) fn check_deadlines(&mut self, now: Instant) {
        let late = self.open.iter().find(|(_, open)| open.latest < now);
        if let Some((call, open)) = late {
            let (call, latest) = (*call, open.latest);
            self.violated(format!("1: call {call} should have ended at {latest}"));
        }
        if let Some(nonce) = self.delivered.pop_first() {
            let is_open = self.call_of(nonce).is_some();
            if is_open && self.in_flight.values().any(|other| *other == Some(nonce)) {
                self.violated(format!("1: the response to call ({nonce}) had no effect"));
            }
        }
    }

    /// A response is given to the link as the server wrote it.
    pub(crate) fn on_delivered(&mut self, frame: &[u8]) {
        let id = number_after(frame, "\"id\":");
        let nonce = number_after(frame, "\"echo\":");
        let is_waiting = |(call, other): (&CallId, &Option<u64>)| {
            Some(call.get()) == id && *other == nonce && nonce.is_some()
        };
        if self.in_flight.iter().any(is_waiting) {
            self.delivered.extend(nonce);
        }
    }

    /// Looks at the link when everything had its time.
    pub(crate) fn check_end(&mut self, link: &Link) {
        match link.state() {
            State::Ready | State::Closed => {}
            state @ (State::Starting | State::Initializing | State::Backoff | State::Closing) => {
                self.violated(format!("liveness: still {state}"));
            }
        }
        if link.pending() > 0 || !self.open.is_empty() {
            let (pending, open) = (link.pending(), self.open.len());
            self.violated(format!("liveness: {pending} calls wait, {open} not ended"));
        }
        if let Some(id) = self.owed_cancels.first() {
            let id = *id;
            self.violated(format!("the cancellation of {id} was never sent"));
        }
        let era = link.revision().map(Revision::era);
        if era == Some(Era::Handshake) && !self.has_sent_initialized {
            self.violated("`notifications/initialized` was never sent");
        }
        if link.state() == State::Closed && !self.transports.is_empty() {
            self.violated("4: a transport was left behind");
        }
    }
}
