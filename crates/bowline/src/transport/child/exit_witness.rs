//! Why a child's stream ended, reported as soon as it is known.

use std::fs;
use std::time::Duration;

use rustix::process::Pid;
use tokio::sync::watch;
use tokio::time::timeout;

use super::super::TransportEnd;
use super::reaper::Exit;
use super::stderr::{Tail, lines, one_line};

/// How long the exit status of a child that is ending is waited for. It takes a millisecond;
/// a machine that is so busy that it takes longer is worth the wait.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);

/// How long the exit status is waited for when it is unknown whether the child is ending.
pub(super) const UNKNOWN_STATE_TIMEOUT: Duration = Duration::from_millis(100);

/// How long the last stderr output of a child that has ended may take: another process may hold
/// its stderr, and never close it.
const STDERR_TIMEOUT: Duration = Duration::from_millis(50);

impl TransportEnd {
    /// Returns the end of what the process wrote to stderr, line by line: 2 KiB at most, without
    /// what would confuse a terminal. `None` if it wrote nothing.
    ///
    /// [`reason`](Self::reason) has the same on one line.
    pub fn stderr_tail(&self) -> Option<String> {
        Some(lines(&self.stderr)).filter(|output| !output.is_empty())
    }
}

/// Knows whether a child runs, and how it ended.
#[derive(Clone, Debug)]
pub(super) struct ExitWitness {
    pub(super) pid: Pid,
    pub(super) exit: watch::Receiver<Exit>,
    pub(super) tail: Tail,
}

impl ExitWitness {
    /// Returns how a stream ended: with the child, or, in the words given, without it. Cancel safe.
    pub(super) async fn transport_end(&mut self, default_reason: &str) -> TransportEnd {
        let limit = match self.is_ending() {
            Some(true) => EXIT_TIMEOUT,
            Some(false) => Duration::ZERO,
            None => UNKNOWN_STATE_TIMEOUT,
        };
        let ended = self.exit.wait_for(|exit| *exit != Exit::Running);
        if timeout(limit, ended).await.is_ok() {
            let _ = timeout(STDERR_TIMEOUT, self.tail.finished()).await;
        }
        let mut transport_end = TransportEnd::new(match *self.exit.borrow() {
            Exit::Running => default_reason.to_owned(),
            Exit::Ended(None) => "the server ended".to_owned(),
            Exit::Ended(Some(status)) => format!("the server ended with {status}"),
        });
        if let Exit::Ended(status) = *self.exit.borrow() {
            transport_end.status = status;
        }
        transport_end.stderr = self.tail.text();
        let output = one_line(&transport_end.stderr);
        if !output.is_empty() {
            transport_end.reason += "; stderr: ";
            transport_end.reason += &output;
        }
        transport_end
    }

    /// Returns `true` if it has ended or is about to, if that is known.
    fn is_ending(&self) -> Option<bool> {
        if *self.exit.borrow() != Exit::Running {
            return Some(true);
        }
        is_ending(&self.stat()?)
    }

    /// Returns `true` if it was stopped, and not ended.
    pub(super) fn is_stopped(&self) -> bool {
        let is_running = *self.exit.borrow() == Exit::Running;
        is_running && self.stat().is_some_and(|stat| is_stopped(&stat))
    }

    /// Returns its line in `/proc`, where there is one.
    fn stat(&self) -> Option<String> {
        // Its number is its own for as long as it runs, as far as we know: the reaper reports
        // the exit right after it has waited for it.
        fs::read_to_string(format!("/proc/{}/stat", self.pid.as_raw_pid())).ok()
    }
}

/// Returns `true` if a process is about to end, by its line in `/proc`: its name in parentheses,
/// its state, five numbers, its flags.
fn is_ending(stat: &str) -> Option<bool> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let flags: u64 = fields.nth(5)?.parse().ok()?;
    Some(matches!(state, "Z" | "X") || flags & EXITING != 0)
}

/// Returns `true` if a process is stopped, by the same line.
fn is_stopped(stat: &str) -> bool {
    let fields = stat.rsplit_once(')').map(|(_, fields)| fields);
    fields.is_some_and(|fields| fields.trim_start().starts_with('T'))
}

/// `PF_EXITING` of the kernel, which is set before a process closes its files.
const EXITING: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_ends_is_distinguished_from_one_that_runs() {
        let running = "12 (a) S 4) S 1 12 12 0 -1 4194304 100 0";
        assert_eq!(is_ending(running), Some(false));
        let exiting = "12 (sh) R 1 12 12 0 -1 4194308 100 0";
        assert_eq!(is_ending(exiting), Some(true));
        let zombie = "12 (sh) Z 1 12 12 0 -1 0 100 0";
        assert_eq!(is_ending(zombie), Some(true));
        assert_eq!(is_ending("nonsense"), None);
        assert!(is_stopped("12 (sh) T 1 12 12 0 -1 0 100 0"));
        assert!(!is_stopped(running) && !is_stopped("nonsense"));
    }
}
