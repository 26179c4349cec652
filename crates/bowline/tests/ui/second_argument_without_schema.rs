//! A type without a schema beside one that a handler can ask for.

use bowline::server::{Context, Server};

struct Name(String);

fn main() {
    let _ = Server::new("greeter", "1").tool("greet", "Greets", |_: Context, name: Name| async move { name.0 });
}
