//! Content: the parts of tool results and prompt messages.
//!
//! A [`ContentBlock`] is text, an image, audio, a link to a resource, or an embedded resource.
//! Blocks of an unknown kind are kept unchanged.
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
//! Audio doesn't exist in 2024-11-05, and resource links don't exist before 2025-06-18. For a peer
//! of such a revision, a text that describes the block replaces it, so that the model learns of
//! it.

use std::borrow::Cow;

use crate::common::{Annotations, Icon};
use crate::json::{DecodeError, Reader};
use crate::meta::Meta;
use crate::resources::{Resource, ResourceContents};

wire_union! {
    /// A block of content in a tool result or a prompt message.
    pub enum ContentBlock decided by type_tag, "`type`", else text_fallback, keeps invalid {
        /// Text content.
        Text(TextContent) = "text";
        /// An image.
        Image(ImageContent) = "image";
        /// Audio.
        Audio(AudioContent) = "audio", in since(V2025_03_26);
        /// A link to a resource.
        ResourceLink(ResourceLink) = "resource_link", in since(V2025_06_18);
        /// An embedded resource, with its contents.
        Resource(EmbeddedResource) = "resource";
    }
}

impl ContentBlock {
    /// Creates a text block.
    pub fn text(text: impl Into<String>) -> Self {
        TextContent::new(text).into()
    }

    /// Creates an image block from base64 data.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        ImageContent::new(data, mime_type).into()
    }

    /// Creates an audio block from base64 data.
    pub fn audio(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        AudioContent::new(data, mime_type).into()
    }

    /// Creates a block with an embedded resource.
    pub fn resource(contents: impl Into<ResourceContents>) -> Self {
        EmbeddedResource::new(contents).into()
    }

    /// Returns the text of a text block, or `None` for other kinds.
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

    /// Returns the block as text for a model that reads nothing else: a text as it is, the text
    /// of an embedded resource, and the name of anything else.
    ///
    /// ```
    /// use bowline_types::content::{ContentBlock, ResourceLink};
    ///
    /// let image = ContentBlock::image("AAECAw==", "image/png");
    /// assert_eq!(image.to_text(), "[image: image/png, 4 bytes]");
    /// let link = ContentBlock::from(ResourceLink::new("file:///a", "a").title("Notes"));
    /// assert_eq!(link.to_text(), "[resource link: file:///a, Notes]");
    /// ```
    pub fn to_text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(content) => Cow::Borrowed(&content.text),
            Self::Image(image) => media("image", &image.mime_type, &image.data),
            Self::Audio(audio) => media("audio", &audio.mime_type, &audio.data),
            Self::ResourceLink(link) => {
                let name = link.title.as_deref().unwrap_or(&link.name);
                format!("[resource link: {}, {name}]", link.uri).into()
            }
            Self::Resource(embedded) => embedded.resource.to_text(),
            Self::Other(json) => match json.as_ref().reader().peek_tag("type") {
                Ok(Some(kind)) => format!("[unknown content: {kind}]").into(),
                Ok(None) | Err(_) => "[unknown content]".into(),
            },
        }
    }
}

/// Returns the name of an image or of sound.
fn media(kind: &str, mime_type: &str, base64: &str) -> Cow<'static, str> {
    format!("[{kind}: {mime_type}, {} bytes]", decoded_size(base64)).into()
}

/// Returns how many bytes a base64 text stands for.
pub(crate) fn decoded_size(base64: &str) -> usize {
    let digits = base64.trim_end_matches('=').len();
    digits / 4 * 3 + digits % 4 * 3 / 4
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
    /// Text content.
    pub struct TextContent {
        @required "type" = "text";
        /// The text.
        req text: String = "text";
        /// Hints on how clients may use the content.
        hint annotations: Annotations = "annotations";
        /// Additional metadata.
        meta meta: Meta = "_meta", in since(V2025_06_18);
        ..extras;
    }
}

wire_struct! {
    /// An image.
    pub struct ImageContent {
        @required "type" = "image";
        /// The image data as base64.
        req data: String = "data";
        /// The media type.
        req mime_type: String = "mimeType";
        /// Hints on how clients may use the content.
        hint annotations: Annotations = "annotations";
        /// Additional metadata.
        meta meta: Meta = "_meta", in since(V2025_06_18);
        ..extras;
    }
}

wire_struct! {
    /// Audio. New in 2025-03-26.
    pub struct AudioContent [since(V2025_03_26)] {
        @required "type" = "audio";
        /// The audio data as base64.
        req data: String = "data";
        /// The media type.
        req mime_type: String = "mimeType";
        /// Hints on how clients may use the content.
        hint annotations: Annotations = "annotations";
        /// Additional metadata.
        meta meta: Meta = "_meta", in since(V2025_06_18);
        ..extras;
    }
}

wire_struct! {
    /// A link to a resource, which need not be among the listed resources. New in 2025-06-18.
    pub struct ResourceLink [since(V2025_06_18)] {
        @required "type" = "resource_link";
        /// The URI of the resource.
        req uri: String = "uri";
        /// The programmatic name.
        req name: String = "name";
        /// The display name.
        opt title: String = "title";
        /// A description.
        opt description: String = "description";
        /// The media type.
        opt mime_type: String = "mimeType";
        /// The size in bytes, before base64 encoding.
        hint size: i64 = "size";
        /// Hints on how clients may use the content.
        hint annotations: Annotations = "annotations";
        /// Icons to display.
        hint icons: Vec<Icon> = "icons", in since(V2025_11_25);
        /// Additional metadata.
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
    /// An embedded resource, with its contents.
    pub struct EmbeddedResource {
        @required "type" = "resource";
        /// The contents.
        req resource: ResourceContents = "resource";
        /// Hints on how clients may use the content.
        hint annotations: Annotations = "annotations";
        /// Additional metadata.
        meta meta: Meta = "_meta", in since(V2025_06_18);
        ..extras;
    }
}

/// Returns the `type` of a block. Empty if it is absent or not a string: the block is then of an
/// unknown kind.
pub(crate) fn type_tag<'a>(reader: &mut Reader<'a>) -> Result<Cow<'a, str>, DecodeError> {
    Ok(reader.peek_tag("type").ok().flatten().unwrap_or_default())
}

/// Returns the text that replaces a block whose kind the peer's revision lacks. It keeps the
/// annotations.
fn text_fallback(block: &ContentBlock) -> Option<TextContent> {
    let (text, annotations) = match block {
        ContentBlock::Audio(audio) => {
            let kind = &audio.mime_type;
            let text = format!("[audio of type {kind}: not supported in this protocol revision]");
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
            r#"{"type":"text","text":"[audio of type audio/wav: not supported in this protocol revision]"}"#
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
