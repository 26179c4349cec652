//! `subscriptions/listen`, message by message.

use std::ops::ControlFlow;

use bowline::RpcResult;
use bowline::server::{ClientRequest, Handler, RunningServer, Server};
use bowline::types::capabilities::{ServerCapabilities, ToolsCapability};
use bowline::types::logging::LoggingLevel;
use bowline::types::{JsonObject, Revision};
use serde_json::{Value, json};

use super::line_client::LineClient;

fn server() -> RunningServer {
    let server = Server::new("listening", "1").tool("fine", "", || async { "fine" });
    server.build().expect("it can be served")
}

async fn begun(server: &RunningServer) -> LineClient {
    let mut client = LineClient::open(server);
    client.begin(Revision::LATEST).await;
    client
}

const LISTEN: &str = "subscriptions/listen";
const TOOLS: &str = r#"{"notifications":{"toolsListChanged":true}}"#;

// proves: MO-4
#[tokio::test]
async fn one_subscription_too_many_is_busy() {
    let mut client = begun(&server()).await;
    let mut opened = Vec::new();
    for _ in 0..64 {
        opened.push(client.send(LISTEN, TOOLS).await);
        let received = client.receive().await;
        let acknowledged = "notifications/subscriptions/acknowledged";
        assert_eq!(received["method"], acknowledged, "{received}");
    }
    let refused = client.ask(LISTEN, TOOLS).await;
    assert_eq!(refused["error"]["code"], -32603, "{refused}");
    assert_eq!(refused["error"]["data"]["reason"], "busy", "{refused}");
    client.cancel(opened[0]).await;
    client.send(LISTEN, TOOLS).await;
    let received = client.receive().await;
    assert!(
        received.get("error").is_none(),
        "there is room again: {received}"
    );
}

/// Sends as much as can wait to be read before it accepts a subscription.
struct Talks;

impl Handler for Talks {
    fn capabilities(&self) -> ServerCapabilities {
        let tools = ToolsCapability::new().list_changed(true);
        ServerCapabilities::new()
            .tools(tools)
            .logging(JsonObject::new())
    }

    async fn on_request(&self, request: ClientRequest) -> ControlFlow<RpcResult, ClientRequest> {
        while request.context().log(LoggingLevel::Info, "a line") {}
        ControlFlow::Continue(request)
    }
}

// proves: MO-4
#[tokio::test]
async fn a_subscription_is_busy_while_too_much_waits_to_be_read() {
    let server = Server::with_handler("talks", "1", Talks);
    let mut client = begun(&server.build().expect("it can be served")).await;
    let loud = r#"{"notifications":{"toolsListChanged":true},
        "_meta":{"io.modelcontextprotocol/logLevel":"info"}}"#;
    let refused = client.ask(LISTEN, loud).await;
    assert_eq!(refused["error"]["code"], -32603, "{refused}");
    assert_eq!(refused["error"]["data"]["reason"], "busy", "{refused}");
    client.send(LISTEN, TOOLS).await;
    let received = client.receive().await;
    assert!(
        received.get("error").is_none(),
        "there is room again: {received}"
    );
}

// SB-2: what is not supported is left out.
#[tokio::test]
async fn undeclared_capabilities_are_not_acknowledged() {
    let mut client = LineClient::open(&server()).declaring(tasks());
    client.begin(Revision::LATEST).await;
    let all = r#"{"notifications":{"toolsListChanged":true,"promptsListChanged":true,
        "resourceSubscriptions":["r:"],"taskIds":["t1"]}}"#;
    client.send(LISTEN, all).await;
    let received = client.receive().await;
    let honoured = &received["params"]["notifications"];
    assert_eq!(honoured, &json!({"toolsListChanged": true}));
}

/// What a client declares that takes tasks.
fn tasks() -> Value {
    json!({"extensions": {"io.modelcontextprotocol/tasks": {}}})
}

/// Has nothing to say for itself.
struct Silent;

impl Handler for Silent {
    fn capabilities(&self) -> ServerCapabilities {
        ServerCapabilities::new()
    }
}

// TX-15.
#[tokio::test]
async fn tasks_are_followed_by_clients_that_declare_them() {
    let silent = Server::with_handler("silent", "1", Silent).build();
    for server in [server(), silent.expect("it can be served")] {
        let mut client = begun(&server).await;
        let wanted = r#"{"notifications":{"toolsListChanged":true,"taskIds":["t1"]}}"#;
        let refused = client.ask(LISTEN, wanted).await;
        assert_eq!(refused["error"]["code"], -32021, "{refused}");
        let needed = json!({ "requiredCapabilities": tasks() });
        assert_eq!(refused["error"]["data"], needed, "{refused}");
        // A request without task ids doesn't need the extension.
        client
            .send(LISTEN, r#"{"notifications":{"taskIds":[]}}"#)
            .await;
        let received = client.receive().await;
        assert!(received.get("error").is_none(), "{received}");
    }
}

// 2026-07-28, basic/patterns/subscriptions wants the result, and basic/patterns/cancellation
// the notification where there is no stream to be closed.
#[tokio::test]
async fn a_subscription_that_the_server_ends_has_its_result_and_is_cancelled() {
    let server = server();
    let mut client = begun(&server).await;
    let id = client.send(LISTEN, TOOLS).await;
    client.receive().await;
    server.shut_down();
    let result = client.receive().await;
    assert_eq!(result["id"], id, "{result}");
    assert_eq!(result["result"]["resultType"], "complete", "{result}");
    let cancelled = client.receive().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], id, "{cancelled}");
}
