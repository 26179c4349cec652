//! A host with a port, as in the header `Host`, in a URI and in an origin.

use std::net::{Ipv4Addr, Ipv6Addr};

/// A host with a port, borrowed from a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Authority<'a> {
    pub(super) host: Host<&'a str>,
    pub(super) port: Option<u16>,
}

/// A host. Addresses are compared by value, names in any case.
///
/// A name with a trailing dot is another name: the same page in a browser, but no listed host.
#[derive(Clone, Copy, Debug)]
pub(super) enum Host<S> {
    Name(S),
    V4(Ipv4Addr),
    V6(Ipv6Addr),
}

/// An entry of an allow-list.
#[derive(Clone, Debug)]
pub(super) struct AuthorityPattern {
    host: Host<Box<str>>,
    port: PortPattern,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PortPattern {
    /// No port was given: that of the scheme.
    Default,
    Exact(u16),
    Any,
}

impl<'a> Authority<'a> {
    /// Parses `host`, `host:port` or `host:`. Returns `None` for anything else, user information
    /// and zones included.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (host, port) = split_port(text)?;
        let port = if port.is_empty() {
            None
        } else {
            Some(parse_port(port)?)
        };
        let host = Host::parse(host)?;
        Some(Self { host, port })
    }

    /// Returns `true` if both mean the same, where the port `default` may be left out.
    pub(super) fn is_same(&self, other: &Authority<'_>, default: Option<u16>) -> bool {
        self.host.is_same(&other.host) && self.port.or(default) == other.port.or(default)
    }
}

impl<'a> Host<&'a str> {
    fn parse(text: &'a str) -> Option<Self> {
        if let Some(rest) = text.strip_prefix('[') {
            return rest.strip_suffix(']')?.parse().ok().map(Self::V6);
        }
        if let Ok(address) = text.parse() {
            return Some(Self::V4(address));
        }
        is_name(text).then_some(Self::Name(text))
    }
}

impl<S: AsRef<str>> Host<S> {
    fn is_same<T: AsRef<str>>(&self, other: &Host<T>) -> bool {
        match (self, other) {
            (Self::Name(one), Host::Name(other)) => {
                one.as_ref().eq_ignore_ascii_case(other.as_ref())
            }
            (Self::V4(one), Host::V4(other)) => one == other,
            (Self::V6(one), Host::V6(other)) => one == other,
            _ => false,
        }
    }

    /// Returns `true` for `localhost`, `127.0.0.1` and `[::1]`.
    pub(super) fn is_local(&self) -> bool {
        match self {
            Self::Name(name) => name.as_ref().eq_ignore_ascii_case("localhost"),
            Self::V4(address) => *address == Ipv4Addr::LOCALHOST,
            Self::V6(address) => *address == Ipv6Addr::LOCALHOST,
        }
    }
}

impl AuthorityPattern {
    /// Parses `host`, `host:port` or `host:*`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (authority, port) = match text.strip_suffix(":*") {
            Some(host) => (Authority::parse(host)?, PortPattern::Any),
            None => {
                let authority = Authority::parse(text)?;
                let port = authority.port;
                (
                    authority,
                    port.map_or(PortPattern::Default, PortPattern::Exact),
                )
            }
        };
        if port == PortPattern::Any && authority.port.is_some() {
            return None;
        }
        let host = match authority.host {
            Host::Name(name) => Host::Name(name.into()),
            Host::V4(address) => Host::V4(address),
            Host::V6(address) => Host::V6(address),
        };
        Some(Self { host, port })
    }

    /// Returns `true` if `authority` is listed. `defaults` are the ports that may be left out.
    pub(super) fn matches(&self, authority: &Authority<'_>, defaults: &[u16]) -> bool {
        if !self.host.is_same(&authority.host) {
            return false;
        }
        let is_default = |port: Option<u16>| port.is_none_or(|port| defaults.contains(&port));
        match self.port {
            PortPattern::Any => true,
            PortPattern::Default => is_default(authority.port),
            PortPattern::Exact(port) => match authority.port {
                Some(given) => given == port,
                None => is_default(Some(port)),
            },
        }
    }
}

/// Splits `host:port` at the colon, which an IPv6 address has too.
fn split_port(text: &str) -> Option<(&str, &str)> {
    let end = if text.starts_with('[') {
        text.find(']')? + 1
    } else {
        // A host is short: a loop costs less than a search.
        let port = text.bytes().position(|byte| byte == b':');
        port.unwrap_or(text.len())
    };
    let (host, rest) = text.split_at_checked(end)?;
    if rest.is_empty() {
        return Some((host, ""));
    }
    Some((host, rest.strip_prefix(':')?))
}

/// Digits only: `u16::from_str` accepts a sign too.
fn parse_port(text: &str) -> Option<u16> {
    let is_number = text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

/// Returns `true` for labels of letters, digits, `-` and `_`, with an optional dot at the end.
fn is_name(text: &str) -> bool {
    let labels = text.strip_suffix('.').unwrap_or(text);
    text.len() <= MAX_NAME
        && labels.split('.').all(|label| {
            !label.is_empty()
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        })
}

/// The longest name of DNS, with the dot at its end.
const MAX_NAME: usize = 254;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_hosts_are_no_authorities() {
        let long = "a".repeat(MAX_NAME + 1);
        for bad in [
            "",
            ":80",
            "a b",
            "a:b",
            "a:+80",
            "a:65536",
            "a:000080",
            "a:80:80",
            "user@a",
            "a/b",
            "a%2e",
            "..",
            ".",
            ".a",
            "a..b",
            "::1",
            "[::1",
            "[::1]80",
            "[127.0.0.1]",
            "[fe80::1%25eth0]",
            "é",
            "a,b",
            "a\t",
            long.as_str(),
        ] {
            assert!(Authority::parse(bad).is_none(), "{bad:?}");
        }
        for good in [
            "a",
            "A.b",
            "a.",
            "a:",
            "a:0",
            "a_b-c:65535",
            "127.0.0.1",
            "[::1]:80",
        ] {
            assert!(Authority::parse(good).is_some(), "{good:?}");
        }
    }

    #[test]
    fn hosts_are_compared_by_meaning() {
        for (one, other, expected) in [
            ("LocalHost", "localhost:80", true),
            ("a:", "a", true),
            ("[0:0:0:0:0:0:0:1]", "[::1]", true),
            ("[::ffff:127.0.0.1]", "127.0.0.1", false),
            ("127.1", "127.0.0.1", false),
            ("localhost.", "localhost", false),
            ("a:443", "a", false),
        ] {
            let [one_parsed, other_parsed] =
                [one, other].map(|text| Authority::parse(text).expect("valid"));
            assert_eq!(
                one_parsed.is_same(&other_parsed, Some(80)),
                expected,
                "{one} {other}"
            );
        }
    }
}
