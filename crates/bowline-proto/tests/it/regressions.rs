//! What once went wrong.

use std::time::Duration;

use bowline_proto::codec::{FrameDecoder, FrameLimits, SseDecoder, SseItem, write_event};
use bowline_proto::connection::{Event, StreamEnd};
use bowline_proto::server::{Session, SessionConfig, SessionEvent, SessionPhase};
use bowline_proto::{
    CallRequest, Carrier, CloseReason, Config, Connection, IdCounter, Instant, Keepalive, Outcome,
    Payload, PeerFault, TransmitKind,
};
use bowline_types::common::Implementation;
use bowline_types::{JsonObject, Revision, Revisions};
use bytes::Bytes;

fn at(seconds: u64) -> Instant {
    Instant::START + Duration::from_secs(seconds)
}

fn client(configure: impl FnOnce(&mut Config)) -> Connection {
    let mut config = Config::new(Implementation::new("client", "1"));
    configure(&mut config);
    let mut client = Connection::new(config, IdCounter::new());
    client.open(at(0));
    client
}

/// A client that is ready, in the handshake era on a shared stream.
fn ready(configure: impl FnOnce(&mut Config)) -> Connection {
    let mut client = client(|config| {
        config.revisions(Revisions::only(Revision::V2025_03_26));
        configure(config);
    });
    receive(&mut client, at(0), INITIALIZED);
    while client.poll_transmit().is_some() || client.poll_event().is_some() {}
    assert!(client.is_ready());
    client
}

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#;

fn receive(client: &mut Connection, now: Instant, frame: &str) {
    client.read_buffer().extend_from_slice(frame.as_bytes());
    client.read_buffer().extend_from_slice(b"\n");
    client.handle_read(now);
}

/// A server that has been greeted, in a revision with batches.
fn server(configure: impl FnOnce(&mut SessionConfig)) -> Session {
    let mut config = SessionConfig::new(Implementation::new("server", "1"));
    configure(&mut config);
    let mut server = Session::new(at(0), config);
    receive_on_server(&mut server, at(0), INITIALIZE);
    receive_on_server(&mut server, at(0), NOTE);
    while server.poll_transmit().is_some() || server.poll_event().is_some() {}
    server
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
const NOTE: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

fn receive_on_server(server: &mut Session, now: Instant, frame: &str) {
    server.read_buffer().extend_from_slice(frame.as_bytes());
    server.read_buffer().extend_from_slice(b"\n");
    server.handle_read(now);
}

/// Nothing comes after the end: no event, no answer, no request.
#[test]
fn the_end_is_the_end() {
    let mut server = server(|config| {
        config.limits().misbehavior_budget(1);
    });
    let list = r#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#;
    let ping = r#"{"jsonrpc":"2.0","id":6,"method":"ping"}"#;
    receive_on_server(&mut server, at(1), &format!("[1,2,3,{list},{ping},4]"));
    assert_eq!(server.phase(), SessionPhase::Closed);
    let events: Vec<_> = std::iter::from_fn(|| server.poll_event()).collect();
    let fault = CloseReason::Peer(PeerFault::TooManyViolations);
    assert_eq!(events, [SessionEvent::Closed(fault)]);
    assert_eq!(server.poll_transmit(), None);
    assert_eq!(server.poll_timeout(), None);
}

/// One message is one line, however its parts were written.
#[test]
fn a_body_over_several_lines_is_one_line() {
    let mut client = ready(|_| {});
    let body = Bytes::from_static(b"\"name\":\"x\",\r\n\"arguments\":{}");
    let call = client.call(at(1), CallRequest::new("tools/call", body));
    call.expect("it is ready");
    receive(
        &mut client,
        at(1),
        r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#,
    );
    let Some(Event::Request { request, .. }) = client.poll_event() else {
        panic!("a request");
    };
    let roots = JsonObject::parse("{\n \"roots\": []\n}").expect("an object");
    let responded = client.respond(at(1), request, Payload::from(roots));
    responded.expect("it is open");
    for _ in 0..2 {
        let message = client.poll_transmit().expect("a message").to_bytes();
        let ends = message.iter().filter(|byte| matches!(byte, b'\n' | b'\r'));
        assert_eq!(ends.count(), 1);
        assert!(message.ends_with(b"}\n"));
    }
    let mut out = Vec::new();
    write_event(&mut out, None, b"{\"a\":1,\r\"b\":2}");
    let mut events = SseDecoder::new(100);
    events.push(&out);
    let Some(SseItem::Event { data, .. }) = events.poll() else {
        panic!("an event");
    };
    assert_eq!(data, "{\"a\":1,\n\"b\":2}");
}

/// Well-formed nonsense is nonsense.
#[test]
fn every_kind_of_nonsense_counts() {
    let answer = r#"{"jsonrpc":"2.0","id":99,"result":{}}"#;
    let error = r#"{"jsonrpc":"2.0","error":{"code":1,"message":""}}"#;
    for frame in [answer, error, "nonsense"] {
        let mut client = ready(|config| {
            config.limits().misbehavior_budget(10);
        });
        for _ in 0..10 {
            receive(&mut client, at(1), frame);
        }
        assert!(client.is_ready(), "{frame}");
        receive(&mut client, at(1), frame);
        assert!(client.is_closed(), "{frame}");
    }
    let again = r#"{"jsonrpc":"2.0","id":3,"method":"initialize"}"#;
    for frame in [answer, error, "nonsense", again, NOTE, "[[]]"] {
        let mut server = server(|config| {
            config.limits().misbehavior_budget(10);
        });
        for _ in 0..10 {
            receive_on_server(&mut server, at(1), frame);
        }
        assert_eq!(server.phase(), SessionPhase::Ready, "{frame}");
        receive_on_server(&mut server, at(1), frame);
        assert_eq!(server.phase(), SessionPhase::Closed, "{frame}");
    }
    // What has an effect makes up for it.
    let mut client = ready(|config| {
        config.limits().misbehavior_budget(1);
    });
    for _ in 0..10 {
        receive(&mut client, at(1), "nonsense");
        receive(
            &mut client,
            at(1),
            r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#,
        );
    }
    assert!(client.is_ready());
}

/// An error to one of the two leaves the other.
#[test]
fn a_failed_handshake_leaves_the_other_one() {
    let mut client = client(|_| {});
    client.handle_timeout(at(3));
    let refused = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":""}}"#;
    receive(&mut client, at(4), refused);
    assert!(!client.is_closed());
    let found = r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}"#;
    receive(&mut client, at(5), found);
    assert!(client.is_ready());

    let mut neither = self::client(|_| {});
    neither.handle_timeout(at(3));
    receive(&mut neither, at(4), refused);
    let no = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":""}}"#;
    receive(&mut neither, at(5), no);
    assert!(neither.is_closed());
}

/// What has lost its point is not sent any more, and its stream is closed.
#[test]
fn the_loser_of_the_handshake_never_leaves() {
    let mut client = client(|_| {});
    client.poll_transmit().expect("the probe");
    client.handle_timeout(at(3));
    let found = r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}"#;
    receive(&mut client, at(4), found);
    assert!(client.is_ready());
    assert_eq!(client.poll_transmit(), None);
    assert_eq!(client.pending(), 0);
}

/// A peer that takes its answers slowly is alive.
#[test]
fn a_slow_peer_is_not_stalled() {
    let mut server = server(|config| {
        config.limits().max_peer_requests(4);
    });
    for id in 10..18 {
        let ping = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        receive_on_server(&mut server, at(0), &ping);
    }
    for round in 1..=4 {
        assert!(!server.wants_read());
        server.handle_timeout(at(round * 29));
        server.poll_transmit().expect("an answer");
        assert_ne!(server.phase(), SessionPhase::Closed, "{round}");
    }
    // One that takes none is not.
    let mut dead = self::server(|config| {
        config.limits().max_peer_requests(1);
    });
    receive_on_server(
        &mut dead,
        at(0),
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
    );
    dead.handle_timeout(at(29));
    assert_ne!(dead.phase(), SessionPhase::Closed);
    dead.handle_timeout(at(30));
    assert_eq!(dead.phase(), SessionPhase::Closed);
}

/// Settings at the ends of their ranges.
#[test]
fn extreme_settings_are_no_trouble() {
    let mut limits = FrameLimits::default();
    limits.frame = usize::MAX;
    let mut decoder = FrameDecoder::new(limits);
    decoder.push(b"{}");
    assert_eq!(decoder.poll(), None);

    let mut client = ready(|config| {
        config.limits().max_peer_requests(0);
    });
    assert!(client.wants_read());
    receive(
        &mut client,
        at(1),
        r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#,
    );
    let refusal = client.poll_transmit().expect("a refusal").to_bytes();
    assert!(String::from_utf8_lossy(&refusal).contains("busy"));

    let mut eager = ready(|config| {
        config.keepalive(Some(Keepalive::new(Duration::ZERO, 3)));
    });
    eager.handle_timeout(at(1));
    assert!(eager.poll_timeout() > Some(at(1)));

    let config = Config::new(Implementation::new("client", "1"));
    let mut zero = Connection::new(config, IdCounter::starting_at(0));
    zero.open(at(0));
    assert!(matches!(
        zero.poll_transmit().expect("the probe").kind,
        TransmitKind::Call(id) if id.get() == 1
    ));
}

/// An internal call takes no place of the user's calls.
#[test]
fn a_keepalive_counts_against_no_limit() {
    let mut client = ready(|config| {
        config.limits().max_pending(1);
        config.keepalive(Some(Keepalive::new(Duration::from_secs(5), 3)));
    });
    client.handle_timeout(at(5));
    assert_eq!(client.pending(), 1);
    let call = |client: &mut Connection| client.call(at(6), CallRequest::new("x", ""));
    assert!(call(&mut client).is_ok());
    assert!(call(&mut client).is_err());
}

// proves: F-FR-18
#[test]
fn content_length_framing_is_answered_in_kind() {
    let mut server = server(|_| {});
    assert!(server.poll_transmit().is_none());
    let config = SessionConfig::new(Implementation::new("server", "1"));
    let mut server = Session::new(at(0), config);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let framed = format!("Content-Length: {}\r\n\r\n{ping}", ping.len());
    server.read_buffer().extend_from_slice(framed.as_bytes());
    server.handle_read(at(0));
    let answer = server.poll_transmit().expect("an answer").to_bytes();
    let answer = String::from_utf8(answer).expect("UTF-8");
    let expected = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let head = format!("Content-Length: {}\r\n\r\n", expected.len());
    assert_eq!(answer, head + expected);
}

// proves: F-SS-11
#[test]
fn an_event_that_is_too_large_ends_its_call_and_no_other() {
    let mut client = client(|config| {
        config.carrier(Carrier::StreamPerRequest);
        config.revisions(Revisions::only(Revision::V2025_03_26));
    });
    client.handle_message(at(0), None, &Bytes::from(INITIALIZED));
    let first = client
        .call(at(1), CallRequest::new("x", ""))
        .expect("ready");
    let second = client
        .call(at(1), CallRequest::new("x", ""))
        .expect("ready");
    while client.poll_transmit().is_some() || client.poll_event().is_some() {}
    let mut events = SseDecoder::new(64);
    let answer = format!(r#"{{"id":{first},"result":{{"x":"{}"}}}}"#, "y".repeat(100));
    let mut out = Vec::new();
    write_event(&mut out, None, answer.as_bytes());
    events.push(&out);
    let Some(SseItem::TooLarge(too_large)) = events.poll() else {
        panic!("it is too large");
    };
    client.handle_oversized(at(2), Some(first), &too_large);
    let Some(Event::Ended { call, outcome, .. }) = client.poll_event() else {
        panic!("it ended");
    };
    assert_eq!(call, first);
    assert!(matches!(outcome, Outcome::TooLarge { .. }));
    assert!(client.is_ready());
    client.handle_stream_end(at(3), second, StreamEnd::Refused(429));
    assert!(matches!(client.poll_event(), Some(Event::Ended { call, .. }) if call == second));
}

/// Only a response of the server itself indicates its era.
#[test]
fn statuses_that_an_intermediary_may_send_show_no_era() {
    for (status, tells) in [
        (400, true),
        (404, true),
        (405, true),
        (401, false),
        (403, false),
        (407, false),
        (408, false),
        (425, false),
        (429, false),
        (500, false),
        (504, false),
    ] {
        let mut client = client(|config| {
            config.carrier(Carrier::StreamPerRequest);
        });
        let probe = client.poll_transmit().expect("the probe");
        let TransmitKind::Call(call) = probe.kind else {
            panic!("a call");
        };
        client.handle_stream_end(at(1), call, StreamEnd::Refused(status));
        assert_eq!(!client.is_closed(), tells, "{status}");
    }
}

/// Two requests of one id are never both answered.
#[test]
fn a_ping_with_an_id_that_is_open_is_a_duplicate() {
    let mut server = server(|_| {});
    receive_on_server(
        &mut server,
        at(1),
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#,
    );
    receive_on_server(
        &mut server,
        at(1),
        r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#,
    );
    let refusal = server.poll_transmit().expect("a refusal").to_bytes();
    assert!(String::from_utf8_lossy(&refusal).contains("-32600"));
}

/// A call that was given up while the driver held it was never seen, nor is its end.
#[test]
fn nothing_is_cancelled_that_was_never_sent() {
    let mut client = ready(|_| {});
    let call = client
        .call(at(1), CallRequest::new("x", ""))
        .expect("ready");
    let transmit = client.poll_transmit().expect("the call");
    client.cancel(at(1), call, "no longer wanted");
    client.handle_busy(at(1), transmit);
    client.handle_timeout(at(2));
    assert_eq!(client.poll_transmit(), None);
}

/// While our handler works, progress still counts.
#[test]
fn progress_counts_while_the_server_waits_for_us() {
    let mut client = ready(|_| {});
    let mut timeouts =
        bowline_proto::Timeouts::new(Duration::from_secs(10), Duration::from_secs(100));
    timeouts.progress_counts = true;
    let request = CallRequest::new("x", "").timeouts(timeouts).with_progress();
    let call = client.call(at(0), request).expect("ready");
    client.set_call_paused(at(9), call, true);
    let progress = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{call},"progress":1}}}}"#
    );
    receive(&mut client, at(15), &progress);
    client.set_call_paused(at(20), call, false);
    client.handle_timeout(at(29));
    assert_eq!(client.pending(), 1);
    client.handle_timeout(at(30));
    assert_eq!(client.pending(), 0);
}

/// Broken JSON ends its call at once, and so does broken text.
#[test]
fn an_answer_that_is_not_utf8_ends_its_call() {
    let mut client = ready(|_| {});
    let call = client
        .call(at(1), CallRequest::new("x", ""))
        .expect("ready");
    let frame = b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"a\":\"\xff\"}}\n";
    client.read_buffer().extend_from_slice(frame);
    client.handle_read(at(2));
    let Some(Event::Ended {
        call: ended,
        outcome: Outcome::Invalid(reason),
        ..
    }) = client.poll_event()
    else {
        panic!("the call goes on");
    };
    assert_eq!(ended, call);
    assert!(reason.contains("UTF-8"), "{reason}");
    assert_eq!((client.pending(), client.stats().malformed_frames), (0, 1));
}
