//! Services in applications and on streams of all kinds.

mod axum;
mod hyper;
mod listeners;
mod server_card;

use bowline::server::{Context, Principal, Server};

/// A server with this name, which a tool returns.
fn named(name: &'static str) -> Server {
    Server::new(name, "1.0.0")
        .tool(
            "name",
            "Returns the server's name",
            move || async move { name },
        )
        .tool(
            "who",
            "Returns the principal",
            |who: Principal| async move { who.id().to_owned() },
        )
        .tool("http", "Describes the request", |cx: Context| async move {
            let http = cx.http_request().expect("it came over HTTP");
            let headers: Vec<_> = http.headers().keys().map(|name| name.as_str()).collect();
            let tenant = http.extensions().get::<Tenant>();
            format!("{:?} {tenant:?} {}", http.version(), headers.join(" "))
        })
}

/// What a layer knows of a request.
#[derive(Clone, Debug)]
#[expect(dead_code, reason = "it is printed")]
struct Tenant(u32);
