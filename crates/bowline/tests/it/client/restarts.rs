//! Servers that crash again and again, fall silent, dawdle, or come back as another one.

use std::time::Duration;

use bowline::{Cause, Client, ConnectionState, ErrorKind, Keepalive};
use tokio::time::Instant;

use crate::client::support::{NEW, OLD, Test, again, config, connected, connected_with, wrapped};

/// Starts of the transport so far.
fn starts(client: &Client) -> usize {
    let history = client.history();
    let starts = history
        .iter()
        .filter(|change| change.to == ConnectionState::Starting);
    starts.count()
}

// A wait may be a fifth shorter than the one before it is doubled, so that a sixth start fits
// into the first minute by chance.
// proves: F-LC-10
#[tokio::test(start_paused = true)]
async fn a_server_that_crashes_at_once_is_started_less_and_less_often() -> Test {
    let (transport, mut streams) = wrapped(|_, writer| {
        let dead = tokio::io::empty();
        bowline::transport::Stream::new(dead, writer)
    });
    let client = Client::start(transport, config());
    let started = Instant::now();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let in_first_minute = starts(&client);
    assert!((3..=7).contains(&in_first_minute), "{in_first_minute}");
    tokio::time::sleep(Duration::from_secs(600)).await;
    let in_ten_more = starts(&client) - in_first_minute;
    assert!(in_ten_more <= 26, "at most one each 24 s: {in_ten_more}");
    assert!(started.elapsed() >= Duration::from_secs(660));
    assert_eq!(client.state(), ConnectionState::Backoff);
    streams.close();
    Ok(())
}

// proves: F-LC-16
#[tokio::test(start_paused = true)]
async fn a_server_that_comes_back_in_the_other_era_is_understood() -> Test {
    for (first, second) in [(OLD, NEW), (NEW, OLD)] {
        let (client, server, mut peer) = connected(first).await?;
        assert_eq!(client.revision(), Some(first));
        server.hang_up();
        let mut server = peer.accept().await?;
        // What was known of the server is tried first, and refused.
        if second.era() == NEW.era() {
            let request = server.expect("initialize").await?;
            let error = bowline::types::ErrorObject::new(-32601, "method not found");
            server.reply_error(&request, &error).await?;
            server.expect_end().await?;
            server = peer.accept().await?;
        }
        server.handshake(second).await?;
        client.ready().await?;
        assert_eq!(client.revision(), Some(second));
        assert_eq!(client.session(), 2);
        // Now the other era is known, and asked for at once.
        server.hang_up();
        again(&client, &mut peer, second).await?;
        assert_eq!(client.revision(), Some(second));
    }
    Ok(())
}

// A network drops packets without an error: silence is the only sign.
// proves: F-TO-07
#[tokio::test(start_paused = true)]
async fn a_server_that_falls_silent_is_noticed() -> Test {
    let interval = Duration::from_secs(5);
    let mut config = config();
    config
        .connection()
        .keepalive(Some(Keepalive::new(interval, 1)));
    let (client, server, _peer) = connected_with(config, OLD).await?;
    let started = Instant::now();
    let mut changes = client.state_changes();
    let lost = changes.next().await.expect("it is noticed");
    assert_eq!(lost.to, ConnectionState::Backoff);
    assert!(matches!(lost.cause, Cause::Ended(_)), "{}", lost.cause);
    let limit = 2 * interval;
    assert!(started.elapsed() <= limit, "{:?}", started.elapsed());
    drop(server);
    Ok(())
}

// proves: F-TO-08
#[tokio::test(start_paused = true)]
async fn an_answer_that_trickles_in_is_not_waited_for_for_ever() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let started = Instant::now();
    let answer = client.call("tools/call", r#"{"name":"x"}"#).send();
    let request = server.expect("tools/call").await?;
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":[{{"type":"text","text":"slow"}}]}}}}"#,
        request.id()
    );
    let trickle = async {
        for byte in text.into_bytes() {
            tokio::time::sleep(Duration::from_secs(5)).await;
            if server.send_raw([byte]).await.is_err() {
                break;
            }
        }
    };
    let error = tokio::select! {
        answer = answer => answer.expect_err("it takes minutes"),
        () = trickle => panic!("the call has no end"),
    };
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(started.elapsed() < Duration::from_secs(31));
    assert_eq!(client.state(), ConnectionState::Ready);
    Ok(())
}
