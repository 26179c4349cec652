//! What each event does in each state.

use super::Apply;
use super::subjects::{
    call, cancel, cancelled_all, cancelled_other, crash, crashes, discover_error, discover_legacy,
    discover_legacy_error, discover_nothing, discover_other, discovered, eof, initialize_error,
    initialized, initialized_unknown, input, input_of_another_connection, lost, malformed,
    malformed_answer, notification, notify, open_failed, open_refused, opened, oversized, progress,
    reconnect, response, response_unknown, server_initialize, server_ping, server_request,
    slow_modern, stop, timer, user_ping, waiting_call,
};

/// An event, and its cells: starting, initializing, ready, backoff, closing, closed.
///
/// A cell says what follows, the state, and when its timer is due; "ignored" is nothing at
/// all.
pub(crate) struct Event {
    pub(crate) name: &'static str,
    pub(crate) apply: Apply,
    pub(crate) cells: [&'static str; 6],
}

const fn event(name: &'static str, apply: Apply, cells: [&'static str; 6]) -> Event {
    Event { name, apply, cells }
}

const NOWHERE: [&str; 6] = ["ignored"; 6];

/// Something that matters in one state alone.
const fn only(place: usize, cell: &'static str) -> [&'static str; 6] {
    let mut cells = NOWHERE;
    cells[place] = cell;
    cells
}

const STARTING: usize = 0;
const INITIALIZING: usize = 1;
const READY: usize = 2;

pub(crate) const EVENTS: &[Event] = &[
    event(
        "transport up",
        opened,
        only(STARTING, "> server/discover; Initializing; 3s"),
    ),
    event(
        "transport failed to open",
        open_failed,
        [
            "Backoff; first wait",
            "ignored",
            "ignored",
            "ignored",
            "Closed; none",
            "ignored",
        ],
    ),
    event(
        "opening refused for good",
        open_refused,
        [
            "waiting: lost, sent no; Closed; none",
            "ignored",
            "ignored",
            "ignored",
            "Closed; none",
            "ignored",
        ],
    ),
    event(
        "timer of the state",
        timer,
        [
            "close 1; Backoff; first wait",
            "> initialize; Initializing; 7s",
            "Ready; none",
            "open 2; Starting; 20s",
            "Closed; none",
            "ignored",
        ],
    ),
    event(
        "discover: revision in common",
        discovered,
        only(INITIALIZING, "> waiting; session 1 2026-07-28; Ready; 10s"),
    ),
    event(
        "discover: unsupported, modern in common",
        discover_other,
        only(INITIALIZING, "> server/discover; Initializing; 3s"),
    ),
    event(
        "discover: unsupported, legacy in common",
        discover_legacy_error,
        only(INITIALIZING, "> initialize; Initializing; 10s"),
    ),
    event(
        "discover: legacy in common",
        discover_legacy,
        only(INITIALIZING, "> initialize; Initializing; 10s"),
    ),
    event(
        "discover: nothing in common",
        discover_nothing,
        only(
            INITIALIZING,
            "close 1; waiting: lost, sent no; Closed; none",
        ),
    ),
    event(
        "discover: another error",
        discover_error,
        only(INITIALIZING, "> initialize; Initializing; 10s"),
    ),
    event(
        "initialize: revision in common",
        initialized,
        only(
            INITIALIZING,
            "> initialized; > waiting; session 1 2025-11-25; Ready; 10s",
        ),
    ),
    event(
        "initialize: unsupported revision",
        initialized_unknown,
        only(
            INITIALIZING,
            "close 1; waiting: lost, sent no; Closed; none",
        ),
    ),
    event(
        "initialize: error",
        initialize_error,
        only(INITIALIZING, "close 1; Backoff; first wait"),
    ),
    event(
        "initialize: error of a slow modern server",
        slow_modern,
        only(INITIALIZING, "Initializing; 7s"),
    ),
    event(
        "end of the stream",
        eof,
        [
            "Backoff; first wait",
            "close 1; open 2; Starting; 20s",
            "close 1; pending: lost, sent maybe; Backoff; first wait",
            "ignored",
            "Closed; none",
            "ignored",
        ],
    ),
    event(
        "transport down",
        lost,
        [
            "Backoff; first wait",
            "close 1; Backoff; first wait",
            "close 1; pending: lost, sent maybe; Backoff; first wait",
            "ignored",
            "Closed; none",
            "ignored",
        ],
    ),
    event(
        "server ping",
        server_ping,
        [
            "ignored",
            "> answer; Initializing; 3s",
            "> answer; Ready; 10s",
            "ignored",
            "ignored",
            "ignored",
        ],
    ),
    event(
        "server request",
        server_request,
        only(READY, "request roots/list; Ready; 10s"),
    ),
    event(
        "notification",
        notification,
        only(
            READY,
            "notification notifications/tools/list_changed; Ready; 10s",
        ),
    ),
    event(
        "user ping",
        user_ping,
        [
            "unavailable; Starting; 20s",
            "> ping; Initializing; 10s",
            "> ping; Ready; 10s",
            "unavailable until the next attempt; Backoff; first wait",
            "shutdown; Closing; 50ms",
            "shutdown; Closed; none",
        ],
    ),
    event(
        "call",
        call,
        [
            "unavailable; Starting; 20s",
            "unavailable; Initializing; 3s",
            "> x; Ready; 10s",
            "unavailable until the next attempt; Backoff; first wait",
            "shutdown; Closing; 50ms",
            "shutdown; Closed; none",
        ],
    ),
    event(
        "call that may wait",
        waiting_call,
        [
            "Starting; 20s",
            "Initializing; 3s",
            "> x; Ready; 10s",
            "Backoff; first wait",
            "shutdown; Closing; 50ms",
            "shutdown; Closed; none",
        ],
    ),
    event(
        "notify",
        notify,
        [
            "unavailable; Starting; 20s",
            "unavailable; Initializing; 3s",
            "> x; Ready; 10s",
            "unavailable until the next attempt; Backoff; first wait",
            "shutdown; Closing; 50ms",
            "shutdown; Closed; none",
        ],
    ),
    event(
        "cancel",
        cancel,
        [
            "true; waiting: cancelled; Starting; 20s",
            "true; waiting: cancelled; Initializing; 3s",
            "true; > cancelled; pending: cancelled; Ready; 10s",
            "true; waiting: cancelled; Backoff; first wait",
            "false; Closing; 50ms",
            "false; Closed; none",
        ],
    ),
    event(
        "oversized frame",
        oversized,
        [
            "ignored",
            "close 1; Backoff; first wait",
            "close 1; pending: too_large; Backoff; first wait",
            "ignored",
            "ignored",
            "ignored",
        ],
    ),
    event(
        "response for a pending id",
        response,
        only(READY, "pending: result; Ready; 10s"),
    ),
    event("response for an unknown id", response_unknown, NOWHERE),
    event(
        "progress",
        progress,
        only(READY, "pending: progress; Ready; 10s"),
    ),
    event("cancelled: another id", cancelled_other, NOWHERE),
    event(
        "cancelled: no id",
        cancelled_all,
        [
            "ignored",
            "Initializing; 3s",
            "close 1; open 2; pending: cancelled_by_server; Starting; 20s",
            "ignored",
            "ignored",
            "ignored",
        ],
    ),
    event("malformed frame", malformed, NOWHERE),
    event(
        "malformed answer to a pending id",
        malformed_answer,
        only(READY, "pending: invalid; Ready; 10s"),
    ),
    event(
        "initialize from the server",
        server_initialize,
        [
            "ignored",
            "Initializing; 3s",
            "close 1; pending: invalid; Backoff; first wait",
            "ignored",
            "ignored",
            "ignored",
        ],
    ),
    event(
        "reconnect now",
        reconnect,
        [
            "false; Starting; 20s",
            "false; Initializing; 3s",
            "false; Ready; 10s",
            "true; open 2; Starting; 20s",
            "false; Closing; 50ms",
            "false; Closed; none",
        ],
    ),
    event(
        "stop",
        stop,
        [
            "Started; close 1; waiting: shutdown; Closing; 50ms",
            "Started; close 1; waiting: shutdown; Closing; 50ms",
            "Started; close 1; pending: shutdown; Closing; 50ms",
            "Started; waiting: shutdown; Closed; none",
            "AlreadyClosing; Closing; 50ms",
            "AlreadyClosing; Closed; none",
        ],
    ),
    event(
        "driver crash",
        crash,
        [
            "close 1; open 2; Starting; 20s",
            "close 1; open 2; Starting; 20s",
            "close 1; open 2; pending: lost, sent maybe; Starting; 20s",
            "ignored",
            "Closed; none",
            "ignored",
        ],
    ),
    event(
        "driver crashes too often",
        crashes,
        [
            "waiting: lost, sent no; Closed; none",
            "waiting: lost, sent no; Closed; none",
            "Closed; none",
            "waiting: lost, sent no; Closed; none",
            "Closed; none",
            "ignored",
        ],
    ),
    event(
        "anything of another connection",
        input_of_another_connection,
        NOWHERE,
    ),
    event(
        "input for no call",
        input,
        [
            "false; Starting; 20s",
            "false; Initializing; 3s",
            "false; Ready; 10s",
            "false; Backoff; first wait",
            "false; Closing; 50ms",
            "false; Closed; none",
        ],
    ),
];
