//! Notifications of the server, and their handlers.

use std::future::Future as _;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use bowline::ConnectionState;
use bowline::client::{Router, ServerNotification};
use bowline::testing::{Conversation, Unexpected};
use bowline::types::method::notifications;
use tokio::sync::mpsc;

use crate::client::support::{
    NEW, OLD, Test, again, all_is_read, config, connected, connected_with,
};

const MESSAGE: &str = "notifications/message";
const TOOLS: &str = "notifications/tools/list_changed";

type Seen = mpsc::UnboundedReceiver<String>;

/// Forwards what a handler gets.
fn seeing(router: &Router, method: &'static str) -> Seen {
    let (sender, receiver) = mpsc::unbounded_channel();
    router.on(method, move |note| {
        sender.send(words(&note)).expect("it is received");
        async {}
    });
    receiver
}

fn words(note: &ServerNotification) -> String {
    let params = note.params().map_or("", |params| params.as_str());
    let number: String = params.chars().filter(char::is_ascii_digit).collect();
    format!("{number}+{}", note.missed())
}

async fn log(server: &mut Conversation, number: usize) -> Result<(), Unexpected> {
    let params = format!(r#"{{"level":"info","data":{number}}}"#);
    server.notify(MESSAGE, params).await
}

// proves: FT-13
#[tokio::test(start_paused = true)]
async fn each_handler_gets_notifications_in_order() -> Test {
    for revision in [OLD, NEW] {
        let config = config();
        let mut first = seeing(config.router(), MESSAGE);
        let (client, mut server, mut peer) = connected_with(config, revision).await?;
        let mut second = seeing(client.notifications(), MESSAGE);
        for number in 0..50 {
            log(&mut server, number).await?;
        }
        server.hang_up();
        let mut server = again(&client, &mut peer, revision).await?;
        log(&mut server, 50).await?;
        for number in 0..=50 {
            let expected = Some(format!("{number}+0"));
            assert_eq!(first.recv().await, expected);
            assert_eq!(second.recv().await, expected);
        }
    }
    Ok(())
}

// proves: FT-13
#[tokio::test(start_paused = true)]
async fn handlers_get_the_methods_that_they_are_registered_for() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let note = |who: &str, what: &str| format!("{who} {what}");
    let sends = |who: &'static str| {
        let seen = Arc::clone(&seen);
        move |what: &str| seen.lock().unwrap().push(note(who, what))
    };
    let router = client.notifications();
    let (one, any, typed) = (sends("one"), sends("any"), sends("typed"));
    router.on(MESSAGE, move |note| {
        one(note.method());
        async {}
    });
    router.on_any(move |note| {
        any(note.method());
        async {}
    });
    router.on_typed::<notifications::LoggingMessage, _, _>(move |message| {
        typed(message.data.as_str());
        async {}
    });
    let (inline, all_inline) = (sends("inline"), sends("all"));
    router.on_inline(Some(MESSAGE), move |note| inline(note.method()));
    router.on_inline(None, move |note| all_inline(note.method()));

    server.notify("notifications/odd", "{}").await?;
    log(&mut server, 7).await?;
    // What can't be decoded is delivered to handlers that don't decode it.
    server.notify(MESSAGE, r#"{"level":3}"#).await?;
    all_is_read(&client, &mut server).await?;
    let mut last = seeing(router, "notifications/last");
    server.notify("notifications/last", "{}").await?;
    last.recv().await;
    let seen = seen.lock().unwrap().clone();
    let of = |who: &str| seen.iter().filter(|line| line.starts_with(who)).count();
    assert_eq!((of("one"), of("any"), of("typed")), (2, 4, 1), "{seen:?}");
    assert_eq!((of("inline"), of("all")), (2, 4), "{seen:?}");
    assert!(seen.contains(&note("typed", "7")));
    Ok(())
}

// proves: FT-13
#[tokio::test(start_paused = true)]
async fn inline_handlers_are_done_before_what_comes_next() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let seeing = Arc::clone(&seen);
    let router = client.notifications();
    router.on_inline(Some(MESSAGE), move |note| {
        seeing.lock().unwrap().push(words(note))
    });
    let answer = client.call("tools/list", ()).send();
    let request = server.expect("tools/list").await?;
    log(&mut server, 1).await?;
    server.reply(&request, r#"{"tools":[]}"#).await?;
    answer.await?;
    assert_eq!(*seen.lock().unwrap(), ["1+0"]);
    Ok(())
}

// proves: FT-13, MO-1
#[tokio::test(start_paused = true)]
async fn an_answer_overtakes_nothing_that_came_before_it() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let answer = client.call("tools/list", ()).send();
    let request = server.expect("tools/list").await?;
    // The handler polls the call, which must not have its answer yet.
    let (handled, mut is_handled) = mpsc::unbounded_channel();
    let answer = Mutex::new(Some(answer));
    client.notifications().on_inline(Some(MESSAGE), move |_| {
        let mut answer = answer.lock().unwrap().take().expect("one notification");
        let mut cx = Context::from_waker(Waker::noop());
        let is_answered = Pin::new(&mut answer).poll(&mut cx).is_ready();
        handled.send((is_answered, answer)).expect("it is received");
    });
    // Both at once, so that they are read at once.
    let log =
        format!(r#"{{"jsonrpc":"2.0","method":"{MESSAGE}","params":{{"level":"info","data":1}}}}"#);
    let (id, result) = (request.id(), r#"{"tools":[]}"#);
    let reply = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    server.send_raw(format!("{log}\n{reply}\n")).await?;
    let (is_answered, answer) = is_handled.recv().await.expect("the handler runs");
    assert!(!is_answered, "the response has overtaken a notification");
    answer.await?;
    Ok(())
}

// proves: FT-13
#[tokio::test(start_paused = true)]
async fn a_removed_handler_gets_no_more_notifications() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let router = client.notifications().clone();
    let (sender, mut seen) = mpsc::unbounded_channel();
    let id = router.on(MESSAGE, {
        let sender = sender.clone();
        move |note| {
            sender.send(words(&note)).unwrap();
            async {}
        }
    });
    let inline = router.on_inline(Some(MESSAGE), move |note| {
        sender.send(format!("inline {}", words(note))).unwrap();
    });
    log(&mut server, 1).await?;
    assert_eq!(seen.recv().await.as_deref(), Some("inline 1+0"));
    assert_eq!(seen.recv().await.as_deref(), Some("1+0"));
    assert!(router.remove(inline) && router.remove(id) && !router.remove(id));
    log(&mut server, 2).await?;
    all_is_read(&client, &mut server).await?;
    assert_eq!(seen.recv().await, None, "no handler is left");
    Ok(())
}

// proves: FT-13, CN-24
#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_does_not_affect_others() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let router = client.notifications();
    router.on_inline(None, |_| panic!("inline"));
    router.on(MESSAGE, |_| async { panic!("later") });
    router.on(MESSAGE, |_| -> std::future::Ready<()> { panic!("at once") });
    let mut seen = seeing(router, MESSAGE);
    for number in 0..3 {
        log(&mut server, number).await?;
        assert_eq!(seen.recv().await, Some(format!("{number}+0")));
    }
    all_is_read(&client, &mut server).await?;
    assert_eq!(
        (client.state(), client.session()),
        (ConnectionState::Ready, 1)
    );
    Ok(())
}

// proves: F-BP-04, FT-13
#[tokio::test(start_paused = true)]
async fn notifications_that_come_faster_than_they_are_handled_are_dropped_and_counted() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let router = client.notifications();
    router.limit(10, 1 << 20);
    let (sender, mut seen) = mpsc::unbounded_channel();
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    router.on_any({
        let gate = Arc::clone(&gate);
        move |note| {
            let (gate, sender) = (Arc::clone(&gate), sender.clone());
            async move {
                let method = note.method().rsplit('/').next().unwrap();
                sender.send(format!("{method} {}", words(&note))).unwrap();
                gate.acquire().await.unwrap().forget();
            }
        }
    });
    log(&mut server, 0).await?;
    assert_eq!(seen.recv().await.as_deref(), Some("message 0+0"));
    // The handler is busy now: others wait, and the connection does not.
    for number in 1..=100 {
        log(&mut server, number).await?;
        server.notify(TOOLS, ()).await?;
    }
    all_is_read(&client, &mut server).await?;
    assert_eq!(router.dropped(), 90);
    gate.add_permits(1000);
    assert_eq!(seen.recv().await.as_deref(), Some("list_changed +90"));
    for number in 91..=100 {
        let received = seen.recv().await;
        assert_eq!(received, Some(format!("message {number}+0")));
    }
    // It is delivered again once it was handled.
    server.notify(TOOLS, ()).await?;
    assert_eq!(seen.recv().await.as_deref(), Some("list_changed +0"));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn clients_of_one_configuration_hear_only_their_own_server() -> Test {
    let config = config();
    let (sender, mut both) = mpsc::unbounded_channel();
    config.router().on(TOOLS, move |_| {
        sender.send(()).expect("it is received");
        async {}
    });
    let (first, mut of_first, _peer) = connected_with(config.clone(), OLD).await?;
    let (second, mut of_second, _other) = connected_with(config, OLD).await?;
    let mut seen = seeing(first.notifications(), MESSAGE);
    let mut others = seeing(second.notifications(), MESSAGE);
    log(&mut of_second, 2).await?;
    assert_eq!(others.recv().await, Some("2+0".into()));
    log(&mut of_first, 1).await?;
    assert_eq!(seen.recv().await, Some("1+0".into()));
    // What waits once waits once for each of them.
    of_first.notify(TOOLS, ()).await?;
    of_second.notify(TOOLS, ()).await?;
    assert_eq!((both.recv().await, both.recv().await), (Some(()), Some(())));
    Ok(())
}
