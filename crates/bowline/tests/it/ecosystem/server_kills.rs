//! A server is killed, and what comes of it.

use bowline::client::Retry;
use bowline::client::features::ToolCall;
use bowline::{Client, ConnectionState, ErrorKind, Recovery};

use crate::ecosystem::processes::{Mark, freeze, kill, until_it_is_sent};
use crate::ecosystem::support::LONG;

/// Kills the server with a call that it has not read, once for a call that is made once and
/// once for one that may be made again, and finally when nothing goes on.
///
/// The call must succeed when the server is there.
pub(crate) async fn survives(
    client: &Client,
    mark: &Mark,
    call: impl for<'c> Fn(&'c Client) -> ToolCall<'c>,
) {
    let session = client.session();
    dies_with(client, mark, &call).await;
    works(client, &call).await;
    assert_eq!(client.session(), session + 1);

    let server = mark.server().await;
    freeze(server).await;
    let answer = call(client).retry(Retry::Idempotent).send();
    until_it_is_sent(server).await;
    kill(server);
    let answer = answer.await.expect("it is made again");
    answer.into_result().expect("the tool succeeds");
    assert_eq!(client.session(), session + 2);

    kill(mark.server().await);
    let answer = call(client).retry(Retry::Idempotent).await;
    let answer = answer.expect("it waits for the next server");
    answer.into_result().expect("the tool succeeds");
    assert_eq!(client.session(), session + 3);
}

/// A call during which the server is killed ends with an error that says so.
async fn dies_with(
    client: &Client,
    mark: &Mark,
    call: &impl for<'c> Fn(&'c Client) -> ToolCall<'c>,
) {
    let server = mark.server().await;
    freeze(server).await;
    let answer = call(client).send();
    until_it_is_sent(server).await;
    kill(server);
    let error = answer.await.expect_err("it was killed");
    assert_eq!(error.kind(), ErrorKind::TransportDown, "{error}");
    assert_eq!(error.may_have_run(), Some(true));
    assert_eq!(error.recovery(), Recovery::Reconnect);
    assert!(error.to_string().contains("SIGKILL"), "{error}");
    back(client).await;
    assert_ne!(mark.server().await, server);
}

/// Waits for the next server.
async fn back(client: &Client) {
    let ready = tokio::time::timeout(LONG, client.ready()).await;
    ready.expect("in time").expect("it starts again");
}

/// Kills the server when nothing goes on, and waits for the next one.
pub(crate) async fn replaced(client: &Client, mark: &Mark) {
    let mut changes = client.state_changes();
    kill(mark.server().await);
    while changes.next().await.expect("it goes on").to != ConnectionState::Ready {}
}

async fn works(client: &Client, call: &impl for<'c> Fn(&'c Client) -> ToolCall<'c>) {
    let answer = call(client).await.expect("the next one answers");
    answer.into_result().expect("the tool succeeds");
}
