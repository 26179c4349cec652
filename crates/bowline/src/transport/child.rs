//! A server as a child process, on its stdin and stdout.
//!
//! [`ChildProcess`] is the command, which is started for each connection.
//!
//! - `process_group`: spawns the child, its process group and the watchdog over them.
//! - `reaper`: the thread that terminates children and waits for them.
//! - `stderr`: drains stderr to the log, a file or a function, and keeps its end.
//! - `exit_witness`: why a stream ended, with the exit status and the last stderr output.
//! - `process_count`: counts the processes of a command, to wait until none is left.
//! - `spawn_error`: why a command could not be started.

mod exit_witness;
mod process_count;
mod process_group;
mod reaper;
mod spawn_error;
mod stderr;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::process::Pid;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::oneshot;
use tracing::{Span, info};

use super::{OpenError, Stream, StreamPeer, Transport, TransportEnd};
use crate::log_names::shortened;
use crate::panics::caught;
use exit_witness::ExitWitness;
use process_count::{CountGuard, ProcessCount};
use process_group::{ProcessGroup, SHELL};
use reaper::{ReapedOnDrop, Reaper};
use spawn_error::spawn_error;
use stderr::{DrainGuard, Tail};

pub use process_count::ChildProcesses;
pub use stderr::StderrTo;

/// Variables that a child inherits: what a program needs to start, and no secrets.
const INHERITED: &[&str] = &[
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_RUNTIME_DIR",
];

/// No moment is further away than this, so that times can be added.
const MAX_GRACE: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a child may take until its first message.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);

/// A command that is a server. It is started for each connection and ended with it.
///
/// ```
/// use bowline::transport::ChildProcess;
///
/// let server = ChildProcess::new("npx")
///     .args(["-y", "@modelcontextprotocol/server-everything"])
///     .env("NODE_ENV", "production");
/// ```
///
/// # How it ends
///
/// When the connection is closed, lost or dropped, the child's stdin is closed. Unless it
/// ends, its process group gets SIGTERM after a second ([`grace`](Self::grace)) and SIGKILL
/// after another one. What it left behind in its group when it ended is killed at once.
/// A thread does this in the background: stopping a client doesn't wait for it
/// ([`processes`](Self::processes) can), and no runtime is needed.
///
/// When our own process ends first, even by SIGKILL, the same happens: the group's leader is a
/// small shell that waits for our end ([`watchdog`](Self::watchdog)).
///
/// # Limits
///
/// - A grandchild that leaves the group (`setsid`, a daemon) is not ended with it.
/// - A process that was forked from ours without `exec`, and lives on, keeps the watchdog from
///   noticing our end.
/// - It is for Unix, and tested on Linux. Elsewhere a child's end is noticed up to 20 ms later.
#[derive(Clone, Debug)]
pub struct ChildProcess {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    inherits_all: bool,
    folder: Option<PathBuf>,
    stderr: StderrTo,
    grace: Duration,
    has_watchdog: bool,
    on_start: Option<OnStart>,
    process_count: ProcessCount,
}

impl ChildProcess {
    /// Creates a command without arguments. It is searched for in `PATH` as a shell does.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            inherits_all: false,
            folder: None,
            stderr: StderrTo::default(),
            grace: Duration::from_secs(1),
            has_watchdog: true,
            on_start: None,
            process_count: ProcessCount::new(),
        }
    }

    /// Adds arguments to the command.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned());
        self.args.extend(args);
        self
    }

    /// Sets a variable. Of ours the child gets only those that a program needs to start,
    /// since the others may hold secrets.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env
            .push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Gives the child all of our variables.
    #[must_use]
    pub fn inherit_env(mut self) -> Self {
        self.inherits_all = true;
        self
    }

    /// Sets its working directory. Default: that of this process.
    #[must_use]
    pub fn current_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Sets where its stderr goes. Default: to the log.
    #[must_use]
    pub fn stderr(mut self, to: StderrTo) -> Self {
        self.stderr = to;
        self
    }

    /// Sets how long it may take to end after its stdin is closed, and again after SIGTERM.
    /// Default: a second each, which most servers never need. More than a day is a day.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace.min(MAX_GRACE);
        self
    }

    /// Sets whether a `/bin/sh` waits beside it for the end of our process, to end it then.
    /// Default: yes, where there is one. It costs a millisecond and a quarter of a megabyte.
    #[must_use]
    pub fn watchdog(mut self, has_watchdog: bool) -> Self {
        self.has_watchdog = has_watchdog;
        self
    }

    /// Runs a function with the process id of each child that is started, before anything is
    /// sent to it: for a log, or to inspect the process. The child may end, and its number
    /// become another's, at any time. It runs on the runtime: it should not block. A panic in
    /// it is contained.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use std::sync::Arc;
    /// use bowline::transport::ChildProcess;
    ///
    /// let latest = Arc::new(AtomicU32::new(0));
    /// let seen = Arc::clone(&latest);
    /// let server = ChildProcess::new("server").on_start(move |id| seen.store(id, Ordering::Relaxed));
    /// ```
    #[must_use]
    pub fn on_start(mut self, hook: impl Fn(u32) + Send + Sync + 'static) -> Self {
        self.on_start = Some(OnStart(Arc::new(hook)));
        self
    }

    /// Returns the processes that this and its clones start, to wait for their end: stopping a
    /// client doesn't wait for its server, and a program that exits then leaves that to the
    /// [watchdog](Self::watchdog).
    ///
    /// ```
    /// use bowline::transport::ChildProcess;
    /// # use bowline::{Client, ClientConfig, types::common::Implementation};
    ///
    /// # async fn example() -> Result<(), bowline::Error> {
    /// let server = ChildProcess::new("server");
    /// let mut processes = server.processes();
    /// # let config = ClientConfig::new(Implementation::new("example", "1.0"));
    /// let client = Client::connect(server, config).await?;
    /// client.stop().await;
    /// processes.wait_all().await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn processes(&self) -> ChildProcesses {
        self.process_count.processes()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        if !self.inherits_all {
            let ours = INHERITED.iter();
            let ours = ours.filter_map(|name| Some((*name, std::env::var_os(name)?)));
            command.env_clear().envs(ours);
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(match self.stderr {
            StderrTo::Inherit => Stdio::inherit(),
            _ => Stdio::piped(),
        });
        command
    }

    /// Starts it. This blocks.
    fn spawn(&self, guard: CountGuard) -> Result<Spawned, OpenError> {
        let file = match &self.stderr {
            StderrTo::File(path) => Some(stderr::open(path)?),
            _ => None,
        };
        // First, so that every child has a reaper.
        let reaper = Reaper::running().map_err(cannot_start_now)?;
        let shell = self.has_watchdog.then_some(SHELL);
        let mut group = ProcessGroup::spawn(&mut self.command(), shell, self.grace)
            .map_err(|error| spawn_error(&self.program, self.folder.as_deref(), &error))?;
        let (stdin, stdout, stderr) = group.take_streams();
        Ok(Spawned {
            pid: group.pid(),
            stdin,
            stdout,
            stderr,
            file,
            reaped: reaper.watch(group, self.grace, guard),
        })
    }
}

impl Transport for ChildProcess {
    async fn open(&mut self) -> Result<Stream, OpenError> {
        // A thread of its own: spawning blocks, and a runtime whose blocking threads are all
        // busy must be able to do it.
        let (sender, spawned) = oneshot::channel();
        let this = self.clone();
        let guard = self.process_count.count();
        let span = Span::current();
        let spawning = thread::Builder::new().name("bowline-spawn".into());
        spawning
            .spawn(move || {
                // When the receiver is gone, the child is dropped here, which ends it.
                let _ = sender.send(span.in_scope(|| this.spawn(guard)));
            })
            .map_err(cannot_start_now)?;
        let spawned = spawned.await;
        let spawned =
            spawned.map_err(|_| OpenError::transient("starting the server process panicked"))?;
        let spawned = spawned?;
        info!(
            command = &*shortened(&self.label()),
            pid = spawned.pid.as_raw_pid(),
            "server process started"
        );
        if let Some(OnStart(hook)) = &self.on_start {
            // A panic of the hook was logged by the panic handler; the child is not affected.
            let _ = caught(|| hook(spawned.pid.as_raw_pid().unsigned_abs()));
        }
        spawned.into_stream(&self.stderr, &self.process_count)
    }

    /// Returns one minute: package runners install first, and starting again would begin anew.
    fn startup_timeout(&self) -> Option<Duration> {
        Some(STARTUP_TIMEOUT)
    }

    /// Returns the command without its arguments, which may have secrets in them.
    fn label(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }
}

/// The callback of each start.
#[derive(Clone)]
struct OnStart(Arc<dyn Fn(u32) + Send + Sync>);

impl fmt::Debug for OnStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnStart(..)")
    }
}

fn cannot_start_now(error: io::Error) -> OpenError {
    OpenError::transient(format!("cannot start the server process: {error}"))
}

/// A child that was started. Dropping it ends the child.
struct Spawned {
    pid: Pid,
    stdin: Option<std::process::ChildStdin>,
    stdout: Option<std::process::ChildStdout>,
    stderr: Option<std::process::ChildStderr>,
    file: Option<File>,
    reaped: ReapedOnDrop,
}

impl Spawned {
    fn into_stream(self, to: &StderrTo, process_count: &ProcessCount) -> Result<Stream, OpenError> {
        let missing = || OpenError::transient("the server process has no stdin or stdout pipe");
        let stdin =
            ChildStdin::from_std(self.stdin.ok_or_else(missing)?).map_err(cannot_start_now)?;
        let stdout =
            ChildStdout::from_std(self.stdout.ok_or_else(missing)?).map_err(cannot_start_now)?;
        let exit = self.reaped.exit();
        let (tail, drain_guard) = match self.stderr {
            Some(stderr) => {
                let followed = Tail::drain_from(stderr, to, self.file, exit.clone());
                let (tail, drain_guard) = followed.map_err(cannot_start_now)?;
                (tail, Some(drain_guard))
            }
            None => (Tail::silent(), None),
        };
        let pid = self.pid;
        let witness = ExitWitness { pid, exit, tail };
        process_count.set_latest(witness.clone());
        let process = Process {
            witness,
            _reaped: self.reaped,
            _drain_guard: drain_guard,
        };
        Ok(Stream::new(stdout, stdin).peer(process))
    }
}

/// A child that runs. Dropping it ends the child.
struct Process {
    witness: ExitWitness,
    _reaped: ReapedOnDrop,
    _drain_guard: Option<DrainGuard>,
}

impl StreamPeer for Process {
    fn transport_end(&mut self) -> Pin<Box<dyn Future<Output = Option<TransportEnd>> + Send + '_>> {
        Box::pin(async {
            Some(
                self.witness
                    .transport_end("the server closed its output")
                    .await,
            )
        })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
