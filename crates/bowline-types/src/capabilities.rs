//! Capabilities: what each side can do.
//!
//! Up to 2025-11-25 they are exchanged in the handshake; since 2026-07-28 the client's
//! travel with every request and the server's come from `server/discover`. Both are open
//! sets: unknown ones are kept.
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
    /// What a client can do.
    pub struct ClientCapabilities {
        /// Features outside the protocol, by name.
        opt experimental: JsonObject = "experimental", shaped &Shape::Map(&Shape::Object);
        /// Extensions with their settings, by id. In the schema since 2026-07-28; peers of
        /// older revisions use it, too (SEP-2133).
        opt extensions: JsonObject = "extensions", shaped &Shape::Map(&Shape::Object);
        /// Says where a server may work.
        opt roots: RootsCapability = "roots";
        /// Asks its model for a server.
        opt sampling: SamplingCapability = "sampling";
        /// Asks its user for a server.
        opt elicitation: ElicitationCapability = "elicitation", in since(V2025_06_18),
            when ElicitationCapability::is_known_in;
        /// Runs requests of a server as tasks.
        opt tasks: ClientTasksCapability = "tasks", in only(V2025_11_25);
        ..extras;
    }
}

impl ClientCapabilities {
    /// Whether the client has an extension, whatever its settings are.
    pub fn has_extension(&self, id: &str) -> bool {
        has_extension(&self.extensions, id)
    }

    /// Adds an extension without settings.
    pub fn add_extension(&mut self, id: &str) {
        add_extension(&mut self.extensions, id);
    }

    /// Takes an extension out.
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
    /// The client says where a server may work.
    pub struct RootsCapability {
        /// It notifies when that changes.
        opt list_changed: bool = "listChanged", in until(V2025_11_25);
        ..extras;
    }
}

wire_struct! {
    /// The client asks its model for a server.
    pub struct SamplingCapability {
        /// It can put context of servers in.
        opt context: JsonObject = "context", in since(V2025_11_25);
        /// It lets the model use tools.
        opt tools: JsonObject = "tools", in since(V2025_11_25);
        ..extras;
    }
}

wire_struct! {
    /// The client asks its user for a server. Without either mode it means forms.
    pub struct ElicitationCapability [since(V2025_06_18)] {
        /// It shows forms.
        opt form: JsonObject = "form", in since(V2025_11_25);
        /// It opens pages.
        opt url: JsonObject = "url", in since(V2025_11_25);
        ..extras;
    }
}

impl ElicitationCapability {
    /// Whether the client shows forms.
    pub fn has_form(&self) -> bool {
        self.form.is_some() || self.url.is_none()
    }

    /// Whether the client opens pages.
    pub fn has_url(&self) -> bool {
        self.url.is_some()
    }

    /// In 2025-06-18 the capability means forms, so a client that has none must not
    /// declare it.
    fn is_known_in(&self, revision: Revision) -> bool {
        revision >= Revision::V2025_11_25 || self.has_form()
    }
}

wire_struct! {
    /// Tasks that a client runs for a server. Only in 2025-11-25.
    pub struct ClientTasksCapability [only(V2025_11_25)] {
        /// It lists them.
        opt list: JsonObject = "list";
        /// It cancels them.
        opt cancel: JsonObject = "cancel";
        /// The requests that can be tasks.
        opt requests: ClientTaskRequests = "requests";
        ..extras;
    }
}

wire_struct! {
    /// The requests that can be tasks of a client. Only in 2025-11-25.
    pub struct ClientTaskRequests [only(V2025_11_25)] {
        /// Those of sampling.
        opt sampling: SamplingTaskRequests = "sampling";
        /// Those of elicitation.
        opt elicitation: ElicitationTaskRequests = "elicitation";
        ..extras;
    }
}

wire_struct! {
    /// The requests of sampling that can be tasks. Only in 2025-11-25.
    pub struct SamplingTaskRequests [only(V2025_11_25)] {
        /// `sampling/createMessage`.
        opt create_message: JsonObject = "createMessage";
        ..extras;
    }
}

wire_struct! {
    /// The requests of elicitation that can be tasks. Only in 2025-11-25.
    pub struct ElicitationTaskRequests [only(V2025_11_25)] {
        /// `elicitation/create`.
        opt create: JsonObject = "create";
        ..extras;
    }
}

wire_struct! {
    /// What a server can do.
    pub struct ServerCapabilities {
        /// Features outside the protocol, by name.
        opt experimental: JsonObject = "experimental", shaped &Shape::Map(&Shape::Object);
        /// Extensions with their settings, by id. In the schema since 2026-07-28; peers of
        /// older revisions use it, too (SEP-2133).
        opt extensions: JsonObject = "extensions", shaped &Shape::Map(&Shape::Object);
        /// Sends log messages.
        opt logging: JsonObject = "logging";
        /// Completes arguments. 2024-11-05 has completion without the capability.
        opt completions: JsonObject = "completions", in since(V2025_03_26);
        /// Has prompts.
        opt prompts: PromptsCapability = "prompts";
        /// Has resources.
        opt resources: ResourcesCapability = "resources";
        /// Has tools.
        opt tools: ToolsCapability = "tools";
        /// Runs requests as tasks.
        opt tasks: ServerTasksCapability = "tasks", in only(V2025_11_25);
        ..extras;
    }
}

impl ServerCapabilities {
    /// Whether the server has an extension, whatever its settings are.
    pub fn has_extension(&self, id: &str) -> bool {
        has_extension(&self.extensions, id)
    }

    /// Adds an extension without settings.
    pub fn add_extension(&mut self, id: &str) {
        add_extension(&mut self.extensions, id);
    }
}

wire_struct! {
    /// The server has prompts.
    pub struct PromptsCapability {
        /// It notifies when the list changes.
        opt list_changed: bool = "listChanged";
        ..extras;
    }
}

wire_struct! {
    /// The server has resources.
    pub struct ResourcesCapability {
        /// It notifies when a watched resource changes.
        opt subscribe: bool = "subscribe";
        /// It notifies when the list changes.
        opt list_changed: bool = "listChanged";
        ..extras;
    }
}

wire_struct! {
    /// The server has tools.
    pub struct ToolsCapability {
        /// It notifies when the list changes.
        opt list_changed: bool = "listChanged";
        ..extras;
    }
}

wire_struct! {
    /// Tasks that a server runs. Only in 2025-11-25.
    pub struct ServerTasksCapability [only(V2025_11_25)] {
        /// It lists them.
        opt list: JsonObject = "list";
        /// It cancels them.
        opt cancel: JsonObject = "cancel";
        /// The requests that can be tasks.
        opt requests: ServerTaskRequests = "requests";
        ..extras;
    }
}

wire_struct! {
    /// The requests that can be tasks of a server. Only in 2025-11-25.
    pub struct ServerTaskRequests [only(V2025_11_25)] {
        /// Those of tools.
        opt tools: ToolTaskRequests = "tools";
        ..extras;
    }
}

wire_struct! {
    /// The requests of tools that can be tasks. Only in 2025-11-25.
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
        // Settings that are there stay.
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
