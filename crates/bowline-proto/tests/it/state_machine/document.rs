//! The table of the document, row by row, and where each row is tried.

use std::collections::BTreeSet;
use std::path::Path;

use super::cases::CASES;
use super::events::EVENTS;

/// A row: the heading of its state, its event, and the names of what tries it.
type Row = (&'static str, &'static str, &'static [&'static str]);

const ROWS: &[Row] = &[
    ("Starting", "transport up", &["transport up"]),
    (
        "Starting",
        "transport failed to open(reason), or opening timer (20 s)",
        &["transport failed to open", "timer of the state"],
    ),
    (
        "Starting",
        "permanent error",
        &[
            "opening refused for good",
            "opening refused for good, later",
        ],
    ),
    ("Starting", "stop", &["stop"]),
    ("Starting", "call", &["call", "call that may wait"]),
    (
        "Initializing",
        "`server/discover` result with a common revision",
        &["discover: revision in common"],
    ),
    (
        "Initializing",
        "unsupported-version error with a common modern revision",
        &[
            "discover: unsupported, modern in common",
            "discover: unsupported, modern in common, twice",
        ],
    ),
    (
        "Initializing",
        "unsupported-version error or discover result with only legacy revisions in common",
        &[
            "discover: unsupported, legacy in common",
            "discover: legacy in common",
        ],
    ),
    (
        "Initializing",
        "no revision in common",
        &[
            "discover: nothing in common",
            "discover: nothing in common, later",
        ],
    ),
    (
        "Initializing",
        "probe answered by any other error, or probe timeout (3 s)",
        &["discover: another error", "timer of the state"],
    ),
    (
        "Initializing",
        "child exits on the probe",
        &["end of the stream"],
    ),
    (
        "Initializing",
        "`initialize` result, supported revision",
        &["initialize: revision in common"],
    ),
    (
        "Initializing",
        "`initialize` result, unsupported revision",
        &[
            "initialize: unsupported revision",
            "initialize: unsupported revision, later",
        ],
    ),
    (
        "Initializing",
        "`initialize` error, while the probe is open",
        &["initialize: error of a slow modern server"],
    ),
    ("Initializing", "`initialize` error", &["initialize: error"]),
    (
        "Initializing",
        "handshake timer (10 s; for a child it starts with its first output byte, at most 60 s after the spawn, since package runners install first)",
        &[
            "handshake timer",
            "handshake timer of a silent child",
            "handshake timer of a child that talks",
        ],
    ),
    (
        "Initializing",
        "transport down(reason)",
        &["transport down"],
    ),
    ("Initializing", "server `ping`", &["server ping"]),
    (
        "Initializing",
        "other frames",
        &[
            "notification",
            "server request",
            "progress",
            "malformed frame",
            "response for an unknown id",
        ],
    ),
    ("Initializing", "user `ping`", &["user ping"]),
    (
        "Initializing",
        "other call",
        &["call", "call that may wait", "notify"],
    ),
    ("Initializing", "oversized frame", &["oversized frame"]),
    ("Initializing", "stop", &["stop"]),
    (
        "Ready",
        "call",
        &["call", "call that may wait", "notify", "user ping"],
    ),
    (
        "Ready",
        "call beyond the pending limit",
        &[
            "call beyond the pending limit",
            "waiting call beyond the pending limit",
        ],
    ),
    ("Ready", "send: busy", &["busy once", "busy three times"]),
    ("Ready", "send: fatal, shared stream", &["transport down"]),
    (
        "Ready",
        "a stream is lost, stream-per-request carrier (one POST reset, one 5xx, one body cut)",
        &[
            "one of two streams is lost",
            "one of two streams was not opened",
            "one of two streams is refused",
        ],
    ),
    (
        "Ready",
        "connection refused or unreachable, stream-per-request carrier, and no stream is alive",
        &["the only stream was not opened"],
    ),
    (
        "Ready",
        "`Ready` for 10 s",
        &[
            "timer of the state",
            "ready for ten seconds",
            "ready for less",
        ],
    ),
    (
        "Ready",
        "response for a pending id",
        &["response for a pending id"],
    ),
    (
        "Ready",
        "response for a tombstoned id",
        &["response for a tombstoned id"],
    ),
    (
        "Ready",
        "response for an unknown id",
        &["response for an unknown id"],
    ),
    ("Ready", "call timer", &["call timer"]),
    ("Ready", "cancel(id) or caller gone", &["cancel"]),
    ("Ready", "progress for a pending token", &["progress"]),
    (
        "Ready",
        "server request (ping, roots, sampling, elicitation)",
        &["server request", "server ping"],
    ),
    ("Ready", "notification", &["notification"]),
    (
        "Ready",
        "`notifications/cancelled` with the id of a server request being handled, or of our subscription",
        &["cancelled: a request of the server"],
    ),
    (
        "Ready",
        "`notifications/cancelled` with any other id",
        &["cancelled: another id"],
    ),
    (
        "Ready",
        "`notifications/cancelled` without id",
        &["cancelled: no id"],
    ),
    (
        "Ready",
        "malformed frame",
        &["malformed frame", "malformed answer to a pending id"],
    ),
    (
        "Ready",
        "second `initialize` from the server",
        &["initialize from the server"],
    ),
    ("Ready", "oversized frame", &["oversized frame"]),
    (
        "Ready",
        "transport down(reason)",
        &["transport down", "end of the stream"],
    ),
    (
        "Ready",
        "HTTP session expired (404 with a session id)",
        &[
            "session expired",
            "session expired, then agreed",
            "session expired, no agreement",
        ],
    ),
    (
        "Ready",
        "id counter at its reserved threshold",
        &[
            "last id",
            "call without ids",
            "waiting call without ids",
            "no ids, all answered",
            "no ids, nothing answered",
        ],
    ),
    ("Ready", "keepalive missed", &["keepalive missed"]),
    ("Ready", "tombstone sweep timer", &["tombstone sweep"]),
    ("Ready", "stop", &["stop"]),
    ("Backoff", "backoff timer", &["timer of the state"]),
    (
        "Backoff",
        "attempts exhausted (only if `max_attempts` is set)",
        &["attempts exhausted", "attempts exhausted, once ready"],
    ),
    ("Backoff", "reconnect now (user)", &["reconnect now"]),
    ("Backoff", "call", &["call", "call that may wait"]),
    (
        "Backoff",
        "frame, or any event of the old transport",
        &[
            "anything of another connection",
            "transport up",
            "transport down",
            "notification",
        ],
    ),
    ("Backoff", "stop", &["stop"]),
    (
        "Closing → Closed",
        "transport down, or drain timer (50 ms)",
        &[
            "transport down",
            "end of the stream",
            "transport failed to open",
            "timer of the state",
        ],
    ),
    ("Closing → Closed", "stop", &["stop"]),
    ("Closing → Closed", "call", &["call", "call that may wait"]),
    (
        "Closing → Closed",
        "anything else",
        &[
            "anything of another connection",
            "transport up",
            "notification",
            "reconnect now",
            "cancel",
        ],
    ),
];

/// Beside the rows: the text around the table.
const AROUND: &[&str] = &[
    "driver crash",
    "driver crashes too often",
    "input for no call",
];

// proves: F-LC-12
#[test]
fn every_row_of_the_document_is_tried() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/state-machine.md");
    let text = std::fs::read_to_string(path).expect("the document");
    let written: BTreeSet<_> = rows(&text).into_iter().collect();
    let tried: BTreeSet<_> = ROWS
        .iter()
        .map(|(state, event, _)| (*state, *event))
        .collect();
    assert!(written.len() > 50, "only {} rows were found", written.len());
    let differing: Vec<_> = written.symmetric_difference(&tried).collect();
    assert!(
        differing.is_empty(),
        "written or tried alone: {differing:#?}"
    );
}

#[test]
fn every_name_is_one_of_a_row() {
    let names = EVENTS.iter().map(|event| event.name);
    let names: BTreeSet<_> = names.chain(CASES.iter().map(|case| case.name)).collect();
    let named = ROWS.iter().flat_map(|(_, _, names)| names.iter().copied());
    let named: BTreeSet<_> = named.chain(AROUND.iter().copied()).collect();
    let differing: Vec<_> = names.symmetric_difference(&named).collect();
    assert!(differing.is_empty(), "named or tried alone: {differing:#?}");
}

/// The rows of the client's tables: the state's heading, and the event.
fn rows(text: &str) -> Vec<(&str, &str)> {
    let mut rows = Vec::new();
    let mut state = "";
    let client = text
        .lines()
        .take_while(|line| !line.starts_with("# The server"));
    for line in client {
        if let Some(heading) = line.strip_prefix("## ") {
            state = heading.split(':').next().unwrap_or(heading);
        }
        let event = line
            .strip_prefix("| ")
            .and_then(|row| row.split(" | ").next());
        if let Some(event) = event.filter(|event| *event != "event") {
            rows.push((state, event));
        }
    }
    rows
}
