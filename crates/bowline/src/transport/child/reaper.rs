//! The end of children: asked, told, killed, and always waited for.
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

use super::process_count::Counted;
use super::process_group::Family;

/// How often a child is looked at that the kernel gives us no handle of.
const LOOK: Duration = Duration::from_millis(20);

/// The thread, once it runs.
static REAPER: Mutex<Option<Reaper>> = Mutex::new(None);

/// The way to the thread.
#[derive(Clone, Debug)]
pub(super) struct Reaper(Arc<Mailbox>);

#[derive(Debug)]
struct Mailbox {
    commands: Mutex<Vec<Command>>,
    bell: UnixStream,
}

#[derive(Debug)]
enum Command {
    Watch(u64, Box<Watched>),
    End(u64),
}

impl Reaper {
    /// The reaper, started if it isn't running.
    ///
    /// # Errors
    ///
    /// When there is no thread or no descriptor left for it.
    pub(super) fn running() -> io::Result<Self> {
        let mut reaper = REAPER.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reaper) = &*reaper {
            return Ok(reaper.clone());
        }
        let (bell, ear) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        ear.set_nonblocking(true)?;
        let commands = Mutex::default();
        let started = Self(Arc::new(Mailbox { commands, bell }));
        let mailbox = Arc::clone(&started.0);
        thread::Builder::new()
            .name("bowline-reaper".into())
            .spawn(move || run(&mailbox, &ear))?;
        *reaper = Some(started.clone());
        Ok(started)
    }

    /// Takes care of a child until it has ended.
    pub(super) fn watch(self, family: Family, grace: Duration, counted: Counted) -> Reaped {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let key = NEXT.fetch_add(1, Ordering::Relaxed);
        let (sender, exit) = watch::channel(Exit::Running);
        let watched = Watched {
            family,
            grace,
            exit: sender,
            stage: Stage::Wanted,
            may_have_ended: true,
            _counted: counted,
        };
        self.tell(Command::Watch(key, Box::new(watched)));
        Reaped {
            exit,
            key,
            reaper: self,
        }
    }

    fn tell(&self, command: Command) {
        let commands = self.0.commands.lock();
        commands
            .unwrap_or_else(PoisonError::into_inner)
            .push(command);
        // When it is full, the thread has enough to wake up for.
        let _ = (&self.0.bell).write(&[0]);
    }
}

/// Whether a child runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    Running,
    /// It was waited for. `None` when somebody else got its status.
    Ended(Option<ExitStatus>),
}

/// A child that somebody takes care of. Dropping this begins its end.
#[derive(Debug)]
pub(super) struct Reaped {
    exit: watch::Receiver<Exit>,
    key: u64,
    reaper: Reaper,
}

impl Reaped {
    /// Whether it runs, and every change.
    pub(super) fn exit(&self) -> watch::Receiver<Exit> {
        self.exit.clone()
    }
}

impl Drop for Reaped {
    fn drop(&mut self) {
        self.reaper.tell(Command::End(self.key));
    }
}

/// A child, in the thread.
#[derive(Debug)]
struct Watched {
    family: Family,
    grace: Duration,
    exit: watch::Sender<Exit>,
    stage: Stage,
    may_have_ended: bool,
    /// Until it was waited for.
    _counted: Counted,
}

/// How far the end of a child is. Its stdin is closed by whoever drops the handle.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Wanted,
    Asked { until: Instant },
    Told { until: Instant },
    Killed,
}

impl Watched {
    fn on_unwanted(&mut self, now: Instant) {
        if let Stage::Wanted = self.stage {
            let until = now + self.grace;
            self.stage = Stage::Asked { until };
        }
    }

    /// When patience ends.
    fn deadline(&self) -> Option<Instant> {
        match self.stage {
            Stage::Asked { until } | Stage::Told { until } => Some(until),
            Stage::Wanted | Stage::Killed => None,
        }
    }

    /// Does what is due. Whether the child is to be watched any longer.
    fn proceed(&mut self, now: Instant) -> bool {
        if self.may_have_ended && self.family.has_ended() {
            let status = self.family.reap();
            self.exit.send_replace(Exit::Ended(status));
            return false;
        }
        self.may_have_ended = self.family.handle.is_none();
        if self.deadline().is_some_and(|until| until <= now) {
            self.stage = match self.stage {
                Stage::Asked { .. } => {
                    self.family.signal(Signal::TERM);
                    let until = now + self.grace;
                    Stage::Told { until }
                }
                Stage::Wanted | Stage::Told { .. } | Stage::Killed => {
                    self.family.signal(Signal::KILL);
                    Stage::Killed
                }
            };
        }
        true
    }
}

type Children = BTreeMap<u64, Box<Watched>>;

fn run(mailbox: &Mailbox, ear: &UnixStream) {
    let mut children = Children::new();
    loop {
        let commands = mailbox.commands.lock();
        let commands = std::mem::take(&mut *commands.unwrap_or_else(PoisonError::into_inner));
        let now = Instant::now();
        for command in commands {
            match command {
                Command::Watch(key, watched) => {
                    children.insert(key, watched);
                }
                Command::End(key) => {
                    if let Some(watched) = children.get_mut(&key) {
                        watched.on_unwanted(now);
                    }
                }
            }
        }
        children.retain(|_, watched| watched.proceed(now));
        if let Err(rustix::io::Errno::INTR) = wait(&mut children, ear) {
            continue;
        }
        let mut rung = [0; 64];
        while let Ok(1..) = (&*ear).read(&mut rung) {}
    }
}

/// Waits until there is something to do, and marks the children that have ended.
fn wait(children: &mut Children, ear: &UnixStream) -> rustix::io::Result<()> {
    let next = children.values().filter_map(|watched| watched.deadline());
    let mut timeout = next
        .min()
        .map(|until| until.saturating_duration_since(Instant::now()));
    if children.values().any(|watched| watched.may_have_ended) {
        timeout = Some(timeout.map_or(LOOK, |timeout| timeout.min(LOOK)));
    }
    let mut ready = vec![PollFd::new(ear, PollFlags::IN)];
    let handles = children.values().filter_map(|it| it.family.handle.as_ref());
    ready.extend(handles.map(|handle| PollFd::new(handle, PollFlags::IN)));
    let polled = poll(&mut ready, timeout.map(timespec).as_ref());
    let ended: Vec<bool> = ready
        .iter()
        .skip(1)
        .map(|handle| !handle.revents().is_empty())
        .collect();
    drop(ready);
    let watched = children.values_mut();
    let with_handle = watched.filter(|watched| watched.family.handle.is_some());
    for (watched, has_ended) in with_handle.zip(ended) {
        // When polling fails (no memory), each is looked at.
        watched.may_have_ended = has_ended || polled.is_err();
    }
    if let Err(error) = polled {
        if error != rustix::io::Errno::INTR {
            thread::sleep(LOOK);
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
