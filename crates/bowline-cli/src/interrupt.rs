//! Ctrl-C. The first one ends what is waited for in good order: a call is cancelled, its server
//! is told so and let go. The second one ends the process at once; its children end because
//! their pipes close, and their watchdogs see to it.
//!
//! Signals are waited for on a thread of their own, since the command may be busy: with a reader
//! of its output that doesn't read, for one.

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

/// Whether somebody pressed Ctrl-C.
#[derive(Debug)]
pub(crate) struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// Takes care of Ctrl-C from now on, to the end of the process.
    ///
    /// # Errors
    ///
    /// The system has no thread or no handler left for it.
    pub(crate) fn install() -> anyhow::Result<Self> {
        let words = "cannot listen for signals";
        let runtime = Builder::new_current_thread().enable_io().build();
        let runtime = runtime.context(words)?;
        let signals = {
            let _inside = runtime.enter();
            // With a handler, a file that grows beyond its limit is an error of what writes it,
            // which then removes it. Without one it is the end of the process.
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

    /// Waits for the first one. Cancel safe.
    pub(crate) async fn wait(&mut self) {
        // The other end lives as long as the process.
        let _ = self.0.wait_for(|is_pressed| *is_pressed).await;
    }

    /// What comes of `work`, unless Ctrl-C is pressed before. `pending` counts the calls that
    /// are cancelled then.
    ///
    /// # Errors
    ///
    /// What `work` says, or that it was interrupted.
    pub(crate) async fn or<T>(
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

/// Tells of the first, and ends the process with the second.
async fn wait_for_signals(mut signals: Signal, pressed: &watch::Sender<bool>) {
    signals.recv().await;
    pressed.send_replace(true);
    signals.recv().await;
    remove_unfinished();
    process::exit(INTERRUPTED);
}

/// What it means for the command.
fn interrupted(pending: usize) -> anyhow::Error {
    let interrupted = Interrupted {
        has_cancelled: pending > 0,
    };
    Failure::new(ExitStatus::Failed, interrupted.into()).into()
}

/// Whether a command ended with `error` because somebody pressed Ctrl-C.
pub(crate) fn is_interrupt(error: &anyhow::Error) -> bool {
    Failure::inner_of::<Interrupted>(error).is_some()
}

/// Somebody pressed Ctrl-C.
#[derive(Debug)]
struct Interrupted {
    /// In the middle of a call.
    has_cancelled: bool,
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.has_cancelled {
            true => "interrupted: the call was cancelled",
            false => "interrupted",
        })
    }
}

impl Error for Interrupted {}

/// What shells say of a program that Ctrl-C has ended: 128 and the number of the signal.
const INTERRUPTED: i32 = 130;
