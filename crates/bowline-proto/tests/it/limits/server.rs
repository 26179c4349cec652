//! Limits and times of a server.

use bowline_proto::codec::FrameLimits;
use bowline_proto::server::{Session, SessionConfig, SessionEvent, SessionPhase};
use bowline_proto::{CallRequest, Limits, Outcome, Payload, Timeouts};
use bowline_types::Revision;
use bowline_types::common::Implementation;

use super::{
    SECOND, ZERO, answers, ask, at, just_before, ping, request, requests, server, server_of,
};

fn with_limits(configure: impl FnOnce(&mut Limits)) -> Session {
    server(|config| configure(config.limits()))
}

fn is_closed(session: &Session) -> bool {
    session.phase() == SessionPhase::Closed
}

#[test]
fn handshake_timeout() {
    let mut config = SessionConfig::new(Implementation::new("limits", "0"));
    config.handshake_timeout(7 * SECOND, false);
    let mut session = Session::new(ZERO, config);
    session.handle_timeout(just_before(7));
    assert!(!is_closed(&session));
    session.handle_timeout(at(7));
    assert!(is_closed(&session));
}

// proves: SV-6
#[test]
fn frame_timeout() {
    let unfinished = || {
        let mut session = server(|config| {
            config.frame_timeout(Some(7 * SECOND));
            config.limits().max_peer_requests(1);
        });
        session
            .read_buffer()
            .extend_from_slice(br#"{"jsonrpc":"2.0","#);
        session.handle_read(ZERO);
        session
    };
    let mut session = unfinished();
    assert_eq!(session.poll_timeout(), Some(at(7)));
    // A little more of it changes nothing.
    session.read_buffer().extend_from_slice(br#""id":1,"#);
    session.handle_read(at(3));
    session.handle_timeout(just_before(7));
    assert!(!is_closed(&session));
    session.handle_timeout(at(7));
    assert!(is_closed(&session));
    // The end of it does, and what follows has its own time.
    let mut session = unfinished();
    ask(&mut session, at(6), r#""id":1,"method":"ping"}"#);
    assert_eq!(answers(&mut session).len(), 1);
    assert_eq!(session.poll_timeout(), None);
    // While answers don't leave nothing is read, and then it begins anew.
    let mut session = unfinished();
    ask(&mut session, at(1), r#""id":1,"method":"ping"}"#);
    session.read_buffer().extend_from_slice(b"{");
    session.handle_read(at(2));
    session.handle_timeout(at(9));
    assert!(!is_closed(&session));
    assert_eq!(answers(&mut session).len(), 1);
    session.handle_timeout(at(20));
    session.handle_timeout(just_before(27));
    assert!(!is_closed(&session));
    session.handle_timeout(at(27));
    assert!(is_closed(&session));
}

#[test]
fn handler_timeout() {
    let mut session = server(|config| {
        config.handler_timeout(Some(5 * SECOND));
    });
    ask(&mut session, ZERO, &request("1"));
    session.handle_timeout(just_before(5));
    assert_eq!(session.open_requests(), 1);
    session.handle_timeout(at(5));
    assert_eq!((session.open_requests(), session.open_handlers()), (0, 1));
    assert_eq!(answers(&mut session).len(), 1);
}

#[test]
fn request_timeouts() {
    for (wants_progress, limit) in [(false, 5), (true, 8)] {
        let mut timeouts = Timeouts::new(5 * SECOND, 8 * SECOND);
        timeouts.progress_counts = true;
        let mut session = server(|config| {
            config.request_timeouts(timeouts);
        });
        let mut question = CallRequest::new("roots/list", "");
        if wants_progress {
            question = question.with_progress();
        }
        session.send_request(ZERO, None, question).unwrap();
        if wants_progress {
            let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#;
            ask(&mut session, at(4), progress);
        }
        session.handle_timeout(just_before(limit));
        assert_eq!(session.pending(), 1);
        session.handle_timeout(at(limit));
        let ended = std::iter::from_fn(|| session.poll_event()).find_map(|event| match event {
            SessionEvent::Ended { outcome, .. } => Some(outcome),
            _ => None,
        });
        let elapsed = limit * SECOND;
        assert_eq!(ended, Some(Outcome::TimedOut { elapsed }));
    }
}

#[test]
fn max_resource_subscriptions() {
    let watch = |session: &mut Session, uri: &str| {
        let params = format!(r#"{{"uri":"{uri}"}}"#);
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{params}}}"#
        );
        ask(session, ZERO, &message);
        answers(session)[0].contains("result")
    };
    let mut by_count = server(|config| {
        config.max_resource_subscriptions(2, 1000);
    });
    let taken = ["a", "b", "a", "c"].map(|uri| watch(&mut by_count, uri));
    assert_eq!(taken, [true, true, true, false]);
    let mut by_bytes = server(|config| {
        config.max_resource_subscriptions(1000, 10);
    });
    let taken = ["12345", "123456", "abcde", "x"].map(|uri| watch(&mut by_bytes, uri));
    assert_eq!(taken, [true, false, true, false]);
}

#[test]
fn max_peer_requests() {
    let mut session = with_limits(|limits| {
        limits.max_peer_requests(2);
    });
    for (id, is_busy) in [("1", false), ("2", false), ("3", true)] {
        ask(&mut session, ZERO, &request(id));
        assert_eq!(!answers(&mut session).is_empty(), is_busy, "{id}");
    }
    assert_eq!(session.open_handlers(), 2);
}

#[test]
fn max_peer_requests_stops_reading() {
    let mut session = with_limits(|limits| {
        limits.max_peer_requests(2);
    });
    for (id, goes_on) in [("1", true), ("2", false)] {
        ask(&mut session, ZERO, &ping(id));
        assert_eq!(session.wants_read(), goes_on, "{id}");
    }
    session.poll_transmit();
    assert!(session.wants_read());
}

#[test]
fn max_queued_bytes_stops_reading() {
    // {"jsonrpc":"2.0","id":1,"result":{}} and a line end.
    let answer = 37;
    for (limit, goes_on) in [(2 * answer, true), (2 * answer - 1, false)] {
        let mut session = with_limits(|limits| {
            limits.max_queued_bytes(limit);
        });
        ask(&mut session, ZERO, &ping("1"));
        ask(&mut session, ZERO, &ping("2"));
        assert_eq!(session.wants_read(), goes_on);
        assert_eq!(answers(&mut session).concat().len(), 2 * answer);
        assert!(session.wants_read());
    }
}

#[test]
fn max_peer_request_bytes() {
    let request = |id: u32, bytes: usize| {
        let params = format!(r#"{{"a":"{}"}}"#, "y".repeat(bytes - 8));
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{params}}}"#)
    };
    let mut session = with_limits(|limits| {
        limits.max_peer_request_bytes(100);
    });
    let cases = [(1, 60, false), (2, 41, true), (3, 40, false), (4, 8, true)];
    for (id, bytes, is_busy) in cases {
        ask(&mut session, ZERO, &request(id, bytes));
        let answers = answers(&mut session).concat();
        assert_eq!(answers.contains("busy"), is_busy, "{id}: {answers}");
    }
    // What has none fits, and so does a large one that is alone.
    ask(&mut session, ZERO, &super::request("5"));
    for key in requests(&mut session) {
        session.release(ZERO, key);
    }
    answers(&mut session);
    ask(&mut session, ZERO, &request(6, 101));
    assert_eq!(
        (answers(&mut session).len(), session.open_handlers()),
        (0, 1)
    );
}

/// A subscription of the stateless era.
fn listen(id: u32) -> String {
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
    let params = format!(r#"{{"_meta":{meta},"notifications":{{}}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{params}}}"#)
}

#[test]
fn max_subscriptions() {
    let mut session = with_limits(|limits| {
        // They take nothing from what handlers have.
        limits.max_subscriptions(2).max_peer_requests(1);
        limits.max_peer_request_bytes(1);
    });
    for (id, is_busy) in [(1, false), (2, false), (3, true)] {
        ask(&mut session, ZERO, &listen(id));
        let answers = answers(&mut session).concat();
        assert_eq!(answers.contains("busy"), is_busy, "{answers}");
    }
    ask(&mut session, ZERO, &request("4"));
    let open = requests(&mut session);
    assert_eq!(open.len(), 3);
    session.release(ZERO, open[0]);
    answers(&mut session);
    ask(&mut session, ZERO, &listen(5));
    assert!(answers(&mut session).is_empty());
    ask(&mut session, ZERO, &request("6"));
    assert!(answers(&mut session)[0].contains("busy"));
}

#[test]
fn a_subscription_has_no_handler_that_could_take_too_long() {
    let mut session = server(|config| {
        config.handler_timeout(Some(5 * SECOND));
    });
    ask(&mut session, ZERO, &listen(1));
    assert_eq!(session.poll_timeout(), None);
}

#[test]
fn max_peer_id_bytes() {
    let mut session = with_limits(|limits| {
        limits.max_peer_id_bytes(10);
    });
    ask(&mut session, ZERO, &request(r#""12345678901""#));
    assert!(answers(&mut session)[0].contains("too long"));
    ask(&mut session, ZERO, &request(r#""123456789""#));
    ask(&mut session, ZERO, &request(r#""a""#));
    assert!(answers(&mut session).is_empty());
    ask(&mut session, ZERO, &request(r#""b""#));
    assert!(answers(&mut session)[0].contains("busy"));
}

#[test]
fn max_batch() {
    let mut session = server_of(Revision::V2025_03_26, |config| {
        config.limits().max_batch(2);
    });
    ask(
        &mut session,
        ZERO,
        &format!("[{},{}]", ping("1"), ping("2")),
    );
    assert_eq!(
        answers(&mut session),
        [
            r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]"#
                .to_owned()
                + "\n"
        ]
    );
    let three = format!("[{},{},{}]", ping("1"), ping("2"), ping("3"));
    ask(&mut session, ZERO, &three);
    let refused = answers(&mut session);
    assert_eq!(refused.len(), 1);
    assert!(refused[0].contains("-32600"));
}

#[test]
fn max_undelivered() {
    // What an event costs without a payload.
    let event = 128;
    for (limit, goes_on) in [(2 * event, true), (2 * event - 1, false)] {
        let mut session = with_limits(|limits| {
            limits.max_undelivered(limit);
        });
        ask(&mut session, ZERO, &request("1"));
        ask(&mut session, ZERO, &request("2"));
        assert_eq!(session.wants_read(), goes_on);
        assert_eq!(requests(&mut session).len(), 2);
        assert!(session.wants_read());
    }
}

#[test]
fn stall_timeout() {
    let mut session = with_limits(|limits| {
        limits.max_peer_requests(1).stall_timeout(5 * SECOND);
    });
    ask(&mut session, ZERO, &ping("1"));
    assert_eq!(session.poll_timeout(), Some(at(5)));
    session.handle_timeout(just_before(5));
    assert!(!is_closed(&session));
    session.handle_timeout(at(5));
    assert!(is_closed(&session));
}

#[test]
fn misbehavior_budget() {
    for (frames, expected) in [(3, false), (4, true)] {
        let mut session = with_limits(|limits| {
            limits.misbehavior_budget(3);
        });
        for _ in 0..frames {
            ask(&mut session, ZERO, "x");
        }
        assert_eq!(is_closed(&session), expected);
    }
}

#[test]
fn frames_in_and_out() {
    for (frame, is_taken) in [(300, true), (301, false)] {
        let mut session = small_frames();
        let empty = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":""}}"#;
        let text = "y".repeat(frame - empty.len());
        ask(
            &mut session,
            ZERO,
            &empty.replace(r#""""#, &format!("\"{text}\"")),
        );
        assert_eq!(requests(&mut session).len() == 1, is_taken);
        assert_eq!(answers(&mut session).is_empty(), is_taken);
    }
    for (frame, is_sent) in [(300, true), (301, false)] {
        let mut session = small_frames();
        ask(&mut session, ZERO, &request("1"));
        let asked = requests(&mut session)[0];
        let empty = r#"{"jsonrpc":"2.0","id":1,"result":{"a":""}}"#;
        let text = "y".repeat(frame - empty.len());
        let result = bowline_types::JsonObject::parse(&format!(r#"{{"a":"{text}"}}"#)).unwrap();
        let responded = session.respond(ZERO, asked, Payload::from(result));
        assert_eq!(responded.is_ok(), is_sent);
        assert_eq!(answers(&mut session)[0].trim_end().len() == frame, is_sent);
    }
}

#[test]
fn frames_skip_timeout() {
    let mut session = small_frames();
    let buffer = session.read_buffer();
    buffer.extend_from_slice("y".repeat(400).as_bytes());
    session.handle_read(ZERO);
    session.handle_timeout(just_before(5));
    assert!(!is_closed(&session));
    session.handle_timeout(at(5));
    assert!(is_closed(&session));
}

fn small_frames() -> Session {
    with_limits(|limits| {
        let mut frames = FrameLimits::default();
        frames.frame = 300;
        frames.oversize = bowline_proto::codec::Oversize::Skip;
        frames.skip_timeout = 5 * SECOND;
        limits.frames(frames);
    })
}
