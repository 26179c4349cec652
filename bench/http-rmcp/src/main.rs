//! rmcp's server with the tool `echo`, over HTTP:
//! `http-rmcp tuned|documented|json [one-thread]`.
//!
//! *Documented* is what its documentation shows: the router that the macro makes without
//! options, its service in axum, and `axum::serve`. *Tuned* is the cheapest that it can be with
//! sessions: a router that is kept in a field, and `TCP_NODELAY`. *Json* is the same without
//! sessions, answering with JSON in place of a stream of events.

use std::error::Error;

use axum::Router;
use axum::serve::ListenerExt as _;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::net::TcpListener;
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
    let mut runtime = match args.get(1).map(String::as_str) {
        Some("one-thread") => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    let runtime = runtime.enable_all().build()?;
    match args.first().map(String::as_str) {
        Some("tuned") => runtime.block_on(tuned(StreamableHttpServerConfig::default())),
        Some("documented") => runtime.block_on(documented()),
        Some("json") => {
            let config = StreamableHttpServerConfig::default();
            let config = config.with_legacy_session_mode(false);
            runtime.block_on(tuned(config.with_json_response(true)))
        }
        _ => Err("usage: http-rmcp tuned|documented|json [one-thread]".into()),
    }
}

async fn documented() -> Result<(), Box<dyn Error>> {
    let config = StreamableHttpServerConfig::default();
    let router = router(|| Documented, config);
    let listener = listener().await?;
    axum::serve(listener, router).await?;
    Ok(())
}

async fn tuned(config: StreamableHttpServerConfig) -> Result<(), Box<dyn Error>> {
    let tool_router = Tuned::tool_router();
    let service = Tuned { tool_router };
    let router = router(move || service.clone(), config);
    let listener = listener().await?.tap_io(|stream| {
        // At worst the connection is slower.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, router).await?;
    Ok(())
}

async fn listener() -> Result<TcpListener, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    Ok(listener)
}

fn router<S: ServerHandler>(
    service: impl Fn() -> S + Send + Sync + 'static,
    config: StreamableHttpServerConfig,
) -> Router {
    let sessions = LocalSessionManager::default().into();
    let service = StreamableHttpService::new(move || Ok(service()), sessions, config);
    Router::new().nest_service("/mcp", service)
}
