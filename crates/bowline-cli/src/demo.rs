//! The demo server, which has all features of the protocol: to try clients with, and to copy from.
//!
//! Each file shows one feature, and adds it to the server with its `add_to`. All of them share one
//! [`App`], as in a real application.
//!
//! - `basics`, `content`: tools that return text, structured content, images, audio, resources.
//! - `progress`, `slow_tools`, `tasks`: progress, cancellation, blocking tools, tasks.
//! - `client_input`: elicitation, sampling and roots. `logging`: log messages.
//! - `counter`, `notes`, `plugins`, `books`: resources, templates, subscriptions, changing lists.
//! - `prompts`, `failures`, `stress`: prompts, errors, and edge cases of transports.
//! - `icons`, `wav`: binary data that is generated.
//!
//! Descriptions are read by users and models. Everything that a client can grow has a limit.

mod app;
mod basics;
mod books;
mod client_input;
mod content;
mod counter;
mod failures;
mod icons;
mod logging;
mod notes;
mod plugins;
mod progress;
mod prompts;
mod slow_tools;
mod stress;
mod tasks;
mod wav;

use std::sync::Arc;
use std::time::Duration;

use bowline::server::Server;
use bowline::types::common::Implementation;

use app::App;

/// Creates the demo server.
pub(crate) fn server() -> Server {
    let info = Implementation::new("bowline-demo", env!("CARGO_PKG_VERSION"))
        .title("Bowline demo")
        .description("A server with all features of MCP, to try clients with")
        .icons(icons::knot());
    let server = Server::with_info(info)
        .instructions(INSTRUCTIONS)
        // A tool that hangs must not keep the process alive after its client is gone.
        .shutdown_deadline(Duration::from_millis(500));
    let app = App::new(server.features());
    let parts = [
        basics::add_to,
        content::add_to,
        progress::add_to,
        tasks::add_to,
        logging::add_to,
        client_input::add_to,
        failures::add_to,
        slow_tools::add_to,
        stress::add_to,
        counter::add_to,
        notes::add_to,
        plugins::add_to,
        books::add_to,
        prompts::add_to,
    ];
    let server = server.state(Arc::new(app));
    parts
        .into_iter()
        .fold(server, |server, add_to| add_to(server))
}

const INSTRUCTIONS: &str = "\
This server is for testing clients. Start with `echo` and `add`. `countdown` reports progress and \
can be cancelled; `brew` becomes a task; `ask_name`, `ask_model` and `list_roots` request input \
from the client. `increment` changes the resource demo://counter, `note_add` the list of resources, \
`plugin_add` the list of tools. `fail`, `protocol_error`, `panic`, `hang` and `large` misbehave as \
described.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_can_be_built() {
        server().build().expect("a valid server");
    }
}
