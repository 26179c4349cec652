//! The terminal of the user: lines are shown on stderr and read from stdin.
//!
//! A line is read on a thread of its own. The thread also waits for a socket, which is closed when
//! the line is no longer awaited, and then ends. Nothing is read ahead, so that later input is
//! still there for the next reader.

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
    /// Discards input that was typed before the prompt: it can't be the answer.
    pub(super) fn discard_typed_input() {
        // If this fails, the input is taken for the answer, which the user sees.
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    }
}

impl Prompter for Terminal {
    fn show(&mut self, line: &str) {
        printer::aside(line);
    }

    async fn ask(&mut self, prompt: &str) -> Option<String> {
        printer::prompt(prompt);
        let (guard, cancelled) = UnixStream::pair().ok()?;
        let read = spawn_blocking(move || read_line(&cancelled)).await;
        drop(guard);
        read.ok()?.ok()?
    }
}

/// Reads the next line. Returns `None` at the end of the input, or when the line is no longer
/// awaited.
fn read_line(cancelled: &UnixStream) -> io::Result<Option<String>> {
    let stdin = io::stdin();
    let mut line = Vec::new();
    while !line.ends_with(b"\n") && line.len() < MAX_LINE {
        let mut waited = [
            PollFd::new(&stdin, PollFlags::IN),
            PollFd::new(cancelled, PollFlags::IN),
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

/// The maximum length of a line. Terminals hold less.
const MAX_LINE: usize = 64 * 1024;
