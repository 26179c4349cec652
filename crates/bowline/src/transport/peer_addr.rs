//! The network address of a peer.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// The network address of a peer, where its stream has one: TCP has, a Unix socket or a pipe has
/// not.
///
/// A server over HTTP puts it into the extensions of each request. Behind a proxy it is the
/// proxy's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeerAddr(SocketAddr);

impl PeerAddr {
    /// Creates the address of a peer. An IPv4 address that is mapped to IPv6, as a socket for both
    /// reports it, becomes the IPv4 address again, so that rules for networks apply to it.
    pub fn new(address: SocketAddr) -> Self {
        Self(SocketAddr::new(address.ip().to_canonical(), address.port()))
    }

    /// Returns the IP address.
    pub fn ip(&self) -> IpAddr {
        self.0.ip()
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.0.port()
    }
}

impl From<SocketAddr> for PeerAddr {
    fn from(address: SocketAddr) -> Self {
        Self::new(address)
    }
}

impl fmt::Display for PeerAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_address_is_the_ipv4_address() {
        let mapped: SocketAddr = "[::ffff:10.1.2.3]:80".parse().unwrap();
        assert_eq!(PeerAddr::new(mapped).to_string(), "10.1.2.3:80");
        let own: SocketAddr = "[2001:db8::1]:80".parse().unwrap();
        assert_eq!(PeerAddr::new(own).ip(), own.ip());
    }
}
