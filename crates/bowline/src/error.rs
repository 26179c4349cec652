//! The one error of the library.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bowline_proto::link::{LinkError, State};
use bowline_proto::{Instant, Outcome, Payload, Sent};
use bowline_types::ErrorObject;
#[cfg(feature = "server")]
use bowline_types::capabilities::ClientCapabilities;

use crate::transport::Ending;

/// What went wrong, in which operation, and what can be done about it.
///
/// ```
/// use bowline::{Error, ErrorKind, Recovery};
///
/// fn advice(error: &Error) -> &'static str {
///     match (error.kind(), error.recovery()) {
///         (ErrorKind::JsonRpc, _) => "the server said no",
///         (_, Recovery::Retry) => "try again",
///         (_, Recovery::Reconnect) => "try again when the connection is back",
///         (_, Recovery::Abort) => "give up",
///         (_, _) => "never mind",
///     }
/// }
/// # let error = Error::new(ErrorKind::Timeout, "after 30s").in_operation("tools/call");
/// # assert_eq!(advice(&error), "try again");
/// # assert_eq!(error.to_string(), "tools/call: no answer came in time: after 30s");
/// ```
#[derive(Debug)]
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
    may_have_run: Option<bool>,
    elapsed: Option<Duration>,
    state: Option<State>,
    next_attempt: Option<Duration>,
    attempts: Option<u32>,
    ending: Option<Arc<Ending>>,
    #[cfg(feature = "server")]
    lacks: Option<Lacks>,
}

/// Why a handler can't ask a client something.
#[cfg(feature = "server")]
#[derive(Debug)]
pub(crate) enum Lacks {
    /// It would have to declare this.
    Capability(Box<ClientCapabilities>),
    /// The revision can't say it.
    Revision,
}

/// What kind of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The transport could not be opened.
    Transport,
    /// The transport was lost while a call was under way.
    TransportDown,
    /// The peer broke the protocol.
    Protocol,
    /// The server answered with an error: see [`Error::server_error`].
    JsonRpc,
    /// Not allowed now.
    State,
    /// There is no connection now.
    Unavailable,
    /// No answer came in time.
    Timeout,
    /// No longer wanted.
    Cancelled,
    /// The client is stopped.
    Shutdown,
    /// Too much is under way.
    Backpressure,
    /// The server, or the revision that it speaks, doesn't have it.
    CapabilityNotSupported,
    /// The answer can't be decoded.
    InvalidResponse,
    /// A message beyond the limit.
    OversizedFrame,
    /// Authorization failed.
    Auth,
    /// The configuration is wrong.
    Config,
}

impl ErrorKind {
    const fn words(self) -> &'static str {
        match self {
            Self::Transport => "the transport could not be opened",
            Self::TransportDown => "the transport was lost",
            Self::Protocol => "the peer broke the protocol",
            Self::JsonRpc => "the server answered with an error",
            Self::State => "not allowed now",
            Self::Unavailable => "there is no connection now",
            Self::Timeout => "no answer came in time",
            Self::Cancelled => "cancelled",
            Self::Shutdown => "the client is stopped",
            Self::Backpressure => "too much is under way",
            Self::CapabilityNotSupported => "not supported by the server",
            Self::InvalidResponse => "the answer can't be decoded",
            Self::OversizedFrame => "a message is too large",
            Self::Auth => "authorization failed",
            Self::Config => "the configuration is wrong",
        }
    }
}

/// What can be done about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Recovery {
    /// The same again may succeed.
    Retry,
    /// The same again may succeed once there is a connection.
    Reconnect,
    /// The same again will fail.
    Abort,
    /// Nothing needs to be done.
    Ignore,
}

impl Error {
    /// An error of a kind, in words.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            operation: None,
            details: Details::default(),
            source: None,
        }))
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The operation that failed: a method, as a rule.
    pub fn operation(&self) -> Option<&str> {
        self.0.operation.as_deref()
    }

    /// The error with which the server answered.
    pub fn server_error(&self) -> Option<&ErrorObject> {
        self.0.details.server.as_ref()
    }

    /// Whether the server may have done what it was asked for. `None` where that is no
    /// question.
    pub fn may_have_run(&self) -> Option<bool> {
        self.0.details.may_have_run
    }

    /// How long it took, for a timeout.
    pub fn elapsed(&self) -> Option<Duration> {
        self.0.details.elapsed
    }

    /// Where the connection stood, when it was not there.
    pub fn state(&self) -> Option<State> {
        self.0.details.state
    }

    /// How long until the next attempt, when there is no connection and that is known.
    pub fn next_attempt(&self) -> Option<Duration> {
        self.0.details.next_attempt
    }

    /// How often a busy transport was tried.
    pub fn attempts(&self) -> Option<u32> {
        self.0.details.attempts
    }

    /// How the stream ended whose loss this is about, with a process's exit status and what
    /// it said last.
    pub fn ending(&self) -> Option<&Ending> {
        self.0.details.ending.as_deref()
    }

    /// Whether the same may succeed another time.
    pub fn is_recoverable(&self) -> bool {
        match self.recovery() {
            Recovery::Retry | Recovery::Reconnect => true,
            Recovery::Abort | Recovery::Ignore => false,
        }
    }

    /// What can be done about it.
    pub fn recovery(&self) -> Recovery {
        match self.0.kind {
            ErrorKind::Timeout | ErrorKind::Backpressure => Recovery::Retry,
            ErrorKind::Transport | ErrorKind::TransportDown | ErrorKind::Unavailable => {
                Recovery::Reconnect
            }
            ErrorKind::Cancelled => Recovery::Ignore,
            ErrorKind::JsonRpc if self.is_busy() => Recovery::Retry,
            ErrorKind::JsonRpc
            | ErrorKind::Protocol
            | ErrorKind::State
            | ErrorKind::Shutdown
            | ErrorKind::CapabilityNotSupported
            | ErrorKind::InvalidResponse
            | ErrorKind::OversizedFrame
            | ErrorKind::Auth
            | ErrorKind::Config => Recovery::Abort,
        }
    }

    /// The server said that it is busy (MO-4).
    fn is_busy(&self) -> bool {
        let data = self.server_error().and_then(|error| error.data.as_ref());
        let reason = data.and_then(|data| data.as_ref().reader().peek_tag("reason").ok()?);
        reason.is_some_and(|reason| reason == "busy")
    }

    /// The same error, of an operation.
    #[must_use]
    pub fn in_operation(mut self, operation: impl Into<Cow<'static, str>>) -> Self {
        self.0.operation = Some(operation.into());
        self
    }

    /// The same error, with what caused it.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The same error, after a stream ended so.
    pub(crate) fn after(mut self, ending: Option<Arc<Ending>>) -> Self {
        self.0.details.ending = ending;
        self
    }

    /// A handler can't ask a client something.
    #[cfg(feature = "server")]
    pub(crate) fn lacking(words: String, lacks: Lacks) -> Self {
        let mut error = Self::new(ErrorKind::CapabilityNotSupported, words);
        error.0.details.lacks = Some(lacks);
        error
    }

    /// Why a handler can't ask a client something, when it is that.
    #[cfg(feature = "server")]
    pub(crate) fn lacks(&self) -> Option<&Lacks> {
        self.0.details.lacks.as_ref()
    }

    /// The message, without what it is about.
    #[cfg(feature = "server")]
    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    /// The result of a call, or how it ended without one.
    pub(crate) fn from_outcome(
        outcome: Outcome,
        ending: Option<Arc<Ending>>,
    ) -> Result<Payload, Self> {
        let mut details = Details {
            ending,
            ..Details::default()
        };
        let (kind, message): (_, Cow<'static, str>) = match outcome {
            Outcome::Result(payload) => return Ok(payload),
            Outcome::Error(error) => {
                let words = error.to_string();
                details.server = Some(error);
                (ErrorKind::JsonRpc, words.into())
            }
            Outcome::TimedOut { elapsed } => {
                details.elapsed = Some(elapsed);
                // Nobody knows whether the answer is on its way.
                details.may_have_run = Some(true);
                (ErrorKind::Timeout, format!("after {elapsed:?}").into())
            }
            Outcome::Cancelled => (ErrorKind::Cancelled, "by the caller".into()),
            Outcome::CancelledByServer => (ErrorKind::Cancelled, "by the server".into()),
            Outcome::Invalid(reason) => (ErrorKind::Protocol, reason.into()),
            Outcome::TooLarge { size } => {
                (ErrorKind::OversizedFrame, format!("{size} bytes").into())
            }
            Outcome::Backpressure { attempts } => {
                details.attempts = Some(attempts);
                (ErrorKind::Backpressure, "the transport was busy".into())
            }
            Outcome::Lost { reason, sent } => {
                details.may_have_run = Some(sent == Sent::Maybe);
                (ErrorKind::TransportDown, reason.into())
            }
            Outcome::Shutdown => (ErrorKind::Shutdown, "".into()),
            other => (ErrorKind::Protocol, other.name().into()),
        };
        let mut error = Self::new(kind, message);
        error.0.details = details;
        Err(error)
    }

    /// Why something was not done. `until` says how long it is until a moment of the core.
    pub(crate) fn from_link(error: LinkError, until: impl FnOnce(Instant) -> Duration) -> Self {
        let words = error.to_string();
        match error {
            LinkError::Unavailable {
                state,
                next_attempt,
            } => {
                let mut error = Self::new(ErrorKind::Unavailable, words);
                error.0.details.state = Some(state);
                error.0.details.next_attempt = next_attempt.map(until);
                error
            }
            LinkError::Backpressure => Self::new(ErrorKind::Backpressure, words),
            LinkError::TooLarge { .. } => Self::new(ErrorKind::OversizedFrame, words),
            LinkError::Shutdown => Self::new(ErrorKind::Shutdown, ""),
            other => Self::new(ErrorKind::State, other.to_string()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            kind,
            message,
            operation,
            ..
        } = &*self.0;
        if let Some(operation) = operation {
            write!(f, "{operation}: ")?;
        }
        f.write_str(kind.words())?;
        if !message.is_empty() {
            write!(f, ": {message}")?;
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
