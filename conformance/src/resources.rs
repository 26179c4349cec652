//! Resources and a template.

use bowline::server::{Server, resource, template};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::content::PNG;

pub(crate) fn add_to(server: Server) -> Server {
    server
        .add_resource(
            resource("test://static-text", "Static Text Resource", text)
                .description("A text that never changes")
                .mime_type("text/plain"),
        )
        .add_resource(
            resource("test://static-binary", "Static Binary Resource", binary)
                .description("An image that never changes")
                .mime_type("image/png"),
        )
        .add_resource(
            resource("test://watched-resource", "Watched Resource", watched)
                .description("A resource to subscribe to")
                .mime_type("text/plain"),
        )
        .add_template(
            template("test://template/{id}/data", "Resource Template", data)
                .description("Data by their id")
                .mime_type("application/json"),
        )
}

async fn text() -> &'static str {
    "This is the content of the static text resource."
}

async fn binary() -> Vec<u8> {
    PNG.to_vec()
}

async fn watched() -> &'static str {
    "This is the content of the watched resource."
}

#[derive(Deserialize, JsonSchema)]
struct Id {
    id: String,
}

async fn data(Id { id }: Id) -> String {
    let data = format!("Data for ID: {id}");
    json!({"id": id, "templateTest": true, "data": data}).to_string()
}
