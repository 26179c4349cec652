//! The responses of the service: heads and small bodies.

use std::sync::Arc;
use std::time::Duration;

use ::http::header::{self, HeaderValue};
use ::http::{Response, StatusCode};
use bowline_proto::Transmit;
use bowline_proto::server::SessionId;

use super::HttpConfig;
use super::body::{BodyError, Events, HttpBody};
use super::mcp_headers::SESSION_ID;
use super::refusal::HttpRefusal;
use super::sessions::TooManySessions;
use super::unread_responses::UnreadResponses;
use crate::server::round_state_seal::RoundSeal;

/// How long a client should wait after a limit that is reached now.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Returns a response of a request as JSON.
pub(super) fn json(transmit: Transmit, unread: &Arc<UnreadResponses>) -> Response<HttpBody> {
    let status = StatusCode::from_u16(transmit.status).unwrap_or(StatusCode::OK);
    let mut response = json_body(status, HttpBody::message(transmit, unread));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        set_retry_after(&mut response, RETRY_AFTER);
    }
    response
}

/// Returns a stream of events.
pub(super) fn event_stream(events: Events) -> Response<HttpBody> {
    streaming(HttpBody::events(events))
}

/// Returns a body that is a stream of events. A proxy must not collect it (TR-110).
pub(super) fn streaming(body: HttpBody) -> Response<HttpBody> {
    let mut response = Response::new(body);
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

/// Returns the refusal of a server that shuts down.
pub(super) fn server_ends() -> HttpRefusal {
    unavailable("the server is shutting down", RETRY_AFTER)
}

/// Returns the refusal of an `initialize` beyond the limit on sessions.
pub(super) fn too_many_sessions(too_many: TooManySessions) -> HttpRefusal {
    unavailable("too many sessions, try again later", too_many.retry_after)
}

/// The refusal of a request whose session may be in a store that can't be used now.
pub(super) fn store_unavailable() -> HttpRefusal {
    let message = "the session store is not available, try again later";
    unavailable(message, RETRY_AFTER)
}

/// Returns the refusal of a request beyond the limit on streams of a session.
pub(super) fn too_many_streams() -> HttpRefusal {
    unavailable("the session has too many open requests", RETRY_AFTER)
}

fn unavailable(message: &str, retry_after: Duration) -> HttpRefusal {
    HttpRefusal::retry_later(StatusCode::SERVICE_UNAVAILABLE, retry_after, message).busy()
}

/// Returns the refusal of a request whose body was not read. The rest of it isn't.
pub(super) fn unreadable_body(error: BodyError, config: &HttpConfig) -> HttpRefusal {
    let refusal = match error {
        BodyError::Empty => {
            return HttpRefusal::malformed_body(
                "the request body is empty (send a JSON-RPC message)",
            );
        }
        BodyError::TooLarge => {
            let limit = config.max_body_bytes;
            let message = format_args!("the request body is larger than {limit} bytes");
            HttpRefusal::new(StatusCode::PAYLOAD_TOO_LARGE, message)
        }
        BodyError::TooSlow => {
            let seconds = config.body_timeout.as_secs_f32();
            let message = format_args!("the request body was not received within {seconds} s");
            HttpRefusal::new(StatusCode::REQUEST_TIMEOUT, message)
        }
        BodyError::NoRoom => unavailable(
            "too many large request bodies at once, try again later",
            RETRY_AFTER,
        ),
        BodyError::Lost => HttpRefusal::bad_request("the request body is incomplete, or malformed"),
    };
    refusal.closing()
}

/// Creates the id of a session, from the generator of the operating system.
pub(super) fn new_session_id() -> Result<SessionId, HttpRefusal> {
    let id = RoundSeal::random_id().map_err(|error| {
        tracing::error!(%error, "no random bytes available for the id of a session");
    });
    id.and_then(|id| SessionId::new(&id).map_err(|_| ()))
        .map_err(|()| {
            let message = "can't create a session";
            HttpRefusal::new(StatusCode::INTERNAL_SERVER_ERROR, message)
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

fn set_retry_after(response: &mut Response<HttpBody>, after: Duration) {
    let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
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
