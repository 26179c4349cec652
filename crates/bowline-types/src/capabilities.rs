//! Capabilities: the optional features of a client or server.
//!
//! Up to 2025-11-25 they are exchanged in the handshake; since 2026-07-28 each request carries
//! those of the client, and `server/discover` returns those of the server. Both sets are open:
//! unknown capabilities are kept.
//!
//! ```
//! use bowline_types::capabilities::{ServerCapabilities, ToolsCapability};
//! use bowline_types::{JsonObject, Revision, Wire};
//!
//! let capabilities = ServerCapabilities::new()
//!     .tools(ToolsCapability::new().list_changed(true))
//!     .logging(JsonObject::new());
//! let json = capabilities.to_json(Revision::LATEST)?;
//! assert_eq!(json.as_str(), r#"{"logging":{},"tools":{"listChanged":true}}"#);
//! # Ok::<(), bowline_types::NotInRevision>(())
//! ```

use crate::json::JsonObject;
use crate::revision::Revision;
use crate::wire::Shape;

wire_struct! {
    /// The capabilities of a client.
    pub struct ClientCapabilities {
        /// Experimental features, by name.
        opt experimental: JsonObject = "experimental", shaped &Shape::Map(&Shape::Object);
        /// Extensions with their settings, by id. In the schema since 2026-07-28; peers of earlier
        /// revisions use them too (SEP-2133).
        opt extensions: JsonObject = "extensions", shaped &Shape::Map(&Shape::Object);
        /// The client has roots.
        opt roots: RootsCapability = "roots";
        /// The client supports sampling.
        opt sampling: SamplingCapability = "sampling";
        /// The client supports elicitation.
        opt elicitation: ElicitationCapability = "elicitation", in since(V2025_06_18),
            when ElicitationCapability::is_known_in;
        /// The client runs requests of the server as tasks.
        opt tasks: ClientTasksCapability = "tasks", in only(V2025_11_25);
        ..extras;
    }
}

impl ClientCapabilities {
    /// Returns `true` if the client declares the extension, with any settings.
    pub fn has_extension(&self, id: &str) -> bool {
        has_extension(&self.extensions, id)
    }

    /// Declares an extension without settings. Keeps the settings if it is already declared.
    pub fn add_extension(&mut self, id: &str) {
        add_extension(&mut self.extensions, id);
    }

    /// Removes an extension.
    pub fn remove_extension(&mut self, id: &str) {
        if let Some(extensions) = &mut self.extensions {
            extensions.remove(id);
        }
        self.extensions.take_if(|extensions| extensions.is_empty());
    }
}

fn has_extension(extensions: &Option<JsonObject>, id: &str) -> bool {
    let extensions = extensions.as_ref();
    extensions.is_some_and(|extensions| extensions.contains_key(id))
}

fn add_extension(extensions: &mut Option<JsonObject>, id: &str) {
    if !has_extension(extensions, id) {
        let extensions = extensions.get_or_insert_with(JsonObject::new);
        extensions.insert(id, JsonObject::new());
    }
}

wire_struct! {
    /// The roots capability of a client.
    pub struct RootsCapability {
        /// The client sends notifications when its roots change.
        opt list_changed: bool = "listChanged", in until(V2025_11_25);
        ..extras;
    }
}

wire_struct! {
    /// The sampling capability of a client.
    pub struct SamplingCapability {
        /// The client supports `includeContext`.
        opt context: JsonObject = "context", in since(V2025_11_25);
        /// The client supports tool use.
        opt tools: JsonObject = "tools", in since(V2025_11_25);
        ..extras;
    }
}

wire_struct! {
    /// The elicitation capability of a client. Without either mode it means form mode.
    pub struct ElicitationCapability [since(V2025_06_18)] {
        /// The client supports form mode.
        opt form: JsonObject = "form", in since(V2025_11_25);
        /// The client supports URL mode.
        opt url: JsonObject = "url", in since(V2025_11_25);
        ..extras;
    }
}

impl ElicitationCapability {
    /// Returns `true` if the client supports form mode.
    pub fn has_form(&self) -> bool {
        self.form.is_some() || self.url.is_none()
    }

    /// Returns `true` if the client supports URL mode.
    pub fn has_url(&self) -> bool {
        self.url.is_some()
    }

    /// In 2025-06-18 the capability means form mode, so a client without form mode must not
    /// declare it.
    fn is_known_in(&self, revision: Revision) -> bool {
        revision >= Revision::V2025_11_25 || self.has_form()
    }
}

wire_struct! {
    /// The tasks capability of a client. Only in 2025-11-25.
    pub struct ClientTasksCapability [only(V2025_11_25)] {
        /// The client supports `tasks/list`.
        opt list: JsonObject = "list";
        /// The client supports `tasks/cancel`.
        opt cancel: JsonObject = "cancel";
        /// The requests that the client can run as tasks.
        opt requests: ClientTaskRequests = "requests";
        ..extras;
    }
}

wire_struct! {
    /// The requests that a client can run as tasks. Only in 2025-11-25.
    pub struct ClientTaskRequests [only(V2025_11_25)] {
        /// The sampling requests.
        opt sampling: SamplingTaskRequests = "sampling";
        /// The elicitation requests.
        opt elicitation: ElicitationTaskRequests = "elicitation";
        ..extras;
    }
}

wire_struct! {
    /// The sampling requests that a client can run as tasks. Only in 2025-11-25.
    pub struct SamplingTaskRequests [only(V2025_11_25)] {
        /// `sampling/createMessage`.
        opt create_message: JsonObject = "createMessage";
        ..extras;
    }
}

wire_struct! {
    /// The elicitation requests that a client can run as tasks. Only in 2025-11-25.
    pub struct ElicitationTaskRequests [only(V2025_11_25)] {
        /// `elicitation/create`.
        opt create: JsonObject = "create";
        ..extras;
    }
}

wire_struct! {
    /// The capabilities of a server.
    pub struct ServerCapabilities {
        /// Experimental features, by name.
        opt experimental: JsonObject = "experimental", shaped &Shape::Map(&Shape::Object);
        /// Extensions with their settings, by id. In the schema since 2026-07-28; peers of earlier
        /// revisions use them too (SEP-2133).
        opt extensions: JsonObject = "extensions", shaped &Shape::Map(&Shape::Object);
        /// The server sends log messages.
        opt logging: JsonObject = "logging";
        /// The server completes arguments. Servers of 2024-11-05 may do so without the capability.
        opt completions: JsonObject = "completions", in since(V2025_03_26);
        /// The server has prompts.
        opt prompts: PromptsCapability = "prompts";
        /// The server has resources.
        opt resources: ResourcesCapability = "resources";
        /// The server has tools.
        opt tools: ToolsCapability = "tools";
        /// The server runs requests as tasks.
        opt tasks: ServerTasksCapability = "tasks", in only(V2025_11_25);
        ..extras;
    }
}

impl ServerCapabilities {
    /// Returns `true` if the server declares the extension, with any settings.
    pub fn has_extension(&self, id: &str) -> bool {
        has_extension(&self.extensions, id)
    }

    /// Declares an extension without settings. Keeps the settings if it is already declared.
    pub fn add_extension(&mut self, id: &str) {
        add_extension(&mut self.extensions, id);
    }
}

wire_struct! {
    /// The prompts capability of a server.
    pub struct PromptsCapability {
        /// The server sends notifications when the list changes.
        opt list_changed: bool = "listChanged";
        ..extras;
    }
}

wire_struct! {
    /// The resources capability of a server.
    pub struct ResourcesCapability {
        /// The server supports subscriptions to resources.
        opt subscribe: bool = "subscribe";
        /// The server sends notifications when the list changes.
        opt list_changed: bool = "listChanged";
        ..extras;
    }
}

wire_struct! {
    /// The tools capability of a server.
    pub struct ToolsCapability {
        /// The server sends notifications when the list changes.
        opt list_changed: bool = "listChanged";
        ..extras;
    }
}

wire_struct! {
    /// The tasks capability of a server. Only in 2025-11-25.
    pub struct ServerTasksCapability [only(V2025_11_25)] {
        /// The server supports `tasks/list`.
        opt list: JsonObject = "list";
        /// The server supports `tasks/cancel`.
        opt cancel: JsonObject = "cancel";
        /// The requests that the server can run as tasks.
        opt requests: ServerTaskRequests = "requests";
        ..extras;
    }
}

wire_struct! {
    /// The requests that a server can run as tasks. Only in 2025-11-25.
    pub struct ServerTaskRequests [only(V2025_11_25)] {
        /// The tool requests.
        opt tools: ToolTaskRequests = "tools";
        ..extras;
    }
}

wire_struct! {
    /// The tool requests that a server can run as tasks. Only in 2025-11-25.
    pub struct ToolTaskRequests [only(V2025_11_25)] {
        /// `tools/call`.
        opt call: JsonObject = "call";
        ..extras;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Wire;

    #[test]
    fn unknown_capabilities_are_kept() {
        let text = r#"{"tools":{"x":1},"com.example/y":{}}"#;
        let capabilities = ServerCapabilities::from_json(text).unwrap();
        assert_eq!(
            capabilities
                .to_json(Revision::V2024_11_05)
                .unwrap()
                .as_str(),
            text
        );
    }

    #[test]
    fn extensions_are_added_and_removed_by_id() {
        let mut client = ClientCapabilities::new();
        client.remove_extension("a/b");
        assert!(!client.has_extension("a/b"));
        client.add_extension("a/b");
        client.add_extension("a/b");
        let json = client.to_json(Revision::LATEST).unwrap();
        assert_eq!(json.as_str(), r#"{"extensions":{"a/b":{}}}"#);
        client.remove_extension("a/c");
        assert!(client.has_extension("a/b"));
        client.remove_extension("a/b");
        assert_eq!(client, ClientCapabilities::new());
        let text = r#"{"extensions":{"a/b":{"x":1}}}"#;
        let mut server = ServerCapabilities::from_json(text).unwrap();
        server.add_extension("a/b");
        assert!(server.has_extension("a/b") && !server.has_extension("x"));
        // Existing settings are kept.
        assert_eq!(server.to_json(Revision::LATEST).unwrap().as_str(), text);
    }

    #[test]
    fn url_mode_alone_is_not_declared_as_form_mode() {
        let url_only = ElicitationCapability::new().url(JsonObject::new());
        assert!(url_only.has_url() && !url_only.has_form());
        assert!(ElicitationCapability::new().has_form());
        let client = ClientCapabilities::new().elicitation(url_only);
        let json = |revision| client.to_json(revision).unwrap().to_string();
        assert_eq!(json(Revision::V2025_06_18), "{}");
        assert_eq!(json(Revision::V2025_11_25), r#"{"elicitation":{"url":{}}}"#);
    }

    #[test]
    fn capabilities_that_2026_dropped_are_omitted() {
        let client = ClientCapabilities::new()
            .roots(RootsCapability::new().list_changed(true))
            .tasks(ClientTasksCapability::new());
        assert_eq!(
            client.to_json(Revision::V2026_07_28).unwrap().as_str(),
            r#"{"roots":{}}"#
        );
    }
}
