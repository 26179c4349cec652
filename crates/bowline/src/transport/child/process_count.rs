//! Counts the processes of a command, to wait until none is left.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::exit_witness::ExitWitness;
use super::stderr::lines;

/// The processes that a [`ChildProcess`](super::ChildProcess) and its clones have started: see
/// [`ChildProcess::processes`](super::ChildProcess::processes).
#[derive(Clone)]
pub struct ChildProcesses {
    count: watch::Receiver<usize>,
    latest: Latest,
}

/// The process that was started last.
type Latest = Arc<Mutex<Option<ExitWitness>>>;

impl ChildProcesses {
    /// Returns the number of processes that are being started, run, or have not been waited for
    /// yet.
    pub fn count(&self) -> usize {
        *self.count.borrow()
    }

    /// Waits until all have ended. One whose client is stopped or dropped ends within twice its
    /// [grace](super::ChildProcess::grace); one that has a client goes on. Cancel safe.
    pub async fn wait_all(&mut self) {
        // An error: no command is left that could start another one.
        let _ = self.count.wait_for(|count| *count == 0).await;
    }

    /// Returns the end of what the process that was started last has written to stderr, line by
    /// line: 2 KiB at most, without what would confuse a terminal. `None` if it wrote nothing, or
    /// [not to this process](super::StderrTo::Inherit).
    pub fn stderr_tail(&self) -> Option<String> {
        let output = lines(&self.latest()?.tail.text());
        Some(output).filter(|output| !output.is_empty())
    }

    /// Returns `true` if the process that was started last is stopped (SIGTSTP, SIGTTIN), as
    /// one is that reads from a terminal that is not its own. `false` too where that is unknown.
    pub fn is_stopped(&self) -> bool {
        self.latest().is_some_and(|latest| latest.is_stopped())
    }

    fn latest(&self) -> Option<ExitWitness> {
        let latest = self.latest.lock();
        latest.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for ChildProcesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ChildProcesses")
            .field(&self.count())
            .finish()
    }
}

/// The counter of the processes of a command.
#[derive(Clone, Debug)]
pub(super) struct ProcessCount {
    count: Arc<watch::Sender<usize>>,
    latest: Latest,
}

impl ProcessCount {
    pub(super) fn new() -> Self {
        Self {
            count: Arc::new(watch::Sender::new(0)),
            latest: Latest::default(),
        }
    }

    pub(super) fn processes(&self) -> ChildProcesses {
        ChildProcesses {
            count: self.count.subscribe(),
            latest: Arc::clone(&self.latest),
        }
    }

    /// Counts one more process, until the guard is dropped.
    pub(super) fn count(&self) -> CountGuard {
        self.count.send_modify(|count| *count += 1);
        CountGuard(Arc::clone(&self.count))
    }

    /// Sets the witness of the process that was started last.
    pub(super) fn set_latest(&self, witness: ExitWitness) {
        let latest = self.latest.lock();
        *latest.unwrap_or_else(PoisonError::into_inner) = Some(witness);
    }
}

/// A guard that counts one process.
#[derive(Debug)]
pub(super) struct CountGuard(Arc<watch::Sender<usize>>);

impl Drop for CountGuard {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
