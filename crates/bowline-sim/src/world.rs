//! A world: a link with its driver and its user, a server, and a carrier between them.
//!
//! Events wait in a queue by time and by the order in which they were put in. A step takes
//! the next one, or lets a timer fire, moves what can be moved in that moment, and checks
//! the invariants.
//!
//! - `build`: a world from a seed. `client`: the driver of the link. `user`: calls, cancels, stops.
//! - `server`: server processes. `handlers`: how their handlers answer, and when.
//! - `wire`: frames of the server and their faults on the way. `http`: POSTs, sessions, streams.
//! - `spontaneous_faults`: unsolicited frames, crashes, clocks.
//!
//! All randomness is drawn from the seed.

mod build;
mod client;
mod handlers;
mod http;
mod server;
mod spontaneous_faults;
mod user;
mod wire;

use std::collections::BTreeMap;
use std::time::Duration;

use bowline_proto::connection::StreamEnd;
use bowline_proto::link::{CallKey, ConnectionId, LinkState as State, OpenError};
use bowline_proto::{CallId, Instant, Link, RequestKey};
use bytes::Bytes;

use crate::fault::{Fault, Faults};
use crate::oracle::Oracle;
use crate::random::Random;
use crate::trace_text::{Column, TraceText};

use client::Client;
use http::Post;
use server::Server;
use user::User;
use wire::To;

/// The first reserved id, at 96 % of the integers that JSON represents exactly.
pub(crate) const RESERVED_IDS: u64 = CallId::MAX.get() / 100 * 96;

/// Steps of a world; more mean that the world runs in circles.
const MAX_STEPS: u64 = 30_000;

/// Moves in one moment; more mean that the world runs in circles.
const MAX_MOVES: u32 = 5_000;

/// How long the link may take to recover.
const RECOVERY: Duration = Duration::from_secs(120);

/// The rest after that, in which cancelled calls are forgotten and nothing is left to do.
const REST: Duration = Duration::from_secs(200);

/// The carrier of messages in a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SimCarrier {
    /// One byte stream.
    Pipe,
    /// A stream for each call.
    Http,
}

impl SimCarrier {
    /// Creates the carrier of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Pipe, Self::Http]
            .into_iter()
            .find(|carrier| carrier.name() == name)
    }

    /// Creates the carrier of a seed, where none is asked for: every third one is HTTP.
    pub const fn of_seed(seed: u64) -> Self {
        match seed % 3 {
            0 => Self::Http,
            _ => Self::Pipe,
        }
    }

    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pipe => "pipe",
            Self::Http => "http",
        }
    }
}

/// The result of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The violated invariant, if any.
    pub violation: Option<String>,
    /// Steps until the end.
    pub steps: u64,
    /// Calls that were made.
    pub calls: u64,
    /// Handshakes that succeeded.
    pub sessions: u64,
    /// The final state of the link.
    pub state: State,
    /// The trace, if it was requested.
    pub trace: String,
}

/// A future event of the world.
#[derive(Debug)]
enum SimEvent {
    /// The user acts.
    User,
    /// The faults stop.
    Heal,
    /// The user closes all subscriptions.
    Unsubscribe,
    /// The user makes one more call.
    LastCall,
    /// A transport is open, or is not.
    Opened(ConnectionId, Result<(), OpenError>),
    /// A transport is closed, at the link's request.
    Closed(ConnectionId),
    /// Bytes come to the client.
    ToClient(ConnectionId, Bytes),
    /// The transport ends.
    Ends(ConnectionId, End),
    /// Bytes come to the server.
    ToServer(ConnectionId, Bytes),
    /// A POST comes to the server.
    Post(Post),
    /// Input arrives on a stream.
    StreamInput(StreamInput),
    /// A frame is written late.
    Emit(To, Bytes),
    /// Held frames are written together.
    Flush,
    /// A handler of the server goes on.
    Work(u64),
    /// A handler of the client is done.
    Handled(RequestKey),
    /// The user has what a call needs.
    Input(CallKey),
    /// The user cancels in this moment.
    Cancel(CallKey),
    /// The events are taken again.
    Wake,
    /// The clock goes on.
    Thaw,
    /// The server reads or writes again.
    Unstall,
    /// A spontaneous fault happens.
    Inject,
    /// The HTTP server is there again.
    Restart,
}

/// How a pipe ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Eof,
    Lost,
}

/// Input of a client over HTTP.
#[derive(Debug)]
struct StreamInput {
    connection_id: ConnectionId,
    stream: Option<CallId>,
    kind: StreamInputKind,
}

#[derive(Debug)]
enum StreamInputKind {
    /// A message, and the session that the server opened with it.
    Message(Bytes, Option<u64>),
    End(StreamEnd),
    Expired,
}

impl StreamInputKind {
    /// Returns `true` if it reports that a request was not sent, or not served.
    fn is_not_sent(&self) -> bool {
        match self {
            Self::End(StreamEnd::NotSent(_)) | Self::Expired => true,
            Self::End(_) | Self::Message(..) => false,
        }
    }
}

/// A world of one seed.
#[derive(Debug)]
pub struct World {
    carrier: SimCarrier,
    random: Random,
    faults: Faults,
    is_healed: bool,
    is_resting: bool,
    now: Instant,
    end: Instant,
    queue: BTreeMap<(Instant, u64), SimEvent>,
    sequence: u64,
    steps: u64,
    link: Link,
    has_keepalive: bool,
    client: Client,
    server: Server,
    user: User,
    oracle: Oracle,
    trace: TraceText,
}

impl World {
    /// Runs the world to its end.
    pub fn run(mut self) -> Report {
        self.run_until_idle();
        while self.oracle.violation().is_none() && self.step() {}
        let violation = self.oracle.violation().map(str::to_owned);
        if let Some(violation) = &violation {
            let violation = violation.clone();
            self.note(Column::Client, || format!("VIOLATION {violation}"));
        }
        Report {
            violation,
            steps: self.steps,
            calls: self.oracle.made(),
            sessions: self.link.session(),
            state: self.link.state(),
            trace: self.trace.into_text(),
        }
    }

    fn step(&mut self) -> bool {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            self.oracle.violated("the world runs in circles");
            return false;
        }
        let event = self.queue.keys().next().map(|(at, _)| *at);
        let timer = self.next_timer();
        let Some(next) = [event, timer].into_iter().flatten().min() else {
            return self.finish();
        };
        if next > self.end {
            return self.finish();
        }
        self.now = self.now.max(next);
        let is_timer = timer == Some(next) && (event != Some(next) || self.random.one_in(2));
        if is_timer {
            self.fire_timers();
        } else if let Some((_, event)) = self.queue.pop_first() {
            self.dispatch(event);
        }
        self.run_until_idle();
        let is_drained = !self.client.is_asleep;
        self.check_renewal(is_drained);
        self.oracle.check(&self.link, is_drained);
        if is_timer && is_drained && self.client.frozen.is_none() {
            self.oracle.check_deadlines(self.clock());
        }
        true
    }

    /// A link whose ids are used up waits for calls that wait, and for nothing else.
    fn check_renewal(&mut self, is_drained: bool) {
        let was_put_off = std::mem::take(&mut self.user.is_put_off);
        let is_due = self
            .link
            .poll_timeout()
            .is_some_and(|at| at <= self.clock());
        let waits = self.link.state() == State::Ready && self.link.pending() == 0 && !is_due;
        if was_put_off && is_drained && waits {
            self.oracle
                .violated("it waits for nothing before its ids begin anew");
        }
    }

    /// The time is over: of recovery, or of the rest after it.
    fn finish(&mut self) -> bool {
        self.now = self.now.max(self.end);
        if self.is_resting {
            self.check_rest();
            return false;
        }
        self.oracle.check_end(&self.link);
        // A server that hears nothing, and an agreement of flipped bits, are not repaired.
        let is_lasting = self.faults.has(Fault::HalfClose) || self.faults.has(Fault::BitFlip);
        if !self.oracle.is_well() && !is_lasting {
            self.oracle
                .violated("liveness: a call on a link that is well has no result");
        }
        self.is_resting = true;
        self.end = self.end + REST;
        true
    }

    /// Checks that nothing is left after the rest.
    fn check_rest(&mut self) {
        if self.link.state() == State::Ready && self.link.tombstones() > 0 {
            self.oracle.violated("5: tombstones outlive their time");
        }
        let timer = self.link.poll_timeout();
        if let (Some(at), false) = (timer, self.has_keepalive) {
            self.oracle
                .violated(format!("3: a timer at {at} with nothing left to do"));
        }
    }

    fn dispatch(&mut self, event: SimEvent) {
        match event {
            SimEvent::User => self.act(),
            SimEvent::Heal => self.heal(),
            SimEvent::Unsubscribe => self.unsubscribe_all(),
            SimEvent::LastCall => self.call_at_last(),
            SimEvent::Opened(connection_id, result) => self.on_opened(connection_id, result),
            SimEvent::Closed(connection_id) => self.on_closed(connection_id),
            SimEvent::ToClient(connection_id, chunk) => self.on_chunk(connection_id, chunk),
            SimEvent::Ends(connection_id, end) => self.on_end(connection_id, end),
            SimEvent::ToServer(connection_id, chunk) => self.server_receives(connection_id, chunk),
            SimEvent::Post(post) => self.on_post(&post),
            SimEvent::StreamInput(stream_input) => self.client.stream_input.push_back(stream_input),
            SimEvent::Emit(to, frame) => self.put_on_wire(to, &frame),
            SimEvent::Flush => self.flush_held(),
            SimEvent::Work(job) => self.work(job),
            SimEvent::Handled(request) => self.on_handled(request),
            SimEvent::Input(call) => self.provide_input(call),
            SimEvent::Cancel(call) => self.cancel(call, 1),
            SimEvent::Wake => self.client.is_asleep = false,
            SimEvent::Thaw => self.client.frozen = None,
            SimEvent::Unstall => self.server.unstall(),
            SimEvent::Inject => self.inject_fault(),
            SimEvent::Restart => self.server.is_up = true,
        }
    }

    /// Moves bytes, messages and events until nothing moves in this moment.
    fn run_until_idle(&mut self) {
        for _ in 0..MAX_MOVES {
            let has_moved =
                self.do_actions() | self.read() | self.write() | self.take_events() | self.serve();
            if !has_moved || self.oracle.violation().is_some() {
                return;
            }
        }
        self.oracle
            .violated("the world runs in circles in one moment");
    }

    /// Stops the faults, and repairs their effects.
    fn heal(&mut self) {
        self.note(Column::Server, || "the faults stop".into());
        self.is_healed = true;
        self.client.is_asleep = false;
        self.client.frozen = None;
        self.server.heal();
        self.end = self.now + RECOVERY;
        self.after(RECOVERY / 2, SimEvent::Unsubscribe);
        self.after(RECOVERY * 5 / 6, SimEvent::LastCall);
    }

    // Helpers of all parts.

    /// Returns `true` if a fault happens here and now.
    fn hit(&mut self, fault: Fault) -> bool {
        let often = self.faults.often(fault);
        let is_hit = !self.is_healed && often > 0 && self.random.per_mille(often);
        if is_hit {
            self.note(Column::Wire, || format!("⚡ {fault}"));
        }
        is_hit
    }

    fn after(&mut self, delay: Duration, event: SimEvent) {
        self.at(self.now + delay, event);
    }

    fn at(&mut self, at: Instant, event: SimEvent) {
        self.sequence += 1;
        self.queue.insert((at, self.sequence), event);
    }

    fn note(&mut self, column: Column, text: impl FnOnce() -> String) {
        self.trace.note(self.now, column, text);
    }
}
