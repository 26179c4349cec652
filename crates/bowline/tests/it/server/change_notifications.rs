//! Change notifications: to which clients they are sent, and to which not.

use bowline::server::{CompletionInput, Server, ServerFeatures, tool};
use bowline::types::Revision;
use bowline::types::tools::TaskSupport;
use serde_json::{Value, json};

use super::line_client::LineClient;
use super::raw_client::{RawClient, cancelled, stateless};

const UPDATED: &str = "notifications/resources/updated";

fn server() -> (Server, ServerFeatures) {
    let server = Server::new("changes", "1").resource("r:watched", "r", || async { "" });
    let features = server.features();
    (server, features)
}

/// Many resources change, the watched one among them.
fn change_many(features: &ServerFeatures) {
    for number in 0..2000 {
        features.notify_resource_updated(&format!("r:{number}"));
    }
    features.notify_resource_updated("r:watched");
}

/// What is heard next must be the update.
async fn hear_update(client: &mut RawClient) {
    let received = client.receive().await;
    assert_eq!(received["method"], UPDATED, "{received}");
    assert_eq!(received["params"]["uri"], "r:watched");
}

/// Nothing but the answer to a ping is heard.
async fn hear_nothing(client: &mut RawClient, id: u64) {
    client.send(id, "ping", json!({})).await;
    let received = client.receive().await;
    assert_eq!(received["id"], id, "{received}");
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn an_update_is_not_lost_among_unsubscribed_ones() {
    let (server, features) = server();
    let mut client = RawClient::new(server);
    client.initialize().await;
    change_many(&features);
    hear_nothing(&mut client, 1).await;
    let uri = json!({"uri": "r:watched"});
    client.ask(2, "resources/subscribe", uri.clone()).await;
    change_many(&features);
    hear_update(&mut client).await;
    hear_nothing(&mut client, 3).await;
    client.ask(4, "resources/unsubscribe", uri).await;
    change_many(&features);
    hear_nothing(&mut client, 5).await;
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn a_subscription_is_notified_of_its_own_resources() {
    let (server, features) = server();
    let mut client = RawClient::new(server);
    let listen = |wanted: Value| stateless(json!({"notifications": wanted}));
    let wanted = listen(json!({"resourceSubscriptions": ["r:watched"]}));
    client.send(1, "subscriptions/listen", wanted).await;
    client.receive().await;
    let wanted = listen(json!({"toolsListChanged": true}));
    client.send(2, "subscriptions/listen", wanted).await;
    client.receive().await;
    change_many(&features);
    hear_update(&mut client).await;
    client.write_line(&cancelled(1)).await;
    hear_nothing(&mut client, 3).await;
    change_many(&features);
    hear_nothing(&mut client, 4).await;
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn updates_of_many_subscribed_resources_are_all_sent() {
    let (server, features) = server();
    let mut client = RawClient::new(server);
    let uris = |from: u64| (from..from + 900).map(|number| format!("r:{number}"));
    for id in [1, 2] {
        let uris: Vec<_> = uris(id * 1000).collect();
        let wanted = json!({"notifications": {"resourceSubscriptions": uris}});
        let wanted = stateless(wanted);
        client.send(id, "subscriptions/listen", wanted).await;
        client.receive().await;
    }
    for uri in uris(1000).chain(uris(2000)) {
        features.notify_resource_updated(&uri);
    }
    let mut uris = std::collections::BTreeSet::new();
    while uris.len() < 1800 {
        let received = client.receive().await;
        assert_eq!(received["method"], UPDATED, "{received}");
        uris.insert(received["params"]["uri"].to_string());
    }
}

/// A server with one of each kind, of which nothing stays.
fn emptied() -> (Server, impl Fn()) {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Note {
        id: String,
    }
    let server = Server::new("emptied", "1")
        .add_tool(tool("it", || async {}).task_support(TaskSupport::Optional))
        .resource("r:it", "it", || async { "" })
        .template("t:{id}", "it", |note: Note| async { note.id })
        .prompt("it", "", || async { "" })
        .completion("t:{id}", "id", |_: CompletionInput| async { vec!["1"] });
    let features = server.features();
    let empty = move || {
        assert!(features.remove_tool("it"));
        assert!(features.remove_resource("r:it"));
        assert!(features.remove_completion("t:{id}", "id"));
        assert!(features.remove_template("t:{id}"));
        assert!(features.remove_prompt("it"));
    };
    (server, empty)
}

// proves: SV-3
#[tokio::test]
async fn declared_capabilities_are_served_when_the_last_feature_is_gone() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let (server, empty) = emptied();
        let server = server.build().expect("it can be served");
        let mut client = LineClient::open(&server);
        client.begin(revision).await;
        empty();
        // TL-1: a list may be empty.
        for (method, list) in [
            ("tools/list", "tools"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
            ("prompts/list", "prompts"),
        ] {
            let answer = client.ask(method, "{}").await;
            assert_eq!(answer["result"][list], json!([]), "{method}: {answer}");
        }
        let completed = json!({
            "ref": {"type": "ref/prompt", "name": "it"},
            "argument": {"name": "id", "value": ""},
        });
        let not_found = match revision {
            Revision::V2026_07_28 => -32602,
            _ => -32002,
        };
        for (method, params, code) in [
            ("tools/call", json!({"name": "it"}), -32602),
            ("resources/read", json!({"uri": "r:it"}), not_found),
            ("prompts/get", json!({"name": "it"}), -32602),
            ("completion/complete", completed, -32602),
            ("tasks/get", json!({"taskId": "1"}), -32602),
        ] {
            let answer = client.ask(method, &params.to_string()).await;
            // Since 2026-07-28 tasks are for clients that take them.
            if method == "tasks/get" && revision == Revision::V2026_07_28 {
                assert_eq!(answer["error"]["code"], -32021, "{answer}");
                continue;
            }
            assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
        }
        // A later client gets the same capabilities.
        if revision == Revision::V2025_11_25 {
            let answer = LineClient::open(&server).begin(revision).await;
            let declared = &answer["result"]["capabilities"];
            for kind in ["tools", "resources", "prompts", "completions", "tasks"] {
                assert!(declared[kind].is_object(), "{kind}: {answer}");
            }
        }
    }
}
