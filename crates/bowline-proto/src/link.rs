//! A link: one server across its connections.
//!
//! A [`Connection`] ends with its transport. A link opens another one when it ends,
//! after a wait, and goes on: its handle stays valid, calls keep their keys, ids are never
//! used again, and input from an earlier connection has no effect. Its states and edges are
//! those of docs/state-machine.md; [`Link::state`] returns the current one, and
//! [`Link::history`] the latest transitions.
//!
//! A driver performs the actions of [`Link::poll_action`] on the transport, moves bytes as for a
//! connection, and reports with `handle_…` methods what happened, with the [`ConnectionId`] that
//! it concerns.
//!
//! - `lifecycle`, `state`, `backoff`: the states, their one place of change, and the waits. Every
//!   edge is listed in docs/state-machine.md, and a test holds the code to it.
//! - `transport`, `connection_events`: what the driver reports, and what the connection reports.
//! - `calls`, `call_attempts`, `commands`: the calls that have not ended, and their attempts.
//! - `input_rounds`: rounds of input (2026-07-28). `session_adapter`: encoding a call for the
//!   session in which it is sent. `tool_modes`: what `tools/list` declares about tools.
//! - `subscriptions`, `subscription_lifecycle`: subscriptions that are reopened in each session.
//! - `config`, `error`, `event`: the public types around them.

mod backoff;
mod call_attempts;
mod calls;
mod commands;
mod config;
mod connection_events;
mod error;
mod event;
mod input_rounds;
mod lifecycle;
mod session_adapter;
mod state;
mod subscription_lifecycle;
mod subscriptions;
mod tool_modes;
mod transport;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bowline_types::tools::TaskSupport;
use bowline_types::{Era, RequestId, Revision};

use crate::calls::CallId;
use crate::carryover::Carryover;
use crate::connection::Connection;
use crate::event_queue::EventQueue;
use crate::jitter::Jitter;
use crate::negotiation::Agreement;
use crate::outbox::Transmit;
use crate::requests::RequestKey;
use crate::stats::Stats;
use crate::time::Instant;

use calls::CallTable;
use state::History;
use subscriptions::{Subscription, Subscriptions};
use tool_modes::ToolModes;

pub use backoff::Backoff;
pub use calls::{CallKey, LinkCall};
pub use config::LinkConfig;
pub use error::{InputError, LinkError};
pub use event::{Action, ConnectionId, LinkEvent};
pub use lifecycle::StopOutcome;
pub use session_adapter::{AdaptToSession, SessionTerms};
pub use state::{Cause, LinkState, Transition};
pub use subscriptions::SubscriptionKey;
pub use transport::OpenError;

/// One server across its connections. See the [module](self).
#[derive(Debug)]
pub struct Link {
    config: LinkConfig,
    state: LinkState,
    /// The one timer of the state: opening, waiting, draining, or being stable.
    timer: Option<Instant>,
    connection: Option<Connection>,
    /// The state that the next connection starts with, while there is none.
    carryover: Option<Carryover>,
    connection_id: ConnectionId,
    session: u64,
    /// The agreement of the latest session.
    agreement: Option<Arc<Agreement>>,
    known_era: Option<Era>,
    /// The server has exited on the probe, and then without it as well.
    exits_without_probe: bool,
    was_ready: bool,
    /// Failures in a row, after which waits grow.
    failures: u32,
    /// Attempts in a row that failed.
    attempts: u32,
    /// The latest time that a method was called with.
    latest_time: Instant,
    /// Set when the ids are used up: the time until which calls that wait may go on.
    draining: Option<Instant>,
    crashes: VecDeque<Instant>,
    history: History,
    jitter: Jitter,
    calls: CallTable,
    tool_modes: ToolModes,
    subscriptions: Subscriptions,
    /// Subscriptions that have ended because the server refused one of their calls. Their other
    /// calls are still to be cancelled.
    refused_subscriptions: Vec<(SubscriptionKey, Subscription)>,
    /// Calls of this connection that have become tasks and still report progress.
    task_progress: BTreeMap<CallId, CallKey>,
    /// Counters of the connections that are over.
    past_stats: Stats,
    /// The beginning of the latest malformed frame of the previous connections.
    malformed_sample: Option<Box<str>>,
    events: EventQueue<LinkEvent>,
    actions: VecDeque<Action>,
}

impl Link {
    /// Creates a link that opens its transport. `carried` holds the first ids to use.
    pub fn new(now: Instant, config: LinkConfig, carried: impl Into<Carryover>) -> Self {
        let mut link = Self {
            state: LinkState::Starting,
            timer: None,
            connection: None,
            carryover: Some(carried.into()),
            connection_id: ConnectionId(0),
            session: 0,
            agreement: None,
            known_era: config.connection.known_era,
            exits_without_probe: false,
            was_ready: false,
            failures: 0,
            attempts: 0,
            latest_time: now,
            draining: None,
            crashes: VecDeque::new(),
            history: History::default(),
            jitter: Jitter::new(config.connection.seed),
            calls: CallTable::default(),
            tool_modes: ToolModes::default(),
            subscriptions: Subscriptions::default(),
            refused_subscriptions: Vec::new(),
            task_progress: BTreeMap::new(),
            past_stats: Stats::default(),
            malformed_sample: None,
            events: EventQueue::new(config.connection.limits.max_undelivered),
            actions: VecDeque::new(),
            config,
        };
        link.begin_opening(now);
        link
    }

    // Accessors.

    /// Returns the state of the link.
    pub fn state(&self) -> LinkState {
        self.state
    }

    /// Returns the last changes of state, oldest first: 64 at most.
    pub fn history(&self) -> impl ExactSizeIterator<Item = &Transition> {
        self.history.iter()
    }

    /// Returns why there is no connection: the latest failure since calls were served. `None`
    /// while they are, before anything has failed, and once the link was stopped.
    pub fn last_failure(&self) -> Option<&Transition> {
        match self.state {
            LinkState::Starting
            | LinkState::Initializing
            | LinkState::Ready
            | LinkState::Backoff => {}
            LinkState::Closed if self.has_given_up() => {}
            LinkState::Closing | LinkState::Closed => return None,
        }
        self.history.last_failure()
    }

    /// Returns how many attempts to connect have failed in a row. A connection that was lost soon
    /// after it was ready counts as one.
    pub fn failed_attempts(&self) -> u32 {
        self.attempts
    }

    /// Returns `true` if the link has closed permanently without having been stopped: see
    /// [`last_failure`](Self::last_failure) for the reason.
    pub fn has_given_up(&self) -> bool {
        let last = self.history.iter().next_back();
        let was_stopped =
            last.is_none_or(|change| matches!(change.cause, Cause::Stopped | Cause::Drained));
        self.state == LinkState::Closed && !was_stopped
    }

    /// Returns how many times the state has changed.
    pub fn transitions(&self) -> u64 {
        self.history.total()
    }

    /// Returns the number of the session: how many handshakes have succeeded.
    pub fn session(&self) -> u64 {
        self.session
    }

    /// Returns the negotiated protocol revision while calls are served.
    pub fn revision(&self) -> Option<Revision> {
        self.connection.as_ref()?.revision()
    }

    /// Returns the era of the server, if it is known: the next connection begins with it.
    pub fn known_era(&self) -> Option<Era> {
        self.known_era
    }

    /// Returns when the next attempt to connect begins, while the link waits for it.
    pub fn next_attempt(&self) -> Option<Instant> {
        self.timer.filter(|_| self.state == LinkState::Backoff)
    }

    /// Returns the number of calls that have not ended.
    pub fn pending(&self) -> usize {
        self.calls.len()
    }

    /// Returns the number of cancelled calls that are still remembered.
    pub fn tombstones(&self) -> usize {
        self.connection.as_ref().map_or(0, Connection::tombstones)
    }

    /// Returns `true` if calls carry the number of the session: a tool is declared stateful.
    pub fn is_session_required(&self) -> bool {
        self.tool_modes.is_session_required()
    }

    /// Returns the support of a tool for tasks (2025-11-25), as the server's list
    /// of tools declares. `None` if the list was not read, or not to its end.
    pub fn task_support(&self, tool: &str) -> Option<TaskSupport> {
        self.tool_modes.task_support(tool, self.session)
    }

    /// Returns the counters of all connections of this link.
    pub fn stats(&self) -> Stats {
        let now = self.connection.as_ref().map(Connection::stats);
        self.past_stats.with(now.unwrap_or_default())
    }

    /// Returns the beginning of the latest malformed frame, for diagnostics: see
    /// [`Connection::malformed_sample`]. It is kept after its connection ends, until the next one
    /// begins.
    pub fn malformed_sample(&self) -> Option<&str> {
        match &self.connection {
            Some(connection) => connection.malformed_sample(),
            None => self.malformed_sample.as_deref(),
        }
    }

    /// Returns the JSON-RPC id of an open request of the server.
    pub fn request_id(&self, request: RequestKey) -> Option<&RequestId> {
        self.connection.as_ref()?.request_id(request)
    }

    /// Returns `true` if the driver should read: one chunk for each `true`.
    pub fn wants_read(&self) -> bool {
        self.connection.as_ref().is_some_and(Connection::wants_read)
    }

    // Output.

    /// Returns the next action that the driver must perform on the transport.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Returns the next message to send on the transport of the current connection. Take it only
    /// when the previous one is written.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        let transmit = self.connection.as_mut()?.poll_transmit()?;
        // The queue has room for another call.
        self.offer_waiting_calls(self.latest_time);
        Some(transmit)
    }

    /// Returns the next message that is still to be sent before the link is
    /// [stopped](Self::stop): as [`poll_transmit`](Self::poll_transmit), but no calls. They end
    /// with the link, as calls that were not sent.
    pub fn poll_final_transmit(&mut self) -> Option<Transmit> {
        self.connection.as_mut()?.poll_final_transmit()
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<LinkEvent> {
        let event = self.events.pop();
        self.report_backlog();
        event
    }

    /// Returns when [`handle_timeout`](Self::handle_timeout) is due. `None` while there is no
    /// deadline.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let connection = self.connection.as_ref().and_then(Connection::poll_timeout);
        [
            self.timer,
            self.draining,
            self.calls.next_deadline(),
            connection,
        ]
        .into_iter()
        .flatten()
        .min()
        .filter(|at| *at != Instant::NEVER)
    }

    /// Gives back the memory that is only kept to be used again: see [`Connection::shrink_to_fit`].
    pub fn shrink_to_fit(&mut self) {
        self.calls.shrink_to_fit();
        self.events.shrink_to_fit();
        self.actions.shrink_to_fit();
        if let Some(connection) = &mut self.connection {
            connection.shrink_to_fit();
        }
    }

    fn observe_time(&mut self, now: Instant) {
        self.latest_time = self.latest_time.max(now);
    }

    fn push_event(&mut self, event: LinkEvent) {
        self.events.push(event);
    }

    /// Reports the weight of the queued events to the connection, whose limit they count against.
    fn report_backlog(&mut self) {
        let weight = self.events.weight();
        if let Some(connection) = &mut self.connection {
            connection.set_outer_backlog(weight);
        }
    }
}
