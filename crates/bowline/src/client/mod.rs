//! The client.

mod call;
mod driver;
mod shared;

use std::sync::Arc;

use bowline_proto::link::{Link, LinkConfig, State, Transition};
use bowline_proto::{Agreement, CallRequest, Config, IdCounter};
use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::Instant as Moment;

use crate::error::{Error, ErrorKind};
use crate::transport::Transport;
use driver::Driver;
use shared::Shared;

pub use call::{Answer, Call};

/// A handle to a server that stays valid: clone it, keep it, use it from anywhere.
///
/// The connection behind it may be lost and opened again; [`state`](Self::state) tells where
/// it stands. When the last clone is dropped the connection is closed.
#[derive(Clone, Debug)]
pub struct Client {
    shared: Arc<Shared>,
    _stop: Arc<StopOnDrop>,
}

/// Stops the link when the last handle is gone.
#[derive(Debug)]
struct StopOnDrop(Arc<Shared>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.with(|core, now| core.link.stop(now));
    }
}

impl Client {
    /// Connects to a server, and waits until it is ready.
    ///
    /// Must be called within a tokio runtime. Cancel safe: dropping the future closes the
    /// connection.
    ///
    /// # Errors
    ///
    /// When the first error is permanent: the command doesn't exist, no revision is common,
    /// authorization is refused. Other errors are tried again; see [`Client::start`] for a
    /// handle that doesn't wait.
    pub async fn connect(transport: impl Transport, config: Config) -> Result<Self, Error> {
        let client = Self::start(transport, LinkConfig::new(config));
        client.ready().await?;
        Ok(client)
    }

    /// Begins to connect, and returns at once. Must be called within a tokio runtime.
    pub fn start(transport: impl Transport, config: LinkConfig) -> Self {
        let clock = Moment::now();
        let link = Link::new(bowline_proto::Instant::START, config, IdCounter::new());
        let shared = Arc::new(Shared::new(clock, link));
        tokio::spawn(Driver::new(Arc::clone(&shared), transport));
        Self {
            _stop: Arc::new(StopOnDrop(Arc::clone(&shared))),
            shared,
        }
    }

    /// Waits until calls are served. Cancel safe.
    ///
    /// # Errors
    ///
    /// When the client is stopped, or gives up for good.
    pub async fn ready(&self) -> Result<(), Error> {
        let mut changes = self.state_changes();
        loop {
            match self.state() {
                State::Ready => return Ok(()),
                State::Closing | State::Closed => return Err(self.why_closed()),
                State::Starting | State::Initializing | State::Backoff => {}
            }
            if changes.changed().await.is_err() {
                return Err(self.why_closed());
            }
        }
    }

    /// Where the connection stands.
    pub fn state(&self) -> State {
        self.shared.lock().link.state()
    }

    /// Where the connection stands, and every change. A slow reader sees the latest.
    pub fn state_changes(&self) -> watch::Receiver<State> {
        self.shared.state.subscribe()
    }

    /// The last 64 changes of state, oldest first.
    pub fn history(&self) -> Vec<Transition> {
        self.shared.lock().link.history().cloned().collect()
    }

    /// What was agreed with the server, the last time.
    pub fn agreement(&self) -> Option<Arc<Agreement>> {
        self.shared.lock().agreement.clone()
    }

    /// Calls a method. `params` are the members of its parameters, without braces.
    pub fn call(&self, method: impl Into<String>, params: impl Into<Bytes>) -> Call<'_> {
        let method = method.into();
        let request = CallRequest::new(method.clone(), params);
        Call::new(&self.shared, request, method)
    }

    /// Sends a notification. `params` are as for [`call`](Self::call).
    ///
    /// # Errors
    ///
    /// When it can't be sent now.
    pub fn notify(&self, method: &str, params: impl Into<Bytes>) -> Result<(), Error> {
        let notified = self.shared.with(|core, _| core.link.notify(method, params));
        notified.map_err(|error| {
            let error = Error::from_link(error, |at| self.shared.until(at));
            error.in_operation(method.to_owned())
        })
    }

    /// Tries to connect now, instead of waiting. Whether there was a wait.
    pub fn reconnect_now(&self) -> bool {
        self.shared.with(|core, now| core.link.reconnect_now(now))
    }

    /// Stops for good: what waits ends at once, and the transport is closed. Every stop
    /// succeeds, and returns when the client is closed. Cancel safe.
    pub async fn stop(&self) {
        let mut changes = self.state_changes();
        self.shared.with(|core, now| core.link.stop(now));
        while self.state() != State::Closed && changes.changed().await.is_ok() {}
    }

    fn why_closed(&self) -> Error {
        let core = self.shared.lock();
        let causes = core
            .link
            .history()
            .map(|transition| transition.cause.to_string());
        match causes.last() {
            Some(cause) => Error::new(ErrorKind::Transport, cause).in_operation("connect"),
            None => Error::new(ErrorKind::Shutdown, "").in_operation("connect"),
        }
    }
}
