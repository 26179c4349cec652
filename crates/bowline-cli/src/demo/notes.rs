//! Resources that clients add and remove: each note is in the list, and all are in a template.

use std::sync::Arc;

use bowline::server::{
    CompletionInput, Server, ServerFeatures, State, ToolError, Uri, resource, template, tool,
};
use bowline::types::common::{Annotations, Role};
use bowline::types::tools::ToolAnnotations;
use schemars::JsonSchema;
use serde::Deserialize;

use super::app::App;
use super::icons;

/// The maximum number and size of notes.
const MAX_NOTES: usize = 1000;
const MAX_NOTE_BYTES: usize = 64 * 1024;

const SCHEME: &str = "note:///";
const TEMPLATE: &str = "note:///{name}";

pub(super) fn add_to(server: Server) -> Server {
    server
        .add_tool(
            tool("note_add", note_add)
                .title("Add a note")
                .description("Stores a note as note:///{name}, replacing a note of the same name")
                .annotations(
                    ToolAnnotations::new()
                        .idempotent_hint(true)
                        .open_world_hint(false),
                ),
        )
        .add_tool(
            tool("note_remove", note_remove)
                .title("Remove a note")
                .description("Removes a note")
                .annotations(
                    ToolAnnotations::new()
                        .destructive_hint(true)
                        .idempotent_hint(true)
                        .open_world_hint(false),
                ),
        )
        .add_template(
            template(TEMPLATE, "note", read_note)
                .title("Note")
                .description("A note, by its name")
                .mime_type("text/plain")
                .annotations(Annotations::new().audience([Role::User, Role::Assistant]))
                .icons(icons::knot()),
        )
        .completion(TEMPLATE, "name", complete_name)
}

#[derive(Deserialize, JsonSchema)]
struct Note {
    /// The name: letters, digits, `-` and `_`.
    name: String,
    /// The text.
    text: String,
}

async fn note_add(
    Note { name, text }: Note,
    State(app): State<Arc<App>>,
) -> Result<String, ToolError> {
    check_name(&name)?;
    if text.len() > MAX_NOTE_BYTES {
        return Err(ToolError::new(format!(
            "at most {MAX_NOTE_BYTES} bytes a note"
        )));
    }
    let is_new = {
        let mut notes = app.notes();
        if notes.len() >= MAX_NOTES && !notes.contains_key(&name) {
            return Err(ToolError::new(format!("at most {MAX_NOTES} notes")));
        }
        notes.insert(name.clone(), text).is_none()
    };
    let uri = format!("{SCHEME}{name}");
    if is_new {
        list(&app.features, &uri, &name)?;
    } else {
        app.features.notify_resource_updated(&uri);
    }
    Ok(format!("stored as {uri}"))
}

/// Adds a note to the list of resources; clients are notified of the change.
fn list(features: &ServerFeatures, uri: &str, name: &str) -> Result<(), bowline::Error> {
    let note = resource(
        uri,
        name,
        |Uri(uri): Uri, State(app): State<Arc<App>>| async move {
            let name = uri.strip_prefix(SCHEME)?.to_owned();
            read_note(Name { name }, State(app)).await
        },
    );
    features.add_resource(note.description("A note").mime_type("text/plain"))
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    /// The name of the note.
    name: String,
}

async fn note_remove(
    Name { name }: Name,
    State(app): State<Arc<App>>,
) -> Result<String, ToolError> {
    if app.notes().remove(&name).is_none() {
        return Err(ToolError::new("no such note"));
    }
    app.features.remove_resource(&format!("{SCHEME}{name}"));
    Ok(format!("removed {name}"))
}

/// Returns `None` if the note doesn't exist.
async fn read_note(Name { name }: Name, State(app): State<Arc<App>>) -> Option<String> {
    app.notes().get(&name).cloned()
}

/// Suggests names of notes, for templates and prompts.
pub(super) async fn complete_name(
    typed: CompletionInput,
    State(app): State<Arc<App>>,
) -> Vec<String> {
    let notes = app.notes();
    let names = notes.keys().filter(|name| name.starts_with(&typed.value));
    names.cloned().collect()
}

/// Checks that a name needs no escaping in a URI.
fn check_name(name: &str) -> Result<(), ToolError> {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    match name.len() {
        1..=64 if name.chars().all(is_allowed) => Ok(()),
        _ => Err(ToolError::new(
            "a name must have 1 to 64 letters, digits, - and _",
        )),
    }
}
