//! The commands, one file each. A command gets its settings and a printer, and returns an exit
//! status.
//!
//! - [`find_by_name`]: looks up the item that the user named. [`named_items`]: tools and prompts,
//!   listed or shown alike.
//! - `<command>.rs`: runs the command; `<command>/text.rs` formats its output for a reader, and
//!   `<command>/report.rs` holds the data that `--json` prints.

mod call;
mod complete;
mod completions;
mod demo;
mod explain;
mod find_by_name;
mod info;
mod named_items;
mod ping;
mod prompt;
mod prompts;
mod read;
mod resources;
mod serve;
mod servers;
mod tools;
mod watch;

pub(crate) use call::call;
pub(crate) use complete::complete;
pub(crate) use completions::completions;
pub(crate) use demo::demo;
pub(crate) use explain::explain;
pub(crate) use info::info;
pub(crate) use ping::ping;
pub(crate) use prompt::prompt;
pub(crate) use prompts::prompts;
pub(crate) use read::read;
pub(crate) use resources::resources;
pub(crate) use serve::serve;
pub(crate) use servers::servers;
pub(crate) use tools::tools;
pub(crate) use watch::watch;

#[cfg(test)]
pub(crate) use explain::MAX_FRAME;
