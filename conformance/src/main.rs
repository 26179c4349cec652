//! Serves [`bowline_conformance::server`] on stdin and stdout.

use bowline::transport::stdio;
use bowline_conformance::server;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    Ok(server().serve(stdio()).await?)
}
