//! The server: ten lines to a typed MCP server.
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
//! A [handler](HandlerFn) is an async function that says what it needs by the types of its
//! arguments: arguments of the call, the [`Context`], shared [`State`], an [`Extension`] that a
//! layer has added, the [`Principal`] who asks, and the [`Uri`] of a resource. What it returns
//! becomes the result ([`IntoToolResult`], [`IntoResource`], [`IntoPrompt`]).
//!
//! All revisions are served at once; handlers are the same for all of them.

mod base64;
mod block_monitor;
mod builder;
mod caching;
mod checks;
mod context;
mod core;
mod dispatch;
mod extract;
mod features;
mod following;
mod handler;
mod input;
mod layer;
mod life;
mod listen;
mod output;
mod principal;
mod prompt;
mod resource;
mod running;
mod seal;
mod service;
mod session;
mod single_use;
mod table;
mod tasks;
mod telemetry;
mod template;
mod texts;
mod threads;
mod tool;
mod tool_name;

pub use base64::base64;
pub use builder::Server;
pub use caching::Caching;
pub use context::Context;
pub use extract::{Extension, Extract, HandlerArguments, HandlerFn, State};
#[doc(hidden)]
pub use extract::{Input, Needs, Rejection};
pub use features::ServerFeatures;
pub use handler::Handler;
pub use layer::{Next, RequestService, ToolRequest, ToolService};
pub use listen::Listener;
pub use output::{IntoToolError, IntoToolResult, Json, ToolError};
pub use principal::Principal;
pub use prompt::{IntoCompletion, IntoPrompt, Partial, PromptDef, prompt};
pub use resource::{IntoResource, ResourceDef, TemplateDef, Uri, resource, template};
pub use running::{InMemory, Running};
pub use service::ClientRequest;
pub use tasks::TaskConfig;
pub use tool::{ToolDef, tool};
