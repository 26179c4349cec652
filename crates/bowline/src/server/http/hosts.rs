//! The hosts that a server answers for, against DNS rebinding.
//!
//! A page of `evil.example` whose name resolves to a loopback address is of the same origin as the
//! local server for a browser, but its requests still name `evil.example` as their host. Names are
//! compared and never resolved.

use std::fmt;
use std::sync::OnceLock;

use ::http::header::HOST;
use ::http::request::Parts;
use ::http::uri::Scheme;
use ::http::{HeaderMap, HeaderValue, Version};

use super::authority::{Authority, AuthorityPattern};
use super::invalid_setting::InvalidHttpSetting;
use super::refusal::{HttpRefusal, RefusalKind, Shown};

/// The hosts that requests may name.
///
/// The default is `localhost`, `127.0.0.1` and `[::1]` with any port. Any other host is answered
/// with 403.
#[derive(Clone, Debug, Default)]
pub struct AllowedHosts {
    list: List,
    /// A header `Host` that was allowed. Most clients name the same one, which is not parsed again.
    allowed: OnceLock<Box<[u8]>>,
}

#[derive(Clone, Debug, Default)]
enum List {
    #[default]
    Local,
    Listed(Vec<AuthorityPattern>),
    Any,
}

impl AllowedHosts {
    /// Creates a list in place of the default. An entry is
    /// - `host`: without a port, or with port 80 or 443;
    /// - `host:port`: with this port, which may be left out if it is 80 or 443;
    /// - `host:*`: with any port.
    ///
    /// A host is a name (in any case), an IPv4 address, or an IPv6 address in brackets.
    ///
    /// ```
    /// use bowline::server::AllowedHosts;
    ///
    /// let hosts = AllowedHosts::new(["mcp.example.com", "localhost:*"])?;
    /// # Ok::<(), bowline::server::InvalidHttpSetting>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the first entry that is none of these.
    pub fn new<S: AsRef<str>>(
        entries: impl IntoIterator<Item = S>,
    ) -> Result<Self, InvalidHttpSetting> {
        let expected = "\"host\", \"host:port\" or \"host:*\"";
        let parse = |entry: S| {
            let entry = entry.as_ref();
            AuthorityPattern::parse(entry)
                .ok_or_else(|| InvalidHttpSetting::new("allowed host", entry, expected))
        };
        let entries = entries.into_iter().map(parse).collect::<Result<_, _>>()?;
        Ok(Self::of(List::Listed(entries)))
    }

    /// Allows any host. Only for a server that authenticates each request, or behind a proxy
    /// that checks the host itself.
    pub fn any() -> Self {
        Self::of(List::Any)
    }

    fn of(list: List) -> Self {
        Self {
            list,
            allowed: OnceLock::new(),
        }
    }

    /// Returns `true` if the list was never set.
    pub(super) fn is_default(&self) -> bool {
        matches!(self.list, List::Local)
    }

    /// Checks the host of a request: the header `Host`, and the authority of the URI (the
    /// absolute form of HTTP/1, or `:authority` of HTTP/2).
    pub(super) fn check(&self, parts: &Parts) -> Result<(), HttpRefusal> {
        let header = single_host(&parts.headers)?;
        let authority = match (header, parts.uri.authority()) {
            (Some(header), Some(authority)) => {
                let header = parse_host(header.as_bytes())?;
                let authority = parse_host(authority.as_str().as_bytes())?;
                if !header.is_same(&authority, default_port(parts.uri.scheme())) {
                    return Err(malformed(
                        "the header Host and the request URI name different hosts",
                    ));
                }
                header
            }
            (Some(header), None) => return self.check_header(header),
            // RFC 9112, 3.2: a request of HTTP/1.1 has the header, also beside an absolute URI.
            (None, Some(authority)) if parts.version != Version::HTTP_11 => {
                parse_host(authority.as_str().as_bytes())?
            }
            (None, None) if self.is_any() && parts.version != Version::HTTP_11 => return Ok(()),
            (None, _) => return Err(malformed("the header Host is missing")),
        };
        self.require(&authority, || match header {
            Some(header) => Shown(header.as_bytes()),
            None => Shown(
                parts
                    .uri
                    .authority()
                    .map_or(b"", |host| host.as_str().as_bytes()),
            ),
        })
    }

    /// Checks a header `Host` that nothing stands beside.
    fn check_header(&self, header: &HeaderValue) -> Result<(), HttpRefusal> {
        let host = header.as_bytes();
        if self.allowed.get().is_some_and(|allowed| **allowed == *host) {
            return Ok(());
        }
        self.require(&parse_host(host)?, || Shown(host))?;
        self.allowed.get_or_init(|| host.into());
        Ok(())
    }

    /// Checks the host that a trusted proxy has forwarded. It counts beside the request's own:
    /// a proxy may pass on the header of a client unchanged.
    pub(super) fn check_forwarded(&self, host: &str) -> Result<(), HttpRefusal> {
        let authority = parse_host(host.as_bytes())?;
        self.require(&authority, || Shown(host.as_bytes()))
    }

    fn require<'a>(
        &self,
        authority: &Authority<'_>,
        shown: impl FnOnce() -> Shown<'a>,
    ) -> Result<(), HttpRefusal> {
        if self.allows(authority) {
            return Ok(());
        }
        let message = format!(
            "host {} is not allowed by this server (add it to the allowed hosts, \
             or use one of them in the URL)",
            shown()
        );
        Err(HttpRefusal::forbidden(RefusalKind::Host, message))
    }

    fn allows(&self, authority: &Authority<'_>) -> bool {
        match &self.list {
            List::Local => authority.host.is_local(),
            List::Listed(entries) => entries
                .iter()
                .any(|entry| entry.matches(authority, &[80, 443])),
            List::Any => true,
        }
    }

    fn is_any(&self) -> bool {
        matches!(self.list, List::Any)
    }
}

/// Returns the header `Host`, which may be absent.
fn single_host(headers: &HeaderMap) -> Result<Option<&HeaderValue>, HttpRefusal> {
    let mut values = headers.get_all(HOST).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(malformed("the header Host was sent more than once"));
    }
    Ok(first)
}

fn parse_host(host: &[u8]) -> Result<Authority<'_>, HttpRefusal> {
    let parsed = std::str::from_utf8(host).ok().and_then(Authority::parse);
    parsed.ok_or_else(|| malformed(format_args!("malformed host {}", Shown(host))))
}

fn default_port(scheme: Option<&Scheme>) -> Option<u16> {
    match scheme {
        Some(scheme) if *scheme == Scheme::HTTP => Some(80),
        Some(scheme) if *scheme == Scheme::HTTPS => Some(443),
        _ => None,
    }
}

fn malformed(message: impl fmt::Display) -> HttpRefusal {
    HttpRefusal::bad_request(message).counted_as(RefusalKind::Host)
}

#[cfg(test)]
mod tests;
