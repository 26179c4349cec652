//! A handler that is no future.

use bowline::server::Server;

fn main() {
    let _ = Server::new("calculator", "1").tool("one", "One", || 1);
}
