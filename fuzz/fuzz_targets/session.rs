//! A server's session as a sequence of operations: every request has one answer at most,
//! and a cancelled one has none.

#![no_main]

use std::collections::BTreeMap;
use std::time::Duration;

use bowline_proto::server::{Session, SessionConfig, SessionEvent, SessionPhase};
use bowline_proto::{CallRequest, Instant, Payload, RequestKey};
use bowline_types::common::Implementation;
use bowline_types::envelope::Envelope;
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

/// What is known of a request whose handler is not done: whether it may be answered.
type Handled = BTreeMap<RequestKey, bool>;

fuzz_target!(|data: &[u8]| {
    let mut config = SessionConfig::new(Implementation::new("fuzz", "0"));
    config.max_resource_subscriptions(2, 100);
    config.handler_timeout(Some(Duration::from_secs(40)));
    config
        .limits()
        .max_peer_requests(3)
        .max_batch(4)
        .misbehavior_budget(20);
    let mut session = Session::new(Instant::START, config);
    let mut now = Instant::START;
    let mut handled = Handled::new();
    let mut last = None;
    for pair in data.chunks(2) {
        let (operation, argument) = (pair[0], pair.get(1).copied().unwrap_or(0));
        let chosen = usize::from(argument >> 1).checked_rem(handled.len());
        let chosen = chosen.and_then(|at| handled.keys().nth(at).copied());
        match (operation % 10, chosen) {
            (0, Some(request)) => {
                let is_open = handled.remove(&request);
                let responded = session.respond(now, request, Payload::EMPTY);
                assert_eq!(Some(responded.is_ok()), is_open);
            }
            (1, about) => {
                let about = about.filter(|_| argument & 1 == 1);
                let _ =
                    session.send_request(now, about, CallRequest::new("roots/list", Bytes::new()));
            }
            (2, _) => {
                now = now + Duration::from_secs(u64::from(argument));
                session.handle_timeout(now);
            }
            (3, _) if argument == 255 => session.shut_down(),
            (4, _) if argument == 255 => session.close(now),
            (5, _) => {
                while let Some(transmit) = session.poll_transmit() {
                    check_frame(&transmit.to_bytes());
                    last = Some(transmit);
                }
            }
            (6, Some(request)) => {
                handled.remove(&request);
                session.release(now, request);
            }
            (7, Some(request)) => {
                let notified =
                    session.notify(Some(request), "notifications/progress", Bytes::new());
                assert!(notified.is_err() || handled.get(&request) == Some(&true));
            }
            (8, _) => {
                if let Some(transmit) = last.take() {
                    session.handle_busy(now, transmit);
                }
            }
            _ => {
                let frame = frame(operation, argument % 5);
                session.read_buffer().extend_from_slice(frame.as_bytes());
                session.read_buffer().extend_from_slice(b"\n");
                session.handle_read(now);
            }
        }
        check(&mut session, &mut handled);
    }
});

/// What is sent is one message, or the answers to a batch of four at most.
fn check_frame(frame: &[u8]) {
    if let Envelope::Batch(batch) = Envelope::parse(frame).expect("a message") {
        assert!(batch.len() <= 4);
        for part in batch.messages() {
            let answer = part.expect("a message");
            assert!(matches!(
                answer,
                Envelope::Success(_) | Envelope::Failure(_)
            ));
        }
    }
}

fn check(session: &mut Session, handled: &mut Handled) {
    let mut is_over = false;
    while let Some(event) = session.poll_event() {
        assert!(!is_over, "{event:?} after the end");
        is_over = matches!(event, SessionEvent::Closed(_));
        match event {
            SessionEvent::Request { request, .. } => {
                assert_eq!(handled.insert(request, true), None);
            }
            SessionEvent::RequestCancelled(request) | SessionEvent::RequestTimedOut(request) => {
                assert_eq!(handled.insert(request, false), Some(true));
            }
            _ => {}
        }
    }
    let open = handled.values().filter(|is_open| **is_open).count();
    assert_eq!(
        (session.open_handlers(), session.open_requests()),
        (handled.len(), open)
    );
    assert!(handled.len() <= 3);
    if session.phase() == SessionPhase::Closed {
        assert_eq!(open, 0);
        assert_eq!(session.poll_transmit(), None);
        assert_eq!(session.poll_timeout(), None);
    }
}

fn frame(operation: u8, id: u8) -> String {
    match operation / 10 % 11 {
        0 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"2025-03-26","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
        ),
        1 => r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.into(),
        2 => format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        ),
        3 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
        4 => format!(
            r#"[{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}},{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}]"#
        ),
        5 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#),
        6 => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":1}}}}"#),
        7 => "nonsense".into(),
        8 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        ),
        _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#),
    }
}
