//! Limits and times of a client.

use bowline_proto::codec::{FrameLimits, Framing, Oversize};
use bowline_proto::{CallError, CallRequest, Config, Keepalive, Outcome, Timeouts};
use bowline_types::{Revision, Revisions};

use super::{SECOND, ZERO, at, call, client, just_before, opened, outcomes, receive, sent};

#[test]
fn handshake_timeout() {
    let only = Revisions::only(Revision::V2025_11_25);
    let mut connection = opened(only, |config| {
        config.handshake_timeout(7 * SECOND);
    });
    assert_eq!(connection.poll_timeout(), Some(at(7)));
    connection.handle_timeout(just_before(7));
    assert!(!connection.is_closed());
    connection.handle_timeout(at(7));
    assert!(connection.is_closed());
}

#[test]
fn startup_timeout() {
    let only = Revisions::only(Revision::V2025_11_25);
    let configure = |config: &mut Config| {
        config.startup_timeout(Some(60 * SECOND));
    };
    let mut silent = opened(only, configure);
    silent.handle_timeout(just_before(60));
    assert!(!silent.is_closed());
    silent.handle_timeout(at(60));
    assert!(silent.is_closed());

    let mut talking = opened(only, configure);
    talking.handle_activity(at(20));
    talking.handle_timeout(just_before(30));
    assert!(!talking.is_closed());
    talking.handle_timeout(at(30));
    assert!(talking.is_closed());
}

#[test]
fn probe_timeout() {
    let mut connection = opened(Revisions::ALL, |config| {
        config.probe_timeout(2 * SECOND);
    });
    connection.handle_timeout(just_before(2));
    assert!(sent(&mut connection).is_empty());
    connection.handle_timeout(at(2));
    let messages = sent(&mut connection);
    assert!(messages[0].contains(r#""method":"initialize""#));
}

#[test]
fn call_timeouts_idle() {
    let mut connection = client(|config| {
        config.call_timeouts(Timeouts::new(5 * SECOND, 60 * SECOND));
    });
    call(&mut connection, ZERO).unwrap();
    connection.handle_timeout(just_before(5));
    assert_eq!(connection.pending(), 1);
    connection.handle_timeout(at(5));
    let elapsed = 5 * SECOND;
    assert_eq!(outcomes(&mut connection), [Outcome::TimedOut { elapsed }]);
}

#[test]
fn call_timeouts_total() {
    let mut connection = client(|config| {
        config.call_timeouts(Timeouts::new(5 * SECOND, 8 * SECOND));
    });
    let waiting = call(&mut connection, ZERO).unwrap();
    connection.set_call_paused(ZERO, waiting, true);
    connection.handle_timeout(just_before(8));
    assert_eq!(connection.pending(), 1);
    connection.handle_timeout(at(8));
    let elapsed = 8 * SECOND;
    assert_eq!(outcomes(&mut connection), [Outcome::TimedOut { elapsed }]);
}

#[test]
fn keepalive() {
    let mut connection = client(|config| {
        config.keepalive(Some(Keepalive::new(10 * SECOND, 2)));
    });
    for asked in 1..=2 {
        connection.handle_timeout(just_before(asked * 10));
        assert!(sent(&mut connection).is_empty());
        connection.handle_timeout(at(asked * 10));
        assert_eq!(sent(&mut connection).len(), 1);
    }
    connection.handle_timeout(just_before(30));
    assert!(!connection.is_closed());
    connection.handle_timeout(at(30));
    assert!(connection.is_closed());
}

#[test]
fn max_pending() {
    let mut connection = client(|config| {
        config.limits().max_pending(3);
    });
    for _ in 0..3 {
        call(&mut connection, ZERO).unwrap();
    }
    assert_eq!(call(&mut connection, ZERO), Err(CallError::TooManyPending));
}

#[test]
fn max_tombstones() {
    let mut connection = client(|config| {
        config.limits().max_tombstones(3);
    });
    for expected in [1, 2, 3, 3] {
        let given_up = call(&mut connection, ZERO).unwrap();
        connection.cancel(ZERO, given_up, "");
        assert_eq!(connection.tombstones(), expected);
    }
    // The ids are 2 to 5: the oldest is forgotten.
    for id in 2..=5 {
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        receive(&mut connection, ZERO, &answer);
    }
    let stats = connection.stats();
    assert_eq!((stats.late_responses, stats.stale_responses), (3, 1));
}

#[test]
fn tombstone_lifetime() {
    let answer = r#"{"jsonrpc":"2.0","id":2,"result":{}}"#;
    let mut connection = client(|config| {
        config.limits().tombstone_lifetime(20 * SECOND);
    });
    let given_up = call(&mut connection, ZERO).unwrap();
    connection.cancel(ZERO, given_up, "");
    receive(&mut connection, just_before(20), answer);
    assert_eq!(connection.stats().late_responses, 1);
    receive(&mut connection, at(20), answer);
    assert_eq!(connection.stats().late_responses, 1);
    assert_eq!(connection.stats().stale_responses, 1);
}

#[test]
fn max_queued() {
    let mut connection = client(|config| {
        config.limits().max_queued(3);
    });
    for _ in 0..3 {
        call(&mut connection, ZERO).unwrap();
    }
    assert_eq!(call(&mut connection, ZERO), Err(CallError::QueueFull));
    assert!(connection.poll_transmit().is_some());
    assert!(call(&mut connection, ZERO).is_ok());
}

#[test]
fn max_queued_bytes() {
    // {"jsonrpc":"2.0","method":"a"} and a line end.
    let note = 31;
    let mut connection = client(|config| {
        config.limits().max_queued_bytes(2 * note);
    });
    connection.notify("a", "").unwrap();
    assert_eq!(connection.notify("ab", ""), Err(CallError::QueueFull));
    connection.notify("a", "").unwrap();
    assert_eq!(connection.notify("", ""), Err(CallError::QueueFull));
    let sizes = sent(&mut connection);
    assert!(sizes.iter().all(|text| text.len() == note));
}

#[test]
fn send_attempts() {
    for (attempts, expected) in [(1, 1), (3, 3)] {
        let mut connection = client(|config| {
            config.limits().send_attempts(attempts, SECOND);
        });
        call(&mut connection, ZERO).unwrap();
        let mut now = ZERO;
        for attempt in 1..=expected {
            let transmit = connection.poll_transmit().unwrap();
            connection.handle_busy(now, transmit);
            assert_eq!(connection.pending() == 0, attempt == expected);
            // Half to one and a half of the pause.
            let again = connection.poll_timeout().unwrap().min(now + 2 * SECOND);
            assert!(again >= now + SECOND / 2 && again <= now + SECOND * 3 / 2);
            now = again;
            connection.handle_timeout(now);
        }
        assert_eq!(
            outcomes(&mut connection),
            [Outcome::Backpressure { attempts }]
        );
        assert!(connection.poll_transmit().is_none());
    }
}

#[test]
fn frames_out() {
    for framing in [Framing::Line, Framing::ContentLength] {
        let mut connection = client(|config| {
            let mut frames = FrameLimits::default();
            frames.frame = 300;
            config.framing(framing).limits().frames(frames);
        });
        let mut call_of = |length: usize| {
            let body = format!(r#""a":"{}""#, "y".repeat(length));
            connection.call(ZERO, CallRequest::new("x", body))
        };
        // {"jsonrpc":"2.0","id":2,"method":"x","params":{"a":"…"}}
        let around = 55;
        assert!(call_of(300 - around).is_ok());
        assert_eq!(
            call_of(300 - around + 1),
            Err(CallError::TooLarge { size: 301 })
        );
        let text = sent(&mut connection).concat();
        let frame = text.split("\r\n\r\n").last().unwrap();
        assert_eq!(frame.trim_end().len(), 300);
    }
}

#[test]
fn frames_in() {
    let frames = |oversize| {
        let mut frames = FrameLimits::default();
        frames.frame = 300;
        frames.oversize = oversize;
        frames
    };
    for oversize in [Oversize::Stop, Oversize::Skip] {
        let mut connection = client(|config| {
            config.limits().frames(frames(oversize));
        });
        call(&mut connection, ZERO).unwrap();
        call(&mut connection, ZERO).unwrap();
        receive(&mut connection, ZERO, &answer_of(2, 300));
        receive(&mut connection, ZERO, &answer_of(3, 301));
        let outcomes = outcomes(&mut connection);
        assert!(matches!(outcomes[0], Outcome::Result(_)));
        assert_eq!(outcomes[1], Outcome::TooLarge { size: 301 });
        assert_eq!(connection.is_closed(), oversize == Oversize::Stop);
    }
}

#[test]
fn frames_in_at_the_end_of_the_stream() {
    for (size, is_taken) in [(300, true), (301, false)] {
        let mut connection = client(|config| {
            let mut frames = FrameLimits::default();
            frames.frame = 300;
            config.limits().frames(frames);
        });
        call(&mut connection, ZERO).unwrap();
        let answer = answer_of(2, size);
        connection
            .read_buffer()
            .extend_from_slice(answer.as_bytes());
        connection.handle_eof(ZERO);
        let outcomes = outcomes(&mut connection);
        assert_eq!(matches!(outcomes[0], Outcome::Result(_)), is_taken);
    }
}

#[test]
fn frames_skipped() {
    for (size, is_closed) in [(1000, false), (1001, true)] {
        let mut connection = client(|config| {
            let mut frames = FrameLimits::default();
            frames.frame = 300;
            frames.oversize = Oversize::Skip;
            frames.skipped = 1000;
            config.limits().frames(frames);
        });
        call(&mut connection, ZERO).unwrap();
        let answer = answer_of(2, size);
        connection
            .read_buffer()
            .extend_from_slice(answer.as_bytes());
        connection.handle_read(ZERO);
        assert_eq!(connection.is_closed(), is_closed, "{size}");
    }
}

/// An answer of so many bytes.
fn answer_of(id: u32, size: usize) -> String {
    let empty = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":""}}}}"#);
    let text = "y".repeat(size - empty.len());
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":"{text}"}}}}"#)
}
