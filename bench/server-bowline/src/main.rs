//! Bowline's server, with the tool `echo`: `server-bowline [TOOLS]`.

use std::error::Error;

use bowline::server::Server;
use bowline::transport::stdio;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::runtime::Builder;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    text: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let tools = std::env::args()
        .nth(1)
        .map_or(Ok(1), |tools| tools.parse())?;
    let mut server = Server::new("echo", "0");
    for number in 1..tools {
        server = server.tool(format!("spare-{number}"), "Is never called", echo);
    }
    let server = server.tool("echo", "Returns its argument", echo);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(server.serve(stdio()))?;
    Ok(())
}

async fn echo(Echo { text }: Echo) -> String {
    text
}
