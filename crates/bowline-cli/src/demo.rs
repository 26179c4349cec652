//! A server that has everything the protocol has: to try clients with, and to copy from.
//!
//! Each file is one idea, and ends up in the server through its `add_to`. All of them share
//! one [`App`], as the parts of a real application do.

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

/// The server, ready to be served.
pub(crate) fn server() -> Server {
    let info = Implementation::new("bowline-demo", env!("CARGO_PKG_VERSION"))
        .title("Bowline demo")
        .description("Everything that the protocol has, to try clients with")
        .icons(icons::knot());
    let server = Server::with_info(info)
        .instructions(INSTRUCTIONS)
        // A tool that hangs shall not keep the process when its client is gone.
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
This server is for trying clients. Start with `echo` and `add`. `countdown` reports progress and \
can be cancelled; `brew` becomes a task; `ask_name`, `ask_model` and `list_roots` ask the client \
something. `increment` changes the resource demo://counter, `note_add` the list of resources, \
`plugin_add` the list of tools. `fail`, `protocol_error`, `panic`, `hang` and `large` misbehave, and \
say how.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_can_be_served() {
        server().build().expect("it is set up well");
    }
}
