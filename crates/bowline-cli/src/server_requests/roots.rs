//! The roots of `--root`, as `file://` URIs.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use bowline_types::roots::Root;

use crate::failure::usage;

/// Returns the root for a path.
///
/// # Errors
///
/// The path does not exist (a usage error).
pub(crate) fn root(path: &Path) -> anyhow::Result<Root> {
    let found: PathBuf = path.canonicalize().map_err(|error| {
        let error = anyhow!("the root {} can't be used: {error}", path.display());
        usage(error, "give the path of a folder or file that exists")
    })?;
    let root = Root::new(uri(&found));
    Ok(match found.file_name() {
        Some(name) => root.name(name.to_string_lossy().into_owned()),
        None => root,
    })
}

/// Returns an absolute path as a URI (RFC 8089). Other than unreserved characters are
/// percent-encoded, byte by byte.
fn uri(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(*byte));
            }
            // Writing to a string cannot fail.
            _ => drop(write!(uri, "%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;
    use crate::exit::ExitStatus;
    use crate::failure::Failure;
    use crate::scratch::Scratch;

    // proves: FT-5
    #[test]
    fn a_path_becomes_a_uri_with_a_name() {
        let scratch = Scratch::new();
        let folder = scratch.path().join("a b");
        std::fs::create_dir(&folder).unwrap();
        let found = root(&folder.join("..").join("a b")).unwrap();
        let expected = uri(&scratch.path().canonicalize().unwrap());
        assert_eq!(found.uri, format!("{expected}/a%20b"));
        assert_eq!(found.name.as_deref(), Some("a b"));
        let whole = root(Path::new("/")).unwrap();
        assert_eq!((whole.uri.as_str(), whole.name), ("file:///", None));
        let odd = Path::new(OsStr::from_bytes(b"/\xc3\xa9\xff%?#~x"));
        assert_eq!(uri(odd), "file:///%C3%A9%FF%25%3F%23~x");
    }

    #[test]
    fn a_missing_path_is_a_usage_error() {
        let error = root(Path::new("/no/such/folder")).unwrap_err();
        assert_eq!(Failure::status_of(&error), ExitStatus::Usage);
        assert!(error.to_string().starts_with("the root /no/such/folder "));
    }
}
