//! rmcp's server, with the tool `echo`: `server-rmcp tuned|documented [one-thread]`.
//!
//! *Documented* is what its documentation shows: `stdio()`, a runtime as `#[tokio::main]`
//! makes it, and the router that the macro makes without options. *Tuned* is the cheapest
//! that it can be: its own pipes, one thread, and a router that is kept in a field.

use std::error::Error;

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::{stdio, stdio_pipes};
use rmcp::{ServerHandler, ServiceExt as _, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::runtime::Builder;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    text: String,
}

#[derive(Clone)]
struct Documented;

#[tool_router(server_handler)]
impl Documented {
    #[tool(description = "Returns its argument")]
    fn echo(&self, Parameters(Echo { text }): Parameters<Echo>) -> String {
        text
    }
}

#[derive(Clone)]
struct Tuned {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Tuned {
    #[tool(description = "Returns its argument")]
    fn echo(&self, Parameters(Echo { text }): Parameters<Echo>) -> String {
        text
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Tuned {}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut one_thread = Builder::new_current_thread();
    match *args {
        ["tuned"] => {
            let runtime = one_thread.enable_all().build()?;
            runtime.block_on(tuned())
        }
        ["documented", "one-thread"] => {
            let runtime = one_thread.enable_all().build()?;
            runtime.block_on(documented())
        }
        ["documented"] => {
            let runtime = Builder::new_multi_thread().enable_all().build()?;
            runtime.block_on(documented())
        }
        _ => Err("usage: server-rmcp tuned|documented [one-thread]".into()),
    }
}

async fn tuned() -> Result<(), Box<dyn Error>> {
    let tool_router = Tuned::tool_router();
    let service = Tuned { tool_router }.serve(stdio_pipes()).await?;
    service.waiting().await?;
    Ok(())
}

async fn documented() -> Result<(), Box<dyn Error>> {
    let service = Documented.serve(stdio()).await?;
    service.waiting().await?;
    Ok(())
}
