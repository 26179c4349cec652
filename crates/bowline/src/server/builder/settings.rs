//! Settings of a server: its texts, limits and times.

use std::time::Duration;

use bowline_proto::{Limits, Payload};
use bowline_types::{Method, Revisions};

use super::Server;
use crate::server::caching::Caching;
use crate::server::tasks::TaskConfig;

impl Server {
    /// Sets the instructions for the model: how to use the server.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Declares the capability for tools although there are none yet: they can be added while the
    /// server runs.
    #[must_use]
    pub fn declare_tools(self) -> Self {
        self.features
            .change(|contents| contents.may_have.tools = true);
        self
    }

    /// Declares the capability for resources although there are none yet.
    #[must_use]
    pub fn declare_resources(self) -> Self {
        self.features
            .change(|contents| contents.may_have.resources = true);
        self
    }

    /// Declares the capability for prompts although there are none yet.
    #[must_use]
    pub fn declare_prompts(self) -> Self {
        self.features
            .change(|contents| contents.may_have.prompts = true);
        self
    }

    /// Sends no log messages to clients, and doesn't declare the capability. For a
    /// [`Handler`](crate::server::Handler) its capabilities decide.
    #[must_use]
    pub fn without_logging(mut self) -> Self {
        self.has_logging = false;
        self
    }

    /// Sets the revisions that are served. Default: all.
    #[must_use]
    pub fn revisions(mut self, revisions: Revisions) -> Self {
        self.revisions = revisions;
        self
    }

    /// Sets the limits on what one client may use.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets how many clients of a [listener](crate::server::RunningServer::serve_listener) are
    /// served at once. Default 10,000.
    #[must_use]
    pub fn max_sessions(mut self, sessions: usize) -> Self {
        self.max_sessions = sessions.max(1);
        self
    }

    /// Sets how many [blocking](crate::server::ToolDef::blocking) handlers of one client have a
    /// thread at once. Default 64, an eighth of the threads of the process, so that no client has
    /// all of them. Other calls wait, first in, first out.
    #[must_use]
    pub fn max_blocking(mut self, handlers: usize) -> Self {
        self.max_blocking = handlers.max(1);
        self
    }

    /// Sets the page size of lists. Default 100.
    #[must_use]
    pub fn page_size(mut self, size: usize) -> Self {
        self.page_size = size.max(1);
        self
    }

    /// Sets how long clients may cache lists and the result of `server/discover`. Default: not at
    /// all. The contents of a resource have [their own setting](crate::server::ResourceDef::cache).
    #[must_use]
    pub fn cache_lists(mut self, caching: Caching) -> Self {
        self.list_caching = caching;
        self
    }

    /// Sets how long a client of a [listener](crate::server::RunningServer::serve_listener) may take
    /// to introduce itself: with `initialize`, or with its first request of the stateless era.
    /// Default 30 s; then it is disconnected. On other streams, such as stdio, it is only logged:
    /// there the client owns the process.
    #[must_use]
    pub fn handshake_timeout(mut self, timeout: Duration) -> Self {
        self.handshake_timeout = timeout;
        self
    }

    /// Sets how long a message of a client of a
    /// [listener](crate::server::RunningServer::serve_listener) may take from its first byte to its
    /// last. Default 60 s; then the client is disconnected.
    #[must_use]
    pub fn frame_timeout(mut self, timeout: Duration) -> Self {
        self.frame_timeout = timeout;
        self
    }

    /// Sets how long a handler may take; then the client gets an error, and the handler is dropped.
    /// Default: unlimited, since clients have timeouts of their own. Subscriptions are not ended by
    /// it, nor are requests that wait for a task.
    #[must_use]
    pub fn handler_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.handler_timeout = timeout;
        self
    }

    /// Sets how long a client may take to respond to an input request of a handler ([`elicit`],
    /// [`sample`], [`list_roots`]), until 2025-11-25. Default 5 min, since users answer. Then it fails,
    /// and the request to the client is cancelled.
    ///
    /// Since 2026-07-28 no handler waits: a client has the time that is set with
    /// [`request_state_key`](Self::request_state_key).
    ///
    /// [`elicit`]: crate::server::Context::elicit
    /// [`sample`]: crate::server::Context::sample
    /// [`list_roots`]: crate::server::Context::list_roots
    #[must_use]
    pub fn input_request_timeout(mut self, timeout: Duration) -> Self {
        self.input_request_timeout = Some(timeout);
        self
    }

    /// Sets how long requests that are being served may take when the server shuts down, or its
    /// client has left. Default 5 s. A tenth of a second before the deadline their handlers are
    /// [notified](crate::server::Context::shutting_down) and can still respond; open requests
    /// then get an error. A client that has left may go on reading responses, until it
    /// has read nothing for 5 s.
    #[must_use]
    pub fn shutdown_deadline(mut self, deadline: Duration) -> Self {
        self.shutdown_deadline = Some(deadline);
        self
    }

    /// Sets the key that seals the state that a client keeps between two rounds of input, and how
    /// long the state is valid. Default: a random key for each process, 10 min. Nodes that serve
    /// the same clients need the same key.
    #[must_use]
    pub fn request_state_key(mut self, key: [u8; 32], lifetime: Duration) -> Self {
        self.seal_key = Some(key);
        self.seal_lifetime = lifetime;
        self
    }

    /// Accepts the state that a client keeps between two rounds of input only once: a client that
    /// sends it again has to start again. Otherwise a round can be repeated until its state
    /// expires, with the effects of its handler. Default: off.
    ///
    /// A state is used when the handler begins, whatever its outcome: when the response is lost,
    /// the client has to start again. This process remembers which states were used; of several
    /// nodes that share a [key](Self::request_state_key), each accepts a state once.
    #[must_use]
    pub fn single_use_request_state(mut self) -> Self {
        self.has_single_use = true;
        self
    }

    /// Sets how many used states are remembered, with
    /// [`single_use_request_state`](Self::single_use_request_state). Default 100,000, of about 100 bytes each.
    /// None is forgotten before it expires: when there is no room, rounds are refused as "busy",
    /// and their states are not used.
    #[must_use]
    pub fn max_used_request_states(mut self, states: usize) -> Self {
        self.max_used_request_states = states.max(1);
        self
    }

    /// Sets how many input requests the handler of a request may make in all its rounds (since
    /// 2026-07-28). Default 100. The client keeps all its responses until the last round, and each
    /// round runs the handler again; a handler that makes more gets an error. Where a handler waits
    /// for each response, before that revision and in tasks, there is no limit.
    #[must_use]
    pub fn max_input_requests(mut self, requests: usize) -> Self {
        self.max_input_requests = requests;
        self
    }

    /// Sets how the server keeps [tasks](crate::server::ToolDef::task_support).
    #[must_use]
    pub fn tasks(mut self, tasks: impl Into<TaskConfig>) -> Self {
        self.tasks = tasks.into();
        self
    }

    /// Sets a callback for notifications of clients, for instance that their roots have changed.
    /// The connection runs it, so it has to be quick: messages that arrive after the notification
    /// wait until it returns.
    #[must_use]
    pub fn on_notification(
        mut self,
        handler: impl Fn(Method, Option<&Payload>) + Send + Sync + 'static,
    ) -> Self {
        self.on_notification = Some(Box::new(handler));
        self
    }
}
