//! Handlers that ask the client, and clients that can't be asked.

use std::time::Duration;

use bowline::server::{Context, Server, ToolError, tool};
use bowline::types::capabilities::{ClientCapabilities, ElicitationCapability, SamplingCapability};
use bowline::types::common::Role;
use bowline::types::elicitation::{
    ElicitFormParams, ElicitResult, ElicitUrlParams, FormSchema, PrimitiveSchema,
};
use bowline::types::method::requests;
use bowline::types::sampling::{CreateMessageParams, SamplingMessage};
use bowline::types::{ErrorObject, Revision, Revisions};
use tokio::time::timeout;

use super::support::{call, connected, connected_with, tool as called};

const LONG: Duration = Duration::from_secs(60);

async fn asks(cx: Context) -> Result<&'static str, ToolError> {
    let form = FormSchema::new([("name", PrimitiveSchema::string())]);
    let answer = cx.elicit("who", ElicitFormParams::new("Who?", form));
    Ok(match answer.await?.is_accepted() {
        true => "accepted",
        false => "declined",
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
            config.answer::<requests::Elicit, _, _>(|_| async { Ok(ElicitResult::decline()) });
        })
        .await;
        let words = timeout(LONG, called(&client, "asks", "{}")).await;
        assert_eq!(words.as_deref(), Ok("declined"), "{revision}");
    }
}

// proves: SV-4
#[tokio::test]
async fn a_client_that_cannot_be_asked_is_told_what_is_needed() {
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
            .tool("roots", "Asks", |cx: Context| async move {
                cx.roots("it").await?;
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
            ("roots", r#"{"roots":{}}"#),
        ] {
            let params = format!(r#"{{"name":"{name}","arguments":{{}}}}"#);
            if revision < Revision::V2026_07_28 {
                let told = call(&client, "tools/call", &params).await;
                let words = told["content"][0]["text"].as_str().expect("a text");
                assert!(words.contains("doesn't declare"), "{revision}: {words}");
                continue;
            }
            // LC-48, MR-5.
            let error = client.call("tools/call", params).await.expect_err(name);
            let told = error.server_error().expect("an error of the server");
            let expected = format!(r#"{{"requiredCapabilities":{needed}}}"#);
            assert_eq!(told.code, -32021, "{error}");
            assert!(told.message.contains("doesn't declare"), "{error}");
            assert_eq!(
                told.data.as_ref().map(|data| data.as_str()),
                Some(&*expected)
            );
        }
    }
}

// proves: SV-4
#[tokio::test]
async fn a_client_that_refuses_gets_its_own_words_back() {
    let server = Server::new("asking", "1").tool("asks", "Asks", asks);
    let client = connected_with(server, Revision::V2025_11_25, |config| {
        config.connection().capabilities(elicitation());
        config.answer_raw("elicitation/create", |_| async {
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
