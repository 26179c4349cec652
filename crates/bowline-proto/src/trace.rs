//! Telemetry: every event that the core emits, in one place.
//!
//! Names, targets, levels and fields are an interface, written down in docs/telemetry.md; a
//! test compares the two. Fields hold numbers and words of our own, never what a peer or a
//! user said.

use std::time::Duration;

use bowline_types::Method;
use tracing::{Level, event};

use crate::outcome::Outcome;

/// Which end of a connection tells.
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

/// Whose a request is.
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

/// A method by its name when the protocol has it. Another one is text of somebody's choice.
fn named(method: &str) -> &'static str {
    method
        .parse()
        .map_or("(other)", |method: Method| method.as_str())
}

/// The state of a link, which is what a user sees of a connection.
pub(crate) fn link_transition(side: Side, from: &str, to: &str, reason: &str) {
    event!(
        name: "connection.transition", target: "bowline::connection", Level::INFO,
        side = side.as_str(), from, to, reason
    );
}

/// The phase of one life of a connection, or of a server's session.
pub(crate) fn transition(side: Side, from: &str, to: &str, reason: &str) {
    event!(
        name: "session.transition", target: "bowline::connection", Level::DEBUG,
        side = side.as_str(), from, to, reason
    );
}

pub(crate) fn request_start(side: Side, direction: Direction, request: u64, method: &str) {
    event!(
        name: "request.start", target: "bowline::request", Level::DEBUG,
        side = side.as_str(), direction = direction.as_str(), request, method = named(method)
    );
}

/// A call of ours has ended.
pub(crate) fn call_stop(side: Side, request: u64, duration: Duration, outcome: &Outcome) {
    let direction = Direction::Out.as_str();
    let duration_us = micros(duration);
    match outcome {
        Outcome::Result(_) => event!(
            name: "request.stop", target: "bowline::request", Level::DEBUG,
            side = side.as_str(), direction, request, duration_us, outcome = outcome.name()
        ),
        Outcome::Error(error) => event!(
            name: "request.stop", target: "bowline::request", Level::DEBUG,
            side = side.as_str(), direction, request, duration_us, outcome = outcome.name(),
            code = error.code
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
            side = side.as_str(), direction, request, duration_us, outcome = outcome.name()
        ),
    }
}

/// A request of the peer was answered: with an error, when there is a code.
pub(crate) fn request_stop(side: Side, request: u64, duration: Duration, code: Option<i64>) {
    let outcome = if code.is_some() { "error" } else { "result" };
    event!(
        name: "request.stop", target: "bowline::request", Level::DEBUG,
        side = side.as_str(), direction = Direction::In.as_str(), request,
        duration_us = micros(duration), outcome, code
    );
}

/// A request of the peer will not be answered by its handler.
pub(crate) fn request_exception(side: Side, request: u64, duration: Duration, outcome: &str) {
    event!(
        name: "request.exception", target: "bowline::request", Level::DEBUG,
        side = side.as_str(), direction = Direction::In.as_str(), request,
        duration_us = micros(duration), outcome
    );
}

/// A request of the peer was refused before a handler saw it.
pub(crate) fn request_refused(side: Side, reason: &str, code: i64) {
    event!(
        name: "request.refused", target: "bowline::request", Level::DEBUG,
        side = side.as_str(), reason, code
    );
}

pub(crate) fn notification(side: Side, method: &str) {
    event!(
        name: "notification.received", target: "bowline::notification", Level::DEBUG,
        side = side.as_str(), method = named(method)
    );
}

/// A notification that was dropped: `in` about nothing that goes on, `out` not sent.
pub(crate) fn notification_dropped(side: Side, direction: Direction, reason: &str) {
    event!(
        name: "notification.dropped", target: "bowline::notification", Level::DEBUG,
        side = side.as_str(), direction = direction.as_str(), reason
    );
}

/// An answer that belongs to no call that waits. `reason` is `late`, `stale` or `unknown`.
pub(crate) fn response_dropped(side: Side, reason: &str) {
    event!(
        name: "response.dropped", target: "bowline::protocol", Level::DEBUG,
        side = side.as_str(), reason
    );
}

/// Told the first time, the second, the fourth, and so on: a flood of nonsense must not
/// become a flood of warnings.
pub(crate) fn violation(side: Side, what: &str, count: u64) {
    if count.is_power_of_two() {
        event!(
            name: "protocol.violation", target: "bowline::protocol", Level::WARN,
            side = side.as_str(), what, count
        );
    }
}

/// Told as often as [`violation`].
pub(crate) fn malformed(side: Side, fault: &str, bytes: u64, count: u64) {
    if count.is_power_of_two() {
        event!(
            name: "frame.malformed", target: "bowline::protocol", Level::WARN,
            side = side.as_str(), fault, bytes, count
        );
    }
}

pub(crate) fn io(side: Side, direction: Direction, bytes: usize) {
    event!(
        name: "transport.io", target: "bowline::transport", Level::TRACE,
        side = side.as_str(), direction = direction.as_str(), bytes
    );
}

pub(crate) fn busy(side: Side, attempts: u32) {
    event!(
        name: "transport.busy", target: "bowline::transport", Level::DEBUG,
        side = side.as_str(), attempts
    );
}

/// Nothing is read until what is owed has left and what was read is taken.
pub(crate) fn reading_paused(side: Side) {
    event!(
        name: "transport.paused", target: "bowline::transport", Level::DEBUG,
        side = side.as_str()
    );
}

pub(crate) fn keepalive(side: Side, asked: u32) {
    event!(
        name: "keepalive.asked", target: "bowline::connection", Level::DEBUG,
        side = side.as_str(), asked
    );
}

pub(crate) fn ids_used(side: Side, percent: u64) {
    event!(
        name: "ids.used", target: "bowline::connection", Level::WARN,
        side = side.as_str(), percent
    );
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
