//! The headers of an HTTP request that the protocol looks at.

use std::borrow::Cow;

use super::base64;

/// The headers of a request, as far as the protocol looks at them: values as they are on the
/// wire, `None` where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Headers<'a> {
    /// `MCP-Protocol-Version`
    pub protocol_version: Option<&'a str>,
    /// `Mcp-Method`
    pub method: Option<&'a str>,
    /// `Mcp-Name`
    pub name: Option<&'a str>,
    /// One of them is there more than once, so that nobody knows which one counts.
    pub repeated: Option<RepeatedHeader>,
}

/// A header that is there more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RepeatedHeader {
    /// `MCP-Protocol-Version`
    ProtocolVersion,
    /// `Mcp-Method`
    Method,
    /// `Mcp-Name`
    Name,
}

impl RepeatedHeader {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::ProtocolVersion => "MCP-Protocol-Version",
            Self::Method => "Mcp-Method",
            Self::Name => "Mcp-Name",
        }
    }
}

impl<'a> Headers<'a> {
    /// No headers.
    pub const fn new() -> Self {
        Self {
            protocol_version: None,
            method: None,
            name: None,
            repeated: None,
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
                _ => continue,
            };
            if slot.replace(trim(value)).is_some() {
                headers.repeated = Some(which);
            }
        }
        headers
    }
}

/// The value that is meant: white space around it is not part of it, and
/// `=?base64?…?=` stands for what can't stand in a header. `None` when it can't be read.
pub(super) fn meaning(value: &str) -> Option<Cow<'_, str>> {
    let value = trim(value);
    let encoded = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
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
            ("", Some("")),
        ] {
            assert_eq!(meaning(value).as_deref(), meaning_of, "{value:?}");
        }
    }

    #[test]
    fn names_are_found_in_any_case_and_twice_is_noted() {
        let once = Headers::collect([("MCP-METHOD", " a "), ("x", "y"), ("mcp-name", "n")]);
        assert_eq!(
            (once.method, once.name, once.repeated),
            (Some("a"), Some("n"), None)
        );
        let twice = Headers::collect([("Mcp-Name", "a"), ("mcp-name", "a")]);
        assert_eq!(twice.repeated, Some(RepeatedHeader::Name));
    }
}
