//! Handlers that ask the client, and clients that can't be asked.

use std::time::Duration;

use bowline::server::{Context, Server, ToolError, tool};
use bowline::types::capabilities::{ClientCapabilities, ElicitationCapability, SamplingCapability};
use bowline::types::common::Role;
use bowline::types::elicitation::{
    ElicitFormParams, ElicitResult, ElicitUrlParams, ElicitValue, FormSchema, PrimitiveSchema,
    StringSchema,
};
use bowline::types::method::requests;
use bowline::types::sampling::{CreateMessageParams, SamplingMessage, ToolChoice};
use bowline::types::{ErrorObject, JsonObject, Revision, Revisions};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::line_client::LineClient;
use super::support::{call, connected, connected_with, tool as called};

const LONG: Duration = Duration::from_secs(60);

async fn asks(cx: Context) -> Result<&'static str, ToolError> {
    let form = FormSchema::new([("name", PrimitiveSchema::string())]);
    let answer = cx.elicit("who", ElicitFormParams::new("Who?", form));
    Ok(if answer.await?.is_accepted() {
        "accepted"
    } else {
        "declined"
    })
}

fn elicitation() -> ClientCapabilities {
    ClientCapabilities::new().elicitation(ElicitationCapability::new())
}

fn sampling() -> CreateMessageParams {
    CreateMessageParams::new([SamplingMessage::new(Role::User, "?")], 10)
}

// proves: SV-4
#[tokio::test]
async fn a_handler_on_a_thread_of_its_own_asks_in_both_eras() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let server = Server::new("asking", "1").add_tool(tool("asks", asks).blocking());
        let client = connected_with(server, revision, |config| {
            config.connection().capabilities(elicitation());
            config.on_request::<requests::Elicit, _, _>(|_| async { Ok(ElicitResult::decline()) });
        })
        .await;
        let words = timeout(LONG, called(&client, "asks", "{}")).await;
        assert_eq!(words.as_deref(), Ok("declined"), "{revision}");
    }
}

// proves: SV-4
#[tokio::test]
async fn a_question_from_a_task_of_the_handler_is_asked() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let (sender, mut ended) = mpsc::channel(4);
        let asks_elsewhere = move |cx: Context| {
            let sender = sender.clone();
            async move {
                let (waits, has_waited) = oneshot::channel();
                let asked = tokio::spawn(async move {
                    has_waited.await.expect("the handler waits");
                    let asked = asks(cx).await;
                    sender.send(asked.is_ok()).await.expect("the test listens");
                    asked
                });
                // The second is polled when the handler waits for the first.
                tokio::join!(asked, async { waits.send(()) }).0?
            }
        };
        let server = Server::new("asking", "1")
            .tool("task", "Asks", asks_elsewhere.clone())
            .add_tool(tool("thread", asks_elsewhere).blocking());
        let client = connected_with(server, revision, |config| {
            config.connection().capabilities(elicitation());
            config.on_request::<requests::Elicit, _, _>(|_| async { Ok(ElicitResult::decline()) });
        })
        .await;
        for name in ["task", "thread"] {
            let words = timeout(LONG, called(&client, name, "{}")).await;
            assert_eq!(words.as_deref(), Ok("declined"), "{revision}, {name}");
            if revision == Revision::V2026_07_28 {
                // The first time the request has ended, and the task is not left behind.
                assert_eq!(ended.recv().await, Some(false));
            }
            assert_eq!(ended.recv().await, Some(true));
        }
    }
}

// proves: SV-4
#[tokio::test]
async fn the_error_names_the_capability_that_a_client_lacks() {
    let server = || {
        Server::new("asking", "1")
            .tool("elicitation", "Asks", asks)
            .tool("url", "Asks", |cx: Context| async move {
                let page = ElicitUrlParams::new("Look", "https://a.example").elicitation_id("1");
                cx.elicit("page", page).await?;
                Ok::<_, ToolError>(())
            })
            .tool("sampling", "Asks", |cx: Context| async move {
                cx.sample("it", sampling()).await?;
                Ok::<_, ToolError>(())
            })
            .tool("tools", "Asks", |cx: Context| async move {
                let tools = Vec::<bowline::types::tools::Tool>::new();
                cx.sample("it", sampling().tools(tools)).await?;
                Ok::<_, ToolError>(())
            })
            .tool("choice", "Asks", |cx: Context| async move {
                // SM-2: it is as much about tools as tools are.
                let params = sampling().tool_choice(ToolChoice::new());
                cx.sample("it", params).await?;
                Ok::<_, ToolError>(())
            })
            .tool("roots", "Asks", |cx: Context| async move {
                cx.list_roots("it").await?;
                Ok::<_, ToolError>(())
            })
    };
    for revision in Revisions::ALL.iter() {
        let client = connected_with(server(), revision, |config| {
            // It shows no pages, and its model has no tools.
            let capabilities = ClientCapabilities::new().sampling(SamplingCapability::new());
            config.connection().capabilities(capabilities);
        })
        .await;
        for (name, needed) in [
            ("elicitation", r#"{"elicitation":{"form":{}}}"#),
            ("url", r#"{"elicitation":{"url":{}}}"#),
            ("tools", r#"{"sampling":{"tools":{}}}"#),
            ("choice", r#"{"sampling":{"tools":{}}}"#),
            ("roots", r#"{"roots":{}}"#),
        ] {
            let params = format!(r#"{{"name":"{name}","arguments":{{}}}}"#);
            if revision < Revision::V2026_07_28 {
                let refusal = call(&client, "tools/call", &params).await;
                let words = refusal["content"][0]["text"].as_str().expect("a text");
                assert!(words.contains("doesn't declare"), "{revision}: {words}");
                continue;
            }
            // LC-48, MR-5.
            let error = client.call("tools/call", params).await.expect_err(name);
            let refusal = error.server_error().expect("an error of the server");
            let expected = format!(r#"{{"requiredCapabilities":{needed}}}"#);
            assert_eq!(refusal.code, -32021, "{error}");
            assert!(refusal.message.contains("doesn't declare"), "{error}");
            assert_eq!(
                refusal.data.as_ref().map(|data| data.as_str()),
                Some(&*expected)
            );
        }
    }
}

// proves: PV-5, SV-4
#[tokio::test]
async fn a_question_that_the_revision_does_not_have_is_named() {
    let shows = |cx: Context| async move {
        let page = ElicitUrlParams::new("Look", "https://a.example");
        cx.elicit("page", page).await?;
        Ok::<_, ToolError>(())
    };
    let server = Server::new("asking", "1")
        .tool("form", "Asks", asks)
        .tool("page", "Asks", shows);
    let server = server.build().expect("it can be served");
    // Clients that declare more than their revision has.
    for (revision, name, capability, since) in [
        ("2024-11-05", "form", json!({}), "2025-06-18"),
        ("2025-03-26", "form", json!({}), "2025-06-18"),
        ("2025-06-18", "page", json!({"url": {}}), "2025-11-25"),
    ] {
        let mut client = LineClient::open(&server).declaring(json!({"elicitation": capability}));
        client.begin(revision.parse().expect("a revision")).await;
        let call = json!({"name": name, "arguments": {}}).to_string();
        let refusal = client.ask("tools/call", &call).await;
        assert_eq!(refusal["result"]["isError"], true, "{refusal}");
        let words = refusal["result"]["content"][0]["text"].as_str();
        let words = words.expect("a text");
        for part in ["elicitation/create", revision, since] {
            assert!(words.contains(part), "{revision}: {words}");
        }
    }
}

#[tokio::test]
async fn the_error_kind_shows_that_the_client_lacks_a_capability() {
    let server = Server::new("asking", "1").tool("roots", "", |cx: Context| async move {
        let error = cx.list_roots("it").await.expect_err("it can't be asked");
        error.to_string()
    });
    let client = connected(server, Revision::LATEST).await;
    let words = called(&client, "roots", "{}").await;
    assert_eq!(
        words,
        "not supported by the peer: the client doesn't declare roots"
    );
}

// proves: SV-4
#[tokio::test]
async fn a_client_that_refuses_gets_its_own_message_back() {
    let server = Server::new("asking", "1").tool("asks", "Asks", asks);
    let client = connected_with(server, Revision::V2025_11_25, |config| {
        config.connection().capabilities(elicitation());
        config.on_raw_request("elicitation/create", |_| async {
            Err(ErrorObject::new(-1, "the user is asleep"))
        });
    })
    .await;
    let words = called(&client, "asks", "{}").await;
    assert!(words.contains("the user is asleep"), "{words}");
}

#[tokio::test]
async fn an_error_of_another_client_stays_hidden() {
    let server = Server::new("proxy", "1").tool("asks", "Asks", || async {
        let upstream = bowline::Error::new(bowline::ErrorKind::Timeout, "a secret host");
        Err::<(), ToolError>(upstream.into())
    });
    let client = connected(server, Revision::LATEST).await;
    assert_eq!(called(&client, "asks", "{}").await, "the tool failed");
}

// proves: SV-4
#[tokio::test]
async fn form_content_that_does_not_match_its_schema_is_refused() {
    for (content, words) in [
        (r#"{"age":36}"#, None),
        (r#"{"age":36,"name":"Ada"}"#, None),
        (r#"{}"#, Some("the field `age` is missing")),
        (
            r#"{"age":"many"}"#,
            Some("the field `age` must be an integer"),
        ),
        (
            r#"{"age":36,"name":5}"#,
            Some("the field `name` must be a string"),
        ),
    ] {
        for (revision, is_blocking) in [
            (Revision::V2025_11_25, false),
            (Revision::V2026_07_28, false),
            (Revision::V2026_07_28, true),
        ] {
            let asks = tool("asks", |cx: Context| async move {
                // A form that has a default for it needs no name to be given.
                let name = PrimitiveSchema::from(StringSchema::new().default("no name"));
                let fields = [("age", PrimitiveSchema::integer()), ("name", name)];
                let required = ["age", "name"].map(str::to_owned);
                let form = FormSchema::new(fields).required(required);
                let asked = cx.elicit("who", ElicitFormParams::new("Who?", form)).await;
                if let Err(error) = &asked {
                    assert_eq!(error.kind(), bowline::ErrorKind::InvalidResponse);
                }
                let content = asked?.content.unwrap_or_default();
                let Some(ElicitValue::String(name)) = content.get("name") else {
                    return Err(ToolError::new("there is no name"));
                };
                Ok(format!("{} fields, {name}", content.len()))
            });
            let asks = if is_blocking { asks.blocking() } else { asks };
            let server = Server::new("asking", "1").add_tool(asks);
            let client = connected_with(server, revision, |config| {
                config.connection().capabilities(elicitation());
                let answer = format!(r#"{{"action":"accept","content":{content}}}"#);
                config.on_raw_request("elicitation/create", move |_| {
                    let answer = JsonObject::parse(&answer).expect("an object");
                    async move { Ok(answer.into()) }
                });
            })
            .await;
            let received = called(&client, "asks", "{}").await;
            let expected = match words {
                None if content.contains("Ada") => "2 fields, Ada".to_owned(),
                None => "2 fields, no name".to_owned(),
                Some(words) => format!("invalid form content: {words}"),
            };
            assert_eq!(received, expected, "{revision}, {content}");
        }
    }
}

// proves: ER-1
#[tokio::test]
async fn an_error_does_not_repeat_the_message_for_the_client() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let (sender, mut failed) = mpsc::channel(1);
        let tries = move |cx: Context| {
            let sender = sender.clone();
            async move {
                let form = FormSchema::new([("name", PrimitiveSchema::string())]);
                let asked = cx.elicit("who", ElicitFormParams::new("Who?", form)).await;
                let error = asked.expect_err("it is not declared");
                sender.send(error).await.expect("the test listens");
                "done"
            }
        };
        let server = Server::new("asking", "1").tool("asks", "Asks", tries);
        let client = connected(server, revision).await;
        assert_eq!(called(&client, "asks", "{}").await, "done");
        let error = failed.recv().await.expect("it failed");
        let words = error.to_string();
        assert!(words.contains("doesn't declare elicitation"), "{words}");
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            let cause_words = cause.to_string();
            assert!(!words.contains(&cause_words), "{words}: {cause_words}");
            source = cause.source();
        }
    }
}
