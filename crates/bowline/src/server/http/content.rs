//! The headers about the content of a request: media types, encodings, the length.

use ::http::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING,
};
use ::http::request::Parts;
use ::http::{HeaderMap, HeaderValue, StatusCode};

use super::refusal::{HttpRefusal, Shown};

/// Checks the headers of a request with a body.
///
/// Pages of any origin may send text and forms without a preflight, so that the media type is
/// part of what keeps them out.
pub(super) fn check_content(parts: &Parts) -> Result<(), HttpRefusal> {
    check_content_type(&parts.headers)?;
    check_content_encoding(&parts.headers)
}

/// Checks that the client accepts both media types that a POST is answered with.
pub(super) fn check_post_accept(parts: &Parts) -> Result<(), HttpRefusal> {
    // The whole header of most clients.
    let accept = parts.headers.get(ACCEPT);
    if accept.is_none_or(|accept| accept == "application/json, text/event-stream") {
        return Ok(());
    }
    let allows = |media_type| is_accepted(&parts.headers, media_type);
    // `application/*` alone is lenient: its client can't have meant JSON without streams.
    let stream = allows(EVENT_STREAM).or_else(|| allows(ANY_APPLICATION));
    if allows(JSON) == Some(true) && stream == Some(true) {
        return Ok(());
    }
    Err(not_acceptable("application/json and text/event-stream"))
}

/// Checks that the client accepts a stream, which is what a GET is answered with.
pub(super) fn check_get_accept(parts: &Parts) -> Result<(), HttpRefusal> {
    let is_absent = !parts.headers.contains_key(ACCEPT);
    if is_absent || is_accepted(&parts.headers, EVENT_STREAM) == Some(true) {
        return Ok(());
    }
    Err(not_acceptable("text/event-stream"))
}

/// Checks that there is only one length of the body, and that it isn't compressed: hyper reads any
/// list of transfer codings that ends in `chunked` as if the others weren't there. hyper removes a `Content-Length` beside
/// `Transfer-Encoding` and closes the connection afterwards; our connections put it back.
pub(super) fn check_framing(parts: &Parts) -> Result<(), HttpRefusal> {
    let headers = &parts.headers;
    // The one that is rare comes first.
    if headers.contains_key(TRANSFER_ENCODING) && headers.contains_key(CONTENT_LENGTH) {
        let message = "Content-Length and Transfer-Encoding were both sent (send only one of them)";
        return Err(HttpRefusal::bad_request(message).closing());
    }
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let first = codings.next();
    let is_chunked = first.is_none_or(|value| value.as_bytes().eq_ignore_ascii_case(b"chunked"));
    if is_chunked && codings.next().is_none() {
        return Ok(());
    }
    let shown = Shown(first.map_or(b"", |value| value.as_bytes()));
    let message = format!("unsupported Transfer-Encoding {shown} (send the body unencoded)");
    Err(HttpRefusal::bad_request(message).closing())
}

fn check_content_type(headers: &HeaderMap) -> Result<(), HttpRefusal> {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let Some(value) = values.next() else {
        return Err(unsupported(
            "the header Content-Type is missing (send application/json)",
        ));
    };
    if values.next().is_some() {
        let message = "the header Content-Type was sent more than once";
        return Err(HttpRefusal::bad_request(message));
    }
    if value == "application/json" || value.to_str().is_ok_and(is_json) {
        return Ok(());
    }
    let shown = Shown(value.as_bytes());
    let message = format!("unsupported Content-Type {shown} (send application/json, in UTF-8)");
    Err(unsupported(&message))
}

/// Returns `true` for `application/json` without a charset other than UTF-8.
fn is_json(content_type: &str) -> bool {
    let mut parts = Unquoted::split(content_type, b';');
    let is_json = parts
        .next()
        .is_some_and(|media_type| media_type.eq_ignore_ascii_case("application/json"));
    is_json
        && parts.all(|parameter| match parameter.split_once('=') {
            Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
                let value = value.trim().trim_matches('"');
                value.eq_ignore_ascii_case("utf-8") || value.eq_ignore_ascii_case("utf8")
            }
            _ => true,
        })
}

fn check_content_encoding(headers: &HeaderMap) -> Result<(), HttpRefusal> {
    for value in headers.get_all(CONTENT_ENCODING) {
        let is_identity = value.to_str().is_ok_and(|value| {
            value
                .split(',')
                .all(|encoding| encoding.trim().eq_ignore_ascii_case("identity"))
        });
        if !is_identity {
            let shown = Shown(value.as_bytes());
            let message = format!("unsupported Content-Encoding {shown} (send the body unencoded)");
            // RFC 9110, 12.5.3: distinguishes this 415 from one for the media type.
            let identity = HeaderValue::from_static("identity");
            return Err(unsupported(&message).with_header(ACCEPT_ENCODING, identity));
        }
    }
    Ok(())
}

/// A media type, from its least to its most specific range.
type MediaType = &'static [&'static str];

const JSON: MediaType = &["*/*", "application/*", "application/json"];
const EVENT_STREAM: MediaType = &["*/*", "text/*", "text/event-stream"];
const ANY_APPLICATION: MediaType = &["application/*"];

/// Returns whether the most specific range of `Accept` that has the media type allows it. `None`
/// if no range has it.
fn is_accepted(headers: &HeaderMap, media_type: MediaType) -> Option<bool> {
    let ranges = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| Unquoted::split(value, b','));
    let mut best = None;
    for range in ranges {
        let mut parts = Unquoted::split(range, b';');
        let name = parts.next().unwrap_or_default();
        let specificity = media_type
            .iter()
            .position(|known| known.eq_ignore_ascii_case(name));
        let Some(specificity) = specificity else {
            continue;
        };
        let found = (specificity, !parts.any(is_zero_weight));
        // Of the same range twice, the one that allows it.
        best = best.max(Some(found));
    }
    best.map(|(_, is_allowed)| is_allowed)
}

/// Returns `true` for `q=0`, `q=0.0` and so on. Any other weight allows.
fn is_zero_weight(parameter: &str) -> bool {
    parameter.split_once('=').is_some_and(|(name, value)| {
        let value = value.trim();
        name.trim().eq_ignore_ascii_case("q")
            && value.starts_with('0')
            && value.bytes().all(|byte| matches!(byte, b'0' | b'.'))
    })
}

/// The parts of a header between separators outside of quoted strings, without white space.
struct Unquoted<'a> {
    rest: Option<&'a str>,
    separator: u8,
}

impl<'a> Unquoted<'a> {
    fn split(text: &'a str, separator: u8) -> Self {
        Self {
            rest: Some(text),
            separator,
        }
    }
}

impl<'a> Iterator for Unquoted<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let rest = self.rest.take()?;
        let mut is_quoted = false;
        let mut is_escaped = false;
        let end = rest.bytes().position(|byte| {
            if is_escaped {
                is_escaped = false;
                return false;
            }
            match byte {
                b'\\' if is_quoted => is_escaped = true,
                b'"' => is_quoted = !is_quoted,
                _ => {}
            }
            byte == self.separator && !is_quoted
        });
        let Some((part, after)) = end.and_then(|end| rest.split_at_checked(end)) else {
            return Some(rest.trim());
        };
        self.rest = after.get(1..);
        Some(part.trim())
    }
}

fn unsupported(message: &str) -> HttpRefusal {
    HttpRefusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message)
}

fn not_acceptable(needed: &str) -> HttpRefusal {
    let message = format_args!("the header Accept must allow {needed}");
    HttpRefusal::new(StatusCode::NOT_ACCEPTABLE, message)
}

#[cfg(test)]
mod tests;
