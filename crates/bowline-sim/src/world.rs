//! A world: a link with its driver and its user, a server, and a carrier between them.
//!
//! Events wait in a queue by time and by the order in which they were put in. A step takes
//! the next one, or lets a timer fire, moves what can be moved in that moment, and checks
//! the invariants.

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
use bowline_proto::link::{CallKey, ConnectionId, OpenError, State};
use bowline_proto::{CallId, Instant, Link, RequestKey};
use bytes::Bytes;

use crate::fault::{Fault, Faults};
use crate::oracle::Oracle;
use crate::random::Chance;
use crate::trace_text::{Chart, Column};

use client::Client;
use http::Post;
use server::Server;
use user::User;
use wire::To;

/// From here on no id is given out: 96 % of what JSON can say exactly.
pub(crate) const RESERVED_IDS: u64 = CallId::MAX.get() / 100 * 96;

/// Steps of a world; more mean that it turns in circles.
const MAX_STEPS: u64 = 30_000;

/// Things that move in one moment; more mean that it turns in circles.
const MAX_MOVES: u32 = 5_000;

/// How long everything may take to be well again.
const RECOVERY: Duration = Duration::from_secs(120);

/// How long nothing may be left to do after that: what was given up is forgotten.
const REST: Duration = Duration::from_secs(200);

/// How messages travel in a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Carrying {
    /// On one stream of bytes.
    Pipe,
    /// Each call on a stream of its own.
    Http,
}

impl Carrying {
    /// The carrier of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Pipe, Self::Http]
            .into_iter()
            .find(|carrying| carrying.name() == name)
    }

    /// The carrier of a seed, where none is asked for: every third one is HTTP.
    pub const fn of_seed(seed: u64) -> Self {
        match seed % 3 {
            0 => Self::Http,
            _ => Self::Pipe,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pipe => "pipe",
            Self::Http => "http",
        }
    }
}

/// What became of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// What did not hold, if anything.
    pub violation: Option<String>,
    /// Steps until the end.
    pub steps: u64,
    /// Calls that were made.
    pub calls: u64,
    /// Handshakes that succeeded.
    pub sessions: u64,
    /// Where the link ended.
    pub state: State,
    /// What happened, when that was asked for.
    pub chart: String,
}

/// Something that is going to happen.
#[derive(Debug)]
enum Happening {
    /// The user does something.
    User,
    /// The faults stop.
    Heal,
    /// Nobody listens any more.
    Unsubscribe,
    /// The user makes one more call.
    LastCall,
    /// A transport is open, or is not.
    Opened(ConnectionId, Result<(), OpenError>),
    /// A transport is closed, as the link wanted.
    Closed(ConnectionId),
    /// Bytes come to the client.
    ToClient(ConnectionId, Bytes),
    /// The transport ends.
    Ends(ConnectionId, End),
    /// Bytes come to the server.
    ToServer(ConnectionId, Bytes),
    /// A POST comes to the server.
    Post(Post),
    /// Something comes on a stream.
    Heard(Heard),
    /// A frame is written late.
    Emit(To, Bytes),
    /// What was held together is written.
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
    /// Something goes wrong by itself.
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

/// What comes to a client over HTTP.
#[derive(Debug)]
struct Heard {
    life: ConnectionId,
    stream: Option<CallId>,
    what: Said,
}

#[derive(Debug)]
enum Said {
    /// A message, and the session that the server opened with it.
    Message(Bytes, Option<u64>),
    End(StreamEnd),
    Expired,
}

impl Said {
    /// Returns whether it says of a request that it was not sent, or not served.
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
    carrying: Carrying,
    chance: Chance,
    faults: Faults,
    is_healed: bool,
    is_resting: bool,
    now: Instant,
    end: Instant,
    queue: BTreeMap<(Instant, u64), Happening>,
    sequence: u64,
    steps: u64,
    link: Link,
    has_keepalive: bool,
    client: Client,
    server: Server,
    user: User,
    oracle: Oracle,
    chart: Chart,
}

impl World {
    /// Lets everything happen.
    pub fn run(mut self) -> Report {
        self.settle();
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
            chart: self.chart.into_text(),
        }
    }

    fn step(&mut self) -> bool {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            self.oracle.violated("it turns in circles");
            return false;
        }
        let happening = self.queue.keys().next().map(|(at, _)| *at);
        let timer = self.next_timer();
        let Some(next) = [happening, timer].into_iter().flatten().min() else {
            return self.finish();
        };
        if next > self.end {
            return self.finish();
        }
        self.now = self.now.max(next);
        let is_timer = timer == Some(next) && (happening != Some(next) || self.chance.one_in(2));
        match is_timer {
            true => self.fire_timers(),
            false => {
                if let Some((_, happening)) = self.queue.pop_first() {
                    self.dispatch(happening);
                }
            }
        }
        self.settle();
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

    /// Nothing has happened for long: nothing is left.
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

    fn dispatch(&mut self, happening: Happening) {
        match happening {
            Happening::User => self.act(),
            Happening::Heal => self.heal(),
            Happening::Unsubscribe => self.unsubscribe_all(),
            Happening::LastCall => self.call_at_last(),
            Happening::Opened(life, result) => self.on_opened(life, result),
            Happening::Closed(life) => self.on_closed(life),
            Happening::ToClient(life, chunk) => self.on_chunk(life, chunk),
            Happening::Ends(life, end) => self.on_end(life, end),
            Happening::ToServer(life, chunk) => self.server_hears(life, chunk),
            Happening::Post(post) => self.on_post(&post),
            Happening::Heard(heard) => self.client.heard.push_back(heard),
            Happening::Emit(to, frame) => self.put_on_wire(to, &frame),
            Happening::Flush => self.flush_held(),
            Happening::Work(job) => self.work(job),
            Happening::Handled(request) => self.on_handled(request),
            Happening::Input(call) => self.provide_input(call),
            Happening::Cancel(call) => self.cancel(call, 1),
            Happening::Wake => self.client.is_asleep = false,
            Happening::Thaw => self.client.frozen = None,
            Happening::Unstall => self.server.unstall(),
            Happening::Inject => self.inject(),
            Happening::Restart => self.server.is_up = true,
        }
    }

    /// Moves what can be moved in this moment.
    fn settle(&mut self) {
        for _ in 0..MAX_MOVES {
            let has_moved =
                self.do_actions() | self.read() | self.write() | self.take_events() | self.serve();
            if !has_moved || self.oracle.violation().is_some() {
                return;
            }
        }
        self.oracle.violated("it turns in circles in one moment");
    }

    /// The faults stop, and what they left behind is repaired.
    fn heal(&mut self) {
        self.note(Column::Server, || "the faults stop".into());
        self.is_healed = true;
        self.client.is_asleep = false;
        self.client.frozen = None;
        self.server.heal();
        self.end = self.now + RECOVERY;
        self.after(RECOVERY / 2, Happening::Unsubscribe);
        self.after(RECOVERY * 5 / 6, Happening::LastCall);
    }

    // Helpers of all parts.

    /// Whether a fault happens here and now.
    fn hit(&mut self, fault: Fault) -> bool {
        let often = self.faults.often(fault);
        let is_hit = !self.is_healed && often > 0 && self.chance.per_mille(often);
        if is_hit {
            self.note(Column::Wire, || format!("⚡ {fault}"));
        }
        is_hit
    }

    fn after(&mut self, delay: Duration, happening: Happening) {
        self.at(self.now + delay, happening);
    }

    fn at(&mut self, at: Instant, happening: Happening) {
        self.sequence += 1;
        self.queue.insert((at, self.sequence), happening);
    }

    fn note(&mut self, column: Column, text: impl FnOnce() -> String) {
        self.chart.note(self.now, column, text);
    }
}
