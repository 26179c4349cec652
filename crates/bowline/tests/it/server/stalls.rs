//! Servers that could not run for a while: their process was stopped, or their runtime was busy.

use std::time::Duration;

use bowline::server::{Context, Server};
use serde_json::json;
use tokio::time::advance;

use super::raw_client::RawClient;

// proves: F-HD-09
#[tokio::test(start_paused = true)]
async fn an_answer_that_came_during_a_stall_is_read_before_the_question_times_out() {
    let asks = |cx: Context| async move {
        match cx.list_roots("roots").await {
            Ok(roots) => format!("{} roots", roots.roots.len()),
            Err(error) => error.to_string(),
        }
    };
    let server = Server::new("asking", "1").tool("asks", "", asks);
    let mut client = RawClient::new(server.input_request_timeout(Duration::from_secs(30)));
    client.initialize().await;
    client.call(1, "asks").await;
    let question = client.receive().await;
    assert_eq!(question["method"], "roots/list", "{question}");
    // More than is read at once, and nothing here yields to the server.
    let note = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    client.write_line(&vec![note; 300].join("\n")).await;
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}});
    client.write_line(&answer.to_string()).await;
    advance(Duration::from_secs(3600)).await;
    let answer = client.answer(1).await;
    assert_eq!(answer["result"]["content"][0]["text"], "0 roots");
}
