//! The server, and what it costs.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;

use crate::Failure;

/// How long it may take to answer, and to end.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct Server {
    child: Child,
    clock: ClockId,
    address: Option<String>,
}

impl Server {
    /// Starts a server that speaks on stdio.
    pub(crate) fn on_pipes(command: &[String]) -> Result<Self, Failure> {
        Self::start(command, Stdio::piped())
    }

    /// Starts a server that says in a line where it listens.
    pub(crate) fn listening(command: &[String]) -> Result<Self, Failure> {
        let mut server = Self::start(command, Stdio::null())?;
        let mut line = String::new();
        BufReader::new(server.stdout()?).read_line(&mut line)?;
        server.address = Some(line.trim().to_owned());
        Ok(server)
    }

    fn start(command: &[String], stdin: Stdio) -> Result<Self, Failure> {
        let (program, args) = command.split_first().ok_or("no server")?;
        let child = Command::new(program)
            .args(args)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{program}: {error}"))?;
        let pid = Pid::from_raw(child.id().try_into()?);
        Ok(Self {
            child,
            clock: clock_getcpuclockid(pid)?,
            address: None,
        })
    }

    pub(crate) fn address(&self) -> Result<&str, Failure> {
        self.address.as_deref().ok_or_else(|| "no address".into())
    }

    pub(crate) fn stdin(&mut self) -> Result<&mut ChildStdin, Failure> {
        self.child.stdin.as_mut().ok_or_else(|| "no stdin".into())
    }

    pub(crate) fn stdout(&mut self) -> Result<&mut ChildStdout, Failure> {
        self.child.stdout.as_mut().ok_or_else(|| "no stdout".into())
    }

    /// CPU time of all its threads so far, user and system.
    pub(crate) fn cpu(&self) -> Result<Duration, Failure> {
        Ok(self.clock.now()?.into())
    }

    /// The most memory that it has had.
    pub(crate) fn peak_kib(&self) -> Result<u64, Failure> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|peak| peak.trim().strip_suffix(" kB"));
        Ok(peak.ok_or("no VmHWM")?.parse()?)
    }

    /// Closes its input, with which a server on stdio ends.
    pub(crate) fn end_input(mut self) -> Result<(), Failure> {
        drop(self.child.stdin.take());
        self.wait()
    }

    /// Asks it to end, as a server over HTTP has to be.
    pub(crate) fn terminate(self) -> Result<(), Failure> {
        kill(Pid::from_raw(self.child.id().try_into()?), Signal::SIGTERM)?;
        self.wait()
    }

    /// Waits for its end: a profiler writes then what it has counted.
    fn wait(mut self) -> Result<(), Failure> {
        let step = Duration::from_millis(5);
        for _ in 0..PATIENCE.as_millis() / step.as_millis() {
            if self.child.try_wait()?.is_some() {
                return Ok(());
            }
            sleep(step);
        }
        Err("the server doesn't end".into())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended, or has to.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
