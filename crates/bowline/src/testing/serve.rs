//! A server that is a closure.

use crate::RpcResult;
use bowline_proto::Payload;
use bowline_types::lifecycle::InitializeParams;
use bowline_types::{Era, Revision, Revisions};
use tokio::task::AbortHandle;

use super::Peer;
use super::conversation::Conversation;
use super::handshake::Handshake;
use super::message::{ReceivedMessage, ReceivedRequest};
use super::unexpected::Unexpected;

/// Serves all streams of a client: supports every revision, responds to `ping`, and passes each
/// other request to `handler`, one after the other. Notifications are ignored.
///
/// Serves until the client is dropped, or the server is [stopped](TestServer::stop). An
/// [`Acceptor`](super::Acceptor) can be used as a peer, too.
///
/// ```
/// use bowline::testing;
/// use bowline::types::ErrorObject;
/// use bowline::types::JsonObject;
///
/// # async fn example() {
/// let (transport, peer) = testing::peer();
/// testing::serve_fn(peer, |method, _params| match method {
///     "tools/list" => Ok(JsonObject::parse(r#"{"tools":[]}"#).unwrap().into()),
///     _ => Err(ErrorObject::method_not_found("method not found")),
/// });
/// # drop(transport);
/// # }
/// ```
///
/// # Panics
///
/// Outside a tokio runtime.
pub fn serve_fn<F>(peer: impl Into<Peer>, mut handler: F) -> TestServer
where
    F: FnMut(&str, &Payload) -> RpcResult + Send + 'static,
{
    let mut peer = peer.into();
    let task = tokio::spawn(async move {
        while let Some(mut stream) = peer.accept_without_timeout().await {
            // The client reports how the stream ended.
            let _ = serve(&mut stream, &mut handler).await;
        }
    });
    TestServer(task.abort_handle())
}

/// A server started by [`serve_fn`]. It continues if this is dropped.
#[derive(Debug)]
pub struct TestServer(AbortHandle);

impl TestServer {
    /// Stops the server: its stream ends, and no further stream is accepted.
    pub fn stop(self) {
        self.0.abort();
    }
}

async fn serve<F>(stream: &mut Conversation, handler: &mut F) -> Result<(), Unexpected>
where
    F: FnMut(&str, &Payload) -> RpcResult,
{
    let handshake = Handshake::new(Revision::LATEST);
    while let Some(message) = stream.next_without_timeout().await {
        let ReceivedMessage::Request(request) = message else {
            continue;
        };
        match request.method() {
            "server/discover" => {
                let versions = Revisions::ALL.iter().map(String::from).collect();
                handshake
                    .answer_discover(stream, &request, versions)
                    .await?;
            }
            "initialize" => {
                let revision = requested_revision(&request);
                handshake
                    .answer_initialize(stream, &request, revision)
                    .await?;
            }
            "ping" => stream.reply(&request, "{}").await?,
            method => match handler(method, request.params()) {
                Ok(result) => stream.reply(&request, result).await?,
                Err(error) => stream.reply_error(&request, &error).await?,
            },
        }
    }
    Ok(())
}

/// Returns the revision that the client requests, if it is one of the handshake era.
fn requested_revision(request: &ReceivedRequest) -> Revision {
    let params = request.decode::<InitializeParams>().ok();
    let requested = params.and_then(|params| params.protocol_version.parse::<Revision>().ok());
    let handshake_revision = requested.filter(|revision| revision.era() == Era::Handshake);
    handshake_revision.unwrap_or(Revision::LATEST_HANDSHAKE)
}
