//! The features of a server: tools, tasks, resources, prompts, completion, logging, roots.
//!
//! Each feature has a small handle on its [`Client`]. Its calls are typed, and
//! checked before anything is sent: a call of what the server has not declared, or the revision of
//! the session lacks, is an error of kind
//! [`CapabilityNotSupported`](crate::ErrorKind::CapabilityNotSupported).
//! [`Client::call`] checks only that the revision has the method, where the protocol knows it.
//!
//! - `tools`, `resources`, `prompts`, `completion`, `logging`, `roots`, `sampling`, `tasks`: the
//!   handles.
//! - `tool_call`, `tool_params`, `task_negotiation`: a tool call, which may become a task.
//! - `typed_call`, `call_options`: what all calls of handles have in common.
//! - `paginated_list`, `live_list`: lists in pages, and lists that are kept up to date.
//! - `capability_check`: refuses what the server has not declared.

#[macro_use]
mod call_options;

mod capability_check;
mod completion;
mod live_list;
mod logging;
mod paginated_list;
mod prompts;
mod resources;
mod roots;
mod sampling;
mod task_negotiation;
mod tasks;
mod tool_call;
mod tool_params;
mod tools;
mod typed_call;

pub use completion::CompletionCall;
pub use live_list::LiveList;
pub use logging::Logging;
pub use paginated_list::{ListPage, Pages, WholeList};
pub use prompts::{PromptArguments, Prompts};
pub use resources::Resources;
pub use roots::Roots;
pub use sampling::Sampling;
pub use tasks::{TaskHandle, TaskOrResult, TaskRef, Tasks};
pub use tool_call::{PendingToolCall, ToolCall};
pub use tools::{ToolResult, Tools};
pub use typed_call::{PendingTypedCall, TypedCall};

pub(super) use capability_check::{
    TASKS_EXTENSION, check_capability, check_revision, not_declared_message,
    tasks_not_enabled_message,
};
pub(super) use tasks::{Canceller, cancel_orphan};

use super::Client;

/// Handles on the features of the server.
impl Client {
    /// Returns the handle on the tools of the server.
    pub fn tools(&self) -> Tools<'_> {
        Tools::new(self)
    }

    /// Returns the handle on the tasks of the server: calls of tools whose results are fetched
    /// later.
    pub fn tasks(&self) -> Tasks<'_> {
        Tasks::new(self)
    }

    /// Returns the handle on the resources of the server.
    pub fn resources(&self) -> Resources<'_> {
        Resources::new(self)
    }

    /// Returns the handle on the prompts of the server.
    pub fn prompts(&self) -> Prompts<'_> {
        Prompts::new(self)
    }

    /// Returns the handle on the log of the server.
    pub fn logging(&self) -> Logging<'_> {
        Logging::new(self)
    }

    /// Returns the handle on the model of the server. This is not part of MCP, where the server
    /// uses the model of the client.
    pub fn sampling(&self) -> Sampling<'_> {
        Sampling::new(self)
    }

    /// Returns the handle on the roots that this client gives to the server.
    pub fn roots(&self) -> Roots<'_> {
        Roots::new(self)
    }
}
