//! What a server has, by feature: tools, tasks, resources, prompts, completion, logging, roots.
//!
//! Each feature is a small handle on its [`Client`]. Its calls are typed, and
//! checked before anything is sent: what the server has not declared, or the revision that is
//! spoken lacks, is an error of kind
//! [`CapabilityNotSupported`](crate::ErrorKind::CapabilityNotSupported) that says so.
//! [`Client::call`] checks only that the revision has the method, where the protocol knows it.

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

pub use completion::Completing;
pub use live_list::Live;
pub use logging::Logging;
pub use paginated_list::{Listed, Pages, WholeList};
pub use prompts::{PromptArguments, Prompts};
pub use resources::Resources;
pub use roots::Roots;
pub use sampling::Sampling;
pub use tasks::{Started, TaskHandle, TaskRef, Tasks};
pub use tool_call::{ToolAnswer, ToolCall};
pub use tools::{ToolResult, Tools};
pub use typed_call::{TypedAnswer, TypedCall};

pub(super) use capability_check::{
    TASKS_EXTENSION, check_capability, check_revision, not_declared_message,
    tasks_not_enabled_message,
};
pub(super) use tasks::{Canceller, cancel_orphan};

use super::Client;

/// The features of the server.
impl Client {
    /// Its tools.
    pub fn tools(&self) -> Tools<'_> {
        Tools::new(self)
    }

    /// Its tasks: calls of tools whose results are fetched later.
    pub fn tasks(&self) -> Tasks<'_> {
        Tasks::new(self)
    }

    /// Its resources.
    pub fn resources(&self) -> Resources<'_> {
        Resources::new(self)
    }

    /// Its prompts.
    pub fn prompts(&self) -> Prompts<'_> {
        Prompts::new(self)
    }

    /// Its log.
    pub fn logging(&self) -> Logging<'_> {
        Logging::new(self)
    }

    /// Its model. Not part of MCP, where the server asks the client's.
    pub fn sampling(&self) -> Sampling<'_> {
        Sampling::new(self)
    }

    /// Where it may work: what this client tells it.
    pub fn roots(&self) -> Roots<'_> {
        Roots::new(self)
    }
}
