//! How long a link waits before it tries again.

use std::time::Duration;

use crate::defect::{self, Defect};
use crate::jitter::Jitter;

/// How long to wait before another attempt, and how many there are.
///
/// The wait doubles from attempt to attempt up to a maximum. Chance spreads the attempts of
/// many clients that lost the same server at the same time.
///
/// ```
/// use std::time::Duration;
/// use bowline_proto::link::Backoff;
///
/// let mut patient = Backoff::default();
/// patient.max_attempts(Some(5)).stable_after(Duration::from_secs(60));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    most: Duration,
    chance: Chance,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) stable_after: Duration,
}

/// How chance changes a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chance {
    /// By up to so many percent, up or down.
    Percent(u32),
    /// To anything from nothing to the whole.
    Full,
}

impl Backoff {
    /// Creates a backoff from `first`, doubling to `most`, give or take 20 percent.
    pub const fn new(first: Duration, most: Duration) -> Self {
        Self {
            first,
            most,
            chance: Chance::Percent(20),
            max_attempts: None,
            stable_after: Duration::from_secs(10),
        }
    }

    /// Returns a backoff from 200 ms to 15 s: for a server on the same machine, with a user who
    /// waits.
    pub const fn fast() -> Self {
        Self::new(Duration::from_millis(200), Duration::from_secs(15))
    }

    /// Returns a backoff from nothing to as long as the default waits: for large fleets, whose
    /// attempts must not come in waves.
    pub const fn spread() -> Self {
        let mut backoff = Self::new(Duration::from_secs(1), Duration::from_secs(30));
        backoff.chance = Chance::Full;
        backoff
    }

    /// Attempts in a row that may fail before the link is closed. Default: any number.
    pub fn max_attempts(&mut self, attempts: Option<u32>) -> &mut Self {
        self.max_attempts = attempts;
        self
    }

    /// Sets how long a connection must have been ready before the next wait is the first one again.
    /// Default 10 s: a server that dies right after each handshake keeps waiting.
    pub fn stable_after(&mut self, ready: Duration) -> &mut Self {
        self.stable_after = ready;
        self
    }

    /// Returns the wait after so many failures in a row.
    pub(super) fn delay(&self, failures: u32, jitter: &mut Jitter) -> Duration {
        if defect::is(Defect::NoBackoff) {
            return Duration::ZERO;
        }
        let doublings = if defect::is(Defect::FlatBackoff) {
            0
        } else {
            failures.saturating_sub(1).min(31)
        };
        let wait = self.first.saturating_mul(1 << doublings).min(self.most);
        match self.chance {
            Chance::Percent(percent) => jitter.around(wait, percent).min(self.most),
            Chance::Full => jitter.below(wait),
        }
    }

    /// Returns the longest wait.
    pub(super) fn longest(&self) -> Duration {
        self.most
    }
}

impl Default for Backoff {
    /// Returns the default: from 1 s to 30 s.
    fn default() -> Self {
        Self::new(Duration::from_secs(1), Duration::from_secs(30))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    // proves: CN-4
    #[test]
    fn waits_double_up_to_the_maximum() {
        let mut jitter = Jitter::new(3);
        let backoff = Backoff::default();
        for (failures, seconds) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 30), (99, 30)] {
            for _ in 0..100 {
                let delay = backoff.delay(failures, &mut jitter);
                let wait = SECOND * seconds;
                assert!(delay >= wait * 8 / 10, "{failures}: {delay:?}");
                assert!(
                    delay <= (wait * 12 / 10).min(30 * SECOND),
                    "{failures}: {delay:?}"
                );
            }
        }
        let fast = Backoff::fast().delay(1, &mut jitter);
        assert!(fast <= Duration::from_millis(240));
        assert!(Backoff::fast().delay(20, &mut jitter) <= 15 * SECOND);
    }

    // proves: F-MC-04
    #[test]
    fn a_fleet_comes_back_without_a_wave() {
        let backoff = Backoff::spread();
        let mut buckets = [0_u32; 11];
        for client in 0..10_000 {
            let delay = backoff.delay(1, &mut Jitter::new(client));
            let bucket = usize::try_from(delay.as_millis() / 100).unwrap();
            buckets[bucket] += 1;
        }
        assert!(*buckets.iter().max().unwrap() <= 1200, "{buckets:?}");
    }
}
