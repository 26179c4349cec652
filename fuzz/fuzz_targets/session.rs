//! A server's session as a sequence of operations: every request has one answer at most,
//! and a cancelled one has none.

#![no_main]

use std::collections::BTreeSet;
use std::time::Duration;

use bowline_proto::Instant;
use bowline_proto::server::{
    Routed, RouterConfig, Session, SessionConfig, SessionEvent, SessionPhase, route,
};
use bowline_types::common::Implementation;
use bowline_types::{JsonRef, RequestId, Revisions};
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut config = SessionConfig::new(Implementation::new("fuzz", "0"));
    config.max_requests(3).max_watched(2).max_batch(4);
    let mut session = Session::new(Instant::START, config);
    let router = RouterConfig::new(Revisions::ALL);
    let mut now = Instant::START;
    let mut open: BTreeSet<RequestId> = BTreeSet::new();
    for pair in data.chunks(2) {
        let (operation, argument) = (pair[0], pair.get(1).copied().unwrap_or(0));
        let id = RequestId::from(i64::from(argument % 5));
        match operation % 8 {
            0 => {
                let is_open = open.remove(&id);
                assert_eq!(session.respond(&id, JsonRef::EMPTY_OBJECT).is_ok(), is_open);
            }
            1 => {
                let _ = session.ask(now, "roots/list", Bytes::new());
            }
            2 => {
                now = now + Duration::from_secs(u64::from(argument));
                session.handle_timeout(now);
            }
            3 if argument == 255 => session.shut_down(),
            4 if argument == 255 => session.close(),
            5 => while session.poll_transmit().is_some() {},
            _ => {
                let frame = Bytes::from(frame(operation, argument % 5));
                if let Routed::Session(message) = route(&router, &frame, None) {
                    session.handle_message(now, &frame, message);
                }
            }
        }
        while let Some(event) = session.poll_event() {
            match event {
                SessionEvent::Request { id, .. } => assert!(open.insert(id)),
                SessionEvent::RequestCancelled(id) => assert!(open.remove(&id)),
                _ => {}
            }
        }
        assert_eq!(session.open_requests(), open.len());
        assert!(open.len() <= 3);
        if session.phase() == SessionPhase::Closed {
            assert!(open.is_empty());
        }
    }
});

fn frame(operation: u8, id: u8) -> String {
    match operation / 8 % 10 {
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
        _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#),
    }
}
