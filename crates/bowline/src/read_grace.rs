//! What has arrived is read before a deadline is enforced.
//!
//! A process that was stopped, or whose runtime was busy, goes on when its deadlines have
//! passed, with the answers to its calls in its pipe. Two things keep a driver from seeing them:
//! it reads one chunk at a time, and the runtime reports a stream as readable only after it has
//! asked the kernel again.

use std::time::Duration;

use bowline_proto::Instant;

/// How long the runtime may take to report that there is something to read: it asks the kernel
/// before it lets a timer go off.
const REPORT: Duration = Duration::from_millis(1);

/// How many chunks are read before a deadline that is due: more than a pipe or a socket holds.
/// A peer that never stops sending can't hold off deadlines any longer.
const CHUNKS: u32 = 64;

/// Decides when a driver enforces what is due.
#[derive(Debug, Default)]
pub(crate) struct ReadGrace(Option<Grace>);

/// Something is due, and not enforced yet.
#[derive(Debug)]
struct Grace {
    until: Instant,
    chunks: u32,
}

impl ReadGrace {
    /// Returns `true` if what is due is to be enforced now: there is nothing more to read, or
    /// enough was read. `has_read` says whether the driver has read a chunk before it asks.
    pub(crate) fn is_over(&mut self, due: Option<Instant>, now: Instant, has_read: bool) -> bool {
        let Some(due) = due.filter(|due| *due <= now) else {
            self.0 = None;
            return false;
        };
        let grace = self.0.get_or_insert_with(|| Grace {
            // A driver that is in time has missed nothing.
            until: if due < now { now + REPORT } else { now },
            chunks: CHUNKS,
        });
        if grace.chunks > 0 && (has_read || now < grace.until) {
            grace.chunks -= u32::from(has_read);
            return false;
        }
        self.0 = None;
        true
    }

    /// Returns when the driver has to look again for something that is due at this moment.
    pub(crate) fn next(&self, due: Option<Instant>) -> Option<Instant> {
        match &self.0 {
            Some(grace) => Some(grace.until),
            None => due,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUE: Instant = Instant::from_nanos(5_000_000_000);

    #[test]
    fn a_driver_that_is_in_time_enforces_at_once_when_nothing_is_to_be_read() {
        let mut grace = ReadGrace::default();
        let before = Instant::from_nanos(4_999_999_999);
        assert!(!grace.is_over(None, before, false));
        assert!(!grace.is_over(Some(DUE), before, false));
        assert_eq!(grace.next(Some(DUE)), Some(DUE));
        assert!(!grace.is_over(Some(DUE), DUE, true));
        assert!(grace.is_over(Some(DUE), DUE, false));
    }

    #[test]
    fn a_driver_that_is_late_looks_twice() {
        let mut grace = ReadGrace::default();
        let late = DUE + Duration::from_secs(60);
        assert!(!grace.is_over(Some(DUE), late, false));
        let again = late + REPORT;
        assert_eq!(grace.next(Some(DUE)), Some(again));
        // What arrived was something else, or not all of it.
        assert!(!grace.is_over(Some(DUE), again, true));
        assert!(grace.is_over(Some(DUE), again, false));
        assert_eq!(grace.next(None), None);
    }

    #[test]
    fn an_answer_that_was_read_ends_the_grace() {
        let mut grace = ReadGrace::default();
        let late = DUE + Duration::from_secs(60);
        assert!(!grace.is_over(Some(DUE), late, true));
        assert!(!grace.is_over(None, late, false));
        assert_eq!(grace.next(None), None);
        assert!(!grace.is_over(Some(DUE), late, false), "it has its own");
    }

    #[test]
    fn a_peer_that_never_stops_sending_holds_off_nothing() {
        let mut grace = ReadGrace::default();
        let reads = (0..1_000).take_while(|_| !grace.is_over(Some(DUE), DUE, true));
        assert_eq!(reads.count(), CHUNKS as usize);
    }
}
