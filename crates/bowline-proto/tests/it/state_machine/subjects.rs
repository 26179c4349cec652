//! The events, as they are done to a rig.

use bowline_proto::connection::StreamEnd;
use bowline_proto::link::{LinkCall, LinkState, OpenError};
use bowline_proto::{CallRequest, Payload};
use bowline_types::JsonObject;

use super::rig::{Rig, call_id, refusal};

pub(crate) fn opened(rig: &mut Rig) -> Option<String> {
    rig.link.handle_opened(rig.now, rig.connection_id?);
    None
}

pub(crate) fn open_failed(rig: &mut Rig) -> Option<String> {
    let error = OpenError::transient("refused");
    rig.link
        .handle_open_failed(rig.now, rig.connection_id?, error);
    None
}

pub(crate) fn open_refused(rig: &mut Rig) -> Option<String> {
    let error = OpenError::permanent("no such command");
    rig.link
        .handle_open_failed(rig.now, rig.connection_id?, error);
    None
}

pub(crate) fn timer(rig: &mut Rig) -> Option<String> {
    if let Some(due) = rig.link.poll_timeout() {
        rig.now = due;
        rig.link.handle_timeout(due);
    }
    None
}

pub(crate) fn discovered(rig: &mut Rig) -> Option<String> {
    rig.agree(r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}"#);
    None
}

pub(crate) fn discover_other(rig: &mut Rig) -> Option<String> {
    rig.refuse(-32022, r#"{"supported":["2026-07-28"],"requested":"x"}"#);
    None
}

pub(crate) fn discover_legacy_error(rig: &mut Rig) -> Option<String> {
    rig.refuse(-32022, r#"{"supported":["2025-06-18"],"requested":"x"}"#);
    None
}

pub(crate) fn discover_legacy(rig: &mut Rig) -> Option<String> {
    rig.agree(r#"{"resultType":"complete","supportedVersions":["2025-06-18"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}"#);
    None
}

pub(crate) fn discover_nothing(rig: &mut Rig) -> Option<String> {
    rig.agree(r#"{"resultType":"complete","supportedVersions":["1999-01-01"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}"#);
    None
}

pub(crate) fn discover_error(rig: &mut Rig) -> Option<String> {
    rig.refuse(-32601, "null");
    None
}

pub(crate) fn initialized(rig: &mut Rig) -> Option<String> {
    rig.fall_back();
    rig.initialized();
    None
}

pub(crate) fn initialized_unknown(rig: &mut Rig) -> Option<String> {
    rig.fall_back();
    rig.agree(r#"{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#);
    None
}

pub(crate) fn initialize_error(rig: &mut Rig) -> Option<String> {
    rig.fall_back();
    rig.refuse(-32603, "null");
    None
}

/// The probe has not been answered when `initialize` is refused.
pub(crate) fn slow_modern(rig: &mut Rig) -> Option<String> {
    if rig.link.state() == LinkState::Initializing {
        timer(rig);
        rig.discard_effects();
    }
    rig.refuse(-32022, r#"{"supported":["2026-07-28"],"requested":"x"}"#);
    None
}

pub(crate) fn eof(rig: &mut Rig) -> Option<String> {
    rig.link.handle_eof(rig.now, rig.connection_id?);
    None
}

pub(crate) fn lost(rig: &mut Rig) -> Option<String> {
    rig.fall_back();
    rig.lose();
    None
}

pub(crate) fn server_ping(rig: &mut Rig) -> Option<String> {
    rig.receive(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
    None
}

pub(crate) fn server_request(rig: &mut Rig) -> Option<String> {
    rig.receive(r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#);
    None
}

pub(crate) fn notification(rig: &mut Rig) -> Option<String> {
    rig.receive(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    None
}

pub(crate) fn user_ping(rig: &mut Rig) -> Option<String> {
    rig.fall_back();
    rig.link.ping(rig.now).err().map(refusal)
}

fn a_call() -> LinkCall {
    LinkCall::new(CallRequest::new("x", &b""[..]))
}

pub(crate) fn call(rig: &mut Rig) -> Option<String> {
    rig.link.call(rig.now, a_call()).err().map(refusal)
}

pub(crate) fn waiting_call(rig: &mut Rig) -> Option<String> {
    let call = a_call().wait_for_ready();
    rig.link.call(rig.now, call).err().map(refusal)
}

pub(crate) fn notify(rig: &mut Rig) -> Option<String> {
    rig.link.notify("x", &b""[..]).err().map(refusal)
}

/// Ten times is once.
pub(crate) fn cancel(rig: &mut Rig) -> Option<String> {
    let call = rig.pending.or(rig.waiting)?;
    let cancelled = rig.link.cancel(rig.now, call, "no longer wanted");
    for _ in 0..9 {
        assert!(!rig.link.cancel(rig.now, call, "no longer wanted"));
    }
    Some(cancelled.to_string())
}

pub(crate) fn oversized(rig: &mut Rig) -> Option<String> {
    rig.receive(&"x".repeat(2000));
    None
}

pub(crate) fn response(rig: &mut Rig) -> Option<String> {
    if rig.pending.is_some() {
        rig.answer("{}");
    }
    None
}

pub(crate) fn response_unknown(rig: &mut Rig) -> Option<String> {
    rig.receive(r#"{"jsonrpc":"2.0","id":999,"result":{}}"#);
    None
}

pub(crate) fn progress(rig: &mut Rig) -> Option<String> {
    let token = rig.last_id;
    let params = format!(r#"{{"progressToken":{token},"progress":1}}"#);
    rig.receive(&format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#
    ));
    None
}

pub(crate) fn cancelled_other(rig: &mut Rig) -> Option<String> {
    // Also the id of our own call: it is not the server's to cancel.
    for id in [rig.last_id, 999] {
        rig.receive(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        ));
    }
    None
}

pub(crate) fn cancelled_all(rig: &mut Rig) -> Option<String> {
    rig.receive(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#);
    None
}

pub(crate) fn malformed(rig: &mut Rig) -> Option<String> {
    rig.receive("{nonsense");
    None
}

pub(crate) fn malformed_answer(rig: &mut Rig) -> Option<String> {
    if rig.pending.is_some() {
        let id = rig.last_id;
        rig.receive(&format!(r#"{{"jsonrpc":"2.0","id":{id}}}"#));
    }
    None
}

pub(crate) fn server_initialize(rig: &mut Rig) -> Option<String> {
    rig.receive(r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{}}"#);
    None
}

pub(crate) fn reconnect(rig: &mut Rig) -> Option<String> {
    Some(rig.link.reconnect_now(rig.now).to_string())
}

/// A hundred times is once.
// proves: CN-23, F-SD-01, F-SD-02, F-SD-08
pub(crate) fn stop(rig: &mut Rig) -> Option<String> {
    let first = rig.link.stop(rig.now);
    for _ in 0..99 {
        let again = rig.link.stop(rig.now);
        assert_eq!(again, bowline_proto::link::StopOutcome::AlreadyClosing);
    }
    Some(format!("{first:?}"))
}

pub(crate) fn crash(rig: &mut Rig) -> Option<String> {
    rig.link.handle_crash(rig.now);
    None
}

// proves: CN-24
pub(crate) fn crashes(rig: &mut Rig) -> Option<String> {
    for _ in 0..3 {
        rig.link.handle_crash(rig.now);
    }
    rig.discard_effects();
    rig.link.handle_crash(rig.now);
    // What the driver was to do before it crashed is no longer of interest.
    while rig.link.poll_action().is_some() {}
    None
}

/// Reports all that a transport of another connection can do.
pub(crate) fn input_of_another_connection(rig: &mut Rig) -> Option<String> {
    let mut other = Rig::new(|_| {});
    while other.connection_id == rig.connection_id {
        other.link.handle_crash(other.now);
        other.discard_effects();
    }
    let (link, now, connection_id) = (&mut rig.link, rig.now, other.connection_id?);
    link.handle_opened(now, connection_id);
    link.handle_open_failed(now, connection_id, OpenError::permanent("x"));
    assert!(link.read_buffer(connection_id).is_none());
    link.handle_read(now, connection_id);
    link.handle_message(now, connection_id, None, &bytes::Bytes::from_static(b"{}"));
    link.handle_activity(now, connection_id);
    let id = call_id(rig.last_id);
    link.handle_stream_end(now, connection_id, id, StreamEnd::Complete);
    link.handle_session_expired(now, connection_id, id);
    if let Some(transmit) = rig.last.clone() {
        link.handle_busy(now, connection_id, transmit);
    }
    link.handle_lost(now, connection_id, "x");
    link.handle_eof(now, connection_id);
    None
}

pub(crate) fn input(rig: &mut Rig) -> Option<String> {
    let call = rig.pending.or(rig.waiting)?;
    let input = Payload::from(JsonObject::new());
    Some(
        rig.link
            .provide_input(rig.now, call, &input)
            .is_ok()
            .to_string(),
    )
}
