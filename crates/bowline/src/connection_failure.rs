//! Why there is no connection to a server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bowline_proto::link::{Cause, LinkState};
use bowline_proto::{CloseReason, NegotiationError};

use crate::error::rounded;
use crate::transport::TransportEnd;

/// Why there is no connection to a server: what failed last, and what happens next.
///
/// Errors of calls have it as [`Error::connection_failure`](crate::Error::connection_failure).
///
/// ```
/// # fn example(client: &bowline::Client) {
/// if let Some(failure) = client.connection_failure() {
///     println!("no connection: {failure}");
///     if let Some(words) = failure.stderr_tail() {
///         println!("the server wrote: {words}");
///     }
/// }
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConnectionFailure {
    /// The state of the client: [`Backoff`](LinkState::Backoff) while it waits for the next attempt,
    /// [`Closed`](LinkState::Closed) when it has given up.
    pub state: LinkState,
    /// What failed last.
    pub cause: Cause,
    /// How the stream ended, where it was open and its transport knows: with the exit status of
    /// a process, and the end of what it wrote on stderr.
    pub transport_end: Option<Arc<TransportEnd>>,
    /// How many attempts to connect have failed in a row. A connection that was lost soon after
    /// it was ready counts as one.
    pub attempts: u32,
    /// How long it is until the next attempt. `None` while one is under way, and when there will
    /// be none.
    pub next_attempt: Option<Duration>,
}

impl ConnectionFailure {
    /// Returns `true` if the client has given up: it never connects again.
    pub fn has_given_up(&self) -> bool {
        self.state == LinkState::Closed
    }

    /// Returns why client and server did not agree on a session, if that is what failed: they have
    /// no common revision, or the server refused the handshake or sent an invalid response to it.
    pub fn negotiation_error(&self) -> Option<&NegotiationError> {
        match &self.cause {
            Cause::Ended(CloseReason::Negotiation(error)) => Some(error),
            _ => None,
        }
    }

    /// Returns the end of what the server's process wrote on stderr, as it was written: 64 KiB at
    /// most. `None` if that was nothing, or is not known.
    pub fn stderr_tail(&self) -> Option<&str> {
        let transport_end = self.transport_end.as_ref()?;
        Some(transport_end.stderr.trim()).filter(|output| !output.is_empty())
    }
}

/// What failed, with the exit status of the process and the end of its stderr, and what happens next.
impl fmt::Display for ConnectionFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)?;
        let next = self.attempts.saturating_add(1);
        match (self.state, self.next_attempt) {
            (_, Some(wait)) => write!(f, "; attempt {next} in {:?}", rounded(wait)),
            (LinkState::Starting | LinkState::Initializing, None) => {
                write!(f, "; attempt {next} is under way")
            }
            (LinkState::Closed, None) if self.attempts > 1 => {
                write!(f, "; gave up after {} attempts", self.attempts)
            }
            (LinkState::Closed, None) => f.write_str("; gave up"),
            (LinkState::Ready | LinkState::Backoff | LinkState::Closing, None) => Ok(()),
        }
    }
}
