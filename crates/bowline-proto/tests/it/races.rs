//! Answers, cancellation and deadlines that meet: a call ends once, in any order.

use std::time::Duration;

use bowline_proto::connection::Event;
use bowline_proto::{
    CallId, CallRequest, Config, Connection, IdCounter, Instant, Outcome, Sent, Timeouts,
};
use bowline_types::common::Implementation;
use bowline_types::{Revision, Revisions};

const SECOND: Duration = Duration::from_secs(1);

fn ready(configure: impl FnOnce(&mut Config)) -> Connection {
    let mut config = Config::new(Implementation::new("races", "0"));
    config.revisions(Revisions::only(Revision::V2025_11_25));
    configure(&mut config);
    let mut connection = Connection::new(config, IdCounter::new());
    connection.open(Instant::START);
    let result = r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;
    say(
        &mut connection,
        Instant::START,
        &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#),
    );
    assert!(connection.is_ready());
    while connection.poll_transmit().is_some() || connection.poll_event().is_some() {}
    connection
}

fn say(connection: &mut Connection, now: Instant, frame: &str) {
    connection.read_buffer().extend_from_slice(frame.as_bytes());
    connection.read_buffer().extend_from_slice(b"\n");
    connection.handle_read(now);
}

fn call(connection: &mut Connection, now: Instant) -> CallId {
    let request = CallRequest::new("x", &b""[..]).timeouts(Timeouts::new(5 * SECOND, 60 * SECOND));
    connection.call(now, request).expect("there is room")
}

/// How calls ended, and whether the server may have seen them.
fn outcomes(connection: &mut Connection) -> Vec<(Outcome, Sent)> {
    let mut outcomes = Vec::new();
    while let Some(event) = connection.poll_event() {
        if let Event::Ended { outcome, sent, .. } = event {
            outcomes.push((outcome, sent));
        }
    }
    outcomes
}

/// What can happen to a call, all in the same moment.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Send,
    Answer,
    Error,
    Cancel,
    Deadline,
    Lost,
    Close,
}

fn apply(connection: &mut Connection, call: CallId, step: Step) -> usize {
    let now = Instant::START + 5 * SECOND;
    let mut sent = 0;
    match step {
        Step::Send => {
            while connection.poll_transmit().is_some() {
                sent += 1;
            }
        }
        Step::Answer => say(
            connection,
            now,
            &format!(r#"{{"jsonrpc":"2.0","id":{call},"result":{{}}}}"#),
        ),
        Step::Error => say(
            connection,
            now,
            &format!(r#"{{"jsonrpc":"2.0","id":{call},"error":{{"code":1,"message":""}}}}"#),
        ),
        Step::Cancel => drop(connection.cancel(now, call, "race")),
        Step::Deadline => connection.handle_timeout(now),
        Step::Lost => connection.handle_lost(now, "race"),
        Step::Close => connection.close(now),
    }
    sent
}

// proves: F-TO-02, F-CA-03, CN-7
#[test]
fn a_call_ends_once_in_every_order() {
    use Step::*;
    let steps = [Send, Answer, Error, Cancel, Deadline, Lost, Close];
    let mut orders = 0;
    for a in steps {
        for b in steps {
            for c in steps {
                for d in steps {
                    let mut connection = ready(|_| {});
                    let call = call(&mut connection, Instant::START);
                    let mut sent = 0;
                    for step in [a, b, c, d] {
                        sent += apply(&mut connection, call, step);
                    }
                    let order = [a, b, c, d];
                    let ended = outcomes(&mut connection);
                    let can_end = order.iter().any(|step| *step != Send);
                    assert_eq!(ended.len(), usize::from(can_end), "{order:?}: {ended:?}");
                    let is_sent = if order[0] == Send {
                        Sent::Maybe
                    } else {
                        Sent::No
                    };
                    for (outcome, sent) in &ended {
                        assert_eq!(*sent, is_sent, "{order:?}: {outcome:?}");
                    }
                    assert_eq!(connection.pending(), usize::from(!can_end));
                    // The call, and one cancellation at most.
                    while connection.poll_transmit().is_some() {
                        sent += 1;
                    }
                    assert!(sent <= 2, "{order:?}");
                    orders += 1;
                }
            }
        }
    }
    assert_eq!(orders, 2401);
}

// proves: F-CA-01
#[test]
fn a_call_that_has_not_left_is_never_on_the_wire() {
    let mut connection = ready(|_| {});
    let call = call(&mut connection, Instant::START);
    assert!(connection.cancel(Instant::START, call, "changed my mind"));
    assert!(connection.poll_transmit().is_none());
    assert_eq!(outcomes(&mut connection), [(Outcome::Cancelled, Sent::No)]);
}

// proves: F-CA-10
#[test]
fn cancelling_at_random_stays_within_bounds() {
    let mut connection = ready(|config| {
        config.limits().max_tombstones(100);
    });
    let mut seed = 1_u64;
    let mut calls = Vec::new();
    for n in 0..100_000_u64 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(n);
        if calls.len() < 500 {
            calls.push(call(&mut connection, Instant::START));
        }
        let at = usize::try_from(seed >> 33).unwrap_or(0) % calls.len();
        connection.cancel(Instant::START, calls[at], "random");
        // The peer's cancellations of nothing are as cheap.
        let id = seed >> 40;
        let note = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        );
        say(&mut connection, Instant::START, &note);
        if connection.pending() < 100 {
            calls.clear();
        }
        while connection.poll_transmit().is_some() || connection.poll_event().is_some() {}
        assert!(connection.tombstones() <= 100 && connection.pending() <= 1000);
    }
}

// proves: CN-19
#[test]
fn reading_stops_for_answers_that_we_owe_and_not_for_calls() {
    let mut connection = ready(|config| {
        config.limits().max_peer_requests(2).max_pending(3);
    });
    for _ in 0..3 {
        call(&mut connection, Instant::START);
    }
    assert!(connection.wants_read());
    for id in 0..2 {
        say(
            &mut connection,
            Instant::START,
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#),
        );
    }
    assert!(!connection.wants_read());
    while connection.poll_transmit().is_some() {}
    assert!(connection.wants_read());
}

#[test]
fn reading_stops_for_payload_that_is_not_taken() {
    let mut connection = ready(|config| {
        config.limits().max_undelivered(300);
    });
    let note = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"data":"{}"}}}}"#,
        "x".repeat(200)
    );
    say(&mut connection, Instant::START, &note);
    assert!(!connection.wants_read());
    assert!(connection.poll_event().is_some());
    assert!(connection.wants_read());
}
