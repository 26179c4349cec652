//! Tools whose input schema is what is tested: keywords of JSON Schema 2020-12, and arguments that
//! are repeated in HTTP headers.

use bowline::server::{Server, tool};
use bowline::types::InputSchema;
use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) fn add_to(server: Server) -> Server {
    let keywords = tool("json_schema_2020_12_tool", || async { "It was called." })
        .description("Has keywords of JSON Schema 2020-12")
        .input_schema(InputSchema::parse(KEYWORDS).expect("a constant that is a schema"));
    server.add_tool(keywords).tool(
        "test_x_mcp_header",
        "Has an argument that is repeated in a header",
        region,
    )
}

#[derive(Deserialize, JsonSchema)]
struct Region {
    /// The region.
    #[schemars(extend("x-mcp-header" = "Region"))]
    #[serde(default)]
    region: String,
}

async fn region(Region { region }: Region) -> String {
    format!("The region is {region:?}.")
}

const KEYWORDS: &str = r##"{
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"}
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {
        "properties": {"contactMethod": {"const": "phone"}},
        "required": ["contactMethod"]
    },
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": false
}"##;
