//! The delivery of a call that failed: if it was sent, if it may have run, and what can be done
//! about its error.
//!
//! Nothing is decided here: the core reports with the outcome of each call if it was sent.

use bowline_proto::Sent;
use bowline_types::Method;

use super::{Error, ErrorKind, Recovery};
use crate::connection_failure::ConnectionFailure;

impl Error {
    /// Returns `Some(true)` if the server may have executed the call, and `Some(false)` if it
    /// certainly has not, so that the call can be made again.
    ///
    /// It follows from whether the request was sent, which the core of the connection knows. A
    /// request counts as sent as soon as it is taken from the queue to be written, though it may
    /// be written in part or not at all. One that waits for a connection or in the queue was not
    /// sent. Of several attempts and rounds of input one that was sent is enough.
    ///
    /// | kind of error | `may_have_run()` |
    /// |---|---|
    /// | [`Unavailable`](ErrorKind::Unavailable), [`Backpressure`](ErrorKind::Backpressure), [`State`](ErrorKind::State), [`CapabilityNotSupported`](ErrorKind::CapabilityNotSupported), [`Config`](ErrorKind::Config), [`InvalidParams`](ErrorKind::InvalidParams) | `Some(false)`: refused before it was sent. `Some(true)` only if an earlier attempt or round was |
    /// | [`Timeout`](ErrorKind::Timeout), [`Cancelled`](ErrorKind::Cancelled), [`Shutdown`](ErrorKind::Shutdown), [`TransportDown`](ErrorKind::TransportDown) | `Some(true)` if the request was sent, else `Some(false)` |
    /// | [`OversizedFrame`](ErrorKind::OversizedFrame), [`Protocol`](ErrorKind::Protocol) | the same: `Some(true)` for a response that can't be used, `Some(false)` for a request that is too large to be sent |
    /// | [`InvalidResponse`](ErrorKind::InvalidResponse), [`SchemaMismatch`](ErrorKind::SchemaMismatch), [`Tool`](ErrorKind::Tool) | `Some(true)`: there is a result |
    /// | [`Handler`](ErrorKind::Handler) | `Some(true)`: the server asked something during the call |
    /// | [`JsonRpc`](ErrorKind::JsonRpc) | `None`: the server has responded, and its [error](Self::server_error) shows what became of the request |
    /// | any, of what is no call: connecting, subscribing, serving, an error made with [`new`](Self::new) | `None`; `Some(false)` if it was refused before anything was sent |
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
            | ErrorKind::InvalidParams
            | ErrorKind::Handler => false,
        };
        match self.0.details.sent {
            Some(Sent::No) => Some(false),
            Some(Sent::Maybe) if self.0.kind == ErrorKind::JsonRpc => None,
            Some(Sent::Maybe) => Some(true),
            None => has_result.then_some(true),
        }
    }

    /// Returns `true` if the same operation may succeed later.
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
    /// decided by [`may_have_run`](Self::may_have_run). A server that responds that it is busy has
    /// not begun ([`Retry`](Recovery::Retry)). All else would fail again.
    pub fn recovery(&self) -> Recovery {
        let failure = self.connection_failure();
        if failure.is_some_and(ConnectionFailure::has_given_up) {
            return Recovery::Abort;
        }
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
            | ErrorKind::InvalidParams
            | ErrorKind::Handler => Recovery::Abort,
        }
    }

    /// Returns `true` if the call may be executed twice.
    fn may_repeat(&self) -> bool {
        let method = || self.operation()?.parse().ok();
        let declared = self.0.details.may_repeat;
        declared.unwrap_or_else(|| method().is_some_and(is_repeatable))
    }

    /// Returns `true` if the server responded that it is busy (MO-4).
    fn is_busy(&self) -> bool {
        let data = self.server_error().and_then(|error| error.data.as_ref());
        let reason = data.and_then(|data| data.as_ref().reader().peek_tag("reason").ok()?);
        reason.is_some_and(|reason| reason == "busy")
    }

    /// Returns the same error with what the core knows of its call. `Sent::Maybe` of an earlier
    /// attempt or round stays.
    #[cfg(feature = "client")]
    pub(crate) fn with_sent(mut self, sent: Sent) -> Self {
        let known = &mut self.0.details.sent;
        if *known != Some(Sent::Maybe) {
            *known = Some(sent);
        }
        self
    }

    /// Returns the same error, of a call that was not sent because of it.
    #[cfg(feature = "client")]
    pub(crate) fn with_call_not_sent(mut self) -> Self {
        self.0.details.sent = Some(Sent::No);
        self
    }

    /// Returns the same error, of a call that may be made twice or may not, whatever its method.
    #[cfg(feature = "client")]
    pub(crate) fn with_repeatable(mut self, may_repeat: bool) -> Self {
        self.0.details.may_repeat = Some(may_repeat);
        self
    }
}

/// Returns `true` if a request may be made twice: it only reads, or sets what a second one sets
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
        // are notifications, which have no response.
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bowline_proto::Outcome;
    use bowline_types::ErrorObject;

    use super::*;

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
    fn may_have_run_follows_the_core() {
        for (outcome, kind) in every_outcome() {
            for sent in [None, Some(Sent::No), Some(Sent::Maybe)] {
                let error = Error::from_outcome(outcome.clone(), sent, None).unwrap_err();
                let expected = match sent {
                    // Its response was received.
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
    fn a_call_that_may_have_run_is_repeated_only_if_it_is_idempotent() {
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
        let declared = ended(Some(Sent::Maybe), "tools/call").with_repeatable(true);
        assert_eq!(declared.recovery(), Recovery::Retry);
    }

    #[cfg(feature = "client")]
    #[test]
    fn one_attempt_that_was_sent_is_enough() {
        let error = Error::new(ErrorKind::Unavailable, "").with_sent(Sent::Maybe);
        assert_eq!(error.with_sent(Sent::No).may_have_run(), Some(true));
    }
}
