//! The terminal that a person sits at: lines are shown on stderr and typed on stdin.
//!
//! A line is read on a thread of its own, which ends when nobody waits for the line any more:
//! it waits for the terminal and for a socket that is closed then. Nothing is read ahead, so
//! that what is typed later is still there for whoever asks next.

use std::io;
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::termios::{QueueSelector, tcflush};
use tokio::task::spawn_blocking;

use crate::printer;
use crate::server_requests::prompter::Prompter;

/// The terminal of this process.
#[derive(Debug)]
pub(super) struct Terminal;

impl Terminal {
    /// Forgets what was typed before there was a question: it can't be the answer.
    pub(super) fn discard_typed_input() {
        // What can't be forgotten is taken for an answer, and shown as one.
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    }
}

impl Prompter for Terminal {
    fn show(&mut self, line: &str) {
        printer::aside(line);
    }

    async fn ask(&mut self, prompt: &str) -> Option<String> {
        printer::prompt(prompt);
        let (waiting, gone) = UnixStream::pair().ok()?;
        let read = spawn_blocking(move || read_line(&gone)).await;
        drop(waiting);
        read.ok()?.ok()?
    }
}

/// The next line, or nothing when no more will come or nobody waits for it.
fn read_line(gone: &UnixStream) -> io::Result<Option<String>> {
    let stdin = io::stdin();
    let mut line = Vec::new();
    while !line.ends_with(b"\n") && line.len() < MAX_LINE {
        let mut waited = [
            PollFd::new(&stdin, PollFlags::IN),
            PollFd::new(gone, PollFlags::IN),
        ];
        match poll(&mut waited, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        if !waited[1].revents().is_empty() {
            return Ok(None);
        }
        let mut chunk = [0; 1024];
        match rustix::io::read(&stdin, &mut chunk) {
            Ok(0) if line.is_empty() => return Ok(None),
            Ok(0) => break,
            Ok(count) => line.extend(&chunk[..count]),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(String::from_utf8_lossy(&line).into_owned()))
}

/// The most that is taken for a line. Terminals hold less.
const MAX_LINE: usize = 64 * 1024;
