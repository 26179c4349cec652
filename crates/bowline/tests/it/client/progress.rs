//! Progress of a call, and what it does to its time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bowline::ErrorKind;

use crate::client::support::{NEW, OLD, Test, all_is_read, config, connected, connected_with};

// proves: FT-9
#[tokio::test(start_paused = true)]
async fn progress_is_delivered_in_order_to_its_call_only() -> Test {
    for revision in [OLD, NEW] {
        let (client, mut server, _peer) = connected(revision).await?;
        let call = client.call("tools/call", r#"{"name":"x"}"#);
        let mut answer = call.with_progress().send();
        let other = client.call("tools/list", ()).send();
        let request = server.expect("tools/call").await?;
        let listing = server.expect("tools/list").await?;
        assert!(listing.progress_token().is_none());
        for number in 1..=3 {
            server.report_progress(&request, number).await?;
            let report = answer.progress().await.expect("the call goes on");
            assert_eq!(report.progress.as_i64(), Some(number));
        }
        server.reply(&request, r#"{"content":[]}"#).await?;
        assert!(answer.progress().await.is_none());
        answer.await?;
        server.report_progress(&request, 4).await?;
        server.reply(&listing, r#"{"tools":[]}"#).await?;
        other.await?;
    }
    Ok(())
}

// proves: FT-9
#[tokio::test(start_paused = true)]
async fn the_latest_32_reports_are_kept_for_a_slow_reader() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let call = client.call("tools/call", r#"{"name":"x"}"#);
    let mut answer = call.with_progress().send();
    let request = server.expect("tools/call").await?;
    for number in 1..=32 {
        server.report_progress(&request, number).await?;
    }
    all_is_read(&client, &mut server).await?;
    let first = answer
        .progress()
        .await
        .map(|report| report.progress.as_i64());
    assert_eq!(first, Some(Some(1)));
    for number in 33..=40 {
        server.report_progress(&request, number).await?;
    }
    server.reply(&request, r#"{"content":[]}"#).await?;
    all_is_read(&client, &mut server).await?;
    for number in 9..=40 {
        let report = answer.progress().await.expect("it was kept");
        assert_eq!(report.progress.as_i64(), Some(number));
    }
    assert!(answer.progress().await.is_none());
    answer.await?;
    Ok(())
}

// proves: FT-9
#[tokio::test(start_paused = true)]
async fn a_callback_sees_all_progress_before_the_answer() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let seeing = Arc::clone(&seen);
    let call = client.call("tools/call", r#"{"name":"x"}"#);
    let answer = call
        .on_progress(move |report| seeing.lock().unwrap().push(report.progress.as_i64()))
        .send();
    let request = server.expect("tools/call").await?;
    for number in 1..=5 {
        server.report_progress(&request, number).await?;
    }
    server
        .notify(
            "notifications/progress",
            r#"{"progressToken":"none","progress":9}"#,
        )
        .await?;
    server.reply(&request, r#"{"content":[]}"#).await?;
    answer.await?;
    let seen: Vec<_> = seen.lock().unwrap().iter().copied().flatten().collect();
    assert_eq!(seen, [1, 2, 3, 4, 5]);
    Ok(())
}

// proves: CN-9, F-TO-03
#[tokio::test(start_paused = true)]
async fn progress_restarts_the_timeout_but_not_the_total() -> Test {
    let mut config = config();
    let mut timeouts = config.connection().default_timeouts();
    timeouts.progress_counts = true;
    config.connection().call_timeouts(timeouts);
    let (client, mut server, _peer) = connected_with(config, NEW).await?;
    let call = client.call("tools/call", r#"{"name":"x"}"#).with_progress();
    let answer = call
        .timeout(Duration::from_secs(5))
        .max_total(Duration::from_secs(20))
        .send();
    let request = server.expect("tools/call").await?;
    let reporting = tokio::spawn(async move {
        for number in 0.. {
            tokio::time::sleep(Duration::from_secs(3)).await;
            if server.report_progress(&request, number).await.is_err() {
                break;
            }
        }
    });
    let error = answer.await.unwrap_err();
    reporting.abort();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let elapsed = error.elapsed().expect("it took some time");
    assert!((20..24).contains(&elapsed.as_secs()), "{elapsed:?}");
    Ok(())
}

/// A caller may have a timeout of its own around a call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callback_that_is_slower_than_the_server_holds_up_nothing_else() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let slow = |_| std::thread::sleep(Duration::from_millis(1));
    let answer = client.call("tools/call", "{}").on_progress(slow).send();
    let request = server.expect("tools/call").await?;
    let flood = tokio::spawn(async move {
        for number in 1.. {
            if server.report_progress(&request, number).await.is_err() {
                break;
            }
        }
    });
    let given_up = tokio::spawn(tokio::time::timeout(Duration::from_millis(50), answer));
    let given_up = tokio::time::timeout(Duration::from_secs(10), given_up).await;
    // Before anything is looked at, so that the flood ends in any case.
    client.stop().await;
    flood.await?;
    assert!(given_up??.is_err());
    Ok(())
}
