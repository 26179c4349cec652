//! The headers of an HTTP request that the protocol uses.

use std::borrow::Cow;

use bowline_types::base64;

/// The headers of a request that the protocol uses: values as they are on the wire, `None` for
/// those that are absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Headers<'a> {
    /// `MCP-Protocol-Version`
    pub protocol_version: Option<&'a str>,
    /// `Mcp-Method`
    pub method: Option<&'a str>,
    /// `Mcp-Name`
    pub name: Option<&'a str>,
    /// `Mcp-Session-Id`
    pub session_id: Option<&'a str>,
    /// The repeated headers, whose values are ambiguous.
    pub repeated: RepeatedHeaders,
}

/// A repeated header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RepeatedHeader {
    /// `MCP-Protocol-Version`
    ProtocolVersion,
    /// `Mcp-Method`
    Method,
    /// `Mcp-Name`
    Name,
    /// `Mcp-Session-Id`
    SessionId,
}

impl RepeatedHeader {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::ProtocolVersion => "MCP-Protocol-Version",
            Self::Method => "Mcp-Method",
            Self::Name => "Mcp-Name",
            Self::SessionId => "Mcp-Session-Id",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The set of repeated headers. Each era uses headers that the other one ignores, so all of them
/// are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepeatedHeaders(u8);

impl RepeatedHeaders {
    /// None of them.
    pub const NONE: Self = Self(0);

    /// Adds a header.
    #[must_use]
    pub const fn with(self, header: RepeatedHeader) -> Self {
        Self(self.0 | header.bit())
    }

    /// Returns `true` if it is one of them.
    pub const fn contains(self, header: RepeatedHeader) -> bool {
        self.0 & header.bit() != 0
    }

    /// Returns the first of `headers` that is one of them.
    pub(super) fn first_of(self, headers: &[RepeatedHeader]) -> Option<RepeatedHeader> {
        headers
            .iter()
            .copied()
            .find(|header| self.contains(*header))
    }
}

impl<'a> Headers<'a> {
    /// Creates headers without any.
    pub const fn new() -> Self {
        Self {
            protocol_version: None,
            method: None,
            name: None,
            session_id: None,
            repeated: RepeatedHeaders::NONE,
        }
    }

    /// Collects the headers from pairs of name and value. Names in any case.
    pub fn collect(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut headers = Self::new();
        for (name, value) in pairs {
            let (slot, which) = match name {
                name if name.eq_ignore_ascii_case("mcp-protocol-version") => (
                    &mut headers.protocol_version,
                    RepeatedHeader::ProtocolVersion,
                ),
                name if name.eq_ignore_ascii_case("mcp-method") => {
                    (&mut headers.method, RepeatedHeader::Method)
                }
                name if name.eq_ignore_ascii_case("mcp-name") => {
                    (&mut headers.name, RepeatedHeader::Name)
                }
                name if name.eq_ignore_ascii_case("mcp-session-id") => {
                    (&mut headers.session_id, RepeatedHeader::SessionId)
                }
                _ => continue,
            };
            if slot.replace(trim(value)).is_some() {
                headers.repeated = headers.repeated.with(which);
            }
        }
        headers
    }
}

/// Encodes `value` for `Mcp-Name` and `Mcp-Param-…`: unchanged if a header can carry it, else as
/// `=?base64?…?=`.
///
/// ```
/// use bowline_proto::server::encode_value;
///
/// assert_eq!(encode_value("us west 1"), "us west 1");
/// assert_eq!(encode_value(" us-west1"), "=?base64?IHVzLXdlc3Qx?=");
/// ```
pub fn encode_value(value: &str) -> Cow<'_, str> {
    // 2026-07-28, basic/transports/streamable-http, value encoding: a plain value that looks
    // encoded would be decoded, and blanks at the ends would be trimmed.
    let looks_encoded = value.starts_with(PREFIX) && value.ends_with(SUFFIX);
    let is_plain = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain && !looks_encoded && trim(value) == value {
        return Cow::Borrowed(value);
    }
    Cow::Owned(format!(
        "{PREFIX}{}{SUFFIX}",
        base64::encode(value.as_bytes())
    ))
}

/// Decodes the value of a header: white space around it is trimmed, and `=?base64?…?=` is decoded.
/// Returns `None` if it can't be decoded, or has characters that no header may have.
pub(super) fn meaning(value: &str) -> Option<Cow<'_, str>> {
    let value = trim(value);
    if !value
        .bytes()
        .all(|byte| matches!(byte, b' '..=b'~' | b'\t'))
    {
        return None;
    }
    let encoded = value
        .strip_prefix(PREFIX)
        .and_then(|rest| rest.strip_suffix(SUFFIX));
    match encoded {
        // 2026-07-28, basic/transports: the markers are exact; anything else is literal.
        Some(encoded) => String::from_utf8(base64::decode(encoded)?)
            .ok()
            .map(Cow::Owned),
        None => Some(Cow::Borrowed(value)),
    }
}

/// RFC 9110: spaces and tabs around a value are not part of it.
fn trim(value: &str) -> &str {
    value.trim_matches([' ', '\t'])
}

/// Around a value that is encoded. The markers are exact, in lower case.
const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_mean_what_they_say_or_encode() {
        for (value, meaning_of) in [
            ("us-west1", Some("us-west1")),
            (" us west 1\t", Some("us west 1")),
            ("=?base64?IHVzLXdlc3Qx?=", Some(" us-west1")),
            ("=?base64?bGluZTEKbGluZTI=?=", Some("line1\nline2")),
            (
                "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
                Some("=?base64?literal?="),
            ),
            ("=?BASE64?IHVz?=", Some("=?BASE64?IHVz?=")),
            ("=?base64?IHVz", Some("=?base64?IHVz")),
            ("=?base64?SGVsbG8?=", None),
            ("=?base64?/w==?=", None),
            ("=?base64?=", Some("=?base64?=")),
            ("=?base64??=", Some("")),
            ("", Some("")),
            ("a\tb", Some("a\tb")),
            ("a\nb", None),
            ("a\u{7f}", None),
            ("世界", None),
        ] {
            assert_eq!(meaning(value).as_deref(), meaning_of, "{value:?}");
        }
    }

    #[test]
    fn encoded_values_decode_to_themselves() {
        for (value, encoded) in [
            ("us-west1", "us-west1"),
            (" us-west1", "=?base64?IHVzLXdlc3Qx?="),
            ("us-west1 ", "=?base64?dXMtd2VzdDEg?="),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("a\tb", "=?base64?YQli?="),
            ("a\u{7f}", "=?base64?YX8=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="),
            ("=?BASE64?literal?=", "=?BASE64?literal?="),
            ("=?base64?open", "=?base64?open"),
            ("us west 1", "us west 1"),
            (" ", "=?base64?IA==?="),
            ("", ""),
        ] {
            assert_eq!(encode_value(value), encoded, "{value:?}");
            assert_eq!(meaning(encoded).as_deref(), Some(value), "{encoded}");
        }
    }

    #[test]
    fn names_are_found_in_any_case_and_twice_is_noted() {
        let once = Headers::collect([("MCP-METHOD", " a "), ("x", "y"), ("mcp-name", "n")]);
        assert_eq!(
            (once.method, once.name, once.repeated),
            (Some("a"), Some("n"), RepeatedHeaders::NONE)
        );
        let twice = Headers::collect([("Mcp-Name", "a"), ("mcp-name", "a")]);
        let names = RepeatedHeaders::NONE.with(RepeatedHeader::Name);
        assert_eq!(twice.repeated, names);
        let more = Headers::collect([
            ("Mcp-Session-Id", "a"),
            ("mcp-session-id", "b"),
            ("mcp-name", "a"),
            ("mcp-name", "a"),
        ]);
        assert_eq!(more.repeated, names.with(RepeatedHeader::SessionId));
        assert!(!more.repeated.contains(RepeatedHeader::ProtocolVersion));
    }
}
