//! What the tests of the client have in common.

use bowline::testing::{self, Conversation, Peer, Unexpected};
use bowline::types::Revision;
use bowline::types::common::Implementation;
use bowline::{Client, ClientConfig};

pub(crate) type Test = Result<(), Box<dyn std::error::Error>>;

/// A revision of the handshake era.
pub(crate) const OLD: Revision = Revision::V2025_11_25;
/// The revision of the stateless era.
pub(crate) const NEW: Revision = Revision::V2026_07_28;

pub(crate) fn config() -> ClientConfig {
    ClientConfig::new(Implementation::new("client", "1"))
}

pub(crate) async fn connected(
    revision: Revision,
) -> Result<(Client, Conversation, Peer), Unexpected> {
    connected_with(config(), revision).await
}

pub(crate) async fn connected_with(
    config: ClientConfig,
    revision: Revision,
) -> Result<(Client, Conversation, Peer), Unexpected> {
    let (transport, mut peer) = testing::peer();
    let client = Client::start(transport, config);
    let mut server = peer.accept().await?;
    server.handshake(revision).await?;
    client.ready().await.expect("the handshake is done");
    Ok((client, server, peer))
}

/// The same server again, after its stream was lost.
pub(crate) async fn again(
    client: &Client,
    peer: &mut Peer,
    revision: Revision,
) -> Result<Conversation, Unexpected> {
    let mut server = peer.accept().await?;
    server.handshake(revision).await?;
    client.ready().await.expect("the handshake is done");
    Ok(server)
}

/// The client has read all that the server said before this.
pub(crate) async fn all_is_read(
    client: &Client,
    server: &mut Conversation,
) -> Result<(), Unexpected> {
    let answer = client.call("test/barrier", ()).send();
    let request = server.expect("test/barrier").await?;
    server
        .reply(&request, r#"{"resultType":"complete"}"#)
        .await?;
    answer.await.expect("it is answered");
    Ok(())
}
