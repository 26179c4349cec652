//! Terminates children: closes stdin, sends SIGTERM, then SIGKILL, and always waits for them.
//!
//! One thread does it for all children of the process. It starts with the first of them,
//! outlives every handle, and needs no runtime: a handle may be dropped anywhere, even while
//! its runtime is torn down or its thread panics, and doesn't wait for anything.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use tokio::sync::watch;

use super::process_count::CountGuard;
use super::process_group::ProcessGroup;

/// How often a child is polled for which the kernel gives no handle.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The thread, once it runs.
static REAPER: Mutex<Option<Reaper>> = Mutex::new(None);

/// The handle of the thread.
#[derive(Clone, Debug)]
pub(super) struct Reaper(Arc<CommandQueue>);

#[derive(Debug)]
struct CommandQueue {
    commands: Mutex<Vec<Command>>,
    wake_sender: UnixStream,
}

#[derive(Debug)]
enum Command {
    Watch(u64, Box<SupervisedChild>),
    End(u64),
}

impl Reaper {
    /// Returns the reaper, started if it isn't running.
    ///
    /// # Errors
    ///
    /// When there is no thread or no descriptor left for it.
    pub(super) fn running() -> io::Result<Self> {
        let mut reaper = REAPER.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reaper) = &*reaper {
            return Ok(reaper.clone());
        }
        let (wake_sender, wake_receiver) = UnixStream::pair()?;
        wake_sender.set_nonblocking(true)?;
        wake_receiver.set_nonblocking(true)?;
        let commands = Mutex::default();
        let started = Self(Arc::new(CommandQueue {
            commands,
            wake_sender,
        }));
        let queue = Arc::clone(&started.0);
        thread::Builder::new()
            .name("bowline-reaper".into())
            .spawn(move || run(&queue, &wake_receiver))?;
        *reaper = Some(started.clone());
        Ok(started)
    }

    /// Takes care of a child until it has ended.
    pub(super) fn watch(
        self,
        group: ProcessGroup,
        grace: Duration,
        count_guard: CountGuard,
    ) -> ReapedOnDrop {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let key = NEXT.fetch_add(1, Ordering::Relaxed);
        let (sender, exit) = watch::channel(Exit::Running);
        let child = SupervisedChild {
            group,
            grace,
            exit: sender,
            termination: Termination::NotRequested,
            may_have_ended: true,
            _count_guard: count_guard,
        };
        self.send(Command::Watch(key, Box::new(child)));
        ReapedOnDrop {
            exit,
            key,
            reaper: self,
        }
    }

    fn send(&self, command: Command) {
        let commands = self.0.commands.lock();
        commands
            .unwrap_or_else(PoisonError::into_inner)
            .push(command);
        // When it is full, the thread has enough to wake up for.
        let _ = (&self.0.wake_sender).write(&[0]);
    }
}

/// The state of a child: running or exited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    Running,
    /// It has exited. `None` if its status was taken by other code.
    Ended(Option<ExitStatus>),
}

/// A child under supervision. Dropping this begins its termination.
#[derive(Debug)]
pub(super) struct ReapedOnDrop {
    exit: watch::Receiver<Exit>,
    key: u64,
    reaper: Reaper,
}

impl ReapedOnDrop {
    /// Returns a receiver of its exit.
    pub(super) fn exit(&self) -> watch::Receiver<Exit> {
        self.exit.clone()
    }
}

impl Drop for ReapedOnDrop {
    fn drop(&mut self) {
        self.reaper.send(Command::End(self.key));
    }
}

/// A child, in the thread.
#[derive(Debug)]
struct SupervisedChild {
    group: ProcessGroup,
    grace: Duration,
    exit: watch::Sender<Exit>,
    termination: Termination,
    may_have_ended: bool,
    /// Until it was waited for.
    _count_guard: CountGuard,
}

/// The steps of a termination. Stdin is closed when the stream is dropped.
#[derive(Clone, Copy, Debug)]
enum Termination {
    NotRequested,
    StdinClosed { until: Instant },
    Terminated { until: Instant },
    Killed,
}

impl SupervisedChild {
    fn begin_termination(&mut self, now: Instant) {
        if let Termination::NotRequested = self.termination {
            let until = now + self.grace;
            self.termination = Termination::StdinClosed { until };
        }
    }

    /// Returns when the next step is due.
    fn deadline(&self) -> Option<Instant> {
        match self.termination {
            Termination::StdinClosed { until } | Termination::Terminated { until } => Some(until),
            Termination::NotRequested | Termination::Killed => None,
        }
    }

    /// Takes the step that is due. Returns `true` while the child has to be supervised.
    fn advance(&mut self, now: Instant) -> bool {
        if self.may_have_ended && self.group.has_ended() {
            let status = self.group.reap();
            self.exit.send_replace(Exit::Ended(status));
            return false;
        }
        self.may_have_ended = self.group.handle.is_none();
        if self.deadline().is_some_and(|until| until <= now) {
            self.termination = match self.termination {
                Termination::StdinClosed { .. } => {
                    self.group.signal(Signal::TERM);
                    let until = now + self.grace;
                    Termination::Terminated { until }
                }
                Termination::NotRequested
                | Termination::Terminated { .. }
                | Termination::Killed => {
                    self.group.signal(Signal::KILL);
                    Termination::Killed
                }
            };
        }
        true
    }
}

type SupervisedChildren = BTreeMap<u64, Box<SupervisedChild>>;

fn run(queue: &CommandQueue, wake_receiver: &UnixStream) {
    let mut children = SupervisedChildren::new();
    loop {
        let commands = queue.commands.lock();
        let commands = std::mem::take(&mut *commands.unwrap_or_else(PoisonError::into_inner));
        let now = Instant::now();
        for command in commands {
            match command {
                Command::Watch(key, child) => {
                    children.insert(key, child);
                }
                Command::End(key) => {
                    if let Some(child) = children.get_mut(&key) {
                        child.begin_termination(now);
                    }
                }
            }
        }
        children.retain(|_, child| child.advance(now));
        if let Err(rustix::io::Errno::INTR) = wait(&mut children, wake_receiver) {
            continue;
        }
        let mut wake_bytes = [0; 64];
        while let Ok(1..) = (&*wake_receiver).read(&mut wake_bytes) {}
    }
}

/// Waits until there is something to do, and marks the children that have ended.
fn wait(children: &mut SupervisedChildren, wake_receiver: &UnixStream) -> rustix::io::Result<()> {
    let next = children.values().filter_map(|child| child.deadline());
    let mut timeout = next
        .min()
        .map(|until| until.saturating_duration_since(Instant::now()));
    if children.values().any(|child| child.may_have_ended) {
        timeout = Some(timeout.map_or(POLL_INTERVAL, |timeout| timeout.min(POLL_INTERVAL)));
    }
    let mut ready = vec![PollFd::new(wake_receiver, PollFlags::IN)];
    let handles = children
        .values()
        .filter_map(|child| child.group.handle.as_ref());
    ready.extend(handles.map(|handle| PollFd::new(handle, PollFlags::IN)));
    let polled = poll(&mut ready, timeout.map(timespec).as_ref());
    let ended: Vec<bool> = ready
        .iter()
        .skip(1)
        .map(|handle| !handle.revents().is_empty())
        .collect();
    drop(ready);
    let child = children.values_mut();
    let with_handle = child.filter(|child| child.group.handle.is_some());
    for (child, has_ended) in with_handle.zip(ended) {
        // When polling fails (no memory), each is looked at.
        child.may_have_ended = has_ended || polled.is_err();
    }
    if let Err(error) = polled {
        if error != rustix::io::Errno::INTR {
            thread::sleep(POLL_INTERVAL);
        }
        return Err(error);
    }
    Ok(())
}

/// Rounded up, so that it doesn't wake up just too early.
fn timespec(duration: Duration) -> Timespec {
    let duration = duration + Duration::from_millis(1);
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}
