//! A server that runs: it takes clients, serves each, and ends.

use std::future::Future;
use std::sync::Arc;

use bowline_proto::CloseReason;
use tokio::sync::watch;

use super::core::{Origin, ServerCore};
use super::life::Ending;
use super::principal::Principal;
use super::session::{Driver, Shared};
use crate::error::{Error, ErrorKind};
use crate::transport::{Stream, Transport};

/// A server that is ready to serve any number of clients. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Running(Arc<ServerCore>);

impl Running {
    pub(super) fn new(core: ServerCore) -> Self {
        Self(Arc::new(core))
    }

    /// Serves one client on a transport, until it is gone: see [`Server::serve`](super::Server::serve).
    ///
    /// # Errors
    ///
    /// As for [`Server::serve`](super::Server::serve). Cancel safe.
    pub async fn serve(&self, mut transport: impl Transport) -> Result<(), Error> {
        let stream = transport.open().await.map_err(|error| {
            Error::new(ErrorKind::Transport, error.reason).in_operation("serve")
        })?;
        self.serve_stream(stream).await
    }

    /// Serves one client on a stream that is open, until it is gone. It may be silent for as
    /// long as it likes, unlike one that a [listener](Self::listen) accepts.
    ///
    /// # Errors
    ///
    /// When the client breaks the protocol beyond what is borne. Cancel safe.
    pub fn serve_stream(
        &self,
        stream: Stream,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        self.serve_from(Origin::Stream(None), stream)
    }

    /// The same for a client that is known: the transport has asked it who it is. Each of its
    /// requests has this [principal](super::Principal), unless a layer sets another one.
    ///
    /// # Errors
    ///
    /// As for [`serve_stream`](Self::serve_stream). Cancel safe.
    pub fn serve_stream_as(
        &self,
        stream: Stream,
        principal: Principal,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        self.serve_from(Origin::Stream(Some(principal)), stream)
    }

    /// Serves a client that a listener has accepted: one that says nothing, or half of
    /// something, loses its place.
    pub(super) fn serve_accepted(
        &self,
        stream: Stream,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        self.serve_from(Origin::Listener, stream)
    }

    fn serve_from(
        &self,
        origin: Origin,
        stream: Stream,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let driver: Driver = Shared::new(Arc::clone(&self.0), origin).serve(stream);
        async move {
            match driver.await {
                CloseReason::Local | CloseReason::Transport(_) => Ok(()),
                reason => {
                    Err(Error::new(ErrorKind::Protocol, reason.to_string()).in_operation("serve"))
                }
            }
        }
    }

    pub(super) fn ending(&self) -> watch::Receiver<bool> {
        self.0.life.ending()
    }

    pub(super) fn max_sessions(&self) -> usize {
        self.0.max_sessions
    }

    /// Ends all sessions of this server: nobody is accepted, nothing new is begun, what is being
    /// served is finished, or cancelled when that takes longer than the
    /// [deadline](super::Server::shutdown_deadline). Who [serves](Self::serve) returns then.
    /// Tasks are cancelled: nobody is left who could ask for them.
    pub fn shut_down(&self) {
        self.0.tasks.cancel_all();
        self.0.life.end(Ending::ShutDown);
    }

    /// Ends all sessions and tasks now. Those of a server that [shares](super::Server::sharing) its
    /// registry go on.
    pub fn close(&self) {
        self.0.tasks.cancel_all();
        self.0.life.end(Ending::Close);
    }
}
