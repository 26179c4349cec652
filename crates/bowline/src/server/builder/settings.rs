//! How a server serves what it has: what it says of itself, and its limits.

use std::time::Duration;

use bowline_proto::{Limits, Payload};
use bowline_types::{Method, Revisions};

use super::Server;
use crate::server::caching::Caching;
use crate::server::tasks::TaskConfig;

impl Server {
    /// How to use the server, for the model.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Offers tools although there are none yet: they are added while it runs.
    #[must_use]
    pub fn with_tools(self) -> Self {
        self.features
            .change(|contents| contents.may_have.tools = true);
        self
    }

    /// Offers resources although there are none yet.
    #[must_use]
    pub fn with_resources(self) -> Self {
        self.features
            .change(|contents| contents.may_have.resources = true);
        self
    }

    /// Offers prompts although there are none yet.
    #[must_use]
    pub fn with_prompts(self) -> Self {
        self.features
            .change(|contents| contents.may_have.prompts = true);
        self
    }

    /// Sends no log messages, and offers none. A [`Handler`](crate::server::Handler) decides that by its capabilities.
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

    /// How many clients a [listener](crate::server::Running::listen) serves at once. Default 10,000.
    #[must_use]
    pub fn max_sessions(mut self, sessions: usize) -> Self {
        self.max_sessions = sessions.max(1);
        self
    }

    /// How many handlers of one client that [block](crate::server::ToolDef::blocking) have a thread at once.
    /// Default 64, an eighth of the threads of the process, so that no client has them all.
    /// What comes then waits, and begins in the order in which it came.
    #[must_use]
    pub fn max_blocking(mut self, handlers: usize) -> Self {
        self.max_blocking = handlers.max(1);
        self
    }

    /// How many things a list has in one answer. Default 100.
    #[must_use]
    pub fn page_size(mut self, size: usize) -> Self {
        self.page_size = size.max(1);
        self
    }

    /// How long clients may keep lists, and what the server says of itself. Default: not at
    /// all. What a resource contains has [its own](crate::server::ResourceDef::cache).
    #[must_use]
    pub fn cache_lists(mut self, caching: Caching) -> Self {
        self.list_caching = caching;
        self
    }

    /// How long a client that a [listener](crate::server::Running::listen) accepted may take to introduce
    /// itself. Default 30 s; then it loses its place. On other streams, such as stdio, it is
    /// only told in the log: there the client owns the process.
    #[must_use]
    pub fn handshake_timeout(mut self, timeout: Duration) -> Self {
        self.handshake_timeout = timeout;
        self
    }

    /// How long a message of a client that a [listener](crate::server::Running::listen) accepted may take,
    /// from its first byte to its last. Default 60 s; then the client loses its place.
    #[must_use]
    pub fn frame_timeout(mut self, timeout: Duration) -> Self {
        self.frame_timeout = timeout;
        self
    }

    /// How long a handler may take; then the client gets an error, and the handler is
    /// dropped. Default: as long as it likes, since a client has a timeout of its own.
    /// Subscriptions are not ended by it, nor is who waits for a task.
    #[must_use]
    pub fn handler_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.handler_timeout = timeout;
        self
    }

    /// How long a client may take to answer what a handler asks ([`elicit`], [`sample`],
    /// [`roots`]), until 2025-11-25. Default 5 min, since people answer. Then the question
    /// fails, and the client is told that it is off.
    ///
    /// Since 2026-07-28 nothing waits: a client has the time that
    /// [`round_key`](Self::round_key) says.
    ///
    /// [`elicit`]: crate::server::Context::elicit
    /// [`sample`]: crate::server::Context::sample
    /// [`roots`]: crate::server::Context::roots
    #[must_use]
    pub fn question_timeout(mut self, timeout: Duration) -> Self {
        self.question_timeout = Some(timeout);
        self
    }

    /// How long requests that are being served may take when the server ends, or its client
    /// is gone. Default 5 s. A tenth of a second before their handlers
    /// [learn](crate::server::Context::shutting_down) of it, and can still answer; those that
    /// don't are answered for with an error. A client that has left may read what is answered
    /// for as long as it does, until it has taken nothing for 5 s.
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

    /// Takes what a client keeps between two rounds of input once: who brings it again is told
    /// to begin anew. Without that a round can be repeated until its state is too old, and does
    /// again what its handler does. Default: off.
    ///
    /// A state is used when the handler begins, whatever becomes of it: when the answer is lost,
    /// the client has to begin anew. This process remembers what was used; of several nodes that
    /// share a [key](Self::round_key), each takes a state once.
    #[must_use]
    pub fn single_use_rounds(mut self) -> Self {
        self.has_single_use = true;
        self
    }

    /// How many used states are remembered, with
    /// [`single_use_rounds`](Self::single_use_rounds). Default 100,000, of about 100 bytes each.
    /// None is forgotten before it is too old: when there is no room, rounds are refused as
    /// "busy", and their states are not used.
    #[must_use]
    pub fn max_used_rounds(mut self, states: usize) -> Self {
        self.max_used_rounds = states.max(1);
        self
    }

    /// How many questions a request may ask in all its rounds of input (since 2026-07-28).
    /// Default 100. The client keeps all answers until the last, and each round runs the handler
    /// anew; a handler that asks more gets an error. Where a handler waits for each answer,
    /// before that revision and in tasks, nothing is kept, and it may ask on.
    #[must_use]
    pub fn max_questions(mut self, questions: usize) -> Self {
        self.max_questions = questions;
        self
    }

    /// How it keeps [tasks](crate::server::ToolDef::task_support).
    #[must_use]
    pub fn tasks(mut self, tasks: impl Into<TaskConfig>) -> Self {
        self.tasks = tasks.into();
        self
    }

    /// Hears notifications of clients, such as that their roots have changed. It is run by
    /// the connection, and has to be quick: what came after the notification waits until it
    /// returns.
    #[must_use]
    pub fn on_notification(
        mut self,
        handler: impl Fn(Method, Option<&Payload>) + Send + Sync + 'static,
    ) -> Self {
        self.on_notification = Some(Box::new(handler));
        self
    }
}
