//! Roots: where a server may work.

use bowline_types::roots::Root;
use bowline_types::{Era, Method};

use crate::client::Client;
use crate::error::{Error, ErrorKind};

/// The roots that this client gives to its server: see [`Client::roots`].
///
/// ```
/// use bowline::types::roots::Root;
///
/// # fn example(client: &bowline::Client) -> Result<(), bowline::Error> {
/// client.roots().set([Root::new("file:///home/ada/engine")])?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Roots<'c> {
    client: &'c Client,
}

impl<'c> Roots<'c> {
    pub(super) fn new(client: &'c Client) -> Self {
        Self { client }
    }

    /// Returns the roots. `None` for a client that was not
    /// [configured](crate::ClientConfig::roots) with any.
    pub fn get(self) -> Option<Vec<Root>> {
        let list = self.client.shared.handlers.roots()?;
        Some(list.get().to_vec())
    }

    /// Replaces the roots, and notifies a server of the handshake era, which then requests them
    /// again. In the stateless era a server requests them whenever it needs them.
    ///
    /// # Errors
    ///
    /// When the client was not configured with roots, so that the server doesn't know that
    /// there are any, or one is no `file://` URI. With an error of kind
    /// [`Backpressure`](ErrorKind::Backpressure) the roots are replaced, but the server could not
    /// be notified since the send queue is full: set them again.
    pub fn set(self, roots: impl IntoIterator<Item = Root>) -> Result<(), Error> {
        let operation = Method::RootsListChanged.as_str();
        let Some(list) = self.client.shared.handlers.roots() else {
            let message = "roots were not declared: configure the client with ClientConfig::roots";
            return Err(Error::new(ErrorKind::State, message).in_operation(operation));
        };
        list.set(roots.into_iter().collect())
            .map_err(|error| error.in_operation(operation))?;
        let era = self.client.revision().map(|revision| revision.era());
        if era == Some(Era::Handshake)
            && let Err(error) = self.client.notify(operation, ())
        {
            match error.kind() {
                // There is no connection, and the next one, if any, asks anew.
                kind if matches!(kind, ErrorKind::Unavailable | ErrorKind::Shutdown)
                    || error.connection_failure().is_some() =>
                {
                    let _entered = self.client.shared.telemetry.enter();
                    tracing::debug!(%error, "notifications/roots/list_changed not sent");
                }
                _ => return Err(error),
            }
        }
        Ok(())
    }
}
