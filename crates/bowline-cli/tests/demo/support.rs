//! A client that has started the demo.

use std::time::Duration;

use bowline::transport::{ChildProcess, StderrTo};
use bowline::{Client, ClientConfig, Error, Payload};
use bowline_types::common::Implementation;
use bowline_types::{RawJson, Revision, Revisions};
use serde_json::Value;

/// One revision of each era.
pub(crate) const ERAS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

/// Longer than anything takes on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) fn demo() -> ChildProcess {
    ChildProcess::new(env!("CARGO_BIN_EXE_bowline")).args(["serve", "demo"])
}

pub(crate) async fn connected(revision: Revision) -> Client {
    connected_with(demo().stderr(StderrTo::Nowhere), revision, |_| {}).await
}

pub(crate) async fn connected_with(
    child: ChildProcess,
    revision: Revision,
    more: impl FnOnce(&mut ClientConfig),
) -> Client {
    let mut config = ClientConfig::new(Implementation::new("tests", "1"));
    config.connection().revisions(Revisions::only(revision));
    more(&mut config);
    let client = Client::connect(child, config).await.unwrap();
    assert_eq!(client.revision(), Some(revision));
    client
}

/// The parameters of a call.
pub(crate) fn params(name: &str, arguments: &str) -> String {
    let name = RawJson::from(name);
    format!(r#"{{"name":{},"arguments":{arguments}}}"#, name.as_str())
}

/// The result of a request.
pub(crate) async fn call(client: &Client, method: &'static str, params: &str) -> Value {
    value(&client.call(method, params).await.unwrap())
}

/// The result of a tool.
pub(crate) async fn result(client: &Client, name: &str, arguments: &str) -> Value {
    call(client, "tools/call", &params(name, arguments)).await
}

/// The text of a tool's result.
pub(crate) async fn text(client: &Client, name: &str, arguments: &str) -> String {
    let result = result(client, name, arguments).await;
    let text = result["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{result}")).to_owned()
}

/// The error of a call.
pub(crate) async fn error(client: &Client, method: &'static str, params: &str) -> Error {
    client.call(method, params).await.unwrap_err()
}

/// The text of a resource.
pub(crate) async fn read(client: &Client, uri: &str) -> String {
    let read = call(client, "resources/read", &format!(r#"{{"uri":"{uri}"}}"#)).await;
    read["contents"][0]["text"].as_str().unwrap().to_owned()
}

/// The names of what a list has.
pub(crate) async fn names(client: &Client, method: &'static str, key: &str) -> Vec<String> {
    let listed = call(client, method, "{}").await;
    let things = listed[key].as_array().unwrap().iter();
    things
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

pub(crate) fn value(payload: &Payload) -> Value {
    serde_json::from_str(payload.as_str()).unwrap()
}
