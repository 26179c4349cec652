//! Results that are more than text: images, audio, resource links and embedded resources.

use std::time::Duration;

use bowline::server::{Caching, Server, base64, resource, tool};
use bowline::types::common::{Annotations, Role};
use bowline::types::content::{
    AudioContent, ContentBlock, EmbeddedResource, ImageContent, ResourceLink, TextContent,
};
use bowline::types::resources::TextResourceContents;

use super::basics::read_only;
use super::{icons, wav};

const README: &str = "demo://readme";
const PICTURE: &str = "demo://knot.png";
const HOUR: Duration = Duration::from_secs(60 * 60);

pub(super) fn add_to(server: Server) -> Server {
    server
        .add_tool(
            tool("image", image)
                .title("Image")
                .description("Returns an image of a knot, 16 by 16 pixels")
                .icons(icons::knot())
                .annotations(read_only()),
        )
        .add_tool(
            tool("audio", audio)
                .title("Audio")
                .description("Returns a tone of a tenth of a second")
                .annotations(read_only()),
        )
        .add_tool(
            tool("resource_link", link)
                .title("Link to a resource")
                .description("Returns a link to the image, which can be read as a resource")
                .annotations(read_only()),
        )
        .add_tool(
            tool("embedded_resource", embedded)
                .title("Embedded resource")
                .description("Returns a resource with its contents")
                .annotations(read_only()),
        )
        .add_tool(
            tool("mixed", mixed)
                .title("Mixed content")
                .description("Returns text, an image, audio, a link and a resource in one result")
                .annotations(read_only()),
        )
        .add_resource(
            resource(README, "readme", || async { TEXT })
                .title("Read me")
                .description("A description of this server")
                .mime_type("text/markdown")
                .size(TEXT.len() as u64)
                // The text never changes while the server runs.
                .cache(Caching::public(HOUR))
                .annotations(Annotations::new().audience([Role::User]).priority(0.8)),
        )
        .add_resource(
            // Bytes become blob contents.
            resource(PICTURE, "knot.png", || async { icons::png() })
                .title("A knot")
                .description("The image of the tool `image`")
                .mime_type("image/png")
                .cache(Caching::public(HOUR))
                .icons(icons::knot()),
        )
}

async fn image() -> ImageContent {
    ImageContent::new(base64(&icons::png()), "image/png")
}

async fn audio() -> AudioContent {
    AudioContent::new(base64(&wav::tone(440.0)), "audio/wav")
}

async fn link() -> ResourceLink {
    ResourceLink::new(PICTURE, "knot.png")
        .title("A knot")
        .mime_type("image/png")
}

async fn embedded() -> EmbeddedResource {
    EmbeddedResource::new(TextResourceContents::new(README, TEXT).mime_type("text/markdown"))
}

/// Content of several kinds is a list of blocks.
async fn mixed() -> Vec<ContentBlock> {
    let annotations = Annotations::new().audience([Role::Assistant]);
    vec![
        TextContent::new("One of each kind:")
            .annotations(annotations)
            .into(),
        image().await.into(),
        audio().await.into(),
        link().await.into(),
        embedded().await.into(),
    ]
}

const TEXT: &str = "\
# Bowline demo

A server with all features of MCP. The descriptions of its tools explain them.
";
