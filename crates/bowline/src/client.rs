//! The client.
//!
//! [`Client`] is the handle; [`ClientConfig`] is its configuration and holds its handlers
//! (`config`).
//!
//! - Calls: `params`, `call` (a call before it is sent), `session_adapter` (adapts a call to the
//!   session in which it is sent), `pending_call` (the future of its response) and
//!   `url_elicitation_retry` (calls that are repeated after a URL elicitation).
//! - From the server: `notification_router`, `server_requests` (requests of the handshake era),
//!   `input_rounds` (input requests of the stateless era), `client_handlers` (sampling,
//!   elicitation and roots).
//! - State: `state_changes`, `subscription` and `subscription_dispatch`, `cache`,
//!   `output_validation` (results against output schemas).
//! - The driver: `driver` is the task that moves the bytes, `open_transport` the stream that it
//!   has open, `shared` the core behind a short lock, `runtime` what it needs of tokio, `telemetry`
//!   its spans and events.
//! - `features`: a typed handle for each feature of a server.
//!
//! The rules of the protocol are in `bowline-proto`: nothing here decides what a message means.

mod cache;
mod call;
mod client_handlers;
mod config;
mod driver;
pub mod features;
mod input_rounds;
mod notification_router;
mod open_transport;
mod output_validation;
mod params;
mod pending_call;
mod runtime;
mod server_requests;
mod session_adapter;
mod shared;
mod state_changes;
mod subscription;
mod subscription_dispatch;
mod telemetry;
mod url_elicitation_retry;

use std::borrow::Cow;
use std::sync::{Arc, Weak};

use bowline_proto::link::{LinkError, LinkState, StopOutcome, Transition};
use bowline_proto::{Agreement, Sent, Stats};
use bowline_types::capabilities::ServerCapabilities;
use bowline_types::common::Implementation;
use bowline_types::{Revision, Wire};
use tokio::time::timeout;

use crate::connection_failure::ConnectionFailure;
use crate::error::{Error, ErrorKind};
use crate::transport::Transport;
use driver::Driver;
use shared::{Shared, Slot};

pub use cache::CachePolicy;
pub use call::{Call, Retry};
pub use config::ClientConfig;
pub use notification_router::{HandlerId, Router, ServerNotification};
#[cfg(feature = "validate")]
pub use output_validation::OutputValidation;
pub use params::Params;
pub use pending_call::{CancelHandle, PendingCall};
pub use server_requests::ServerRequest;
pub use state_changes::StateChanges;
pub use subscription::{SubscribeCall, Subscription, SubscriptionEvent};

/// A handle to a server that stays valid: clone it, keep it, use it from anywhere.
///
/// The connection behind it may be lost and opened again; [`state`](Self::state) returns its
/// state. When the last clone is dropped the connection is closed.
///
/// ```no_run
/// use bowline::Client;
/// use bowline::transport::Tcp;
/// use bowline::types::common::Implementation;
///
/// # async fn example() -> Result<(), bowline::Error> {
/// let me = Implementation::new("example", "1.0");
/// let client = Client::connect(Tcp::new("127.0.0.1:7000"), me).await?;
/// let sum = client.tools().call("add", serde_json::json!({"a": 1, "b": 2})).await?;
/// println!("{}", sum.text());
///
/// // What has no method of its own is called by name.
/// let result = client.call("example/status", serde_json::json!({"verbose": true})).await?;
/// println!("{}", result.as_str());
/// client.stop().await;
/// # Ok(())
/// # }
/// ```
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
        self.0.with(|core, now| core.stop(now));
    }
}

impl Client {
    /// Connects to a server, and waits until it is ready.
    ///
    /// Cancel safe: dropping the future closes the connection.
    ///
    /// # Errors
    ///
    /// When the first error is permanent: the command doesn't exist, no revision is common,
    /// authorization is refused. Other errors are tried again, until
    /// [`connect_timeout`](ClientConfig::connect_timeout); see [`Client::start`] for a handle
    /// that doesn't wait.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime. One without time, or without I/O where the transport needs it, is
    /// the reason why the client gives up.
    pub async fn connect(
        transport: impl Transport,
        config: impl Into<ClientConfig>,
    ) -> Result<Self, Error> {
        let config = config.into();
        let limit = config.connect_timeout;
        let client = Self::start(transport, config);
        let ready = match limit {
            // A runtime without time can't wait for it either.
            _ if client.state() == LinkState::Closed => client.ready().await,
            None => client.ready().await,
            Some(limit) => match timeout(limit, client.ready()).await {
                Ok(ready) => ready,
                Err(_) => Err(client.connect_timed_out(limit)),
            },
        };
        match ready {
            Ok(()) => Ok(client),
            // No client is returned that could be asked for it.
            Err(error) => Err(error.with_malformed_sample(client.malformed_sample())),
        }
    }

    /// Begins to connect, and returns at once.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime. One without time, or without I/O where the transport needs it, is
    /// the reason why the client gives up.
    pub fn start(transport: impl Transport, config: impl Into<ClientConfig>) -> Self {
        let mut config = config.into();
        let connection = config.connection();
        if connection.default_startup_timeout().is_none() {
            connection.startup_timeout(transport.startup_timeout());
        }
        let shared = Arc::new(Shared::new(config, &transport.label()));
        if runtime::has_time() {
            tokio::spawn(Driver::new(Arc::clone(&shared), transport));
        } else {
            shared.give_up(runtime::NO_TIME);
        }
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
        let mut changes = self.shared.state.subscribe();
        loop {
            changes.mark_unchanged();
            match self.state() {
                LinkState::Ready => return Ok(()),
                LinkState::Closing | LinkState::Closed => return Err(self.closed_error()),
                LinkState::Starting | LinkState::Initializing | LinkState::Backoff => {}
            }
            if changes.changed().await.is_err() {
                return Err(self.closed_error());
            }
        }
    }

    /// Returns the state of the connection.
    pub fn state(&self) -> LinkState {
        self.shared.lock().link.state()
    }

    /// Returns why there is no connection: what failed last, what the server wrote, and when it is
    /// tried again. `None` while there is a connection, before anything has failed, and once the
    /// client was stopped.
    pub fn connection_failure(&self) -> Option<ConnectionFailure> {
        let now = self.shared.now();
        self.shared.lock().connection_failure(now)
    }

    /// Returns the state, and why there is no connection, at the same moment.
    pub(crate) fn state_and_failure(&self) -> (LinkState, Option<ConnectionFailure>) {
        let now = self.shared.now();
        let core = self.shared.lock();
        (core.link.state(), core.connection_failure(now))
    }

    /// Returns a stream of the changes of state from now on.
    pub fn state_changes(&self) -> StateChanges {
        StateChanges::new(&self.shared)
    }

    /// Returns the last 64 changes of state, oldest first.
    pub fn history(&self) -> Vec<Transition> {
        self.shared.lock().link.history().cloned().collect()
    }

    /// Returns the beginning of the latest output of the server that is not a message, at most 120
    /// bytes: the output of a program that is not an MCP server, or a log on the wrong stream.
    /// It is kept after its connection has ended, until there is another one. It is the
    /// server's own text: use it to find the cause, and keep it out of logs that others read.
    pub fn malformed_sample(&self) -> Option<String> {
        let core = self.shared.lock();
        core.link.malformed_sample().map(str::to_owned)
    }

    /// Returns what was agreed with the server in the latest handshake.
    pub fn agreement(&self) -> Option<Arc<Agreement>> {
        self.shared.lock().agreement.clone()
    }

    /// Returns the name and version of the server, as it last sent them.
    pub fn server_info(&self) -> Option<Implementation> {
        self.agreement()?.server_info.clone()
    }

    /// Returns the capabilities that the server last declared.
    pub fn capabilities(&self) -> Option<ServerCapabilities> {
        Some(self.agreement()?.capabilities.clone())
    }

    /// Returns the revision that was agreed in the latest handshake.
    pub fn revision(&self) -> Option<Revision> {
        Some(self.agreement()?.revision)
    }

    /// Returns the number of sessions so far, which is also the number of the latest one.
    pub fn session(&self) -> u64 {
        self.shared.lock().link.session()
    }

    /// Returns the number of calls that have not ended.
    pub fn pending(&self) -> usize {
        self.shared.lock().link.pending()
    }

    /// Returns counters of what has no other trace.
    pub fn stats(&self) -> Stats {
        self.shared.lock().link.stats()
    }

    /// Returns the router of notifications, to add handlers to.
    pub fn notifications(&self) -> &Router {
        &self.shared.router
    }

    /// Calls a method. The response is the result as it was received.
    ///
    /// A method that the protocol has is refused when the revision of the session lacks it.
    /// Nothing else is checked: servers exist that declare less than they have.
    pub fn call(
        &self,
        method: impl Into<Cow<'static, str>>,
        params: impl Into<Params>,
    ) -> Call<'_> {
        Call::new(&self.shared, method.into(), params.into())
    }

    /// Encodes a value as the revision of the session has it.
    fn encode<T: Wire>(&self, value: &T) -> Params {
        Params::encode(value, self.revision().unwrap_or(Revision::LATEST))
    }

    /// Pings the server. In the stateless era, which has no `ping`, `server/discover` is sent
    /// instead.
    ///
    /// Dropping the future cancels it.
    pub fn ping(&self) -> PendingCall {
        let made = self.shared.with(|core, now| {
            let key = core.link.ping(now);
            let key = key.map_err(|error| core.refusal(now, error))?;
            core.slots.insert(key, Slot::default());
            Ok::<_, Error>(key)
        });
        match made {
            Ok(key) => PendingCall::new(Arc::clone(&self.shared), key, "ping".into(), None),
            Err(error) => PendingCall::refused(error.in_operation("ping")),
        }
    }

    /// Sends a notification. It leaves as soon as the server reads: one that waits when the
    /// connection is lost is dropped.
    ///
    /// # Errors
    ///
    /// When it can't be sent now, the revision of the session doesn't have it, or the
    /// parameters are no object.
    pub fn notify(&self, method: &str, params: impl Into<Params>) -> Result<(), Error> {
        let notified = params.into().check().and_then(|params| {
            let body = params.with_meta();
            self.shared.with(|core, now| {
                core.check_revision(method)?;
                let notified = core.link.notify(method, body);
                notified.map_err(|error| core.refusal(now, error))
            })
        });
        notified.map_err(|error| error.with_sent(Sent::No).in_operation(method.to_owned()))
    }

    /// Tries to connect now, instead of waiting. Returns `true` if there was a wait.
    pub fn reconnect_now(&self) -> bool {
        self.shared.with(|core, now| core.link.reconnect_now(now))
    }

    /// Stops for good: what waits ends at once, notifications and responses that have not left
    /// get 50 ms, and the transport is closed. Every stop succeeds, and returns when the
    /// client is closed; the result is `Begun` for the first one. Cancel safe.
    pub async fn stop(&self) -> StopOutcome {
        let mut changes = self.shared.state.subscribe();
        let stop = self.shared.with(|core, now| core.stop(now));
        while self.state() != LinkState::Closed && changes.changed().await.is_ok() {}
        stop
    }

    /// Returns a handle that doesn't keep the client alive: for handlers of the client itself,
    /// which would otherwise keep it alive for ever.
    pub fn downgrade(&self) -> WeakClient {
        WeakClient {
            shared: Arc::downgrade(&self.shared),
            stop: Arc::downgrade(&self._stop),
        }
    }

    /// Names the server in events, unless it has a name.
    pub(crate) fn name_in_events(&self, name: &str) {
        self.shared.telemetry.set_server_name(name);
    }

    /// Emits that it takes long to stop.
    pub(crate) fn warn_of_slow_stop(&self) {
        let _entered = self.shared.telemetry.enter();
        tracing::warn!("client is taking a long time to stop");
    }

    fn closed_error(&self) -> Error {
        let now = self.shared.now();
        let core = self.shared.lock();
        let error = match core.connection_failure(now) {
            Some(failure) => Error::not_connected(failure),
            None => core.refusal(now, LinkError::Shutdown),
        };
        error.in_operation("connect")
    }

    /// Returns the error of a connect that timed out, with the latest failure as its cause.
    fn connect_timed_out(&self, limit: std::time::Duration) -> Error {
        let now = self.shared.now();
        let core = self.shared.lock();
        let failure = core.connection_failure(now);
        let state = core.link.state();
        let message = match &failure {
            Some(failed) if state == LinkState::Backoff => {
                format!("after {limit:?}; the last attempt: {}", failed.cause)
            }
            Some(failed) => {
                let before = &failed.cause;
                format!("after {limit:?}, while {state}; the previous attempt: {before}")
            }
            None => format!("after {limit:?}, while {state}"),
        };
        let error = Error::new(ErrorKind::Timeout, message).in_operation("connect");
        match failure {
            Some(mut failure) => {
                // The client ends with this error.
                failure.next_attempt = None;
                error.with_connection_failure(failure)
            }
            None => error,
        }
    }
}

/// A handle that doesn't keep its client alive.
///
/// ```
/// # fn example(client: &bowline::Client) {
/// let weak = client.downgrade();
/// client.notifications().on("notifications/tools/list_changed", move |_| {
///     let client = weak.upgrade();
///     async move {
///         if let Some(client) = client {
///             let tools = client.call("tools/list", ()).await;
/// #           drop(tools);
///         }
///     }
/// });
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct WeakClient {
    shared: Weak<Shared>,
    stop: Weak<StopOnDrop>,
}

impl WeakClient {
    /// Returns the client, unless its last handle is gone.
    pub fn upgrade(&self) -> Option<Client> {
        Some(Client {
            _stop: self.stop.upgrade()?,
            shared: self.shared.upgrade()?,
        })
    }
}
