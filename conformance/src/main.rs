//! Serves [`bowline_conformance::server`] over HTTP: `bowline-conformance-server [ADDR]`. The first
//! line of the output is the URL of the endpoint.

use bowline::server::HttpConfig;
use bowline_conformance::server;
use tokio::net::TcpListener;

#[tokio::main]
#[expect(
    clippy::print_stdout,
    reason = "the script that starts it reads the URL"
)]
async fn main() -> anyhow::Result<()> {
    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:0")).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    let server = server().build()?;
    Ok(server
        .serve_http_listener(listener, HttpConfig::new())
        .await?)
}
