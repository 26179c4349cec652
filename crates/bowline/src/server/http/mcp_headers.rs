//! The headers of a request that the protocol uses.

use ::http::{HeaderMap, HeaderName};
use bowline_proto::server::{EventId, Headers, RepeatedHeader, RepeatedHeaders, ReplayError};

use super::refusal::HttpRefusal;

/// Returns the headers that the protocol uses. A value that is no text has no meaning in any of
/// them.
pub(super) fn mcp_headers(headers: &HeaderMap) -> Headers<'_> {
    let mut found = Headers::new();
    let mut repeated = RepeatedHeaders::NONE;
    // One pass over few headers: looking each up would hash its name.
    for (name, value) in headers {
        let Some(name) = name.as_str().strip_prefix("mcp-") else {
            continue;
        };
        let (slot, which) = match name {
            "protocol-version" => (&mut found.protocol_version, RepeatedHeader::ProtocolVersion),
            "method" => (&mut found.method, RepeatedHeader::Method),
            "name" => (&mut found.name, RepeatedHeader::Name),
            "session-id" => (&mut found.session_id, RepeatedHeader::SessionId),
            _ => continue,
        };
        if slot.is_some() {
            repeated = repeated.with(which);
            continue;
        }
        *slot = Some(value.to_str().unwrap_or(NO_TEXT).trim_matches([' ', '\t']));
    }
    found.repeated = repeated;
    found
}

/// Stands for the value of a header that is no text. No header that the protocol uses may have it.
pub(super) const NO_TEXT: &str = "\u{7f}";

/// Returns the event after which a GET resumes its stream.
pub(super) fn last_event_id(headers: &HeaderMap) -> Result<Option<EventId>, HttpRefusal> {
    let mut values = headers.get_all(LAST_EVENT_ID).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(HttpRefusal::bad_request(
            "the header Last-Event-ID was sent more than once",
        ));
    }
    let id = EventId::parse(value.as_bytes().trim_ascii()).map_err(ReplayError::from);
    id.map(Some).map_err(|error| error.refusal().into())
}

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
