//! Typed MCP servers.
//!
//! ```no_run
//! use bowline::server::Server;
//! use bowline::transport::stdio;
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Add { a: i64, b: i64 }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), bowline::Error> {
//!     Server::new("calculator", "1.0.0")
//!         .tool("add", "Adds two integers", |Add { a, b }: Add| async move { a + b })
//!         .serve(stdio())
//!         .await
//! }
//! ```
//!
//! A [handler](HandlerFn) is an async function whose parameter types declare what it needs: the
//! arguments of the call, the [`Context`], shared [`State`], an [`Extension`] that a layer has
//! added, the [`Principal`] that makes the request, and the [`Uri`] of a resource. Its return value
//! becomes the result ([`IntoToolResult`], [`IntoResource`], [`IntoPrompt`]).
//!
//! All revisions of the protocol are served at once; handlers are the same for all of them.
//!
//! Files:
//!
//! - Setting up: `builder`, `features` with its `named_table`, `tool` and `tool_name`, `resource`,
//!   `template`, `prompt`, `skills`, `caching`.
//! - Handlers: `extract` and `string_arguments` (their arguments), `context`, `principal`, `output`
//!   (results of tools), `validation` (against schemas), `handler` and `resource_subscriptions`
//!   (full control). Asking the client: `client_questions`, `round_state_seal`,
//!   `used_round_states`.
//! - Requests: `service`, `layer`, `dispatch` (a method to its handler), `tasks`.
//! - Running: `running_server`, `accept`, `http` (Streamable HTTP), `server_core`, `session_set`,
//!   `session` (one client), `store` (what several nodes share), `blocking_threads` and `block_monitor` (handlers that block),
//!   `telemetry`.

mod accept;
mod block_monitor;
mod blocking_threads;
mod builder;
mod caching;
mod client_questions;
mod context;
mod dispatch;
mod extract;
mod features;
mod handler;
#[cfg(feature = "http-server")]
mod http;
mod layer;
mod named_table;
mod output;
mod principal;
mod prompt;
mod resource;
mod resource_subscriptions;
mod round_state_seal;
mod running_server;
mod server_core;
mod service;
mod session;
mod session_set;
mod skills;
#[cfg(feature = "http-server")]
pub mod store;
mod string_arguments;
mod tasks;
mod telemetry;
mod template;
mod tool;
mod tool_name;
mod used_round_states;
mod validation;

pub use accept::Listener;
pub use bowline_types::base64::encode as base64;
pub use builder::Server;
pub use caching::Caching;
pub use context::Context;
pub use extract::{Extension, Extract, HandlerArguments, HandlerFn, State};
#[doc(hidden)]
pub use extract::{HandlerInput, HandlerRequirements, Rejection};
pub use features::ServerFeatures;
pub use handler::Handler;
#[cfg(feature = "http-server")]
pub use http::{
    AllowedHosts, AllowedOrigins, Authenticate, Authenticated, AuthenticationRefusal, BindAddr,
    ClientAddr, HttpBody, HttpConfig, HttpRequestHead, HttpRequestParts, HttpService, HttpStats,
    InvalidHttpSetting, LegacySseService, PublicUrl, ServerCard, TrustedProxies,
};
pub use layer::{Next, RequestService, ToolRequest, ToolService};
pub use output::{IntoToolError, IntoToolResult, Json, ToolError};
pub use principal::Principal;
pub use prompt::{CompletionInput, IntoCompletion, IntoPrompt, PromptDef, prompt};
pub use resource::{IntoResource, ResourceDef, TemplateDef, Uri, resource, template};
pub use running_server::{InMemoryTransport, RunningServer};
pub use service::ClientRequest;
pub use tasks::TaskConfig;
pub use tool::{ToolDef, tool};
