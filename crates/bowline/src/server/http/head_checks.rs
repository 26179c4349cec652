//! Checks of a request's head that every endpoint has.

use ::http::request::Parts;

use super::HttpConfig;
use super::content::check_framing;
use super::refusal::HttpRefusal;
use crate::transport::PeerAddr;

/// Checks the host that a request is for, and the one that a trusted proxy has forwarded, and that
/// the length of the body is stated once.
pub(super) fn check_head(config: &HttpConfig, parts: &Parts) -> Result<(), HttpRefusal> {
    let peer = parts.extensions.get::<PeerAddr>().map(PeerAddr::ip);
    config.allowed_hosts.check(parts)?;
    let forwarded = config.trusted_proxies.resolve(peer, parts);
    if let Some(host) = forwarded.host {
        config.allowed_hosts.check_forwarded(host)?;
    }
    check_framing(parts)
}
