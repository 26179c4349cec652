//! `bowline serve --http`: serves over Streamable HTTP until a signal is received.
//!
//! The output is the URL of the endpoint, and that for clients of HTTP+SSE. It is printed as soon as
//! clients can connect.

use std::io::{self, ErrorKind};
use std::iter;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use anyhow::anyhow;
use bowline::server::RunningServer;
use serde::Serialize;

use super::end_on_signals;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::printer::{Printer, Tone};
use crate::settings::{Format, HttpSettings};

/// Serves until a signal is received.
pub(super) async fn serve(
    server: RunningServer,
    settings: &HttpSettings,
    is_typed: bool,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    let bound = settings.address.bind().await;
    let listener = bound.map_err(|error| cannot_listen(&settings.given, &error))?;
    let address = listener.local_addr()?;
    // Before the URL is printed: a program that has read it may send a signal at once.
    tokio::spawn(end_on_signals(server.clone())?);
    print_urls(settings, address, printer)?;
    if !address.ip().to_canonical().is_loopback() && !settings.has_hosts {
        printer.warning(
            &format!("listening on {address}, but only requests to localhost are answered"),
            Some("`--allowed-host HOST:PORT` names the host in the URL that clients use"),
        );
    }
    if is_typed {
        printer.note("serving over Streamable HTTP; Ctrl-C stops");
    }
    let served = server.serve_http_listener(listener, settings.config.clone());
    Ok(served.await?)
}

fn print_urls(
    settings: &HttpSettings,
    address: SocketAddr,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    let url_of = |path: &str| format!("http://{}{path}", reachable(address));
    let listening = Listening {
        url: url_of(&settings.path),
        legacy_sse_url: settings.legacy_path.as_deref().map(url_of),
    };
    match settings.format {
        Format::Text => {
            for url in iter::once(&listening.url).chain(&listening.legacy_sse_url) {
                printer.line(0, Tone::Plain, url)?;
            }
        }
        Format::Json => printer.json(&listening)?,
    }
    printer.flush()
}

/// What `--json` prints.
#[derive(Serialize)]
struct Listening {
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    legacy_sse_url: Option<String>,
}

/// Returns where this machine reaches the address: "every interface" is no destination.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

fn cannot_listen(address: &str, error: &io::Error) -> anyhow::Error {
    let hint = match error.kind() {
        ErrorKind::AddrInUse => Some("another program listens there; `--http 0` takes a free port"),
        ErrorKind::AddrNotAvailable => Some("this machine doesn't have that address"),
        ErrorKind::PermissionDenied => Some("a port from 1024 on needs no privileges"),
        _ => None,
    };
    let port = address.strip_prefix(':').unwrap_or(address);
    let error = match port.parse::<u16>() {
        Ok(port) => anyhow!("cannot listen on port {port}: {error}"),
        Err(_) => anyhow!("cannot listen on {address}: {error}"),
    };
    let failure = Failure::new(ExitStatus::Failed, error);
    match hint {
        Some(hint) => failure.hint(hint).into(),
        None => failure.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_every_interface_is_of_this_machine() {
        for (bound, shown) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("192.0.2.1:80", "192.0.2.1:80"),
        ] {
            assert_eq!(reachable(bound.parse().unwrap()).to_string(), shown);
        }
    }
}
