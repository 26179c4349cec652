//! What the application wants: calls, notifications, answers, cancellation.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use bowline_types::meta::{RequestMeta, keys};
use bowline_types::progress::CancelledParams;
use bowline_types::wire::Members as _;
use bowline_types::{
    Encoder, Era, ErrorObject, Json, JsonObject, JsonRef, Method, RequestId, Revision,
};
use bytes::Bytes;

use super::{Connection, Outcome, Phase, Tag};
use crate::calls::{CallId, Timeouts};
use crate::config::{CancelDialect, Carrier};
use crate::message::Members;
use crate::outbox::{Transmit, TransmitKind};
use crate::time::Instant;

/// A call to be made.
#[derive(Clone, Debug)]
pub struct CallRequest {
    method: Cow<'static, str>,
    body: Bytes,
    meta: Option<RequestMeta>,
    timeouts: Option<Timeouts>,
    wants_progress: bool,
}

impl CallRequest {
    /// A call of `method`. `body` are the members of its parameters without `_meta` and
    /// without braces; it is shared, never copied.
    pub fn new(method: impl Into<Cow<'static, str>>, body: impl Into<Bytes>) -> Self {
        Self {
            method: method.into(),
            body: body.into(),
            meta: None,
            timeouts: None,
            wants_progress: false,
        }
    }

    /// Adds entries to `_meta`. Those that the protocol sets come from the connection.
    #[must_use]
    pub fn meta(mut self, meta: RequestMeta) -> Self {
        self.meta = Some(meta);
        self
    }

    /// How long it may take. Default: as configured.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = Some(timeouts);
        self
    }

    /// Asks the server to report progress.
    #[must_use]
    pub fn wants_progress(mut self) -> Self {
        self.wants_progress = true;
        self
    }
}

/// Why a call was not made. The server has seen nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError {
    /// The handshake is not finished.
    NotReady,
    /// The connection is over.
    Closed,
    /// As many calls wait as may.
    TooManyPending,
    /// As much waits to be sent as may.
    QueueFull,
    /// The message is larger than a frame may be.
    TooLarge {
        /// Its bytes.
        size: usize,
    },
    /// The ids are used up: the connection has to be opened anew.
    IdsExhausted,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotReady => f.write_str("the handshake is not finished"),
            Self::Closed => f.write_str("the connection is closed"),
            Self::TooManyPending => f.write_str("too many calls wait for their answers"),
            Self::QueueFull => f.write_str("too many messages wait to be sent"),
            Self::TooLarge { size } => write!(f, "a message of {size} bytes is too large"),
            Self::IdsExhausted => f.write_str("the ids of this connection are used up"),
        }
    }
}

impl std::error::Error for CallError {}

/// Why a notification was not sent: the same reasons as for a call.
pub type NotifyError = CallError;

/// There is no such request: it was answered, cancelled, or never made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RespondError;

impl fmt::Display for RespondError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no such request is open")
    }
}

impl std::error::Error for RespondError {}

impl Connection {
    /// Makes a call. Its outcome comes as one [`Event::Ended`](super::Event::Ended).
    pub fn call(&mut self, now: Instant, request: CallRequest) -> Result<CallId, CallError> {
        self.check_ready()?;
        if !self.calls.has_room() {
            return Err(CallError::TooManyPending);
        }
        if self.counter.is_exhausted() {
            return Err(CallError::IdsExhausted);
        }
        let call = self.counter.issue().ok_or(CallError::IdsExhausted)?;
        let progress = request.wants_progress.then_some(call);
        let params = Members {
            meta: self.request_meta(request.meta.as_ref(), progress),
            body: request.body,
        };
        let kind = TransmitKind::Call(call);
        let message = self
            .composer
            .message(kind, Some(&call.into()), &request.method, params);
        self.check_size(&message)?;
        let ticket = self
            .outbox
            .push(message)
            .map_err(|_| CallError::QueueFull)?;
        let timeouts = request.timeouts.unwrap_or(self.config.call_timeouts);
        let tag = Tag::User {
            ticket: Some(ticket),
            wants_progress: request.wants_progress,
        };
        self.calls.insert(now, call, timeouts, tag);
        Ok(call)
    }

    /// Sends a notification. `body` is as for [`CallRequest::new`].
    pub fn notify(&mut self, method: &str, body: impl Into<Bytes>) -> Result<(), NotifyError> {
        self.check_ready()?;
        let params = Members {
            meta: Vec::new(),
            body: body.into(),
        };
        let message = self
            .composer
            .message(TransmitKind::Notification, None, method, params);
        self.check_size(&message)?;
        self.outbox
            .push(message)
            .map_err(|_| CallError::QueueFull)?;
        Ok(())
    }

    /// Answers a request of the peer.
    pub fn respond(&mut self, id: &RequestId, result: JsonRef<'_>) -> Result<(), RespondError> {
        if !self.peer_requests.remove(id) {
            return Err(RespondError);
        }
        let message = self.composer.result(id, result);
        self.outbox.push_owed(message);
        Ok(())
    }

    /// Answers a request of the peer with an error.
    pub fn respond_error(
        &mut self,
        id: &RequestId,
        error: &ErrorObject,
    ) -> Result<(), RespondError> {
        if !self.peer_requests.remove(id) {
            return Err(RespondError);
        }
        let message = self.composer.error(Some(id), error);
        self.outbox.push_owed(message);
        Ok(())
    }

    /// Gives up a call. Whether it was still waiting: it ends once, however often it is
    /// cancelled.
    pub fn cancel(&mut self, now: Instant, call: CallId, reason: &str) -> bool {
        if self.is_handshake(call) || !self.abandon(now, call, reason) {
            return false;
        }
        self.end(call, Outcome::Cancelled);
        true
    }

    /// A handler of ours begins or ends to work for a call: its time stands still meanwhile.
    pub fn set_waiting_for_us(&mut self, now: Instant, call: CallId, is_waiting: bool) -> bool {
        if is_waiting {
            self.calls.pause(now, call)
        } else {
            self.calls.resume(now, call)
        }
    }

    pub(super) fn time_out(&mut self, now: Instant, call: CallId) {
        let started = self.calls.get(call).map(|waiting| waiting.started);
        if self.abandon(now, call, "timed out") {
            let elapsed = started.map_or(Duration::ZERO, |started| now.since(started));
            self.end(call, Outcome::TimedOut { elapsed });
        }
    }

    /// Takes a call out of the table, and back from the queue or tells the peer.
    fn abandon(&mut self, now: Instant, call: CallId, reason: &str) -> bool {
        let Some(waiting) = self.calls.give_up(now, call) else {
            return false;
        };
        let ticket = match waiting.tag {
            Tag::User { ticket, .. } => ticket,
            // Spec, basic/utilities/cancellation: `initialize` is never cancelled.
            Tag::Discover | Tag::Initialize => return true,
        };
        let has_left = ticket.is_none_or(|ticket| self.outbox.take_back(ticket).is_none());
        if has_left && let Some(message) = self.cancel_message(call, reason) {
            self.outbox.push_owed(message);
        }
        true
    }

    fn cancel_message(&self, call: CallId, reason: &str) -> Option<Transmit> {
        let revision = self.revision()?;
        if self.config.carrier == Carrier::StreamPerRequest && revision.era() == Era::Stateless {
            return Some(Transmit {
                kind: TransmitKind::Reset(call),
                head: Bytes::new(),
                body: Bytes::new(),
                tail: Bytes::new(),
            });
        }
        let (method, body) = match self.config.cancel_dialect {
            CancelDialect::Cancelled => {
                let params = CancelledParams::new()
                    .request_id(RequestId::from(call))
                    .reason(reason);
                (Method::Cancelled.as_str(), encode(&params, revision))
            }
            CancelDialect::CancelRequest => {
                ("$/cancelRequest", Bytes::from(format!("\"id\":{call}")))
            }
        };
        let params = Members {
            meta: Vec::new(),
            body,
        };
        Some(
            self.composer
                .message(TransmitKind::Notification, None, method, params),
        )
    }

    /// The members of a request's `_meta`: the connection's, the call's, the user's.
    fn request_meta(&self, user: Option<&RequestMeta>, progress: Option<CallId>) -> Vec<u8> {
        let mut meta = self.stateless_meta.to_vec();
        let mut encoder = Encoder::lossless(&mut meta);
        if let Some(call) = progress {
            encoder.key(keys::PROGRESS_TOKEN.name());
            encoder.integer(i64::try_from(call.get()).unwrap_or(i64::MAX));
        }
        for (key, value) in user.into_iter().flat_map(RequestMeta::iter) {
            let key = key
                .unescape()
                .filter(|key| !is_ours(key, progress.is_some()));
            if let Some(key) = key {
                encoder.key(&key);
                encoder.raw(value);
            }
        }
        meta
    }

    fn check_ready(&self) -> Result<(), CallError> {
        match self.phase {
            Phase::Ready { .. } => Ok(()),
            Phase::New | Phase::Negotiating { .. } => Err(CallError::NotReady),
            Phase::Closed => Err(CallError::Closed),
        }
    }

    fn check_size(&self, message: &Transmit) -> Result<(), CallError> {
        let size = message.len();
        if size > self.config.frames.frame {
            return Err(CallError::TooLarge { size });
        }
        Ok(())
    }
}

/// Keys of `_meta` that the connection sets itself.
fn is_ours(key: &str, has_progress: bool) -> bool {
    [
        keys::PROTOCOL_VERSION.name(),
        keys::CLIENT_CAPABILITIES.name(),
        keys::CLIENT_INFO.name(),
    ]
    .contains(&key)
        || (has_progress && key == keys::PROGRESS_TOKEN.name())
}

/// The members of parameters that every revision can say.
fn encode(params: &CancelledParams, revision: Revision) -> Bytes {
    let mut body = Vec::new();
    let said = params.encode_members(&mut Encoder::new(&mut body, revision), false);
    said.expect("a cancellation with its id is sayable in every revision");
    body.into()
}

/// The error with which a request is answered when too many are being handled.
pub(crate) fn busy() -> ErrorObject {
    let data: JsonObject = [("reason", Json::from("busy"))].into_iter().collect();
    ErrorObject::new(-32603, "too many requests are being handled").data(data)
}
