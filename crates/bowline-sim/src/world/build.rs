//! A world from a seed.

use std::collections::BTreeMap;
use std::time::Duration;

use bowline_proto::codec::FrameLimits;
use bowline_proto::link::{Backoff, LinkConfig};
use bowline_proto::{Carrier, Config, IdCounter, Instant, Keepalive, Link, Timeouts};
use bowline_types::common::Implementation;
use bowline_types::{Era, Revision, Revisions};

use super::client::Client;
use super::server::Server;
use super::user::User;
use super::{RESERVED_IDS, SimCarrier, SimEvent, World};
use crate::fault::{Fault, Faults};
use crate::oracle::{Bounds, Oracle};
use crate::random::Random;
use crate::trace_text::{Column, TraceText};

/// Bytes of a frame.
pub(super) const MAX_FRAME: usize = 4096;

const BOUNDS: Bounds = Bounds {
    pending: 8,
    tombstones: 16,
    queued: 6,
    peer_requests: 4,
    undelivered: 4000,
    first_wait: Duration::from_secs(1),
    longest_wait: Duration::from_secs(30),
};

impl World {
    /// Creates the world of a seed. `is_charted` keeps what happens as text.
    pub fn new(seed: u64, carrier: SimCarrier, is_traced: bool) -> Self {
        let mut random = Random::new(seed.wrapping_mul(2).wrapping_add(carrier as u64));
        let faults = Faults::draw(&mut random);
        Self::with_faults(seed, carrier, is_traced, random, faults)
    }

    /// Creates a world of these faults.
    pub fn of_faults(seed: u64, carrier: SimCarrier, is_traced: bool, faults: Faults) -> Self {
        Self::with_faults(seed, carrier, is_traced, Random::new(seed), faults)
    }

    fn with_faults(
        seed: u64,
        carrier: SimCarrier,
        is_traced: bool,
        mut random: Random,
        faults: Faults,
    ) -> Self {
        let now = Instant::START;
        let has_keepalive = random.one_in(4);
        let config = link_config(&mut random, carrier, seed, has_keepalive);
        let first_id = if faults.has(Fault::CounterNearEnd) {
            RESERVED_IDS - 1 - random.below(12)
        } else {
            1
        };
        let link = Link::new(now, config, IdCounter::starting_at(first_id));
        // Bits that flip make ids of others, and so does what was cut and joined again.
        let may_misroute = faults.has(Fault::BitFlip);
        let halting = [
            Fault::Busy,
            Fault::StallReading,
            Fault::CounterNearEnd,
            Fault::SlowConsumer,
            Fault::ClockStands,
            Fault::ClockJumps,
        ];
        // Over HTTP calls of some tools wait for each other; a question has a call of its own.
        let is_flowing = carrier == SimCarrier::Pipe
            && !has_keepalive
            && !halting.iter().any(|fault| faults.has(*fault));
        let mut world = Self {
            carrier,
            faults,
            is_healed: false,
            is_resting: false,
            now,
            end: Instant::NEVER,
            queue: BTreeMap::new(),
            sequence: 0,
            steps: 0,
            link,
            has_keepalive,
            client: Client::new(),
            server: Server::new(revisions(&mut random)),
            user: User::draw(&mut random),
            oracle: Oracle::new(BOUNDS, may_misroute, is_flowing),
            trace: TraceText::new(is_traced),
            random,
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
        let until = Duration::from_secs(3) + self.random.millis(40_000);
        self.after(until, SimEvent::Heal);
        self.after(Duration::ZERO, SimEvent::User);
        self.after(Duration::from_millis(5), SimEvent::Inject);
    }
}

fn link_config(
    random: &mut Random,
    carrier: SimCarrier,
    seed: u64,
    has_keepalive: bool,
) -> LinkConfig {
    let mut config = Config::new(Implementation::new("sim", "0"));
    let ours = match random.below(6) {
        0 => Revisions::until(Revision::LATEST_HANDSHAKE),
        1 => Revisions::only(Revision::LATEST),
        _ => Revisions::ALL,
    };
    config.revisions(ours).seed(seed);
    config.carrier(match carrier {
        SimCarrier::Pipe => Carrier::SharedStream,
        SimCarrier::Http => Carrier::StreamPerRequest,
    });
    if has_keepalive {
        config.keepalive(Some(Keepalive::new(Duration::from_secs(5), 2)));
    }
    if random.one_in(4) {
        config.startup_timeout(Some(Duration::from_secs(15)));
    }
    config.call_timeouts(Timeouts::new(
        Duration::from_secs(10),
        Duration::from_secs(50),
    ));
    let mut frames = FrameLimits::default();
    frames.frame = MAX_FRAME;
    config
        .limits()
        .frames(frames)
        .max_pending(BOUNDS.pending)
        .max_tombstones(BOUNDS.tombstones)
        .max_queued(BOUNDS.queued)
        .max_peer_requests(BOUNDS.peer_requests)
        .max_undelivered(BOUNDS.undelivered)
        .misbehavior_budget(50);
    let mut link = LinkConfig::new(config);
    let mut backoff = Backoff::default();
    if random.one_in(12) {
        backoff.max_attempts(Some(3));
    }
    link.backoff(backoff).max_subscriptions(3);
    link
}

/// Returns what a server speaks.
pub(super) fn revisions(random: &mut Random) -> Revisions {
    match random.below(6) {
        0 => Era::Handshake.revisions(),
        1 => Era::Stateless.revisions(),
        2 => Revisions::only(Revision::V2025_03_26).with(Revision::LATEST),
        _ => Revisions::ALL,
    }
}
