//! Stdin and stdout of this process, for a server or client that another process started.
//!
//! Their type is chosen by that process, and others may share them: a pipe is opened anew,
//! so that it can be made non-blocking for us alone; a socket is read without blocking, call by
//! call; files and terminals have threads of their own, which are not joined at the end.
//!
//! `plain`: files and terminals. `socket`: a socket that others may share.

mod plain;
mod socket;

#[cfg(all(test, target_os = "linux"))]
mod tests;

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FileType, fstat};
use rustix::stdio::{dup2_stdin, dup2_stdout};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe;

use super::{OpenError, Stream, Transport};

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Returns our own stdin and stdout as a transport, which can be opened once in a process.
///
/// From then on nothing else reaches them: what is printed goes to stderr, also a line that
/// was begun before, and reading stdin returns its end. So a stray `println!` can't get between two
/// messages, and dropping the stream closes both.
///
/// ```no_run
/// # async fn example() -> std::io::Result<()> {
/// let stream = bowline::transport::stdio().into_stream()?;
/// println!("this goes to stderr");
/// # drop(stream);
/// # Ok(())
/// # }
/// ```
pub fn stdio() -> Stdio {
    Stdio(())
}

/// Our own stdin and stdout; see [`stdio()`].
#[derive(Debug)]
pub struct Stdio(());

impl Stdio {
    /// Returns the stream. Must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// The second time in a process, and when stdin or stdout can't be used.
    pub fn into_stream(self) -> io::Result<Stream> {
        static IS_TAKEN: AtomicBool = AtomicBool::new(false);
        if IS_TAKEN.swap(true, Ordering::Relaxed) {
            return Err(io::Error::other(
                "stdin was already taken: it can be used only once in a process",
            ));
        }
        let stdin = io::stdin().as_fd().try_clone_to_owned()?;
        let stdout = io::stdout().as_fd().try_clone_to_owned()?;
        let (reader, writer) = (reader(stdin)?, writer(stdout)?);
        let nothing = File::options().read(true).write(true).open("/dev/null")?;
        dup2_stdin(&nothing)?;
        dup2_stdout(io::stderr()).or_else(|_| dup2_stdout(&nothing))?;
        // A line that was begun and not ended would be joined to the first message. It is
        // lost where stderr is closed.
        let _ = io::stdout().flush();
        Ok(Stream::from_boxed(reader, writer))
    }
}

impl Transport for Stdio {
    async fn open(&mut self) -> Result<Stream, OpenError> {
        let stream = Self(()).into_stream();
        stream.map_err(|error| OpenError::permanent(error.to_string()))
    }

    fn label(&self) -> String {
        "stdio".to_owned()
    }
}

/// Reads a descriptor, in the way that fits it.
fn reader(descriptor: OwnedFd) -> io::Result<Reader> {
    Ok(match kind(&descriptor)? {
        FileType::Fifo => {
            match pipe::OpenOptions::new().open_receiver(path_of(&descriptor)) {
                Ok(reader) => Box::new(reader),
                // No `/proc`, or a pipe of another user.
                Err(_) => Box::new(plain::Reader::start(descriptor)?),
            }
        }
        FileType::Socket => Box::new(socket::Reader::new(descriptor)?),
        _ => Box::new(plain::Reader::start(descriptor)?),
    })
}

/// Writes to a descriptor, in the way that fits it.
fn writer(descriptor: OwnedFd) -> io::Result<Writer> {
    Ok(match kind(&descriptor)? {
        FileType::Fifo => {
            match pipe::OpenOptions::new().open_sender(path_of(&descriptor)) {
                Ok(writer) => Box::new(writer),
                // As above.
                Err(_) => Box::new(plain::Writer::start(descriptor)?),
            }
        }
        FileType::Socket => Box::new(socket::Writer::new(descriptor)?),
        _ => Box::new(plain::Writer::start(descriptor)?),
    })
}

fn kind(descriptor: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(descriptor)?.st_mode))
}

/// Returns where a descriptor can be opened anew. Its own flags stay as they are, which others
/// share.
fn path_of(descriptor: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", descriptor.as_raw_fd())
}
