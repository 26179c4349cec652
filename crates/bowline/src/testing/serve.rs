//! A server for tests that need one, and don't care which.

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

/// Serves whatever a client opens: it agrees on any revision, answers `ping`, and gives every
/// other request to `answer`, one after the other. Notifications are not answered.
///
/// It serves until the client is gone, or it is [stopped](Serving::stop). An
/// [`Acceptor`](super::Acceptor) is a peer too.
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
pub fn serve_fn<F>(peer: impl Into<Peer>, mut answer: F) -> Serving
where
    F: FnMut(&str, &Payload) -> RpcResult + Send + 'static,
{
    let mut peer = peer.into();
    let task = tokio::spawn(async move {
        while let Some(mut stream) = peer.accept_any().await {
            // How a stream ended is the client's matter, which the test looks at.
            let _ = serve(&mut stream, &mut answer).await;
        }
    });
    Serving(task.abort_handle())
}

/// A server of [`serve_fn`]. It goes on when this is dropped.
#[derive(Debug)]
pub struct Serving(AbortHandle);

impl Serving {
    /// Ends the server: its stream ends, and nobody accepts another one.
    pub fn stop(self) {
        self.0.abort();
    }
}

async fn serve<F>(stream: &mut Conversation, answer: &mut F) -> Result<(), Unexpected>
where
    F: FnMut(&str, &Payload) -> RpcResult,
{
    let handshake = Handshake::new(Revision::LATEST);
    while let Some(message) = stream.next_ever().await {
        let ReceivedMessage::Request(request) = message else {
            continue;
        };
        match request.method() {
            "server/discover" => {
                let versions = Revisions::ALL.iter().map(String::from).collect();
                handshake.discovered(stream, &request, versions).await?;
            }
            "initialize" => {
                let revision = spoken(&request);
                handshake.initialized(stream, &request, revision).await?;
            }
            "ping" => stream.reply(&request, "{}").await?,
            method => match answer(method, request.params()) {
                Ok(result) => stream.reply(&request, result).await?,
                Err(error) => stream.reply_error(&request, &error).await?,
            },
        }
    }
    Ok(())
}

/// The revision that a client asks for, if it is one of the handshake era.
fn spoken(request: &ReceivedRequest) -> Revision {
    let params = request.decode::<InitializeParams>().ok();
    let asked = params.and_then(|params| params.protocol_version.parse::<Revision>().ok());
    let dated = asked.filter(|revision| revision.era() == Era::Handshake);
    dated.unwrap_or(Revision::LATEST_HANDSHAKE)
}
