//! Tools that ask the client, and clients that answer or don't.

use bowline::transport::StderrTo;
use bowline::{Client, ClientConfig};
use bowline_types::capabilities::{
    ClientCapabilities, ElicitationCapability, RootsCapability, SamplingCapability,
};
use bowline_types::common::Role;
use bowline_types::elicitation::{ElicitParams, ElicitResult};
use bowline_types::method::requests;
use bowline_types::roots::{ListRootsResult, Root};
use bowline_types::sampling::CreateMessageResult;
use bowline_types::{Era, JsonObject, Map, Revision};

use crate::support::{ERAS, call, connected, connected_with, demo, error, params, text};

/// A client that can be asked everything.
async fn answering(revision: Revision) -> Client {
    connected_with(demo().stderr(StderrTo::Nowhere), revision, answers).await
}

fn answers(config: &mut ClientConfig) {
    let elicitation = ElicitationCapability::new()
        .form(JsonObject::new())
        .url(JsonObject::new());
    let capabilities = ClientCapabilities::new()
        .elicitation(elicitation)
        .sampling(SamplingCapability::new())
        .roots(RootsCapability::new());
    config.connection().capabilities(capabilities);
    config.on_request::<requests::Elicit, _, _>(|question| async move {
        Ok(match question {
            ElicitParams::Form(form) => {
                let properties = &form.requested_schema.properties;
                let known = [("name", "Ada"), ("knot", "bowline"), ("why", "it holds")];
                let fields = known.into_iter();
                let fields = fields.filter(|(name, _)| properties.get(name).is_some());
                ElicitResult::accept(fields.collect::<Map<_>>())
            }
            _ => ElicitResult::decline(),
        })
    });
    config.on_request::<requests::CreateMessage, _, _>(|params| async move {
        let message = &params.messages[0];
        let asked = message
            .content
            .iter()
            .next()
            .and_then(|block| block.as_text());
        let answer = format!("{}? 42.", asked.unwrap_or_default());
        Ok(CreateMessageResult::new(
            Role::Assistant,
            answer.as_str(),
            "model-1",
        ))
    });
    config.on_request::<requests::ListRoots, _, _>(|_| async {
        let named = Root::new("file:///home/ada").name("home");
        Ok(ListRootsResult::new([named, Root::new("file:///tmp")]))
    });
}

// proves: SV-4, FT-8
#[tokio::test]
async fn a_client_that_answers_is_asked() {
    for revision in ERAS {
        let client = answering(revision).await;
        for (name, arguments, expected) in [
            ("ask_name", "{}", "Hello, Ada!"),
            ("ask_url", "{}", "The user's answer: decline"),
            ("ask_model", r#"{"question":"Why"}"#, "model-1: Why? 42."),
            ("list_roots", "{}", "home: file:///home/ada\nfile:///tmp"),
            // Counted once, although it may have run three times.
            ("ask_survey", "{}", "Survey 1: bowline, because: it holds"),
            ("ask_survey", "{}", "Survey 2: bowline, because: it holds"),
        ] {
            assert_eq!(text(&client, name, arguments).await, expected, "{revision}");
        }
        client.stop().await;
    }
}

#[tokio::test]
async fn a_person_who_declines_is_no_error() {
    for revision in ERAS {
        let client = connected_with(demo().stderr(StderrTo::Nowhere), revision, |config| {
            answers(config);
            config.on_request::<requests::Elicit, _, _>(|_| async { Ok(ElicitResult::decline()) });
        })
        .await;
        assert_eq!(text(&client, "ask_name", "{}").await, "No name: decline.");
        client.stop().await;
    }
}

// proves: SV-4
#[tokio::test]
async fn the_capability_that_a_client_lacks_is_named() {
    for revision in ERAS {
        let client = connected(revision).await;
        for (name, arguments, capability) in [
            ("ask_name", "{}", "elicitation"),
            ("ask_survey", "{}", "elicitation"),
            ("ask_url", "{}", "elicitation"),
            ("ask_model", r#"{"question":"Why"}"#, "sampling"),
            ("list_roots", "{}", "roots"),
        ] {
            let params = params(name, arguments);
            let words = match revision.era() {
                Era::Handshake => call(&client, "tools/call", &params).await.to_string(),
                // LC-48: with what is needed as its data.
                Era::Stateless => {
                    let error = error(&client, "tools/call", &params).await;
                    let refusal = error.server_error().unwrap();
                    assert_eq!(refusal.code, -32021, "{name}");
                    refusal.data.as_ref().unwrap().as_str().to_owned()
                }
            };
            assert!(words.contains(capability), "{words}");
        }
        client.stop().await;
    }
}
