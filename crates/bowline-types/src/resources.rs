//! Resources: data that a server offers for reading, identified by URIs.
//!
//! A server lists resources and resource templates, and reads them on request. Clients can
//! subscribe to changes: with `resources/subscribe` up to 2025-11-25, with
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
use crate::content::decoded_size;
use crate::input::{InputRequiredResult, InputResponse};
use crate::json::{DecodeError, Kind, Reader};
use crate::meta::{Meta, NotificationMeta, RequestMeta, ResultMeta};
use crate::result::select_variant;
use crate::wire::Map;

wire_struct! {
    /// A resource as a server lists it.
    pub struct Resource {
        /// The URI.
        req uri: String = "uri";
        /// The programmatic name.
        req name: String = "name";
        /// The display name.
        hint title: String = "title", in since(V2025_06_18);
        /// A description.
        hint description: String = "description";
        /// The media type.
        hint mime_type: String = "mimeType";
        /// The size in bytes, before base64 encoding.
        hint size: i64 = "size";
        /// Hints on how clients may use the resource.
        hint annotations: Annotations = "annotations";
        /// Icons to display.
        hint icons: Vec<Icon> = "icons", in since(V2025_11_25);
        /// Additional metadata.
        meta meta: Meta = "_meta", in since(V2025_06_18);
    }
}

wire_struct! {
    /// A set of resources described by a URI template (RFC 6570).
    pub struct ResourceTemplate {
        /// The URI template.
        req uri_template: String = "uriTemplate";
        /// The programmatic name.
        req name: String = "name";
        /// The display name.
        hint title: String = "title", in since(V2025_06_18);
        /// A description of the resources.
        hint description: String = "description";
        /// The media type, if all the resources have the same.
        hint mime_type: String = "mimeType";
        /// Hints on how clients may use the resource.
        hint annotations: Annotations = "annotations";
        /// Icons to display.
        hint icons: Vec<Icon> = "icons", in since(V2025_11_25);
        /// Additional metadata.
        meta meta: Meta = "_meta", in since(V2025_06_18);
    }
}

wire_union! {
    /// The contents of a resource, or of a part of it.
    pub enum ResourceContents decided by text_or_blob, "the presence of `text` or `blob`", keeps invalid {
        /// Text contents.
        Text(TextResourceContents) = "text";
        /// Binary contents.
        Blob(BlobResourceContents) = "blob";
    }
}

impl ResourceContents {
    /// Creates text contents.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        TextResourceContents::new(uri, text).into()
    }

    /// Creates binary contents, from base64.
    pub fn blob(uri: impl Into<String>, base64: impl Into<String>) -> Self {
        BlobResourceContents::new(uri, base64).into()
    }

    /// Returns the URI, or `None` for contents of an unknown kind.
    pub fn uri(&self) -> Option<&str> {
        match self {
            Self::Text(contents) => Some(&contents.uri),
            Self::Blob(contents) => Some(&contents.uri),
            Self::Other(_) => None,
        }
    }

    /// Returns the contents as text for a model that reads nothing else: a text as it is, and
    /// the URI, media type and size of bytes.
    pub(crate) fn to_text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(contents) => Cow::Borrowed(&contents.text),
            Self::Blob(contents) => {
                let size = decoded_size(&contents.blob);
                let uri = &contents.uri;
                match &contents.mime_type {
                    Some(kind) => format!("[resource: {uri}, {kind}, {size} bytes]").into(),
                    None => format!("[resource: {uri}, {size} bytes]").into(),
                }
            }
            Self::Other(_) => "[resource: unknown contents]".into(),
        }
    }
}

wire_struct! {
    /// The contents of a resource that is text.
    pub struct TextResourceContents {
        /// The URI.
        req uri: String = "uri";
        /// The text.
        req text: String = "text";
        /// The media type.
        opt mime_type: String = "mimeType";
        /// Additional metadata.
        meta meta: Meta = "_meta", in since(V2025_06_18);
        ..extras;
    }
}

wire_struct! {
    /// The contents of a resource that is binary data.
    pub struct BlobResourceContents {
        /// The URI.
        req uri: String = "uri";
        /// The bytes as base64.
        req blob: String = "blob";
        /// The media type.
        opt mime_type: String = "mimeType";
        /// Additional metadata.
        meta meta: Meta = "_meta", in since(V2025_06_18);
        ..extras;
    }
}

list_result! {
    /// The result of `resources/list`.
    pub struct ListResourcesResult {
        /// The resources of the page.
        resources: Vec<Resource> = "resources";
    }
}

list_result! {
    /// The result of `resources/templates/list`.
    pub struct ListResourceTemplatesResult {
        /// The resource templates of the page.
        resource_templates: Vec<ResourceTemplate> = "resourceTemplates";
    }
}

wire_struct! {
    /// The parameters of `resources/read`.
    pub struct ReadResourceParams {
        /// The URI of the resource.
        req uri: String = "uri";
        /// Responses to the input requests of the previous round.
        opt input_responses: Map<InputResponse> = "inputResponses", in since(V2026_07_28), or error;
        /// The request state of the previous round, unchanged.
        opt request_state: String = "requestState", in since(V2026_07_28), or error;
        /// Additional metadata.
        meta meta: RequestMeta = "_meta", must since(V2026_07_28);
    }
}

wire_struct! {
    /// The contents of a resource: one part, or several for a directory.
    pub struct ReadResourceResult {
        @lenient "resultType" = "complete", in since(V2026_07_28);
        /// The parts.
        req contents: Vec<ResourceContents> = "contents";
        /// How long the result may be cached, in milliseconds.
        hint ttl_ms: i64 = "ttlMs", in since(V2026_07_28), must since(V2026_07_28),
            when crate::caching::is_duration, default "0", shaped &crate::wire::Shape::Natural;
        /// Which clients may share a cached copy.
        hint cache_scope: CacheScope = "cacheScope", in since(V2026_07_28),
            must since(V2026_07_28), default "\"private\"";
        /// Additional metadata.
        meta meta: ResultMeta = "_meta";
    }
}

impl ReadResourceResult {
    /// Returns the text parts, joined by line breaks. Binary parts are omitted.
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
    /// A result of `resources/read`.
    pub enum ReadResourceResponse decided by select_variant, "`resultType`" {
        /// The server returned the contents.
        Complete(ReadResourceResult) = "complete";
        /// The server needs input before it can complete. Since 2026-07-28.
        InputRequired(InputRequiredResult) = "input_required", in since(V2026_07_28);
    }
}

wire_struct! {
    /// The parameters of `resources/subscribe` and `resources/unsubscribe`. Up to
    /// 2025-11-25.
    pub struct SubscribeParams [until(V2025_11_25)] {
        /// The URI of the resource.
        req uri: String = "uri";
        /// Additional metadata.
        meta meta: RequestMeta = "_meta";
    }
}

wire_struct! {
    /// The parameters of `notifications/resources/updated`.
    pub struct ResourceUpdatedParams {
        /// The URI of the changed resource: the subscribed resource, or a part of it.
        req uri: String = "uri";
        /// Additional metadata.
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
