//! Files for the binary content of results: images, audio and blobs.
//!
//! A file name is never chosen by the server: it is the one that was typed, or made from a known
//! kind, a number, and the extension of a known media type. A file that the user did not name is
//! never overwritten, and one that was named is [replaced](atomic_write) as a whole or not at all.

mod atomic_write;

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use rustix::fs::{Access, access};

use crate::failure::usage;
use crate::output::atomic_write::Target;

pub(crate) use atomic_write::remove_unfinished;

/// Where the content of a result goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Texts to stdout, the rest to files in the current folder.
    Usual,
    /// Texts to stdout, the rest to files in a folder.
    Folder(PathBuf),
    /// The only binary part to a file, or the texts if there is no binary part.
    File(PathBuf),
    /// Everything to stdout, as raw bytes.
    Stdout,
}

impl Output {
    /// Resolves a path: with a slash at its end, or if it exists as one, it is a folder.
    pub(crate) fn resolve(path: Option<PathBuf>) -> Self {
        let Some(path) = path else {
            return Self::Usual;
        };
        if path.as_os_str() == "-" {
            return Self::Stdout;
        }
        let has_slash = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        if has_slash || path.is_dir() {
            Self::Folder(path)
        } else {
            Self::File(path)
        }
    }

    /// Checks if the destination can be written, before a call whose result would otherwise be
    /// lost.
    ///
    /// # Errors
    ///
    /// It can't be written ([`ExitStatus::Usage`](crate::exit::ExitStatus)).
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let (path, checked) = match self {
            Self::Usual | Self::Stdout => return Ok(()),
            Self::File(path) => (path, check_file(path)),
            Self::Folder(path) => (path, check_folder(path)),
        };
        checked.map_err(|reason| {
            let error = anyhow!("cannot write {}: {reason}", path.display());
            usage(error, ELSEWHERE)
        })
    }
}

/// The hint for a destination that can't be written.
const ELSEWHERE: &str = "choose another path with --output, or write to stdout: --output - > FILE";

fn check_file(path: &Path) -> Result<(), String> {
    if path.exists() {
        let allowed = access(path, Access::WRITE_OK);
        allowed.map_err(|error| io::Error::from(error).to_string())?;
    }
    let Target::Regular(path) = Target::of(path) else {
        return Ok(());
    };
    // An existing file is replaced by a new one beside it.
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => writable(Path::new(".")),
        Some(folder) if !folder.exists() => Err(format!("no such directory: {}", folder.display())),
        Some(folder) => writable(folder),
        None => Ok(()),
    }
}

/// A folder that doesn't exist is created in the nearest one that does.
fn check_folder(path: &Path) -> Result<(), String> {
    let there = path.ancestors().find(|ancestor| ancestor.exists());
    writable(there.unwrap_or(Path::new(".")))
}

/// Checks if files can be created in a folder.
fn writable(folder: &Path) -> Result<(), String> {
    if !folder.is_dir() {
        return Err(format!("{} is not a directory", folder.display()));
    }
    let allowed = access(folder, Access::WRITE_OK | Access::EXEC_OK);
    allowed.map_err(|error| {
        let error = io::Error::from(error);
        format!("cannot create files in {}: {error}", folder.display())
    })
}

/// Creates the files of one result.
#[derive(Debug)]
pub(crate) struct Files<'a> {
    output: &'a Output,
}

impl<'a> Files<'a> {
    /// Creates files at the place that `output` names.
    pub(crate) fn new(output: &'a Output) -> Self {
        Self { output }
    }

    /// Saves bytes in a new file, or in the one that was named.
    ///
    /// # Errors
    ///
    /// The file can't be written.
    pub(crate) fn save(
        &self,
        kind: &'static str,
        mime_type: Option<&str>,
        bytes: &[u8],
    ) -> anyhow::Result<PathBuf> {
        let (file, path) = match self.output {
            Output::File(path) => {
                let written = atomic_write::replace(path, bytes);
                written.with_context(|| format!("cannot write {}", path.display()))?;
                return Ok(path.clone());
            }
            Output::Folder(folder) => {
                let made = fs::create_dir_all(folder);
                made.with_context(|| format!("cannot create {}", folder.display()))?;
                fresh(|number| folder.join(own_name(kind, number, mime_type)))?
            }
            Output::Usual | Output::Stdout => {
                fresh(|number| own_name(kind, number, mime_type).into())?
            }
        };
        let written = atomic_write::fill(file, &path, bytes);
        written.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }
}

/// Creates a new file under the first free name.
fn fresh(name: impl Fn(u32) -> PathBuf) -> anyhow::Result<(File, PathBuf)> {
    for number in 1..MAX_NUMBER {
        let path = name(number);
        // Symbolic links are not followed either.
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                let error = anyhow::Error::new(error);
                return Err(error.context(format!("cannot create {}", path.display())));
            }
        }
    }
    bail!(
        "{} and all numbered variants of it exist already",
        name(1).display()
    )
}

fn own_name(kind: &'static str, number: u32, mime_type: Option<&str>) -> String {
    format!("{kind}-{number}.{}", ending(mime_type))
}

/// Returns the file extension of a media type, `bin` for unknown ones.
fn ending(mime_type: Option<&str>) -> &'static str {
    let mime_type = mime_type.unwrap_or_default().to_ascii_lowercase();
    // Without parameters such as a charset.
    let name = mime_type.split(';').next().unwrap_or_default().trim();
    let known = ENDINGS.iter().find(|(known, _)| *known == name);
    known.map_or("bin", |(_, ending)| ending)
}

const ENDINGS: &[(&str, &str)] = &[
    ("image/png", "png"),
    ("image/jpeg", "jpg"),
    ("image/jpg", "jpg"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
    ("image/avif", "avif"),
    ("image/bmp", "bmp"),
    ("image/tiff", "tiff"),
    ("image/svg+xml", "svg"),
    ("audio/wav", "wav"),
    ("audio/x-wav", "wav"),
    ("audio/wave", "wav"),
    ("audio/mpeg", "mp3"),
    ("audio/mp3", "mp3"),
    ("audio/ogg", "ogg"),
    ("audio/flac", "flac"),
    ("audio/aac", "aac"),
    ("audio/mp4", "m4a"),
    ("audio/webm", "weba"),
    ("video/mp4", "mp4"),
    ("video/webm", "webm"),
    ("application/pdf", "pdf"),
    ("application/json", "json"),
    ("application/xml", "xml"),
    ("application/zip", "zip"),
    ("application/gzip", "gz"),
    ("text/plain", "txt"),
    ("text/markdown", "md"),
    ("text/html", "html"),
    ("text/css", "css"),
    ("text/csv", "csv"),
];

/// The number of names that are tried for one kind in one folder.
const MAX_NUMBER: u32 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::ExitStatus;
    use crate::failure::Failure;
    use crate::scratch::Scratch;

    #[test]
    fn the_output_option_decides_where_files_go() {
        let scratch = Scratch::new();
        let folder = scratch.path().to_owned();
        for (path, expected) in [
            (None, Output::Usual),
            (Some("-".into()), Output::Stdout),
            (Some(folder.clone()), Output::Folder(folder.clone())),
            (Some("new/".into()), Output::Folder("new/".into())),
            (Some("new".into()), Output::File("new".into())),
        ] {
            assert_eq!(Output::resolve(path), expected);
        }
    }

    #[test]
    fn a_place_that_cannot_be_written_is_refused_before_anything_is_done() {
        let scratch = Scratch::new();
        let file = scratch.write("file", "");
        let at = |name: &str| scratch.path().join(name);
        for (output, reason) in [
            (Output::Usual, None),
            (Output::Stdout, None),
            (Output::File("new".into()), None),
            (Output::File(file.clone()), None),
            (Output::File(at("new")), None),
            (Output::Folder(at("a/b/")), None),
            (Output::Folder("new/".into()), None),
            (Output::File(at("a/b")), Some("no such directory: ")),
            (Output::File(file.join("x")), Some(" is not a directory")),
            (Output::Folder(file.join("x/")), Some(" is not a directory")),
        ] {
            let checked = output.check();
            let Some(reason) = reason else {
                checked.unwrap();
                continue;
            };
            let error = checked.unwrap_err();
            assert_eq!(Failure::status_of(&error), ExitStatus::Usage);
            assert!(error.to_string().contains(reason), "{error}");
        }
    }

    // proves: F-CL-01
    #[test]
    fn no_name_comes_from_a_server_and_nothing_is_overwritten() {
        let scratch = Scratch::new();
        let taken = scratch.write("image-1.png", "mine");
        let target = scratch.path().join("elsewhere");
        std::os::unix::fs::symlink(&target, scratch.path().join("image-2.png")).unwrap();
        let output = Output::Folder(scratch.path().to_owned());
        let files = Files::new(&output);
        for (mime_type, name) in [
            (Some("image/png"), "image-3.png"),
            (Some("IMAGE/PNG; x=y"), "image-4.png"),
            (Some("../../etc/passwd"), "image-1.bin"),
            (Some("image/\u{1b}[2J"), "image-2.bin"),
            (None, "image-3.bin"),
        ] {
            let path = files.save("image", mime_type, b"new").unwrap();
            assert_eq!(path, scratch.path().join(name));
            assert_eq!(fs::read(path).unwrap(), b"new");
        }
        assert_eq!(fs::read(taken).unwrap(), b"mine");
        assert!(!target.exists());
    }

    #[test]
    fn a_file_that_was_named_is_replaced() {
        let scratch = Scratch::new();
        let named = scratch.write("out.png", "before");
        let output = Output::File(named.clone());
        let path = Files::new(&output).save("image", None, b"after").unwrap();
        assert_eq!(path, named);
        assert_eq!(fs::read(&named).unwrap(), b"after");
        let nowhere = Output::File(named.join("below"));
        let error = Files::new(&nowhere).save("image", None, b"").unwrap_err();
        assert!(error.to_string().starts_with("cannot write "), "{error}");
    }

    #[test]
    fn a_folder_is_created_and_a_full_one_is_an_error() {
        let scratch = Scratch::new();
        let output = Output::Folder(scratch.path().join("a/b/"));
        let path = Files::new(&output).save("audio", Some("audio/wav"), b"x");
        assert_eq!(path.unwrap(), scratch.path().join("a/b/audio-1.wav"));
        let taken = scratch.write("taken", "");
        let error = fresh(|_| taken.clone()).unwrap_err();
        assert!(error.to_string().ends_with("exist already"), "{error}");
    }
}
