//! The hook that authenticates requests, at every endpoint.

use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bowline::server::{
    Authenticate, Authenticated, AuthenticationRefusal, Context, HttpConfig, HttpRequestHead,
    Principal, Server, ServerCard,
};
use bytes::Bytes;
use http::{HeaderValue, Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::time::Instant;
use tower_service::Service as _;
use tracing::Level;

use super::socket::{RawRequest, SocketServer};
use super::support::{HttpClient, Reply, call};
use crate::event_collector::Collected;

/// What the hook knows of a request, beside its principal.
#[derive(Clone, Debug)]
struct Tenant(u32);

fn challenge() -> HeaderValue {
    HeaderValue::from_static(r#"Bearer resource_metadata="https://a.example/x", scope="a b""#)
}

/// Serves `Bearer ann` and `Bearer eve`, and asks all others for a token.
async fn authenticate(head: HttpRequestHead) -> Result<Authenticated, AuthenticationRefusal> {
    match head.bearer_token() {
        Some(user @ ("ann" | "eve")) => {
            Ok(Authenticated::new(Principal::new(user)).with_extension(Tenant(7)))
        }
        Some("ann, elevated") => Ok(Principal::new("ann").claim("scope", "write").into()),
        Some("none") => Ok(Authenticated::anonymous()),
        Some("few") => Err(AuthenticationRefusal::forbidden().with_challenge(challenge())),
        Some("odd") => Err(AuthenticationRefusal::malformed().message("odd token")),
        Some("down") => Err(AuthenticationRefusal::unavailable()),
        Some("bad") => panic!("a bad hook"),
        Some("slow") => std::future::pending().await,
        _ => Err(AuthenticationRefusal::unauthorized(challenge())
            .with_challenge(HeaderValue::from_static("Negotiate"))),
    }
}

fn server() -> Server {
    let who = async |cx: Context| {
        let http = cx.http_request().expect("it came over HTTP");
        let tenant = http.extensions().get::<Tenant>().map(|tenant| tenant.0);
        let has_token = http.headers().contains_key("authorization");
        let principal = cx.principal();
        let id = principal.as_ref().map_or("anonymous", Principal::id);
        format!("{id} {tenant:?} {has_token}")
    };
    let scope = async |who: Principal| format!("{:?}", who.get("scope"));
    Server::new("guarded", "1.0.0")
        .tool("who", "Tells who calls", who)
        .tool("scope", "Tells the scope of the caller", scope)
}

fn client(hook: impl Authenticate) -> HttpClient {
    HttpClient::with_config(server(), HttpConfig::new().authenticate(hook))
}

async fn who(client: &HttpClient) -> Value {
    let reply = client
        .stateless(1, "tools/call", json!({"name": "who"}))
        .await;
    assert_eq!(reply.status, 200);
    reply.json().await["result"]["content"][0]["text"].take()
}

fn as_user(client: &HttpClient, user: &str) -> HttpClient {
    client
        .clone()
        .header("authorization", format!("Bearer {user}"))
}

// proves: AU-65, SE-20, SE-25
#[tokio::test]
async fn each_request_has_the_principal_of_its_own_credentials() {
    let client = client(authenticate);
    let ann = as_user(&client, "ann");
    assert_eq!(who(&ann).await, "ann Some(7) false");
    assert_eq!(who(&as_user(&client, "eve")).await, "eve Some(7) false");
    assert_eq!(who(&as_user(&client, "none")).await, "anonymous None false");

    let session = ann.open_session("2025-11-25", json!({})).await;
    let reply = session.post(call(1, "who", json!({}))).await;
    let text = &reply.json().await["result"]["content"][0]["text"];
    assert_eq!(*text, "ann Some(7) false");
    // The id of the session alone is worth nothing.
    let stolen = session.clone().without("authorization");
    for reply in [
        stolen.post(call(2, "who", json!({}))).await,
        stolen.get().await,
        stolen.delete().await,
    ] {
        assert_eq!(reply.status, 401);
    }
}

// proves: SE-87
#[tokio::test]
async fn the_client_info_of_a_request_is_no_principal() {
    let says_ann = json!({
        "io.modelcontextprotocol/clientInfo": {"name": "ann", "version": "1"},
        "principal": "ann",
        "sub": "ann",
    });
    let client = client(authenticate)
        .header("x-forwarded-user", "ann")
        .header("x-remote-user", "ann");
    for (user, expected) in [
        ("none", "anonymous None false"),
        ("eve", "eve Some(7) false"),
    ] {
        let params = json!({"name": "who", "_meta": says_ann});
        let reply = as_user(&client, user)
            .stateless(1, "tools/call", params)
            .await;
        let text = &reply.json().await["result"]["content"][0]["text"];
        assert_eq!(*text, expected);
    }
}

// proves: SE-22
#[tokio::test]
async fn the_session_of_another_principal_does_not_exist() {
    let client = client(authenticate);
    let session = as_user(&client, "ann")
        .open_session("2025-11-25", json!({}))
        .await;
    // Nor can another one read its events by their ids.
    let eve = as_user(&session, "eve").header("last-event-id", "1");
    for reply in [
        eve.post(call(1, "who", json!({}))).await,
        eve.get().await,
        eve.delete().await,
    ] {
        assert_eq!(reply.status, 404);
    }
    assert_eq!(session.delete().await.status, 204);
}

// proves: SE-20, SE-22
#[tokio::test]
async fn a_session_goes_on_with_another_token_of_its_principal() {
    let client = client(authenticate);
    let session = as_user(&client, "ann")
        .open_session("2025-11-25", json!({}))
        .await;
    for (token, has_scope) in [("ann", false), ("ann, elevated", true), ("ann", false)] {
        let session = as_user(&session, token);
        let reply = session.post(call(1, "scope", json!({}))).await;
        assert_eq!(reply.status, 200, "{token}");
        let text = reply.json().await["result"]["content"][0]["text"].take();
        // Each call has the claims of its own token, not those of the one that opened the session.
        assert_eq!(
            text.as_str().unwrap().contains("write"),
            has_scope,
            "{text}"
        );
    }
}

// proves: SE-61, HS-13, HS-15
#[tokio::test]
async fn a_refusal_has_its_challenges_and_pages_can_read_it() {
    let client = client(authenticate).header("origin", "http://localhost:3000");
    let expected = [
        ("", 401, -32600, 2),
        ("unknown", 401, -32600, 2),
        ("few", 403, -32600, 1),
        ("odd", 400, -32600, 0),
        ("down", 503, -32603, 0),
    ];
    for (token, status, code, challenges) in expected {
        let client = as_user(&client, token);
        for method in [Method::POST, Method::GET, Method::DELETE] {
            let reply = client.send(client.request(method, "{")).await;
            assert_eq!(reply.status, status, "{token}");
            let found: Vec<_> = reply.headers.get_all("www-authenticate").iter().collect();
            assert_eq!(found.len(), challenges, "{token}");
            assert!(found.iter().take(1).all(|first| **first == challenge()));
            assert_eq!(reply.headers.contains_key("retry-after"), status == 503);
            assert_readable(&reply);
            let body = reply.json().await;
            assert_eq!(body["error"]["code"], code);
            assert!(body.get("id").is_none());
            if token == "odd" {
                assert_eq!(body["error"]["message"], "odd token");
            }
        }
    }
    let stats = client.service.stats();
    assert_eq!(
        (stats.authentication_rejections, stats.busy_rejections),
        (12, 3)
    );
}

fn assert_readable(reply: &Reply) {
    let header = |name| reply.header(name).unwrap_or_default();
    assert_eq!(
        header("access-control-allow-origin"),
        "http://localhost:3000"
    );
    let exposed = header("access-control-expose-headers");
    assert!(exposed.contains("WWW-Authenticate") && exposed.contains("Mcp-Session-Id"));
}

/// A hook that counts, and refuses.
fn counting() -> (Arc<AtomicUsize>, impl Authenticate) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let hook = move |_: HttpRequestHead| {
        counted.fetch_add(1, Ordering::Relaxed);
        let refusal = AuthenticationRefusal::unauthorized(challenge());
        async { Err::<Principal, _>(refusal) }
    };
    (count, hook)
}

// proves: F-HT-18, HS-12
#[tokio::test]
async fn a_preflight_is_answered_before_authentication() {
    let (count, hook) = counting();
    let config = HttpConfig::new().legacy_sse("/sse").authenticate(hook);
    let server = SocketServer::start(server(), config).await;
    for (path, expected) in [("/mcp", "GET, POST, DELETE"), ("/sse", "GET, POST")] {
        let preflight = RawRequest::without_body(&format!("OPTIONS {path} HTTP/1.1"))
            .header("Origin", "http://localhost:3000")
            .header("Access-Control-Request-Method", "POST")
            .header(
                "Access-Control-Request-Headers",
                "authorization, content-type",
            );
        let answer = server.connect().await.ask(preflight.bytes()).await;
        assert_eq!(answer.head.status, 204, "{path}");
        let header = |name| answer.head.header(name).unwrap_or_default();
        assert_eq!(
            header("access-control-allow-origin"),
            "http://localhost:3000"
        );
        assert_eq!(header("access-control-allow-methods"), expected);
        assert!(header("access-control-allow-headers").contains("Authorization"));
        assert_eq!(count.load(Ordering::Relaxed), 0);

        let get = RawRequest::without_body(&format!("GET {path} HTTP/1.1"));
        let answer = server.connect().await.ask(get.bytes()).await;
        assert_eq!(answer.head.status, 401, "{path}");
        assert_eq!(count.swap(0, Ordering::Relaxed), 1);
    }
    server.shut_down().await;
}

// proves: HS-13
#[tokio::test]
async fn the_hook_is_not_asked_for_what_is_refused_anyway() {
    let (count, hook) = counting();
    let client = client(hook);
    for (name, value, status) in [
        ("host", "evil.example", 403),
        ("origin", "http://evil.example", 403),
        ("content-type", "text/plain", 415),
        ("accept", "text/plain", 406),
    ] {
        let client = client.clone().header(name, value);
        assert_eq!(client.post(json!({})).await.status, status);
    }
    assert_eq!(
        client.send(client.request(Method::PUT, "")).await.status,
        405
    );
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

// proves: HS-13
#[tokio::test]
async fn the_body_of_a_refused_request_is_not_awaited() {
    let (_, hook) = counting();
    let server = SocketServer::start(server(), HttpConfig::new().authenticate(hook)).await;
    let request = RawRequest::call(1, "who").replace("Content-Length", "1000000");
    let mut client = server.connect().await;
    assert_eq!(client.ask(request.bytes()).await.head.status, 401);
    server.shut_down().await;
}

// proves: HS-13
#[tokio::test]
async fn health_and_the_card_are_for_everybody() {
    let (count, hook) = counting();
    let card = ServerCard::new("com.example/guarded", "It is guarded").unwrap();
    let config = HttpConfig::new().server_card(card).authenticate(hook);
    let server = SocketServer::start(server(), config).await;
    for path in ["/healthz", "/readyz", "/mcp/server-card"] {
        let get = RawRequest::without_body(&format!("GET {path} HTTP/1.1"));
        let answer = server.connect().await.ask(get.bytes()).await;
        assert_eq!(answer.head.status, 200, "{path}");
    }
    assert_eq!(count.load(Ordering::Relaxed), 0);
    server.shut_down().await;
}

// proves: HS-14
#[tokio::test(start_paused = true)]
async fn a_hook_that_takes_too_long_is_not_waited_for() {
    let start = Instant::now();
    let slow = as_user(&client(authenticate), "slow");
    let reply = slow.get().await;
    assert_eq!(
        (reply.status.as_u16(), start.elapsed().as_secs()),
        (503, 10)
    );
    assert!(reply.headers.contains_key("retry-after"));

    let config = HttpConfig::new().authenticate(authenticate);
    let config = config.authentication_timeout(Duration::from_secs(2));
    let slow = as_user(&HttpClient::with_config(server(), config), "slow");
    let start = Instant::now();
    assert_eq!(slow.get().await.status, 503);
    assert_eq!(start.elapsed().as_secs(), 2);
}

// proves: HS-14, SE-105
#[tokio::test]
async fn a_panic_of_the_hook_is_contained() {
    let at_once =
        |_: HttpRequestHead| -> std::future::Ready<Result<Principal, _>> { panic!("a bad hook") };
    let collected = Collected::up_to(Level::ERROR);
    let _guard = tracing::subscriber::set_default(collected.clone());
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let late = as_user(&client(authenticate), "bad").get().await;
    let at_once = client(at_once).get().await;
    panic::set_hook(hook);
    for reply in [late, at_once] {
        assert_eq!(reply.status, 500);
        assert!(!reply.json().await.to_string().contains("bad hook"));
    }
    let logged = collected.messages(Level::ERROR);
    assert_eq!(logged, ["authentication panicked"; 2]);
}

// proves: SE-22
#[tokio::test]
async fn the_transport_of_2024_is_guarded_too() {
    let config = HttpConfig::new()
        .legacy_sse("/sse")
        .authenticate(authenticate);
    let service = server().build().unwrap().legacy_sse_service(config);
    let send = async |method: Method, uri: &str, token: &str| {
        let request = Request::builder()
            .method(method)
            .uri(uri)
            .header("host", "localhost")
            .header("origin", "http://localhost:3000")
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {token}"));
        let message = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let request = request
            .body(Full::new(Bytes::from(message.to_string())))
            .unwrap();
        service.clone().call(request).await.unwrap()
    };
    for method in [Method::GET, Method::POST] {
        let refused = Reply::of(send(method, "/sse", "").await);
        assert_eq!(refused.status, 401);
        assert_eq!(refused.headers["www-authenticate"], challenge());
        assert_readable(&refused);
    }
    let opened = send(Method::GET, "/sse", "ann").await;
    let mut events = Reply::of(opened);
    let (kind, uri) = events.next_event().await.unwrap();
    assert_eq!(kind, "endpoint");
    assert_eq!(send(Method::POST, &uri, "eve").await.status(), 404);
    assert_eq!(send(Method::POST, &uri, "ann").await.status(), 202);
}
