//! Test support: a scripted server for client code, without processes and without sleeping.
//!
//! [`peer`] returns a transport for the client and its other end, which follows the test. Each
//! stream that the client opens is a [`Conversation`]: it expects messages of the client, and
//! sends responses, notifications, requests or invalid bytes. A message other than the expected
//! one is an [`Unexpected`] error, which prints the whole transcript.
//!
//! Time is that of tokio: with `start_paused` it advances to the next timer when all tasks are
//! idle, so a timeout of half a minute takes no time.
//!
//! ```
//! use std::time::Duration;
//! use bowline::testing;
//! use bowline::types::{Revision, common::Implementation};
//! use bowline::{Client, ClientConfig, ErrorKind};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let runtime = tokio::runtime::Builder::new_current_thread()
//! #     .enable_all()
//! #     .start_paused(true)
//! #     .build()?;
//! # runtime.block_on(async {
//! // In a test: #[tokio::test(start_paused = true)]
//! let (transport, mut peer) = testing::peer();
//! let client = Client::start(transport, ClientConfig::new(Implementation::new("me", "1")));
//! let mut server = peer.accept().await?;
//! server.handshake(Revision::LATEST).await?;
//! client.ready().await?;
//!
//! // The code under test would make this call.
//! let call = client.call("tools/call", r#"{"name":"echo"}"#).send();
//! let request = server.expect("tools/call").await?;
//! assert!(request.params().as_str().contains(r#""name":"echo""#));
//! server.reply(&request, r#"{"content":[]}"#).await?;
//! assert!(call.await?.as_str().contains("content"));
//!
//! // A server that doesn't respond: half a minute passes in no time.
//! let call = client.call("tools/list", ()).timeout(Duration::from_secs(30));
//! let error = call.await.unwrap_err();
//! assert_eq!(error.kind(), ErrorKind::Timeout);
//! server.expect("tools/list").await?;
//! server.expect_notification("notifications/cancelled").await?;
//!
//! // A server that hangs up, and the connection that replaces it.
//! server.hang_up();
//! let mut server = peer.accept().await?;
//! server.handshake(Revision::LATEST).await?;
//! client.ready().await?;
//! assert_eq!(client.session(), 2);
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! [`serve_fn`] starts a server in one line, where the test needs just any server:
//!
//! ```
//! use bowline::testing;
//! use bowline::types::common::Implementation;
//! use bowline::{Client, ClientConfig};
//!
//! # async fn example() -> Result<(), bowline::Error> {
//! let (transport, peer) = testing::peer();
//! testing::serve_fn(peer, |_method, params| Ok(params.clone()));
//! let config = ClientConfig::new(Implementation::new("me", "1"));
//! let client = Client::connect(transport, config).await?;
//! let echo = client.call("tools/call", r#"{"name":"echo"}"#).await?;
//! # let _ = echo;
//! # Ok(())
//! # }
//! ```
//!
//! To test a server of your own with the real client, use `in_memory` of `server::RunningServer`, which
//! is a transport to it.
//!
//! ```
//! # #[cfg(feature = "server")]
//! # async fn example() -> Result<(), bowline::Error> {
//! use bowline::Client;
//! use bowline::server::Server;
//! use bowline::types::common::Implementation;
//!
//! // The server of your program.
//! let server = Server::new("greeter", "1.0.0").tool("greet", "Greets", || async { "hello" });
//!
//! let client = Client::connect(server.build()?.in_memory(), Implementation::new("test", "1")).await?;
//! assert_eq!(client.tools().call("greet", ()).await?.text(), "hello");
//! # Ok(())
//! # }
//! ```
//!
//! With the feature `http-server`, `store_contract` tests the stores that several nodes of a server
//! share.
//!
//! Files: `conversation` sends and expects messages, `handshake` opens a connection, `serve` is
//! [`serve_fn`], `message` and `body` are what is received and sent, `unexpected` is the error with
//! its transcript. All of it is public API, and knows only the transport and the envelope: no part
//! of the client may be used here.

mod body;
mod conversation;
mod handshake;
mod message;
mod serve;
#[cfg(feature = "http-server")]
pub mod store_contract;
mod unexpected;

use std::time::Duration;

use tokio::io::DuplexStream;
use tokio::time;

pub use crate::transport::memory::{Acceptor, Memory, pair};
pub use body::Body;
pub use conversation::Conversation;
pub use handshake::Handshake;
pub use message::{ReceivedMessage, ReceivedNotification, ReceivedRequest};
pub use serve::{TestServer, serve_fn};
pub use unexpected::{Side, TranscriptLine, Unexpected};

/// The default timeout for messages of the client: longer than the usual timeouts of a client, so
/// that the client's expires first.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Creates a transport, and a scripted server at its other end. See the [module](self).
pub fn peer() -> (Memory, Peer) {
    let (transport, acceptor) = pair();
    (transport, Peer::from(acceptor))
}

/// The other end of a transport. Accepts a stream each time that the client connects.
#[derive(Debug)]
pub struct Peer {
    acceptor: Acceptor,
    timeout: Duration,
}

impl Peer {
    /// Sets how long this peer, and each conversation that it accepts from now on, waits for the
    /// client. Default 60 s.
    pub fn timeout(&mut self, timeout: Duration) -> &mut Self {
        self.timeout = timeout;
        self
    }

    /// Accepts the next stream that the client opens. Cancel safe.
    ///
    /// # Errors
    ///
    /// If the client opens no stream before the timeout, or is dropped.
    pub async fn accept(&mut self) -> Result<Conversation, Unexpected> {
        match time::timeout(self.timeout, self.acceptor.accept()).await {
            Ok(Some(stream)) => Ok(self.conversation(stream)),
            Ok(None) => Err(Unexpected::without_stream("the client was dropped")),
            Err(_) => {
                let actual = format!("the client opened no stream within {:?}", self.timeout);
                Err(Unexpected::without_stream(actual))
            }
        }
    }

    /// Accepts the next stream, without a timeout. `None` if the client is dropped. Cancel safe.
    pub(crate) async fn accept_without_timeout(&mut self) -> Option<Conversation> {
        let stream = self.acceptor.accept().await?;
        Some(self.conversation(stream))
    }

    fn conversation(&self, stream: DuplexStream) -> Conversation {
        let mut conversation = Conversation::new(stream);
        conversation.timeout(self.timeout);
        conversation
    }
}

impl From<Acceptor> for Peer {
    fn from(acceptor: Acceptor) -> Self {
        Self {
            acceptor,
            timeout: DEFAULT_TIMEOUT,
        }
    }
}
