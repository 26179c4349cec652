//! Completions that fail.

use bowline::server::{CompletionInput, Server, ToolError};
use bowline::types::{ErrorObject, Revision};

use super::support::{call, connected};

fn typed(value: &str) -> String {
    format!(
        r#"{{"ref":{{"type":"ref/prompt","name":"paint"}},"argument":{{"name":"colour","value":"{value}"}}}}"#
    )
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Paint {
    colour: String,
}

// proves: SV-1
#[tokio::test]
async fn a_completion_may_fail_and_internal_errors_are_hidden() {
    let complete = |typed: CompletionInput| async move {
        match typed.value.as_str() {
            "io" => Err(ToolError::from(std::io::Error::other("/etc/secret"))),
            "visible" => Err(ToolError::new("the colours are gone")),
            "wrong" => Err(ToolError::protocol(ErrorObject::new(-32602, "no colour"))),
            _ => Ok(vec!["red"]),
        }
    };
    let server = Server::new("colours", "1")
        .prompt("paint", "Paints", |paint: Paint| async { paint.colour })
        .completion("paint", "colour", complete);
    let client = connected(server, Revision::LATEST).await;
    let completed = call(&client, "completion/complete", &typed("r")).await;
    assert_eq!(completed["completion"]["values"][0], "red");
    for (value, code, words) in [
        ("io", -32603, "failed"),
        ("visible", -32603, "the colours are gone"),
        ("wrong", -32602, "no colour"),
    ] {
        let failed = client.call("completion/complete", typed(value)).await;
        let failed = failed.expect_err("it fails");
        let error = failed.server_error().expect("the server says so");
        assert_eq!(error.code, code, "{error:?}");
        assert!(error.message.contains(words), "{error:?}");
        assert!(!error.message.contains("secret"), "{error:?}");
    }
}
