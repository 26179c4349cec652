//! Telemetry: every event that the core emits, in one place.
//!
//! Names, targets, levels and fields are an interface, written down in docs/telemetry.md; a
//! test compares the two. Fields hold numbers and constant words, never content of a peer or a
//! user.

use std::time::Duration;

use bowline_types::Method;
use tracing::{Level, enabled, event};

use crate::outcome::Outcome;

/// The side of a connection that emits an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

impl Side {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// The direction of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// The peer's.
    In,
    /// Ours.
    Out,
}

impl Direction {
    const fn as_str(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::Out => "out",
        }
    }
}

/// Returns the method of a request for the events of its end, if the protocol has it. It is
/// not looked up while no subscriber is interested in them, since that would cost each request.
pub(crate) fn request_method(method: &str) -> Option<Method> {
    if enabled!(target: "bowline::request", Level::DEBUG) {
        method.parse().ok()
    } else {
        None
    }
}

/// Returns the name of a method if the protocol has it. Any other name is content of the peer or
/// of the user.
fn named(method: Option<Method>) -> &'static str {
    method.map_or("(other)", Method::as_str)
}

/// Emits a transition of a link, whose state is what a user sees.
pub(crate) fn link_transition(side: Side, from: &str, to: &str, reason: &str) {
    event!(
        name: "connection.transition", target: "bowline::connection", Level::DEBUG,
        side = side.as_str(), from, to, reason,
        "connection state changed"
    );
}

/// Emits a change of the phase of one connection, or of a server's session.
pub(crate) fn transition(side: Side, from: &str, to: &str, reason: &str) {
    event!(
        name: "session.transition", target: "bowline::connection", Level::DEBUG,
        side = side.as_str(), from, to, reason,
        "session phase changed"
    );
}

pub(crate) fn request_start(side: Side, direction: Direction, request: u64, method: &str) {
    event!(
        name: "request.start", target: "bowline::request", Level::DEBUG,
        side = side.as_str(), direction = direction.as_str(), request, method = named(method.parse().ok()),
        "request started"
    );
}

/// Emits the end of one of our calls.
pub(crate) fn call_stop(
    side: Side,
    (request, method): (u64, Option<Method>),
    duration: Duration,
    outcome: &Outcome,
) {
    let direction = Direction::Out.as_str();
    let duration_us = micros(duration);
    match outcome {
        Outcome::Result(_) => event!(
            name: "request.stop", target: "bowline::request", Level::DEBUG,
            side = side.as_str(), direction, request, method = named(method), duration_us, outcome = outcome.name(),
            "request finished"
        ),
        Outcome::Error(error) => event!(
            name: "request.stop", target: "bowline::request", Level::DEBUG,
            side = side.as_str(), direction, request, method = named(method), duration_us, outcome = outcome.name(),
            code = error.code,
            "request finished"
        ),
        Outcome::TimedOut { .. }
        | Outcome::Unsupported(_)
        | Outcome::Cancelled
        | Outcome::CancelledByServer
        | Outcome::Invalid(_)
        | Outcome::TooLarge { .. }
        | Outcome::Backpressure { .. }
        | Outcome::Lost { .. }
        | Outcome::Shutdown => event!(
            name: "request.exception", target: "bowline::request", Level::DEBUG,
            side = side.as_str(), direction, request, method = named(method), duration_us, outcome = outcome.name(),
            "request ended without a response"
        ),
    }
}

/// Emits the end of a request of the peer with a response: an error if there is a code.
pub(crate) fn request_stop(
    side: Side,
    (request, method): (u64, Option<Method>),
    duration: Duration,
    code: Option<i64>,
) {
    let outcome = if code.is_some() { "error" } else { "result" };
    event!(
        name: "request.stop", target: "bowline::request", Level::DEBUG,
        side = side.as_str(), direction = Direction::In.as_str(), request, method = named(method),
        duration_us = micros(duration), outcome, code,
        "request finished"
    );
}

/// Emits the end of a request of the peer that its handler will not answer.
pub(crate) fn request_exception(
    side: Side,
    (request, method): (u64, Option<Method>),
    duration: Duration,
    outcome: &str,
) {
    event!(
        name: "request.exception", target: "bowline::request", Level::DEBUG,
        side = side.as_str(), direction = Direction::In.as_str(), request, method = named(method),
        duration_us = micros(duration), outcome,
        "request ended without a response"
    );
}

/// Emits the refusal of a request of the peer, before a handler saw it.
pub(crate) fn request_refused(side: Side, reason: &str, code: i64) {
    event!(
        name: "request.refused", target: "bowline::request", Level::DEBUG,
        side = side.as_str(), reason, code,
        "request refused"
    );
}

pub(crate) fn notification(side: Side, method: &str) {
    event!(
        name: "notification.received", target: "bowline::notification", Level::DEBUG,
        side = side.as_str(), method = named(method.parse().ok()),
        "notification received"
    );
}

/// Emits a dropped notification: `in` refers to nothing, `out` was not sent.
pub(crate) fn notification_dropped(side: Side, direction: Direction, reason: &str) {
    event!(
        name: "notification.dropped", target: "bowline::notification", Level::DEBUG,
        side = side.as_str(), direction = direction.as_str(), reason,
        "notification dropped"
    );
}

/// Emits a response that belongs to no pending call. `reason` is `late`, `stale` or `unknown`.
pub(crate) fn response_dropped(side: Side, reason: &str) {
    event!(
        name: "response.dropped", target: "bowline::protocol", Level::DEBUG,
        side = side.as_str(), reason,
        "response dropped"
    );
}

/// Emits the first, the second, the fourth violation, and so on: a flood of violations must not
/// become a flood of warnings.
pub(crate) fn violation(side: Side, what: &str, count: u64) {
    if count.is_power_of_two() {
        event!(
            name: "protocol.violation", target: "bowline::protocol", Level::WARN,
            side = side.as_str(), what, count,
            "protocol violation by the peer"
        );
    }
}

/// Emits a malformed frame, as often as [`violation`].
pub(crate) fn malformed(side: Side, fault: &str, bytes: u64, count: u64) {
    if count.is_power_of_two() {
        event!(
            name: "frame.malformed", target: "bowline::protocol", Level::WARN,
            side = side.as_str(), fault, bytes, count,
            "malformed frame received"
        );
    }
}

pub(crate) fn io(side: Side, direction: Direction, bytes: usize) {
    event!(
        name: "transport.io", target: "bowline::transport", Level::TRACE,
        side = side.as_str(), direction = direction.as_str(), bytes,
        "bytes transferred"
    );
}

pub(crate) fn busy(side: Side, attempts: u32) {
    event!(
        name: "transport.busy", target: "bowline::transport", Level::DEBUG,
        side = side.as_str(), attempts,
        "transport busy"
    );
}

/// Emits that reading is paused until responses have left and events are taken.
pub(crate) fn reading_paused(side: Side) {
    event!(
        name: "transport.paused", target: "bowline::transport", Level::DEBUG,
        side = side.as_str(),
        "reading paused"
    );
}

pub(crate) fn keepalive(side: Side, sent: u32) {
    event!(
        name: "keepalive.sent", target: "bowline::connection", Level::DEBUG,
        side = side.as_str(), sent,
        "keepalive request sent"
    );
}

pub(crate) fn ids_used(side: Side, percent: u64) {
    event!(
        name: "ids.used", target: "bowline::connection", Level::WARN,
        side = side.as_str(), percent,
        "request ids are running out"
    );
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
