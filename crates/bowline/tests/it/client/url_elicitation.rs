//! Calls that a server of 2025-11-25 refuses until URL elicitations are done.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bowline::client::features::PendingToolCall;
use bowline::testing::{Conversation, Unexpected};
use bowline::types::elicitation::{ElicitAction, ElicitResult};
use bowline::types::{ErrorObject, RawJson};
use bowline::{ClientConfig, ErrorKind};
use tokio::time::Instant;

use crate::client::support::{NEW, OLD, Test, able, all_is_read, config};

const DONE: &str = r#"{"content":[{"type":"text","text":"done"}]}"#;
const COMPLETE: &str = "notifications/elicitation/complete";

/// A client whose user takes this action on every URL elicitation, and the URLs that were opened.
fn visitor(action: ElicitAction) -> (ClientConfig, Arc<Mutex<Vec<String>>>) {
    let opened = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&opened);
    let mut config = config();
    config.elicitation_url(move |page| {
        noted.lock().expect("no panic").push(page.url);
        let answer = ElicitResult::new(action.clone());
        async move { Ok(answer) }
    });
    (config, opened)
}

/// Refuses the next call until these pages were visited.
async fn refuse(server: &mut Conversation, pages: &[&str]) -> Result<(), Unexpected> {
    let request = server.expect("tools/call").await?;
    assert!(request.params().as_str().contains(r#""name":"files""#));
    let pages: Vec<_> = pages
        .iter()
        .map(|id| {
            format!(
                r#"{{"mode":"url","message":"m","url":"https://a/{id}","elicitationId":"{id}"}}"#
            )
        })
        .collect();
    let data = format!(r#"{{"elicitations":[{}]}}"#, pages.join(","));
    let mut error = ErrorObject::new(-32042, "visit this first");
    error.data = Some(RawJson::parse(&data).expect("JSON"));
    server.reply_error(&request, &error).await
}

async fn complete(server: &mut Conversation, id: &str) -> Result<(), Unexpected> {
    let params = format!(r#"{{"elicitationId":"{id}"}}"#);
    server.notify(COMPLETE, params).await
}

async fn succeed(server: &mut Conversation) -> Result<(), Unexpected> {
    let request = server.expect("tools/call").await?;
    assert!(request.params().as_str().contains(r#""name":"files""#));
    server.reply(&request, DONE).await
}

/// The call has ended with the server's refusal.
async fn is_refused(answer: PendingToolCall, page: &str) {
    let error = answer.await.expect_err("it was refused");
    assert_eq!(error.kind(), ErrorKind::JsonRpc);
    let pages = error.url_elicitations();
    assert_eq!(pages[0].elicitation_id.as_deref(), Some(page));
    assert_eq!(error.operation(), Some("tools/call"));
}

// proves: FT-8
#[tokio::test(start_paused = true)]
async fn a_call_is_retried_when_the_server_completes_its_elicitations() -> Test {
    let (config, opened) = visitor(ElicitAction::Accept);
    let (client, mut server, _peer) = able(config, OLD).await?;
    let call = tokio::spawn(client.tools().call("files", ()).send());
    refuse(&mut server, &["a", "b"]).await?;
    complete(&mut server, "x").await?;
    all_is_read(&client, &mut server).await?;
    complete(&mut server, "b").await?;
    all_is_read(&client, &mut server).await?;
    complete(&mut server, "a").await?;
    // One page may lead to another.
    refuse(&mut server, &["c"]).await?;
    all_is_read(&client, &mut server).await?;
    complete(&mut server, "c").await?;
    succeed(&mut server).await?;
    assert_eq!(call.await??.text(), "done");
    let opened = opened.lock().unwrap();
    assert_eq!(*opened, ["https://a/a", "https://a/b", "https://a/c"]);
    Ok(())
}

// proves: FT-8
#[tokio::test(start_paused = true)]
async fn a_call_is_made_again_when_the_user_is_done() -> Test {
    let (mut config, _) = visitor(ElicitAction::Accept);
    config.on_url_elicitation_required(|pages| async move {
        pages[0].elicitation_id.as_deref() != Some("no")
    });
    let (client, mut server, _peer) = able(config, OLD).await?;
    let call = tokio::spawn(client.tools().call("files", ()).send());
    refuse(&mut server, &["a"]).await?;
    succeed(&mut server).await?;
    assert_eq!(call.await??.text(), "done");

    // A page that was no help is not opened again.
    let call = tokio::spawn(client.tools().call("files", ()).send());
    refuse(&mut server, &["a"]).await?;
    refuse(&mut server, &["a"]).await?;
    let error = call.await?.expect_err("it was refused");
    assert_eq!(error.url_elicitations().len(), 1);

    let call = client.tools().call("files", ()).send();
    refuse(&mut server, &["no"]).await?;
    is_refused(call, "no").await;

    // Pages without an end.
    let call = tokio::spawn(client.tools().call("files", ()).send());
    for id in ["a", "b", "c", "d"] {
        refuse(&mut server, &[id]).await?;
    }
    let error = call.await?.expect_err("it was refused");
    assert_eq!(error.url_elicitations().len(), 1);
    Ok(())
}

// proves: FT-8
#[tokio::test(start_paused = true)]
async fn a_call_whose_pages_are_not_opened_ends_with_the_refusal() -> Test {
    for (config, revision) in [
        (config(), OLD),
        (visitor(ElicitAction::Decline).0, OLD),
        (visitor(ElicitAction::Cancel).0, OLD),
        // It has no such refusal.
        (visitor(ElicitAction::Accept).0, NEW),
    ] {
        let (client, mut server, _peer) = able(config, revision).await?;
        let call = client.tools().call("files", ()).send();
        refuse(&mut server, &["a", "b"]).await?;
        is_refused(call, "a").await;
    }
    // There are more than the limit.
    let (config, opened) = visitor(ElicitAction::Accept);
    let (client, mut server, _peer) = able(config, OLD).await?;
    let call = client.tools().call("files", ()).send();
    let ids: Vec<String> = (0..17).map(|id| id.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    refuse(&mut server, &ids).await?;
    is_refused(call, "0").await;
    assert!(opened.lock().unwrap().is_empty());
    Ok(())
}

// proves: FT-8
#[tokio::test(start_paused = true)]
async fn pages_are_waited_for_in_the_calls_own_time() -> Test {
    let (config, _) = visitor(ElicitAction::Accept);
    let (client, mut server, _peer) = able(config, OLD).await?;
    let began = Instant::now();
    let call = client.tools().call("files", ());
    let call = call.max_total(Duration::from_secs(90)).send();
    refuse(&mut server, &["a"]).await?;
    is_refused(call, "a").await;
    assert_eq!(began.elapsed().as_secs(), 90);

    // Others may give it up meanwhile, and while it is made again.
    for is_made_again in [false, true] {
        let call = client.tools().call("files", ()).send();
        let cancel = call.cancel_handle();
        let call = tokio::spawn(call);
        refuse(&mut server, &["a"]).await?;
        all_is_read(&client, &mut server).await?;
        if is_made_again {
            complete(&mut server, "a").await?;
            server.expect("tools/call").await?;
        }
        assert!(cancel.cancel("enough"));
        let error = call.await?.expect_err("it was given up");
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert!(!cancel.cancel("again"));
        if is_made_again {
            server
                .expect_notification("notifications/cancelled")
                .await?;
        }
    }
    Ok(())
}

// proves: CN-7
#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_while_a_page_is_visited_was_sent() -> Test {
    let (config, opened) = visitor(ElicitAction::Accept);
    let (client, mut server, _peer) = able(config, OLD).await?;
    let answer = client.tools().call("files", ()).send();
    let cancel = answer.cancel_handle();
    let answer = tokio::spawn(answer);
    refuse(&mut server, &["one"]).await?;
    while opened.lock().expect("no panic").is_empty() {
        tokio::task::yield_now().await;
    }
    assert!(cancel.cancel("changed my mind"));
    let error = answer.await?.unwrap_err();
    assert_eq!(
        (error.kind(), error.may_have_run()),
        (ErrorKind::Cancelled, Some(true))
    );
    Ok(())
}
