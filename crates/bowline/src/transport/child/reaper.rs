//! The end of a child: asked, told, killed, and always waited for.

use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use tokio::sync::watch;

/// How long each step may take before the next one.
const PATIENCE: Duration = Duration::from_secs(1);

/// A child that is waited for by a thread of its own, which outlives every handle: no
/// runtime is needed for it, and none is stopped by it.
#[derive(Debug)]
pub(super) struct Reaped {
    status: watch::Receiver<Option<ExitStatus>>,
    /// Dropping it lets the thread end the child.
    _wanted: watch::Sender<()>,
}

impl Reaped {
    pub(super) fn new(child: Child) -> Self {
        let (sender, status) = watch::channel(None);
        let (_wanted, unwanted) = watch::channel(());
        let reaper = Reaper {
            child,
            status: Arc::new(sender),
            unwanted,
        };
        let started = thread::Builder::new()
            .name("bowline-reaper".into())
            .spawn(move || reaper.run());
        if let Err(error) = started {
            tracing::warn!(%error, "no thread to wait for a child");
        }
        Self { status, _wanted }
    }

    /// How the child ended, once it has. Cancel safe.
    pub(super) async fn status(&mut self) -> Option<ExitStatus> {
        let ended = self.status.wait_for(Option::is_some).await.ok()?;
        *ended
    }
}

struct Reaper {
    child: Child,
    status: Arc<watch::Sender<Option<ExitStatus>>>,
    unwanted: watch::Receiver<()>,
}

impl Reaper {
    fn run(mut self) {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // While it is wanted, both are looked for; the child more often.
        while self.unwanted.has_changed().is_ok() {
            if self.wait(Duration::from_millis(50)) {
                return self.finish(group);
            }
        }
        for signal in [None, Some(Signal::TERM), Some(Signal::KILL)] {
            if let (Some(group), Some(signal)) = (group, signal) {
                // It may have ended meanwhile; its pid is its own until it is waited for.
                let _ = kill_process_group(group, signal);
            }
            if self.wait(PATIENCE) {
                return self.finish(group);
            }
        }
        self.finish(group);
    }

    /// Whether the child has ended within some time. It is not waited for, so that its pid
    /// stays its own.
    fn wait(&mut self, patience: Duration) -> bool {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let handle = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let Some(handle) = handle else {
            return self.poll_until(Instant::now() + patience);
        };
        let timeout = Timespec {
            tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(patience.subsec_nanos()),
        };
        let mut ended = [PollFd::new(&handle, PollFlags::IN)];
        poll(&mut ended, Some(&timeout)).is_ok_and(|ready| ready > 0)
    }

    /// Without a handle of the kernel's it is asked again and again.
    fn poll_until(&mut self, deadline: Instant) -> bool {
        loop {
            match self.child.try_wait() {
                Ok(Some(_)) | Err(_) => return true,
                Ok(None) if Instant::now() >= deadline => return false,
                Ok(None) => thread::park_timeout(Duration::from_millis(5)),
            }
        }
    }

    /// Kills what the child left behind in its group, and waits for it.
    fn finish(mut self, group: Option<Pid>) {
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let status = self.child.wait().ok();
        self.status.send_replace(status);
    }
}
