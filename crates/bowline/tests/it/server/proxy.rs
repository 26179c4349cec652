//! A proxy: a handler with full control that forwards everything to another server.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use bowline::Payload;
use bowline::RpcResult;
use bowline::client::{Client, SubscriptionEvent};
use bowline::server::{
    ClientRequest, Context, Handler, RequestService, Server, ServerFeatures, ToolError, tool,
};
use bowline::types::capabilities::{ClientCapabilities, ElicitationCapability, ServerCapabilities};
use bowline::types::elicitation::{
    ElicitFormParams, ElicitResult, ElicitValue, FormSchema, PrimitiveSchema,
};
use bowline::types::logging::LoggingLevel;
use bowline::types::subscriptions::SubscriptionFilter;
use bowline::types::tools::TaskSupport;
use bowline::types::{ErrorObject, JsonObject, Method, Revision};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tower_layer::Layer;
use tower_service::Service;

use super::line_client::LineClient;
use super::support::{call, connected_with, tool as called};

/// Longer than anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// Passes everything on to the server behind it.
struct Proxy {
    upstream: Client,
    /// The tasks that forward changes, by resource.
    followed: Mutex<BTreeMap<String, JoinHandle<()>>>,
    /// What its client does with subscriptions and levels.
    received: mpsc::Sender<String>,
}

impl Proxy {
    async fn pass(&self, request: &ClientRequest) -> RpcResult {
        let method = request.method().to_owned();
        let answer = self.upstream.call(method, request.params()).raw().await;
        answer.map_err(passed)
    }

    fn record(&self, words: String) {
        self.received.try_send(words).expect("the test listens");
    }
}

fn passed(error: bowline::Error) -> ErrorObject {
    let own = || ErrorObject::new(-32603, "the server behind this one is gone");
    error.server_error().cloned().unwrap_or_else(own)
}

impl Handler for Proxy {
    fn capabilities(&self) -> ServerCapabilities {
        self.upstream.capabilities().expect("it is connected")
    }

    async fn on_request(&self, request: ClientRequest) -> ControlFlow<RpcResult, ClientRequest> {
        match request.known_method() {
            Some(
                Method::Subscribe
                | Method::Unsubscribe
                | Method::Listen
                | Method::SetLevel
                | Method::Discover,
            ) => ControlFlow::Continue(request),
            _ => ControlFlow::Break(self.pass(&request).await),
        }
    }

    async fn on_subscribe(&self, uri: &str, context: &Context) -> Result<(), ErrorObject> {
        if uri == "forbidden:" {
            return Err(ErrorObject::new(-32602, "not this one"));
        }
        let watching = self.upstream.resources().subscribe(uri).await;
        let mut watching = watching.map_err(passed)?;
        let (features, uri): (ServerFeatures, _) = (context.features().clone(), uri.to_owned());
        self.record(format!("subscribed {uri}"));
        let of_task = uri.clone();
        let task = tokio::spawn(async move {
            while watching.next().await.is_some() {
                features.notify_resource_updated(&of_task);
            }
        });
        self.followed.lock().expect("no panic").insert(uri, task);
        Ok(())
    }

    fn on_unsubscribe(&self, uri: &str, context: &Context) {
        // What lasts keeps no large `_meta`.
        assert!(context.meta().get("example.com/large").is_none());
        if let Some(task) = self.followed.lock().expect("no panic").remove(uri) {
            task.abort();
        }
        self.record(format!("unsubscribed {uri}"));
    }

    async fn set_level(&self, level: LoggingLevel, _: &Context) -> Result<(), ErrorObject> {
        self.record(format!("level {level:?}"));
        Ok(())
    }

    fn on_notification(&self, method: &str, params: Option<&Payload>) {
        let params = params.map_or("{}", Payload::as_str);
        self.upstream.notify(method, params).expect("it listens");
    }
}

async fn greets(cx: Context) -> Result<String, ToolError> {
    let form = FormSchema::new([("name", PrimitiveSchema::string())]);
    let answer = cx.elicit("who", ElicitFormParams::new("Who?", form));
    let content = answer.await?.content.unwrap_or_default();
    let name = match content.get("name") {
        Some(ElicitValue::String(name)) => name.as_str(),
        _ => "no name",
    };
    Ok(format!("hello {name}"))
}

/// A server behind the proxy, whose resource changes with each call of `bump`.
fn behind() -> Server {
    let count = Arc::new(AtomicUsize::new(0));
    let of_tool = Arc::clone(&count);
    Server::new("behind", "1")
        .tool("greets", "Asks who", greets)
        .tool("bump", "Changes a resource", move |cx: Context| {
            let number = of_tool.fetch_add(1, Ordering::SeqCst);
            cx.features().notify_resource_updated("count:");
            async move { number.to_string() }
        })
        .add_tool(tool("slow", || async { "slowly" }).task_support(TaskSupport::Optional))
        .resource("count:", "count", move || {
            let number = count.load(Ordering::SeqCst);
            async move { number.to_string() }
        })
}

/// The proxy, and the notifications that it receives.
async fn proxy(revision: Revision) -> (Server, mpsc::Receiver<String>) {
    proxy_of(behind(), revision).await
}

async fn proxy_of(behind: Server, revision: Revision) -> (Server, mpsc::Receiver<String>) {
    // It asks its own client nothing: questions are forwarded, and its upstream client must not see
    // them.
    let upstream = connected_with(behind, revision, |config| {
        let elicitation = ElicitationCapability::new();
        let can = ClientCapabilities::new().elicitation(elicitation);
        config.connection().capabilities(can);
    });
    let (received, hears) = mpsc::channel(64);
    let proxy = Proxy {
        upstream: upstream.await,
        followed: Mutex::default(),
        received,
    };
    (Server::with_handler("proxy", "1", proxy), hears)
}

async fn next(received: &mut mpsc::Receiver<String>) -> String {
    let received = timeout(LONG, received.recv()).await;
    received.expect("in time").expect("the proxy is there")
}

// proves: SV-1
#[tokio::test]
async fn a_proxy_passes_results_errors_and_changes_on() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let (server, mut received) = proxy(revision).await;
        let client = connected_with(server, revision, |_| {}).await;
        let listed = call(&client, "tools/list", "{}").await;
        assert_eq!(listed["tools"][0]["name"], "greets", "{revision}");
        let error = client.call("tools/call", r#"{"name":"none"}"#).await;
        let error = error.expect_err("there is none");
        assert_eq!(error.server_error().map(|error| error.code), Some(-32602));
        let watching = client.resources().subscribe("count:").await;
        let mut watching = watching.expect("it can be watched");
        assert_eq!(next(&mut received).await, "subscribed count:");
        assert_eq!(called(&client, "bump", "{}").await, "0");
        let change = timeout(LONG, watching.next()).await;
        let expected = Some(SubscriptionEvent::Resource("count:".to_owned()));
        assert_eq!(change, Ok(expected), "{revision}");
        let read = call(&client, "resources/read", r#"{"uri":"count:"}"#).await;
        assert_eq!(read["contents"][0]["text"], "1");
        drop(watching);
        assert_eq!(
            next(&mut received).await,
            "unsubscribed count:",
            "{revision}"
        );
        let watching = client.resources().subscribe("count:").await;
        let _watching = watching.expect("it can be watched");
        assert_eq!(next(&mut received).await, "subscribed count:");
        // The client goes without a word.
        drop(client);
        drop(_watching);
        assert_eq!(
            next(&mut received).await,
            "unsubscribed count:",
            "{revision}"
        );
    }
}

/// Has a method and a notification that the protocol doesn't have.
struct Extended(mpsc::Sender<String>);

impl Handler for Extended {
    async fn on_other_request(&self, request: ClientRequest) -> RpcResult {
        match request.method() {
            "acme/echo" => {
                assert_eq!(request.known_method(), None);
                assert_eq!(request.context().method(), "acme/echo");
                let params: Value = serde_json::from_str(request.params()).expect("JSON");
                let result = json!({"resultType": "complete", "echoed": params["say"]});
                Ok(JsonObject::parse(&result.to_string()).expect("JSON").into())
            }
            "acme/hang" => {
                let _given_up = GivenUp(self.0.clone());
                self.0.try_send("hangs".to_owned()).expect("it listens");
                std::future::pending().await
            }
            _ => Err(ErrorObject::new(-32601, "not even here")),
        }
    }

    fn on_notification(&self, method: &str, params: Option<&Payload>) {
        let params = params.map_or("{}", Payload::as_str);
        let params: Value = serde_json::from_str(params).expect("JSON");
        let words = format!("{method} {}", params["say"]);
        self.0.try_send(words).expect("the test listens");
    }
}

// proves: SV-1, MO-2
#[tokio::test]
async fn a_proxy_forwards_methods_outside_of_the_protocol() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let (hears, mut received) = mpsc::channel(64);
        let extended = Server::with_handler("extended", "1", Extended(hears));
        let (server, _) = proxy_of(extended, revision).await;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let server = server.layer(Sees(Arc::clone(&seen)));
        let client = connected_with(server, revision, |_| {}).await;
        let echoed = call(&client, "acme/echo", r#"{"say":"hello"}"#).await;
        assert_eq!(echoed["echoed"], "hello", "{revision}");
        let error = client.call("acme/none", "{}").await.expect_err("none");
        let error = error.server_error().expect("of the server");
        assert_eq!((error.code, &*error.message), (-32601, "not even here"));
        // One that is given up is cancelled, and the others go on.
        let hanging = client.call("acme/hang", "{}").send();
        assert_eq!(next(&mut received).await, "hangs", "{revision}");
        drop(hanging);
        assert_eq!(next(&mut received).await, "given up", "{revision}");
        let sent = client.notify("acme/note", r#"{"say":1}"#);
        sent.expect("it is sent");
        assert_eq!(next(&mut received).await, "acme/note 1", "{revision}");
        let seen = seen.lock().expect("no panic");
        let seen = seen.iter().filter(|method| method.starts_with("acme/"));
        assert_eq!(
            Vec::from_iter(seen),
            ["acme/echo", "acme/none", "acme/hang"]
        );
    }
}

/// Somebody waits in vain.
struct GivenUp(mpsc::Sender<String>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        // The test may be over.
        let _ = self.0.try_send("given up".to_owned());
    }
}

/// A layer that notes what is asked.
#[derive(Clone)]
struct Sees(Arc<Mutex<Vec<String>>>);

#[derive(Clone)]
struct Seen(Arc<Mutex<Vec<String>>>, RequestService);

impl Layer<RequestService> for Sees {
    type Service = Seen;

    fn layer(&self, inner: RequestService) -> Seen {
        Seen(Arc::clone(&self.0), inner)
    }
}

impl Service<ClientRequest> for Seen {
    type Response = Payload;
    type Error = ErrorObject;
    type Future = <RequestService as Service<ClientRequest>>::Future;

    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), ErrorObject>> {
        self.1.poll_ready(cx)
    }

    fn call(&mut self, request: ClientRequest) -> Self::Future {
        let mut seen = self.0.lock().expect("no panic");
        seen.push(request.method().to_owned());
        self.1.call(request)
    }
}

// proves: SV-1
#[tokio::test]
async fn unknown_methods_are_not_found() {
    struct Plain;
    impl Handler for Plain {}
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        for server in [Server::with_handler("plain", "1", Plain), behind()] {
            let client = connected_with(server, revision, |_| {}).await;
            let long = "acme/".repeat(1000);
            let error = client.call(long, "{}").await.expect_err("none");
            let error = error.server_error().expect("of the server");
            assert_eq!(error.code, -32601, "{revision}");
            assert!(error.message.len() < 200, "{error:?}");
            client.notify("acme/note", "{}").expect("it is ignored");
            client.ping().await.expect("it goes on");
        }
    }
}

// proves: SV-4
#[tokio::test]
async fn a_proxy_passes_questions_on_to_its_own_client() {
    let revision = Revision::V2026_07_28;
    let (server, _heard) = proxy(revision).await;
    let client = connected_with(server, revision, |config| {
        config.elicitation(|_| async { Ok(ElicitResult::accept([("name", "Ada")])) });
    });
    let words = called(&client.await, "greets", "{}").await;
    assert_eq!(words, "hello Ada");
}

// proves: FT-12
#[tokio::test]
async fn a_proxy_passes_tasks_on() {
    let revision = Revision::V2025_11_25;
    let (server, _heard) = proxy(revision).await;
    let client = connected_with(server, revision, |_| {}).await;
    let begun = call(&client, "tools/call", r#"{"name":"slow","task":{}}"#).await;
    let id = begun["task"]["taskId"].as_str().expect("it is a task");
    let params = json!({"taskId": id}).to_string();
    let result = call(&client, "tasks/result", &params).await;
    assert_eq!(result["content"][0]["text"], "slowly", "{result}");
}

// proves: SV-1, SV-3
#[tokio::test]
async fn a_handler_decides_about_subscriptions_and_levels() {
    let (server, mut received) = proxy(Revision::V2025_11_25).await;
    let server = server.build().expect("it can be served");
    let mut client = LineClient::open(&server);
    client.begin(Revision::V2025_11_25).await;
    let refused = client.ask("resources/subscribe", r#"{"uri":"forbidden:"}"#);
    assert_eq!(refused.await["error"]["message"], "not this one");
    for _ in 0..2 {
        let meta = json!({"example.com/large": "x".repeat(20_000)});
        let params = json!({"uri": "count:", "_meta": meta}).to_string();
        let watched = client.ask("resources/subscribe", &params);
        assert!(watched.await["result"].is_object());
    }
    let level = client.ask("logging/setLevel", r#"{"level":"error"}"#).await;
    assert!(level["result"].is_object(), "{level}");
    for method in ["resources/unsubscribe", "resources/unsubscribe"] {
        let answer = client.ask(method, r#"{"uri":"count:"}"#).await;
        assert!(answer["result"].is_object(), "{answer}");
    }
    let methods = std::iter::from_fn(|| received.try_recv().ok());
    let expected = ["subscribed count:", "level Error", "unsubscribed count:"];
    assert_eq!(Vec::from_iter(methods), expected, "each once");
}

// SB-2: what is not honoured is left out.
#[tokio::test]
async fn a_resource_that_a_handler_refuses_is_not_honoured() {
    let (server, mut received) = proxy(Revision::V2026_07_28).await;
    let client = connected_with(server, Revision::V2026_07_28, |_| {}).await;
    let uris = ["count:".to_owned(), "forbidden:".to_owned()];
    let filter = SubscriptionFilter::new().resource_subscriptions(uris);
    let watching = client.subscribe(filter).await.expect("a part of it");
    let honoured = watching.acknowledged_filter().resource_subscriptions;
    assert_eq!(honoured, Some(vec!["count:".to_owned()]));
    assert_eq!(next(&mut received).await, "subscribed count:");
    drop(watching);
    assert_eq!(next(&mut received).await, "unsubscribed count:");
}
