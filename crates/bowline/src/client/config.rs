//! The configuration of a client.

use crate::RpcResult;
use std::future::Future;
use std::time::Duration;

use bowline_proto::Config;
use bowline_proto::link::{Backoff, LinkConfig};
use bowline_types::ErrorObject;
use bowline_types::common::Implementation;
use bowline_types::method::RequestMethod;

use super::cache::CachePolicy;
use super::client_handlers::ElicitationHandlers;
use super::notification_router::Router;
#[cfg(feature = "validate")]
use super::output_validation::OutputValidation;
use super::server_requests::{Handlers, ServerRequest};
use super::subscription_dispatch::ChangeLimits;

/// The configuration of a client: its identity, how it connects, and its handlers.
///
/// It is made from an [`Implementation`] for all defaults, or a [`Config`] or a
/// [`LinkConfig`].
///
/// A clone is a configuration of its own, for another client: it begins with the handlers of
/// this one, and handlers that are added to the router of one get no notifications of the other.
///
/// ```
/// use std::time::Duration;
/// use bowline::client::ClientConfig;
/// use bowline::types::common::Implementation;
/// use bowline::types::roots::Root;
///
/// let mut config = ClientConfig::new(Implementation::new("example", "1.0"));
/// config.connect_timeout(Some(Duration::from_secs(5)));
/// config.connection().limits().max_pending(100);
/// config.roots([Root::new("file:///tmp")]);
/// config.router().on("notifications/message", |note| async move {
///     println!("{}", note.params().map_or("", |params| params.as_str()));
/// });
/// ```
///
/// A short configuration can be made in place:
///
/// ```
/// # use std::time::Duration;
/// # use bowline::{Client, ClientConfig};
/// # use bowline::types::common::Implementation;
/// # async fn example(transport: impl bowline::transport::Transport) -> Result<(), bowline::Error> {
/// let me = Implementation::new("example", "1.0");
/// let patience = Some(Duration::from_secs(5));
/// let client = Client::connect(transport, ClientConfig::new(me).connect_timeout(patience)).await?;
/// # drop(client);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ClientConfig {
    pub(super) link: LinkConfig,
    pub(super) name: Option<Box<str>>,
    pub(super) connect_timeout: Option<Duration>,
    pub(super) router: Router,
    pub(super) handlers: Handlers,
    pub(super) elicitations: ElicitationHandlers,
    pub(super) cache: CachePolicy,
    pub(super) changes: ChangeLimits,
    #[cfg(feature = "validate")]
    pub(super) output_validation: OutputValidation,
}

impl ClientConfig {
    /// Returns the default configuration, for a client of this name.
    pub fn new(client_info: Implementation) -> Self {
        Self::from(Config::new(client_info))
    }

    /// Returns the configuration of one connection: revisions, capabilities, timeouts, limits.
    pub fn connection(&mut self) -> &mut Config {
        self.link.connection()
    }

    /// Returns the configuration of the link across connections: backoff and retries.
    pub fn link(&mut self) -> &mut LinkConfig {
        &mut self.link
    }

    /// Names the server in `tracing` events, so that those of several can be distinguished.
    /// Default: its name in a [`Registry`](crate::registry::Registry), or none.
    pub fn name(&mut self, name: impl Into<String>) -> &mut Self {
        self.name = Some(name.into().into());
        self
    }

    /// Sets how long to wait between attempts. Default: 1 s to 30 s.
    pub fn backoff(&mut self, backoff: Backoff) -> &mut Self {
        self.link.backoff(backoff);
        self
    }

    /// Sets how long [`Client::connect`](super::Client::connect) waits for a server that is ready.
    /// Default 30 s: what a server that is installed first may take. `None` waits as long as
    /// attempts go on.
    pub fn connect_timeout(&mut self, timeout: Option<Duration>) -> &mut Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets what is kept of lists and contents. Default: as servers of 2026-07-28 allow.
    pub fn cache(&mut self, policy: CachePolicy) -> &mut Self {
        self.cache = policy;
        self
    }

    /// Limits what waits for each [`Subscription`](super::Subscription): changes, and bytes of
    /// their URIs. Default 1,000 and 1 MiB. Beyond that the subscription only
    /// returns [`SubscriptionEvent::Unknown`](super::SubscriptionEvent::Unknown).
    pub fn max_changes(&mut self, changes: usize, bytes: usize) -> &mut Self {
        self.changes = ChangeLimits { changes, bytes };
        self
    }

    /// Sets which results of tools are validated: see
    /// [`Tools::call`](super::features::Tools::call). Default: those of tools that were listed, and
    /// have an output schema.
    #[cfg(feature = "validate")]
    pub fn output_validation(&mut self, policy: OutputValidation) -> &mut Self {
        self.output_validation = policy;
        self
    }

    /// Returns the router of notifications. Handlers that are added here miss none.
    pub fn router(&self) -> &Router {
        &self.router
    }

    /// Adds a handler for a request of the server. The capability has to be declared
    /// as well: see [`Config::capabilities`], and [`sampling`](Self::sampling),
    /// [`elicitation`](Self::elicitation) and [`roots`](Self::roots), which do both.
    pub fn on_request<R, F, Fut>(&mut self, handler: F) -> &mut Self
    where
        R: RequestMethod,
        R::Params: Send,
        R::Result: Send,
        F: Fn(R::Params) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R::Result, ErrorObject>> + Send + 'static,
    {
        self.handlers.add_typed::<R, _, _, _>(handler);
        self
    }

    /// Adds a handler for requests of any method. The response to a request without a
    /// handler is the error "method not found".
    ///
    /// A handler is dropped when the server no longer needs its result.
    pub fn on_raw_request<F, Fut>(&mut self, method: impl Into<Box<str>>, handler: F) -> &mut Self
    where
        F: Fn(ServerRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = RpcResult> + Send + 'static,
    {
        self.handlers.add(method.into(), handler);
        self
    }
}

impl Clone for ClientConfig {
    fn clone(&self) -> Self {
        Self {
            link: self.link.clone(),
            name: self.name.clone(),
            connect_timeout: self.connect_timeout,
            router: self.router.copy(),
            handlers: self.handlers.copy(),
            elicitations: self.elicitations.clone(),
            cache: self.cache,
            changes: self.changes,
            #[cfg(feature = "validate")]
            output_validation: self.output_validation,
        }
    }
}

/// A clone of it, so that what its methods return can be given to
/// [`Client::connect`](super::Client::connect).
impl From<&mut Self> for ClientConfig {
    fn from(config: &mut Self) -> Self {
        config.clone()
    }
}

impl From<Implementation> for ClientConfig {
    fn from(client_info: Implementation) -> Self {
        Self::new(client_info)
    }
}

impl From<Config> for ClientConfig {
    fn from(connection: Config) -> Self {
        Self::from(LinkConfig::new(connection))
    }
}

impl From<LinkConfig> for ClientConfig {
    fn from(link: LinkConfig) -> Self {
        Self {
            link,
            name: None,
            connect_timeout: Some(Duration::from_secs(30)),
            router: Router::default(),
            handlers: Handlers::default(),
            elicitations: ElicitationHandlers::default(),
            cache: CachePolicy::new(),
            changes: ChangeLimits::default(),
            #[cfg(feature = "validate")]
            output_validation: OutputValidation::new(),
        }
    }
}
