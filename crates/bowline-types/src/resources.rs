//! Resources: data that a server offers for reading, named by URIs.
//!
//! A server lists resources and URI templates, and reads them on request. Clients can
//! watch them: with `resources/subscribe` up to 2025-11-25, with
//! [`subscriptions/listen`](crate::subscriptions) since.
//!
//! ```
//! use bowline_types::resources::{ReadResourceResult, Resource, ResourceContents};
//!
//! let notes = Resource::new("file:///notes.md", "notes").mime_type("text/markdown");
//! let read = ReadResourceResult::new([ResourceContents::text(&notes.uri, "# Notes")]);
//! assert_eq!(read.contents[0].uri(), Some("file:///notes.md"));
//! ```

use std::borrow::Cow;

use crate::caching::CacheScope;
use crate::common::{Annotations, Icon};
use crate::input::{InputRequiredResult, InputResponse};
use crate::json::{DecodeError, Kind, Reader};
use crate::meta::{Meta, NotificationMeta, RequestMeta, ResultMeta};
use crate::result::select_variant;
use crate::wire::Map;

wire_struct! {
    /// A resource as a server lists it.
    pub struct Resource {
        /// Where it is.
        req uri: String = "uri";
        /// Its name for programs.
        req name: String = "name";
        /// Its name for people.
        hint title: String = "title", in since(V2025_06_18);
        /// What it is.
        hint description: String = "description";
        /// Its media type.
        hint mime_type: String = "mimeType";
        /// Its size in bytes, before base64.
        hint size: i64 = "size";
        /// How it may be used.
        hint annotations: Annotations = "annotations";
        /// Icons to show.
        hint icons: Vec<Icon> = "icons", in since(V2025_11_25);
        /// Additional data.
        meta meta: Meta = "_meta", in since(V2025_06_18);
    }
}

wire_struct! {
    /// A family of resources, by a URI template (RFC 6570).
    pub struct ResourceTemplate {
        /// The template.
        req uri_template: String = "uriTemplate";
        /// Its name for programs.
        req name: String = "name";
        /// Its name for people.
        hint title: String = "title", in since(V2025_06_18);
        /// What the resources are.
        hint description: String = "description";
        /// Their media type, when all have the same.
        hint mime_type: String = "mimeType";
        /// How they may be used.
        hint annotations: Annotations = "annotations";
        /// Icons to show.
        hint icons: Vec<Icon> = "icons", in since(V2025_11_25);
        /// Additional data.
        meta meta: Meta = "_meta", in since(V2025_06_18);
    }
}

wire_union! {
    /// What a resource contains.
    pub enum ResourceContents decided by text_or_blob, "the presence of `text` or `blob`", keeps invalid {
        /// Text.
        Text(TextResourceContents) = "text";
        /// Bytes.
        Blob(BlobResourceContents) = "blob";
    }
}

impl ResourceContents {
    /// Text.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        TextResourceContents::new(uri, text).into()
    }

    /// Bytes, as base64.
    pub fn blob(uri: impl Into<String>, base64: impl Into<String>) -> Self {
        BlobResourceContents::new(uri, base64).into()
    }

    /// Where it is. `None` for contents that this crate doesn't know.
    pub fn uri(&self) -> Option<&str> {
        match self {
            Self::Text(contents) => Some(&contents.uri),
            Self::Blob(contents) => Some(&contents.uri),
            Self::Other(_) => None,
        }
    }
}

wire_struct! {
    /// The contents of a resource that is text.
    pub struct TextResourceContents {
        /// Where it is.
        req uri: String = "uri";
        /// The text.
        req text: String = "text";
        /// Its media type.
        opt mime_type: String = "mimeType";
        /// Additional data.
        meta meta: Meta = "_meta", in since(V2025_06_18);
        ..extras;
    }
}

wire_struct! {
    /// The contents of a resource that is not text.
    pub struct BlobResourceContents {
        /// Where it is.
        req uri: String = "uri";
        /// The bytes as base64.
        req blob: String = "blob";
        /// Its media type.
        opt mime_type: String = "mimeType";
        /// Additional data.
        meta meta: Meta = "_meta", in since(V2025_06_18);
        ..extras;
    }
}

list_result! {
    /// The result of `resources/list`.
    pub struct ListResourcesResult {
        /// The resources of this page.
        resources: Vec<Resource> = "resources";
    }
}

list_result! {
    /// The result of `resources/templates/list`.
    pub struct ListResourceTemplatesResult {
        /// The templates of this page.
        resource_templates: Vec<ResourceTemplate> = "resourceTemplates";
    }
}

wire_struct! {
    /// The parameters of `resources/read`.
    pub struct ReadResourceParams {
        /// The resource.
        req uri: String = "uri";
        /// Answers to the input requests of the round before.
        opt input_responses: Map<InputResponse> = "inputResponses", in since(V2026_07_28), or error;
        /// The state of the round before, exactly as it came.
        opt request_state: String = "requestState", in since(V2026_07_28), or error;
        /// Additional data.
        meta meta: RequestMeta = "_meta", must since(V2026_07_28);
    }
}

wire_struct! {
    /// What a resource contains: one part, or several for a directory.
    pub struct ReadResourceResult {
        @lenient "resultType" = "complete", in since(V2026_07_28);
        /// The parts.
        req contents: Vec<ResourceContents> = "contents";
        /// How long it may be cached, in milliseconds.
        hint ttl_ms: i64 = "ttlMs", in since(V2026_07_28), must since(V2026_07_28),
            when crate::caching::is_duration, default "0", shaped &crate::wire::Shape::Natural;
        /// Who may share a cached copy.
        hint cache_scope: CacheScope = "cacheScope", in since(V2026_07_28),
            must since(V2026_07_28), default "\"private\"";
        /// Additional data.
        meta meta: ResultMeta = "_meta";
    }
}

impl ReadResourceResult {
    /// All texts, each on lines of its own. Parts that are bytes are left out.
    ///
    /// ```
    /// use bowline_types::resources::{ReadResourceResult, ResourceContents};
    ///
    /// let read = ReadResourceResult::new([
    ///     ResourceContents::text("file:///a", "one"),
    ///     ResourceContents::blob("file:///b", "AA=="),
    ///     ResourceContents::text("file:///c", "two"),
    /// ]);
    /// assert_eq!(read.text(), "one\ntwo");
    /// ```
    pub fn text(&self) -> String {
        let texts = self.contents.iter().filter_map(|part| match part {
            ResourceContents::Text(part) => Some(&*part.text),
            ResourceContents::Blob(_) | ResourceContents::Other(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

wire_union! {
    /// The answers that `resources/read` can have.
    pub enum ReadResourceResponse decided by select_variant, "`resultType`" {
        /// The contents.
        Complete(ReadResourceResult) = "complete";
        /// The server needs input first. Since 2026-07-28.
        InputRequired(InputRequiredResult) = "input_required", in since(V2026_07_28);
    }
}

wire_struct! {
    /// The parameters of `resources/subscribe` and `resources/unsubscribe`. Up to
    /// 2025-11-25.
    pub struct SubscribeParams [until(V2025_11_25)] {
        /// The resource.
        req uri: String = "uri";
        /// Additional data.
        meta meta: RequestMeta = "_meta";
    }
}

wire_struct! {
    /// The parameters of `notifications/resources/updated`.
    pub struct ResourceUpdatedParams {
        /// What changed: the resource that is watched, or a part of it.
        req uri: String = "uri";
        /// Additional data.
        meta meta: NotificationMeta = "_meta";
    }
}

fn text_or_blob(reader: &mut Reader<'_>) -> Result<Cow<'static, str>, DecodeError> {
    if reader.kind()? != Kind::Object {
        return Err(reader.expected("an object"));
    }
    for name in ["text", "blob"] {
        if reader.peek_member(name)?.is_some() {
            return Ok(name.into());
        }
    }
    Ok("".into())
}
