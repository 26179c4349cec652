//! A handler that keeps something that must stay on its thread.

use std::rc::Rc;

use bowline::server::Server;

fn main() {
    let _ = Server::new("calculator", "1").tool("one", "One", || async {
        let count = Rc::new(1);
        std::future::ready(()).await;
        *count
    });
}
