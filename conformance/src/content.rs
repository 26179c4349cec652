//! Tools that return content of each kind, and one that fails.

use bowline::server::{Server, ToolError, base64};
use bowline::types::content::{AudioContent, ContentBlock, EmbeddedResource, ImageContent};
use bowline::types::resources::TextResourceContents;

pub(crate) fn add_to(server: Server) -> Server {
    server
        .tool("test_simple_text", "Returns a text", simple_text)
        .tool("test_image_content", "Returns an image", image)
        .tool("test_audio_content", "Returns audio", audio)
        .tool(
            "test_embedded_resource",
            "Returns a resource with its contents",
            embedded_resource,
        )
        .tool(
            "test_multiple_content_types",
            "Returns text, an image and a resource",
            multiple_content_types,
        )
        .tool("test_error_handling", "Fails", fail)
}

async fn simple_text() -> &'static str {
    "This is a simple text response for testing."
}

async fn image() -> ImageContent {
    ImageContent::new(base64(PNG), "image/png")
}

async fn audio() -> AudioContent {
    AudioContent::new(base64(WAV), "audio/wav")
}

async fn embedded_resource() -> EmbeddedResource {
    let contents = TextResourceContents::new(
        "test://embedded-resource",
        "This is an embedded resource content.",
    );
    EmbeddedResource::new(contents.mime_type("text/plain"))
}

async fn multiple_content_types() -> Vec<ContentBlock> {
    let contents = TextResourceContents::new(
        "test://mixed-content-resource",
        r#"{"test":"data","value":123}"#,
    );
    vec![
        ContentBlock::text("Multiple content types test:"),
        image().await.into(),
        EmbeddedResource::new(contents.mime_type("application/json")).into(),
    ]
}

async fn fail() -> Result<(), ToolError> {
    Err(ToolError::new(
        "This tool intentionally returns an error for testing",
    ))
}

/// An image of one pixel.
pub(crate) const PNG: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
    0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00, 0x00, 0x90, 0x77, 0x53,
    0xde, 0x00, 0x00, 0x00, 0x0c, 0x49, 0x44, 0x41, 0x54, 0x08, 0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0x00,
    0x00, 0x03, 0x01, 0x01, 0x00, 0x18, 0xdd, 0x8d, 0xb0, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e,
    0x44, 0xae, 0x42, 0x60, 0x82,
];

/// A sound without samples: one channel, eight bits, 8000 samples per second.
const WAV: &[u8] = b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\
    \x40\x1f\x00\x00\x01\x00\x08\x00data\x00\x00\x00\x00";
