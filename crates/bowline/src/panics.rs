//! Panics of foreign code: caught where they happen, logged, and never passed on.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A panic, with its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Panicked(pub(crate) String);

/// Runs something that may panic. Whatever it was in the middle of is not used again, or is
/// in order between any two of its steps.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let message = panic_message(&*payload).to_owned();
        // Dropping the payload may panic too.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
        Panicked(message)
    })
}

fn panic_message(payload: &(dyn Any + Send)) -> &str {
    if let Some(message) = payload.downcast_ref::<&'static str>() {
        return message;
    }
    payload.downcast_ref::<String>().map_or("", String::as_str)
}

/// A future whose panics are its result.
#[derive(Debug)]
pub(crate) struct CatchPanic<F>(Option<F>);

impl<F: Future + Unpin> CatchPanic<F> {
    pub(crate) fn new(future: F) -> Self {
        Self(Some(future))
    }
}

impl<F: Future + Unpin> Future for CatchPanic<F> {
    type Output = Result<F::Output, Panicked>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = &mut self.0 else {
            return Poll::Pending;
        };
        let polled = match caught(|| Pin::new(&mut *future).poll(cx)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(panicked) => Err(panicked),
        };
        // Its drop may panic as well.
        let future = self.0.take();
        let dropped = caught(|| drop(future));
        Poll::Ready(dropped.and(polled))
    }
}

impl<F> Drop for CatchPanic<F> {
    fn drop(&mut self) {
        let future = self.0.take();
        let _ = caught(|| drop(future));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_panic_are_kept_and_others_are_empty() {
        assert_eq!(caught(|| 1), Ok(1));
        let text: Result<(), _> = caught(|| panic!("one {}", 1));
        assert_eq!(text, Err(Panicked("one 1".into())));
        let text: Result<(), _> = caught(|| panic!("two"));
        assert_eq!(text, Err(Panicked("two".into())));
        let odd: Result<(), _> = caught(|| std::panic::panic_any(7));
        assert_eq!(odd, Err(Panicked(String::new())));
    }

    #[tokio::test]
    async fn a_panic_in_drop_is_caught_too() {
        struct Bad;
        impl Drop for Bad {
            fn drop(&mut self) {
                panic!("in drop");
            }
        }
        let future = async {
            let _bad = Bad;
            std::future::pending::<()>().await;
        };
        let mut future = CatchPanic::new(Box::pin(future));
        let pending =
            std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut future).poll(cx).is_pending()));
        assert!(pending.await);
        drop(future);
    }
}
