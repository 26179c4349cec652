//! Writes files as a whole or not at all: a temporary file beside the target is renamed to it.
//! Temporary files are removed however the command ends, as far as a process can ensure that.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, PoisonError};

/// Where bytes are written for a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// To an existing pipe, device or descriptor of this process.
    Direct,
    /// To a regular file at this path, with symbolic links resolved.
    Regular(PathBuf),
}

impl Target {
    /// Returns the target of `path`.
    pub(super) fn of(path: &Path) -> Self {
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            return Self::Direct;
        }
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            if is_descriptor(&path) {
                return Self::Direct;
            }
            let Ok(next) = fs::read_link(&path) else {
                break;
            };
            path = path.parent().unwrap_or(Path::new("")).join(next);
        }
        Self::Regular(path)
    }
}

/// Returns `true` if a path is a descriptor of this process. It may be a regular file that other
/// processes have open; they would not see it replaced.
fn is_descriptor(path: &Path) -> bool {
    let is_stream = ["/dev/stdout", "/dev/stderr"]
        .iter()
        .any(|name| path == Path::new(name));
    is_stream || path.starts_with("/dev/fd") || path.starts_with("/proc")
}

/// Replaces the content of `path`, or creates it. Permissions are kept.
///
/// # Errors
///
/// An I/O error. A regular file then has its old content.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match Target::of(path) {
        Target::Direct => File::create(path)?.write_all(bytes),
        Target::Regular(path) => replace_regular(&path, bytes),
    }
}

/// Writes a file that is new and empty, and removes it if that fails.
///
/// # Errors
///
/// An I/O error.
pub(super) fn fill(mut file: File, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = Unfinished::begin(path.to_owned());
    file.write_all(bytes)?;
    unfinished.keep();
    Ok(())
}

/// Removes temporary files before the process exits.
pub(crate) fn remove_unfinished() {
    for path in lock().drain(..) {
        // Nothing can be done if this fails.
        let _ = fs::remove_file(path);
    }
}

fn replace_regular(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let old = match path.metadata() {
        Ok(old) => Some(old),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let (mut file, beside) = create_beside(path, old.is_some())?;
    let unfinished = Unfinished::begin(beside.clone());
    file.write_all(bytes)?;
    if let Some(old) = old {
        take_over(&file, &old)?;
    }
    // Synced, so that after a crash of the system the file has either the old or the new content.
    file.sync_all()?;
    fs::rename(&beside, path)?;
    unfinished.keep();
    Ok(())
}

/// Creates a file in the same directory, readable only by its owner if `is_private`.
fn create_beside(path: &Path, is_private: bool) -> io::Result<(File, PathBuf)> {
    let mode = if is_private { 0o600 } else { 0o666 };
    let mut number = 0_u32;
    loop {
        let name = format!(".bowline-{}-{number}.part", process::id());
        let beside = path.with_file_name(name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(mode);
        match options.open(&beside) {
            Ok(file) => return Ok((file, beside)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < MAX_NAMES => {
                number += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Gives a file the owner and the permissions of another one.
fn take_over(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        // Only root may change owners; for other users the new file is theirs.
        let _ = fchown(file, Some(old.uid()), Some(old.gid()));
    }
    file.set_permissions(old.permissions())
}

/// A temporary file, removed on drop unless it is kept.
struct Unfinished(PathBuf);

impl Unfinished {
    fn begin(path: PathBuf) -> Self {
        lock().push(path.clone());
        Self(path)
    }

    fn keep(self) {
        lock().retain(|path| *path != self.0);
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let mut unfinished = lock();
        let count = unfinished.len();
        unfinished.retain(|path| *path != self.0);
        if unfinished.len() < count {
            // The error that led here is more important than one of this.
            let _ = fs::remove_file(&self.0);
        }
    }
}

fn lock() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The temporary files that exist.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The number of symbolic links that are followed, as on Linux.
const MAX_LINKS: u32 = 40;

/// The number of names that are tried. Names of other processes contain their process id.
const MAX_NAMES: u32 = 1000;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn the_target_of_a_link_is_replaced() {
        let scratch = Scratch::new();
        let at = |name: &str| scratch.path().join(name);
        symlink("second", at("first")).unwrap();
        symlink(at("none"), at("second")).unwrap();
        assert_eq!(Target::of(&at("first")), Target::Regular(at("none")));
        // Not a descriptor, though it is in the same directory.
        let shared = Path::new("/dev/shm/none");
        assert_eq!(Target::of(shared), Target::Regular(shared.to_owned()));
        symlink("/dev/fd/1", at("descriptor")).unwrap();
        assert_eq!(Target::of(&at("descriptor")), Target::Direct);
        symlink("circle", at("circle")).unwrap();
        assert!(replace(&at("circle"), b"x").is_err());
        for direct in ["/dev/null", "/dev/stdout", "/proc/self/fd/1", "/"] {
            assert_eq!(Target::of(Path::new(direct)), Target::Direct, "{direct}");
        }
    }

    #[test]
    fn a_failed_write_leaves_no_file() {
        let scratch = Scratch::new();
        let old = scratch.write("old", "before");
        fs::set_permissions(&old, fs::Permissions::from_mode(0o604)).unwrap();
        replace(&old, b"after").unwrap();
        assert_eq!(fs::read(&old).unwrap(), b"after");
        let mode = old.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o604);
        let (_, beside) = create_beside(&old, true).unwrap();
        drop(Unfinished::begin(beside.clone()));
        assert!(!beside.exists());
        // A file that can't be written to, as on a disk that is full.
        let path = scratch.write("new", "");
        let closed = File::open(&path).unwrap();
        assert!(fill(closed, &path, b"x").is_err());
        assert!(!path.exists());
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
    }
}
