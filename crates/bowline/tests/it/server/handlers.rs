//! Handlers with full control, layers around servers and tools, and what a layer adds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use bowline::server::{
    ClientRequest, Context, Extension, Handler, Server, ToolRequest, template, tool,
};
use bowline::types::capabilities::{
    PromptsCapability, ResourcesCapability, ServerCapabilities, ToolsCapability,
};
use bowline::types::logging::LoggingLevel;
use bowline::types::pagination::PaginatedParams;
use bowline::types::tools::{CallToolParams, CallToolResult, ListToolsResult, Tool};
use bowline::types::{ErrorObject, InputSchema, JsonObject, Revision, Revisions};
use tower_layer::Layer;
use tower_service::Service;

use super::line_client::LineClient;
use super::support::{call, connected, tool as called};

struct Proxy;

impl Handler for Proxy {
    fn capabilities(&self) -> ServerCapabilities {
        ServerCapabilities::new().tools(ToolsCapability::new())
    }

    async fn list_tools(
        &self,
        params: PaginatedParams,
        _: Context,
    ) -> Result<ListToolsResult, ErrorObject> {
        let name = params.cursor.unwrap_or_else(|| "first".to_owned());
        Ok(ListToolsResult::new([Tool::new(
            name,
            InputSchema::empty(),
        )]))
    }

    async fn call_tool(
        &self,
        params: CallToolParams,
        context: Context,
    ) -> Result<CallToolResult, ErrorObject> {
        let who = context.client_info().map(|client| client.name);
        Ok(CallToolResult::text(format!("{} for {who:?}", params.name)))
    }
}

// proves: SV-1
#[tokio::test]
async fn a_handler_answers_only_what_it_implements() {
    for revision in Revisions::ALL.iter() {
        let client = connected(Server::with_handler("proxy", "1", Proxy), revision).await;
        let listed = call(&client, "tools/list", r#"{"cursor":"second"}"#).await;
        assert_eq!(listed["tools"][0]["name"], "second");
        let words = called(&client, "any", "{}").await;
        assert_eq!(words, r#"any for Some("client")"#);
        let error = client.call("prompts/list", ()).await.expect_err("none");
        assert_eq!(error.server_error().map(|error| error.code), Some(-32601));
        let capabilities = client.capabilities().expect("declared capabilities");
        assert!(capabilities.tools.is_some() && capabilities.prompts.is_none());
    }
}

/// A server whose list changes with each call, and which logs.
struct Growing(AtomicUsize);

impl Handler for Growing {
    fn capabilities(&self) -> ServerCapabilities {
        let mut capabilities = ServerCapabilities::new()
            .tools(ToolsCapability::new().list_changed(true))
            .prompts(PromptsCapability::new().list_changed(true))
            .resources(
                ResourcesCapability::new()
                    .list_changed(true)
                    .subscribe(true),
            );
        capabilities.logging = Some(JsonObject::new());
        capabilities
    }

    async fn call_tool(
        &self,
        _: CallToolParams,
        context: Context,
    ) -> Result<CallToolResult, ErrorObject> {
        let count = self.0.fetch_add(1, Ordering::Relaxed);
        let features = context.features();
        features.notify_tools_changed();
        features.notify_prompts_changed();
        features.notify_resources_changed();
        features.notify_resource_updated("r:");
        let was_sent = context.log(LoggingLevel::Error, "it grows");
        Ok(CallToolResult::text(format!("{count} {was_sent}")))
    }
}

// proves: SV-1, SV-3
#[tokio::test]
async fn a_handler_logs_and_announces_changes() {
    let server = Server::with_handler("growing", "1", Growing(AtomicUsize::new(0)));
    let mut client = LineClient::open(&server.build().expect("it can be served"));
    let introduced = client.begin(Revision::V2025_11_25).await;
    assert!(introduced["result"]["capabilities"]["logging"].is_object());
    let watched = client.ask("resources/subscribe", r#"{"uri":"r:"}"#).await;
    assert!(watched["result"].is_object(), "{watched}");
    let call = client.send("tools/call", r#"{"name":"any"}"#).await;
    let mut received = Vec::new();
    for _ in 0..6 {
        let message = client.receive().await;
        match message["method"].as_str() {
            Some(method) => received.push(method.to_owned()),
            None => {
                assert_eq!(message["id"], call);
                assert_eq!(message["result"]["content"][0]["text"], "0 true");
            }
        }
    }
    received.sort_unstable();
    let expected = [
        "notifications/message",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/tools/list_changed",
    ];
    assert_eq!(received, expected);
}

// proves: SV-3
#[tokio::test]
async fn templates_and_completions_come_and_go_while_it_runs() {
    let server = Server::new("changing", "1")
        .declare_resources()
        .resource("c:", "c", || async { "" })
        .completion("c:{x}", "x", || async { vec!["first"] })
        .template("c:{x}", "c", |x: Variable| async move { x.x });
    let features = server.features();
    let client = connected(server, Revision::LATEST).await;
    let read = || client.call("resources/read", r#"{"uri":"n:7"}"#);
    let typed =
        r#"{"ref":{"type":"ref/resource","uri":"n:{x}"},"argument":{"name":"x","value":""}}"#;
    read().await.expect_err("there is none");
    features
        .add_template(template("n:{x}", "n", |x: Variable| async move { x.x }))
        .expect("it is right");
    features.add_completion("n:{x}", "x", || async { vec!["7"] });
    assert!(read().await.expect("it is there").as_str().contains("7"));
    let completed = call(&client, "completion/complete", typed).await;
    assert_eq!(completed["completion"]["values"][0], "7");
    assert!(features.remove_completion("n:{x}", "x"));
    assert!(!features.remove_completion("n:{x}", "x"));
    let completed = call(&client, "completion/complete", typed).await;
    assert_eq!(completed["completion"]["values"], serde_json::json!([]));
    assert!(features.remove_template("n:{x}"));
    assert!(!features.remove_template("n:{x}"));
    read().await.expect_err("it is gone");
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Variable {
    x: String,
}

/// Counts, sets the principal, and refuses one method.
#[derive(Clone)]
struct Guard(Arc<AtomicUsize>);

#[derive(Clone)]
struct Guarded<S> {
    inner: S,
    count: Arc<AtomicUsize>,
}

#[derive(Clone, Debug)]
struct Principal(&'static str);

impl<S> Layer<S> for Guard {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded {
            inner,
            count: Arc::clone(&self.0),
        }
    }
}

impl<S> Service<ClientRequest> for Guarded<S>
where
    S: Service<ClientRequest, Error = ErrorObject>,
    S::Future: Send + 'static,
    S::Response: Send + 'static,
{
    type Response = S::Response;
    type Error = ErrorObject;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<S::Response, ErrorObject>> + Send>>;

    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), ErrorObject>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: ClientRequest) -> Self::Future {
        self.count.fetch_add(1, Ordering::Relaxed);
        if request.method() == "tools/list" {
            return Box::pin(std::future::ready(Err(ErrorObject::new(-1, "not for you"))));
        }
        request.context().insert_extension(Principal("alice"));
        Box::pin(self.inner.call(request))
    }
}

impl<S> Service<ToolRequest> for Guarded<S>
where
    S: Service<ToolRequest>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: ToolRequest) -> S::Future {
        self.count.fetch_add(100, Ordering::Relaxed);
        self.inner.call(call)
    }
}

// proves: MO-2
#[tokio::test]
async fn layers_see_requests_and_calls_and_set_the_principal() {
    let count = Arc::new(AtomicUsize::new(0));
    let guard = Guard(Arc::clone(&count));
    let who = tool(
        "who",
        |Extension(principal): Extension<Principal>| async move { principal.0 },
    );
    let server = Server::new("guarded", "1")
        .add_tool(who.layer(guard.clone()))
        .layer(guard);
    let client = connected(server, Revision::LATEST).await;
    let before = count.load(Ordering::Relaxed);
    assert_eq!(called(&client, "who", "{}").await, "alice");
    assert_eq!(count.load(Ordering::Relaxed) - before, 101);
    let error = client.call("tools/list", ()).await.expect_err("refused");
    assert_eq!(error.server_error().map(|error| error.code), Some(-1));
}

/// Calls another tool than the one that is asked for, and gives up on slow ones, with an error
/// as those of tower are.
#[derive(Clone)]
struct Impatient<S = ()>(S);

impl<S> Layer<S> for Impatient {
    type Service = Impatient<S>;

    fn layer(&self, inner: S) -> Impatient<S> {
        Impatient(inner)
    }
}

impl<R, S> Service<R> for Impatient<S>
where
    R: Redirect,
    S: Service<R, Error = ErrorObject>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<S::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, mut request: R) -> Self::Future {
        request.redirect();
        let called = tokio::time::timeout(Duration::from_secs(5), self.0.call(request));
        Box::pin(async move { Ok(called.await??) })
    }
}

trait Redirect {
    fn redirect(&mut self);
}

impl Redirect for ClientRequest {
    fn redirect(&mut self) {
        let params = self.params().replace("alias", "fine");
        self.set_params(JsonObject::parse(&params).expect("an object"));
    }
}

impl Redirect for ToolRequest {
    fn redirect(&mut self) {}
}

// proves: MO-2
#[tokio::test(start_paused = true)]
async fn a_layer_changes_requests_and_fails_in_its_own_way() {
    let hang = || tool("hang", std::future::pending::<()>);
    let around_server = Server::new("layered", "1")
        .add_tool(hang())
        .tool("fine", "", || async { "fine" })
        .layer(Impatient(()));
    let around_tool = Server::new("layered", "1")
        .add_tool(hang().layer(Impatient(())))
        .tool("alias", "", || async { "fine" });
    for server in [around_server, around_tool] {
        let client = connected(server, Revision::LATEST).await;
        assert_eq!(called(&client, "alias", "{}").await, "fine");
        let hanging = client.call("tools/call", r#"{"name":"hang","arguments":{}}"#);
        let error = hanging.await.expect_err("it is given up");
        let refusal = error.server_error().expect("an error of the server");
        assert_eq!(
            (refusal.code, &*refusal.message),
            (-32603, "a middleware layer failed")
        );
        // An error of the protocol goes through as it is.
        let error = client.call("prompts/list", ()).await.expect_err("none");
        assert_eq!(error.server_error().map(|error| error.code), Some(-32601));
    }
}

/// Refuses every request.
#[derive(Clone)]
struct Closed<S = ()>(S);

impl<S> Layer<S> for Closed {
    type Service = Closed<S>;

    fn layer(&self, inner: S) -> Closed<S> {
        Closed(inner)
    }
}

impl<S: Service<ClientRequest, Error = ErrorObject>> Service<ClientRequest> for Closed<S> {
    type Response = S::Response;
    type Error = ErrorObject;
    type Future = std::future::Ready<Result<S::Response, ErrorObject>>;

    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), ErrorObject>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, _: ClientRequest) -> Self::Future {
        std::future::ready(Err(ErrorObject::new(-1, "closed")))
    }
}

// proves: MO-2
#[tokio::test]
async fn a_layer_that_refuses_every_request_is_not_bypassed() {
    let server = || {
        Server::new("closed", "1")
            .tool("t", "", || async { "t" })
            .resource("r:", "r", || async { "r" })
            .prompt("p", "", || async { "p" })
            .layer(Closed(()))
    };
    let both = [
        ("tools/list", "{}"),
        ("tools/call", r#"{"name":"t"}"#),
        ("resources/list", "{}"),
        ("resources/templates/list", "{}"),
        ("resources/read", r#"{"uri":"r:"}"#),
        ("prompts/list", "{}"),
        ("prompts/get", r#"{"name":"p"}"#),
        ("completion/complete", "{}"),
    ];
    let old = [
        ("logging/setLevel", r#"{"level":"info"}"#),
        ("resources/subscribe", r#"{"uri":"r:"}"#),
        ("resources/unsubscribe", r#"{"uri":"r:"}"#),
    ];
    let new = [
        ("server/discover", "{}"),
        (
            "subscriptions/listen",
            r#"{"notifications":{"toolsListChanged":true}}"#,
        ),
    ];
    for (revision, own) in [(Revision::V2025_11_25, &old[..]), (Revision::LATEST, &new)] {
        let mut client = LineClient::open(&server().build().expect("it can be served"));
        client.begin(revision).await;
        for (method, params) in both.iter().chain(own) {
            let answer = client.ask(method, params).await;
            assert_eq!(answer["error"]["code"], -1, "{method}: {answer}");
        }
    }
}
