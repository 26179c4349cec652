//! Async functions as layers around a server (`Server::middleware`).

use bowline::server::{ClientRequest, Principal, RunningServer, Server};
use bowline::types::common::Implementation;
use bowline::types::{ErrorObject, RawJson};
use bowline::{Client, ErrorKind};
use serde_json::json;

/// The layers before the tool, in the order in which they see the request.
#[derive(Clone, Default)]
struct Seen(Vec<&'static str>);

fn see(request: &ClientRequest, name: &'static str) {
    let mut seen: Seen = request.context().extension().unwrap_or_default();
    seen.0.push(name);
    request.context().insert_extension(seen);
}

async fn connected(server: &RunningServer) -> Client {
    let client = Client::connect(server.in_memory(), Implementation::new("test", "1"));
    client.await.expect("they agree")
}

#[tokio::test(start_paused = true)]
async fn a_function_refuses_or_sets_the_principal() {
    let server = Server::new("cave", "1")
        .tool("whoami", "Tells who asks", |who: Principal| async move {
            who.id().to_owned()
        })
        .middleware(|request, next| async move {
            if request.method() != "tools/call" {
                return next.run(request).await;
            }
            let user = request
                .context()
                .meta()
                .get("example.com/user")
                .map(RawJson::from);
            let Some(user) = user.and_then(|user| user.to::<String>().ok()) else {
                return Err(ErrorObject::new(-32000, "who are you?"));
            };
            request.context().insert_extension(Principal::new(user));
            next.run(request).await
        });
    let client = connected(&server.build().expect("it can be served")).await;

    let error = client.tools().call("whoami", ()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::JsonRpc);
    assert!(error.to_string().contains("who are you?"), "{error}");

    let known = json!({"name": "whoami", "_meta": {"example.com/user": "alice"}});
    let answer = client.call("tools/call", known).await.expect("it is known");
    assert!(answer.as_str().contains("alice"), "{}", answer.as_str());
}

#[tokio::test(start_paused = true)]
async fn the_last_function_is_the_outermost_and_one_that_panics_harms_no_other() {
    use bowline::server::Extension;
    let server = Server::new("layers", "1")
        .tool(
            "seen",
            "Tells who saw it",
            |seen: Extension<Seen>| async move { seen.0.0.join(" ") },
        )
        .middleware(|request, next| async move {
            see(&request, "inner");
            next.run(request).await
        })
        .middleware(|request, next| {
            assert_ne!(request.method(), "prompts/list", "a bug");
            see(&request, "outer");
            next.run(request)
        });
    let client = connected(&server.build().expect("it can be served")).await;
    let error = client.call("prompts/list", ()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::JsonRpc);
    let seen = client.tools().call("seen", ()).await.expect("it is served");
    assert_eq!(seen.text(), "outer inner");
}
