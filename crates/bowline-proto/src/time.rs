//! Time as data.

use std::fmt;
use std::ops::Add;
use std::time::Duration;

/// A moment on the driver's monotonic clock: nanoseconds since a start of its choice.
///
/// The core never reads a clock. Every method that depends on the time takes `now`, so a test sets
/// the time, and a trace replays with the same moments.
///
/// ```
/// use std::time::Duration;
/// use bowline_proto::Instant;
///
/// let later = Instant::START + Duration::from_millis(1500);
/// assert_eq!(later.to_string(), "1.500000000s");
/// assert_eq!(later.since(Instant::START), Duration::from_millis(1500));
/// // The end of time is not passed.
/// assert_eq!(later + Duration::MAX, Instant::NEVER);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The start of the clock.
    pub const START: Self = Self(0);

    /// A moment that never comes: some five centuries after the start.
    pub const NEVER: Self = Self(u64::MAX);

    /// Creates the moment at this number of nanoseconds after the start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns the number of nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns how long after `earlier` it is; zero when it isn't.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = (self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        write!(f, "{seconds}.{nanos:09}s")
    }
}
