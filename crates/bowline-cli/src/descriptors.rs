//! Checks at the start of a command that enough file descriptors are free. Setting up signals
//! panics without one, and other failures have messages that don't name the cause.

use std::fs::File;
use std::io;

use anyhow::anyhow;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::failure::hinted;

/// The number of descriptors that a command with a server needs: two runtimes, signals, three
/// pipes, and those of the watchdog.
pub(crate) const OF_CLIENT: usize = 24;

/// The number of descriptors that `bowline serve` needs.
pub(crate) const OF_SERVER: usize = 12;

/// Checks that `count` descriptors can be opened.
///
/// # Errors
///
/// The limit of the process or of the system doesn't allow that many.
pub(crate) fn check(count: usize) -> anyhow::Result<()> {
    check_with(count, || File::open("/dev/null"))
}

fn check_with(count: usize, open: impl Fn() -> io::Result<File>) -> anyhow::Result<()> {
    let mut held = Vec::with_capacity(count);
    while held.len() < count {
        match open() {
            Ok(file) => held.push(file),
            Err(error) if is_limit(&error) => return Err(too_few(held.len(), count, &error)),
            // Another error doesn't mean that the limit is reached.
            Err(_) => return Ok(()),
        }
    }
    Ok(())
}

fn is_limit(error: &io::Error) -> bool {
    let limits = [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error);
    error
        .raw_os_error()
        .is_some_and(|code| limits.contains(&code))
}

fn too_few(free: usize, needed: usize, error: &io::Error) -> anyhow::Error {
    let limit = match getrlimit(Resource::Nofile).current {
        Some(limit) => format!(" (the limit of the process is {limit})"),
        None => String::new(),
    };
    hinted(
        anyhow!(
            "cannot start: {needed} file descriptors are needed, and {free} are free{limit}: {error}"
        ),
        "raise the limit, as with `ulimit -n 256`, or close files",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;

    #[test]
    fn a_limit_is_an_error_and_nothing_else_is() {
        check(3).unwrap();
        check_with(3, || Err(Errno::NOENT.into())).unwrap();
        let error = check_with(3, || Err(Errno::NFILE.into())).unwrap_err();
        let words = error.to_string();
        let begins = "cannot start: 3 file descriptors are needed, and 0 are free";
        assert!(words.starts_with(begins), "{words}");
        assert!(Failure::hint_of(&error).is_some());
    }
}
