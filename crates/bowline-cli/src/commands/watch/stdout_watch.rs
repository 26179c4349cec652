//! Notices when the reader of stdout is gone. A closed pipe is otherwise noticed by the next write,
//! and a quiet server gives nothing to write.

use std::io::stdout;
use std::thread;

use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// Calls `then` from a thread of its own when the reader of stdout is gone. Never for a file.
///
/// # Errors
///
/// The thread can't be created.
pub(super) fn on_reader_gone(then: impl FnOnce() + Send + 'static) -> anyhow::Result<()> {
    let waiting = move || {
        if wait_until_reader_gone() {
            then();
        }
    };
    // The thread ends with the process.
    let thread = thread::Builder::new().name("reader".into());
    let spawned = thread.spawn(waiting);
    spawned.map(drop).context("cannot watch the output")
}

/// Waits until the reader is gone. Returns `false` if that can't be known.
fn wait_until_reader_gone() -> bool {
    let stdout = stdout();
    // No events are requested: a closed pipe is reported in any case.
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
