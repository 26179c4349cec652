//! A request that is refused for its HTTP part: status, headers and a JSON-RPC error as the body.

use std::fmt;
use std::time::Duration;

use bowline_proto::server::Refusal;
use bowline_types::error::codes;
use bowline_types::{ErrorObject, JsonObject, RequestId, envelope};
use bytes::Bytes;

use ::http::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use ::http::{HeaderName, HeaderValue, Response, StatusCode};

/// A refused HTTP request.
#[derive(Debug)]
pub(super) struct HttpRefusal {
    pub(super) kind: RefusalKind,
    status: StatusCode,
    /// Boxed, so that the checks return a small `Result`.
    body: Box<(Option<RequestId>, ErrorObject)>,
    headers: Vec<(HeaderName, HeaderValue)>,
    closes_connection: bool,
}

/// What a refusal is counted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefusalKind {
    /// The host is malformed or not listed.
    Host,
    /// The origin is malformed or not listed.
    Origin,
    /// The credentials are missing, malformed or not sufficient.
    Authentication,
    /// Anything else, counted by the status.
    Other,
}

impl RefusalKind {
    /// Returns what is wrong with the request, for the log.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Origin => "origin",
            Self::Authentication => "authentication",
            Self::Other => "other",
        }
    }
}

impl HttpRefusal {
    /// Creates a refusal without headers of its own. `message` is shortened to 1 KiB.
    pub(super) fn new(status: StatusCode, message: impl fmt::Display) -> Self {
        let code = if status.is_server_error() {
            codes::INTERNAL_ERROR
        } else {
            codes::INVALID_REQUEST
        };
        let mut message = message.to_string();
        message.truncate(message.floor_char_boundary(MAX_MESSAGE));
        Self::with_body(status, None, ErrorObject::new(code, message))
    }

    fn with_body(status: StatusCode, id: Option<RequestId>, error: ErrorObject) -> Self {
        Self {
            kind: RefusalKind::Other,
            status,
            body: Box::new((id, error)),
            headers: Vec::new(),
            closes_connection: false,
        }
    }

    /// Creates a refusal with 400.
    pub(super) fn bad_request(message: impl fmt::Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// Creates a refusal with 400 of a body that is no JSON.
    pub(super) fn malformed_body(message: &str) -> Self {
        let error = ErrorObject::new(codes::PARSE_ERROR, message);
        Self::with_body(StatusCode::BAD_REQUEST, None, error)
    }

    /// Creates a refusal with 403.
    pub(super) fn forbidden(kind: RefusalKind, message: impl fmt::Display) -> Self {
        Self::new(StatusCode::FORBIDDEN, message).counted_as(kind)
    }

    /// Creates a refusal with 405, with the methods that are allowed.
    pub(super) fn method_not_allowed(method: &::http::Method, allow: &'static str) -> Self {
        let shown = Shown(method.as_str().as_bytes());
        let message = format_args!("HTTP method {shown} is not allowed (allowed: {allow})");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, message)
            .with_header(ALLOW, HeaderValue::from_static(allow))
    }

    /// Creates a refusal with 429 or 503, with the time after which the client may try again.
    pub(super) fn retry_later(
        status: StatusCode,
        after: Duration,
        message: impl fmt::Display,
    ) -> Self {
        // The header has whole seconds, and 0 would mean at once.
        let seconds = after.as_secs().max(1);
        Self::new(status, message).with_header(RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// Adds the reason that a limit is reached now (MO-4).
    #[must_use]
    pub(super) fn busy(mut self) -> Self {
        let reason: JsonObject = [("reason", "busy")].into_iter().collect();
        self.body.1.data = Some(reason.into());
        self
    }

    /// Sets how the refusal is counted.
    #[must_use]
    pub(super) fn counted_as(mut self, kind: RefusalKind) -> Self {
        self.kind = kind;
        self
    }

    /// Adds a header.
    #[must_use]
    pub(super) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Returns `true` if it has headers of its own.
    pub(super) fn has_headers(&self) -> bool {
        !self.headers.is_empty()
    }

    /// Closes the connection after the refusal: the rest of the request isn't read.
    #[must_use]
    pub(super) fn closing(mut self) -> Self {
        self.closes_connection = true;
        self
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the response. `Connection: close` is only for HTTP/1; hyper drops it in HTTP/2.
    pub(super) fn into_response(self) -> Response<Bytes> {
        let (id, error) = &*self.body;
        let mut body = Vec::with_capacity(128 + error.message.len());
        envelope::write_error(&mut body, id.as_ref(), error);
        let mut response = Response::new(Bytes::from(body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.closes_connection {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        for (name, value) in self.headers {
            headers.append(name, value);
        }
        response
    }
}

/// A refusal by the protocol's rules.
impl From<Refusal> for HttpRefusal {
    fn from(refusal: Refusal) -> Self {
        let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
        Self::with_body(status, refusal.id, refusal.error)
    }
}

/// The first 64 characters of what a client sent, quoted and escaped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown<'a>(pub(super) &'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A character has at most four bytes.
        let bytes = self.0.get(..4 * MAX_SHOWN).unwrap_or(self.0);
        let text = String::from_utf8_lossy(bytes);
        let shown: String = text.chars().take(MAX_SHOWN).collect();
        let dots = if shown.len() < self.0.len() {
            "…"
        } else {
            ""
        };
        write!(f, "{shown:?}{dots}")
    }
}

const MAX_MESSAGE: usize = 1024;
const MAX_SHOWN: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_a_json_rpc_error_without_an_id() {
        let response =
            HttpRefusal::method_not_allowed(&::http::Method::PUT, "POST").into_response();
        assert_eq!(response.status(), 405);
        assert_eq!(response.headers()["allow"], "POST");
        assert_eq!(response.headers()["cache-control"], "no-store");
        assert_eq!(response.headers()["content-type"], "application/json");
        assert!(!response.headers().contains_key("connection"));
        let text = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"HTTP method \"PUT\" is not allowed (allowed: POST)"}}"#;
        assert_eq!(response.body(), text);
    }

    #[test]
    fn a_refusal_has_retry_after_and_closes() {
        let busy = HttpRefusal::retry_later(
            StatusCode::SERVICE_UNAVAILABLE,
            Duration::from_millis(20),
            "too many sessions",
        );
        let response = busy.closing().into_response();
        assert_eq!(response.status(), 503);
        assert_eq!(response.headers()["retry-after"], "1");
        assert_eq!(response.headers()["connection"], "close");
    }

    #[test]
    fn a_refusal_repeats_little_of_the_request() {
        let refusal = HttpRefusal::bad_request("é".repeat(2000));
        assert_eq!(refusal.body.1.message.len(), 1024);
        assert_eq!(Shown(b"a\"\x00").to_string(), r#""a\"\0""#);
        for long in ["a".repeat(65), "é".repeat(500)] {
            let shown = Shown(long.as_bytes()).to_string();
            assert_eq!(shown.chars().count(), 64 + 2 + 1);
        }
    }
}
