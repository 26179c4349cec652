//! Ctrl-C. The first one ends the command in good order: a call is cancelled, the server is
//! notified and stopped. The second one exits at once; child processes end because their pipes
//! close, and their watchdogs see to it.
//!
//! Signals are awaited on a thread of their own, since the command may be blocked, for example
//! while it writes to a pipe that is not read.

use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::process;
use std::task::Poll;
use std::thread;

use anyhow::Context as _;
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::remove_unfinished;

/// Set when Ctrl-C was pressed.
#[derive(Debug)]
pub(crate) struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// Handles Ctrl-C from now on, to the end of the process.
    ///
    /// # Errors
    ///
    /// The thread or the signal handler can't be created.
    pub(crate) fn install() -> anyhow::Result<Self> {
        let words = "cannot listen for signals";
        let runtime = Builder::new_current_thread().enable_io().build();
        let runtime = runtime.context(words)?;
        let signals = {
            let _inside = runtime.enter();
            // With a handler for SIGXFSZ, a file that grows beyond its limit is a write error, and
            // the file is removed. Without one the process would be killed.
            let too_large = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
            drop(signal(too_large).context(words)?);
            signal(SignalKind::interrupt()).context(words)?
        };
        let (sender, receiver) = watch::channel(false);
        let listening = move || runtime.block_on(wait_for_signals(signals, &sender));
        let thread = thread::Builder::new().name("interrupt".into());
        thread.spawn(listening).context(words)?;
        Ok(Self(receiver))
    }

    /// Waits for the first Ctrl-C. Cancel safe.
    pub(crate) async fn wait(&mut self) {
        // The sender lives as long as the process.
        let _ = self.0.wait_for(|is_pressed| *is_pressed).await;
    }

    /// Runs `work` unless Ctrl-C is pressed before it ends. `pending` counts the calls that are
    /// cancelled then.
    ///
    /// # Errors
    ///
    /// The error of `work`, or that it was interrupted.
    pub(crate) async fn run<T>(
        &mut self,
        work: impl Future<Output = anyhow::Result<T>>,
        pending: impl Fn() -> usize,
    ) -> anyhow::Result<T> {
        let mut work = pin!(work);
        let mut pressed = pin!(self.wait());
        poll_fn(|cx| {
            if let Poll::Ready(outcome) = work.as_mut().poll(cx) {
                return Poll::Ready(outcome);
            }
            pressed
                .as_mut()
                .poll(cx)
                .map(|()| Err(interrupted(pending())))
        })
        .await
    }
}

/// Reports the first signal, and exits at the second.
async fn wait_for_signals(mut signals: Signal, pressed: &watch::Sender<bool>) {
    signals.recv().await;
    pressed.send_replace(true);
    signals.recv().await;
    remove_unfinished();
    process::exit(INTERRUPTED);
}

/// Returns the error of an interrupted command.
fn interrupted(pending: usize) -> anyhow::Error {
    let interrupted = Interrupted {
        has_cancelled: pending > 0,
    };
    Failure::new(ExitStatus::Failed, interrupted.into()).into()
}

/// Returns `true` if `error` is an interruption by Ctrl-C.
pub(crate) fn is_interrupt(error: &anyhow::Error) -> bool {
    Failure::inner_of::<Interrupted>(error).is_some()
}

/// The command was interrupted by Ctrl-C.
#[derive(Debug)]
struct Interrupted {
    /// `true` if a call was running.
    has_cancelled: bool,
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.has_cancelled {
            "interrupted: the call was cancelled"
        } else {
            "interrupted"
        })
    }
}

impl Error for Interrupted {}

/// The exit code that shells use after Ctrl-C: 128 plus the number of the signal.
const INTERRUPTED: i32 = 130;
