//! A copy of a stderr in a file.
//!
//! A thread of its own writes it: files block, and neither the runtime nor its shutdown may
//! wait for a disk that stands still.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use tokio::sync::mpsc;
use tracing::Span;

use super::super::OpenError;

/// Chunks that wait for the disk: 1 MiB.
const MAX_WAITING_CHUNKS: usize = 64;

/// How long the child may be held up by the disk.
const WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// Opens a file to append to. This blocks, but not until a named pipe has a reader,
/// which may never happen: each attempt would leave a thread behind.
pub(in super::super) fn open(path: &Path) -> Result<File, OpenError> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let opened = options.open(path).and_then(|file| {
        let flags = fcntl_getfl(&file)?;
        fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
        Ok(file)
    });
    opened.map_err(|error| {
        let message = format!("can't write stderr to {}: {error}", path.display());
        match error.kind() {
            io::ErrorKind::NotFound
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::InvalidFilename
            | io::ErrorKind::InvalidInput => OpenError::permanent(message),
            _ => OpenError::transient(message),
        }
    })
}

/// The handle of the writing thread.
pub(super) struct Tee {
    chunks: mpsc::Sender<Vec<u8>>,
    /// Bytes that the disk had no time for.
    lost: u64,
}

impl Tee {
    pub(super) fn start(file: File) -> io::Result<Self> {
        let (chunks, receiver) = mpsc::channel(MAX_WAITING_CHUNKS);
        let span = Span::current();
        thread::Builder::new()
            .name("bowline-stderr".into())
            .spawn(move || span.in_scope(|| copy(file, receiver)))?;
        Ok(Self { chunks, lost: 0 })
    }

    /// Passes on a chunk, or counts it as lost when the disk is stalled. Cancel safe, but for the
    /// chunk.
    pub(super) async fn push(&mut self, bytes: &[u8]) {
        let permit = match self.lost {
            0 => match tokio::time::timeout(WRITE_TIMEOUT, self.chunks.reserve()).await {
                Ok(Ok(permit)) => Some(permit),
                Ok(Err(_)) | Err(_) => None,
            },
            // It waited long enough already.
            _ => self.chunks.try_reserve().ok(),
        };
        let Some(permit) = permit else {
            self.lost += bytes.len() as u64;
            return;
        };
        let mut chunk = Vec::with_capacity(bytes.len());
        if self.lost > 0 {
            let lost = std::mem::take(&mut self.lost);
            chunk.extend_from_slice(format!("\n[{lost} bytes lost]\n").as_bytes());
        }
        chunk.extend_from_slice(bytes);
        permit.send(chunk);
    }
}

/// Writes until there is no more to come. After an error the rest is dropped.
fn copy(mut file: File, mut chunks: mpsc::Receiver<Vec<u8>>) {
    while let Some(chunk) = chunks.blocking_recv() {
        if let Err(error) = file.write_all(&chunk) {
            tracing::warn!(%error, "writing stderr of the server to its file failed");
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_stalled_disk_does_not_block_the_child() {
        let (chunks, mut disk) = mpsc::channel(1);
        let mut tee = Tee { chunks, lost: 0 };
        tee.push(b"a").await;
        tee.push(b"b").await;
        tee.push(b"c").await;
        assert_eq!(disk.recv().await.as_deref(), Some(&b"a"[..]));
        tee.push(b"d").await;
        let chunk = disk.recv().await.expect("a chunk");
        assert_eq!(String::from_utf8(chunk).unwrap(), "\n[2 bytes lost]\nd");
    }

    #[test]
    fn a_named_pipe_without_a_reader_is_not_waited_for() {
        let name = format!("bowline-fifo-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("it runs").success());
        let error = open(&path).expect_err("it has no reader");
        assert!(!error.is_permanent, "{error:?}");
        let mut options = OpenOptions::new();
        let reader = options.read(true).write(true).open(&path).expect("a pipe");
        let file = open(&path).expect("it has a reader");
        let flags = fcntl_getfl(&file).expect("flags");
        assert!(!flags.contains(OFlags::NONBLOCK), "who writes may wait");
        drop(reader);
        std::fs::remove_file(&path).expect("it is there");
    }
}
