//! Pseudo-random numbers from a seed: the same seed gives the same run.

use std::time::Duration;

/// A sequence of numbers that look random (SplitMix64).
///
/// It spreads retries of many connections over time; it keeps no secrets.
#[derive(Clone, Debug)]
pub(crate) struct Jitter(u64);

impl Jitter {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a time from nothing to `most`.
    pub(crate) fn below(&mut self, most: Duration) -> Duration {
        let span = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
        let drawn = self.next().checked_rem(span.saturating_add(1));
        Duration::from_nanos(drawn.unwrap_or(0))
    }

    /// Returns a time from `base` less `percent` to `base` more `percent`.
    pub(crate) fn around(&mut self, base: Duration, percent: u32) -> Duration {
        let span = base.saturating_mul(2).saturating_mul(percent) / 100;
        let least = base.saturating_sub(span / 2);
        let span = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let extra = self.next().checked_rem(span.saturating_add(1));
        least.saturating_add(Duration::from_nanos(extra.unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: CN-17
    #[test]
    fn times_stay_in_their_range_and_fill_it() {
        let mut jitter = Jitter::new(7);
        let base = Duration::from_millis(10);
        let times: Vec<_> = (0..1000).map(|_| jitter.around(base, 50)).collect();
        let (least, most) = (times.iter().min().unwrap(), times.iter().max().unwrap());
        assert!(*least >= base / 2 && *least < base * 6 / 10, "{least:?}");
        assert!(*most <= base * 3 / 2 && *most > base * 14 / 10, "{most:?}");
    }

    #[test]
    fn the_same_seed_gives_the_same_times() {
        let draw = |seed| {
            let mut jitter = Jitter::new(seed);
            [0; 8].map(|_| jitter.around(Duration::from_secs(1), 20))
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn the_ends_of_time_are_no_trouble() {
        let mut jitter = Jitter::new(0);
        assert_eq!(jitter.around(Duration::ZERO, 50), Duration::ZERO);
        assert_eq!(
            jitter.around(Duration::from_secs(3), 0),
            Duration::from_secs(3)
        );
        assert!(jitter.around(Duration::MAX, 100) <= Duration::MAX);
    }
}
