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
use super::{Carrying, Happening, RESERVED_IDS, World};
use crate::fault::{Fault, Faults};
use crate::oracle::{Bounds, Oracle};
use crate::random::Chance;
use crate::trace_text::{Chart, Column};

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
    /// The world of a seed. `is_charted` keeps what happens as text.
    pub fn new(seed: u64, carrying: Carrying, is_charted: bool) -> Self {
        let mut chance = Chance::new(seed.wrapping_mul(2).wrapping_add(carrying as u64));
        let faults = Faults::draw(&mut chance);
        Self::with_faults(seed, carrying, is_charted, chance, faults)
    }

    /// A world of these faults.
    pub fn of_faults(seed: u64, carrying: Carrying, is_charted: bool, faults: Faults) -> Self {
        Self::with_faults(seed, carrying, is_charted, Chance::new(seed), faults)
    }

    fn with_faults(
        seed: u64,
        carrying: Carrying,
        is_charted: bool,
        mut chance: Chance,
        faults: Faults,
    ) -> Self {
        let now = Instant::START;
        let has_keepalive = chance.one_in(4);
        let config = link_config(&mut chance, carrying, seed, has_keepalive);
        let first_id = match faults.has(Fault::CounterNearEnd) {
            true => RESERVED_IDS - 1 - chance.below(12),
            false => 1,
        };
        let link = Link::new(now, config, IdCounter::starting_at(first_id));
        // Bits that flip make ids of others, and so does what was cut and joined again.
        let is_blurred = faults.has(Fault::BitFlip);
        let halting = [
            Fault::Busy,
            Fault::StallReading,
            Fault::CounterNearEnd,
            Fault::SlowConsumer,
            Fault::ClockStands,
            Fault::ClockJumps,
        ];
        // Over HTTP calls of some tools wait for each other; a question has a call of its own.
        let is_flowing = carrying == Carrying::Pipe
            && !has_keepalive
            && !halting.iter().any(|it| faults.has(*it));
        let mut world = Self {
            carrying,
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
            server: Server::new(revisions(&mut chance)),
            user: User::draw(&mut chance),
            oracle: Oracle::new(BOUNDS, is_blurred, is_flowing),
            chart: Chart::new(is_charted),
            chance,
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
        let until = Duration::from_secs(3) + self.chance.millis(40_000);
        self.after(until, Happening::Heal);
        self.after(Duration::ZERO, Happening::User);
        self.after(Duration::from_millis(5), Happening::Inject);
    }
}

fn link_config(
    chance: &mut Chance,
    carrying: Carrying,
    seed: u64,
    has_keepalive: bool,
) -> LinkConfig {
    let mut config = Config::new(Implementation::new("sim", "0"));
    let ours = match chance.below(6) {
        0 => Revisions::until(Revision::LATEST_HANDSHAKE),
        1 => Revisions::only(Revision::LATEST),
        _ => Revisions::ALL,
    };
    config.revisions(ours).seed(seed);
    config.carrier(match carrying {
        Carrying::Pipe => Carrier::SharedStream,
        Carrying::Http => Carrier::StreamPerRequest,
    });
    if has_keepalive {
        config.keepalive(Some(Keepalive::new(Duration::from_secs(5), 2)));
    }
    if chance.one_in(4) {
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
    if chance.one_in(12) {
        backoff.max_attempts(Some(3));
    }
    link.backoff(backoff).max_subscriptions(3);
    link
}

/// What a server speaks.
pub(super) fn revisions(chance: &mut Chance) -> Revisions {
    match chance.below(6) {
        0 => Era::Handshake.revisions(),
        1 => Era::Stateless.revisions(),
        2 => Revisions::only(Revision::V2025_03_26).with(Revision::LATEST),
        _ => Revisions::ALL,
    }
}
