//! Reading files up to a size limit.

use std::error::Error;
use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Why a file was not read.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The file does not exist.
    Missing,
    /// The path is a directory.
    Directory,
    /// Another type of file that may never end, such as a pipe.
    NotRegular,
    /// The file is larger than the limit.
    TooLarge,
    /// The content is not UTF-8 from this byte on.
    NotText(usize),
    /// Another I/O error.
    Failed(io::Error),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no such file"),
            Self::Directory => f.write_str("it is a directory"),
            Self::NotRegular => f.write_str("it is not a regular file"),
            Self::TooLarge => write!(f, "it is larger than {} MiB", MAX_BYTES >> 20),
            Self::NotText(at) => write!(f, "it is not UTF-8 from byte {at} on"),
            Self::Failed(error) => write!(f, "it can't be read: {error}"),
        }
    }
}

impl Error for ReadError {}

/// Reads a text file.
///
/// # Errors
///
/// The file does not exist, is too large, or is not text.
pub(crate) fn read_file(path: &Path) -> Result<String, ReadError> {
    // Some systems open a directory and fail to read it, others don't open it.
    if path.is_dir() {
        return Err(ReadError::Directory);
    }
    read_text(File::open(path).map_err(not_opened)?)
}

/// Opens a file of unknown origin, if it is a regular one, which can be read without blocking. The
/// metadata are those of the opened file, whatever the path refers to later.
///
/// # Errors
///
/// The file does not exist, or is not a regular file.
pub(crate) fn open_regular(path: &Path) -> Result<(File, Metadata), ReadError> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        // Opening a pipe would wait for its writer; a terminal would become ours.
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        options.custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path).map_err(|error| {
        // A socket can't be opened.
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

/// Reads a text to its end, without a byte order mark.
///
/// # Errors
///
/// The text is too large, or not UTF-8.
pub(crate) fn read_text(source: impl Read) -> Result<String, ReadError> {
    let mut bytes = Vec::new();
    // One byte more than allowed shows that it is too large.
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

/// The size limit, 16 MiB: that of a message.
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
        assert_eq!(larger.to_string(), "it is larger than 16 MiB");
        // A file that never ends must not block.
        assert!(matches!(read_text(io::repeat(0)), Err(ReadError::TooLarge)));
    }

    #[test]
    fn files_that_are_not_text_have_distinct_errors() {
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
    fn endless_files_are_not_regular_files() {
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
            assert_eq!(error.to_string(), "it is not a regular file", "{path:?}");
        }
        let file = scratch.write("file", "x");
        std::fs::remove_file(&link).unwrap();
        symlink(file, &link).unwrap();
        let (file, _) = open_regular(&link).unwrap();
        assert_eq!(read_text(file).unwrap(), "x");
    }
}
