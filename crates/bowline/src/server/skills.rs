//! Skills (SEP-2640): folders of instructions and files for a model, of the extension
//! `io.modelcontextprotocol/skills`.
//!
//! `folder` reads them once, into memory: what a client asks for is looked up there, by its whole
//! URI, and no path of a client ever reaches the file system (SE-102). `front_matter` reads the
//! head of a `SKILL.md`.

mod folder;
mod front_matter;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use bowline_types::base64;
use bowline_types::resources::{
    BlobResourceContents, Resource, ResourceContents, TextResourceContents,
};
use bowline_types::skills::{
    GetSkillParams, GetSkillResult, ListSkillsResult, ReadDirectoryParams, ReadDirectoryResult,
    Skill,
};
use bowline_types::{ErrorObject, JsonObject};

use super::features::ServerFeatures;
use super::named_table::NamedTable;
use super::resource::{Uri, resource, template};
use super::service::ClientRequest;

/// The skills of a server.
#[derive(Default)]
pub(super) struct SkillSet {
    /// By the URI of the `SKILL.md`.
    skills: NamedTable<Skill>,
    /// What a directory contains, by its URI.
    directories: HashMap<String, NamedTable<Resource>>,
    files: HashMap<String, Contents>,
}

/// The contents of a file.
struct Contents {
    mime_type: &'static str,
    bytes: Vec<u8>,
}

impl SkillSet {
    /// Reads the skills of a folder.
    ///
    /// # Errors
    ///
    /// When it can't be read, or a skill is invalid: the message names it.
    pub(super) fn load(folder: &Path) -> Result<Self, String> {
        folder::load(folder).map_err(|error| format!("skills of {}: {error}", folder.display()))
    }

    /// Registers the skills, and what serves their files.
    pub(super) fn register(self, features: &ServerFeatures) {
        let set = Arc::new(self);
        for skill in set.skills.iter() {
            let files = Arc::clone(&set);
            let name = skill.name().unwrap_or_default();
            let manifest = resource(&*skill.uri, name, move |Uri(uri): Uri| {
                let contents = files.contents(&uri);
                async move { contents }
            });
            let description = skill.description().unwrap_or_default();
            let manifest = manifest.description(description);
            features.insert_resource(manifest.mime_type(MARKDOWN));
        }
        let files = Arc::clone(&set);
        let files = template("skill://{+path}", "skill-files", move |Uri(uri): Uri| {
            let contents = files.contents(&uri);
            async move { contents }
        });
        features.insert_template(files.description("The files of the skills"));
        features.change(|contents| contents.skills = Some(set));
    }

    fn contents(&self, uri: &str) -> Option<ResourceContents> {
        let file = self.files.get(uri)?;
        Some(match std::str::from_utf8(&file.bytes) {
            Ok(text) => TextResourceContents::new(uri, text)
                .mime_type(file.mime_type)
                .into(),
            Err(_) => BlobResourceContents::new(uri, base64::encode(&file.bytes))
                .mime_type(file.mime_type)
                .into(),
        })
    }

    /// Answers `skills/list`.
    pub(super) fn list(
        &self,
        cursor: Option<&str>,
        method: &str,
        page_size: usize,
    ) -> Result<ListSkillsResult, ErrorObject> {
        let page = self.skills.page(method, cursor, page_size);
        let (page, next) = page.ok_or_else(invalid_cursor)?;
        let skills: Vec<_> = page.into_iter().map(|skill| (**skill).clone()).collect();
        let mut result = ListSkillsResult::new(skills);
        result.next_cursor = next;
        Ok(result)
    }

    /// Answers `skills/get`.
    pub(super) fn get(&self, request: &ClientRequest) -> Result<GetSkillResult, ErrorObject> {
        let params: GetSkillParams = request.decode()?;
        let skill = self.skills.get(&params.uri);
        let skill = skill.ok_or_else(|| no_such("skill", &params.uri))?;
        Ok(GetSkillResult::new((**skill).clone()))
    }

    /// Answers `resources/directory/read`.
    pub(super) fn read_directory(
        &self,
        request: &ClientRequest,
        page_size: usize,
    ) -> Result<ReadDirectoryResult, ErrorObject> {
        let params: ReadDirectoryParams = request.decode()?;
        let uri = params.uri.strip_suffix('/').unwrap_or(&params.uri);
        let entries = self.directories.get(uri);
        let entries = entries.ok_or_else(|| no_such("directory", &params.uri))?;
        let page = entries.page(uri, params.cursor.as_deref(), page_size);
        let (page, next) = page.ok_or_else(invalid_cursor)?;
        let entries: Vec<_> = page.into_iter().map(|entry| (**entry).clone()).collect();
        let mut result = ReadDirectoryResult::new(entries);
        result.next_cursor = next;
        Ok(result)
    }
}

fn invalid_cursor() -> ErrorObject {
    ErrorObject::invalid_params("invalid params.cursor: not a cursor of this list")
}

fn no_such(kind: &str, uri: &str) -> ErrorObject {
    let shown: String = uri.chars().take(256).collect();
    let data: JsonObject = [("uri", shown.as_str())].into_iter().collect();
    ErrorObject::invalid_params(format!("no {kind} at {shown:?}")).data(data)
}

const MARKDOWN: &str = "text/markdown";

/// Prints the names, and not the files.
impl fmt::Debug for SkillSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.skills.iter().map(|skill| &skill.uri);
        f.debug_set().entries(names).finish()
    }
}
