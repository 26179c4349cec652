//! Keepalive: detecting a peer that is gone.

use std::time::Duration;

use crate::time::Instant;

/// When a silent peer is pinged, and when the connection is closed.
///
/// Every byte from the peer shows that it is alive, so there are no pings on a busy connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    pub(crate) interval: Duration,
    pub(crate) max_missed: u32,
}

impl Keepalive {
    /// Pings after `interval` of silence, and closes the connection when `max_missed` pings in a
    /// row were each followed by another such silence. There is at least one ping, and not more
    /// than one in a millisecond.
    pub const fn new(interval: Duration, max_missed: u32) -> Self {
        let interval = match interval.as_millis() {
            0 => Duration::from_millis(1),
            _ => interval,
        };
        let max_missed = if max_missed == 0 { 1 } else { max_missed };
        Self {
            interval,
            max_missed,
        }
    }
}

/// What to do about the silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Wait.
    Wait,
    /// Send a ping, the `asked`-th one.
    Ask { asked: u32 },
    /// Close the connection, after this number of pings.
    Dead { missed: u32 },
}

/// The silence so far.
#[derive(Debug)]
pub(crate) struct Silence {
    settings: Keepalive,
    due: Instant,
    asked: u32,
}

impl Silence {
    pub(crate) fn begin(now: Instant, settings: Keepalive) -> Self {
        Self {
            settings,
            due: now + settings.interval,
            asked: 0,
        }
    }

    /// Resets the silence: the peer has sent bytes.
    pub(crate) fn reset(&mut self, now: Instant) {
        self.due = now + self.settings.interval;
        self.asked = 0;
    }

    pub(crate) const fn due(&self) -> Instant {
        self.due
    }

    pub(crate) fn check(&mut self, now: Instant) -> Verdict {
        if now < self.due {
            return Verdict::Wait;
        }
        if self.asked >= self.settings.max_missed {
            return Verdict::Dead { missed: self.asked };
        }
        self.asked += 1;
        self.due = now + self.settings.interval;
        Verdict::Ask { asked: self.asked }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u32) -> Instant {
        Instant::START + Duration::from_secs(1) * seconds
    }

    #[test]
    fn at_the_limit_and_one_past_it() {
        let mut silence = Silence::begin(at(0), Keepalive::new(Duration::from_secs(10), 2));
        assert_eq!(silence.check(at(9)), Verdict::Wait);
        assert_eq!(silence.check(at(10)), Verdict::Ask { asked: 1 });
        assert_eq!(silence.check(at(19)), Verdict::Wait);
        assert_eq!(silence.check(at(20)), Verdict::Ask { asked: 2 });
        assert_eq!(silence.check(at(30)), Verdict::Dead { missed: 2 });
    }

    #[test]
    fn any_sign_begins_anew() {
        let mut silence = Silence::begin(at(0), Keepalive::new(Duration::from_secs(10), 0));
        assert_eq!(silence.check(at(10)), Verdict::Ask { asked: 1 });
        silence.reset(at(19));
        assert_eq!(silence.due(), at(29));
        assert_eq!(silence.check(at(29)), Verdict::Ask { asked: 1 });
        assert_eq!(silence.check(at(39)), Verdict::Dead { missed: 1 });
    }
}
