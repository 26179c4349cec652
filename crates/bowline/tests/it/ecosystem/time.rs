//! `mcp-server-time`: a clock, without a handshake.

use bowline::types::{Revision, Revisions};
use bowline::{ClientConfig, ErrorKind};
use serde_json::{Value, json};

use crate::ecosystem::server_kills::survives;
use crate::ecosystem::support::{Connected, Server, config};

async fn connect(config: ClientConfig) -> Connected {
    let server = Server::python_2("mcp-server-time").args(["--local-timezone", "Etc/UTC"]);
    server.connect(config).await
}

fn noon() -> Value {
    // Neither has summer time.
    json!({"source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "Asia/Kolkata"})
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn the_server_returns_the_time_in_both_eras() {
    for revision in [Revision::V2026_07_28, Revision::V2025_11_25] {
        let mut config = config();
        config.connection().revisions(Revisions::only(revision));
        let server = connect(config).await;
        let client = &server.client;
        assert_eq!(client.revision(), Some(revision));
        let info = client.server_info().expect("it says who it is");
        assert_eq!(info.name, "mcp-time");
        assert_eq!(
            server.tool_names().await,
            ["convert_time", "get_current_time"]
        );

        let converted = client.tools().call("convert_time", noon()).await;
        let converted: Value = converted.expect("an answer").structured().expect("JSON");
        assert_eq!(converted["time_difference"], "-3.5h");
        let target = converted["target"]["datetime"].as_str().expect("a time");
        assert!(target.contains("T08:30:00+05:30"), "{target}");
        let now = json!({"timezone": "Etc/UTC"});
        let now = client.tools().call("get_current_time", now).await;
        let now: Value = now.expect("an answer").structured().expect("JSON");
        assert_eq!(now["is_dst"], false);

        let nowhere = json!({"timezone": "Nowhere/Land"});
        let nowhere = client.tools().call("get_current_time", nowhere).await;
        let error = nowhere
            .expect("an answer")
            .into_result()
            .expect_err("it fails");
        assert_eq!(error.kind(), ErrorKind::Tool);
        assert!(error.to_string().contains("Nowhere/Land"), "{error}");
        let unknown = client.tools().call("no_such_tool", ()).await;
        let error = unknown.expect_err("there is no such tool");
        assert_eq!(error.server_error().map(|error| error.code), Some(-32602));

        // It says that it has these, and there are none.
        assert_eq!(client.resources().list_all().await.expect("a list"), []);
        assert_eq!(client.prompts().list_all().await.expect("a list"), []);
        server.stop().await;
    }
}

// proves: TP-2
#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn a_killed_server_is_replaced() {
    let server = connect(config()).await;
    assert_eq!(server.client.revision(), Some(Revision::V2026_07_28));
    survives(&server.client, &server.mark, |client| {
        client.tools().call("convert_time", noon())
    })
    .await;
    server.stop().await;
}
