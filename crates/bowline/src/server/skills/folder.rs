//! Reads a folder of skills: each of its folders with a `SKILL.md` is one.
//!
//! Symbolic links are not followed, neither those that leave the folder nor others, and files that
//! begin with a dot are left out.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use bowline_types::resources::Resource;
use bowline_types::skills::{Skill, SkillFile, SkillFiles};
use sha2::{Digest as _, Sha256};

use super::{Contents, MARKDOWN, SkillSet, front_matter};

const MANIFEST: &str = "SKILL.md";
const MAX_SKILLS: usize = 1000;
/// Of one skill.
const MAX_FILES: usize = 256;
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Of all skills: they are kept in memory.
const MAX_TOTAL_BYTES: u64 = 64 * 1024 * 1024;
/// Folders within each other, and the entries of one.
const MAX_DEPTH: usize = 8;
const MAX_ENTRIES: usize = 4096;

pub(super) fn load(folder: &Path) -> Result<SkillSet, String> {
    let mut loader = Loader {
        set: SkillSet::default(),
        bytes: 0,
    };
    for entry in entries(folder)? {
        let path = folder.join(&entry.name);
        if !entry.is_directory || !path.join(MANIFEST).exists() {
            tracing::debug!(
                name = %entry.name,
                "entry skipped: it is not a folder with a SKILL.md"
            );
            continue;
        }
        if loader.set.skills.iter().count() == MAX_SKILLS {
            return Err(format!("more than {MAX_SKILLS} skills"));
        }
        let loaded = loader.skill(&path, &entry.name);
        loaded.map_err(|error| format!("{}: {error}", entry.name))?;
    }
    Ok(loader.set)
}

struct Loader {
    set: SkillSet,
    bytes: u64,
}

impl Loader {
    fn skill(&mut self, path: &Path, name: &str) -> Result<(), String> {
        let root = format!("skill://{name}");
        let mut files = Vec::new();
        self.directory(path, &root, &mut files, 1)?;
        let uri = format!("{root}/{MANIFEST}");
        // A link or a folder of this name was left out.
        let manifest = self.set.files.get(&uri);
        let manifest = manifest.ok_or_else(|| format!("{MANIFEST} is not a file"))?;
        let text = std::str::from_utf8(&manifest.bytes);
        let text = text.map_err(|_| format!("{MANIFEST} is not UTF-8"))?;
        let front_matter = front_matter::parse(text);
        let front_matter = front_matter.map_err(|error| format!("{MANIFEST}: {error}"))?;
        let skill = Skill::new(&*uri, front_matter, SkillFiles::Listed(files));
        check(&skill, name)?;
        self.set.skills.insert(&uri, skill);
        Ok(())
    }

    /// Reads a directory, and all below it.
    fn directory(
        &mut self,
        path: &Path,
        uri: &str,
        files: &mut Vec<SkillFile>,
        depth: usize,
    ) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!("folders nested more than {MAX_DEPTH} deep"));
        }
        self.set.directories.entry(uri.to_owned()).or_default();
        for entry in entries(path)? {
            let child_path = path.join(&entry.name);
            let child = format!("{uri}/{}", encoded(&entry.name));
            let mut listed = Resource::new(&*child, &*entry.name);
            if entry.is_directory {
                listed.mime_type = Some("inode/directory".to_owned());
                self.directory(&child_path, &child, files, depth + 1)?;
            } else {
                if files.len() == MAX_FILES {
                    return Err(format!("more than {MAX_FILES} files"));
                }
                let mime_type = mime_type_of(&entry.name);
                let bytes = self.read(&child_path)?;
                let size = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
                files.push(SkillFile::new(&*child, digest(&bytes), size));
                listed.mime_type = Some(mime_type.to_owned());
                listed.size = Some(size);
                let contents = Contents { mime_type, bytes };
                self.set.files.insert(child.clone(), contents);
            }
            let entries = self.set.directories.entry(uri.to_owned()).or_default();
            entries.insert(&child, listed);
        }
        Ok(())
    }

    fn read(&mut self, path: &Path) -> Result<Vec<u8>, String> {
        let shown = path.file_name().unwrap_or_default().display();
        let read = || -> io::Result<Vec<u8>> {
            let mut bytes = Vec::new();
            let file = File::open(path)?;
            file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().map_err(|error| format!("{shown}: {error}"))?;
        let size = bytes.len() as u64;
        if size > MAX_FILE_BYTES {
            return Err(format!("{shown}: more than {MAX_FILE_BYTES} bytes"));
        }
        self.bytes += size;
        if self.bytes > MAX_TOTAL_BYTES {
            return Err(format!("more than {MAX_TOTAL_BYTES} bytes in all skills"));
        }
        Ok(bytes)
    }
}

struct Entry {
    name: String,
    is_directory: bool,
}

/// Returns the files and folders of a folder, by their names.
fn entries(folder: &Path) -> Result<Vec<Entry>, String> {
    let failed = |error: io::Error| error.to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // Of the entry itself: a link is a link here.
        let kind = entry.file_type().map_err(failed)?;
        let Ok(name) = entry.file_name().into_string() else {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            tracing::warn!(%name, "file of a skill left out: its name is not UTF-8");
            continue;
        };
        if name.starts_with('.') {
            continue;
        }
        if !kind.is_dir() && !kind.is_file() {
            tracing::warn!(name, "file of a skill left out: it is a link or a device");
            continue;
        }
        if found.len() == MAX_ENTRIES {
            return Err(format!("more than {MAX_ENTRIES} entries"));
        }
        let is_directory = kind.is_dir();
        found.push(Entry { name, is_directory });
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// Checks what the extension requires of a skill.
fn check(skill: &Skill, folder: &str) -> Result<(), String> {
    let name = skill.name().unwrap_or_default();
    if name != folder {
        return Err(format!("its name {name:?} must be the name of its folder"));
    }
    let is_allowed =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let has_lone_dash = name.starts_with('-') || name.ends_with('-') || name.contains("--");
    if !(1..=64).contains(&name.len()) || !name.chars().all(is_allowed) || has_lone_dash {
        let rule = "1 to 64 characters: a-z, 0-9, and single hyphens between them";
        return Err(format!("its name must have {rule}"));
    }
    match skill.description() {
        Some(description) if (1..=1024).contains(&description.chars().count()) => Ok(()),
        _ => Err("its description must have 1 to 1024 characters".to_owned()),
    }
}

fn digest(bytes: &[u8]) -> String {
    let digits = Sha256::digest(bytes);
    let digits = digits.iter().map(|byte| format!("{byte:02x}"));
    format!("sha256:{}", digits.collect::<String>())
}

/// Returns a name as a segment of a URI (RFC 3986).
fn encoded(name: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    name.bytes().map(encode).collect()
}

fn mime_type_of(name: &str) -> &'static str {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    match extension.unwrap_or_default().to_ascii_lowercase().as_str() {
        "md" => MARKDOWN,
        "json" => "application/json",
        "html" | "htm" => "text/html",
        "csv" => "text/csv",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "svg" => "image/svg+xml",
        "pdf" => "application/pdf",
        "txt" | "py" | "sh" | "js" | "ts" | "rs" | "yaml" | "yml" | "toml" | "sql" => "text/plain",
        _ => "application/octet-stream",
    }
}
