//! Testing what uses a client, or is a server, without processes and without sleeping.
//!
//! [`peer`] gives a transport for the client and its other end, a server that says what the
//! test tells it to. One stream of it is a [`Conversation`]: it expects what the client has
//! to say, answers, notifies, asks, talks nonsense or hangs up. What comes instead of what
//! was expected is an [`Unexpected`], which shows everything that was said.
//!
//! Time is tokio's: with `start_paused` it moves to the next timer when nobody has anything
//! to do, so that a timeout of half a minute takes no time at all.
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
//! let answer = client.call("tools/call", r#"{"name":"echo"}"#).send();
//! let request = server.expect("tools/call").await?;
//! assert!(request.params().as_str().contains(r#""name":"echo""#));
//! server.reply(&request, r#"{"content":[]}"#).await?;
//! assert!(answer.await?.as_str().contains("content"));
//!
//! // A server that doesn't answer: half a minute passes in no time.
//! let call = client.call("tools/list", ()).timeout(Duration::from_secs(30));
//! let error = call.await.unwrap_err();
//! assert_eq!(error.kind(), ErrorKind::Timeout);
//! server.expect("tools/list").await?;
//! server.expect_notification("notifications/cancelled").await?;
//!
//! // A server that dies, and the one that takes its place.
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
//! Where a test needs a server and doesn't care which, [`serve_fn`] is one line:
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
//! The other way round, a server of your own is tested with the real client: `in_memory` of
//! `server::Running` is a transport to it.
//!
//! ```
//! # #[cfg(feature = "server")]
//! # async fn example() -> Result<(), bowline::Error> {
//! use bowline::Client;
//! use bowline::server::Server;
//! use bowline::types::common::Implementation;
//!
//! // What your program serves.
//! let server = Server::new("greeter", "1.0.0").tool("greet", "Greets", || async { "hello" });
//!
//! let client = Client::connect(server.build()?.in_memory(), Implementation::new("test", "1")).await?;
//! assert_eq!(client.tools().call("greet", ()).await?.text(), "hello");
//! # Ok(())
//! # }
//! ```

mod body;
mod conversation;
mod handshake;
mod message;
mod serve;
mod unexpected;

use std::time::Duration;

use tokio::io::DuplexStream;
use tokio::time::timeout;

pub use crate::transport::memory::{Acceptor, Memory, pair};
pub use body::Body;
pub use conversation::Conversation;
pub use handshake::Handshake;
pub use message::{ReceivedMessage, ReceivedNotification, ReceivedRequest};
pub use serve::{Serving, serve_fn};
pub use unexpected::{Line, Side, Unexpected};

/// How long the peer waits for the client, unless told otherwise: longer than any usual
/// timeout of a client, so that it is the client that gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// A transport, and a scripted server at its other end. See the [module](self).
pub fn peer() -> (Memory, Peer) {
    let (transport, acceptor) = pair();
    (transport, Peer::from(acceptor))
}

/// The other end of a transport: each time that the client opens it, a stream arrives here.
#[derive(Debug)]
pub struct Peer {
    acceptor: Acceptor,
    patience: Duration,
}

impl Peer {
    /// How long this peer, and each conversation that it accepts from now on, waits for the
    /// client. Default 60 s.
    pub fn patience(&mut self, patience: Duration) -> &mut Self {
        self.patience = patience;
        self
    }

    /// The next stream that the client opens. Cancel safe.
    ///
    /// # Errors
    ///
    /// When the client opens none in time, or is gone.
    pub async fn accept(&mut self) -> Result<Conversation, Unexpected> {
        match timeout(self.patience, self.acceptor.accept()).await {
            Ok(Some(stream)) => Ok(self.begin(stream)),
            Ok(None) => Err(Unexpected::at_first("the client is gone")),
            Err(_) => {
                let instead = format!("the client opened none within {:?}", self.patience);
                Err(Unexpected::at_first(instead))
            }
        }
    }

    /// The next stream, however long it takes. `None` when the client is gone. Cancel safe.
    pub(crate) async fn accept_any(&mut self) -> Option<Conversation> {
        let stream = self.acceptor.accept().await?;
        Some(self.begin(stream))
    }

    fn begin(&self, stream: DuplexStream) -> Conversation {
        let mut conversation = Conversation::new(stream);
        conversation.patience(self.patience);
        conversation
    }
}

impl From<Acceptor> for Peer {
    fn from(acceptor: Acceptor) -> Self {
        Self {
            acceptor,
            patience: PATIENCE,
        }
    }
}
