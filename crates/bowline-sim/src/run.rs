//! Many worlds, on all cores.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::world::{Report, SimCarrier, World};

/// A seed in whose world something did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// The carrier.
    pub carrier: SimCarrier,
    /// What did not hold.
    pub violation: String,
}

/// What became of many worlds.
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
    /// Those in which something did not hold, lowest seed first.
    pub failures: Vec<Failure>,
}

/// The first world in which something did not hold, and how many were looked at.
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
pub fn run_many(first: u64, count: u64, carrier: Option<SimCarrier>) -> Summary {
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
                    run_one(
                        seed,
                        carrier.unwrap_or(SimCarrier::of_seed(seed)),
                        &mut part,
                    );
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

fn run_one(seed: u64, carrier: SimCarrier, summary: &mut Summary) {
    let is_doubled = seed.is_multiple_of(16);
    let report = World::new(seed, carrier, is_doubled).run();
    let mut violation = report.violation.clone();
    if is_doubled && World::new(seed, carrier, true).run() != report {
        violation = violation.or(Some("6: two runs of the seed differ".into()));
    }
    summary.count(&report);
    summary.failures.extend(violation.map(|violation| Failure {
        seed,
        carrier,
        violation,
    }));
}

/// Looks for a world in which something does not hold, from seed `first` on, on this thread.
pub fn find_violation(first: u64, most: u64) -> Option<Found> {
    (0..most).find_map(|number| {
        let seed = first.wrapping_add(number);
        let carrier = SimCarrier::of_seed(seed);
        let violation = World::new(seed, carrier, false).run().violation?;
        Some(Found {
            seeds: number + 1,
            failure: Failure {
                seed,
                carrier,
                violation,
            },
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
        self.failures.extend(other.failures);
    }
}
