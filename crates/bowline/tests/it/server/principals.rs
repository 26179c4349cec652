//! Principals: available to handlers, and bound to the questions that were asked.

use std::task::{Context as TaskContext, Poll};

use bowline::server::{
    ClientRequest, Context, Handler, Principal, RunningServer, Server, ToolError, ToolRequest, tool,
};
use bowline::transport::Stream;
use bowline::types::capabilities::{ServerCapabilities, ToolsCapability};
use bowline::types::tools::{CallToolParams, CallToolResult};
use bowline::types::{ErrorObject, Revision};
use serde_json::{Value, json};
use tower_layer::Layer;
use tower_service::Service;

use super::line_client::LineClient;

/// Trusts the principal that a request names.
#[derive(Clone)]
struct Gullible<S = ()>(S);

impl<S> Layer<S> for Gullible {
    type Service = Gullible<S>;

    fn layer(&self, inner: S) -> Gullible<S> {
        Gullible(inner)
    }
}

fn believe(context: &Context) {
    let meta = context.meta();
    if let Some(user) = meta.get("user") {
        let user = user.to::<String>().expect("a name");
        let principal = Principal::new(&user).claim("is_admin", user == "alice");
        context.insert_extension(principal);
    }
}

impl<S: Service<ClientRequest>> Service<ClientRequest> for Gullible<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: ClientRequest) -> S::Future {
        believe(request.context());
        self.0.call(request)
    }
}

impl<S: Service<ToolRequest>> Service<ToolRequest> for Gullible<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, call: ToolRequest) -> S::Future {
        believe(&call.context);
        self.0.call(call)
    }
}

/// Asks, and returns the principal.
async fn asks(cx: Context) -> Result<String, ToolError> {
    let roots = cx.list_roots("roots").await?;
    let who = cx.principal().map(|who| who.id().to_owned());
    Ok(format!("{} roots for {who:?}", roots.roots.len()))
}

struct Asks;

impl Handler for Asks {
    fn capabilities(&self) -> ServerCapabilities {
        ServerCapabilities::new().tools(ToolsCapability::new())
    }

    async fn call_tool(
        &self,
        _: CallToolParams,
        context: Context,
    ) -> Result<CallToolResult, ErrorObject> {
        let asked = asks(context).await;
        asked
            .map(CallToolResult::text)
            .map_err(|error| ErrorObject::new(-1, format!("{error:?}")))
    }
}

async fn begun(server: &RunningServer) -> LineClient {
    let mut client = LineClient::open(server);
    client.begin(Revision::LATEST).await;
    client
}

/// A request of one principal, with the answer to an earlier question.
fn params(target: &Value, user: &str, asked: Option<&Value>) -> String {
    let mut params = target.clone();
    params["_meta"] = json!({"user": user});
    if let Some(asked) = asked {
        params["requestState"] = asked["result"]["requestState"].clone();
        params["inputResponses"] = json!({"roots": {"roots": []}});
    }
    params.to_string()
}

// proves: MO-2, F-OA-20, SE-26
#[tokio::test]
async fn questions_to_one_principal_can_not_be_answered_by_another() {
    let called = ("tools/call", json!({"name": "asks", "arguments": {}}));
    let registered = Server::new("who", "1")
        .tool("asks", "", asks)
        .resource("r:", "r", asks)
        .prompt("p", "", asks)
        .layer(Gullible(()));
    let around_tool = tool("asks", asks).layer(Gullible(()));
    let around_tool = Server::new("who", "1").add_tool(around_tool);
    let handler = Server::with_handler("who", "1", Asks).layer(Gullible(()));
    for (server, (method, target)) in [
        (clone_of(&registered).layer(Gullible(())), called.clone()),
        (around_tool, called.clone()),
        (handler, called),
        (
            clone_of(&registered).layer(Gullible(())),
            ("resources/read", json!({"uri": "r:"})),
        ),
        (registered, ("prompts/get", json!({"name": "p"}))),
    ] {
        let mut client = begun(&server.build().expect("it can be served")).await;
        let asked = client.ask(method, &params(&target, "alice", None)).await;
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        let refused = client
            .ask(method, &params(&target, "bob", Some(&asked)))
            .await;
        assert_eq!(refused["error"]["code"], -32602, "{method}: {refused}");
        let done = client
            .ask(method, &params(&target, "alice", Some(&asked)))
            .await;
        let response = done["result"].to_string();
        assert!(
            response.contains(r#"0 roots for Some(\"alice\")"#),
            "{done}"
        );
    }
}

fn clone_of(server: &Server) -> Server {
    Server::with_shared_features("who", "1", &server.features())
}

/// A client on a stream that belongs to a principal.
async fn begun_as(server: &RunningServer, user: &str) -> LineClient {
    let principal = Principal::new(user);
    let mut client =
        LineClient::open_with(|stream: Stream| server.serve_stream_as(stream, principal));
    client.begin(Revision::LATEST).await;
    client
}

// proves: MO-2, F-OA-20
#[tokio::test]
async fn a_stream_may_belong_to_a_principal() {
    let server = Server::new("who", "1").tool("asks", "", asks);
    let server = server.build().expect("it can be served");
    let target = json!({"name": "asks", "arguments": {}});
    let mut alice = begun_as(&server, "alice").await;
    let mut bob = begun_as(&server, "bob").await;
    let mut anonymous = begun(&server).await;
    let asked = alice.ask("tools/call", &target.to_string()).await;
    let again = params(&target, "-", Some(&asked));
    for other in [&mut bob, &mut anonymous] {
        let refused = other.ask("tools/call", &again).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    let done = alice.ask("tools/call", &again).await;
    assert!(done["result"]["content"].is_array(), "{done}");
}

// proves: MO-2
#[tokio::test]
async fn a_handler_that_asks_for_a_principal_does_not_run_without() {
    let who = |who: Principal| async move {
        let is_admin = who.get("is_admin").map(|value| value.as_str().to_owned());
        format!("{} {is_admin:?}", who.id())
    };
    let server = Server::new("who", "1")
        .tool("who", "", who)
        .layer(Gullible(()));
    let mut client = begun(&server.build().expect("it can be served")).await;
    let target = json!({"name": "who", "arguments": {}});
    let response = client
        .ask("tools/call", &params(&target, "alice", None))
        .await;
    assert_eq!(
        response["result"]["content"][0]["text"],
        r#"alice Some("true")"#
    );
    let refused = client.ask("tools/call", &target.to_string()).await;
    assert_eq!(refused["error"]["code"], -32603, "{refused}");
}
