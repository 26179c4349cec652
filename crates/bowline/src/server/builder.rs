//! Setting a server up, and running it.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bowline_proto::server::SessionConfig;
use bowline_proto::{CloseReason, Limits, Payload};
use bowline_types::common::Implementation;
use bowline_types::{ErrorObject, JsonObject, Method, Revisions};
use tokio::sync::watch;
use tower_layer::Layer;
use tower_service::Service as TowerService;

use super::core::{Capabilities, OnNotification, ServerCore, result_meta};
use super::dispatch::Dispatch;
use super::extract::{HandlerFn, States};
use super::handler::{Handler, HandlerService};
use super::layer::{RequestService, wrap};
use super::output::IntoToolResult;
use super::prompt::{Completer, IntoCompletion, IntoPrompt, PromptDef, prompt};
use super::registry::Registry;
use super::resource::{IntoResource, ResourceDef, TemplateDef, resource, template};
use super::seal::RoundSeal;
use super::service::{Request, Service};
use super::session::{Driver, Shared};
use super::tool::{ToolDef, tool};
use crate::error::{Error, ErrorKind};
use crate::transport::{Stream, Transport};

/// A server: what it has, and how it serves it. See the [module](crate::server).
pub struct Server {
    info: Implementation,
    instructions: Option<String>,
    revisions: Revisions,
    registry: Registry,
    states: States,
    limits: Limits,
    handshake_timeout: Duration,
    handler_timeout: Option<Duration>,
    shutdown_deadline: Option<Duration>,
    max_sessions: usize,
    page_size: usize,
    has_logging: bool,
    seal_key: Option<[u8; 32]>,
    seal_lifetime: Duration,
    on_notification: Option<Box<OnNotification>>,
    /// Who serves requests instead of the registry, and what it can do.
    handler: Option<Box<MakeService>>,
    layers: Vec<Box<dyn FnOnce(Service) -> Service + Send>>,
}

/// Makes whoever serves requests, when everything else is said.
type MakeService = dyn FnOnce(&Server) -> (Service, Capabilities) + Send;

impl Server {
    /// A server of this name and version, which has nothing yet.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self::with_info(Implementation::new(name, version))
    }

    /// A server that introduces itself so.
    pub fn with_info(info: Implementation) -> Self {
        Self {
            info,
            instructions: None,
            revisions: Revisions::ALL,
            registry: Registry::default(),
            states: States::default(),
            limits: Limits::server(),
            handshake_timeout: Duration::from_secs(30),
            handler_timeout: None,
            shutdown_deadline: None,
            max_sessions: 10_000,
            page_size: 100,
            has_logging: true,
            seal_key: None,
            seal_lifetime: Duration::from_secs(600),
            on_notification: None,
            handler: None,
            layers: Vec::new(),
        }
    }

    /// A server that has what another one has, now and later: for a process that serves the
    /// same in several ways.
    pub fn sharing(
        name: impl Into<String>,
        version: impl Into<String>,
        registry: &Registry,
    ) -> Self {
        let mut server = Self::new(name, version);
        server.registry = registry.clone();
        server
    }

    /// A server whose requests a [`Handler`] answers. What is registered as well is not
    /// served.
    pub fn with_handler<H: Handler>(
        name: impl Into<String>,
        version: impl Into<String>,
        handler: H,
    ) -> Self {
        let mut server = Self::new(name, version).without_logging();
        let handler = Arc::new(handler);
        server.handler = Some(Box::new(move |server| {
            let service = HandlerService {
                handler: Arc::clone(&handler),
                revisions: server.revisions,
                instructions: server.instructions.clone(),
                meta: result_meta(&server.info),
            };
            let capabilities: Capabilities = Box::new(move || handler.capabilities());
            (Service(Arc::new(service)), capabilities)
        }));
        server
    }

    /// Puts a tower layer around the server: it sees every request that a handler would, and
    /// may answer, refuse, delay or change it. The last one that is added is the outermost.
    ///
    /// ```
    /// use bowline::server::{Request, Server};
    /// use bowline::types::ErrorObject;
    ///
    /// // tower::util::MapRequestLayer, tower::limit::ConcurrencyLimitLayer, or your own.
    /// # #[derive(Clone)] struct Identity;
    /// # impl<S> tower_layer::Layer<S> for Identity { type Service = S; fn layer(&self, inner: S) -> S { inner } }
    /// let server = Server::new("layered", "1.0.0").layer(Identity);
    /// ```
    #[must_use]
    pub fn layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<RequestService> + Send + 'static,
        L::Service:
            TowerService<Request, Response = Payload, Error = ErrorObject> + Clone + Send + 'static,
        <L::Service as TowerService<Request>>::Future: Send + 'static,
    {
        self.layers
            .push(Box::new(move |service| wrap(service, &layer)));
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool<A, H>(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        handler: H,
    ) -> Self
    where
        A: 'static,
        H: HandlerFn<A>,
        H::Output: IntoToolResult + Send,
    {
        self.add_tool(tool(name, handler).description(description))
    }

    /// Adds a tool with all that can be said of it.
    #[must_use]
    pub fn add_tool(self, tool: ToolDef) -> Self {
        self.registry.add_tool(tool);
        self
    }

    /// Adds a resource.
    #[must_use]
    pub fn resource<A, H>(self, uri: impl Into<String>, name: impl Into<String>, handler: H) -> Self
    where
        A: 'static,
        H: HandlerFn<A>,
        H::Output: IntoResource + Send,
    {
        self.add_resource(resource(uri, name, handler))
    }

    /// Adds a resource with all that can be said of it.
    #[must_use]
    pub fn add_resource(self, resource: ResourceDef) -> Self {
        self.registry.add_resource(resource);
        self
    }

    /// Adds resources whose URIs follow a template.
    #[must_use]
    pub fn template<A, H>(self, uri: impl Into<String>, name: impl Into<String>, handler: H) -> Self
    where
        A: 'static,
        H: HandlerFn<A>,
        H::Output: IntoResource + Send,
    {
        self.add_template(template(uri, name, handler))
    }

    /// Adds resources whose URIs follow a template, with all that can be said of them.
    #[must_use]
    pub fn add_template(self, template: TemplateDef) -> Self {
        let pattern = template.template.uri_template.clone();
        self.registry
            .change(|contents| contents.templates.insert(&pattern, template));
        self
    }

    /// Adds a prompt.
    #[must_use]
    pub fn prompt<A, H>(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        handler: H,
    ) -> Self
    where
        A: 'static,
        H: HandlerFn<A>,
        H::Output: IntoPrompt + Send,
    {
        self.add_prompt(prompt(name, handler).description(description))
    }

    /// Adds a prompt with all that can be said of it.
    #[must_use]
    pub fn add_prompt(self, prompt: PromptDef) -> Self {
        self.registry.add_prompt(prompt);
        self
    }

    /// Completes an argument of a prompt, or a variable of a template: `of` is the name of
    /// the one or the text of the other.
    ///
    /// ```
    /// use bowline::server::{Partial, Server};
    ///
    /// let server = Server::new("colours", "1.0.0").completion("paint", "colour", |typed: Partial| async move {
    ///     let mut colours = vec!["red", "green", "blue"];
    ///     colours.retain(|colour| colour.starts_with(&typed.value));
    ///     colours
    /// });
    /// ```
    #[must_use]
    pub fn completion<A, H>(
        self,
        of: impl Into<String>,
        argument: impl Into<String>,
        handler: H,
    ) -> Self
    where
        A: 'static,
        H: HandlerFn<A>,
        H::Output: IntoCompletion + Send,
    {
        let (key, completer) = ((of.into(), argument.into()), Completer::new(handler));
        self.registry
            .change(|contents| contents.completers.insert(key, completer));
        self
    }

    /// Gives all handlers a state: see [`State`](super::State).
    #[must_use]
    pub fn state<T: Clone + Send + Sync + 'static>(mut self, state: T) -> Self {
        self.states.insert(state);
        self
    }

    /// How to use the server, for the model.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Offers tools although there are none yet: they are added while it runs.
    #[must_use]
    pub fn with_tools(self) -> Self {
        self.registry
            .change(|contents| contents.may_have.tools = true);
        self
    }

    /// Offers resources although there are none yet.
    #[must_use]
    pub fn with_resources(self) -> Self {
        self.registry
            .change(|contents| contents.may_have.resources = true);
        self
    }

    /// Offers prompts although there are none yet.
    #[must_use]
    pub fn with_prompts(self) -> Self {
        self.registry
            .change(|contents| contents.may_have.prompts = true);
        self
    }

    /// Sends no log messages, and offers none.
    #[must_use]
    pub fn without_logging(mut self) -> Self {
        self.has_logging = false;
        self
    }

    /// The revisions that are served. Default: all.
    #[must_use]
    pub fn revisions(mut self, revisions: Revisions) -> Self {
        self.revisions = revisions;
        self
    }

    /// What may grow with one client, and how far.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How many clients a [listener](Running::listen) serves at once. Default 10,000.
    #[must_use]
    pub fn max_sessions(mut self, sessions: usize) -> Self {
        self.max_sessions = sessions.max(1);
        self
    }

    /// How many things a list has in one answer. Default 100.
    #[must_use]
    pub fn page_size(mut self, size: usize) -> Self {
        self.page_size = size.max(1);
        self
    }

    /// How long a handler may take; then the client gets an error, and the handler is
    /// dropped. Default: as long as it likes, since a client has a timeout of its own.
    #[must_use]
    pub fn handler_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.handler_timeout = timeout;
        self
    }

    /// How long requests that are being served may take when the server ends, or its client
    /// is gone. Default 5 s.
    #[must_use]
    pub fn shutdown_deadline(mut self, deadline: Duration) -> Self {
        self.shutdown_deadline = Some(deadline);
        self
    }

    /// The key that seals what a client keeps between two rounds of input, and how long it is
    /// good. Default: drawn when the server starts, 10 min. Nodes that serve the same clients
    /// need the same key.
    #[must_use]
    pub fn round_key(mut self, key: [u8; 32], lifetime: Duration) -> Self {
        self.seal_key = Some(key);
        self.seal_lifetime = lifetime;
        self
    }

    /// Hears notifications of clients, such as that their roots have changed. It is run by
    /// the connection, and has to be quick.
    #[must_use]
    pub fn on_notification(
        mut self,
        handler: impl Fn(Method, Option<&Payload>) + Send + Sync + 'static,
    ) -> Self {
        self.on_notification = Some(Box::new(handler));
        self
    }

    /// What it has, to be changed while it runs.
    pub fn registry(&self) -> Registry {
        self.registry.clone()
    }

    /// Checks it, and makes it ready to serve.
    ///
    /// # Errors
    ///
    /// When something was registered that can't be served: an error that names it.
    pub fn build(mut self) -> Result<Running, Error> {
        let wrong = |words: String| Error::new(ErrorKind::Config, words).in_operation("serve");
        if let Some(problem) = self.registry.contents().problem(&self.states) {
            return Err(wrong(problem));
        }
        let seal = RoundSeal::new(self.seal_key, self.seal_lifetime);
        let seal = seal.map_err(|error| wrong(format!("no randomness: {error}")))?;
        let config = self.session_config();
        let (mut service, capabilities) = match self.handler.take() {
            Some(handler) => handler(&self),
            None => self.registered(),
        };
        for layer in self.layers {
            service = layer(service);
        }
        Ok(Running(Arc::new(ServerCore {
            service,
            states: self.states,
            seal,
            has_logging: self.has_logging,
            meta: result_meta(&self.info),
            logger: Some(self.info.name),
            shutdown_deadline: self.shutdown_deadline,
            config,
            capabilities,
            max_sessions: self.max_sessions,
            is_ending: watch::Sender::new(false),
            on_notification: self.on_notification,
            sessions: self.registry.sessions,
        })))
    }

    fn session_config(&self) -> SessionConfig {
        let mut config = SessionConfig::new(self.info.clone());
        config.revisions(self.revisions);
        // On a stream the client owns the process or the connection.
        config.handshake_timeout(self.handshake_timeout, true);
        config.handler_timeout(self.handler_timeout);
        if let Some(instructions) = &self.instructions {
            config.instructions(instructions.clone());
        }
        *config.limits() = self.limits;
        config
    }

    /// Whoever serves what is registered, and what that can do.
    fn registered(&self) -> (Service, Capabilities) {
        let dispatch = Dispatch {
            registry: self.registry.clone(),
            revisions: self.revisions,
            has_logging: self.has_logging,
            instructions: self.instructions.clone(),
            page_size: self.page_size,
            meta: result_meta(&self.info),
        };
        let (registry, has_logging) = (self.registry.clone(), self.has_logging);
        let capabilities: Capabilities = Box::new(move || {
            let mut capabilities = registry.contents().capabilities();
            if has_logging {
                capabilities.logging = Some(JsonObject::new());
            }
            capabilities
        });
        (Service(Arc::new(dispatch)), capabilities)
    }

    /// Serves one client, until it is gone.
    ///
    /// Cancel safe: dropping the future ends the session.
    ///
    /// # Errors
    ///
    /// When the server [can't be served](Self::build), the transport can't be opened, or the
    /// client breaks the protocol beyond what is borne.
    pub async fn serve(self, transport: impl Transport) -> Result<(), Error> {
        self.build()?.serve(transport).await
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("info", &self.info)
            .field("registry", &self.registry)
            .finish_non_exhaustive()
    }
}

/// A server that is ready to serve any number of clients. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Running(Arc<ServerCore>);

impl Running {
    /// Serves one client on a transport, until it is gone: see [`Server::serve`].
    ///
    /// # Errors
    ///
    /// As for [`Server::serve`]. Cancel safe.
    pub async fn serve(&self, mut transport: impl Transport) -> Result<(), Error> {
        let stream = transport.open().await.map_err(|error| {
            Error::new(ErrorKind::Transport, error.reason).in_operation("serve")
        })?;
        self.serve_stream(stream).await
    }

    /// Serves one client on a stream that is open, until it is gone.
    ///
    /// # Errors
    ///
    /// When the client breaks the protocol beyond what is borne. Cancel safe.
    pub fn serve_stream(
        &self,
        stream: Stream,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let driver: Driver = Shared::new(Arc::clone(&self.0)).serve(stream);
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
        self.0.is_ending.subscribe()
    }

    pub(super) fn max_sessions(&self) -> usize {
        self.0.max_sessions
    }

    /// Ends all sessions: nobody is accepted, nothing new is begun, what is being served is finished, or
    /// cancelled when that takes longer than the
    /// [deadline](Server::shutdown_deadline). Who [serves](Self::serve) returns then.
    pub fn shut_down(&self) {
        self.0.is_ending.send_replace(true);
        for session in self.0.sessions.all() {
            session.shut_down();
        }
    }

    /// Ends all sessions now.
    pub fn close(&self) {
        self.0.is_ending.send_replace(true);
        for session in self.0.sessions.all() {
            session.close();
        }
    }
}
