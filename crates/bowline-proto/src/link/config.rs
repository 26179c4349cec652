//! The configuration of a link.

use std::time::Duration;

use crate::config::Config;

use super::backoff::Backoff;

/// The configuration of a link: what one connection has, and what lies between two.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    pub(super) connection: Config,
    pub(super) backoff: Backoff,
    pub(super) opening_timeout: Duration,
    pub(super) drain_timeout: Duration,
    pub(super) max_crashes: u32,
    pub(super) crash_window: Duration,
    pub(super) max_rounds: u32,
    pub(super) max_questions: usize,
    pub(super) max_retries: u32,
    pub(super) max_subscriptions: usize,
    pub(super) max_stateful_tools: usize,
    pub(super) accepted_results: Vec<String>,
}

impl LinkConfig {
    /// Creates the defaults around a connection of this configuration.
    pub fn new(connection: Config) -> Self {
        Self {
            connection,
            backoff: Backoff::default(),
            opening_timeout: Duration::from_secs(20),
            drain_timeout: Duration::from_millis(50),
            max_crashes: 3,
            crash_window: Duration::from_secs(5),
            max_rounds: 16,
            max_questions: 100,
            max_retries: 3,
            max_subscriptions: 1000,
            max_stateful_tools: 10_000,
            accepted_results: Vec::new(),
        }
    }

    /// Returns the configuration of each connection.
    pub fn connection(&mut self) -> &mut Config {
        &mut self.connection
    }

    /// Sets how long to wait between attempts. Default: 1 s to 30 s.
    pub fn backoff(&mut self, backoff: Backoff) -> &mut Self {
        self.backoff = backoff;
        self
    }

    /// Sets how long opening the transport may take. Default 20 s: what a slow network needs for
    /// names, TCP and TLS.
    pub fn opening_timeout(&mut self, timeout: Duration) -> &mut Self {
        self.opening_timeout = timeout;
        self
    }

    /// Sets how long a transport may take to close when the link is stopped. Default 50 ms: the
    /// caller of a stop waits no longer, whatever the server does.
    pub fn drain_timeout(&mut self, timeout: Duration) -> &mut Self {
        self.drain_timeout = timeout;
        self
    }

    /// Sets how many crashes of the driver within a time are survived. Default 3 in 5 s; one more
    /// closes the link.
    pub fn max_crashes(&mut self, crashes: u32, within: Duration) -> &mut Self {
        self.max_crashes = crashes;
        self.crash_window = within;
        self
    }

    /// Sets how many rounds of input a server may request for one call. Default 16; then the call
    /// ends as invalid.
    pub fn max_rounds(&mut self, rounds: u32) -> &mut Self {
        self.max_rounds = rounds;
        self
    }

    /// Sets how many input requests a server may send in one of these rounds. Default 100: each
    /// may go to a user, and one frame has room for 500 000. With more the call ends as invalid,
    /// and no handler is invoked.
    pub fn max_questions(&mut self, questions: usize) -> &mut Self {
        self.max_questions = questions;
        self
    }

    /// Sets how often one call is made again after a loss, where it may be. Default 3.
    pub fn max_retries(&mut self, retries: u32) -> &mut Self {
        self.max_retries = retries;
        self
    }

    /// Sets how many subscriptions are kept across connections. Default 1000; each costs its
    /// filter.
    pub fn max_subscriptions(&mut self, limit: usize) -> &mut Self {
        self.max_subscriptions = limit;
        self
    }

    /// Sets how many names of stateful tools, and of tools that run as tasks, are remembered.
    /// Default 10 000; those beyond count as stateful only for requiring the session.
    pub fn max_stateful_tools(&mut self, limit: usize) -> &mut Self {
        self.max_stateful_tools = limit;
        self
    }

    /// Accepts a `resultType` of an extension that the client has declared. A result with a type
    /// that is neither the protocol's nor accepted here is invalid.
    pub fn accept_result(&mut self, result_type: impl Into<String>) -> &mut Self {
        self.accepted_results.push(result_type.into());
        self
    }
}
