//! Reading files that somebody named, up to a limit.

use std::error::Error;
use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Why a file was not read.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// There is none.
    Missing,
    /// It is none.
    Directory,
    /// It is something else that may never end, such as a pipe.
    NotRegular,
    /// It has more bytes than anybody wants.
    TooLarge,
    /// What it has is no text, from this byte on.
    NotText(usize),
    /// What the system says.
    Failed(io::Error),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no such file"),
            Self::Directory => f.write_str("it is a directory"),
            Self::NotRegular => f.write_str("it is no regular file"),
            Self::TooLarge => write!(f, "it has more than {} MiB", MAX_BYTES >> 20),
            Self::NotText(at) => write!(f, "it is not UTF-8 from byte {at} on"),
            Self::Failed(error) => write!(f, "it can't be read: {error}"),
        }
    }
}

impl Error for ReadError {}

/// The text of a file.
///
/// # Errors
///
/// It is not there, too large, or no text.
pub(crate) fn read_file(path: &Path) -> Result<String, ReadError> {
    // Some systems open a directory and fail when it is read, others don't open it.
    if path.is_dir() {
        return Err(ReadError::Directory);
    }
    read_text(File::open(path).map_err(not_opened)?)
}

/// A file that nobody vouches for, opened. It is one that is read without waiting, which a
/// pipe or a device is not; and its metadata are those of what is read, whatever becomes of
/// the path.
///
/// # Errors
///
/// It is not there, or no regular file.
pub(crate) fn open_regular(path: &Path) -> Result<(File, Metadata), ReadError> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        // Opening a pipe would wait for somebody who writes; a terminal would become ours.
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        options.custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path).map_err(|error| {
        // A socket can't be opened, whoever tries.
        match path.metadata() {
            Ok(found) if found.is_dir() => ReadError::Directory,
            Ok(found) if !found.is_file() => ReadError::NotRegular,
            Ok(_) | Err(_) => not_opened(error),
        }
    })?;
    let metadata = file.metadata().map_err(ReadError::Failed)?;
    if metadata.is_dir() {
        return Err(ReadError::Directory);
    }
    if !metadata.is_file() {
        return Err(ReadError::NotRegular);
    }
    Ok((file, metadata))
}

fn not_opened(error: io::Error) -> ReadError {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => ReadError::Missing,
        _ => ReadError::Failed(error),
    }
}

/// The text of anything that can be read to its end, without a byte order mark.
///
/// # Errors
///
/// It is too large, or no text.
pub(crate) fn read_text(source: impl Read) -> Result<String, ReadError> {
    let mut bytes = Vec::new();
    // One byte more than is allowed tells that there are more.
    let read = source.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    let read = read.map_err(ReadError::Failed)?;
    if read as u64 > MAX_BYTES {
        return Err(ReadError::TooLarge);
    }
    let text = String::from_utf8(bytes);
    let mut text = text.map_err(|error| ReadError::NotText(error.utf8_error().valid_up_to()))?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

/// No file is read with more bytes, 16 MiB: as many as a message may have.
pub(crate) const MAX_BYTES: u64 = 16 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_file_of_the_largest_size_is_read_and_a_larger_one_is_not() {
        let largest = io::repeat(b'x').take(MAX_BYTES);
        assert_eq!(read_text(largest).unwrap().len() as u64, MAX_BYTES);
        let larger = read_text(io::repeat(b'x').take(MAX_BYTES + 1)).unwrap_err();
        assert_eq!(larger.to_string(), "it has more than 16 MiB");
        // One that never ends is no reason to wait.
        assert!(matches!(read_text(io::repeat(0)), Err(ReadError::TooLarge)));
    }

    #[test]
    fn what_is_no_text_file_is_told_apart() {
        let scratch = Scratch::new();
        let text = scratch.write("text", "\u{feff}ü");
        assert_eq!(read_file(&text).unwrap(), "ü");
        for (path, message) in [
            (
                scratch.write("bytes", b"ab\xff"),
                "it is not UTF-8 from byte 2 on",
            ),
            (scratch.path().to_owned(), "it is a directory"),
            (scratch.path().join("none"), "there is no such file"),
            (text.join("below"), "there is no such file"),
        ] {
            assert_eq!(read_file(&path).unwrap_err().to_string(), message);
            let regular = open_regular(&path).and_then(|(file, _)| read_text(file));
            assert_eq!(regular.unwrap_err().to_string(), message);
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_may_never_end_is_no_regular_file() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        use std::os::unix::fs::symlink;
        use std::os::unix::net::UnixListener;
        let scratch = Scratch::new();
        let pipe = scratch.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let link = scratch.path().join("link");
        symlink(&pipe, &link).unwrap();
        let socket = scratch.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        for path in [&pipe, &link, &socket, Path::new("/dev/zero")] {
            let error = open_regular(path).unwrap_err();
            assert_eq!(error.to_string(), "it is no regular file", "{path:?}");
        }
        let file = scratch.write("file", "x");
        std::fs::remove_file(&link).unwrap();
        symlink(file, &link).unwrap();
        let (file, _) = open_regular(&link).unwrap();
        assert_eq!(read_text(file).unwrap(), "x");
    }
}
