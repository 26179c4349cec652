//! Bowline's server with the tool `echo`, over HTTP: `http-bowline [one-thread]`.

use std::error::Error;

use bowline::server::{HttpConfig, Server};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::runtime::Builder;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    text: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut runtime = match std::env::args().nth(1).as_deref() {
        Some("one-thread") => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    runtime.enable_all().build()?.block_on(serve())
}

async fn serve() -> Result<(), Box<dyn Error>> {
    let server = Server::new("echo", "0").tool("echo", "Returns its argument", echo);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let server = server.build()?;
    server
        .serve_http_listener(listener, HttpConfig::new())
        .await?;
    Ok(())
}

async fn echo(Echo { text }: Echo) -> String {
    text
}
