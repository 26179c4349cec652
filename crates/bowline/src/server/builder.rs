//! The builder of a server: its features and settings, and the checks before it is served.
//! `settings` holds the setters of texts, limits and times, `layers` those of middleware.

mod layers;
mod settings;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bowline_proto::server::SessionConfig;
use bowline_proto::{Limits, Timeouts};
use bowline_types::Revisions;
use bowline_types::common::Implementation;

use super::blocking_threads::DEFAULT_SESSION_SHARE;
use super::caching::Caching;
use super::dispatch::Dispatch;
use super::extract::{HandlerArguments, HandlerFn, States};
use super::features::{ServerFeatures, config_error};
use super::handler::{Handler, HandlerService};
use super::output::IntoToolResult;
use super::prompt::{IntoCompletion, IntoPrompt, PromptDef, prompt};
use super::resource::{IntoResource, ResourceDef, TemplateDef, resource, template};
use super::round_state_seal::RoundSeal;
use super::running_server::RunningServer;
use super::server_core::{Capabilities, OnNotification, ServerCore, discover_meta, result_meta};
use super::service::Service;
use super::session_set::SessionSet;
use super::skills::SkillSet;
use super::tasks::{TaskConfig, TaskStore};
use super::tool::{ToolDef, tool};
use super::used_round_states::{InProcessRoundStates, UsedRoundStates};
use crate::error::Error;
use crate::transport::Transport;

/// A server to be configured and served. See the [module](crate::server).
pub struct Server {
    info: Implementation,
    instructions: Option<String>,
    revisions: Revisions,
    features: ServerFeatures,
    states: States,
    limits: Limits,
    handshake_timeout: Duration,
    frame_timeout: Duration,
    handler_timeout: Option<Duration>,
    input_request_timeout: Option<Duration>,
    shutdown_deadline: Option<Duration>,
    max_sessions: usize,
    max_blocking: usize,
    page_size: usize,
    list_caching: Caching,
    has_logging: bool,
    seal_key: Option<[u8; 32]>,
    seal_lifetime: Duration,
    has_single_use: bool,
    max_used_request_states: usize,
    max_input_requests: usize,
    tasks: TaskConfig,
    on_notification: Option<Box<OnNotification>>,
    /// Creates the service that serves requests instead of the features, and its capabilities.
    handler: Option<Box<MakeService>>,
    layers: Vec<Box<dyn FnOnce(Service) -> Service + Send>>,
    /// The first error of a registration: a feature that was registered twice, or a folder of
    /// skills that can't be read.
    problem: Option<String>,
}

/// Creates the service when all settings are known.
type MakeService = dyn FnOnce(&Server) -> (Service, Capabilities) + Send;

impl Server {
    /// Creates a server with this name and version, without features.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self::with_info(Implementation::new(name, version))
    }

    /// Creates a server with this `serverInfo`.
    pub fn with_info(info: Implementation) -> Self {
        Self {
            info,
            instructions: None,
            revisions: Revisions::ALL,
            features: ServerFeatures::default(),
            states: States::default(),
            limits: Limits::server(),
            handshake_timeout: Duration::from_secs(30),
            frame_timeout: Duration::from_secs(60),
            handler_timeout: None,
            input_request_timeout: None,
            shutdown_deadline: None,
            max_sessions: 10_000,
            max_blocking: DEFAULT_SESSION_SHARE,
            page_size: 100,
            list_caching: Caching::default(),
            has_logging: true,
            seal_key: None,
            seal_lifetime: Duration::from_secs(600),
            has_single_use: false,
            max_used_request_states: 100_000,
            max_input_requests: 100,
            tasks: TaskConfig::new(),
            on_notification: None,
            handler: None,
            layers: Vec::new(),
            problem: None,
        }
    }

    /// Creates a server that shares the features of another one, now and later: for a process that
    /// serves the same features over several transports.
    pub fn with_shared_features(
        name: impl Into<String>,
        version: impl Into<String>,
        features: &ServerFeatures,
    ) -> Self {
        let mut server = Self::new(name, version);
        server.features = features.clone();
        server
    }

    /// Creates a server whose requests a [`Handler`] serves. Registered features are not served;
    /// [`features`](Self::features) notifies clients of changes.
    pub fn with_handler<H: Handler>(
        name: impl Into<String>,
        version: impl Into<String>,
        handler: H,
    ) -> Self {
        let mut server = Self::new(name, version);
        let handler = Arc::new(handler);
        server.handler = Some(Box::new(move |server| {
            let service = HandlerService {
                handler: Arc::clone(&handler),
                revisions: server.revisions,
                instructions: server.instructions.clone(),
                meta: result_meta(&server.info),
                full_meta: discover_meta(&server.info),
            };
            let capabilities: Capabilities = Box::new(move || handler.capabilities());
            (Service(Arc::new(Arc::new(service))), capabilities)
        }));
        server
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
        A: HandlerArguments,
        H: HandlerFn<A>,
        H::Output: IntoToolResult + Send,
    {
        self.add_tool(tool(name, handler).description(description))
    }

    /// Adds a tool with its full definition.
    #[must_use]
    pub fn add_tool(mut self, mut tool: ToolDef) -> Self {
        tool.prepare();
        let name = &tool.tool.name;
        let is_known = self.features.contents().tools.get(name).is_some();
        self.record_duplicate(is_known, "tool", name);
        self.features.insert_tool(tool);
        self
    }

    /// Adds a resource.
    #[must_use]
    pub fn resource<A, H>(self, uri: impl Into<String>, name: impl Into<String>, handler: H) -> Self
    where
        A: HandlerArguments,
        H: HandlerFn<A>,
        H::Output: IntoResource + Send,
    {
        self.add_resource(resource(uri, name, handler))
    }

    /// Adds a resource with its full definition.
    #[must_use]
    pub fn add_resource(mut self, resource: ResourceDef) -> Self {
        let uri = &resource.resource.uri;
        let is_known = self.features.contents().resources.get(uri).is_some();
        self.record_duplicate(is_known, "resource", uri);
        self.features.insert_resource(resource);
        self
    }

    /// Adds a resource template, with a handler that reads the resources whose URIs match it.
    #[must_use]
    pub fn template<A, H>(self, uri: impl Into<String>, name: impl Into<String>, handler: H) -> Self
    where
        A: HandlerArguments,
        H: HandlerFn<A>,
        H::Output: IntoResource + Send,
    {
        self.add_template(template(uri, name, handler))
    }

    /// Adds a resource template with its full definition.
    #[must_use]
    pub fn add_template(mut self, template: TemplateDef) -> Self {
        let uri = &template.template.uri_template;
        let is_known = self.features.contents().templates.get(uri).is_some();
        self.record_duplicate(is_known, "template", uri);
        self.features.insert_template(template);
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
        A: HandlerArguments,
        H: HandlerFn<A>,
        H::Output: IntoPrompt + Send,
    {
        self.add_prompt(prompt(name, handler).description(description))
    }

    /// Adds a prompt with its full definition.
    #[must_use]
    pub fn add_prompt(mut self, prompt: PromptDef) -> Self {
        let name = &prompt.prompt.name;
        let is_known = self.features.contents().prompts.get(name).is_some();
        self.record_duplicate(is_known, "prompt", name);
        self.features.insert_prompt(prompt);
        self
    }

    /// Records a duplicate, which would silently replace the first feature of this name.
    fn record_duplicate(&mut self, is_known: bool, kind: &str, name: &str) {
        if is_known {
            let message = format!("{kind} {name}: registered twice");
            self.problem.get_or_insert(message);
        }
    }

    /// Adds the completion of an argument of a prompt, or of a variable of a resource template:
    /// `of` is the name of the prompt or the text of the template.
    ///
    /// ```
    /// use bowline::server::{CompletionInput, Server};
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Paint { colour: String }
    ///
    /// let server = Server::new("colours", "1.0.0")
    ///     .prompt("paint", "Paints the house", |Paint { colour }: Paint| async move {
    ///         format!("Paint the house {colour}.")
    ///     })
    ///     .completion("paint", "colour", |typed: CompletionInput| async move {
    ///         let mut colours = vec!["red", "green", "blue"];
    ///         colours.retain(|colour| colour.starts_with(&typed.value));
    ///         colours
    ///     });
    /// // A name that no prompt and no template has is an error here.
    /// let server = server.build()?;
    /// # Ok::<(), bowline::Error>(())
    /// ```
    #[must_use]
    pub fn completion<A, H>(
        self,
        of: impl Into<String>,
        argument: impl Into<String>,
        handler: H,
    ) -> Self
    where
        A: HandlerArguments,
        H: HandlerFn<A>,
        H::Output: IntoCompletion + Send,
    {
        self.features.add_completion(of, argument, handler);
        self
    }

    /// Serves the skills of a folder: each of its folders with a `SKILL.md` is one, whose name is
    /// that of its folder (the extension `io.modelcontextprotocol/skills` of 2026-07-28).
    ///
    /// The front matter of a `SKILL.md` has a name and a description. The files are read now and
    /// kept in memory, at most 4 MiB each and 64 MiB together, and 256 of one skill: later changes
    /// are not seen. Links are not followed. Clients find each `SKILL.md` in the list of resources,
    /// and can read all files, in every revision.
    ///
    /// A folder that can't be read, and an invalid skill, is an error of [`build`](Self::build).
    ///
    /// ```no_run
    /// use bowline::server::Server;
    ///
    /// // skills/invoices/SKILL.md, skills/invoices/scripts/total.py
    /// let server = Server::new("accounting", "1.0.0").skills("skills");
    /// ```
    #[must_use]
    pub fn skills(mut self, folder: impl AsRef<Path>) -> Self {
        let is_known = self.features.contents().skills.is_some();
        let folder = folder.as_ref();
        if is_known {
            let shown = folder.display();
            let message =
                format!("skills folder {shown}: a server can have only one skills folder");
            self.problem.get_or_insert(message);
        }
        match SkillSet::load(folder) {
            Ok(skills) => skills.register(&self.features),
            Err(problem) => {
                self.problem.get_or_insert(problem);
            }
        }
        self
    }

    /// Adds a state that all handlers share: see [`State`](super::State).
    #[must_use]
    pub fn state<T: Clone + Send + Sync + 'static>(mut self, state: T) -> Self {
        self.states.insert(state);
        self
    }

    /// Returns the features, to change them while the server runs.
    pub fn features(&self) -> ServerFeatures {
        self.features.clone()
    }

    /// Checks the configuration, and makes the server ready to serve.
    ///
    /// # Errors
    ///
    /// When a feature can't be served: the error names it.
    pub fn build(mut self) -> Result<RunningServer, Error> {
        let problem = self.features.contents().problem(&self.states);
        if let Some(problem) = self.problem.take().or(problem) {
            return Err(config_error(problem));
        }
        let seal = RoundSeal::new(self.seal_key, self.seal_lifetime);
        let seal =
            seal.map_err(|error| config_error(format!("no random bytes available: {error}")))?;
        let used_round_states = self.has_single_use.then(|| self.used_round_states());
        let mut config = self.session_config();
        let is_handler = self.handler.is_some();
        config.forward_unknown_methods(is_handler);
        let tasks = Arc::new(TaskStore::new(self.tasks.clone()));
        let (mut service, capabilities) = match self.handler.take() {
            Some(handler) => handler(&self),
            None => self.feature_service(&tasks),
        };
        let raw_notification_handler = is_handler.then(|| service.clone());
        for layer in self.layers {
            service = layer(service);
        }
        let has_logging = capabilities().logging.is_some();
        Ok(RunningServer::new(ServerCore {
            service,
            states: self.states,
            seal,
            used_round_states,
            max_input_requests: self.max_input_requests,
            has_logging,
            meta: result_meta(&self.info),
            name: self.info.name.as_str().into(),
            logger: Some(self.info.name),
            shutdown_deadline: self.shutdown_deadline,
            config,
            handshake_timeout: self.handshake_timeout,
            frame_timeout: self.frame_timeout,
            capabilities,
            max_sessions: self.max_sessions,
            max_blocking: self.max_blocking,
            on_notification: self.on_notification,
            raw_notification_handler,
            sessions: SessionSet::new(self.features.sessions.clone()),
            features: self.features,
            tasks,
            #[cfg(feature = "http-server")]
            http_counters: Arc::default(),
        }))
    }

    fn used_round_states(&self) -> Box<dyn UsedRoundStates> {
        Box::new(InProcessRoundStates::new(self.max_used_request_states))
    }

    fn session_config(&self) -> SessionConfig {
        let mut config = SessionConfig::new(self.info.clone());
        config.revisions(self.revisions);
        config.handler_timeout(self.handler_timeout);
        if let Some(timeout) = self.input_request_timeout {
            config.request_timeouts(Timeouts::new(timeout, timeout));
        }
        // Layers see requests about the session too.
        config.forward_session_requests(true);
        if let Some(instructions) = &self.instructions {
            config.instructions(instructions.clone());
        }
        *config.limits() = self.limits;
        config
    }

    /// Returns the service of the registered features, and its capabilities.
    fn feature_service(&self, tasks: &Arc<TaskStore>) -> (Service, Capabilities) {
        let dispatch = Arc::new(Dispatch {
            features: self.features.clone(),
            revisions: self.revisions,
            has_logging: self.has_logging,
            instructions: self.instructions.clone(),
            page_size: self.page_size,
            caching: self.list_caching,
            meta: result_meta(&self.info),
            full_meta: discover_meta(&self.info),
            tasks: Arc::clone(tasks),
        });
        let same = Arc::clone(&dispatch);
        let capabilities: Capabilities = Box::new(move || same.capabilities());
        (Service(dispatch), capabilities)
    }

    /// Serves one client, until it disconnects.
    ///
    /// Cancel safe: dropping the future ends the session.
    ///
    /// # Errors
    ///
    /// When the configuration is [invalid](Self::build), the transport can't be opened, or the
    /// client violates the protocol more often than is tolerated.
    pub async fn serve(self, transport: impl Transport) -> Result<(), Error> {
        self.build()?.serve(transport).await
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("info", &self.info)
            .field("features", &self.features)
            .finish_non_exhaustive()
    }
}
