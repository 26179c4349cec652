//! Requests of the stateless era (2026-07-28): each stands alone.

use std::sync::Arc;
use std::time::Duration;

use bowline::server::{Context, HttpRequestParts, Server};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::support::HttpClient;

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

fn server() -> Server {
    Server::new("test", "1.0.0")
        .tool("add", "Adds", |Add { a, b }: Add| async move { a + b })
        .tool("count", "Counts", |cx: Context| async move {
            for step in 1..=3 {
                cx.progress(step, Some(3.into()), None);
            }
            "counted"
        })
        .tool("slow", "Takes long", || async {
            tokio::time::sleep(Duration::from_secs(20)).await;
            "done"
        })
        .tool(
            "headers",
            "Returns what it sees",
            |cx: Context| async move {
                let http: HttpRequestParts = cx.http_request().unwrap();
                let names: Vec<&str> = http.headers().keys().map(|name| name.as_str()).collect();
                names.join(" ")
            },
        )
}

fn add(a: i64, b: i64) -> Value {
    json!({"name": "add", "arguments": {"a": a, "b": b}})
}

// proves: TR-107, TR-100
#[tokio::test]
async fn a_request_that_streams_nothing_is_answered_with_json() {
    let client = HttpClient::new(server());
    let reply = client.stateless(7, "tools/call", add(1, 2)).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("mcp-session-id"), None);
    let body = reply.json().await;
    assert_eq!(body["id"], 7);
    assert_eq!(body["result"]["content"][0]["text"], "3");
}

// proves: TR-108, TR-109, TR-110
#[tokio::test]
async fn notifications_make_the_response_a_stream() {
    let client = HttpClient::new(server());
    let params = json!({"name": "count", "_meta": {"progressToken": "t"}});
    let mut reply = client.stateless(1, "tools/call", params).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("x-accel-buffering").as_deref(), Some("no"));
    for step in 1..=3 {
        let event = reply.next().await.unwrap();
        assert_eq!(event["params"]["progress"], step);
    }
    let response = reply.next().await.unwrap();
    assert_eq!(response["result"]["content"][0]["text"], "counted");
    assert_eq!(reply.next().await, None);
}

// proves: F-HT-17, TR-111
#[tokio::test(start_paused = true)]
async fn a_slow_request_becomes_a_stream_with_comments() {
    let client = HttpClient::new(server());
    let begun = tokio::time::Instant::now();
    let mut reply = client
        .stateless(1, "tools/call", json!({"name": "slow"}))
        .await;
    assert_eq!(begun.elapsed(), Duration::from_secs(2));
    assert!(reply.is_stream());
    assert_eq!(reply.next_chunk().await.unwrap(), ":\n\n");
    assert_eq!(
        begun.elapsed(),
        Duration::from_secs(2),
        "the first byte comes at once"
    );
    assert_eq!(reply.next_chunk().await.unwrap(), ":\n\n");
    assert_eq!(begun.elapsed(), Duration::from_secs(17));
    let response = reply.next().await.unwrap();
    assert_eq!(response["result"]["content"][0]["text"], "done");
    assert_eq!(begun.elapsed(), Duration::from_secs(20));
}

// proves: TR-114, TR-115, TR-117, TR-124, F-HT-13, HS-3, TR-36
#[tokio::test]
async fn refusals_have_a_status_a_code_and_the_id() {
    let client = HttpClient::new(server());
    let unknown = client.stateless(3, "tools/nothing", json!({})).await;
    assert_eq!(unknown.status, 404);
    let body = unknown.json().await;
    assert_eq!(
        (&body["id"], &body["error"]["code"]),
        (&json!(3), &json!(-32601))
    );

    let wrong_name = client
        .clone()
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "other");
    let mut params = add(1, 2);
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let reply = wrong_name
        .post(super::support::request(4, "tools/call", params))
        .await;
    assert_eq!(reply.status, 400);
    let body = reply.json().await;
    assert_eq!(
        (&body["id"], &body["error"]["code"]),
        (&json!(4), &json!(-32020))
    );

    let reply = client.send(client.request(http::Method::POST, "{")).await;
    assert_eq!(reply.status, 400);
    assert_eq!(reply.json().await["error"]["code"], -32700);
}

// proves: TR-116, F-SE-17, F-HT-18
#[tokio::test]
async fn get_and_delete_are_not_offered() {
    let client = HttpClient::new(server()).header("mcp-protocol-version", "2026-07-28");
    for reply in [client.get().await, client.delete().await] {
        assert_eq!(reply.status, 405);
        assert_eq!(reply.header("allow").as_deref(), Some("GET, POST, DELETE"));
    }
}

// proves: TR-112
#[tokio::test(start_paused = true)]
async fn a_client_that_disconnects_cancels_its_request() {
    let ended = Arc::new(Notify::new());
    let begun = Arc::new(Notify::new());
    let (of_handler, of_begin) = (Arc::clone(&ended), Arc::clone(&begun));
    let server = Server::new("test", "1.0.0").tool("wait", "Waits", move |cx: Context| {
        let (ended, begun) = (Arc::clone(&of_handler), Arc::clone(&of_begin));
        async move {
            begun.notify_one();
            cx.cancelled().await;
            ended.notify_one();
        }
    });
    let client = HttpClient::new(server);
    // Before the response has begun, and while it is a stream.
    let pending = tokio::spawn({
        let client = client.clone();
        async move {
            client
                .stateless(1, "tools/call", json!({"name": "wait"}))
                .await
        }
    });
    begun.notified().await;
    pending.abort();
    let at = tokio::time::Instant::now();
    ended.notified().await;
    assert!(at.elapsed() < Duration::from_millis(100));

    let stream = client
        .stateless(2, "tools/call", json!({"name": "wait"}))
        .await;
    begun.notified().await;
    assert!(stream.is_stream());
    drop(stream);
    let at = tokio::time::Instant::now();
    ended.notified().await;
    assert!(at.elapsed() < Duration::from_millis(100));
}

// proves: TR-106
#[tokio::test]
async fn a_notification_is_accepted() {
    let client = HttpClient::new(server()).header("mcp-protocol-version", "2026-07-28");
    let note = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}});
    let reply = client.post(note).await;
    assert_eq!(reply.status, 202);
    assert_eq!(reply.text().await, "");
}

// proves: AU-65
#[tokio::test]
async fn handlers_see_headers_but_no_credentials() {
    let client = HttpClient::new(server())
        .header("authorization", "Bearer secret")
        .header("cookie", "a=b")
        .header("x-trace", "1");
    let reply = client
        .stateless(1, "tools/call", json!({"name": "headers"}))
        .await;
    let body = reply.json().await;
    let names = body["result"]["content"][0]["text"].as_str().unwrap();
    assert!(names.contains("x-trace"), "{names}");
    assert!(
        !names.contains("authorization") && !names.contains("cookie"),
        "{names}"
    );
}

#[tokio::test]
async fn a_subscription_is_a_stream_of_changes() {
    let built = server().build().unwrap();
    let client = HttpClient::of(built.http_service(bowline::server::HttpConfig::new()));
    let params = json!({"notifications": {"toolsListChanged": true}});
    let mut reply = client.stateless(9, "subscriptions/listen", params).await;
    let acknowledged = reply.next().await.unwrap();
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    built.features().remove_tool("slow");
    let changed = reply.next().await.unwrap();
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    built.shut_down();
    let result = reply.next().await.unwrap();
    assert_eq!(result["id"], 9);
    assert_eq!(reply.next().await, None);
}

// proves: F-HT-13
#[tokio::test]
async fn headers_that_repeat_arguments_must_agree_with_them() {
    #[derive(Deserialize, JsonSchema)]
    struct Query {
        #[schemars(extend("x-mcp-header" = "Region"))]
        #[serde(default)]
        region: String,
    }
    let query = |Query { region }: Query| async move { region };
    let server = Server::new("test", "1.0.0").tool("query", "Queries", query);
    let client = HttpClient::new(server.tool("plain", "Has no such argument", query_plainly));
    let with = |value: &str| client.clone().header("mcp-param-region", value);
    let (eu, encoded) = (json!({"region": "eu"}), json!({"region": "E\u{fc}"}));
    for (client, tool, arguments, expected) in [
        (with("eu"), "query", &eu, Ok("eu")),
        (with("=?base64?RcO8?="), "query", &encoded, Ok("E\u{fc}")),
        (client.clone(), "query", &json!({}), Ok("")),
        (client.clone(), "query", &eu, Err("is missing")),
        (with("us"), "query", &eu, Err("differ")),
        (
            with("eu"),
            "query",
            &json!({}),
            Err("its argument is missing"),
        ),
        (with("=?base64?RcO8!?="), "query", &eu, Err("be decoded")),
        // Headers of a tool that doesn't repeat its arguments have no meaning.
        (with("us"), "plain", &eu, Ok("eu")),
    ] {
        let params = json!({"name": tool, "arguments": arguments});
        let reply = client.stateless(5, "tools/call", params).await;
        let status = reply.status;
        let body = reply.json().await;
        match expected {
            Ok(text) => assert_eq!(body["result"]["content"][0]["text"], text, "{body}"),
            Err(words) => {
                assert_eq!((status.as_u16(), &body["id"]), (400, &json!(5)), "{body}");
                assert_eq!(body["error"]["code"], -32020);
                let message = body["error"]["message"].as_str().unwrap();
                assert!(
                    message.starts_with("the header Mcp-Param-Region ") && message.contains(words),
                    "{body}"
                );
            }
        }
    }
}

#[derive(Deserialize, JsonSchema)]
struct Plain {
    region: String,
}

async fn query_plainly(Plain { region }: Plain) -> String {
    region
}

#[test]
fn a_tool_whose_argument_no_header_can_carry_is_refused() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Wrong {
        #[schemars(extend("x-mcp-header" = "no token"))]
        region: String,
    }
    let server = Server::new("test", "1").tool("wrong", "", |_: Wrong| async {});
    let error = server.build().expect_err("it can't be offered").to_string();
    assert!(
        error.contains("tool wrong: x-mcp-header at \"/properties/region\""),
        "{error}"
    );
}
