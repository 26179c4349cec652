//! Whoever reads stdout, and may leave without a word: a pipe that is closed is noticed by who
//! writes next, and a quiet server gives nothing to write.

use std::io::stdout;
use std::thread;

use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// Calls `then` when nobody can read stdout any more, from a thread of its own. Never for a file.
///
/// # Errors
///
/// The system has no thread left.
pub(super) fn on_reader_gone(then: impl FnOnce() + Send + 'static) -> anyhow::Result<()> {
    let waiting = move || {
        if wait_until_reader_gone() {
            then();
        }
    };
    // It ends with the process.
    let thread = thread::Builder::new().name("reader".into());
    let spawned = thread.spawn(waiting);
    spawned.map(drop).context("cannot watch the output")
}

/// Waits until the reader has left. `false` where that can't be known.
fn wait_until_reader_gone() -> bool {
    let stdout = stdout();
    // Nothing is asked for: that nobody is there is told in any case.
    let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
    loop {
        match poll(&mut polled, None) {
            Err(Errno::INTR) => {}
            Err(_) => return false,
            Ok(_) => {
                let [stdout] = &polled;
                return stdout.revents().intersects(PollFlags::ERR | PollFlags::HUP);
            }
        }
    }
}
