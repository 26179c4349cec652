//! The server's log.

use std::future::Future;
use std::sync::atomic::Ordering;

use bowline_types::logging::{LoggingLevel, LoggingMessageParams, SetLevelParams};
use bowline_types::method::notifications;
use bowline_types::result::EmptyResult;
use bowline_types::{Era, Method};

use super::typed_call::TypedCall;
use crate::client::{Client, HandlerId};
use crate::error::Error;

/// The log of a server: see [`Client::logging`].
#[derive(Clone, Copy, Debug)]
pub struct Logging<'c> {
    client: &'c Client,
}

impl<'c> Logging<'c> {
    pub(super) fn new(client: &'c Client) -> Self {
        Self { client }
    }

    /// Requests messages of this level and above, now and after every reconnect.
    ///
    /// In the handshake era the level is sent at once; from 2026-07-28 on it is part of each call
    /// that is made after this one. Cancel safe: the level is kept.
    ///
    /// # Errors
    ///
    /// In the handshake era, when the server has no log, or refuses the level: then the one
    /// before is in force. A level that could not be sent at all is sent in the next connection.
    /// From 2026-07-28 on it is a wish that comes with calls, and nothing fails: servers exist
    /// that have a log and don't declare it.
    pub async fn set_level(self, level: LoggingLevel) -> Result<(), Error> {
        let shared = &self.client.shared;
        let method = Method::SetLevel.as_str();
        let era = self.client.revision().map(|revision| revision.era());
        let before = {
            let mut core = shared.lock();
            if era == Some(Era::Handshake) {
                let checked = core.check_capability(method);
                checked.map_err(|error| error.in_operation(method))?;
            }
            core.log_level.replace(level.clone())
        };
        shared.has_log_level.store(true, Ordering::Relaxed);
        if era != Some(Era::Handshake) {
            return Ok(());
        }
        let params = self.client.encode(&SetLevelParams::new(level.clone()));
        let call = self.client.call(method, params);
        let result: Result<EmptyResult, Error> = TypedCall::new(call).await;
        result.map(drop).inspect_err(|error| {
            let mut core = shared.lock();
            // Unless another level was set meanwhile.
            if error.server_error().is_some() && core.log_level.as_ref() == Some(&level) {
                core.log_level = before;
            }
        })
    }

    /// Returns the level that was set.
    pub fn level(self) -> Option<LoggingLevel> {
        self.client.shared.lock().log_level.clone()
    }

    /// Adds a handler for messages. It is removed with
    /// [`Router::remove`](crate::client::Router::remove).
    pub fn on_message<F, Fut>(self, handler: F) -> HandlerId
    where
        F: Fn(LoggingMessageParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let router = self.client.notifications();
        router.on_typed::<notifications::LoggingMessage, _, _>(handler)
    }
}
