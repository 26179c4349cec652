//! A world of a server: its HTTP sessions in the handshake era, and clients whose connections are
//! cut.
//!
//! The server is the core's ([`Session`](bowline_proto::server::Session),
//! [`EventLog`](bowline_proto::server::EventLog)) with as little around it as it needs. Clients are
//! played: they are honest, resume where they were, and now and then lose a connection or name an
//! event that isn't theirs. Time is virtual and all randomness is from the seed, as in a world of
//! a link.
//!
//! - `http`: requests and responses on the way, and the cuts of connections. `requests`: how the
//!   server routes them. `node`: its sessions. `event_streams`: their messages, event logs and
//!   connections. `handlers`: what answers calls.
//! - `client`: the clients' sessions and calls. `responses`: what clients make of responses.
//!   `user`: what they do, and when.

mod client;
mod event_streams;
mod handlers;
mod http;
mod node;
mod requests;
mod responses;
mod user;

use std::collections::BTreeMap;
use std::time::Duration;

use bowline_proto::Instant;
use bowline_proto::server::EventLogStats;

use crate::fault::{Fault, Faults};
use crate::oracle::StreamOracle;
use crate::random::Random;
use crate::trace_text::{Column, TraceText};

use client::{Client, Exchange};
use http::{Arrival, HttpRequest};
use node::Node;
use user::Target;

/// Steps of a world; more mean that the world runs in circles.
const MAX_STEPS: u64 = 20_000;

/// How long calls may take to end when the faults have stopped.
const RECOVERY: Duration = Duration::from_secs(60);

/// The result of a world of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerReport {
    /// The violated invariant, if any.
    pub violation: Option<String>,
    /// The counters.
    pub counts: ServerCounts,
    /// The trace, if it was requested.
    pub trace: String,
}

/// What happened in worlds of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerCounts {
    /// Worlds.
    pub worlds: u64,
    /// Their steps.
    pub steps: u64,
    /// Sessions that were opened.
    pub sessions: u64,
    /// Calls that were answered.
    pub answers: u64,
    /// Calls whose loss was explained: a gap, the end of the session, a cut before the first id.
    pub losses: u64,
    /// Streams that were resumed.
    pub resumed: u64,
    /// Resumptions that were refused.
    pub refused: u64,
    /// What the event logs have counted.
    pub log: EventLogStats,
    /// How often each of [`Fault::SERVER`] happened, in that order.
    pub faults: Vec<u64>,
}

impl ServerCounts {
    /// Adds those of other worlds.
    pub fn add(&mut self, other: &Self) {
        self.worlds += other.worlds;
        self.steps += other.steps;
        self.sessions += other.sessions;
        self.answers += other.answers;
        self.losses += other.losses;
        self.resumed += other.resumed;
        self.refused += other.refused;
        self.add_log(other.log);
        self.faults.resize(Fault::SERVER.len(), 0);
        for (sum, more) in self.faults.iter_mut().zip(&other.faults) {
            *sum += more;
        }
    }

    /// Returns how often each fault happened.
    pub fn faults(&self) -> impl Iterator<Item = (Fault, u64)> {
        Fault::SERVER
            .iter()
            .copied()
            .zip(self.faults.iter().copied())
    }

    fn add_log(&mut self, log: EventLogStats) {
        self.log.evicted += log.evicted;
        self.log.evicted_responses += log.evicted_responses;
        self.log.expired += log.expired;
        self.log.expired_responses += log.expired_responses;
        self.log.lagged += log.lagged;
        self.log.displaced += log.displaced;
    }
}

/// A future event of the world.
#[derive(Debug)]
enum SimEvent {
    /// The user of a client acts.
    Act(usize),
    /// The faults stop.
    Heal,
    /// The clients make one more call each.
    LastCalls,
    /// A request comes to the server.
    Request(HttpRequest),
    /// A part of a response comes to its client.
    Response(u64, Arrival),
    /// The server learns that a connection is lost.
    ConnectionLost(u64),
    /// The client closes a connection.
    HangUp(u64),
    /// The client reads a connection again.
    Unstall(u64),
    /// A handler goes on.
    Work(u64),
    /// A client opens a connection for a stream.
    Connect(Target),
    /// A client answers a question of the server.
    Answer(Target, Vec<u8>),
    /// The server looks after its sessions.
    Sweep,
}

/// A world of one seed.
#[derive(Debug)]
pub struct ServerWorld {
    random: Random,
    faults: Faults,
    is_healed: bool,
    now: Instant,
    end: Instant,
    queue: BTreeMap<(Instant, u64), SimEvent>,
    sequence: u64,
    node: Node,
    clients: Vec<Client>,
    exchanges: BTreeMap<u64, Exchange>,
    next_connection: u64,
    oracle: StreamOracle,
    counts: ServerCounts,
    trace: TraceText,
}

impl ServerWorld {
    /// Creates the world of a seed.
    pub fn new(seed: u64, is_traced: bool) -> Self {
        let mut random = Random::new(!seed.wrapping_mul(2));
        let faults = Faults::draw_from(Fault::SERVER, &mut random);
        Self::with_faults(is_traced, random, faults)
    }

    /// Creates a world of these faults.
    pub fn of_faults(seed: u64, is_traced: bool, faults: Faults) -> Self {
        Self::with_faults(is_traced, Random::new(!seed), faults)
    }

    fn with_faults(is_traced: bool, mut random: Random, faults: Faults) -> Self {
        let node = Node::draw(&mut random);
        let clients = 2 + usize::from(random.one_in(3));
        let mut world = Self {
            clients: (0..clients).map(|_| Client::draw(&mut random)).collect(),
            random,
            faults,
            is_healed: false,
            now: Instant::START,
            end: Instant::NEVER,
            queue: BTreeMap::new(),
            sequence: 0,
            node,
            exchanges: BTreeMap::new(),
            next_connection: 1,
            oracle: StreamOracle::default(),
            counts: ServerCounts {
                worlds: 1,
                faults: vec![0; Fault::SERVER.len()],
                ..ServerCounts::default()
            },
            trace: TraceText::new(is_traced),
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        let faults: Vec<_> = self
            .faults
            .iter()
            .map(|fault| format!("{fault} {}‰", self.faults.often(fault)))
            .collect();
        self.note(Column::Wire, || format!("faults: {}", faults.join(", ")));
        let until = Duration::from_secs(1) + self.random.millis(5000);
        self.after(until, SimEvent::Heal);
        self.after(Duration::from_secs(1), SimEvent::Sweep);
        for client in 0..self.clients.len() {
            self.act_after(Duration::ZERO, client);
        }
    }

    /// Runs the world to its end.
    pub fn run(mut self) -> ServerReport {
        while self.oracle.violation().is_none() && self.step() {}
        if self.oracle.violation().is_none() {
            self.check_end();
        }
        let violation = self.oracle.violation().map(str::to_owned);
        if let Some(violation) = &violation {
            let violation = violation.clone();
            self.note(Column::Client, || format!("VIOLATION {violation}"));
        }
        let logs: Vec<EventLogStats> = self.node.log_stats().collect();
        for log in logs {
            self.counts.add_log(log);
        }
        self.counts.sessions = self.node.opened();
        self.counts.answers = self.oracle.answers;
        self.counts.losses = self.oracle.losses;
        ServerReport {
            violation,
            counts: self.counts,
            trace: self.trace.into_text(),
        }
    }

    fn step(&mut self) -> bool {
        self.counts.steps += 1;
        if self.counts.steps > MAX_STEPS {
            self.oracle.violated("the world runs in circles");
            return false;
        }
        let event = self.queue.keys().next().map(|(at, _)| *at);
        let timer = self.node.poll_timeout();
        let Some(next) = [event, timer].into_iter().flatten().min() else {
            return false;
        };
        if next > self.end {
            return false;
        }
        self.now = self.now.max(next);
        if event == Some(next) {
            if let Some((_, event)) = self.queue.pop_first() {
                self.dispatch(event);
            }
        } else {
            self.node.handle_timeout(self.now);
        }
        self.serve();
        self.check_memory();
        true
    }

    fn dispatch(&mut self, event: SimEvent) {
        match event {
            SimEvent::Act(client) => self.act(client),
            SimEvent::Heal => self.heal(),
            SimEvent::LastCalls => self.call_at_last(),
            SimEvent::Request(request) => self.on_request(&request),
            SimEvent::Response(connection, arrival) => self.on_response(connection, arrival),
            SimEvent::ConnectionLost(connection) => self.on_connection_lost(connection),
            SimEvent::HangUp(connection) => self.hang_up(connection),
            SimEvent::Unstall(connection) => self.node.unstall(connection),
            SimEvent::Work(job) => self.work(job),
            SimEvent::Connect(target) => self.connect(target),
            SimEvent::Answer(target, body) => self.answer_question(target, &body),
            SimEvent::Sweep => self.sweep(),
        }
    }

    fn heal(&mut self) {
        self.note(Column::Server, || "the faults stop".into());
        self.is_healed = true;
        self.end = self.now + RECOVERY;
        self.after(RECOVERY / 2, SimEvent::LastCalls);
    }

    /// Checks that memory is bounded.
    fn check_memory(&mut self) {
        if let Some(excess) = self.node.excess() {
            self.oracle.violated(excess);
        }
    }

    /// Checks that nothing waits when all has had its time.
    fn check_end(&mut self) {
        for client in &self.clients {
            if let Some(call) = client.open_calls().next() {
                self.oracle
                    .violated(format!("liveness: call {call} has neither answer nor loss"));
            }
            match client.server_stream_connection() {
                Some(connection) => self.oracle.check_server_stream(connection),
                None if client.wants_server_stream() => self
                    .oracle
                    .violated("liveness: the server's own stream was not opened again"),
                None => {}
            }
        }
        if let Some(exchange) = self.exchanges.values().find(|exchange| exchange.must_end()) {
            let what = format!("liveness: a response has no end: {:?}", exchange.purpose);
            self.oracle.violated(what);
        }
        if !self.node.is_at_rest(self.now + RECOVERY) {
            self.oracle.violated("events outlive their age");
        }
    }

    // Helpers of all parts.

    /// Returns `true` if a fault happens here and now.
    fn hit(&mut self, fault: Fault) -> bool {
        let often = self.faults.often(fault);
        let is_hit = !self.is_healed && often > 0 && self.random.per_mille(often);
        if is_hit {
            let place = Fault::SERVER.iter().position(|listed| *listed == fault);
            if let Some(count) = place.and_then(|place| self.counts.faults.get_mut(place)) {
                *count += 1;
            }
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
