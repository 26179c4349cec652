//! Where a server over HTTP listens.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpListener;

/// The address that a server over HTTP listens on.
///
/// A port alone is a port of the loopback address: a server can be reached from other machines
/// only if the address is one.
///
/// ```
/// use bowline::server::BindAddr;
///
/// let loopback: [BindAddr; 3] = [7000.into(), "7000".into(), "[::1]:7000".into()];
/// let every_interface = BindAddr::from("0.0.0.0:7000");
/// # let _ = (loopback, every_interface);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindAddr(Address);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Address {
    Socket(SocketAddr),
    /// A host name with a port, which is resolved when the server starts.
    Named(String),
}

impl BindAddr {
    /// Binds the address: of several that a host name has, the first that can be bound. For a server
    /// that has to know its port before it serves.
    ///
    /// ```
    /// use bowline::server::BindAddr;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let listener = BindAddr::from(0).bind().await?;
    /// println!("http://{}/mcp", listener.local_addr()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Cancel safe: dropping the future binds nothing.
    ///
    /// # Errors
    ///
    /// When the address is used already, is not one of this machine, or can't be resolved.
    pub async fn bind(&self) -> io::Result<TcpListener> {
        match &self.0 {
            Address::Socket(address) => TcpListener::bind(address).await,
            Address::Named(name) => TcpListener::bind(name).await,
        }
    }
}

impl From<u16> for BindAddr {
    fn from(port: u16) -> Self {
        SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into()
    }
}

impl From<SocketAddr> for BindAddr {
    fn from(address: SocketAddr) -> Self {
        Self(Address::Socket(address))
    }
}

impl From<&str> for BindAddr {
    fn from(text: &str) -> Self {
        if let Ok(port) = text.strip_prefix(':').unwrap_or(text).parse::<u16>() {
            return port.into();
        }
        match text.parse::<SocketAddr>() {
            Ok(address) => address.into(),
            Err(_) => Self(Address::Named(text.to_owned())),
        }
    }
}

impl From<String> for BindAddr {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn bound(address: impl Into<BindAddr>) -> SocketAddr {
        let listener = address.into().bind().await.expect("it can be bound");
        listener.local_addr().expect("it is bound")
    }

    // proves: F-HT-20, SE-3, TR-32, TR-102
    #[tokio::test]
    async fn a_port_alone_is_bound_to_loopback() {
        for port in [0_u16.into(), BindAddr::from("0"), ":0".into()] {
            assert_eq!(bound(port).await.ip(), Ipv4Addr::LOCALHOST);
        }
        assert!(bound("localhost:0").await.ip().is_loopback());
    }

    #[tokio::test]
    async fn other_addresses_are_bound_where_they_say_so() {
        assert!(bound("0.0.0.0:0").await.ip().is_unspecified());
        // A machine may be without IPv6.
        if let Ok(listener) = BindAddr::from("[::1]:0").bind().await {
            assert_eq!(listener.local_addr().unwrap().ip().to_string(), "::1");
        }
        let error = BindAddr::from("no port").bind().await.expect_err("no port");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
