//! The server that the official conformance suite tests.
//!
//! Each scenario calls tools, prompts and resources of fixed names, and expects what the suite's
//! documentation says of them. The server has these and nothing else: whatever a scenario needs of
//! the protocol is a feature of the library.
//!
//! - `content`: tools that return text, images, audio, resources and errors.
//! - `notifications`: progress, log messages, changed lists, a stream that is closed early.
//! - `client_input`: sampling, elicitation and roots, in both eras; `forms` has the larger forms.
//! - `input_rounds`: rounds of input of 2026-07-28.
//! - `schemas`: tools whose input schema is what is tested.
//! - `tasks`: tools that run as tasks.
//! - `prompts`, `resources`: prompts with completion, resources and a template.

mod client_input;
mod content;
mod forms;
mod input_rounds;
mod notifications;
mod prompts;
mod resources;
mod schemas;
mod tasks;

use bowline::server::Server;

/// Creates the server.
pub fn server() -> Server {
    let parts = [
        // First: a scenario calls the first tool of the list without arguments.
        content::add_to,
        notifications::add_to,
        client_input::add_to,
        forms::add_to,
        input_rounds::add_to,
        schemas::add_to,
        tasks::add_to,
        prompts::add_to,
        resources::add_to,
    ];
    let server = Server::new("bowline-conformance-server", env!("CARGO_PKG_VERSION"))
        .skills(concat!(env!("CARGO_MANIFEST_DIR"), "/skills"));
    parts
        .into_iter()
        .fold(server, |server, add_to| add_to(server))
}
