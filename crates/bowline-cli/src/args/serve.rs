//! The arguments of `bowline serve`.

use std::net::{IpAddr, SocketAddr};

use clap::ValueEnum;

/// The arguments of `bowline serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// What to serve
    pub(crate) what: ServeTarget,

    /// Serve over Streamable HTTP instead, on this address: a port of this machine (8000 if none is
    /// given, 0 for a free one), ADDRESS:PORT or HOST:PORT
    #[arg(
        long,
        value_name = "ADDR",
        num_args = 0..=1,
        default_missing_value = DEFAULT_PORT,
        value_parser = listen_address
    )]
    pub(crate) http: Option<String>,

    /// The path of the endpoint
    #[arg(long, value_name = "PATH", default_value = "/mcp", requires = "http", value_parser = endpoint_path)]
    pub(crate) path: String,

    /// Serve clients of the older HTTP+SSE transport (2024-11-05) as well, at this path (/sse if none
    /// is given)
    #[arg(
        long,
        value_name = "PATH",
        num_args = 0..=1,
        default_missing_value = "/sse",
        requires = "http",
        value_parser = endpoint_path
    )]
    pub(crate) legacy_sse: Option<String>,

    /// Accept requests to this host too (HOST, HOST:PORT or HOST:*), not only to localhost (may be
    /// given several times)
    #[arg(long, value_name = "HOST", requires = "http")]
    pub(crate) allowed_host: Vec<String>,

    /// Accept requests from pages of this web origin too (such as https://app.example), not only
    /// from those of localhost (may be given several times)
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub(crate) allowed_origin: Vec<String>,
}

/// What can be served.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ServeTarget {
    /// A server with every feature of the protocol, to test clients with
    Demo,
}

/// Parses where to listen. An address without a port has the default one.
fn listen_address(text: &str) -> Result<String, String> {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse::<IpAddr>() {
        let port = DEFAULT_PORT.parse().expect("it is a number");
        return Ok(SocketAddr::new(address, port).to_string());
    }
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    let is_host = !host.contains(|c: char| c.is_whitespace() || c == '/');
    let is_address = !host.contains(':') || text.parse::<SocketAddr>().is_ok();
    if port.parse::<u16>().is_ok() && is_host && is_address {
        Ok(text.to_owned())
    } else {
        Err("expected PORT, ADDRESS:PORT or HOST:PORT".to_owned())
    }
}

/// Parses the path of the endpoint, and writes it with a slash at its beginning and none at its end.
fn endpoint_path(text: &str) -> Result<String, String> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@/%".contains(c);
    if text.chars().all(is_allowed) {
        Ok(format!("/{}", text.trim_matches('/')))
    } else {
        Err("expected a path such as /mcp, without query and fragment".to_owned())
    }
}

/// The port if none is given.
const DEFAULT_PORT: &str = "8000";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port() {
        for (text, expected) in [
            ("8000", Some("8000")),
            (":0", Some(":0")),
            ("0.0.0.0:80", Some("0.0.0.0:80")),
            ("[::1]:80", Some("[::1]:80")),
            ("localhost:80", Some("localhost:80")),
            ("192.0.2.1", Some("192.0.2.1:8000")),
            ("::1", Some("[::1]:8000")),
            ("[::1]", Some("[::1]:8000")),
            ("demo", None),
            ("localhost", None),
            ("localhost:", None),
            ("65536", None),
            ("::1:x", None),
            ("http://localhost:80", None),
            ("a b:80", None),
            ("", None),
        ] {
            assert_eq!(listen_address(text).ok().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_path_begins_with_one_slash() {
        for (text, expected) in [
            ("/mcp", Some("/mcp")),
            ("a/b/", Some("/a/b")),
            ("", Some("/")),
            ("/a b", None),
            ("/a?b", None),
            ("/a#b", None),
            ("/ä", None),
        ] {
            assert_eq!(endpoint_path(text).ok().as_deref(), expected, "{text}");
        }
    }
}
