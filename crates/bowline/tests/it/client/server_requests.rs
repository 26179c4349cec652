//! Requests of the server, and its questions about a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bowline::testing::{Conversation, Unexpected};
use bowline::types::elicitation::ElicitResult;
use bowline::types::method::requests;
use bowline::types::roots::{ListRootsResult, Root};
use bowline::types::{ErrorObject, JsonObject, RequestId};
use bowline::{ClientConfig, ConnectionState, Error, ErrorKind, Payload};
use tokio::sync::mpsc;

use crate::client::support::{
    NEW, OLD, Test, again, all_is_read, config, connected, connected_with,
};

const ASKED: &str = r#"{"message":"who?","requestedSchema":{"type":"object","properties":{}}}"#;

fn object(text: &str) -> Payload {
    JsonObject::parse(text).expect("an object").into()
}

/// Answers questions, and counts them.
fn answering(count: &Arc<AtomicUsize>) -> ClientConfig {
    let mut config = config();
    let count = Arc::clone(count);
    config.on_raw_request("elicitation/create", move |request| {
        count.fetch_add(1, Ordering::SeqCst);
        assert!(request.params().is_some());
        async { Ok(object(r#"{"action":"decline"}"#)) }
    });
    config
}

// proves: FT-5, ER-4
#[tokio::test(start_paused = true)]
async fn requests_are_answered_by_their_handlers() -> Test {
    let count = Arc::default();
    let mut config = answering(&count);
    config.on_request::<requests::ListRoots, _, _>(|_| async {
        Ok(ListRootsResult::new([Root::new("file:///tmp")]))
    });
    config.on_raw_request("x/refuses", |request| async move {
        Err(ErrorObject::new(-1, format!("no {}", request.method())))
    });
    let (_client, mut server, _peer) = connected_with(config, OLD).await?;
    let roots = server.request("roots/list", ()).await?;
    assert_eq!(
        roots.unwrap().as_str(),
        r#"{"roots":[{"uri":"file:///tmp"}]}"#
    );
    let declined = server.request("elicitation/create", ASKED).await?;
    assert_eq!(declined.unwrap().as_str(), r#"{"action":"decline"}"#);
    let refused = server.request("x/refuses", "{}").await?.unwrap_err();
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (-1, "no x/refuses")
    );
    let unknown = server.request("x/unknown", "{}").await?.unwrap_err();
    assert_eq!(unknown.code, -32601);
    server.request("ping", ()).await?.expect("always");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn parameters_that_a_handler_can_not_read_are_refused() -> Test {
    let mut config = config();
    config.on_request::<requests::Elicit, _, _>(|_| async {
        Err(ErrorObject::new(-1, "the handler must not run"))
    });
    let (_client, mut server, _peer) = connected_with(config, OLD).await?;
    let refused = server
        .request("elicitation/create", r#"{"message":3}"#)
        .await?;
    assert_eq!(refused.unwrap_err().code, -32602);
    Ok(())
}

// proves: CN-24, ER-4
#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_is_an_error_without_its_words() -> Test {
    let mut config = config();
    config.on_raw_request("x/later", |_| async { panic!("secret") });
    config.on_raw_request("x/at-once", |_| -> std::future::Ready<_> {
        panic!("secret")
    });
    let (client, mut server, _peer) = connected_with(config, OLD).await?;
    for method in ["x/later", "x/at-once"] {
        let error = server.request(method, "{}").await?.unwrap_err();
        assert_eq!(
            (error.code, error.message.as_str()),
            (-32603, "the handler failed")
        );
        assert!(error.data.is_none());
    }
    assert_eq!(
        (client.state(), client.session()),
        (ConnectionState::Ready, 1)
    );
    all_is_read(&client, &mut server).await?;
    Ok(())
}

/// A handler that never ends, and signals when it begins and when it is dropped.
fn endless(config: &mut ClientConfig) -> mpsc::UnboundedReceiver<&'static str> {
    struct ReportsDrop(mpsc::UnboundedSender<&'static str>);
    impl Drop for ReportsDrop {
        fn drop(&mut self) {
            let _ = self.0.send("dropped");
        }
    }
    let (sender, receiver) = mpsc::unbounded_channel();
    config.on_raw_request("x/endless", move |_| {
        let report = ReportsDrop(sender.clone());
        async move {
            report.0.send("begun").expect("it is received");
            std::future::pending().await
        }
    });
    receiver
}

async fn cancel(server: &mut Conversation, id: &RequestId) -> Test {
    let params = format!(r#"{{"requestId":{id},"reason":"enough"}}"#);
    server.notify("notifications/cancelled", params).await?;
    Ok(())
}

// proves: CN-22, FT-10
#[tokio::test(start_paused = true)]
async fn a_request_that_the_server_cancels_drops_its_handler_and_has_no_answer() -> Test {
    let mut config = config();
    let mut events = endless(&mut config);
    let (client, mut server, _peer) = connected_with(config, OLD).await?;
    let id = server.send_request("x/endless", "{}").await?;
    assert_eq!(events.recv().await, Some("begun"));
    cancel(&mut server, &id).await?;
    assert_eq!(events.recv().await, Some("dropped"));
    all_is_read(&client, &mut server).await?;
    // An unknown id matches no request.
    cancel(&mut server, &id).await?;
    all_is_read(&client, &mut server).await?;
    Ok(())
}

// proves: CN-5, CN-25
#[tokio::test(start_paused = true)]
async fn handlers_are_dropped_with_their_connection() -> Test {
    let mut config = config();
    let mut events = endless(&mut config);
    let (client, mut server, mut peer) = connected_with(config, OLD).await?;
    server.send_request("x/endless", "{}").await?;
    server.send_request("x/endless", "{}").await?;
    assert_eq!(
        (events.recv().await, events.recv().await),
        (Some("begun"), Some("begun"))
    );
    server.hang_up();
    assert_eq!(
        (events.recv().await, events.recv().await),
        (Some("dropped"), Some("dropped"))
    );
    let mut server = again(&client, &mut peer, OLD).await?;
    server.send_request("x/endless", "{}").await?;
    assert_eq!(events.recv().await, Some("begun"));
    client.stop().await;
    assert_eq!(events.recv().await, Some("dropped"));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn room_for_requests_is_free_again_when_handlers_are_gone() -> Test {
    let mut config = config();
    config.connection().limits().max_peer_requests(2);
    let mut events = endless(&mut config);
    let (_client, mut server, _peer) = connected_with(config, OLD).await?;
    for _ in 0..10 {
        let id = server.send_request("x/endless", "{}").await?;
        assert_eq!(events.recv().await, Some("begun"));
        cancel(&mut server, &id).await?;
        assert_eq!(events.recv().await, Some("dropped"));
    }
    for _ in 0..2 {
        server.send_request("x/endless", "{}").await?;
        assert_eq!(events.recv().await, Some("begun"));
    }
    let refused = server.request("x/endless", "{}").await?;
    assert!(refused.is_err(), "one more than there may be");
    Ok(())
}

fn questions(count: usize) -> String {
    let asked = (0..count)
        .map(|number| format!(r#""q{number}":{{"method":"elicitation/create","params":{ASKED}}}"#));
    let asked = asked.collect::<Vec<_>>().join(",");
    format!(r#"{{"resultType":"input_required","inputRequests":{{{asked}}},"requestState":"s"}}"#)
}

// proves: PV-3, CN-8
#[tokio::test(start_paused = true)]
async fn questions_about_a_call_go_to_the_same_handler() -> Test {
    let count = Arc::default();
    let (client, mut server, _peer) = connected_with(answering(&count), NEW).await?;
    let answer = client.call("tools/call", r#"{"name":"x"}"#).send();
    for round in 0..3 {
        let request = server.expect("tools/call").await?;
        let params = request.params().as_str();
        assert_eq!(
            params.contains(r#""requestState":"s""#),
            round > 0,
            "{params}"
        );
        assert_eq!(
            params.matches(r#"{"action":"decline"}"#).count(),
            round,
            "{params}"
        );
        match round {
            2 => {
                server
                    .reply(&request, r#"{"resultType":"complete","content":[]}"#)
                    .await?
            }
            _ => server.reply(&request, questions(round + 1)).await?,
        }
    }
    answer.await?;
    assert_eq!(count.load(Ordering::SeqCst), 3);
    Ok(())
}

// proves: CN-8
#[tokio::test(start_paused = true)]
async fn the_time_of_a_call_stands_still_while_our_handler_runs() -> Test {
    let mut config = config();
    config.on_raw_request("elicitation/create", |_| async {
        tokio::time::sleep(Duration::from_secs(300)).await;
        Ok(object(r#"{"action":"cancel"}"#))
    });
    let (client, mut server, _peer) = connected_with(config, NEW).await?;
    server.timeout(Duration::from_secs(1000));
    let call = client.call("tools/call", r#"{"name":"x"}"#);
    let answer = call.timeout(Duration::from_secs(5)).send();
    let request = server.expect("tools/call").await?;
    server.reply(&request, questions(1)).await?;
    let request = server.expect("tools/call").await?;
    server
        .reply(&request, r#"{"resultType":"complete","content":[]}"#)
        .await?;
    answer.await?;
    Ok(())
}

// proves: CN-8
#[tokio::test(start_paused = true)]
async fn input_requests_without_a_handler_end_the_call() -> Test {
    let (client, mut server, _peer) = connected(NEW).await?;
    let answer = client.call("tools/call", r#"{"name":"x"}"#).send();
    let request = server.expect("tools/call").await?;
    server.reply(&request, questions(1)).await?;
    let error = answer.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CapabilityNotSupported);
    assert_eq!(error.operation(), Some("tools/call"));
    assert!(error.to_string().contains("elicitation/create"), "{error}");
    assert_eq!(
        (client.pending(), client.state()),
        (0, ConnectionState::Ready)
    );
    all_is_read(&client, &mut server).await?;
    Ok(())
}

/// A call whose server asks this, and how it ends.
async fn ends(config: ClientConfig, question: &str) -> Result<Error, Unexpected> {
    let (client, mut server, _peer) = connected_with(config, NEW).await?;
    let answer = client.call("tools/call", r#"{"name":"x"}"#).send();
    let request = server.expect("tools/call").await?;
    let asks = format!(r#"{{"resultType":"input_required","inputRequests":{{"q":{question}}}}}"#);
    server.reply(&request, asks).await?;
    let error = answer.await.expect_err("there is no answer");
    all_is_read(&client, &mut server).await?;
    Ok(error)
}

// proves: CN-8, ER-1
#[tokio::test(start_paused = true)]
async fn errors_distinguish_why_an_input_request_failed() -> Test {
    let form = r#"{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}"#;
    let page = r#"{"method":"elicitation/create","params":{"mode":"url","message":"?","url":"https://a"}}"#;
    let odd = r#"{"method":"elicitation/create","params":{}}"#;
    let model = r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#;

    let mut refuses = config();
    refuses.sampling(|_| async { Err(ErrorObject::new(-1, "no")) });
    let mut fills_in_nothing = config();
    fills_in_nothing.elicitation(|_| async { Ok(ElicitResult::accept([("b", "x")])) });
    let mut panics = config();
    panics.elicitation(|_| async { panic!("secret words") });
    let mut fails = config();
    fails.elicitation(|_| async { Err(ErrorObject::new(-32000, "no screen")) });
    // An error is what it is, and not what its words are.
    let mut same_words = config();
    same_words.elicitation(|_| async {
        let words = "this client has not declared this mode of elicitation";
        Err(ErrorObject::new(-32602, words))
    });
    for (config, question, kind, words, code) in [
        (
            refuses,
            model,
            ErrorKind::Cancelled,
            "tools/call: cancelled: this client rejected sampling/createMessage: no (code -1)",
            -1,
        ),
        (
            config(),
            model,
            ErrorKind::CapabilityNotSupported,
            "not supported by this client: the server requested sampling/createMessage",
            -1,
        ),
        (
            fills_in_nothing.clone(),
            page,
            ErrorKind::CapabilityNotSupported,
            "this client has not declared this mode of elicitation",
            -32602,
        ),
        (
            same_words,
            form,
            ErrorKind::Protocol,
            "invalid elicitation/create request",
            -32602,
        ),
        (
            fills_in_nothing.clone(),
            form,
            ErrorKind::Handler,
            "a handler of this client failed: the server requested elicitation/create",
            -32603,
        ),
        (
            panics,
            form,
            ErrorKind::Handler,
            "the handler failed",
            -32603,
        ),
        (fails, form, ErrorKind::Handler, "no screen", -32000),
        (
            fills_in_nothing,
            odd,
            ErrorKind::Protocol,
            "request from the server",
            -32602,
        ),
    ] {
        let error = ends(config, question).await?;
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(error.handler_error().map(|error| error.code), Some(code));
        assert!(error.server_error().is_none());
        assert_eq!(error.operation(), Some("tools/call"));
    }
    Ok(())
}

// proves: CN-8
#[tokio::test(start_paused = true)]
async fn too_many_input_requests_end_the_call_before_any_handler_runs() -> Test {
    let count = Arc::default();
    let mut config = answering(&count);
    config.link().max_questions(3);
    for (config, most) in [(config, 3), (answering(&count), 100)] {
        count.store(0, Ordering::SeqCst);
        let (client, mut server, _peer) = connected_with(config, NEW).await?;
        let answer = client.call("tools/call", r#"{"name":"x"}"#).send();
        let request = server.expect("tools/call").await?;
        server.reply(&request, questions(most)).await?;
        let request = server.expect("tools/call").await?;
        let answers = request.params().as_str().matches("decline").count();
        assert_eq!((answers, count.load(Ordering::SeqCst)), (most, most));
        server.reply(&request, questions(most + 1)).await?;
        let error = answer.await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
        let words = format!("the server sent more than {most} input requests at once");
        assert!(error.to_string().ends_with(&words), "{error}");
        all_is_read(&client, &mut server).await?;
        assert_eq!(
            count.load(Ordering::SeqCst),
            most,
            "the handler was not called"
        );
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn two_questions_of_one_name_have_one_answer() -> Test {
    let count = Arc::default();
    let (client, mut server, _peer) = connected_with(answering(&count), NEW).await?;
    let _answer = client.call("tools/call", r#"{"name":"x"}"#).send();
    let request = server.expect("tools/call").await?;
    server
        .reply(&request, questions(2).replace("q1", "q0"))
        .await?;
    let request = server.expect("tools/call").await?;
    assert_eq!(request.params().as_str().matches("q0").count(), 1);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_between_two_questions_hears_no_more() -> Test {
    let mut config = config();
    let count = Arc::new(AtomicUsize::new(0));
    let (begun, mut events) = mpsc::unbounded_channel();
    let counted = Arc::clone(&count);
    // Waits for nothing, so that only the client itself lets others run.
    config.on_raw_request("elicitation/create", move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        begun.send(()).expect("it is received");
        async { Ok(object(r#"{"action":"decline"}"#)) }
    });
    let (client, mut server, _peer) = connected_with(config, NEW).await?;
    let answer = client.call("tools/call", r#"{"name":"x"}"#).send();
    let request = server.expect("tools/call").await?;
    server.reply(&request, questions(100)).await?;
    events.recv().await.expect("the first question");
    drop(answer);
    all_is_read(&client, &mut server).await?;
    let asked = count.load(Ordering::SeqCst);
    assert!(asked < 10, "{asked} questions were asked");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_while_it_is_asked_drops_the_handler() -> Test {
    let mut config = config();
    let mut events = endless(&mut config);
    let (client, mut server, _peer) = connected_with(config, NEW).await?;
    let answer = client.call("tools/call", r#"{"name":"x"}"#).send();
    let request = server.expect("tools/call").await?;
    let asked = questions(1).replace("elicitation/create", "x/endless");
    server.reply(&request, asked).await?;
    assert_eq!(events.recv().await, Some("begun"));
    drop(answer);
    assert_eq!(events.recv().await, Some("dropped"));
    Ok(())
}

// proves: CN-8
#[tokio::test(start_paused = true)]
async fn time_stands_still_while_a_person_is_asked() -> Test {
    let mut config = config();
    config.on_raw_request("elicitation/create", |_| async {
        tokio::time::sleep(Duration::from_secs(100)).await;
        Ok(Payload::EMPTY)
    });
    let (client, mut server, _peer) = connected_with(config, OLD).await?;
    let answer = client.call("tools/call", r#"{"name":"x"}"#).send();
    let call = server.expect("tools/call").await?;
    server.timeout(Duration::from_secs(200));
    let answered = server.request("elicitation/create", r#"{"message":"?"}"#);
    answered.await?.expect("a person answers");
    server.reply(&call, r#"{"content":[]}"#).await?;
    answer.await?;
    // And then it goes on.
    let error = client.call("tools/list", ()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(error.may_have_run(), Some(true));
    Ok(())
}
