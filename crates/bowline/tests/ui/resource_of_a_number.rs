//! A resource that contains no text and no bytes.

use bowline::server::Server;

fn main() {
    let _ = Server::new("numbers", "1").resource("n:", "n", || async { 1 });
}
