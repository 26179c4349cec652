//! A tool that may have nothing to say.

use bowline::server::Server;

fn main() {
    let _ = Server::new("maybe", "1").tool("one", "One", || async { Some("one") });
}
