//! A server as a child process, on its stdin and stdout.

mod reaper;
mod stderr;

use std::ffi::{OsStr, OsString};
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::{ChildStdin, ChildStdout};

use super::{Ending, OpenError, Peer, Stream, Transport};
use reaper::Reaped;
use stderr::Tail;

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

/// How long an exit status is waited for when the output has ended.
const STATUS: Duration = Duration::from_millis(100);

/// A command that is a server. It is started for each life of a connection, in a process
/// group of its own, and ended with it: its stdin is closed, after a second the group gets
/// SIGTERM, after another one SIGKILL.
///
/// ```
/// use bowline::transport::ChildProcess;
///
/// let server = ChildProcess::new("npx")
///     .args(["-y", "@modelcontextprotocol/server-everything"])
///     .env("NODE_ENV", "production");
/// ```
#[derive(Clone, Debug)]
pub struct ChildProcess {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    inherits_all: bool,
    folder: Option<PathBuf>,
    stderr: StderrTo,
}

/// Where a child's stderr goes. Its end is kept for errors in any case but the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StderrTo {
    /// To the log, line by line.
    #[default]
    Log,
    /// Nowhere.
    Nowhere,
    /// To our own stderr.
    Inherit,
}

impl ChildProcess {
    /// A command, looked for as a shell does. It has no arguments.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            inherits_all: false,
            folder: None,
            stderr: StderrTo::default(),
        }
    }

    /// Adds arguments.
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

    /// The folder that it runs in. Default: ours.
    #[must_use]
    pub fn current_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Where its stderr goes. Default: to the log.
    #[must_use]
    pub fn stderr(mut self, to: StderrTo) -> Self {
        self.stderr = to;
        self
    }

    fn command(&self) -> Command {
        use std::os::unix::process::CommandExt as _;

        let mut command = Command::new(&self.program);
        command.args(&self.args).process_group(0);
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
            StderrTo::Log | StderrTo::Nowhere => Stdio::piped(),
        });
        command
    }

    fn spawn(&self) -> Result<Stream, OpenError> {
        let mut child = self
            .command()
            .spawn()
            .map_err(|error| self.refused(&error))?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let reaped = Reaped::new(child);
        let broken = |error: io::Error| OpenError::passing(error.to_string());
        let missing = || OpenError::passing("the child has no pipes");
        let stdin = ChildStdin::from_std(stdin.ok_or_else(missing)?).map_err(broken)?;
        let stdout = ChildStdout::from_std(stdout.ok_or_else(missing)?).map_err(broken)?;
        let tail = match stderr {
            Some(stderr) => Tail::follow(stderr, self.stderr).map_err(broken)?,
            None => Tail::default(),
        };
        Ok(Stream::new(stdout, stdin).peer(Process { reaped, tail }))
    }

    fn refused(&self, error: &io::Error) -> OpenError {
        let program = self.program.to_string_lossy();
        let words = format!("{program}: {error}");
        match error.kind() {
            // Trying again at once can't help.
            io::ErrorKind::NotFound
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::ArgumentListTooLong
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::InvalidInput => OpenError::permanent(words),
            _ => OpenError::passing(words),
        }
    }
}

impl Transport for ChildProcess {
    async fn open(&mut self) -> Result<Stream, OpenError> {
        self.spawn()
    }
}

/// A child that runs. Dropping it is its end.
struct Process {
    reaped: Reaped,
    tail: Tail,
}

impl Peer for Process {
    fn why(&mut self) -> Pin<Box<dyn Future<Output = Option<Ending>> + Send + '_>> {
        Box::pin(async move {
            let status = tokio::time::timeout(STATUS, self.reaped.status()).await;
            let mut ending = Ending::new("the server closed its output");
            ending.status = status.ok().flatten();
            if let Some(status) = ending.status {
                ending.reason = ended(status);
            }
            ending.stderr = self.tail.text();
            if !ending.stderr.is_empty() {
                ending.reason += "; its last words: ";
                ending.reason += &ending.stderr;
            }
            Some(ending)
        })
    }
}

fn ended(status: ExitStatus) -> String {
    format!("the server ended with {status}")
}
