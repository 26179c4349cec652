//! What has arrived is read before a deadline is enforced.
//!
//! A process that was stopped, or whose runtime was busy, goes on when its deadlines have
//! passed, with the responses to its calls in its pipe. Two things keep a driver from seeing them:
//! it reads one chunk at a time, and the runtime reports a stream as readable only after it has
//! asked the kernel again.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bowline_proto::Instant;
use tokio::time::{Sleep, sleep};

/// How long a late driver waits for the runtime. What matters is that a timer goes off that was
/// set after the stall: the runtime asks the kernel what is readable before it lets one go off.
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
    /// Until the runtime has asked the kernel.
    report: Option<Pin<Box<Sleep>>>,
    chunks: u32,
}

impl ReadGrace {
    /// Returns `true` if what is due is to be enforced now: there is nothing more to read, or
    /// enough was read. `has_read` is `true` if the driver has read a chunk before it asks.
    /// Otherwise it has to read and ask again, and is woken for that.
    pub(crate) fn is_over(
        &mut self,
        due: Option<Instant>,
        now: Instant,
        has_read: bool,
        cx: &mut Context<'_>,
    ) -> bool {
        let Some(due) = due.filter(|due| *due <= now) else {
            self.0 = None;
            return false;
        };
        let grace = self.0.get_or_insert_with(|| Grace {
            // A driver that is in time has missed nothing.
            report: (due < now).then(|| Box::pin(sleep(REPORT))),
            chunks: CHUNKS,
        });
        if grace.chunks > 0 && (has_read || grace.is_waiting(cx)) {
            grace.chunks -= u32::from(has_read);
            return false;
        }
        self.0 = None;
        true
    }

    /// Returns when the alarm has to go off for something that is due at this moment. `None`
    /// while a grace lasts, which wakes the driver itself.
    pub(crate) fn next(&self, due: Option<Instant>) -> Option<Instant> {
        due.filter(|_| self.0.is_none())
    }
}

impl Grace {
    /// Returns `true` until the driver was woken after the report, and has read again.
    fn is_waiting(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(report) = &mut self.report else {
            return false;
        };
        if let Poll::Ready(()) = report.as_mut().poll(cx) {
            self.report = None;
            // What was reported is not read yet.
            cx.waker().wake_by_ref();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::time::Instant as Moment;

    use super::*;

    const DUE: Instant = Instant::from_nanos(5_000_000_000);
    const LATE: Instant = Instant::from_nanos(65_000_000_000);

    /// Asks as often as it takes, of a driver that reads nothing. Returns how often.
    async fn asked(grace: &mut ReadGrace, now: Instant) -> usize {
        let mut asked = 0;
        poll_fn(|cx| {
            asked += 1;
            if grace.is_over(Some(DUE), now, false, cx) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
        asked
    }

    /// Asks once, of a driver that has read a chunk.
    async fn is_over_after_reading(grace: &mut ReadGrace, due: Option<Instant>) -> bool {
        poll_fn(|cx| Poll::Ready(grace.is_over(due, LATE, true, cx))).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_driver_that_is_in_time_enforces_at_once_when_nothing_is_to_be_read() {
        let (mut grace, began) = (ReadGrace::default(), Moment::now());
        assert_eq!(grace.next(Some(DUE)), Some(DUE));
        assert_eq!(asked(&mut grace, DUE).await, 1);
        assert_eq!(began.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_driver_that_is_late_reads_again_after_the_runtime_has_looked() {
        let (mut grace, began) = (ReadGrace::default(), Moment::now());
        assert_eq!(
            asked(&mut grace, LATE).await,
            3,
            "before and after the timer, and having read again"
        );
        assert_eq!(began.elapsed(), REPORT);
        assert_eq!(grace.next(Some(DUE)), Some(DUE));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_was_read_ends_the_grace() {
        let mut grace = ReadGrace::default();
        assert!(!is_over_after_reading(&mut grace, Some(DUE)).await);
        assert_eq!(grace.next(Some(DUE)), None);
        assert!(!is_over_after_reading(&mut grace, None).await);
        assert_eq!(grace.next(Some(DUE)), Some(DUE));
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_never_stops_sending_holds_off_nothing() {
        let (mut grace, mut chunks) = (ReadGrace::default(), 0);
        while !is_over_after_reading(&mut grace, Some(DUE)).await {
            chunks += 1;
            assert!(chunks <= CHUNKS);
        }
        assert_eq!(chunks, CHUNKS);
    }
}
