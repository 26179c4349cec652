//! Handlers with full control, layers around servers and tools, and what a layer adds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context as TaskContext, Poll};

use bowline::server::{Context, Extension, Handler, Request, Server, ToolCall, tool};
use bowline::types::capabilities::{ServerCapabilities, ToolsCapability};
use bowline::types::pagination::PaginatedParams;
use bowline::types::tools::{CallToolParams, CallToolResult, ListToolsResult, Tool};
use bowline::types::{ErrorObject, InputSchema, Revisions};
use tower_layer::Layer;
use tower_service::Service;

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
async fn a_handler_answers_what_it_has_and_nothing_else() {
    for revision in Revisions::ALL.iter() {
        let client = connected(Server::with_handler("proxy", "1", Proxy), revision).await;
        let listed = call(&client, "tools/list", r#"{"cursor":"second"}"#).await;
        assert_eq!(listed["tools"][0]["name"], "second");
        let words = called(&client, "any", "{}").await;
        assert_eq!(words, r#"any for Some("client")"#);
        let error = client.call("prompts/list", ()).await.expect_err("none");
        assert_eq!(error.server_error().map(|error| error.code), Some(-32601));
        let capabilities = client.capabilities().expect("it said");
        assert!(capabilities.tools.is_some() && capabilities.prompts.is_none());
    }
}

/// Counts, says who calls, and refuses one method.
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

impl<S> Service<Request> for Guarded<S>
where
    S: Service<Request, Error = ErrorObject>,
    S::Future: Send + 'static,
    S::Response: Send + 'static,
{
    type Response = S::Response;
    type Error = ErrorObject;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<S::Response, ErrorObject>> + Send>>;

    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), ErrorObject>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        self.count.fetch_add(1, Ordering::Relaxed);
        if request.method().as_str() == "tools/list" {
            return Box::pin(std::future::ready(Err(ErrorObject::new(-1, "not for you"))));
        }
        request.context().insert_extension(Principal("alice"));
        Box::pin(self.inner.call(request))
    }
}

impl<S> Service<ToolCall> for Guarded<S>
where
    S: Service<ToolCall>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: ToolCall) -> S::Future {
        self.count.fetch_add(100, Ordering::Relaxed);
        self.inner.call(call)
    }
}

// proves: MO-2
#[tokio::test]
async fn layers_see_requests_and_calls_and_tell_handlers_who_asks() {
    let count = Arc::new(AtomicUsize::new(0));
    let guard = Guard(Arc::clone(&count));
    let who = tool(
        "who",
        |Extension(principal): Extension<Principal>| async move { principal.0 },
    );
    let server = Server::new("guarded", "1")
        .add_tool(who.layer(&guard))
        .layer(guard);
    let client = connected(server, bowline::types::Revision::LATEST).await;
    let before = count.load(Ordering::Relaxed);
    assert_eq!(called(&client, "who", "{}").await, "alice");
    assert_eq!(count.load(Ordering::Relaxed) - before, 101);
    let error = client.call("tools/list", ()).await.expect_err("refused");
    assert_eq!(error.server_error().map(|error| error.code), Some(-1));
}
