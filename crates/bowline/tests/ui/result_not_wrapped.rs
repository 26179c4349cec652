//! A value of the user's own that is not wrapped.

use bowline::server::Server;

struct Sum(i64);

fn main() {
    let _ = Server::new("calculator", "1").tool("one", "One", || async { Sum(1) });
}
