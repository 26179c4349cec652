//! What needs a preparation of its own.

use super::Apply;
use super::prepared_links::{
    agreed, answered, asked_again, asked_twice, busy, busy_once, cancelled_request, expired,
    expired_session, falling_back, few_ids, first_byte, five_seconds, handling, keepalive,
    last_attempt, last_attempt_ready, late, long_wait, no_ids, nothing, one_pending, one_stream,
    ready, refused, reopened, reopened_twice, short_call, silence, silent_child, stable,
    stream_lost, stream_not_sent, stream_refused, swept, ten_seconds, tombstoned, two_streams,
    unknown_revision, unstable, was_ready,
};
use super::rig::Rig;
use super::subjects::{call, discover_nothing, lost, open_refused, waiting_call};

/// A preparation, an event, and what follows.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) prepare: fn() -> Rig,
    pub(crate) apply: Apply,
    pub(crate) expected: &'static str,
}

const fn case(
    name: &'static str,
    prepare: fn() -> Rig,
    apply: Apply,
    expected: &'static str,
) -> Case {
    Case {
        name,
        prepare,
        apply,
        expected,
    }
}

pub(crate) const CASES: &[Case] = &[
    // Permanent errors after the link has been ready.
    case(
        "opening refused for good, later",
        was_ready,
        open_refused,
        "Backoff; longest wait",
    ),
    case(
        "discover: nothing in common, later",
        reopened_twice,
        discover_nothing,
        "close 3; Backoff; longest wait",
    ),
    case(
        "initialize: unsupported revision, later",
        reopened,
        unknown_revision,
        "close 2; Backoff; longest wait",
    ),
    // Initializing.
    case(
        "discover: unsupported, modern in common, twice",
        asked_twice,
        asked_again,
        "> initialize; Initializing; 10s",
    ),
    case(
        "handshake timer",
        falling_back,
        ten_seconds,
        "close 1; Backoff; first wait",
    ),
    case(
        "handshake timer of a silent child",
        silent_child,
        nothing,
        "Initializing; 59s",
    ),
    case(
        "handshake timer of a child that talks",
        silent_child,
        first_byte,
        "Initializing; 10s",
    ),
    // Ready.
    case(
        "call beyond the pending limit",
        one_pending,
        call,
        "backpressure; Ready; 10s",
    ),
    case(
        "waiting call beyond the pending limit",
        one_pending,
        waiting_call,
        "backpressure; Ready; 10s",
    ),
    case("busy once", ready, busy_once, "> tools/call; Ready; 9.99s"),
    case(
        "busy three times",
        ready,
        busy,
        "pending: backpressure after 3; Ready; 9.95s",
    ),
    case(
        "one of two streams is lost",
        two_streams,
        stream_lost,
        "call: lost, sent maybe; Ready; 10s",
    ),
    case(
        "one of two streams was not opened",
        two_streams,
        stream_not_sent,
        "call: lost, sent no; Ready; 10s",
    ),
    case(
        "one of two streams is refused",
        two_streams,
        stream_refused,
        "call: lost, sent maybe; Ready; 10s",
    ),
    case(
        "the only stream was not opened",
        one_stream,
        stream_not_sent,
        "close 1; pending: lost, sent no; Backoff; first wait",
    ),
    case(
        "response for a tombstoned id",
        tombstoned,
        late,
        "Ready; 10s",
    ),
    case(
        "call timer",
        short_call,
        five_seconds,
        "> cancelled; call: timed_out; Ready; 5s",
    ),
    case(
        "cancelled: a request of the server",
        handling,
        cancelled_request,
        "request cancelled; Ready; 10s",
    ),
    case(
        "session expired",
        one_stream,
        expired,
        "> initialize; Initializing; 10s",
    ),
    case(
        "session expired, then agreed",
        expired_session,
        agreed,
        "> initialized; > tools/call; session 2 2025-11-25; Ready; 10s",
    ),
    case(
        "session expired, no agreement",
        expired_session,
        refused,
        "close 1; pending: lost, sent no; Backoff; first wait",
    ),
    case("last id", few_ids, call, "> x; Ready; 10s"),
    case("call without ids", no_ids, call, "unavailable; Ready; 10s"),
    case(
        "waiting call without ids",
        no_ids,
        waiting_call,
        "Ready; 10s",
    ),
    case(
        "no ids, all answered",
        no_ids,
        answered,
        "close 1; open 2; call: result; Starting; 20s",
    ),
    case(
        "no ids, nothing answered",
        no_ids,
        long_wait,
        "close 1; open 2; pending: lost, sent maybe; call: lost, sent maybe; Starting; 20s",
    ),
    case(
        "keepalive missed",
        keepalive,
        silence,
        "close 1; pending: lost, sent maybe; Backoff; first wait",
    ),
    case("tombstone sweep", swept, nothing, "Ready; none"),
    case(
        "ready for ten seconds",
        stable,
        lost,
        "close 2; pending: lost, sent maybe; Backoff; first wait",
    ),
    case(
        "ready for less",
        unstable,
        lost,
        "close 2; pending: lost, sent maybe; Backoff; second wait",
    ),
    // Backoff.
    case(
        "attempts exhausted",
        last_attempt,
        lost,
        "waiting: lost, sent no; Closed; none",
    ),
    case(
        "attempts exhausted, once ready",
        last_attempt_ready,
        lost,
        "close 1; pending: lost, sent maybe; Backoff; first wait",
    ),
];
