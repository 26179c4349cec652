//! Every row of the table in docs/state-machine.md, by the test that tries it.

use std::collections::BTreeSet;
use std::path::Path;

/// The rows, in the order of the document, and where they are tried.
const ROWS: &[(&str, &str)] = &[
    ("open, number never used", "resumption, all"),
    ("open, number used before", "a_number_is_used_once"),
    ("open, limit on streams", "ended_streams_make_room"),
    ("append", "resumption, all"),
    ("append, final response", "an_answer_waits_for_its_client"),
    (
        "append or end, stream has ended",
        "an_ended_stream_takes_nothing",
    ),
    ("end", "an_ended_stream_takes_nothing"),
    ("close for polling", "a_client_may_be_made_to_poll"),
    (
        "resume after an id whose successors are kept",
        "a_second_cut_loses_nothing",
    ),
    ("resume, id is not canonical", "every_refusal_is_distinct"),
    (
        "resume, stream unknown or forgotten",
        "every_refusal_is_distinct",
    ),
    (
        "resume, id newer than all issued",
        "every_refusal_is_distinct",
    ),
    (
        "resume, successors removed at a limit",
        "every_refusal_is_distinct",
    ),
    ("resume, successors too old", "every_refusal_is_distinct"),
    (
        "continue without an id",
        "a_connection_without_an_id_reads_what_was_not_read_yet",
    ),
    (
        "continue, stream has ended or is unknown",
        "a_connection_without_an_id_reads_what_was_not_read_yet",
    ),
    ("restore from a head", "a_stream_is_restored_from_its_head"),
    (
        "shed bytes, for a limit on several logs",
        "a_log_sheds_what_no_connection_reads_first",
    ),
    ("reader cut", "a_second_cut_loses_nothing"),
    (
        "reader too slow: limit on unread bytes, or its events have expired",
        "a_reader_that_stalls_is_given_up",
    ),
    (
        "more events or bytes than may be kept",
        "the_oldest_event_goes_first",
    ),
    ("an event is too old", "events_expire"),
];

#[test]
fn every_row_of_the_document_is_tried() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/state-machine.md");
    let text = std::fs::read_to_string(path).expect("the document");
    let (_, table) = text
        .split_once("# The server: streams and resumption")
        .expect("the section");
    let written: Vec<_> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
        .filter(|event| *event != "event")
        .collect();
    let tried: Vec<_> = ROWS.iter().map(|(event, _)| *event).collect();
    assert_eq!(written, tried);
    let tests = concat!(include_str!("limits.rs"), include_str!("resumption.rs"));
    let names: BTreeSet<_> = ROWS.iter().map(|(_, test)| *test).collect();
    for name in names.into_iter().filter(|name| *name != "resumption, all") {
        assert!(tests.contains(&format!("fn {name}()")), "{name}");
    }
}
