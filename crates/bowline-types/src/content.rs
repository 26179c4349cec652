//! Content: what tools return and prompts consist of.
//!
//! A [`ContentBlock`] is text, an image, audio, a link to a resource, or a resource
//! itself. Kinds that this crate doesn't know are kept as they came.
//!
//! ```
//! use bowline_types::content::ContentBlock;
//! use bowline_types::{Revision, Wire};
//!
//! let block = ContentBlock::text("42");
//! let json = block.to_json(Revision::LATEST)?;
//! assert_eq!(json.as_str(), r#"{"type":"text","text":"42"}"#);
//! # Ok::<(), bowline_types::NotInRevision>(())
//! ```
//!
//! Audio is unknown to 2024-11-05 and links are unknown before 2025-06-18. A peer of
//! such a revision gets a text in their place that says what is missing, so that a
//! model can react to it.

use std::borrow::Cow;

use crate::common::{Annotations, Icon};
use crate::json::{DecodeError, Reader};
use crate::meta::Meta;
use crate::resources::{Resource, ResourceContents};

wire_union! {
    /// A piece of content in a tool's result or a prompt's message.
    pub enum ContentBlock decided by type_tag, "`type`", else text_fallback, keeps invalid {
        /// Text.
        Text(TextContent) = "text";
        /// An image.
        Image(ImageContent) = "image";
        /// Sound.
        Audio(AudioContent) = "audio", in since(V2025_03_26);
        /// A resource that can be read when it is wanted.
        ResourceLink(ResourceLink) = "resource_link", in since(V2025_06_18);
        /// A resource with its contents.
        Resource(EmbeddedResource) = "resource";
    }
}

impl ContentBlock {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        TextContent::new(text).into()
    }

    /// An image, as base64.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        ImageContent::new(data, mime_type).into()
    }

    /// Sound, as base64.
    pub fn audio(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        AudioContent::new(data, mime_type).into()
    }

    /// A resource with its contents.
    pub fn resource(contents: impl Into<ResourceContents>) -> Self {
        EmbeddedResource::new(contents).into()
    }

    /// The text, when it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(content) => Some(&content.text),
            Self::Image(_)
            | Self::Audio(_)
            | Self::ResourceLink(_)
            | Self::Resource(_)
            | Self::Other(_) => None,
        }
    }
}

impl From<&str> for ContentBlock {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for ContentBlock {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

wire_struct! {
    /// Text.
    pub struct TextContent {
        @required "type" = "text";
        /// The text.
        req text: String = "text";
        /// How it may be used.
        hint annotations: Annotations = "annotations";
        /// Additional data.
        meta meta: Meta = "_meta", in since(V2025_06_18);
        ..extras;
    }
}

wire_struct! {
    /// An image.
    pub struct ImageContent {
        @required "type" = "image";
        /// The image as base64.
        req data: String = "data";
        /// Its media type.
        req mime_type: String = "mimeType";
        /// How it may be used.
        hint annotations: Annotations = "annotations";
        /// Additional data.
        meta meta: Meta = "_meta", in since(V2025_06_18);
        ..extras;
    }
}

wire_struct! {
    /// Sound. New in 2025-03-26.
    pub struct AudioContent [since(V2025_03_26)] {
        @required "type" = "audio";
        /// The sound as base64.
        req data: String = "data";
        /// Its media type.
        req mime_type: String = "mimeType";
        /// How it may be used.
        hint annotations: Annotations = "annotations";
        /// Additional data.
        meta meta: Meta = "_meta", in since(V2025_06_18);
        ..extras;
    }
}

wire_struct! {
    /// A link to a resource, which need not be in the server's list. New in 2025-06-18.
    pub struct ResourceLink [since(V2025_06_18)] {
        @required "type" = "resource_link";
        /// Where it is.
        req uri: String = "uri";
        /// Its name for programs.
        req name: String = "name";
        /// Its name for people.
        opt title: String = "title";
        /// What it is.
        opt description: String = "description";
        /// Its media type.
        opt mime_type: String = "mimeType";
        /// Its size in bytes, before base64.
        hint size: i64 = "size";
        /// How it may be used.
        hint annotations: Annotations = "annotations";
        /// Icons to show.
        hint icons: Vec<Icon> = "icons", in since(V2025_11_25);
        /// Additional data.
        meta meta: Meta = "_meta";
        ..extras;
    }
}

impl From<Resource> for ResourceLink {
    fn from(resource: Resource) -> Self {
        let Resource {
            uri,
            name,
            title,
            description,
            mime_type,
            size,
            annotations,
            icons,
            meta,
        } = resource;
        Self {
            title,
            description,
            mime_type,
            size,
            annotations,
            icons,
            meta,
            ..Self::new(uri, name)
        }
    }
}

wire_struct! {
    /// A resource with its contents.
    pub struct EmbeddedResource {
        @required "type" = "resource";
        /// The contents.
        req resource: ResourceContents = "resource";
        /// How it may be used.
        hint annotations: Annotations = "annotations";
        /// Additional data.
        meta meta: Meta = "_meta", in since(V2025_06_18);
        ..extras;
    }
}

/// The `type` of a block; empty when there is none or it is no string, which makes it an
/// unknown one.
pub(crate) fn type_tag<'a>(reader: &mut Reader<'a>) -> Result<Cow<'a, str>, DecodeError> {
    Ok(reader.peek_tag("type").ok().flatten().unwrap_or_default())
}

/// What a peer gets whose revision lacks the kind of block: text, for the same audience.
fn text_fallback(block: &ContentBlock) -> Option<TextContent> {
    let (text, annotations) = match block {
        ContentBlock::Audio(audio) => {
            let kind = &audio.mime_type;
            let text = format!("[audio of type {kind}, which this protocol revision can't carry]");
            (text, &audio.annotations)
        }
        ContentBlock::ResourceLink(link) => {
            let name = link.title.as_deref().unwrap_or(&link.name);
            (
                format!("[resource {name}: {}]", link.uri),
                &link.annotations,
            )
        }
        ContentBlock::Text(_)
        | ContentBlock::Image(_)
        | ContentBlock::Resource(_)
        | ContentBlock::Other(_) => return None,
    };
    Some(TextContent {
        annotations: annotations.clone(),
        ..TextContent::new(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Revision, Wire};

    #[test]
    fn unknown_kinds_and_members_survive() {
        for text in [
            r#"{"type":"hologram","cubes":[1,2]}"#,
            r#"{"no":"type"}"#,
            r#"{"type":"text","text":"x","shade":"blue"}"#,
        ] {
            let block = ContentBlock::from_json(text).unwrap();
            assert_eq!(block.to_json(Revision::LATEST).unwrap().as_str(), text);
        }
    }

    #[test]
    fn the_tag_need_not_come_first() {
        let block = ContentBlock::from_json(r#"{"text":"x","type":"text"}"#).unwrap();
        assert_eq!(block, ContentBlock::text("x"));
        let two = r#"{"type":"text","text":"x","type":"image"}"#;
        assert!(matches!(
            ContentBlock::from_json(two),
            Ok(ContentBlock::Other(_))
        ));
    }

    // proves: PV-5
    #[test]
    fn older_revisions_get_text_in_place_of_unsupported_content() {
        let json = |block: ContentBlock, revision| block.to_json(revision).unwrap().to_string();
        let audio = || ContentBlock::audio("AAAA", "audio/wav");
        assert_eq!(
            json(audio(), Revision::V2024_11_05),
            r#"{"type":"text","text":"[audio of type audio/wav, which this protocol revision can't carry]"}"#
        );
        assert!(json(audio(), Revision::V2025_03_26).contains("AAAA"));
        let link = || ContentBlock::from(ResourceLink::new("file:///a", "a").title("A"));
        assert_eq!(
            json(link(), Revision::V2025_03_26),
            r#"{"type":"text","text":"[resource A: file:///a]"}"#
        );
        assert!(json(link(), Revision::V2025_06_18).contains("resource_link"));
    }
}
