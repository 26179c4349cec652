//! Repeated rounds of input, and servers that accept each state once.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context as TaskContext, Poll};

use bowline::server::{ClientRequest, Context, Handler, Server, ToolError};
use bowline::types::capabilities::{ServerCapabilities, ToolsCapability};
use bowline::types::tools::{CallToolParams, CallToolResult};
use bowline::types::{ErrorObject, Revision};
use serde_json::{Value, json};
use tower_layer::Layer;
use tower_service::Service;

use super::line_client::LineClient;

/// What is charged for, counted.
#[derive(Clone, Default)]
struct Till(Arc<AtomicUsize>);

impl Till {
    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Asks, and charges when the answer is there.
    async fn charges(self, cx: Context) -> Result<String, ToolError> {
        cx.list_roots("roots").await?;
        if cx.once("charge") {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        Ok("charged".to_owned())
    }

    fn server(&self) -> Server {
        let [one, two, three] = [self.clone(), self.clone(), self.clone()];
        Server::new("till", "1")
            .tool("pay", "", move |cx: Context| one.clone().charges(cx))
            .resource("pay:", "", move |cx: Context| two.clone().charges(cx))
            .prompt("pay", "", move |cx: Context| three.clone().charges(cx))
    }
}

impl Handler for Till {
    fn capabilities(&self) -> ServerCapabilities {
        ServerCapabilities::new().tools(ToolsCapability::new())
    }

    async fn call_tool(
        &self,
        _: CallToolParams,
        context: Context,
    ) -> Result<CallToolResult, ErrorObject> {
        let charged = self.clone().charges(context).await;
        charged
            .map(CallToolResult::text)
            .map_err(|error| ErrorObject::new(-1, format!("{error:?}")))
    }
}

async fn client_of(server: Server) -> LineClient {
    let mut client = LineClient::open(&server.build().expect("it can be served"));
    client.begin(Revision::LATEST).await;
    client
}

/// The first round: the parameters of the next one.
async fn asked(client: &mut LineClient, method: &str, target: &Value) -> String {
    let asked = client.ask(method, &target.to_string()).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let mut params = target.clone();
    params["requestState"] = asked["result"]["requestState"].clone();
    params["inputResponses"] = json!({"roots": {"roots": []}});
    params.to_string()
}

fn pay() -> Value {
    json!({"name": "pay", "arguments": {}})
}

// proves: F-OA-20, SE-26
#[tokio::test]
async fn a_state_that_was_used_is_refused_where_each_is_good_for_one_use() {
    for (method, target) in [
        ("tools/call", pay()),
        ("resources/read", json!({"uri": "pay:"})),
        ("prompts/get", json!({"name": "pay"})),
        ("handler", pay()),
    ] {
        let till = Till::default();
        let (server, method) = match method {
            "handler" => (
                Server::with_handler("till", "1", till.clone()),
                "tools/call",
            ),
            method => (till.server(), method),
        };
        let mut client = client_of(server.single_use_request_state()).await;
        let params = asked(&mut client, method, &target).await;
        let done = client.ask(method, &params).await;
        assert!(done["result"].is_object(), "{method}: {done}");
        let refused = client.ask(method, &params).await;
        assert_eq!(refused["error"]["code"], -32602, "{method}: {refused}");
        let words = "requestState was already used: send the request again without it";
        assert_eq!(refused["error"]["message"], words);
        assert_eq!(till.count(), 1, "{method}");
        // Another request of the same words is another one.
        let params = asked(&mut client, method, &target).await;
        client.ask(method, &params).await;
        assert_eq!(till.count(), 2, "{method}");
    }
}

#[tokio::test]
async fn a_round_can_be_repeated_unless_that_is_switched_off() {
    let till = Till::default();
    let mut client = client_of(till.server()).await;
    let params = asked(&mut client, "tools/call", &pay()).await;
    for times in 1..=3 {
        let done = client.ask("tools/call", &params).await;
        assert!(done["result"].is_object(), "{done}");
        assert_eq!(till.count(), times);
    }
}

// proves: F-OA-20
#[tokio::test]
async fn a_state_that_was_refused_is_not_used() {
    let till = Till::default();
    let mut client = client_of(till.server().single_use_request_state()).await;
    let params = asked(&mut client, "tools/call", &pay()).await;
    let mut other: Value = serde_json::from_str(&params).expect("JSON");
    other["arguments"]["more"] = true.into();
    let mut garbled: Value = serde_json::from_str(&params).expect("JSON");
    garbled["inputResponses"] = json!([]);
    let mut wrong: Value = serde_json::from_str(&params).expect("JSON");
    wrong["inputResponses"] = json!({"roots": 5});
    let mut tampered: Value = serde_json::from_str(&params).expect("JSON");
    let state = tampered["requestState"].as_str().expect("a text");
    tampered["requestState"] = state[2..].into();
    for wrong in [other, garbled, wrong, tampered] {
        let refused = client.ask("tools/call", &wrong.to_string()).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    let done = client.ask("tools/call", &params).await;
    assert!(done["result"].is_object(), "{done}");
}

// MR-14.
#[tokio::test]
async fn an_invalid_answer_is_an_error_and_a_missing_one_is_asked_for() {
    let mut client = client_of(Till::default().server()).await;
    let params = asked(&mut client, "tools/call", &pay()).await;
    let mut params: Value = serde_json::from_str(&params).expect("JSON");
    for wrong in [json!(5), json!({}), json!({"roots": "all"})] {
        params["inputResponses"] = json!({ "roots": wrong });
        let refused = client.ask("tools/call", &params.to_string()).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        let words = refused["error"]["message"].as_str().expect("words");
        assert!(words.contains("inputResponses.roots"), "{words}");
    }
    params["inputResponses"] = json!({"other": 5});
    let again = client.ask("tools/call", &params.to_string()).await;
    assert_eq!(again["result"]["resultType"], "input_required", "{again}");
}

// MR-14.
#[tokio::test]
async fn an_answer_may_come_before_its_question() {
    let mut client = client_of(Till::default().server()).await;
    let mut params = pay();
    params["inputResponses"] = json!({"roots": {"roots": []}, "other": 5});
    let charged = client.ask("tools/call", &params.to_string()).await;
    assert_eq!(charged["result"]["resultType"], "complete", "{charged}");
    for wrong in [json!(5), json!({}), json!({"roots": "all"})] {
        params["inputResponses"] = json!({ "roots": wrong });
        let asked = client.ask("tools/call", &params.to_string()).await;
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    }
    params["inputResponses"] = json!([]);
    let refused = client.ask("tools/call", &params.to_string()).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

#[tokio::test]
async fn used_states_are_remembered_up_to_a_limit() {
    let till = Till::default();
    let server = till
        .server()
        .single_use_request_state()
        .max_used_request_states(2);
    let mut client = client_of(server).await;
    let mut rounds = Vec::new();
    for _ in 0..3 {
        rounds.push(asked(&mut client, "tools/call", &pay()).await);
    }
    for params in &rounds[..2] {
        let done = client.ask("tools/call", params).await;
        assert!(done["result"].is_object(), "{done}");
    }
    let refused = client.ask("tools/call", &rounds[2]).await;
    assert_eq!(refused["error"]["data"], json!({"reason": "busy"}));
    let used = client.ask("tools/call", &rounds[0]).await;
    assert_eq!(used["error"]["code"], -32602, "none is forgotten: {used}");
    assert_eq!(till.count(), 2);
}

/// Serves each request twice, as a layer does that tries again.
#[derive(Clone)]
struct Twice<S = ()>(S);

impl<S> Layer<S> for Twice {
    type Service = Twice<S>;

    fn layer(&self, inner: S) -> Twice<S> {
        Twice(inner)
    }
}

impl<S> Service<ClientRequest> for Twice<S>
where
    S: Service<ClientRequest> + Clone + Send + 'static,
    S::Future: Send,
    S::Response: Send,
    S::Error: Send,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: ClientRequest) -> Self::Future {
        let mut service = self.0.clone();
        Box::pin(async move {
            service.call(request.clone()).await?;
            service.call(request).await
        })
    }
}

#[tokio::test]
async fn a_layer_that_serves_a_request_twice_uses_its_state_once() {
    let till = Till::default();
    let server = till.server().single_use_request_state().layer(Twice(()));
    let mut client = client_of(server).await;
    let params = asked(&mut client, "tools/call", &pay()).await;
    let done = client.ask("tools/call", &params).await;
    assert!(done["result"].is_object(), "{done}");
    assert_eq!(till.count(), 1);
    let refused = client.ask("tools/call", &params).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

#[tokio::test]
async fn once_is_true_once_in_every_revision() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let server = Server::new("till", "1").tool("twice", "", |cx: Context| async move {
            format!("{} {} {}", cx.once("a"), cx.once("a"), cx.once("b"))
        });
        let mut client = LineClient::open(&server.build().expect("it can be served"));
        client.begin(revision).await;
        let params = json!({"name": "twice", "arguments": {}}).to_string();
        let response = client.ask("tools/call", &params).await;
        let words = &response["result"]["content"][0]["text"];
        assert_eq!(words, "true false true", "{revision}");
    }
}

/// Asks for roots until there are some, and returns how many each answer had.
async fn until_there_are_some(till: Till, cx: Context) -> Result<String, ToolError> {
    let mut received = Vec::new();
    // It would go on for ever if each answer were the first.
    while received.last().is_none_or(|roots| *roots == 0) && received.len() < 10 {
        if cx.once("charge") {
            till.0.fetch_add(1, Ordering::Relaxed);
        }
        received.push(cx.list_roots("roots").await?.roots.len());
    }
    Ok(format!("{received:?}"))
}

/// So many roots.
fn roots(count: usize) -> Value {
    let roots = vec![json!({"uri": "file:///a"}); count];
    json!({ "roots": roots })
}

// proves: SV-4
#[tokio::test]
async fn a_key_that_is_used_again_asks_again_in_both_eras() {
    let till = Till::default();
    let server = || {
        let till = till.clone();
        let asks = move |cx: Context| until_there_are_some(till.clone(), cx);
        Server::new("till", "1").tool("pay", "", asks)
    };
    let mut client = client_of(server()).await;
    let mut params = pay();
    for (question, count) in [("roots", 0), ("roots#2", 0), ("roots#3", 2)] {
        let asked = client.ask("tools/call", &params.to_string()).await;
        let questions = asked["result"]["inputRequests"].as_object();
        let questions: Vec<_> = questions
            .into_iter()
            .flat_map(|requests| requests.keys())
            .collect();
        assert_eq!(questions, [question], "{asked}");
        params["requestState"] = asked["result"]["requestState"].clone();
        params["inputResponses"] = json!({ question: roots(count) });
    }
    let done = client.ask("tools/call", &params.to_string()).await;
    assert_eq!(done["result"]["content"][0]["text"], "[0, 0, 2]", "{done}");
    assert_eq!(till.count(), 1, "in all runs");

    let mut client = LineClient::open(&server().build().expect("it can be served"));
    client.begin(Revision::V2025_11_25).await;
    let call = client.send("tools/call", &pay().to_string()).await;
    for count in [0, 0, 2] {
        let asked = client.receive().await;
        assert_eq!(asked["method"], "roots/list", "{asked}");
        client
            .write_line(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": roots(count)}))
            .await;
    }
    let done = client.answer(call).await;
    assert_eq!(done["result"]["content"][0]["text"], "[0, 0, 2]", "{done}");
}

// proves: SE-108
#[tokio::test]
async fn a_request_asks_no_more_than_it_may_in_all_rounds() {
    for most in [0, 1, 3] {
        let till = Till::default();
        let asks = move |cx: Context| until_there_are_some(till.clone(), cx);
        let server = Server::new("till", "1").tool("pay", "", asks);
        let mut client = client_of(server.max_input_requests(most)).await;
        let mut params = pay();
        for _ in 0..most {
            let asked = client.ask("tools/call", &params.to_string()).await;
            let result = &asked["result"];
            let questions = result["inputRequests"].as_object().expect("it asks");
            let answers = questions.keys().map(|name| (name.clone(), roots(0)));
            params["inputResponses"] = answers.collect::<serde_json::Map<_, _>>().into();
            params["requestState"] = result["requestState"].clone();
        }
        let response = client.ask("tools/call", &params.to_string()).await;
        assert_eq!(response["result"]["isError"], true, "{response}");
        let words = format!("too many input requests: the limit is {most} per request");
        assert_eq!(response["result"]["content"][0]["text"], words);
    }
}

#[tokio::test]
async fn a_handler_that_ignores_errors_holds_up_no_other() {
    let asks = |cx: Context| async move {
        while cx.list_roots("roots").await.is_err() {}
        "asked"
    };
    let server = Server::new("till", "1").tool("pay", "", asks);
    let mut client = client_of(server.max_input_requests(0)).await;
    let call = client.send("tools/call", &pay().to_string()).await;
    let tools = client.ask("tools/list", "{}").await;
    assert!(tools["result"]["tools"].is_array(), "{tools}");
    client.cancel(call).await;
}
