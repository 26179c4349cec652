//! Why a command could not be started, in messages that include what to do.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use rustix::io::Errno;

use super::super::OpenError;

/// Returns the error of a spawn. `folder` is where the command was to run.
pub(super) fn spawn_error(program: &OsStr, folder: Option<&Path>, error: &io::Error) -> OpenError {
    let name = program.to_string_lossy();
    // The kernel reports the same error for both.
    if let Some(folder) = folder
        && let Some(fault) = folder_fault(folder, error)
    {
        let folder = folder.display();
        return OpenError::permanent(format!("{name}: its working directory {folder} {fault}"));
    }
    let Some(message) = advice(program, error) else {
        return OpenError::transient(format!("{name}: cannot be started: {error}"));
    };
    OpenError::permanent(format!("{name}: {message} ({error})"))
}

/// Returns what is wrong with a folder, if that may be the reason.
fn folder_fault(folder: &Path, error: &io::Error) -> Option<&'static str> {
    let kind = error.kind();
    match folder.metadata() {
        _ if !is_path_error(kind) => None,
        Ok(metadata) if !metadata.is_dir() => Some("is a file"),
        Ok(_) if kind == io::ErrorKind::PermissionDenied && !can_enter(folder) => {
            Some("can't be entered: check its permissions")
        }
        Ok(_) => None,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Some("can't be entered: check the permissions of its parent folders")
        }
        Err(_) => Some("doesn't exist"),
    }
}

fn is_path_error(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied
    )
}

fn can_enter(folder: &Path) -> bool {
    folder.join(".").metadata().is_ok()
}

/// Returns what to do about an error that doesn't pass by itself. `None` when it may.
fn advice(program: &OsStr, error: &io::Error) -> Option<&'static str> {
    let path = Path::new(program);
    let is_path = path.components().count() > 1 || path.is_absolute();
    let message = match error.kind() {
        io::ErrorKind::NotFound if !is_path => {
            "command not found in PATH: install it, or give its full path"
        }
        io::ErrorKind::NotFound if path.exists() => {
            "the interpreter in its first line (#!) doesn't exist"
        }
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            "no such file: check the path, or install it"
        }
        io::ErrorKind::PermissionDenied if path.is_dir() => "it is a folder, not a program",
        io::ErrorKind::PermissionDenied => "it is not executable: check its permissions",
        io::ErrorKind::ArgumentListTooLong => {
            "its arguments and environment are too large for this system"
        }
        io::ErrorKind::InvalidInput => "an argument or environment variable contains a NUL byte",
        io::ErrorKind::InvalidFilename => "its name is too long",
        _ if Errno::from_io_error(error) == Some(Errno::NOEXEC) => {
            "it is not an executable of this machine (a script needs a first line with #!)"
        }
        _ => return None,
    };
    Some(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(program: &str, folder: Option<&str>, errno: Errno) -> OpenError {
        let error = io::Error::from(errno);
        spawn_error(OsStr::new(program), folder.map(Path::new), &error)
    }

    // proves: F-CP-13
    #[test]
    fn transient_errors_are_distinguished_from_permanent_ones() {
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::AGAIN] {
            let error = refused("server", Some("/no/such"), errno);
            assert!(!error.is_permanent, "{error:?}");
            assert!(error.reason.starts_with("server: cannot be started"));
        }
        for (program, folder, errno, message) in [
            ("server", None, Errno::NOENT, "command not found in PATH"),
            ("/no/server", None, Errno::NOENT, "no such file"),
            ("/etc/passwd", None, Errno::NOENT, "interpreter"),
            ("/etc", None, Errno::ACCESS, "a folder, not a program"),
            ("/etc/passwd", None, Errno::ACCESS, "not executable"),
            ("server", None, Errno::TOOBIG, "too large"),
            ("server", None, Errno::NOEXEC, "#!"),
            ("server", Some("/no/such"), Errno::NOENT, "/no/such"),
            ("server", Some("/etc/passwd"), Errno::NOTDIR, "is a file"),
            ("server", Some("/etc"), Errno::NOENT, "in PATH"),
        ] {
            let error = refused(program, folder, errno);
            assert!(error.is_permanent, "{error:?}");
            assert!(error.reason.contains(message), "{error:?}");
        }
    }
}
