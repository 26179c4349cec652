//! A type that can be read, but has no schema.

use bowline::server::Server;
use serde::Deserialize;

#[derive(Deserialize)]
struct Add {
    a: i64,
    b: i64,
}

fn main() {
    let _ = Server::new("calculator", "1").tool("add", "Adds", |Add { a, b }: Add| async move { a + b });
}
