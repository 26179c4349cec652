//! The responses of the service: heads and small bodies.

use std::time::Duration;

use ::http::header::{self, HeaderValue};
use ::http::{Response, StatusCode};
use bowline_proto::Transmit;
use bowline_proto::server::{Refusal, SessionId};
use bowline_types::{ErrorObject, JsonObject, envelope};

use super::HttpConfig;
use super::body::{BodyError, Events, HttpBody};
use super::service::SESSION_ID;
use super::sessions::TooManySessions;
use crate::server::round_state_seal::RoundSeal;

/// How long a client should wait after a limit that is reached now.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Returns a response of a request as JSON.
pub(super) fn json(transmit: Transmit) -> Response<HttpBody> {
    let status = StatusCode::from_u16(transmit.status).unwrap_or(StatusCode::OK);
    let mut response = json_body(status, HttpBody::message(transmit));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        set_retry_after(&mut response, RETRY_AFTER);
    }
    response
}

/// Returns a stream of events. A proxy must not collect it (TR-110).
pub(super) fn event_stream(events: Events) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::events(events));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("no-cache, no-transform"),
    );
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Returns the response to messages that are no requests.
pub(super) fn accepted() -> Response<HttpBody> {
    empty(StatusCode::ACCEPTED)
}

/// Returns the response to a DELETE that has ended a session.
pub(super) fn no_content() -> Response<HttpBody> {
    empty(StatusCode::NO_CONTENT)
}

/// Returns the response to a message that is refused before a handler.
pub(super) fn refused(refusal: &Refusal) -> Response<HttpBody> {
    let mut text = Vec::new();
    envelope::write_error(&mut text, refusal.id.as_ref(), &refusal.error);
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
    let mut response = json_body(status, HttpBody::full(text));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        set_allow(&mut response);
    }
    response
}

/// Returns the response to a method that the endpoint doesn't have.
pub(super) fn method_not_allowed() -> Response<HttpBody> {
    let error = ErrorObject::invalid_request("only GET, POST and DELETE are served here");
    let mut response = error_body(StatusCode::METHOD_NOT_ALLOWED, &error);
    set_allow(&mut response);
    response
}

/// Returns the response of a server that shuts down.
pub(super) fn server_ends() -> Response<HttpBody> {
    let error = busy("the server is shutting down", "shutdown");
    unavailable(&error, RETRY_AFTER)
}

/// Returns the response to an `initialize` beyond the limit on sessions.
pub(super) fn too_many_sessions(too_many: TooManySessions) -> Response<HttpBody> {
    let error = busy("there are too many sessions", "busy");
    unavailable(&error, too_many.retry_after)
}

/// Returns the response to a request beyond the limit on streams of a session.
pub(super) fn too_many_streams() -> Response<HttpBody> {
    let error = busy("the session has too many open requests", "busy");
    unavailable(&error, RETRY_AFTER)
}

/// Returns the response to a request whose body was not read.
pub(super) fn unreadable_body(error: BodyError, config: &HttpConfig) -> Response<HttpBody> {
    let (status, message) = match error {
        BodyError::TooLarge => {
            let limit = config.max_body_bytes;
            let message = format!("the body is larger than {limit} bytes");
            (StatusCode::PAYLOAD_TOO_LARGE, message)
        }
        BodyError::TooSlow => {
            let seconds = config.body_timeout.as_secs_f32();
            let message = format!("the body has not arrived within {seconds} s");
            (StatusCode::REQUEST_TIMEOUT, message)
        }
        BodyError::Lost => {
            let message = "the body has ended before its end".to_owned();
            (StatusCode::BAD_REQUEST, message)
        }
    };
    let mut response = error_body(status, &ErrorObject::invalid_request(message));
    // What is left of the body is not read.
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
    response
}

/// Creates the id of a session, from the generator of the operating system.
pub(super) fn new_session_id() -> Result<SessionId, Box<Response<HttpBody>>> {
    let id = RoundSeal::random_id().map_err(|error| {
        tracing::error!(%error, "no random bytes available for the id of a session");
    });
    id.and_then(|id| SessionId::new(&id).map_err(|_| ()))
        .map_err(|()| {
            let error = ErrorObject::internal_error("no session can be opened");
            Box::new(error_body(StatusCode::INTERNAL_SERVER_ERROR, &error))
        })
}

/// Adds the id of a session.
pub(super) fn with_session_id(
    mut response: Response<HttpBody>,
    id: &SessionId,
) -> Response<HttpBody> {
    if let Ok(mut value) = HeaderValue::from_str(id.as_str()) {
        value.set_sensitive(true);
        response.headers_mut().insert(SESSION_ID, value);
    }
    response
}

fn busy(message: &str, reason: &str) -> ErrorObject {
    let data: JsonObject = [("reason", reason)].into_iter().collect();
    ErrorObject::internal_error(message).data(data)
}

fn unavailable(error: &ErrorObject, retry_after: Duration) -> Response<HttpBody> {
    let mut response = error_body(StatusCode::SERVICE_UNAVAILABLE, error);
    set_retry_after(&mut response, retry_after);
    response
}

fn set_retry_after(response: &mut Response<HttpBody>, after: Duration) {
    let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
}

fn set_allow(response: &mut Response<HttpBody>) {
    let methods = HeaderValue::from_static("GET, POST, DELETE");
    response.headers_mut().insert(header::ALLOW, methods);
}

fn error_body(status: StatusCode, error: &ErrorObject) -> Response<HttpBody> {
    let mut text = Vec::new();
    envelope::write_error(&mut text, None, error);
    json_body(status, HttpBody::full(text))
}

fn json_body(status: StatusCode, body: HttpBody) -> Response<HttpBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    response
}

fn empty(status: StatusCode) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::empty());
    *response.status_mut() = status;
    response
}
