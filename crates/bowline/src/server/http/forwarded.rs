//! The client behind a trusted proxy, from the headers that the proxy adds.

use std::net::IpAddr;

use ::http::header::FORWARDED;
use ::http::request::Parts;
use ::http::uri::Scheme;
use ::http::{HeaderMap, HeaderName};

use super::invalid_setting::InvalidHttpSetting;
use crate::transport::PeerAddr;

/// The proxies whose forwarding headers count.
///
/// The default is none: any client can write these headers. They count if the peer of the
/// connection is in one of the networks, and only as far as a chain of such proxies wrote them.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies {
    networks: Vec<IpNetwork>,
    uses_forwarded: bool,
}

#[derive(Clone, Copy, Debug)]
struct IpNetwork {
    address: IpAddr,
    prefix: u8,
}

/// The client of a request, as far as the server can know it.
///
/// Behind [trusted proxies](super::HttpConfig::trusted_proxies) it is what the outermost of them
/// reports. Without them it is the peer of the connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientAddr {
    ip: Option<IpAddr>,
    scheme: Option<Scheme>,
}

impl ClientAddr {
    /// Returns the IP address of the client. `None` where the connection has none, such as a Unix
    /// socket.
    pub fn ip(&self) -> Option<IpAddr> {
        self.ip
    }

    /// Returns the scheme of the URL that the client uses, where a trusted proxy reports it.
    pub fn scheme(&self) -> Option<&Scheme> {
        self.scheme.as_ref()
    }
}

/// The client's side of a request. Each part is `None` if it isn't known from a trusted proxy;
/// `client` is then the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ForwardedRequest<'a> {
    pub(super) client: Option<IpAddr>,
    pub(super) scheme: Option<Scheme>,
    /// Not checked; see [`AllowedHosts::check_forwarded`](super::AllowedHosts).
    pub(super) host: Option<&'a str>,
}

impl TrustedProxies {
    /// Creates the list from IP addresses and networks, such as `10.0.0.0/8` or `::1`. The headers
    /// `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host` count, each of which the
    /// proxies must set or remove: what they pass on unchanged is the client's word.
    ///
    /// ```
    /// use bowline::server::TrustedProxies;
    ///
    /// let proxies = TrustedProxies::new(["10.0.0.0/8", "::1"])?;
    /// # Ok::<(), bowline::server::InvalidHttpSetting>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the first entry that is no address and no network.
    pub fn new<S: AsRef<str>>(
        entries: impl IntoIterator<Item = S>,
    ) -> Result<Self, InvalidHttpSetting> {
        let expected = "an IP address or a network such as 10.0.0.0/8";
        let parse = |entry: S| {
            let entry = entry.as_ref();
            IpNetwork::parse(entry)
                .ok_or_else(|| InvalidHttpSetting::new("trusted proxy", entry, expected))
        };
        let networks = entries.into_iter().map(parse).collect::<Result<_, _>>()?;
        Ok(Self {
            networks,
            uses_forwarded: false,
        })
    }

    /// Uses the header `Forwarded` (RFC 7239) in place of `X-Forwarded-*`. Never both: a proxy
    /// writes one of them, and the other one is the client's word.
    #[must_use]
    pub fn use_forwarded_header(mut self) -> Self {
        self.uses_forwarded = true;
        self
    }

    /// Returns the client's side of a request. `peer` is the address of the connection, `None`
    /// for one without an IP address.
    pub(super) fn resolve<'a>(
        &self,
        peer: Option<IpAddr>,
        parts: &'a Parts,
    ) -> ForwardedRequest<'a> {
        let peer = peer.map(|peer| peer.to_canonical());
        let direct = ForwardedRequest {
            client: peer,
            scheme: None,
            host: None,
        };
        match peer {
            Some(peer) if self.trusts(peer) && self.uses_forwarded => {
                self.read_forwarded(peer, &parts.headers)
            }
            Some(peer) if self.trusts(peer) => self.read_x_forwarded(peer, &parts.headers),
            _ => direct,
        }
    }

    /// Returns the client of a request.
    pub(super) fn client(&self, parts: &Parts) -> ClientAddr {
        let peer = parts.extensions.get::<PeerAddr>().map(PeerAddr::ip);
        let forwarded = self.resolve(peer, parts);
        ClientAddr {
            ip: forwarded.client,
            scheme: forwarded.scheme,
        }
    }

    fn read_x_forwarded<'a>(&self, peer: IpAddr, headers: &'a HeaderMap) -> ForwardedRequest<'a> {
        let nodes = elements(headers, &X_FORWARDED_FOR);
        let (client, hop) = self.client_behind(peer, nodes.map(Some));
        ForwardedRequest {
            client: Some(client),
            scheme: at_hop(headers, &X_FORWARDED_PROTO, hop).and_then(parse_scheme),
            host: at_hop(headers, &X_FORWARDED_HOST, hop).filter(|host| !host.is_empty()),
        }
    }

    fn read_forwarded<'a>(&self, peer: IpAddr, headers: &'a HeaderMap) -> ForwardedRequest<'a> {
        let nodes = elements(headers, &FORWARDED).map(|element| parameter(element, "for"));
        let (client, hop) = self.client_behind(peer, nodes);
        let element = elements(headers, &FORWARDED).nth(hop).unwrap_or_default();
        ForwardedRequest {
            client: Some(client),
            scheme: parameter(element, "proto").and_then(parse_scheme),
            host: parameter(element, "host"),
        }
    }

    /// Follows the nodes, nearest first, while they are trusted proxies. Returns the first
    /// address that isn't one, or else the farthest that is known; and the index of the last
    /// element that a trusted proxy wrote.
    fn client_behind<'a>(
        &self,
        peer: IpAddr,
        nodes: impl Iterator<Item = Option<&'a str>>,
    ) -> (IpAddr, usize) {
        let mut client = peer;
        let mut last = 0;
        for (hop, node) in nodes.enumerate() {
            last = hop;
            let Some(address) = node.and_then(parse_node) else {
                break;
            };
            client = address;
            if !self.trusts(address) {
                break;
            }
        }
        (client, last)
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.networks
            .iter()
            .any(|network| network.contains(address))
    }
}

impl IpNetwork {
    fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(prefix) if !prefix.starts_with('+') => prefix.parse().ok()?,
            Some(_) => return None,
            None => bits,
        };
        (prefix <= bits).then_some(Self { address, prefix })
    }

    fn contains(&self, other: IpAddr) -> bool {
        let prefix = u32::from(self.prefix);
        match (self.address, other) {
            (IpAddr::V4(network), IpAddr::V4(other)) => {
                let difference = network.to_bits() ^ other.to_bits();
                difference.checked_shr(32 - prefix).unwrap_or(0) == 0
            }
            (IpAddr::V6(network), IpAddr::V6(other)) => {
                let difference = network.to_bits() ^ other.to_bits();
                difference.checked_shr(128 - prefix).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

/// Returns the elements of a list header, the last one first, at most [`MAX_HOPS`].
///
/// Quotes don't protect a comma: an open quote in what a client wrote must not hide what a proxy
/// has appended to it.
fn elements<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).iter().rev();
    values
        .flat_map(|value| value.to_str().unwrap_or_default().rsplit(','))
        .map(str::trim)
        .take(MAX_HOPS)
}

/// Returns the element at `hop`, or the farthest, where proxies replace the header.
fn at_hop<'a>(headers: &'a HeaderMap, name: &HeaderName, hop: usize) -> Option<&'a str> {
    elements(headers, name).take(hop + 1).last()
}

fn parameter<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    element.split(';').find_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        let is_wanted = key.trim().eq_ignore_ascii_case(name);
        let value = value.trim();
        let unquoted = value
            .strip_prefix('"')
            .and_then(|value| value.strip_suffix('"'));
        is_wanted.then(|| unquoted.unwrap_or(value))
    })
}

/// Parses an address, which may have a port. Names, as `unknown` and `_hidden`, are none.
fn parse_node(node: &str) -> Option<IpAddr> {
    if let Ok(address) = node.parse::<IpAddr>() {
        return Some(address.to_canonical());
    }
    let address: IpAddr = if let Some(rest) = node.strip_prefix('[') {
        IpAddr::V6(rest.split_once(']')?.0.parse().ok()?)
    } else {
        IpAddr::V4(node.split_once(':')?.0.parse().ok()?)
    };
    Some(address.to_canonical())
}

fn parse_scheme(text: &str) -> Option<Scheme> {
    match text {
        text if text.eq_ignore_ascii_case("https") => Some(Scheme::HTTPS),
        text if text.eq_ignore_ascii_case("http") => Some(Scheme::HTTP),
        _ => None,
    }
}

static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
static X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
static X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// The most proxies that are followed.
const MAX_HOPS: usize = 16;

#[cfg(test)]
mod tests;
