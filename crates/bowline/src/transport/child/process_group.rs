//! A child, everything that it starts, and a watchdog over them.
//!
//! All of them are one process group, whose leader is the watchdog: a shell that reads from a
//! pipe of ours. When our process dies, however it does, the kernel closes the pipe, and the
//! shell ends its own group as the reaper would have. Until the watchdog is waited for, the
//! group's number can't be reused, so that signalling the group is always safe.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Once;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpgid, kill_process, kill_process_group, waitid,
};

/// The shell of the watchdog.
pub(super) const SHELL: &str = "/bin/sh";

/// The script of the watchdog: it ignores the signals before SIGKILL, and reads until no process
/// holds the other end. The child's stdin was closed at the same moment; a program that stops a
/// client and exits must still leave the server the time that it has to end.
const SCRIPT: &str = r#"
    trap "" HUP INT TERM QUIT
    read _
    sleep "$0"
    kill -TERM 0
    sleep "$0"
    kill -KILL 0
"#;

/// A child with its group. Dropping it kills the group and waits for the child.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    child: Child,
    pid: Pid,
    /// Readable once the child has ended. `None` where the kernel has no such thing.
    pub(super) handle: Option<OwnedFd>,
    group: Pid,
    watchdog: Option<Watchdog>,
    is_reaped: bool,
}

impl ProcessGroup {
    /// Starts a command in a group of its own, with a shell as its watchdog, which gives the
    /// group some time twice.
    ///
    /// # Errors
    ///
    /// When it can't be started. Nothing is left behind then.
    pub(super) fn spawn(
        command: &mut Command,
        shell: Option<&str>,
        grace: Duration,
    ) -> io::Result<Self> {
        let watchdog = match shell {
            Some(shell) => Watchdog::spawn(shell, grace)?,
            None => None,
        };
        let leader = watchdog
            .as_ref()
            .map(|Watchdog(shell)| Pid::from_child(shell));
        let leader_number = leader.map_or(0, Pid::as_raw_pid);
        let child = command.process_group(leader_number).spawn()?;
        let pid = Pid::from_child(&child);
        Ok(Self {
            child,
            pid,
            handle: open_pidfd(pid),
            group: leader.unwrap_or(pid),
            watchdog,
            is_reaped: false,
        })
    }

    /// Takes our ends of the child's streams.
    pub(super) fn take_streams(
        &mut self,
    ) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        let child = &mut self.child;
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    }

    /// Lets the watchdog believe that our process has ended.
    #[cfg(test)]
    pub(super) fn abandon_watchdog(&mut self) {
        if let Some(Watchdog(shell)) = &mut self.watchdog {
            drop(shell.stdin.take());
        }
    }

    /// Returns the child's process id.
    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Returns `true` if the child has ended. It is not waited for, so that its number stays its
    /// own.
    pub(super) fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // An error: other code has waited for it.
        !matches!(waitid(WaitId::Pid(self.pid), options), Ok(None))
    }

    /// Sends a signal to all of them.
    pub(super) fn signal(&self, signal: Signal) {
        if self.is_reaped {
            return;
        }
        // A child that has left the group gets the signal by itself. None gets it twice: many
        // programs exit at once on the second one.
        if getpgid(Some(self.pid)).is_ok_and(|group| group != self.group) {
            self.signal_child(signal);
        }
        self.signal_group(signal);
    }

    fn signal_group(&self, signal: Signal) {
        // It fails when all have ended, which is fine.
        let _ = kill_process_group(self.group, signal);
    }

    /// Signals the child by its handle where there is one, which never refers to another process.
    fn signal_child(&self, signal: Signal) {
        #[cfg(target_os = "linux")]
        if let Some(handle) = &self.handle {
            let _ = rustix::process::pidfd_send_signal(handle, signal);
            return;
        }
        let _ = kill_process(self.pid, signal);
    }

    /// Kills what the child left behind in its group, and waits for the child, which has
    /// ended. `None` if its status was taken by other code.
    ///
    /// In this order, since the numbers of processes that were waited for are used again.
    // proves: F-CP-19
    pub(super) fn reap(&mut self) -> Option<ExitStatus> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let is_ours = waitid(WaitId::Pid(self.pid), options).is_ok();
        if is_ours {
            self.signal(Signal::KILL);
        } else if self.watchdog.is_some() {
            // The child's number may belong to another process by now, the group's does not.
            self.signal_group(Signal::KILL);
        }
        self.is_reaped = true;
        self.child.wait().ok()
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if !self.is_reaped {
            self.reap();
        }
    }
}

#[cfg(target_os = "linux")]
fn open_pidfd(pid: Pid) -> Option<OwnedFd> {
    use rustix::process::{PidfdFlags, pidfd_open};
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn open_pidfd(_: Pid) -> Option<OwnedFd> {
    None
}

/// The shell that leads a group. Dropping it ends it.
#[derive(Debug)]
struct Watchdog(Child);

impl Watchdog {
    /// Returns `None` if there is no shell.
    fn spawn(shell: &str, grace: Duration) -> io::Result<Option<Self>> {
        let spawned = Command::new(shell)
            .args(["-c", SCRIPT, &format!("{:.3}", grace.as_secs_f64())])
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        match spawned {
            Ok(shell) => Ok(Some(Self(shell))),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
                ) =>
            {
                static LOGGED: Once = Once::new();
                LOGGED.call_once(|| {
                    tracing::debug!(%error, "no shell available to run the watchdog of child processes");
                });
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};

    use super::*;

    // proves: F-CP-19
    #[test]
    fn a_reused_process_id_is_left_alone() {
        // No child of ours: the shell that started it has ended.
        let script = "exec 3<&0; cat <&3 & echo $!";
        let mut shell = Command::new(SHELL);
        let shell = shell.args(["-c", script]).stdin(Stdio::piped());
        let mut shell = shell.stdout(Stdio::piped()).spawn().unwrap();
        let mut input = shell.stdin.take().unwrap();
        let mut output = BufReader::new(shell.stdout.take().unwrap());
        assert!(shell.wait().unwrap().success());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let stranger = Pid::from_raw(line.trim().parse().unwrap()).unwrap();
        for has_handle in [true, false] {
            let grace = Duration::from_secs(1);
            let mut command = Command::new("true");
            let mut group = ProcessGroup::spawn(&mut command, Some(SHELL), grace).unwrap();
            // Other code waits for all children of the process, and the number is used again.
            group.child.wait().unwrap();
            group.pid = stranger;
            if !has_handle {
                group.handle = None;
            }
            group.reap();
            drop(group);
            // A signal that was sent is delivered before the process can write again.
            input.write_all(b"alive\n").unwrap();
            line.clear();
            output.read_line(&mut line).unwrap();
            assert_eq!(line, "alive\n", "has a handle: {has_handle}");
        }
        kill_process(stranger, Signal::KILL).unwrap();
    }
}
