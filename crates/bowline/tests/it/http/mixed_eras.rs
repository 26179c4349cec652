//! Clients of both eras on one endpoint, and on one connection.

use bowline::server::{Context, HttpConfig, Server};
use serde_json::{Value, json};

use super::socket::{RawClient, RawRequest, SocketServer};

fn server() -> Server {
    Server::new("test", "1.0.0").tool(
        "revision",
        "Returns the revision",
        |cx: Context| async move { cx.revision().to_string() },
    )
}

fn call(id: u64) -> Value {
    json!({
        "jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "revision", "arguments": {}},
    })
}

fn text(answer: &super::socket::Answer) -> String {
    let text = answer.json()["result"]["content"][0]["text"].clone();
    text.as_str().unwrap_or_default().to_owned()
}

async fn open(client: &mut RawClient, revision: &str) -> String {
    let opened = client.ask(RawRequest::initialize(revision).bytes()).await;
    assert_eq!(opened.json()["result"]["protocolVersion"], revision);
    opened.head.header("mcp-session-id").unwrap().to_owned()
}

// proves: F-SE-18, F-SE-17, TR-116, TR-160
#[tokio::test]
async fn both_eras_share_an_endpoint_and_a_connection() {
    let server = SocketServer::start(server(), HttpConfig::new()).await;
    let mut client = server.connect().await;
    let mut sessions = Vec::new();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        sessions.push((revision, open(&mut client, revision).await));
    }
    for id in 1..=3 {
        for (revision, session) in &sessions {
            let request = RawRequest::post(&call(id)).header("Mcp-Session-Id", session.as_str());
            let answer = client.ask(request.bytes()).await;
            assert_eq!(text(&answer), *revision);
            assert_eq!(
                answer.json()["result"].get("resultType"),
                None,
                "{revision}"
            );

            // The session of another client means nothing to a request that stands alone.
            let modern = RawRequest::call(id, "revision")
                .header("Mcp-Session-Id", session.as_str())
                .header("Last-Event-ID", "1");
            let answer = client.ask(modern.bytes()).await;
            assert_eq!(text(&answer), "2026-07-28");
            assert_eq!(answer.json()["result"]["resultType"], "complete");
            assert_eq!(answer.head.header("mcp-session-id"), None);
        }
    }
    // A request without a session is neither.
    let answer = client.ask(RawRequest::post(&call(9)).bytes()).await;
    assert_eq!(answer.head.status, 400);
    let unknown = RawRequest::post(&call(9)).header("Mcp-Session-Id", "unknown");
    assert_eq!(client.ask(unknown.bytes()).await.head.status, 404);
    // A stream of the one, and an end of the other.
    for (revision, session) in &sessions {
        let delete = RawRequest::without_body("DELETE /mcp HTTP/1.1")
            .header("Mcp-Session-Id", session.as_str());
        let modern = delete.clone().header("MCP-Protocol-Version", "2026-07-28");
        assert_eq!(client.ask(modern.bytes()).await.head.status, 405);
        assert_eq!(
            client.ask(delete.bytes()).await.head.status,
            204,
            "{revision}"
        );
        assert_eq!(
            client.ask(delete.bytes()).await.head.status,
            404,
            "{revision}"
        );
    }
    server.shut_down().await;
}

// proves: SE-20, SE-25
#[tokio::test]
async fn nothing_is_inherited_from_the_request_before() {
    let server = Server::new("test", "1.0.0").tool(
        "who",
        "Returns what it sees",
        |cx: Context| async move {
            let http = cx.http_request().unwrap();
            let user = http
                .headers()
                .get("x-user")
                .map(|user| user.to_str().unwrap().to_owned());
            format!("{user:?} {:?}", cx.client_info().map(|client| client.name))
        },
    );
    let server = SocketServer::start(server, HttpConfig::new()).await;
    let mut client = server.connect().await;
    let params = json!({"name": "who", "arguments": {}, "_meta": {
        "io.modelcontextprotocol/clientInfo": {"name": "ann", "version": "1"},
    }});
    let first = RawRequest::stateless(1, "tools/call", params).header("X-User", "ann");
    let answer = client.ask(first.bytes()).await;
    assert_eq!(text(&answer), r#"Some("ann") Some("ann")"#);
    let answer = client.ask(RawRequest::call(2, "who").bytes()).await;
    assert_eq!(text(&answer), "None None");
    server.shut_down().await;
}
