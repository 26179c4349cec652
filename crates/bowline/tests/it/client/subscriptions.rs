//! Subscriptions, and the level of the log, across connections.

use std::time::Duration;

use bowline::client::SubscriptionEvent;
use bowline::testing::{Conversation, Handshake, Unexpected};
use bowline::types::ErrorObject;
use bowline::types::capabilities::ServerCapabilities;
use bowline::types::logging::LoggingLevel;
use bowline::types::subscriptions::SubscriptionFilter;
use bowline::types::tasks::EXTENSION;
use bowline::{Client, ErrorKind};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::client::support::{NEW, OLD, Test, able, able_again, all_is_read, config};

const UPDATED: &str = "notifications/resources/updated";
const LISTEN: &str = "subscriptions/listen";

/// Takes the next subscription of the stateless era, and honours this of it.
async fn listen(server: &mut Conversation, honoured: &Value) -> Result<i64, Unexpected> {
    let request = server.expect(LISTEN).await?;
    let id = request.id().as_i64().expect("a number");
    let params = json!({
        "notifications": honoured,
        "_meta": {"io.modelcontextprotocol/subscriptionId": id},
    });
    let method = "notifications/subscriptions/acknowledged";
    server.notify(method, params.to_string().as_str()).await?;
    Ok(id)
}

// proves: F-LC-15
#[tokio::test(start_paused = true)]
async fn a_subscription_of_the_stateless_era_outlives_its_connection() -> Test {
    let (client, mut server, mut peer) = able(config(), NEW).await?;
    let honoured = json!({"resourceSubscriptions": ["x:/a"]});
    let resources = client.resources();
    let (watched, id) = tokio::join!(
        resources.subscribe("x:/a").into_future(),
        listen(&mut server, &honoured)
    );
    let (mut watched, _) = (watched?, id?);
    server.notify(UPDATED, r#"{"uri":"x:/b"}"#).await?;
    server.notify(UPDATED, r#"{"uri":"x:/a/part"}"#).await?;
    assert_eq!(
        watched.next().await,
        Some(SubscriptionEvent::Resource("x:/a/part".into()))
    );

    server.hang_up();
    let mut server = able_again(&client, &mut peer, NEW).await?;
    let id = listen(&mut server, &honoured).await?;
    assert_eq!(
        watched.next().await,
        Some(SubscriptionEvent::Unknown),
        "there was a gap"
    );
    drop(watched);
    let cancelled = server
        .expect_notification("notifications/cancelled")
        .await?;
    assert!(
        cancelled
            .params()
            .as_str()
            .contains(&format!(r#""requestId":{id}"#))
    );
    Ok(())
}

// proves: F-LC-15
#[tokio::test(start_paused = true)]
async fn a_subscription_of_the_handshake_era_outlives_its_connection() -> Test {
    let (client, mut server, mut peer) = able(config(), OLD).await?;
    let subscribing = client.clone();
    let subscribing = tokio::spawn(async move { subscribing.resources().subscribe("x:/a").await });
    let request = server.expect("resources/subscribe").await?;
    server.reply(&request, "{}").await?;
    let mut watched = subscribing.await??;
    for _ in 0..10 {
        server.notify(UPDATED, r#"{"uri":"x:/a"}"#).await?;
    }
    all_is_read(&client, &mut server).await?;
    assert_eq!(
        watched.next().await,
        Some(SubscriptionEvent::Resource("x:/a".into()))
    );

    server.hang_up();
    let mut server = able_again(&client, &mut peer, OLD).await?;
    let request = server.expect("resources/subscribe").await?;
    server.reply(&request, "{}").await?;
    assert_eq!(
        watched.next().await,
        Some(SubscriptionEvent::Unknown),
        "ten are one event"
    );
    drop(watched);
    server.expect("resources/unsubscribe").await?;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_is_refused_is_an_error() -> Test {
    let (client, mut server, _peer) = able(config(), OLD).await?;
    let subscribing = client.clone();
    let subscribing = tokio::spawn(async move { subscribing.resources().subscribe("x:/a").await });
    let request = server.expect("resources/subscribe").await?;
    server
        .reply_error(&request, &ErrorObject::new(-32002, "not found"))
        .await?;
    let error = subscribing.await?.expect_err("it is not there");
    assert_eq!(error.server_error().map(|error| error.code), Some(-32002));

    // A server that honours nothing might as well have refused.
    let (client, mut server, _peer) = able(config(), NEW).await?;
    let filter = SubscriptionFilter::new().tools_list_changed(true);
    let nothing = json!({});
    let (watched, id) = tokio::join!(
        client.subscribe(filter).into_future(),
        listen(&mut server, &nothing)
    );
    id?;
    let error = watched.expect_err("nothing is honoured");
    assert_eq!(error.kind(), ErrorKind::CapabilityNotSupported);
    Ok(())
}

// proves: F-LC-15
#[tokio::test(start_paused = true)]
async fn a_server_that_doesnt_confirm_in_time_is_an_error() -> Test {
    let (client, mut server, mut peer) = able(config(), NEW).await?;
    let begun = Instant::now();
    let subscribing = client.resources().subscribe("x:/a");
    let (watched, request) = tokio::join!(subscribing.into_future(), server.expect(LISTEN));
    request?;
    let error = watched.expect_err("nothing is confirmed");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(begun.elapsed().as_secs(), 30, "as any call");
    server
        .expect_notification("notifications/cancelled")
        .await?;
    let short = client.resources().subscribe("x:/a");
    let (watched, request) = tokio::join!(
        short.timeout(Duration::from_secs(5)).into_future(),
        server.expect(LISTEN)
    );
    request?;
    assert_eq!(watched.expect_err("late").kind(), ErrorKind::Timeout);
    assert_eq!(begun.elapsed().as_secs(), 35);

    // It was confirmed once, and then never again.
    server.hang_up();
    let mut server = able_again(&client, &mut peer, NEW).await?;
    let honoured = json!({"resourceSubscriptions": ["x:/a"]});
    let subscribing = client.resources().subscribe("x:/a").into_future();
    let (watched, id) = tokio::join!(subscribing, listen(&mut server, &honoured));
    let (mut watched, _) = (watched?, id?);
    server.hang_up();
    let mut server = able_again(&client, &mut peer, NEW).await?;
    server.expect(LISTEN).await?;
    assert_eq!(watched.next().await, None, "it has ended");
    let error = watched.end().expect("it is over").expect_err("and why");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_confirmation_that_spells_the_id_as_a_string_counts() -> Test {
    let (client, mut server, _peer) = able(config(), NEW).await?;
    let confirm = async {
        let request = server.expect(LISTEN).await?;
        let params = json!({
            "notifications": {"resourceSubscriptions": ["x:/a"]},
            "_meta": {"io.modelcontextprotocol/subscriptionId": request.id().to_string()},
        });
        let method = "notifications/subscriptions/acknowledged";
        server.notify(method, params.to_string().as_str()).await
    };
    let subscribing = client.resources().subscribe("x:/a").into_future();
    let (watched, confirmed) = tokio::join!(subscribing, confirm);
    confirmed?;
    let mut watched = watched?;
    tokio::time::advance(Duration::from_secs(3600)).await;
    server.notify(UPDATED, r#"{"uri":"x:/a"}"#).await?;
    assert_eq!(
        watched.next().await,
        Some(SubscriptionEvent::Resource("x:/a".into()))
    );
    Ok(())
}

// proves: PV-5
#[tokio::test(start_paused = true)]
async fn tasks_are_watched_where_the_server_has_declared_them() -> Test {
    let filter = || SubscriptionFilter::new().task_ids(["t1".to_owned()]);
    for (revision, words) in [
        (OLD, "revisions that have it: 2026-07-28"),
        (NEW, "has not declared"),
    ] {
        let (client, _server, _peer) = able(config(), revision).await?;
        let error = client.subscribe(filter()).await.expect_err("undeclared");
        assert_eq!(error.kind(), ErrorKind::CapabilityNotSupported);
        assert!(error.to_string().contains(words), "{error}");
    }

    // A server that has tasks, and a client that has not declared them (TX-15).
    let (transport, mut peer) = bowline::testing::peer();
    let client = Client::start(transport, config());
    let mut hello = Handshake::new(NEW);
    let mut capabilities = ServerCapabilities::new();
    capabilities.add_extension(EXTENSION);
    hello.capabilities(capabilities);
    let mut server = peer.accept().await?;
    server.handshake(hello).await?;
    client.ready().await?;
    for error in [
        client.subscribe(filter()).await.expect_err("undeclared"),
        client.tasks().get("t1").await.expect_err("undeclared"),
    ] {
        assert_eq!(error.kind(), ErrorKind::CapabilityNotSupported);
        assert!(error.to_string().contains("ClientConfig::tasks"), "{error}");
    }

    // A server that has them comes back as one that can't.
    let (transport, mut peer) = bowline::testing::peer();
    let mut able = config();
    able.tasks();
    let client = Client::start(transport, able);
    let mut capabilities = ServerCapabilities::new();
    capabilities.add_extension(EXTENSION);
    let mut hello = Handshake::new(NEW);
    hello.capabilities(capabilities);
    let mut server = peer.accept().await?;
    server.handshake(hello).await?;
    client.ready().await?;
    let honoured = json!({"taskIds": ["t1"]});
    let subscribing = client.subscribe(filter()).into_future();
    let (watched, id) = tokio::join!(subscribing, listen(&mut server, &honoured));
    let (mut watched, _) = (watched?, id?);
    for id in ["t2", "t1"] {
        let task = json!({"taskId": id, "status": "working", "createdAt": "2026-01-01T00:00:00Z",
            "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": null});
        let task = task.to_string();
        server.notify("notifications/tasks", task.as_str()).await?;
    }
    assert_eq!(
        watched.next().await,
        Some(SubscriptionEvent::Task("t1".into()))
    );
    server.hang_up();
    let _server = able_again(&client, &mut peer, OLD).await?;
    while watched.next().await.is_some() {}
    let error = watched.end().expect("it is over").expect_err("and why");
    assert_eq!(error.kind(), ErrorKind::CapabilityNotSupported);
    assert_eq!(watched.acknowledged_filter(), SubscriptionFilter::new());
    Ok(())
}

// proves: CN-6
#[tokio::test(start_paused = true)]
async fn subscribing_without_a_connection_fails_or_waits_as_configured() -> Test {
    let (transport, _peer) = bowline::testing::peer();
    let client = Client::start(transport, config());
    let error = client.resources().subscribe("x:/a").await;
    let error = error.expect_err("there is no connection");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.state().is_some());
    let error = client
        .tools()
        .live_list()
        .await
        .expect_err("nor for a list");
    assert_eq!(error.kind(), ErrorKind::Unavailable);

    // There is no response: it waits, though not for ever.
    let waiting = client.resources().subscribe("x:/a").wait_for_ready();
    let error = waiting.await.expect_err("there is no server");
    assert_eq!(error.kind(), ErrorKind::Timeout);

    let (transport, mut peer) = bowline::testing::peer();
    let client = Client::start(transport, config());
    let waiting = client.resources().subscribe("x:/a").wait_for_ready();
    let honoured = json!({"resourceSubscriptions": ["x:/a"]});
    let serve = async {
        let mut server = able_again(&client, &mut peer, NEW).await?;
        listen(&mut server, &honoured).await?;
        Ok::<_, Unexpected>(server)
    };
    let (watched, server) = tokio::join!(waiting.into_future(), serve);
    let _server = server?;
    watched?;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_subscription_reports_what_is_acknowledged_and_its_end() -> Test {
    let (client, mut server, _peer) = able(config(), NEW).await?;
    let filter = SubscriptionFilter::new()
        .tools_list_changed(true)
        .prompts_list_changed(true);
    let honoured = json!({"toolsListChanged": true});
    let (watched, id) = tokio::join!(
        client.subscribe(filter).into_future(),
        listen(&mut server, &honoured)
    );
    let (mut watched, id) = (watched?, id?);
    assert_eq!(watched.acknowledged_filter().prompts_list_changed, None);
    assert!(watched.end().is_none());
    let end = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","_meta":{{}}}}}}"#
    );
    server.send_raw(end + "\n").await?;
    assert_eq!(watched.next().await, None);
    assert!(watched.end().expect("it is over").is_ok());

    let honoured = json!({"toolsListChanged": true});
    let filter = SubscriptionFilter::new().tools_list_changed(true);
    let (watched, id) = tokio::join!(
        client.subscribe(filter).into_future(),
        listen(&mut server, &honoured)
    );
    let (mut watched, _) = (watched?, id?);
    client.stop().await;
    assert_eq!(watched.next().await, None);
    let error = watched
        .end()
        .expect("it is over")
        .expect_err("it was stopped");
    assert_eq!(error.kind(), ErrorKind::Shutdown);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_acknowledged_filter_is_that_of_the_latest_connection() -> Test {
    let (client, mut server, mut peer) = able(config(), NEW).await?;
    let filter = SubscriptionFilter::new()
        .tools_list_changed(true)
        .prompts_list_changed(true);
    let honoured = json!({"toolsListChanged": true});
    let (watched, id) = tokio::join!(
        client.subscribe(filter).into_future(),
        listen(&mut server, &honoured)
    );
    let (mut watched, _) = (watched?, id?);
    assert_eq!(watched.acknowledged_filter().tools_list_changed, Some(true));

    server.hang_up();
    let mut server = able_again(&client, &mut peer, NEW).await?;
    listen(&mut server, &json!({"promptsListChanged": true})).await?;
    all_is_read(&client, &mut server).await?;
    assert_eq!(watched.next().await, Some(SubscriptionEvent::Unknown));
    let now = watched.acknowledged_filter();
    assert_eq!(
        (now.tools_list_changed, now.prompts_list_changed),
        (None, Some(true))
    );

    // The next one honours nothing, which would be silence for ever.
    server.hang_up();
    let mut server = able_again(&client, &mut peer, NEW).await?;
    let id = listen(&mut server, &json!({})).await?;
    let cancelled = server
        .expect_notification("notifications/cancelled")
        .await?;
    let request = format!(r#""requestId":{id}"#);
    assert!(cancelled.params().as_str().contains(&request));
    all_is_read(&client, &mut server).await?;
    while watched.next().await.is_some() {}
    let error = watched.end().expect("it is over").expect_err("and why");
    assert_eq!(error.kind(), ErrorKind::CapabilityNotSupported);
    assert_eq!(watched.acknowledged_filter(), SubscriptionFilter::new());
    // It is not opened again.
    server.hang_up();
    let mut server = able_again(&client, &mut peer, NEW).await?;
    all_is_read(&client, &mut server).await?;
    Ok(())
}

// proves: F-BP-05
#[tokio::test(start_paused = true)]
async fn long_uris_that_wait_are_bounded_as_configured() -> Test {
    let mut config = config();
    config.max_changes(10, 20);
    let (client, mut server, _peer) = able(config, NEW).await?;
    let honoured = json!({"resourceSubscriptions": ["x:/a"]});
    let resources = client.resources();
    let (watched, id) = tokio::join!(
        resources.subscribe("x:/a").into_future(),
        listen(&mut server, &honoured)
    );
    let (mut watched, _) = (watched?, id?);
    for part in ["1234", "5678"] {
        let params = format!(r#"{{"uri":"x:/a/{part}"}}"#);
        server.notify(UPDATED, params.as_str()).await?;
    }
    all_is_read(&client, &mut server).await?;
    let change = |uri: &str| Some(SubscriptionEvent::Resource(uri.into()));
    assert_eq!(watched.next().await, change("x:/a/1234"));
    server
        .notify(UPDATED, r#"{"uri":"x:/a/123456789"}"#)
        .await?;
    all_is_read(&client, &mut server).await?;
    assert_eq!(watched.next().await, Some(SubscriptionEvent::Unknown));
    Ok(())
}

// proves: FT-6
#[tokio::test(start_paused = true)]
async fn the_log_level_is_sent_on_every_connection() -> Test {
    let (client, mut server, mut peer) = able(config(), OLD).await?;
    let setting = client.clone();
    let setting =
        tokio::spawn(async move { setting.logging().set_level(LoggingLevel::Error).await });
    let request = server.expect("logging/setLevel").await?;
    assert!(request.params().as_str().contains(r#""level":"error""#));
    server.reply(&request, "{}").await?;
    setting.await??;

    server.hang_up();
    let mut server = able_again(&client, &mut peer, OLD).await?;
    server.expect("logging/setLevel").await?;

    // In the stateless era each call carries it.
    let (client, mut server, _peer) = able(config(), NEW).await?;
    client.logging().set_level(LoggingLevel::Error).await?;
    let call = client.tools().call("a", ()).send();
    let request = server.expect("tools/call").await?;
    let level = r#""io.modelcontextprotocol/logLevel":"error""#;
    assert!(request.params().as_str().contains(level));
    server
        .reply(&request, r#"{"resultType":"complete","content":[]}"#)
        .await?;
    call.await?;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_refused_level_is_an_error() -> Test {
    let (client, mut server, _peer) = able(config(), OLD).await?;
    let setting = client.clone();
    let level = LoggingLevel::Other("loud".into());
    let setting = tokio::spawn(async move { setting.logging().set_level(level).await });
    let request = server.expect("logging/setLevel").await?;
    server
        .reply_error(&request, &ErrorObject::new(-32602, "no such level"))
        .await?;
    let error = setting.await?.expect_err("there is no such level");
    assert_eq!(error.server_error().map(|error| error.code), Some(-32602));
    assert_eq!(client.logging().level(), None, "as it was before");
    Ok(())
}

// proves: FT-6
#[tokio::test(start_paused = true)]
async fn a_server_without_a_log_has_no_level() -> Test {
    let (client, _server, _peer) = crate::client::support::connected(OLD).await?;
    let error = client.logging().set_level(LoggingLevel::Error).await;
    let error = error.expect_err("there is no log");
    assert_eq!(error.kind(), ErrorKind::CapabilityNotSupported);
    assert_eq!(error.operation(), Some("logging/setLevel"));
    assert_eq!(client.logging().level(), None);

    // A wish that comes with calls: the official Python SDK has a log that it doesn't declare.
    let (client, _server, _peer) = crate::client::support::connected(NEW).await?;
    client.logging().set_level(LoggingLevel::Error).await?;
    assert_eq!(client.logging().level(), Some(LoggingLevel::Error));
    Ok(())
}
