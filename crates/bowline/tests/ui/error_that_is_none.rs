//! A handler whose error is no error.

use bowline::server::Server;

struct Broken;

fn main() {
    let _ = Server::new("broken", "1").tool("one", "One", || async { Err::<String, _>(Broken) });
}
