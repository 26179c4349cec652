//! The preparations of the cases, and what is done to them.

use bowline_proto::connection::StreamEnd;
use bowline_proto::link::{Backoff, LinkCall, LinkState};
use bowline_proto::{CallRequest, Carrier, IdCounter, Keepalive, Timeouts};

use super::rig::{Rig, call_id, seconds};
use super::subjects::call;

/// The last id before the reserved ones.
const LAST_ID: u64 = 8_646_911_284_551_263;

pub(crate) fn nothing(_: &mut Rig) -> Option<String> {
    None
}

pub(crate) fn ready() -> Rig {
    Rig::of(LinkState::Ready)
}

/// It was ready, was lost, and is being opened again.
pub(crate) fn was_ready() -> Rig {
    let mut rig = ready();
    rig.lose();
    rig.discard_effects();
    rig.wait(seconds(2));
    rig.discard_effects();
    assert_eq!(rig.link.state(), LinkState::Starting);
    rig
}

/// The era is remembered: `initialize` is sent at once.
pub(crate) fn reopened() -> Rig {
    let mut rig = was_ready();
    rig.link
        .handle_opened(rig.now, rig.connection_id.expect("it is being opened"));
    assert_eq!(rig.effects(), ["> initialize"]);
    rig
}

/// What was remembered may have been wrong: it is asked for again.
pub(crate) fn reopened_twice() -> Rig {
    let mut rig = reopened();
    rig.refuse(-32603, "null");
    rig.discard_effects();
    rig.wait(seconds(3));
    rig.discard_effects();
    rig.link
        .handle_opened(rig.now, rig.connection_id.expect("it is being opened"));
    assert_eq!(rig.effects(), ["> server/discover"]);
    rig
}

pub(crate) fn unknown_revision(rig: &mut Rig) -> Option<String> {
    rig.agree(
        r#"{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#,
    );
    None
}

pub(crate) fn asked_twice() -> Rig {
    let mut rig = Rig::of(LinkState::Initializing);
    super::subjects::discover_other(&mut rig);
    rig.discard_effects();
    rig
}

pub(crate) fn asked_again(rig: &mut Rig) -> Option<String> {
    let supported = r#"{"supported":["2026-07-28","2025-11-25"],"requested":"x"}"#;
    rig.refuse(-32022, supported);
    None
}

pub(crate) fn falling_back() -> Rig {
    let mut rig = Rig::of(LinkState::Initializing);
    rig.fall_back();
    rig
}

pub(crate) fn ten_seconds(rig: &mut Rig) -> Option<String> {
    rig.wait(seconds(10));
    None
}

pub(crate) fn silent_child() -> Rig {
    let mut rig = Rig::new(|config| {
        config.startup_timeout(Some(seconds(60)));
        config.revisions(bowline_types::Revisions::only(
            bowline_types::Revision::V2025_11_25,
        ));
    });
    rig.open();
    rig.wait(seconds(1));
    rig
}

pub(crate) fn first_byte(rig: &mut Rig) -> Option<String> {
    rig.receive("installing");
    None
}

pub(crate) fn one_pending() -> Rig {
    Rig::new(|config| {
        config.limits().max_pending(1);
    })
    .to(LinkState::Ready)
}

pub(crate) fn busy_once(rig: &mut Rig) -> Option<String> {
    rig.link
        .handle_busy(rig.now, rig.connection_id?, rig.last.clone()?);
    rig.now = rig.link.poll_timeout()?;
    rig.link.handle_timeout(rig.now);
    rig.now = bowline_proto::Instant::START + std::time::Duration::from_millis(10);
    None
}

pub(crate) fn busy(rig: &mut Rig) -> Option<String> {
    for _ in 0..2 {
        busy_once(rig);
        rig.discard_effects();
    }
    rig.now = bowline_proto::Instant::START + std::time::Duration::from_millis(20);
    rig.link
        .handle_busy(rig.now, rig.connection_id?, rig.last.clone()?);
    // The pause before anything else is sent.
    rig.wait(std::time::Duration::from_millis(30));
    None
}

pub(crate) fn one_stream() -> Rig {
    Rig::http().to(LinkState::Ready)
}

pub(crate) fn two_streams() -> Rig {
    let mut rig = one_stream();
    call(&mut rig);
    rig.discard_effects();
    rig
}

pub(crate) fn stream_lost(rig: &mut Rig) -> Option<String> {
    rig.end_stream(StreamEnd::Lost("reset".into()));
    None
}

pub(crate) fn stream_not_sent(rig: &mut Rig) -> Option<String> {
    rig.end_stream(StreamEnd::NotSent("refused".into()));
    None
}

pub(crate) fn stream_refused(rig: &mut Rig) -> Option<String> {
    rig.end_stream(StreamEnd::Refused(503));
    None
}

pub(crate) fn tombstoned() -> Rig {
    let mut rig = ready();
    super::subjects::cancel(&mut rig);
    rig.discard_effects();
    rig
}

pub(crate) fn late(rig: &mut Rig) -> Option<String> {
    rig.answer("{}");
    assert_eq!(rig.link.stats().late_responses, 1);
    None
}

pub(crate) fn short_call() -> Rig {
    let mut rig = ready();
    let timeouts = Timeouts::new(seconds(5), seconds(5));
    let call = CallRequest::new("x", &b""[..]).timeouts(timeouts);
    let made = rig.link.call(rig.now, LinkCall::new(call));
    made.expect("it is ready");
    rig.discard_effects();
    rig
}

pub(crate) fn five_seconds(rig: &mut Rig) -> Option<String> {
    rig.wait(seconds(5));
    None
}

pub(crate) fn handling() -> Rig {
    let mut rig = ready();
    super::subjects::server_request(&mut rig);
    rig.discard_effects();
    assert!(rig.request.is_some());
    rig
}

pub(crate) fn cancelled_request(rig: &mut Rig) -> Option<String> {
    rig.receive(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"r"}}"#,
    );
    None
}

pub(crate) fn expired(rig: &mut Rig) -> Option<String> {
    let call = call_id(rig.last_id);
    rig.link
        .handle_session_expired(rig.now, rig.connection_id?, call);
    None
}

pub(crate) fn expired_session() -> Rig {
    let mut rig = one_stream();
    expired(&mut rig);
    rig.discard_effects();
    rig
}

pub(crate) fn agreed(rig: &mut Rig) -> Option<String> {
    rig.initialized();
    None
}

pub(crate) fn refused(rig: &mut Rig) -> Option<String> {
    rig.refuse(-32603, "null");
    None
}

/// The probe, `initialize` and one call are made; there is one more id.
pub(crate) fn few_ids() -> Rig {
    Rig::with(IdCounter::starting_at(LAST_ID - 3), |_| {}, |_| {}).to(LinkState::Ready)
}

pub(crate) fn no_ids() -> Rig {
    let mut rig = few_ids();
    call(&mut rig);
    rig.discard_effects();
    rig
}

pub(crate) fn answered(rig: &mut Rig) -> Option<String> {
    rig.answer_to(LAST_ID - 1, "{}");
    rig.discard_effects();
    rig.answer("{}");
    rig.wait(seconds(0));
    None
}

pub(crate) fn long_wait(rig: &mut Rig) -> Option<String> {
    rig.wait(seconds(500));
    None
}

pub(crate) fn keepalive() -> Rig {
    Rig::new(|config| {
        config.keepalive(Some(Keepalive::new(seconds(10), 2)));
    })
    .to(LinkState::Ready)
}

pub(crate) fn silence(rig: &mut Rig) -> Option<String> {
    for _ in 0..2 {
        rig.wait(seconds(10));
        assert_eq!(rig.effects(), ["> ping"]);
    }
    rig.wait(seconds(10));
    None
}

pub(crate) fn swept() -> Rig {
    let mut rig = tombstoned();
    assert_eq!(rig.link.tombstones(), 1);
    rig.wait(seconds(75 + 60));
    assert_eq!(rig.link.tombstones(), 0);
    rig
}

/// Ready again after a failure.
pub(crate) fn unstable() -> Rig {
    let mut rig = was_ready();
    rig.open();
    rig.initialized();
    rig.discard_effects();
    let call = LinkCall::new(CallRequest::new("x", &b""[..]));
    rig.pending = Some(rig.link.call(rig.now, call).expect("it is ready"));
    rig.discard_effects();
    rig
}

/// The same, ten seconds later, without a timeout being handled in between.
pub(crate) fn stable() -> Rig {
    let mut rig = unstable();
    rig.now = rig.now + seconds(10);
    rig
}

fn exhaustible() -> Rig {
    Rig::with(
        IdCounter::new(),
        |config| {
            config.carrier(Carrier::SharedStream);
        },
        |link| {
            let mut backoff = Backoff::default();
            backoff.max_attempts(Some(1));
            link.backoff(backoff);
        },
    )
}

pub(crate) fn last_attempt() -> Rig {
    exhaustible().to(LinkState::Starting)
}

/// A connection that has lasted is no failed attempt.
pub(crate) fn last_attempt_ready() -> Rig {
    let mut rig = exhaustible().to(LinkState::Ready);
    rig.wait(seconds(10));
    rig
}
