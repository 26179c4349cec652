//! The one error of the library.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "client")]
use bowline_proto::Instant;
#[cfg(feature = "client")]
use bowline_proto::link::LinkError;
use bowline_proto::link::State;
use bowline_proto::{Outcome, Payload, Sent};
use bowline_types::elicitation::ElicitUrlParams;
use bowline_types::error::UrlElicitationData;
use bowline_types::tools::CallToolResult;
use bowline_types::{ErrorObject, Method, Wire as _};

use crate::transport::TransportEnd;

/// The call needs pages to be visited first (client/elicitation, 2025-11-25).
const URL_ELICITATION_REQUIRED: i64 = -32042;

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
/// # let error = Error::new(ErrorKind::Timeout, "after 30s").in_operation("tools/list");
/// # assert_eq!(advice(&error), "try again");
/// # assert_eq!(error.to_string(), "tools/list: no answer came in time: after 30s");
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
    /// Whether the call was sent, as the core says; `None` of what is no call.
    sent: Option<Sent>,
    /// Whether it may be made twice, where that doesn't follow from its method.
    may_repeat: Option<bool>,
    elapsed: Option<Duration>,
    state: Option<State>,
    next_attempt: Option<Duration>,
    attempts: Option<u32>,
    ending: Option<Arc<TransportEnd>>,
    tool_result: Option<Box<CallToolResult>>,
    handler: Option<ErrorObject>,
    malformed_sample: Option<String>,
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
    /// The peer, or the revision that it speaks, doesn't have it.
    CapabilityNotSupported,
    /// The answer can't be decoded.
    InvalidResponse,
    /// A tool's result doesn't fit the schema that the server declares for it: see
    /// [`Error::tool_result`]. Or it can't be checked, where that is not enough.
    SchemaMismatch,
    /// A message beyond the limit.
    OversizedFrame,
    /// Authorization failed.
    Auth,
    /// A tool says that it failed: in its result, where the model can see it.
    Tool,
    /// The configuration is wrong.
    Config,
    /// A handler of this client had no answer to what the server asked, so that the call could
    /// not go on: see [`Error::handler_error`].
    Handler,
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
            Self::CapabilityNotSupported => "not supported by the peer",
            Self::InvalidResponse => "the answer can't be decoded",
            Self::SchemaMismatch => "the result doesn't fit its schema",
            Self::OversizedFrame => "a message is too large",
            Self::Auth => "authorization failed",
            Self::Tool => "the tool failed",
            Self::Config => "the configuration is wrong",
            Self::Handler => "a handler of this client has no answer",
        }
    }
}

/// What can be done about an error: see [`Error::recovery`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Recovery {
    /// The same again may succeed, and does no harm.
    Retry,
    /// Nothing will succeed before there is a connection. Whether this call may be made again
    /// then is a question of [`Error::may_have_run`].
    Reconnect,
    /// The same again will fail, or may have its effect twice.
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

    /// The error with which this side answered what the server asked during the call: there was
    /// no handler, the user said no, or the handler failed.
    pub fn handler_error(&self) -> Option<&ErrorObject> {
        self.0.details.handler.as_ref()
    }

    /// The pages that the user has to visit before the call is made again, where the server said
    /// so: error −32042, only in 2025-11-25. A client that [opens
    /// pages](crate::ClientConfig::elicitation_url) does both by itself.
    pub fn url_elicitations(&self) -> Vec<ElicitUrlParams> {
        let error = self.server_error();
        let error = error.filter(|error| error.code == URL_ELICITATION_REQUIRED);
        let data = error.and_then(|error| error.data.as_ref());
        let data = data.and_then(|data| UrlElicitationData::from_json(data.as_str()).ok());
        data.map(|data| data.elicitations).unwrap_or_default()
    }

    /// Returns whether the server may have done what the call asked for: `Some(false)` only when
    /// it certainly has not, so that the call can be made again.
    ///
    /// It follows from whether the request was sent, which the core of the connection knows. A
    /// request was sent when the transport took a part of it. One that waits for a connection or
    /// in the queue was not. Of a call with several attempts or rounds of input each one counts:
    /// one that was sent is enough.
    ///
    /// | kind of error | `may_have_run()` |
    /// |---|---|
    /// | [`Unavailable`](ErrorKind::Unavailable), [`Backpressure`](ErrorKind::Backpressure), [`State`](ErrorKind::State), [`CapabilityNotSupported`](ErrorKind::CapabilityNotSupported), [`Config`](ErrorKind::Config) | `Some(false)`: refused before it was sent. `Some(true)` only if an earlier attempt or round was |
    /// | [`Timeout`](ErrorKind::Timeout), [`Cancelled`](ErrorKind::Cancelled), [`Shutdown`](ErrorKind::Shutdown), [`TransportDown`](ErrorKind::TransportDown) | `Some(true)` if the request was sent, else `Some(false)` |
    /// | [`OversizedFrame`](ErrorKind::OversizedFrame), [`Protocol`](ErrorKind::Protocol) | the same: `Some(true)` for an answer that can't be used, `Some(false)` for a request that is too large to be sent |
    /// | [`InvalidResponse`](ErrorKind::InvalidResponse), [`SchemaMismatch`](ErrorKind::SchemaMismatch), [`Tool`](ErrorKind::Tool) | `Some(true)`: there is a result |
    /// | [`Handler`](ErrorKind::Handler) | `Some(true)`: the server asked something during the call |
    /// | [`JsonRpc`](ErrorKind::JsonRpc) | `None`: the server has answered, and its [error](Self::server_error) says what became of the request |
    /// | any, of what is no call: connecting, subscribing, serving, an error made with [`new`](Self::new) | `None` |
    ///
    /// ```
    /// # async fn example(client: bowline::Client) -> Result<(), bowline::Error> {
    /// let payment = client.call("tools/call", r#"{"name":"pay"}"#).wait_for_ready();
    /// if let Err(error) = payment.await {
    ///     match error.may_have_run() {
    ///         Some(false) => println!("not sent: it can be made again"),
    ///         Some(true) | None => println!("look at the account first"),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn may_have_run(&self) -> Option<bool> {
        let has_result = match self.0.kind {
            ErrorKind::InvalidResponse | ErrorKind::SchemaMismatch | ErrorKind::Tool => true,
            ErrorKind::Transport
            | ErrorKind::TransportDown
            | ErrorKind::Protocol
            | ErrorKind::JsonRpc
            | ErrorKind::State
            | ErrorKind::Unavailable
            | ErrorKind::Timeout
            | ErrorKind::Cancelled
            | ErrorKind::Shutdown
            | ErrorKind::Backpressure
            | ErrorKind::CapabilityNotSupported
            | ErrorKind::OversizedFrame
            | ErrorKind::Auth
            | ErrorKind::Config
            | ErrorKind::Handler => false,
        };
        match self.0.details.sent {
            Some(Sent::No) => Some(false),
            Some(Sent::Maybe) if self.0.kind == ErrorKind::JsonRpc => None,
            Some(Sent::Maybe) => Some(true),
            None => has_result.then_some(true),
        }
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
    pub fn transport_end(&self) -> Option<&TransportEnd> {
        self.0.details.ending.as_deref()
    }

    /// What the server wrote that is no message, where there is no connection: its beginning, as
    /// [`Client::malformed_sample`](crate::Client::malformed_sample) has it.
    pub fn malformed_sample(&self) -> Option<&str> {
        self.0.details.malformed_sample.as_deref()
    }

    /// The result of a tool that doesn't fit its schema, as it came.
    pub fn tool_result(&self) -> Option<&CallToolResult> {
        self.0.details.tool_result.as_deref()
    }

    /// Whether the same may succeed another time.
    pub fn is_recoverable(&self) -> bool {
        match self.recovery() {
            Recovery::Retry | Recovery::Reconnect => true,
            Recovery::Abort | Recovery::Ignore => false,
        }
    }

    /// Returns what can be done about it.
    ///
    /// A call that ended with a [`Timeout`](ErrorKind::Timeout) or
    /// [`Backpressure`](ErrorKind::Backpressure) can be made again ([`Retry`](Recovery::Retry))
    /// unless it [may have run](Self::may_have_run) and must not run twice
    /// ([`Abort`](Recovery::Abort)). A call may run twice when its caller has
    /// declared it idempotent (`client::Retry::Idempotent`), or when its method is one of the
    /// specification that only reads, or sets what a second request sets again: of those that a
    /// client sends all but `tools/call`. A method that the specification doesn't have must not.
    ///
    /// What fails for want of a connection needs one first
    /// ([`Reconnect`](Recovery::Reconnect)); whether the call itself may be made again then is
    /// for [`may_have_run`](Self::may_have_run) to say. A server that answers that it is busy has
    /// not begun ([`Retry`](Recovery::Retry)). All else would fail again.
    pub fn recovery(&self) -> Recovery {
        match self.0.kind {
            ErrorKind::Timeout | ErrorKind::Backpressure => {
                let is_safe = self.may_have_run() != Some(true) || self.may_repeat();
                if is_safe {
                    Recovery::Retry
                } else {
                    Recovery::Abort
                }
            }
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
            | ErrorKind::SchemaMismatch
            | ErrorKind::OversizedFrame
            | ErrorKind::Auth
            | ErrorKind::Tool
            | ErrorKind::Config
            | ErrorKind::Handler => Recovery::Abort,
        }
    }

    /// Returns whether the server may do twice what it was asked for.
    fn may_repeat(&self) -> bool {
        let method = || self.operation()?.parse().ok();
        let declared = self.0.details.may_repeat;
        declared.unwrap_or_else(|| method().is_some_and(is_repeatable))
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

    /// The same error, about a result of a tool.
    #[cfg(all(feature = "validate", feature = "client"))]
    pub(crate) fn with_tool_result(mut self, result: CallToolResult) -> Self {
        self.0.details.tool_result = Some(Box::new(result));
        self
    }

    /// The same error, of this side's own answer to the server.
    #[cfg(feature = "client")]
    pub(crate) fn of_handler(mut self, error: ErrorObject) -> Self {
        self.0.details.handler = Some(error);
        self
    }

    /// The same error, after a stream ended so.
    #[cfg(feature = "client")]
    pub(crate) fn after(mut self, ending: Option<Arc<TransportEnd>>) -> Self {
        self.0.details.ending = ending;
        self
    }

    /// The same error, with what the server wrote that is no message.
    #[cfg(feature = "client")]
    pub(crate) fn with_malformed_sample(mut self, sample: Option<String>) -> Self {
        self.0.details.malformed_sample = sample;
        self
    }

    /// The same error, of a call of which the core says this. What an earlier attempt or a
    /// round that is over says of it stays.
    #[cfg(feature = "client")]
    pub(crate) fn of_call(mut self, sent: Sent) -> Self {
        let known = &mut self.0.details.sent;
        if *known != Some(Sent::Maybe) {
            *known = Some(sent);
        }
        self
    }

    /// The same error, of a call that was not made because of it.
    #[cfg(feature = "client")]
    pub(crate) fn of_unsent_call(mut self) -> Self {
        self.0.details.sent = Some(Sent::No);
        self
    }

    /// The same error, of a call that may be made twice or may not, whatever its method.
    #[cfg(feature = "client")]
    pub(crate) fn repeatable(mut self, may_repeat: bool) -> Self {
        self.0.details.may_repeat = Some(may_repeat);
        self
    }

    /// The result of a call, or how it ended without one. `sent` is what the core knows of its
    /// request; `None` of what is no call.
    pub(crate) fn from_outcome(
        outcome: Outcome,
        sent: Option<Sent>,
        ending: Option<Arc<TransportEnd>>,
    ) -> Result<Payload, Self> {
        let mut details = Details {
            sent,
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
                let words = format!("after {:?}", rounded(elapsed));
                (ErrorKind::Timeout, words.into())
            }
            Outcome::Unsupported(words) => (ErrorKind::CapabilityNotSupported, words.into()),
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
            Outcome::Lost { reason } => {
                // The kind says it already.
                let words = reason.strip_prefix("transport lost: ").map(str::to_owned);
                (ErrorKind::TransportDown, words.unwrap_or(reason).into())
            }
            Outcome::Shutdown => (ErrorKind::Shutdown, "".into()),
            other => (ErrorKind::Protocol, other.name().into()),
        };
        let mut error = Self::new(kind, message);
        error.0.details = details;
        Err(error)
    }

    /// Why something was not done. `until` says how long it is until a moment of the core.
    #[cfg(feature = "client")]
    pub(crate) fn from_link(error: LinkError, until: impl FnOnce(Instant) -> Duration) -> Self {
        let words = error.to_string();
        let error = match error {
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
        };
        // The server has seen nothing of what a link refuses.
        error.of_call(Sent::No)
    }
}

/// Returns whether a request may be made twice: it only reads, or sets what a second one sets
/// again.
fn is_repeatable(method: Method) -> bool {
    match method {
        Method::Initialize
        | Method::Ping
        | Method::Discover
        | Method::ListTools
        | Method::ListResources
        | Method::ListResourceTemplates
        | Method::ReadResource
        | Method::Subscribe
        | Method::Unsubscribe
        | Method::ListPrompts
        | Method::GetPrompt
        | Method::Complete
        | Method::SetLevel
        | Method::Listen
        | Method::GetTask
        | Method::GetTaskPayload
        | Method::ListTasks
        | Method::CancelTask
        | Method::UpdateTask
        | Method::ListRoots
        | Method::ListSkills
        | Method::GetSkill
        | Method::ReadDirectory => true,
        // A tool does what it likes, a model costs money, and a person is asked again. The rest
        // are notifications, which have no answer.
        _ => false,
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
        f.write_str(match (kind, &details.handler) {
            (ErrorKind::CapabilityNotSupported, Some(_)) => "not supported by this client",
            (kind, _) => kind.words(),
        })?;
        if !message.is_empty() {
            write!(f, ": {message}")?;
        }
        Ok(())
    }
}

/// What a `main` that returns it prints: the words and the causes, for people. All that is
/// known of it is in `{:#?}`.
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

/// A duration as people would say it.
fn rounded(duration: Duration) -> Duration {
    let step = match duration.as_secs() {
        0 => 1,
        _ => 100,
    };
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(millis / step * step)
}

#[cfg(test)]
mod tests {
    use bowline_proto::CloseReason;

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
    fn times_are_told_as_people_tell_them() {
        for (nanos, words) in [
            (30_001_479_255, "after 30s"),
            (1_590_000_000, "after 1.5s"),
            (501_387_401, "after 501ms"),
        ] {
            let elapsed = Duration::from_nanos(nanos);
            let timed_out = Outcome::TimedOut { elapsed };
            let error = Error::from_outcome(timed_out, None, None).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("no answer came in time: {words}")
            );
            assert_eq!(error.elapsed(), Some(elapsed));
        }
    }

    #[test]
    fn a_loss_is_said_once() {
        let reason = CloseReason::Transport("end of file".into()).to_string();
        let error = Error::from_outcome(Outcome::Lost { reason }, None, None).unwrap_err();
        assert_eq!(error.to_string(), "the transport was lost: end of file");
    }

    fn every_outcome() -> Vec<(Outcome, ErrorKind)> {
        let elapsed = Duration::from_secs(1);
        let reason = String::new();
        vec![
            (Outcome::TimedOut { elapsed }, ErrorKind::Timeout),
            (
                Outcome::Unsupported(String::new()),
                ErrorKind::CapabilityNotSupported,
            ),
            (Outcome::Cancelled, ErrorKind::Cancelled),
            (Outcome::CancelledByServer, ErrorKind::Cancelled),
            (Outcome::Invalid(String::new()), ErrorKind::Protocol),
            (Outcome::TooLarge { size: 7 }, ErrorKind::OversizedFrame),
            (
                Outcome::Backpressure { attempts: 3 },
                ErrorKind::Backpressure,
            ),
            (Outcome::Lost { reason }, ErrorKind::TransportDown),
            (Outcome::Shutdown, ErrorKind::Shutdown),
            (
                Outcome::Error(ErrorObject::new(-32602, "")),
                ErrorKind::JsonRpc,
            ),
        ]
    }

    // proves: ER-1, CN-7
    #[test]
    fn whether_it_may_have_run_is_what_the_core_says() {
        for (outcome, kind) in every_outcome() {
            for sent in [None, Some(Sent::No), Some(Sent::Maybe)] {
                let error = Error::from_outcome(outcome.clone(), sent, None).unwrap_err();
                let expected = match sent {
                    // Its answer is at hand.
                    Some(Sent::Maybe) if kind == ErrorKind::JsonRpc => None,
                    sent => sent.map(|sent| sent == Sent::Maybe),
                };
                assert_eq!(
                    (error.kind(), error.may_have_run()),
                    (kind, expected),
                    "{outcome:?}"
                );
            }
        }
        let result = Error::new(ErrorKind::InvalidResponse, "");
        assert_eq!(result.may_have_run(), Some(true));
    }

    // proves: ER-2
    #[test]
    fn what_may_have_run_is_tried_again_only_where_twice_is_as_good_as_once() {
        let ended = |sent, method: &str| {
            let elapsed = Duration::from_secs(1);
            let error = Error::from_outcome(Outcome::TimedOut { elapsed }, sent, None);
            error.unwrap_err().in_operation(method.to_owned())
        };
        for (sent, method, recovery) in [
            (Some(Sent::No), "tools/call", Recovery::Retry),
            (Some(Sent::Maybe), "tools/call", Recovery::Abort),
            (Some(Sent::Maybe), "com.example/pay", Recovery::Abort),
            (Some(Sent::Maybe), "elicitation/create", Recovery::Abort),
            (Some(Sent::Maybe), "tools/list", Recovery::Retry),
            (Some(Sent::Maybe), "tasks/get", Recovery::Retry),
            (None, "connect", Recovery::Retry),
        ] {
            let error = ended(sent, method);
            assert_eq!(error.recovery(), recovery, "{method} {sent:?}");
            assert_eq!(error.is_recoverable(), recovery == Recovery::Retry);
        }
        let declared = ended(Some(Sent::Maybe), "tools/call").repeatable(true);
        assert_eq!(declared.recovery(), Recovery::Retry);
    }

    #[cfg(feature = "client")]
    #[test]
    fn one_attempt_that_was_sent_is_enough() {
        let error = Error::new(ErrorKind::Unavailable, "").of_call(Sent::Maybe);
        assert_eq!(error.of_call(Sent::No).may_have_run(), Some(true));
    }
}
