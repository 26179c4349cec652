//! What the tests of the client have in common.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bowline::testing::{self, Conversation, Handshake, Peer, Unexpected};
use bowline::transport::{OpenError, Stream, Transport};
use bowline::types::capabilities::ServerCapabilities;
use bowline::types::common::Implementation;
use bowline::types::{Revision, Wire};
use bowline::{Client, ClientConfig};
use tokio::io::{DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::sync::mpsc;

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

/// Waits until the client has read all that the server sent before.
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

type Reader = ReadHalf<DuplexStream>;
type Writer = WriteHalf<DuplexStream>;

/// A transport whose streams do what a test wants them to, and its other end.
pub(crate) fn wrapped<W>(wrap: W) -> (Wrapped<W>, Streams)
where
    W: FnMut(Reader, Writer) -> Stream,
{
    let (sender, receiver) = mpsc::unbounded_channel();
    (Wrapped { sender, wrap }, Streams(receiver))
}

pub(crate) struct Wrapped<W> {
    sender: mpsc::UnboundedSender<DuplexStream>,
    wrap: W,
}

pub(crate) struct Streams(mpsc::UnboundedReceiver<DuplexStream>);

impl<W> Transport for Wrapped<W>
where
    W: FnMut(Reader, Writer) -> Stream + Send + 'static,
{
    async fn open(&mut self) -> Result<Stream, OpenError> {
        let (ours, theirs) = duplex(64 * 1024);
        let (reader, writer) = split(ours);
        let stream = (self.wrap)(reader, writer);
        let sent = self.sender.send(theirs);
        sent.map_err(|_| OpenError::transient("the acceptor was dropped"))?;
        Ok(stream)
    }
}

impl Streams {
    /// Accepts no more.
    pub(crate) fn close(&mut self) {
        self.0.close();
    }

    /// The next stream, with its handshake done.
    pub(crate) async fn accept(&mut self, revision: Revision) -> Result<Conversation, Unexpected> {
        let stream = self.0.recv().await.expect("the client is there");
        let mut server = Conversation::new(stream);
        server.handshake(revision).await?;
        Ok(server)
    }
}

/// Something that happens once, when it is asked for.
#[derive(Clone, Default)]
pub(crate) struct Trap(Arc<AtomicBool>);

impl Trap {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn springs(&self) -> bool {
        self.0.swap(false, Ordering::SeqCst)
    }
}

/// A server that has declared everything.
pub(crate) async fn able(
    config: ClientConfig,
    revision: Revision,
) -> Result<(Client, Conversation, Peer), Unexpected> {
    let (transport, mut peer) = testing::peer();
    let client = Client::start(transport, config);
    let server = able_again(&client, &mut peer, revision).await?;
    Ok((client, server, peer))
}

/// The same server again, after its stream was lost.
pub(crate) async fn able_again(
    client: &Client,
    peer: &mut Peer,
    revision: Revision,
) -> Result<Conversation, Unexpected> {
    let all = r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},"logging":{},
        "resources":{"subscribe":true,"listChanged":true},"completions":{}}"#;
    let mut handshake = Handshake::new(revision);
    handshake.capabilities(ServerCapabilities::from_json(all).expect("capabilities"));
    let mut server = peer.accept().await?;
    server.handshake(handshake).await?;
    client.ready().await.expect("the handshake is done");
    Ok(server)
}
