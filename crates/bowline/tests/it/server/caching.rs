//! Cache hints in results.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bowline::server::{Caching, Server, State, resource, template};
use bowline::types::Revision;
use bowline::types::caching::CacheScope;
use bowline::types::resources::{ReadResourceResult, ResourceContents, TextResourceContents};
use serde_json::json;

use super::support::{call, connected};

const MINUTE: Duration = Duration::from_secs(60);

fn server() -> Server {
    Server::new("test", "1.0.0")
        .state(Arc::new(AtomicUsize::new(0)))
        .cache_lists(Caching::public(MINUTE))
        .tool("nothing", "Does nothing", || async {})
        .prompt("hello", "Greets", || async { "Hello!" })
        .add_resource(
            resource(
                "test://kept",
                "kept",
                |State(reads): State<Arc<AtomicUsize>>| async move {
                    reads.fetch_add(1, Ordering::Relaxed).to_string()
                },
            )
            .cache(Caching::private(MINUTE)),
        )
        .add_resource(
            resource("test://own", "own", || async {
                let text = TextResourceContents::new("test://own", "says so itself");
                ReadResourceResult::new([text.into()])
                    .ttl_ms(5)
                    .cache_scope(CacheScope::Private)
            })
            .cache(Caching::public(Duration::MAX)),
        )
        .add_template(
            template("test://all/{name}", "all", || async { "any" })
                .cache(Caching::public(Duration::MAX)),
        )
        .resource("test://fresh", "fresh", || async { "fresh" })
}

fn hints(result: &serde_json::Value) -> (&serde_json::Value, &serde_json::Value) {
    (&result["ttlMs"], &result["cacheScope"])
}

// proves: SV-3
#[tokio::test]
async fn results_have_cache_hints_for_lists_and_contents() {
    let client = connected(server(), Revision::V2026_07_28).await;
    for method in [
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
    ] {
        let result = call(&client, method, "{}").await;
        assert_eq!(
            hints(&result),
            (&json!(60_000), &json!("public")),
            "{method}"
        );
    }
    for (uri, ttl, scope) in [
        ("test://kept", json!(60_000), "private"),
        // The handler knows better.
        ("test://own", json!(5), "private"),
        // As long as numbers go.
        ("test://all/x", json!(9_007_199_254_740_991_u64), "public"),
        ("test://fresh", json!(0), "private"),
    ] {
        let params = json!({ "uri": uri }).to_string();
        let result = call(&client, "resources/read", &params).await;
        assert_eq!(hints(&result), (&ttl, &json!(scope)), "{uri}");
    }
}

#[tokio::test]
async fn older_clients_get_no_cache_hints() {
    let client = connected(server(), Revision::V2025_11_25).await;
    let result = call(&client, "tools/list", "{}").await;
    assert_eq!(hints(&result), (&json!(null), &json!(null)));
    let result = call(&client, "resources/read", r#"{"uri":"test://kept"}"#).await;
    assert_eq!(hints(&result), (&json!(null), &json!(null)));
}

// proves: MO-1
#[tokio::test]
async fn the_client_caches_what_the_server_allows() {
    let client = connected(server(), Revision::V2026_07_28).await;
    for _ in 0..3 {
        let read = client.resources().read("test://kept").await;
        let read = read.expect("it is read").contents;
        let [ResourceContents::Text(text)] = read.as_slice() else {
            panic!("not a text: {read:?}");
        };
        assert_eq!(text.text, "0");
    }
}

#[tokio::test]
async fn contents_keep_the_media_type_of_their_handler() {
    let typed = |mime_type: Option<&str>| {
        let mut part = TextResourceContents::new("test://parts", "{}");
        part.mime_type = mime_type.map(str::to_owned);
        part.into()
    };
    let parts: [ResourceContents; 2] = [typed(Some("application/json")), typed(None)];
    let server = Server::new("test", "1.0.0").add_resource(
        resource("test://parts", "parts", move || {
            let parts = parts.to_vec();
            async { parts }
        })
        .mime_type("text/markdown"),
    );
    let client = connected(server, Revision::V2026_07_28).await;
    let read = call(&client, "resources/read", r#"{"uri":"test://parts"}"#).await;
    assert_eq!(read["contents"][0]["mimeType"], "application/json");
    assert_eq!(read["contents"][1]["mimeType"], "text/markdown");
}
