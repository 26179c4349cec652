//! A server and a client on both ends of a pipe in memory.

use bowline::server::Server;
use bowline::transport::memory;
use bowline::types::Revision;
use bowline::types::common::Implementation;
use bowline::types::{RawJson, Revisions};
use bowline::{Client, ClientConfig};

/// A client of one revision that is connected to a server.
pub(crate) async fn connected(server: Server, revision: Revision) -> Client {
    connected_with(server, revision, |_| {}).await
}

/// The same, with more settings of the client.
pub(crate) async fn connected_with(
    server: Server,
    revision: Revision,
    more: impl FnOnce(&mut ClientConfig),
) -> Client {
    let (transport, mut acceptor) = memory::pair();
    let server = server.build().expect("it can be served");
    tokio::spawn(async move {
        while let Some(stream) = acceptor.accept().await {
            let (reader, writer) = tokio::io::split(stream);
            let stream = bowline::transport::Stream::new(reader, writer);
            tokio::spawn(server.serve_stream(stream));
        }
    });
    let mut config = ClientConfig::new(Implementation::new("client", "1"));
    config.connection().revisions(Revisions::only(revision));
    more(&mut config);
    let client = Client::connect(transport, config).await;
    client.expect("they agree")
}

/// The result of a call, as JSON.
pub(crate) async fn call(client: &Client, method: &'static str, params: &str) -> serde_json::Value {
    let answer = client.call(method, params).await.expect(method);
    serde_json::from_str(answer.as_str()).expect("JSON")
}

/// The text of a tool's result.
pub(crate) async fn tool(client: &Client, name: &str, arguments: &str) -> String {
    let name = RawJson::from(name);
    let params = format!(r#"{{"name":{},"arguments":{arguments}}}"#, name.as_str());
    let result = call(client, "tools/call", &params).await;
    let text = result["content"][0]["text"].as_str();
    text.expect("it is text").to_owned()
}
