//! Many worlds, on all cores.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::server_world::{ServerCounts, ServerWorld};
use crate::world::{Report, SimCarrier, World};

/// Every so many seeds have a world of a server, too.
const SERVER_EVERY: u64 = 7;

/// A world of a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scenario {
    /// A link over a carrier.
    Link(SimCarrier),
    /// A server's HTTP sessions.
    Server,
}

impl Scenario {
    /// Returns the worlds of a seed, where none is asked for.
    pub fn of_seed(seed: u64) -> impl Iterator<Item = Self> {
        let server = seed.is_multiple_of(SERVER_EVERY).then_some(Self::Server);
        let link = Self::Link(SimCarrier::of_seed(seed));
        std::iter::once(link).chain(server)
    }

    /// Runs the world of a seed. Returns what did not hold.
    fn run(self, seed: u64, is_doubled: bool, summary: &mut Summary) -> Option<String> {
        let (violation, is_same) = match self {
            Self::Link(carrier) => {
                let run = || World::new(seed, carrier, is_doubled).run();
                let report = run();
                summary.count(&report);
                let is_same = !is_doubled || run() == report;
                (report.violation, is_same)
            }
            Self::Server => {
                let run = || ServerWorld::new(seed, is_doubled).run();
                let report = run();
                summary.server.add(&report.counts);
                let is_same = !is_doubled || run() == report;
                (report.violation, is_same)
            }
        };
        let differs = (!is_same).then(|| "6: two runs of the seed differ".into());
        violation.or(differs)
    }
}

/// A seed in whose world something did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// The world.
    pub scenario: Scenario,
    /// What did not hold.
    pub violation: String,
}

/// What became of many worlds: of links, but for `server` and `failures`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Worlds.
    pub worlds: u64,
    /// Their steps.
    pub steps: u64,
    /// Calls that were made.
    pub calls: u64,
    /// Handshakes that succeeded.
    pub sessions: u64,
    /// Worlds of a server.
    pub server: ServerCounts,
    /// Those in which something did not hold, lowest seed first.
    pub failures: Vec<Failure>,
}

/// The first world in which something did not hold, and how many seeds were looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// Seeds that were looked at, with this one.
    pub seeds: u64,
    /// The world.
    pub failure: Failure,
}

/// Runs the worlds of `count` seeds from `first` on, on all cores. Every sixteenth world is
/// run twice, and both runs must be the same to the byte.
pub fn run_many(first: u64, count: u64, scenario: Option<Scenario>) -> Summary {
    let next = AtomicU64::new(0);
    let total = Mutex::new(Summary::default());
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut part = Summary::default();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    let seed = first.wrapping_add(number);
                    match scenario {
                        Some(scenario) => run_one(seed, scenario, &mut part),
                        None => Scenario::of_seed(seed)
                            .for_each(|scenario| run_one(seed, scenario, &mut part)),
                    }
                }
                let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                total.add(part);
            });
        }
    });
    let mut total = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    total.failures.sort_by_key(|failure| failure.seed);
    total
}

fn run_one(seed: u64, scenario: Scenario, summary: &mut Summary) {
    let violation = scenario.run(seed, seed.is_multiple_of(16), summary);
    summary.failures.extend(violation.map(|violation| Failure {
        seed,
        scenario,
        violation,
    }));
}

/// Looks for a world in which something does not hold, from seed `first` on, on this thread.
pub fn find_violation(first: u64, most: u64) -> Option<Found> {
    (0..most).find_map(|number| {
        let seed = first.wrapping_add(number);
        let mut summary = Summary::default();
        Scenario::of_seed(seed).find_map(|scenario| {
            let violation = scenario.run(seed, false, &mut summary)?;
            Some(Found {
                seeds: number + 1,
                failure: Failure {
                    seed,
                    scenario,
                    violation,
                },
            })
        })
    })
}

impl Summary {
    fn count(&mut self, report: &Report) {
        self.worlds += 1;
        self.steps += report.steps;
        self.calls += report.calls;
        self.sessions += report.sessions;
    }

    fn add(&mut self, other: Self) {
        self.worlds += other.worlds;
        self.steps += other.steps;
        self.calls += other.calls;
        self.sessions += other.sessions;
        self.server.add(&other.server);
        self.failures.extend(other.failures);
    }
}
