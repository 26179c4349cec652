//! Lists: their pages, what is kept of them, and those that follow their server.

use std::time::Duration;

use bowline::client::CachePolicy;
use bowline::testing::{Conversation, Unexpected};
use bowline::types::ErrorObject;
use bowline::types::Revision;
use bowline::{Client, ErrorKind};
use serde_json::json;
use tokio::time::Instant;

use crate::client::support::{NEW, OLD, Test, able, able_again, config, connected};

const LISTEN: &str = "subscriptions/listen";

/// Answers the next request for tools with a page.
async fn page(server: &mut Conversation, rest: &str) -> Result<(), Unexpected> {
    let request = server.expect("tools/list").await?;
    let tools = r#""tools":[{"name":"a","inputSchema":{"type":"object"}}]"#;
    let body = format!(r#"{{"resultType":"complete",{tools}{rest}}}"#);
    server.reply(&request, body.as_str()).await
}

async fn listed(client: &Client) -> usize {
    let listed = client.tools().list_all().await;
    listed.expect("a list").len()
}

// proves: F-CL-05
#[tokio::test(start_paused = true)]
async fn a_list_without_an_end_is_an_error() -> Test {
    let (client, mut server, _peer) = able(config(), OLD).await?;
    let listing = client.clone();
    let all = tokio::spawn(async move { listing.tools().list_all().await });
    page(&mut server, r#","nextCursor":"x""#).await?;
    page(&mut server, r#","nextCursor":"y""#).await?;
    page(&mut server, r#","nextCursor":"x""#).await?;
    let error = all.await?.expect_err("it has no end");
    assert_eq!(error.kind(), ErrorKind::Protocol);
    assert_eq!(
        error.to_string(),
        "tools/list: the peer violated the protocol: the list does not end: the server repeated a pagination cursor"
    );
    Ok(())
}

// proves: F-CL-05
#[tokio::test(start_paused = true)]
async fn a_list_of_too_many_pages_is_an_error_with_advice() -> Test {
    let (client, mut server, _peer) = able(config(), OLD).await?;
    let listing = client.clone();
    let all = tokio::spawn(async move { listing.tools().list_all().await });
    for number in 0..1_000 {
        page(&mut server, &format!(r#","nextCursor":"{number}""#)).await?;
    }
    let error = all.await?.expect_err("it is too long");
    assert_eq!(error.kind(), ErrorKind::OversizedFrame);
    assert_eq!(
        error.to_string(),
        "tools/list: size limit exceeded: the list has more than 1000 pages \
         (raise the limit with `max_pages`)"
    );
    Ok(())
}

// proves: F-CL-05
#[tokio::test(start_paused = true)]
async fn a_list_of_too_many_items_is_an_error() -> Test {
    let (client, mut server, _peer) = able(config(), OLD).await?;
    let listing = client.clone();
    let pages = tokio::spawn(async move {
        let mut pages = listing.tools().pages();
        let (mut count, mut error) = (0, None);
        while let Some(tool) = pages.next().await {
            match tool {
                Ok(_) => count += 1,
                Err(wrong) => error = Some(wrong),
            }
        }
        (count, error)
    });
    let tool = r#"{"name":"a","inputSchema":{"type":"object"}}"#;
    let tools = vec![tool; 50_000].join(",");
    for number in 0..3 {
        let request = server.expect("tools/list").await?;
        let body = format!(r#"{{"tools":[{tools}],"nextCursor":"{number}"}}"#);
        server.reply(&request, body.as_str()).await?;
    }
    let (count, error) = pages.await?;
    assert_eq!(count, 100_000, "what fits is handed out");
    let error = error.expect("then an error");
    assert_eq!(error.kind(), ErrorKind::OversizedFrame);
    assert_eq!(
        error.to_string(),
        "tools/list: size limit exceeded: the list has more than 100000 items \
         (raise the limit with `max_items`)"
    );
    Ok(())
}

// proves: FT-1
#[tokio::test(start_paused = true)]
async fn tools_of_servers_may_have_any_name() -> Test {
    let (client, mut server, _peer) = able(config(), OLD).await?;
    let long = "a".repeat(200);
    let names = ["", "my tool", "a\u{1}b", &long];
    let tools = names.map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
    let listing = client.clone();
    let all = tokio::spawn(async move { listing.tools().list_all().await });
    let request = server.expect("tools/list").await?;
    let body = json!({"tools": tools}).to_string();
    server.reply(&request, body.as_str()).await?;
    let listed = all.await??;
    assert!(listed.iter().map(|tool| &*tool.name).eq(names));
    for name in names {
        let call = client.tools().call(name, ()).send();
        let request = server.expect("tools/call").await?;
        let params: serde_json::Value = serde_json::from_str(request.params().as_str())?;
        assert_eq!(params["name"], name);
        let body = r#"{"content":[]}"#;
        server.reply(&request, body).await?;
        call.await?;
    }
    Ok(())
}

// proves: F-CL-05
#[tokio::test(start_paused = true)]
async fn a_list_may_be_as_long_as_its_limits_are_set_to() -> Test {
    let (client, mut server, _peer) = able(config(), OLD).await?;
    for (items, pages, exceeded) in [
        (2, 2, None),
        (1, 2, Some("the list has more than 1 items")),
        (2, 1, Some("the list has more than 1 pages")),
        (usize::MAX, usize::MAX, None),
    ] {
        let listing = client.clone();
        let all = tokio::spawn(async move {
            let list = listing.tools().list_all();
            list.max_items(items).max_pages(pages).await
        });
        page(&mut server, r#","nextCursor":"2""#).await?;
        if pages > 1 {
            page(&mut server, "").await?;
        }
        match (all.await?, exceeded) {
            (Ok(all), None) => assert_eq!(all.len(), 2),
            (Err(error), Some(words)) => assert!(error.to_string().contains(words), "{error}"),
            (all, _) => panic!("limits {items} and {pages}: {all:?}"),
        }
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_empty_cursor_is_one_and_a_page_that_is_none_is_an_error() -> Test {
    let (client, mut server, _peer) = able(config(), NEW).await?;
    let listing = client.clone();
    let all = tokio::spawn(async move { listing.tools().list_all().await });
    page(&mut server, r#","nextCursor":"""#).await?;
    let request = server.expect("tools/list").await?;
    assert!(request.params().as_str().contains(r#""cursor":"""#));
    let odd = r#"{"resultType":"complete","tools":7}"#;
    server.reply(&request, odd).await?;
    let error = all.await?.expect_err("tools are a list");
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
    assert!(error.to_string().contains("tools"), "{error}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_empty_cursor_of_an_older_server_is_the_end() -> Test {
    for revision in [Revision::V2024_11_05, Revision::V2025_06_18, OLD] {
        let (client, mut server, _peer) = able(config(), revision).await?;
        let listing = client.clone();
        let all = tokio::spawn(async move { listing.tools().list_all().await });
        let tool = r#"{"name":"a","inputSchema":{"type":"object"}}"#;
        for next in ["b", ""] {
            let request = server.expect("tools/list").await?;
            let page = format!(r#"{{"tools":[{tool}],"nextCursor":"{next}"}}"#);
            server.reply(&request, page.as_str()).await?;
        }
        assert_eq!(all.await??.len(), 2, "{revision}");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_odd_item_is_left_out_and_the_others_are_not() -> Test {
    let (client, mut server, _peer) = able(config(), OLD).await?;
    let listing = client.clone();
    let all = tokio::spawn(async move { listing.tools().pages().collect_all().await });
    let good = r#"{"name":"a","inputSchema":{"type":"object"}}"#;
    for next in [r#","nextCursor":"b""#, ""] {
        let request = server.expect("tools/list").await?;
        let page = format!(r#"{{"tools":[{{"name":"odd"}},{good}]{next}}}"#);
        server.reply(&request, page.as_str()).await?;
    }
    let (tools, skipped_items) = all.await??;
    assert_eq!((tools.len(), skipped_items.count), (2, 2));
    assert_eq!(skipped_items.first[0].name.as_deref(), Some("odd"));
    let words = skipped_items.first[0].error.to_string();
    assert!(words.contains("tools[0]"), "{words}");
    Ok(())
}

// proves: MO-1
#[tokio::test(start_paused = true)]
async fn a_fresh_list_is_not_fetched_again_until_it_changes() -> Test {
    let (client, mut server, mut peer) = able(config(), NEW).await?;
    let fresh = r#","ttlMs":60000,"cacheScope":"private""#;
    let (first, answered) = tokio::join!(listed(&client), page(&mut server, fresh));
    answered?;
    assert_eq!(
        (first, listed(&client).await),
        (1, 1),
        "the second has no response"
    );

    // The skipped items are available on request.
    let asked = client.tools().list().bypass_cache().send();
    page(&mut server, fresh).await?;
    assert_eq!(asked.await?.tools.len(), 1);

    server
        .notify("notifications/tools/list_changed", ())
        .await?;
    crate::client::support::all_is_read(&client, &mut server).await?;
    let (again, answered) = tokio::join!(listed(&client), page(&mut server, fresh));
    answered?;
    assert_eq!(again, 1);

    tokio::time::advance(Duration::from_secs(60)).await;
    let (again, answered) = tokio::join!(listed(&client), page(&mut server, fresh));
    answered?;
    assert_eq!(again, 1);

    // Another server may answer after a reconnect.
    server.hang_up();
    let mut server = able_again(&client, &mut peer, NEW).await?;
    let (again, answered) = tokio::join!(listed(&client), page(&mut server, fresh));
    answered?;
    assert_eq!(again, 1);
    Ok(())
}

// proves: MO-1
#[tokio::test(start_paused = true)]
async fn nothing_is_kept_without_a_hint_or_by_a_client_that_keeps_nothing() -> Test {
    let mut off = config();
    off.cache(CachePolicy::disabled());
    for (config, revision, rest) in [
        (config(), OLD, ""),
        // It has no hints.
        (config(), OLD, r#","ttlMs":60000"#),
        (config(), NEW, ""),
        (off, NEW, r#","ttlMs":60000"#),
    ] {
        let (client, mut server, _peer) = able(config, revision).await?;
        for _ in 0..2 {
            let (count, answered) = tokio::join!(listed(&client), page(&mut server, rest));
            answered?;
            assert_eq!(count, 1);
        }
    }
    Ok(())
}

// proves: MO-1
#[tokio::test(start_paused = true)]
async fn a_list_ages_from_when_it_came_and_not_from_when_it_is_looked_at() -> Test {
    let (client, mut server, _peer) = able(config(), NEW).await?;
    let asked = client.tools().list().send();
    page(&mut server, r#","ttlMs":60000"#).await?;
    crate::client::support::all_is_read(&client, &mut server).await?;
    tokio::time::advance(Duration::from_secs(59)).await;
    assert_eq!(asked.await?.tools.len(), 1);
    assert_eq!(listed(&client).await, 1, "it is still fresh");
    tokio::time::advance(Duration::from_secs(1)).await;
    let (again, answered) = tokio::join!(listed(&client), page(&mut server, ""));
    answered?;
    assert_eq!(again, 1);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_cursor_that_the_server_forgot_takes_the_kept_pages_with_it() -> Test {
    let (client, mut server, _peer) = able(config(), NEW).await?;
    let first = r#","ttlMs":60000,"nextCursor":"2""#;
    let listing = client.clone();
    let all = tokio::spawn(async move { listing.tools().list_all().await });
    page(&mut server, first).await?;
    let request = server.expect("tools/list").await?;
    server
        .reply_error(&request, &ErrorObject::new(-32602, "unknown cursor"))
        .await?;
    assert!(all.await?.is_err());
    // From the beginning.
    let (count, answered) = tokio::join!(listed(&client), page(&mut server, ""));
    answered?;
    assert_eq!(count, 1);
    Ok(())
}

async fn refuse_cursor(server: &mut Conversation, code: i64) -> Result<(), Unexpected> {
    let request = server.expect("tools/list").await?;
    assert!(request.params().as_str().contains(r#""cursor""#));
    let error = ErrorObject::new(code, "unknown cursor");
    server.reply_error(&request, &error).await
}

#[tokio::test(start_paused = true)]
async fn a_kept_page_whose_cursor_the_server_forgot_is_fetched_again() -> Test {
    let (client, mut server, _peer) = able(config(), NEW).await?;
    let first = r#","ttlMs":60000,"nextCursor":"old""#;
    let kept = client.tools().list().send();
    page(&mut server, first).await?;
    kept.await?;
    let listing = client.clone();
    let all = tokio::spawn(async move { listing.tools().list_all().await });
    refuse_cursor(&mut server, -32602).await?;
    page(&mut server, r#","ttlMs":60000,"nextCursor":"new""#).await?;
    page(&mut server, "").await?;
    assert_eq!(all.await??.len(), 2, "the kept page is not counted");

    // Once: a server that forgets a cursor it has just sent forgets it always.
    let listing = client.clone();
    let all = tokio::spawn(async move { listing.tools().list_all().await });
    refuse_cursor(&mut server, -32602).await?;
    page(&mut server, first).await?;
    refuse_cursor(&mut server, -32602).await?;
    let error = all.await?.expect_err("it is forgotten again");
    assert_eq!(error.server_error().map(|error| error.code), Some(-32602));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_list_does_not_begin_anew_for_other_errors_nor_when_part_of_it_was_handed_out() -> Test {
    let (client, mut server, _peer) = able(config(), NEW).await?;
    let first = r#","ttlMs":60000,"nextCursor":"old""#;
    for (is_lazy, code) in [(false, -32603), (true, -32602)] {
        let kept = client.tools().list().bypass_cache().send();
        page(&mut server, first).await?;
        kept.await?;
        let listing = client.clone();
        let all = tokio::spawn(async move {
            let mut pages = listing.tools().pages();
            if is_lazy {
                pages.next().await.expect("an item")?;
            }
            pages.collect().await
        });
        refuse_cursor(&mut server, code).await?;
        let error = all.await?.expect_err("a page is missing");
        assert_eq!(error.server_error().map(|error| error.code), Some(code));
    }
    Ok(())
}

// proves: MO-1
#[tokio::test(start_paused = true)]
async fn a_list_that_follows_its_server_begins_with_what_is_there_now() -> Test {
    let (client, mut server, _peer) = able(config(), NEW).await?;
    let kept = r#"{"resultType":"complete","tools":[],"ttlMs":3600000,"cacheScope":"private"}"#;
    let list = client.tools().list_all();
    let (list, answered) = tokio::join!(list.into_future(), async {
        let request = server.expect("tools/list").await?;
        server.reply(&request, kept).await
    });
    answered?;
    assert!(list?.is_empty());
    // A tool was added while there was no subscription, and thus no notification.
    let now = r#"{"resultType":"complete","tools":[{"name":"a","inputSchema":{"type":"object"}}],"ttlMs":3600000,"cacheScope":"private"}"#;
    let (live, answered) = tokio::join!(client.tools().live_list(), async {
        let request = server.expect("subscriptions/listen").await?;
        let id = request.id().to_string();
        let params = format!(
            r#"{{"notifications":{{"toolsListChanged":true}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}"#
        );
        let method = "notifications/subscriptions/acknowledged";
        server.notify(method, params.as_str()).await?;
        let request = server.expect("tools/list").await?;
        server.reply(&request, now).await
    });
    answered?;
    assert_eq!(live?.items().len(), 1);
    Ok(())
}

// proves: F-BP-06
#[tokio::test(start_paused = true)]
async fn a_list_that_changes_all_the_time_is_fetched_twice_a_second() -> Test {
    let (client, mut server, _peer) = able(config(), OLD).await?;
    let (live, answered) = tokio::join!(client.tools().live_list(), page(&mut server, ""));
    answered?;
    let mut live = live?;
    assert_eq!(live.items().len(), 1);
    let following = tokio::spawn(async move {
        for _ in 0..4 {
            live.changed().await.expect("it is fetched");
        }
        live
    });
    let begin = Instant::now();
    let mut fetched = 0;
    while fetched < 4 {
        for _ in 0..100 {
            server
                .notify("notifications/tools/list_changed", ())
                .await?;
        }
        let next = tokio::time::timeout(Duration::from_millis(10), server.expect("tools/list"));
        if let Ok(request) = next.await {
            server.reply(&request?, r#"{"tools":[]}"#).await?;
            fetched += 1;
        }
    }
    let live = following.await?;
    assert!(live.items().is_empty());
    let rate = 4.0 / begin.elapsed().as_secs_f64();
    assert!(rate <= 2.0, "{rate} a second");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_live_list_outlives_connections_and_ends_with_its_server() -> Test {
    let (client, mut server, mut peer) = able(config(), NEW).await?;
    let beginning = client.clone();
    let beginning = tokio::spawn(async move { beginning.tools().live_list().await });
    let listen = server.expect(LISTEN).await?;
    acknowledge(&mut server, listen.id().as_i64().expect("a number")).await?;
    page(&mut server, "").await?;
    let mut live = beginning.await??;

    server.hang_up();
    let mut server = able_again(&client, &mut peer, NEW).await?;
    let listen = server.expect(LISTEN).await?;
    acknowledge(&mut server, listen.id().as_i64().expect("a number")).await?;
    let (changed, answered) = tokio::join!(live.changed(), page(&mut server, ""));
    answered?;
    changed?;

    server
        .reply(&listen, r#"{"resultType":"complete","_meta":{}}"#)
        .await?;
    let error = live.changed().await.expect_err("it is over");
    assert_eq!(error.kind(), ErrorKind::State);
    Ok(())
}

async fn acknowledge(server: &mut Conversation, id: i64) -> Result<(), Unexpected> {
    let params = format!(
        r#"{{"notifications":{{"toolsListChanged":true}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}"#
    );
    let method = "notifications/subscriptions/acknowledged";
    server.notify(method, params.as_str()).await
}

#[tokio::test(start_paused = true)]
async fn lists_that_are_not_declared_are_not_requested() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let error = client.tools().list_all().await.expect_err("none");
    assert_eq!(error.kind(), ErrorKind::CapabilityNotSupported);
    assert!(
        error.to_string().contains("has not declared `tools`"),
        "{error}"
    );
    let error = client.tools().live_list().await.expect_err("none");
    assert!(error.to_string().contains("`tools.listChanged`"), "{error}");
    // The escape hatch asks all the same.
    let raw = client.call("tools/list", ()).send();
    let request = server.expect("tools/list").await?;
    server.reply(&request, r#"{"tools":[]}"#).await?;
    assert!(raw.await.is_ok());
    Ok(())
}

// proves: FT-1
#[tokio::test(start_paused = true)]
async fn a_cursor_is_not_sent_to_the_next_connection() -> Test {
    let (client, mut server, mut peer) = able(config(), OLD).await?;
    let mut pages = client.tools().pages();
    let (first, answered) = tokio::join!(pages.next(), page(&mut server, r#","nextCursor":"2""#));
    answered?;
    assert_eq!(first.expect("a tool")?.name, "a");
    server.hang_up();
    let mut server = able_again(&client, &mut peer, OLD).await?;
    let error = pages.next().await.expect("an end").expect_err("it is lost");
    assert_eq!(error.kind(), ErrorKind::TransportDown);
    assert!(
        error
            .to_string()
            .contains("fetch it again from its first page"),
        "{error}"
    );
    assert!(pages.next().await.is_none());

    // A whole list begins anew by itself, where it may wait; once.
    for may_wait in [false, true] {
        let listing = client.clone();
        let all = tokio::spawn(async move {
            let all = listing.tools().list_all();
            if may_wait {
                all.wait_for_ready().await
            } else {
                all.await
            }
        });
        page(&mut server, r#","nextCursor":"2""#).await?;
        server.expect("tools/list").await?;
        server.hang_up();
        server = able_again(&client, &mut peer, OLD).await?;
        if may_wait {
            let request = server.expect("tools/list").await?;
            assert!(!request.params().as_str().contains("cursor"));
            let tools = r#"{"tools":[{"name":"b","inputSchema":{"type":"object"}}]}"#;
            server.reply(&request, tools).await?;
            let names: Vec<_> = all.await??.into_iter().map(|tool| tool.name).collect();
            assert_eq!(names, ["b"]);
        } else {
            let error = all.await?.expect_err("it is lost");
            assert_eq!(error.kind(), ErrorKind::TransportDown);
        }
    }
    Ok(())
}

// proves: F-CL-05
#[tokio::test(start_paused = true)]
async fn a_list_that_is_too_large_as_a_whole_is_an_error_with_advice() -> Test {
    let (client, mut server, _peer) = able(config(), OLD).await?;
    let rest = format!(r#","_meta":{{"a":"{}"}}"#, "x".repeat(1000));
    let size = {
        let asked = client.call("tools/list", ()).send();
        page(&mut server, &rest).await?;
        asked.await?.as_str().len()
    };
    for (limit, fits) in [(2 * size + 17, true), (2 * size + 16, false)] {
        let listing = client.clone();
        let all = tokio::spawn(async move { listing.tools().list_all().max_bytes(limit).await });
        page(&mut server, &format!(r#"{rest},"nextCursor":"2""#)).await?;
        page(&mut server, &rest).await?;
        match all.await? {
            Ok(all) => assert!(fits && all.len() == 2),
            Err(error) => {
                assert!(!fits, "{error}");
                assert_eq!(error.kind(), ErrorKind::OversizedFrame);
                assert!(error.to_string().contains("max_bytes"), "{error}");
            }
        }
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_whole_list_has_its_own_time_and_may_be_asked_for_afresh() -> Test {
    let (client, mut server, _peer) = able(config(), NEW).await?;
    let began = tokio::time::Instant::now();
    let list = || client.tools().list_all().timeout(Duration::from_secs(40));
    let (all, answered) = tokio::join!(async { list().await }, async {
        let request = server.expect("tools/list").await?;
        tokio::time::sleep(Duration::from_secs(25)).await;
        let first = r#"{"resultType":"complete","tools":[],"nextCursor":"2"}"#;
        server.reply(&request, first).await?;
        server.expect("tools/list").await
    });
    answered?;
    assert_eq!(all.expect_err("it is late").kind(), ErrorKind::Timeout);
    assert_eq!(began.elapsed().as_secs(), 40);
    server
        .expect_notification("notifications/cancelled")
        .await?;

    let kept = r#","ttlMs":60000"#;
    for _ in 0..2 {
        let fresh = client.tools().list_all().bypass_cache();
        let (all, answered) = tokio::join!(async { fresh.await }, page(&mut server, kept));
        answered?;
        assert_eq!(all?.len(), 1);
    }
    assert_eq!(listed(&client).await, 1, "this one is kept");
    Ok(())
}
