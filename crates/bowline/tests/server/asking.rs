//! Handlers that ask the client.

use std::time::Duration;

use bowline::server::{Context, Server, ToolError, tool};
use bowline::types::Revision;
use bowline::types::capabilities::{ClientCapabilities, ElicitationCapability};
use bowline::types::elicitation::{ElicitFormParams, ElicitResult, FormSchema, PrimitiveSchema};
use bowline::types::method::requests;
use tokio::time::timeout;

use super::support::{connected_with, tool as called};

const LONG: Duration = Duration::from_secs(10);

async fn asks(cx: Context) -> Result<&'static str, ToolError> {
    let form = FormSchema::new([("name", PrimitiveSchema::string())]);
    let answer = cx.elicit("who", ElicitFormParams::new("Who?", form));
    Ok(match answer.await?.is_accepted() {
        true => "accepted",
        false => "declined",
    })
}

fn elicitation() -> ClientCapabilities {
    ClientCapabilities::new().elicitation(ElicitationCapability::new())
}

// proves: SV-4
#[tokio::test]
async fn a_handler_on_a_thread_of_its_own_asks_in_both_eras() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let server = Server::new("asking", "1").add_tool(tool("asks", asks).blocking());
        let client = connected_with(server, revision, |config| {
            config.connection().capabilities(elicitation());
            config.answer::<requests::Elicit, _, _>(|_| async { Ok(ElicitResult::decline()) });
        })
        .await;
        let words = timeout(LONG, called(&client, "asks", "{}")).await;
        assert_eq!(words.as_deref(), Ok("declined"), "{revision}");
    }
}
