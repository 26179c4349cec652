//! The error type of the library.
//!
//! `delivery`: whether a failed call was sent or may have run, and how to recover.

mod delivery;

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "client")]
use bowline_proto::CloseReason;
#[cfg(feature = "client")]
use bowline_proto::Instant;
use bowline_proto::link::LinkState;
#[cfg(feature = "client")]
use bowline_proto::link::{Cause, LinkError};
use bowline_proto::{NegotiationError, Outcome, Payload, Sent};
use bowline_types::elicitation::ElicitUrlParams;
use bowline_types::error::{UrlElicitationData, codes};
use bowline_types::tools::CallToolResult;
use bowline_types::{ErrorObject, Wire as _};

use crate::connection_failure::ConnectionFailure;
use crate::transport::TransportEnd;

/// What went wrong, in which operation, and what can be done about it.
///
/// ```
/// use bowline::{Error, ErrorKind, Recovery};
///
/// fn advice(error: &Error) -> &'static str {
///     match (error.kind(), error.recovery()) {
///         (ErrorKind::JsonRpc, _) => "the server returned an error",
///         (_, Recovery::Retry) => "try again",
///         (_, Recovery::Reconnect) => "try again when the connection is back",
///         (_, Recovery::Abort) => "give up",
///         (_, _) => "never mind",
///     }
/// }
/// # let error = Error::new(ErrorKind::Timeout, "after 30s").in_operation("tools/list");
/// # assert_eq!(advice(&error), "try again");
/// # assert_eq!(error.to_string(), "tools/list: timed out: after 30s");
/// ```
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: Cow<'static, str>,
    operation: Option<Cow<'static, str>>,
    details: Details,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// What else is known.
#[derive(Debug, Default)]
struct Details {
    server: Option<ErrorObject>,
    /// If the call was sent, as the core reports it. `None` for errors of anything but a call.
    sent: Option<Sent>,
    /// `true` if the call may be repeated, where that doesn't follow from its method.
    may_repeat: Option<bool>,
    elapsed: Option<Duration>,
    state: Option<LinkState>,
    next_attempt: Option<Duration>,
    attempts: Option<u32>,
    transport_end: Option<Arc<TransportEnd>>,
    connection_failure: Option<Box<ConnectionFailure>>,
    tool_result: Option<Box<CallToolResult>>,
    handler: Option<ErrorObject>,
    malformed_sample: Option<String>,
}

/// The kinds of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The transport could not be opened.
    Transport,
    /// The transport was lost while a call was under way.
    TransportDown,
    /// The peer violated the protocol.
    Protocol,
    /// The server returned an error: see [`Error::server_error`].
    JsonRpc,
    /// Not allowed in the present state.
    State,
    /// The client is not connected.
    Unavailable,
    /// No response was received in time.
    Timeout,
    /// The call was cancelled.
    Cancelled,
    /// The client was stopped.
    Shutdown,
    /// Too many calls or bytes are in flight.
    Backpressure,
    /// The peer, or the revision of the session, doesn't support it.
    CapabilityNotSupported,
    /// The response can't be decoded.
    InvalidResponse,
    /// A tool's result doesn't match its output schema: see [`Error::tool_result`]. Or it can't be
    /// checked, where the policy is strict.
    SchemaMismatch,
    /// A message, or a list, is larger than a limit allows.
    OversizedFrame,
    /// Authorization failed.
    Auth,
    /// A tool failed, and reported that in its result, where the model can see it.
    Tool,
    /// The configuration is wrong.
    Config,
    /// The parameters of a call can't be sent: they, or the arguments of a tool, are no JSON
    /// object.
    InvalidParams,
    /// A handler of this client failed, so that the call could
    /// not continue: see [`Error::handler_error`].
    Handler,
}

impl ErrorKind {
    const fn description(self) -> &'static str {
        match self {
            Self::Transport => "the transport could not be opened",
            Self::TransportDown => "the transport was lost",
            Self::Protocol => "the peer violated the protocol",
            Self::JsonRpc => "the server returned an error",
            Self::State => "not allowed in this state",
            Self::Unavailable => "not connected",
            Self::Timeout => "timed out",
            Self::Cancelled => "cancelled",
            Self::Shutdown => "the client is stopped",
            Self::Backpressure => "too many messages in flight",
            Self::CapabilityNotSupported => "not supported by the peer",
            Self::InvalidResponse => "the response can't be decoded",
            Self::SchemaMismatch => "the result doesn't match its schema",
            Self::OversizedFrame => "size limit exceeded",
            Self::Auth => "authorization failed",
            Self::Tool => "the tool failed",
            Self::Config => "the configuration is wrong",
            Self::InvalidParams => "invalid parameters",
            Self::Handler => "a handler of this client failed",
        }
    }
}

/// What can be done about an error: see [`Error::recovery`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Recovery {
    /// The same operation may succeed when it is repeated, and repeating it does no harm.
    Retry,
    /// Nothing will succeed before there is a connection. Whether this call may be made again
    /// then is a question of [`Error::may_have_run`].
    Reconnect,
    /// The same operation will fail again, or may have its effect twice.
    Abort,
    /// Nothing needs to be done: the operation was cancelled.
    Ignore,
}

impl Error {
    /// Creates an error of a kind with a message.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            operation: None,
            details: Details::default(),
            source: None,
        }))
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the operation that failed: a method, as a rule.
    pub fn operation(&self) -> Option<&str> {
        self.0.operation.as_deref()
    }

    /// Returns the error that the server returned.
    pub fn server_error(&self) -> Option<&ErrorObject> {
        self.0.details.server.as_ref()
    }

    /// Returns the error that this client returned for a request of the server during the call:
    /// there was no handler, the user declined, or the handler failed.
    pub fn handler_error(&self) -> Option<&ErrorObject> {
        self.0.details.handler.as_ref()
    }

    /// Returns the URL elicitations that the server requires before the call is made again: error
    /// −32042, only in 2025-11-25. A client with a [handler of URL
    /// elicitations](crate::ClientConfig::elicitation_url) does both by itself.
    pub fn url_elicitations(&self) -> Vec<ElicitUrlParams> {
        let error = self.server_error();
        let error = error.filter(|error| error.code == codes::URL_ELICITATION_REQUIRED);
        let data = error.and_then(|error| error.data.as_ref());
        let data = data.and_then(|data| UrlElicitationData::from_json(data.as_str()).ok());
        data.map(|data| data.elicitations).unwrap_or_default()
    }

    /// Returns how long the call took, for a timeout.
    pub fn elapsed(&self) -> Option<Duration> {
        self.0.details.elapsed
    }

    /// Returns the state of the client, when there was no connection.
    pub fn state(&self) -> Option<LinkState> {
        self.0.details.state
    }

    /// Returns how long until the next attempt, when there is no connection and that is known.
    pub fn next_attempt(&self) -> Option<Duration> {
        self.0.details.next_attempt
    }

    /// Returns why there is no connection, where the call failed because of that: what failed
    /// last, what the server wrote, and when the client tries again or that it has given up.
    pub fn connection_failure(&self) -> Option<&ConnectionFailure> {
        self.0.details.connection_failure.as_deref()
    }

    /// Returns why client and server did not agree on a session, where the call failed because of
    /// that. It has the revisions of both where none is common.
    ///
    /// ```
    /// use bowline::{Error, NegotiationError};
    ///
    /// fn advice(error: &Error) -> Option<&'static str> {
    ///     match error.negotiation_error()? {
    ///         NegotiationError::NoCommonRevision { .. } => Some("update the server"),
    ///         NegotiationError::Refused(_) => Some("check the licence of the server"),
    ///         _ => None,
    ///     }
    /// }
    /// # assert_eq!(advice(&Error::new(bowline::ErrorKind::Timeout, "")), None);
    /// ```
    pub fn negotiation_error(&self) -> Option<&NegotiationError> {
        self.connection_failure()?.negotiation_error()
    }

    /// Returns the end of what the server's process wrote on stderr before it ended or its stream
    /// was lost: 64 KiB at most. `None` if that was nothing, or is not known.
    pub fn stderr_tail(&self) -> Option<&str> {
        let output = self.transport_end()?.stderr.trim();
        Some(output).filter(|output| !output.is_empty())
    }

    /// Returns how many attempts have failed: to hand a message to a busy transport, or in a row to
    /// connect, where there is no connection.
    pub fn attempts(&self) -> Option<u32> {
        self.0.details.attempts
    }

    /// Returns how the stream ended whose loss this error is about, with the exit status of a
    /// process and its last stderr output.
    pub fn transport_end(&self) -> Option<&TransportEnd> {
        self.0.details.transport_end.as_deref()
    }

    /// Returns the beginning of what the server wrote that is no message, where there is no
    /// connection, as [`Client::malformed_sample`](crate::Client::malformed_sample) has it.
    pub fn malformed_sample(&self) -> Option<&str> {
        self.0.details.malformed_sample.as_deref()
    }

    /// Returns the result of a tool that doesn't match its schema, as it was received.
    pub fn tool_result(&self) -> Option<&CallToolResult> {
        self.0.details.tool_result.as_deref()
    }

    /// Returns the same error, of an operation.
    #[must_use]
    pub fn in_operation(mut self, operation: impl Into<Cow<'static, str>>) -> Self {
        self.0.operation = Some(operation.into());
        self
    }

    /// Returns the same error, with what caused it.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Returns the same error, about a result of a tool.
    #[cfg(all(feature = "validate", feature = "client"))]
    pub(crate) fn with_tool_result(mut self, result: CallToolResult) -> Self {
        self.0.details.tool_result = Some(Box::new(result));
        self
    }

    /// Returns the same error, caused by the error of a handler of this client.
    #[cfg(feature = "client")]
    pub(crate) fn with_handler_error(mut self, error: ErrorObject) -> Self {
        self.0.details.handler = Some(error);
        self
    }

    /// Returns the same error with another message.
    #[cfg(feature = "client")]
    pub(crate) fn with_message(mut self, message: &'static str) -> Self {
        self.0.message = message.into();
        self
    }

    /// Returns the same error, with why there is no connection. That of a client that has given up
    /// replaces what was refused because of it.
    #[cfg(feature = "client")]
    pub(crate) fn explained_by_connection_failure(
        mut self,
        failure: Option<ConnectionFailure>,
    ) -> Self {
        let Some(failure) = failure else {
            return self;
        };
        let inner = &mut *self.0;
        if failure.has_given_up() {
            inner.kind = match give_up_kind(&failure.cause) {
                // The server has refused the handshake, and not this call.
                ErrorKind::JsonRpc => ErrorKind::Unavailable,
                kind => kind,
            };
            inner.message = format!("{}; start a new client to try again", failure.cause).into();
        } else if inner.kind == ErrorKind::Timeout {
            let message = format!("{}; not connected: {failure}", inner.message);
            inner.message = message.into();
        } else {
            inner.message = failure.to_string().into();
        }
        self.with_connection_failure(failure)
    }

    /// Returns the error of a client that has given up before it was connected.
    #[cfg(feature = "client")]
    pub(crate) fn not_connected(failure: ConnectionFailure) -> Self {
        let mut error = Self::new(give_up_kind(&failure.cause), failure.cause.to_string());
        if let Some(NegotiationError::Refused(refusal)) = failure.negotiation_error() {
            error.0.details.server = Some(refusal.clone());
        }
        error.with_connection_failure(failure)
    }

    /// Returns the same error with the same message, and with why there is no connection.
    #[cfg(feature = "client")]
    pub(crate) fn with_connection_failure(mut self, failure: ConnectionFailure) -> Self {
        let details = &mut self.0.details;
        details.state = Some(failure.state);
        details.next_attempt = failure.next_attempt;
        details.attempts = Some(failure.attempts);
        if details.transport_end.is_none() {
            details.transport_end.clone_from(&failure.transport_end);
        }
        details.connection_failure = Some(Box::new(failure));
        self
    }

    /// Returns the same error, with what the server wrote that is no message.
    #[cfg(feature = "client")]
    pub(crate) fn with_malformed_sample(mut self, sample: Option<String>) -> Self {
        self.0.details.malformed_sample = sample;
        self
    }

    /// Returns the result of a call, or how it ended without one. `sent` is what the core knows of
    /// its request; `None` if it is no call.
    pub(crate) fn from_outcome(
        outcome: Outcome,
        sent: Option<Sent>,
        transport_end: Option<Arc<TransportEnd>>,
    ) -> Result<Payload, Self> {
        let mut details = Details {
            sent,
            transport_end,
            ..Details::default()
        };
        let (kind, message): (_, Cow<'static, str>) = match outcome {
            Outcome::Result(payload) => return Ok(payload),
            Outcome::Error(error) => {
                let message = error.to_string();
                details.server = Some(error);
                (ErrorKind::JsonRpc, message.into())
            }
            Outcome::TimedOut { elapsed } => {
                details.elapsed = Some(elapsed);
                let message = format!("after {:?}", rounded(elapsed));
                (ErrorKind::Timeout, message.into())
            }
            Outcome::Unsupported(message) => (ErrorKind::CapabilityNotSupported, message.into()),
            Outcome::Cancelled => (ErrorKind::Cancelled, "by the caller".into()),
            Outcome::CancelledByServer => (ErrorKind::Cancelled, "by the server".into()),
            Outcome::Invalid(reason) => (ErrorKind::Protocol, reason.into()),
            Outcome::TooLarge { size } => (
                ErrorKind::OversizedFrame,
                format!("a response of {size} bytes").into(),
            ),
            Outcome::Backpressure { attempts } => {
                details.attempts = Some(attempts);
                (ErrorKind::Backpressure, "the transport was busy".into())
            }
            Outcome::Lost { reason } => (ErrorKind::TransportDown, reason.into()),
            Outcome::Shutdown => (ErrorKind::Shutdown, "".into()),
            other => (ErrorKind::Protocol, other.name().into()),
        };
        let mut error = Self::new(kind, message);
        error.0.details = details;
        Err(error)
    }

    /// Converts the error of a refused command. `until` returns the time until a moment of the
    /// core.
    #[cfg(feature = "client")]
    pub(crate) fn from_link(error: LinkError, until: impl FnOnce(Instant) -> Duration) -> Self {
        let message = error.to_string();
        let error = match error {
            LinkError::Unavailable {
                state,
                next_attempt,
            } => {
                let mut error = Self::new(ErrorKind::Unavailable, connecting_message(state));
                error.0.details.state = Some(state);
                error.0.details.next_attempt = next_attempt.map(until);
                error
            }
            LinkError::Backpressure => Self::new(ErrorKind::Backpressure, message),
            LinkError::TooLarge { .. } => Self::new(ErrorKind::OversizedFrame, message),
            LinkError::Shutdown | LinkError::GaveUp => Self::new(ErrorKind::Shutdown, ""),
            other => Self::new(ErrorKind::State, other.to_string()),
        };
        // What a link refuses was not sent.
        error.with_sent(Sent::No)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            kind,
            message,
            operation,
            details,
            ..
        } = &*self.0;
        if let Some(operation) = operation {
            write!(f, "{operation}: ")?;
        }
        match (kind, &details.handler, &details.connection_failure) {
            // The cause has the rest: nothing is repeated.
            (_, _, Some(failure)) if failure.has_given_up() => {
                f.write_str("the client gave up")?;
                if failure.attempts > 1 {
                    write!(f, " after {} attempts", failure.attempts)?;
                }
            }
            (ErrorKind::CapabilityNotSupported, Some(_), _) => {
                f.write_str("not supported by this client")?;
            }
            (kind, ..) => f.write_str(kind.description())?,
        }
        if !message.is_empty() {
            write!(f, ": {message}")?;
        }
        Ok(())
    }
}

/// The output of a `main` that returns it: the message and the causes, for people. All details
/// are in `{:#?}`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return f.debug_tuple("Error").field(&self.0).finish();
        }
        fmt::Display::fmt(self, f)?;
        let mut cause = self.source();
        while let Some(error) = cause {
            write!(f, "\ncaused by: {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let source = self.0.source.as_deref()?;
        Some(source)
    }
}

/// Returns the kind of the error with which a client gives up.
#[cfg(feature = "client")]
fn give_up_kind(cause: &Cause) -> ErrorKind {
    match cause {
        Cause::Ended(CloseReason::Negotiation(NegotiationError::Refused(_))) => ErrorKind::JsonRpc,
        Cause::Ended(CloseReason::Negotiation(_) | CloseReason::Peer(_)) => ErrorKind::Protocol,
        Cause::Ended(CloseReason::Refused(_)) => ErrorKind::Auth,
        Cause::DriverFailed(_) => ErrorKind::Config,
        _ => ErrorKind::Transport,
    }
}

/// Returns why calls are not served in a state in which nothing has failed.
#[cfg(feature = "client")]
fn connecting_message(state: LinkState) -> &'static str {
    match state {
        LinkState::Starting => "the transport is being opened",
        LinkState::Initializing => "the handshake is under way",
        LinkState::Ready => "the connection is being replaced by another one",
        LinkState::Backoff => "waiting for the next connection attempt",
        LinkState::Closing | LinkState::Closed => "the client is closed",
    }
}

/// Rounds a duration for people.
pub(crate) fn rounded(duration: Duration) -> Duration {
    let step = match duration.as_secs() {
        0 => 1,
        _ => 100,
    };
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(millis / step * step)
}

#[cfg(test)]
mod tests {

    use super::*;

    // proves: ER-1
    #[test]
    fn a_main_that_returns_it_prints_words() {
        let cause = std::io::Error::other("the disk is full");
        let error = Error::new(ErrorKind::Config, "tool add: it has no schema")
            .in_operation("serve")
            .caused_by(Error::new(ErrorKind::Transport, "").caused_by(cause));
        assert_eq!(
            format!("{error:?}"),
            "serve: the configuration is wrong: tool add: it has no schema\n\
             caused by: the transport could not be opened\n\
             caused by: the disk is full"
        );
        assert!(format!("{error:#?}").contains("kind: Config"));
    }

    #[test]
    fn durations_are_rounded_for_people() {
        for (nanos, message) in [
            (30_001_479_255, "after 30s"),
            (1_590_000_000, "after 1.5s"),
            (501_387_401, "after 501ms"),
        ] {
            let elapsed = Duration::from_nanos(nanos);
            let timed_out = Outcome::TimedOut { elapsed };
            let error = Error::from_outcome(timed_out, None, None).unwrap_err();
            assert_eq!(error.to_string(), format!("timed out: {message}"));
            assert_eq!(error.elapsed(), Some(elapsed));
        }
    }
}
