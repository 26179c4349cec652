//! Commands of the application to a connection, and their errors.

use std::borrow::Cow;
use std::fmt;

use bowline_types::Reader;
use bowline_types::meta::RequestMeta;
use bytes::Bytes;

use crate::calls::Timeouts;

pub(crate) use crate::calls::Since;

/// A call to be made.
#[derive(Clone, Debug)]
pub struct CallRequest {
    pub(crate) method: Cow<'static, str>,
    pub(crate) body: Bytes,
    pub(crate) meta: Option<RequestMeta>,
    pub(crate) timeouts: Option<Timeouts>,
    pub(crate) wants_progress: bool,
    /// Set when the call began earlier.
    pub(crate) since: Option<Since>,
    /// More members of the parameters, for another round of input.
    pub(crate) extra: Bytes,
}

impl CallRequest {
    /// Creates a call of `method`. `body` are the members of its parameters without `_meta` and
    /// without braces; it is shared, never copied.
    pub fn new(method: impl Into<Cow<'static, str>>, body: impl Into<Bytes>) -> Self {
        Self {
            method: method.into(),
            body: body.into(),
            meta: None,
            timeouts: None,
            wants_progress: false,
            since: None,
            extra: Bytes::new(),
        }
    }

    /// Adds entries to `_meta`. Those that the protocol sets come from the connection.
    #[must_use]
    pub fn meta(mut self, meta: RequestMeta) -> Self {
        self.meta = Some(meta);
        self
    }

    /// Sets the timeouts of the call. Default: as configured.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = Some(timeouts);
        self
    }

    /// Replaces the parameters, as for [`new`](Self::new).
    pub fn set_body(&mut self, body: impl Into<Bytes>) {
        self.body = body.into();
    }

    /// Replaces the entries of `_meta`.
    pub fn set_meta(&mut self, meta: Option<RequestMeta>) {
        self.meta = meta;
    }

    /// Returns a parameter that is a string.
    pub(crate) fn text_member(&self, name: &str) -> Option<String> {
        let body = std::str::from_utf8(&self.body).ok()?;
        let object = format!("{{{body}}}");
        let text = Reader::new(&object).peek_tag(name).ok()??;
        Some(text.into_owned())
    }

    /// Asks the peer to report progress.
    #[must_use]
    pub fn with_progress(mut self) -> Self {
        self.wants_progress = true;
        self
    }
}

/// Why a call was not made. The peer has seen nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError {
    /// The handshake is not finished.
    NotReady,
    /// The connection has ended, or is about to.
    Closed,
    /// The limit on pending calls is reached.
    TooManyPending,
    /// The outgoing queue is full.
    QueueFull,
    /// The message is larger than a frame may be.
    TooLarge {
        /// Its bytes.
        size: usize,
    },
    /// The ids are used up: a new connection is needed.
    IdsExhausted,
    /// The related request was answered, cancelled, or never made.
    RequestClosed,
    /// The related request is of the stateless era, in which a server sends no requests: it
    /// answers with an input request.
    Stateless,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotReady => f.write_str("the handshake is not finished"),
            Self::Closed => f.write_str("the connection is closed"),
            Self::TooManyPending => f.write_str("too many calls are pending"),
            Self::QueueFull => f.write_str("the outgoing queue is full"),
            Self::TooLarge { size } => write!(f, "a message of {size} bytes is too large"),
            Self::IdsExhausted => f.write_str("the request ids of this connection are used up"),
            Self::Stateless => f.write_str("a server can't send requests in a stateless revision"),
            Self::RequestClosed => f.write_str("the related request is no longer open"),
        }
    }
}

impl std::error::Error for CallError {}

/// Why a notification was not sent: the reasons are those of a call.
pub type NotifyError = CallError;

/// Why a response was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RespondError {
    /// The request is not open: it was answered, cancelled, or never made.
    NotOpen,
    /// The response is larger than a frame may be. The peer received an error instead.
    TooLarge {
        /// Its bytes.
        size: usize,
    },
}

impl fmt::Display for RespondError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOpen => f.write_str("the request is not open"),
            Self::TooLarge { size } => write!(f, "a response of {size} bytes is too large"),
        }
    }
}

impl std::error::Error for RespondError {}
