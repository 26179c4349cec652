//! What changes while a client is connected, and how it learns of it.

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::raw_client::RawClient;
use crate::support::{ERAS, LONG, call, connected, names, read, text, value};

// proves: SV-3
#[tokio::test]
async fn plugins_come_and_go() {
    for revision in ERAS {
        let client = connected(revision).await;
        let added = text(&client, "plugin_add", r#"{"answer":"ahoy"}"#).await;
        assert_eq!(added, "plugin_1");
        assert_eq!(text(&client, "plugin_1", "{}").await, "ahoy");
        assert_eq!(text(&client, "plugin_remove", "{}").await, "plugin_1");
        let listed = names(&client, "tools/list", "tools").await;
        assert!(!listed.contains(&"plugin_1".to_owned()));
        assert_eq!(
            text(&client, "plugin_remove", "{}").await,
            "no plugin to remove"
        );
        client.stop().await;
    }
}

// proves: SV-3
#[tokio::test]
async fn a_client_of_the_handshake_era_hears_of_changes() {
    let client = connected(ERAS[0]).await;
    let (sender, mut heard) = mpsc::unbounded_channel();
    client.notifications().on_any(move |notification| {
        let params = notification.params().map_or(Value::Null, value);
        let sent = sender.send((notification.method().to_owned(), params["uri"].clone()));
        async move { sent.unwrap() }
    });
    call(
        &client,
        "resources/subscribe",
        r#"{"uri":"demo://counter"}"#,
    )
    .await;
    for (tool, arguments, method, uri) in [
        (
            "increment",
            "{}",
            "notifications/resources/updated",
            json!("demo://counter"),
        ),
        (
            "plugin_add",
            "{}",
            "notifications/tools/list_changed",
            Value::Null,
        ),
        (
            "note_add",
            r#"{"name":"a","text":""}"#,
            "notifications/resources/list_changed",
            Value::Null,
        ),
    ] {
        text(&client, tool, arguments).await;
        let next = timeout(LONG, heard.recv()).await.unwrap();
        assert_eq!(next, Some((method.to_owned(), uri)));
    }
    assert_eq!(read(&client, "demo://counter").await, "1");
    call(
        &client,
        "resources/unsubscribe",
        r#"{"uri":"demo://counter"}"#,
    )
    .await;
    // No notification of what is not watched: the next one is about the tools.
    assert_eq!(text(&client, "increment", r#"{"by":41}"#).await, "42");
    text(&client, "plugin_remove", "{}").await;
    let next = timeout(LONG, heard.recv()).await.unwrap().unwrap();
    assert_eq!(next.0, "notifications/tools/list_changed");
    client.stop().await;
}

// proves: SV-3
#[test]
fn a_client_of_the_stateless_era_listens_to_changes() {
    let mut raw = RawClient::start();
    let filter = json!({"toolsListChanged": true, "resourceSubscriptions": ["demo://counter"]});
    raw.ask(1, "subscriptions/listen", json!({"notifications": filter}));
    let acknowledged = raw.hear();
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    assert_eq!(acknowledged["params"]["notifications"], filter);
    for (id, tool, method) in [
        (2, "increment", "notifications/resources/updated"),
        (3, "plugin_add", "notifications/tools/list_changed"),
    ] {
        raw.ask(id, "tools/call", json!({"name": tool, "arguments": {}}));
        let (mut answer, mut notification) = (raw.hear(), raw.hear());
        if answer.get("id").is_none() {
            std::mem::swap(&mut answer, &mut notification);
        }
        assert_eq!(answer["id"], id);
        assert_eq!(notification["method"], method);
        let subscription =
            &notification["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
        assert_eq!(subscription, 1);
    }
    // The list of resources was not asked for.
    let note = json!({"name": "note_add", "arguments": {"name": "a", "text": ""}});
    raw.ask(4, "tools/call", note);
    assert_eq!(raw.hear()["id"], 4);
    raw.hang_up();
    // The subscription ends with its result, and on a stream with a word to those who don't
    // expect one.
    let (rest, status) = raw.end();
    assert_eq!(rest.len(), 2, "{rest:?}");
    assert!(rest[1].contains("notifications/cancelled"), "{rest:?}");
    let ended: Value = serde_json::from_str(&rest[0]).unwrap();
    assert_eq!(
        (&ended["id"], &ended["result"]["resultType"]),
        (&1.into(), &"complete".into())
    );
    assert!(status.success());
}
