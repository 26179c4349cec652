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
//! arguments: arguments of the call, the [`Context`], shared [`State`]. What it returns
//! becomes the result ([`IntoToolResult`], [`IntoResource`], [`IntoPrompt`]).
//!
//! All revisions are served at once; handlers are the same for all of them.

mod base64;
mod builder;
mod context;
mod core;
mod dispatch;
mod extract;
mod handler;
mod input;
mod layer;
mod listen;
mod output;
mod prompt;
mod registry;
mod resource;
mod seal;
mod service;
mod session;
mod table;
mod template;
mod tool;

pub use base64::base64;
pub use builder::{Running, Server};
pub use context::Context;
pub use extract::{Extension, Extract, HandlerFn, State};
#[doc(hidden)]
pub use extract::{Input, Needs, Rejection};
pub use handler::Handler;
pub use layer::{RequestService, ToolCall, ToolService};
pub use listen::Listener;
pub use output::{IntoToolResult, Json, ToolError};
pub use prompt::{IntoCompletion, IntoPrompt, Partial, PromptDef, prompt};
pub use registry::Registry;
pub use resource::{IntoResource, ResourceDef, TemplateDef, Uri, resource, template};
pub use service::{Reply, Request};
pub use tool::{ToolDef, tool};
