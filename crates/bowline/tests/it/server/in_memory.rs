//! A server in the memory of its test.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bowline::server::{Context, RunningServer, Server, State};
use bowline::types::Revisions;
use bowline::types::common::Implementation;
use bowline::{Client, ClientConfig, ErrorKind};
use bowline_proto::codec::FrameLimits;

/// A server, and a handle that shows whether it still exists.
fn server() -> (RunningServer, Weak<()>) {
    let alive = Arc::new(());
    let weak = Arc::downgrade(&alive);
    let server = Server::new("greeter", "1")
        .state(alive)
        .tool("greet", "Greets", |_: State<Arc<()>>| async { "hello" })
        .tool("flood", "Says too much", || async { "x".repeat(64 * 1024) })
        .tool("hang", "Never returns", |cx: Context| async move {
            cx.cancelled().await;
            "never received"
        });
    (server.build().expect("it can be served"), weak)
}

fn config() -> ClientConfig {
    ClientConfig::new(Implementation::new("test", "1"))
}

async fn greeted(client: &Client) -> String {
    let result = client.tools().call("greet", ()).await;
    result.expect("it is served").text()
}

/// Time is paused: it passes only when all tasks wait.
async fn gone(server: &Weak<()>) -> bool {
    for _ in 0..100 {
        if server.strong_count() == 0 {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    false
}

#[tokio::test(start_paused = true)]
async fn a_server_is_tested_with_the_real_client_in_every_revision() {
    for revision in Revisions::ALL.iter() {
        let (server, alive) = server();
        let mut config = config();
        config.connection().revisions(Revisions::only(revision));
        // The transport keeps the server as long as there is a client.
        let transport = server.in_memory();
        drop(server);
        let client = Client::connect(transport, config).await;
        let client = client.expect("they agree");
        assert_eq!(greeted(&client).await, "hello");
        assert_eq!(client.revision(), Some(revision));

        let hanging = client.tools().call("hang", ()).send();
        assert_eq!(greeted(&client).await, "hello");
        drop((client, hanging));
        assert!(gone(&alive).await, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn two_clients_of_a_server_in_memory_have_sessions_of_their_own() {
    let (server, alive) = server();
    let one = Client::connect(server.in_memory(), config()).await;
    let other = Client::connect(server.in_memory(), config()).await;
    let (one, other) = (one.expect("ready"), other.expect("ready"));
    one.stop().await;
    assert_eq!(greeted(&other).await, "hello");
    other.stop().await;
    drop((one, other, server));
    assert!(gone(&alive).await);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_loses_a_server_in_memory_gets_it_back() {
    let (server, _) = server();
    let mut config = config();
    let mut frames = FrameLimits::default();
    frames.frame = 16 * 1024;
    config.connection().limits().frames(frames);
    let client = Client::connect(server.in_memory(), config).await;
    let client = client.expect("they agree");

    // More than the client takes: it hangs up.
    let error = client.tools().call("flood", ()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OversizedFrame, "{error}");
    client.ready().await.expect("it is opened again");
    assert_eq!(client.session(), 2);
    assert_eq!(greeted(&client).await, "hello");
}

#[tokio::test(start_paused = true)]
async fn a_server_in_memory_that_has_ended_is_not_opened_again() {
    let (server, alive) = server();
    let client = Client::connect(server.in_memory(), config()).await;
    let client = client.expect("they agree");
    server.shut_down();
    let error = Client::connect(server.in_memory(), config()).await;
    let error = error.expect_err("it has ended");
    assert!(
        error.to_string().contains("the server has ended"),
        "{error}"
    );
    drop((client, server));
    assert!(gone(&alive).await);
}
