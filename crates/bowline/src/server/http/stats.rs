//! Counters of refused requests, and the warning about a public server without a list of hosts.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::hosts::AllowedHosts;
use super::refusal::{HttpRefusal, RefusalKind};

/// What a server over HTTP has refused or cut so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpStats {
    /// Requests whose host was malformed, ambiguous or not allowed.
    pub host_rejections: u64,
    /// Requests whose origin was ambiguous or not allowed.
    pub origin_rejections: u64,
    /// Requests whose credentials were missing, malformed or not sufficient.
    pub authentication_rejections: u64,
    /// Requests with a method that isn't served (405).
    pub method_rejections: u64,
    /// Requests with a media type or an encoding that isn't served (406, 415).
    pub content_rejections: u64,
    /// Requests that were too large (413, 431).
    pub size_rejections: u64,
    /// Requests that took too long to arrive (408).
    pub timeouts: u64,
    /// Requests beyond a limit of the server (429, 503).
    pub busy_rejections: u64,
    /// All other refusals.
    pub other_rejections: u64,
    /// Responses that were cut, as their clients did not read them, beyond
    /// [`HttpConfig::max_unread_response_bytes`](super::HttpConfig::max_unread_response_bytes).
    pub cut_responses: u64,
}

/// The counters behind [`HttpStats`], shared by all connections.
#[derive(Debug, Default)]
pub(in crate::server) struct HttpCounters {
    host: AtomicU64,
    origin: AtomicU64,
    authentication: AtomicU64,
    method: AtomicU64,
    content: AtomicU64,
    size: AtomicU64,
    timeout: AtomicU64,
    busy: AtomicU64,
    other: AtomicU64,
    cut_responses: AtomicU64,
    /// The counters of the server, where these are of one of its services.
    of_server: Option<Arc<Self>>,
}

impl HttpCounters {
    /// Creates the counters of a service, whose refusals count for its server as well.
    pub(super) fn within(of_server: &Arc<Self>) -> Self {
        Self {
            of_server: Some(Arc::clone(of_server)),
            ..Self::default()
        }
    }

    /// Counts a refusal, and logs it. Once for each, where its response is made.
    pub(super) fn count(&self, refusal: &HttpRefusal) {
        match &self.of_server {
            Some(of_server) => of_server.count(refusal),
            None => tracing::debug!(
                status = refusal.status().as_u16(),
                kind = refusal.kind.name(),
                "HTTP request refused"
            ),
        }
        let counter = match (refusal.kind, refusal.status().as_u16()) {
            (RefusalKind::Host, _) => &self.host,
            (RefusalKind::Origin, _) => &self.origin,
            (RefusalKind::Authentication, _) => &self.authentication,
            (RefusalKind::Other, 405) => &self.method,
            (RefusalKind::Other, 406 | 415) => &self.content,
            (RefusalKind::Other, 413 | 431) => &self.size,
            (RefusalKind::Other, 408) => &self.timeout,
            (RefusalKind::Other, 429 | 503) => &self.busy,
            (RefusalKind::Other, _) => &self.other,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts responses that were cut.
    pub(super) fn count_cut_responses(&self, count: usize) {
        if count > 0 {
            let count = count as u64;
            self.cut_responses.fetch_add(count, Ordering::Relaxed);
            if let Some(of_server) = &self.of_server {
                of_server.cut_responses.fetch_add(count, Ordering::Relaxed);
            }
        }
    }

    /// Returns the counts. They are read one after another, without a lock.
    pub(in crate::server) fn snapshot(&self) -> HttpStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        HttpStats {
            host_rejections: read(&self.host),
            origin_rejections: read(&self.origin),
            authentication_rejections: read(&self.authentication),
            method_rejections: read(&self.method),
            content_rejections: read(&self.content),
            size_rejections: read(&self.size),
            timeouts: read(&self.timeout),
            busy_rejections: read(&self.busy),
            other_rejections: read(&self.other),
            cut_responses: read(&self.cut_responses),
        }
    }
}

/// Returns `true` if other machines can reach an address, but the list of hosts has only loopback
/// names: their requests would all be refused.
pub(super) fn refuses_public_hosts(address: IpAddr, hosts: &AllowedHosts) -> bool {
    !address.to_canonical().is_loopback() && hosts.is_default()
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use ::http::StatusCode;

    use super::*;

    #[test]
    fn each_refusal_is_counted_once() {
        let counters = HttpCounters::default();
        counters.count(&HttpRefusal::forbidden(RefusalKind::Host, ""));
        counters.count(&HttpRefusal::bad_request("").counted_as(RefusalKind::Host));
        counters.count(&HttpRefusal::forbidden(RefusalKind::Origin, ""));
        counters.count(&HttpRefusal::forbidden(RefusalKind::Authentication, ""));
        for status in [400, 403, 404, 405, 406, 408, 413, 415, 429, 431, 503] {
            let status = StatusCode::from_u16(status).expect("a status");
            counters.count(&HttpRefusal::new(status, ""));
        }
        let expected = HttpStats {
            host_rejections: 2,
            origin_rejections: 1,
            authentication_rejections: 1,
            method_rejections: 1,
            content_rejections: 2,
            size_rejections: 2,
            timeouts: 1,
            busy_rejections: 2,
            other_rejections: 3,
            cut_responses: 0,
        };
        assert_eq!(counters.snapshot(), expected);
    }

    #[test]
    fn a_public_address_without_a_list_of_hosts_is_warned_about() {
        let default = AllowedHosts::default();
        let listed = AllowedHosts::new(["mcp.example"]).expect("a valid entry");
        for (address, hosts, expected) in [
            (IpAddr::V4(Ipv4Addr::LOCALHOST), &default, false),
            (IpAddr::V6(Ipv6Addr::LOCALHOST), &default, false),
            (IpAddr::V4(Ipv4Addr::UNSPECIFIED), &default, true),
            (IpAddr::V6(Ipv6Addr::UNSPECIFIED), &default, true),
            (IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), &default, true),
            (IpAddr::V4(Ipv4Addr::UNSPECIFIED), &listed, false),
            (
                IpAddr::V4(Ipv4Addr::UNSPECIFIED),
                &AllowedHosts::any(),
                false,
            ),
        ] {
            assert_eq!(refuses_public_hosts(address, hosts), expected, "{address}");
        }
    }
}
