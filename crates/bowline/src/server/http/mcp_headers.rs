//! The headers of a request that the protocol uses.

use ::http::{HeaderMap, HeaderName};
use bowline_proto::server::{EventId, Headers, RepeatedHeader, RepeatedHeaders, ReplayError};

use super::refusal::HttpRefusal;

/// Returns the headers that the protocol uses. A value that is no text has no meaning in any of
/// them.
pub(super) fn mcp_headers(headers: &HeaderMap) -> Headers<'_> {
    let mut found = Headers::new();
    let mut repeated = RepeatedHeaders::NONE;
    let slots = [
        (
            &mut found.protocol_version,
            &PROTOCOL_VERSION,
            RepeatedHeader::ProtocolVersion,
        ),
        (&mut found.method, &METHOD, RepeatedHeader::Method),
        (&mut found.name, &NAME, RepeatedHeader::Name),
        (
            &mut found.session_id,
            &SESSION_ID,
            RepeatedHeader::SessionId,
        ),
    ];
    for (slot, name, which) in slots {
        let mut values = headers.get_all(name).iter();
        *slot = values
            .next()
            .map(|value| value.to_str().unwrap_or(NO_TEXT).trim_matches([' ', '\t']));
        if values.next().is_some() {
            repeated = repeated.with(which);
        }
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
        return Err(HttpRefusal::bad_request("Last-Event-ID is repeated"));
    }
    let id = EventId::parse(value.as_bytes().trim_ascii()).map_err(ReplayError::from);
    id.map(Some).map_err(|error| error.refusal().into())
}

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
