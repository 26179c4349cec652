//! Handlers of sampling, elicitation and roots.

use bowline::testing::{Handshake, peer};
use bowline::types::Wire as _;
use bowline::types::capabilities::ServerCapabilities;
use bowline::types::common::Role;
use bowline::types::elicitation::{ElicitAction, ElicitResult};
use bowline::types::roots::Root;
use bowline::types::sampling::{CreateMessageParams, CreateMessageResult, SamplingMessage};
use bowline::{Client, ClientConfig, ErrorKind};
use serde_json::{Value, json};

use crate::client::support::{NEW, OLD, Test, able, config, connected, connected_with};

const FORM: &str = r#"{"message":"who?","requestedSchema":{"type":"object","required":["name"],
    "properties":{"name":{"type":"string","minLength":2},"age":{"type":"integer","default":36}}}}"#;
const PAGE: &str =
    r#"{"mode":"url","message":"pay","url":"https://example.com","elicitationId":"1"}"#;
const QUESTION: &str = r#"{"maxTokens":1,"messages":[]}"#;

/// A client whose user types this name.
fn typing(name: &'static str) -> ClientConfig {
    let mut config = config();
    config.elicitation(move |_| async move { Ok(ElicitResult::accept([("name", name)])) });
    config
}

fn read(json: &str) -> Value {
    serde_json::from_str(json).expect("JSON")
}

// proves: FT-8
#[tokio::test(start_paused = true)]
async fn a_form_is_completed_and_checked_before_it_is_sent() -> Test {
    let (_client, mut server, _peer) = connected_with(typing("Ada"), OLD).await?;
    let filled = server.request("elicitation/create", FORM).await?;
    let filled = read(filled.expect("an answer").as_str());
    let expected = json!({"action": "accept", "content": {"name": "Ada", "age": 36}});
    assert_eq!(filled, expected);

    let (_client, mut server, _peer) = connected_with(typing("A"), OLD).await?;
    let refused = server.request("elicitation/create", FORM).await?;
    let refused = refused.expect_err("the name is too short");
    assert_eq!(refused.code, -32603);
    assert_eq!(
        refused.message,
        "the field `name` must have at least 2 characters"
    );
    Ok(())
}

// proves: FT-8
#[tokio::test(start_paused = true)]
async fn only_what_is_accepted_has_content() -> Test {
    let mut config = config();
    config.elicitation(|_| async { Ok(ElicitResult::decline().content([("name", "Ada")])) });
    config.elicitation_url(|page| async move {
        assert_eq!(page.url, "https://example.com");
        Ok(ElicitResult::new(ElicitAction::Accept).content([("name", "Ada")]))
    });
    let (_client, mut server, _peer) = connected_with(config, OLD).await?;
    let declined = server.request("elicitation/create", FORM).await?;
    assert_eq!(
        declined.expect("an answer").as_str(),
        r#"{"action":"decline"}"#
    );
    let accepted = server.request("elicitation/create", PAGE).await?;
    assert_eq!(
        accepted.expect("an answer").as_str(),
        r#"{"action":"accept"}"#
    );
    Ok(())
}

// proves: FT-4, FT-8
#[tokio::test(start_paused = true)]
async fn requests_that_need_an_undeclared_capability_get_the_documented_error() -> Test {
    let (_client, mut server, _peer) = connected(OLD).await?;
    for (method, params, code) in [
        ("sampling/createMessage", QUESTION, -1),
        ("elicitation/create", FORM, -32601),
        ("roots/list", "{}", -32601),
    ] {
        let refused = server.request(method, params).await?;
        assert_eq!(refused.expect_err("no handler").code, code, "{method}");
    }
    // A mode that was not declared.
    let (_client, mut server, _peer) = connected_with(typing("Ada"), OLD).await?;
    let refused = server.request("elicitation/create", PAGE).await?;
    assert_eq!(refused.expect_err("there are only forms").code, -32602);
    Ok(())
}

// proves: FT-4
#[tokio::test(start_paused = true)]
async fn sampling_with_tools_has_to_be_declared_and_in_order() -> Test {
    let sampled = || Ok(CreateMessageResult::new(Role::Assistant, "yes", "a-model"));
    let with_tools = r#"{"maxTokens":1,"messages":[],"toolChoice":{"mode":"auto"}}"#;
    let dangling = r#"{"maxTokens":1,"messages":[{"role":"assistant","content":
        {"type":"tool_use","id":"1","name":"a","input":{}}}]}"#;

    let mut plain = config();
    plain.sampling(move |_| async move { sampled() });
    let (_client, mut server, _peer) = connected_with(plain, OLD).await?;
    let answered = server.request("sampling/createMessage", QUESTION).await?;
    assert!(answered.expect("an answer").as_str().contains("a-model"));
    let refused = server.request("sampling/createMessage", with_tools).await?;
    assert_eq!(refused.expect_err("no tools").code, -32602);
    let refused = server.request("sampling/createMessage", dangling).await?;
    assert_eq!(refused.expect_err("nor their uses").code, -32602);

    let mut able = config();
    able.sampling_with_tools(move |_| async move { sampled() });
    let (_client, mut server, _peer) = connected_with(able, OLD).await?;
    let answered = server.request("sampling/createMessage", with_tools).await?;
    assert!(answered.is_ok());
    let refused = server.request("sampling/createMessage", dangling).await?;
    let refused = refused.expect_err("a use without a result");
    assert_eq!(refused.code, -32602);
    assert_eq!(refused.message, "tool use `1` has no result");
    Ok(())
}

// proves: FT-5
#[tokio::test(start_paused = true)]
async fn roots_change_at_run_time_and_the_server_is_notified() -> Test {
    let mut config = config();
    config.roots([Root::new("file:///a"), Root::new("https://example.com")]);
    let (client, mut server, _peer) = connected_with(config.clone(), OLD).await?;
    let (other, mut others, _other_peer) = connected_with(config, OLD).await?;
    let roots = server.request("roots/list", ()).await?;
    let expected = r#"{"roots":[{"uri":"file:///a"}]}"#;
    assert_eq!(roots.expect("roots").as_str(), expected, "one is no file");

    client.roots().set([Root::new("file:///b")])?;
    server
        .expect_notification("notifications/roots/list_changed")
        .await?;
    let roots = server.request("roots/list", ()).await?;
    assert_eq!(
        roots.expect("roots").as_str(),
        r#"{"roots":[{"uri":"file:///b"}]}"#
    );
    // A clone of the configuration is another client's.
    let roots = others.request("roots/list", ()).await?;
    assert_eq!(roots.expect("roots").as_str(), expected);
    assert_eq!(other.roots().get().map(|roots| roots.len()), Some(1));

    let error = client.roots().set([Root::new("b")]).expect_err("no file");
    assert_eq!(error.kind(), ErrorKind::Config);
    assert_eq!(client.roots().get().expect("roots")[0].uri, "file:///b");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn roots_that_were_not_declared_can_not_be_set() -> Test {
    let (client, _server, _peer) = connected(OLD).await?;
    let error = client.roots().set([]).expect_err("not declared");
    assert_eq!(error.kind(), ErrorKind::State);
    assert!(error.to_string().contains("ClientConfig::roots"), "{error}");
    assert!(client.roots().get().is_none());
    Ok(())
}

// proves: FT-1
#[tokio::test(start_paused = true)]
async fn arguments_that_are_no_object_are_not_sent() -> Test {
    let (client, mut server, _peer) = able(config(), NEW).await?;
    let error = client.tools().call("a", 3).await.expect_err("a number");
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
    let words = r#"the arguments of tool "a" must be a JSON object, not a number"#;
    assert!(error.to_string().contains(words), "{error}");

    let call = client.tools().call("a", ()).send();
    let request = server.expect("tools/call").await?;
    assert!(!request.params().as_str().contains("arguments"));
    let text = r#"{"resultType":"complete","content":[{"type":"text","text":"no JSON"}]}"#;
    server.reply(&request, text).await?;
    let result = call.await?;
    let error = result.structured::<Value>().expect_err("no JSON");
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
    assert!(
        error.to_string().contains("text but no structured content"),
        "{error}"
    );
    Ok(())
}

// proves: FT-4
#[tokio::test(start_paused = true)]
async fn sampling_by_a_server_needs_its_capability() -> Test {
    for revision in [OLD, NEW] {
        for has_model in [false, true] {
            let (transport, mut peer) = peer();
            let client = Client::start(transport, config());
            let mut server = peer.accept().await?;
            let mut hello = Handshake::new(revision);
            let declared = if has_model {
                r#"{"sampling":{}}"#
            } else {
                "{}"
            };
            hello.capabilities(ServerCapabilities::from_json(declared)?);
            server.handshake(hello).await?;
            client.ready().await?;
            let asked = CreateMessageParams::new([SamplingMessage::new(Role::User, "hi")], 10);
            let asking = client.sampling().create_message(&asked).send();
            if !has_model {
                let error = asking.await.expect_err("no handler is called");
                assert_eq!(error.kind(), ErrorKind::CapabilityNotSupported);
                assert!(error.to_string().contains("`sampling`"), "{error}");
                continue;
            }
            let request = server.expect("sampling/createMessage").await?;
            assert!(request.params().as_str().contains(r#""maxTokens":10"#));
            let answer = r#"{"resultType":"complete","role":"assistant","model":"m","content":{"type":"text","text":"ho"}}"#;
            server.reply(&request, answer).await?;
            assert_eq!(asking.await?.model, "m");
        }
    }
    Ok(())
}

// proves: FT-5
#[tokio::test(start_paused = true)]
async fn a_roots_change_that_cannot_be_sent_is_an_error() -> Test {
    let mut config = config();
    config.roots([]);
    config.connection().limits().max_queued(1);
    let (client, mut server, _peer) = connected_with(config, OLD).await?;
    client.notify("notifications/x", ())?;
    let roots = [Root::new("file:///a")];
    let error = client.roots().set(roots.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Backpressure);
    assert_eq!(client.roots().get().as_deref(), Some(&roots[..]));
    server.expect_notification("notifications/x").await?;
    client.roots().set(roots)?;
    let method = "notifications/roots/list_changed";
    server.expect_notification(method).await?;
    Ok(())
}
