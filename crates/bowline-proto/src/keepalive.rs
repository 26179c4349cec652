//! Whether the peer is still there, when it says nothing by itself.

use std::time::Duration;

use crate::time::Instant;

/// When a silent peer is asked for a sign of life, and when it is given up.
///
/// Every byte from the peer is one, so a busy connection is never asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    pub(crate) interval: Duration,
    pub(crate) max_missed: u32,
}

impl Keepalive {
    /// Asks after `interval` of silence, and gives up when `max_missed` questions in a row
    /// were each followed by another such silence. At least one is asked, and not more often
    /// than once in a millisecond.
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

/// What is to be done about the silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing yet.
    Wait,
    /// Ask, for the so-and-so-many-th time.
    Ask { asked: u32 },
    /// Give up, after so many questions.
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

    /// The peer gave a sign of life.
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
