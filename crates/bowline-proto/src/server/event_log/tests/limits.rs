//! Each limit, at it and one past it.

use super::*;

const OVERHEAD: usize = EventLogConfig::EVENT_OVERHEAD;

/// A log with streams 1 and 2, which have no connection.
fn unread(events: usize, bytes: usize) -> EventLog {
    let mut log = log_of(events, bytes);
    for number in [1, 2] {
        let reader = log.open(at(0), stream(number)).unwrap();
        log.detach(at(0), reader);
    }
    log
}

// proves: F-SE-12, F-RD-14
#[test]
fn the_oldest_event_goes_first() {
    let mut by_count = unread(3, 1 << 20);
    let mut by_bytes = unread(1000, 3 * (OVERHEAD + 1));
    for log in [&mut by_count, &mut by_bytes] {
        for number in [1, 2, 1] {
            log.append(at(0), stream(number), message("x")).unwrap();
        }
        assert_eq!((log.len(), log.bytes()), (3, 3 * (OVERHEAD + 1)));
        assert_eq!(log.stats().evicted, 0);
        log.append(at(0), stream(2), message("x")).unwrap();
        assert_eq!((log.len(), log.bytes()), (3, 3 * (OVERHEAD + 1)));
        assert_eq!(log.stats().evicted, 1);
        let head = log.head(stream(1)).unwrap();
        assert_eq!(head.first_available(), Some(id("1-2")));
        assert_eq!(head.removal, Some(Removal::Evicted));
        assert!(log.replay(at(0), id("1-1")).is_ok());
    }
}

// proves: F-SE-11, F-RD-14
#[test]
fn a_final_response_goes_last() {
    let mut log = unread(2, 1 << 20);
    log.append(at(0), stream(1), response("answer")).unwrap();
    for _ in 0..10 {
        log.append(at(0), stream(2), message("x")).unwrap();
    }
    assert_eq!(log.head(stream(1)).unwrap().removed_through, 0);
    assert_eq!(log.head(stream(2)).unwrap().removed_through, 9);
    // With nothing else to remove the oldest response goes, and is counted.
    let reader = log.open(at(0), stream(3)).unwrap();
    log.detach(at(0), reader);
    log.append(at(0), stream(2), response("answer")).unwrap();
    log.append(at(0), stream(3), response("answer")).unwrap();
    let (head, stats) = (log.head(stream(1)).unwrap(), log.stats());
    assert_eq!((head.removed_through, stats.evicted_responses), (1, 1));
    assert_eq!((log.len(), stats.evicted), (2, 11));
}

#[test]
fn a_response_that_was_fetched_goes_like_others() {
    let mut log = log_of(2, 1 << 20);
    let reader = log.open(at(0), stream(1)).unwrap();
    log.append(at(0), stream(1), response("answer")).unwrap();
    assert_eq!(read_all(&mut log, &reader), "1-1=answer Ended");
    let reader = log.open(at(0), stream(2)).unwrap();
    log.detach(at(0), reader);
    for _ in 0..2 {
        log.append(at(0), stream(2), message("x")).unwrap();
    }
    assert_eq!(log.head(stream(1)).unwrap().removed_through, 1);
    assert_eq!(log.stats().evicted_responses, 0);
}

#[test]
fn a_message_beyond_the_limit_is_sent_and_takes_no_other_with_it() {
    let mut log = log_of(10, 2 * OVERHEAD);
    let reader = log.open(at(0), stream(1)).unwrap();
    log.append(at(0), stream(1), message("a")).unwrap();
    assert_eq!(read_all(&mut log, &reader), "1-1=a Pending");
    let large = log.open(at(0), stream(2)).unwrap();
    let text = "x".repeat(OVERHEAD + 1);
    log.append(at(0), stream(2), message(&text)).unwrap();
    assert_eq!(log.bytes(), 3 * OVERHEAD + 2);
    assert!(read_all(&mut log, &large).starts_with("2-1=x"));
    assert_eq!(log.bytes(), OVERHEAD + 1);
    log.detach(at(0), large);
    let head = log.head(stream(2)).unwrap();
    assert_eq!((head.removed_through, head.first_available()), (1, None));
    assert!(log.replay(at(0), id("2-1")).is_ok());
}

#[test]
fn a_reader_that_stalls_is_given_up() {
    let mut log = EventLog::new(EventLogConfig {
        events: 2,
        unread_bytes: 3 * (OVERHEAD + 1),
        ..EventLogConfig::default()
    });
    let stalled = log.open(at(0), stream(1)).unwrap();
    let reading = log.open(at(0), stream(2)).unwrap();
    for _ in 0..3 {
        log.append(at(0), stream(1), message("x")).unwrap();
    }
    assert_eq!((log.len(), log.stats().lagged), (3, 0));
    log.append(at(0), stream(2), message("y")).unwrap();
    assert_eq!((log.len(), log.stats().lagged), (3, 1));
    assert_eq!(read_all(&mut log, &stalled), "Lagged");
    assert_eq!(read_all(&mut log, &stalled), "Displaced");
    assert_eq!(read_all(&mut log, &reading), "2-1=y Pending");
    // As is one that reads nothing until its events have expired.
    log.append(at(0), stream(2), message("z")).unwrap();
    assert_eq!(log.poll_read(at(300), &reading), Read::Lagged);
    let gone = log.replay(at(300), id("2-1")).unwrap_err();
    assert_eq!(
        gone,
        ReplayError::Expired {
            first_available: None
        }
    );
}

// proves: F-SE-11
#[test]
fn events_expire() {
    let mut log = unread(10, 1 << 20);
    log.append(at(0), stream(1), message("a")).unwrap();
    log.append(at(10), stream(1), response("b")).unwrap();
    assert_eq!(log.poll_timeout(), Some(at(300)));
    log.handle_timeout(at(299));
    assert_eq!(log.len(), 2);
    log.handle_timeout(at(300));
    assert_eq!(log.len(), 1);
    assert_eq!(log.poll_timeout(), Some(at(310)));
    log.handle_timeout(at(310));
    assert_eq!((log.len(), log.bytes()), (0, 0));
    assert_eq!((log.stats().expired, log.stats().expired_responses), (2, 1));
    // Time does not go back.
    log.append(at(0), stream(2), message("c")).unwrap();
    assert_eq!(log.poll_timeout(), Some(at(610)));
    // The stream is remembered for a while, then not.
    let expired = log.replay(at(609), id("1-1")).unwrap_err();
    assert_eq!(
        expired,
        ReplayError::Expired {
            first_available: None
        }
    );
    let unknown = log.replay(at(610), id("1-1")).unwrap_err();
    assert_eq!(unknown, ReplayError::UnknownStream(stream(1)));
    assert_eq!(log.poll_timeout(), None);
}

#[test]
fn ended_streams_make_room() {
    let mut log = EventLog::new(EventLogConfig {
        streams: 2,
        ..EventLogConfig::default()
    });
    let open = |log: &mut EventLog, number| log.open(at(0), stream(number));
    let first = open(&mut log, 1).unwrap();
    let second = open(&mut log, 2).unwrap();
    let full = open(&mut log, 3).unwrap_err();
    assert_eq!(full, OpenStreamError::TooManyStreams);
    // One that has ended is kept while it is read.
    log.append(at(0), stream(1), response("a")).unwrap();
    assert!(open(&mut log, 3).is_err());
    log.detach(at(0), first);
    log.end(at(0), stream(2)).unwrap();
    log.detach(at(0), second);
    // That with a response goes after that without.
    open(&mut log, 3).unwrap();
    assert_eq!((log.head(stream(2)), log.len()), (None, 1));
    open(&mut log, 4).unwrap();
    assert_eq!((log.head(stream(1)), log.len()), (None, 0));
    assert_eq!(log.stats().evicted_responses, 1);
}

#[test]
fn numbers_end_without_a_panic() {
    let mut log = log();
    log.open(at(0), stream(u64::MAX)).unwrap();
    let last = log.streams.get_mut(&stream(u64::MAX)).unwrap();
    last.head.issued = u64::MAX - 1;
    last.head.removed_through = u64::MAX - 1;
    let id = log.append(at(0), stream(u64::MAX), message("a")).unwrap();
    assert_eq!(id.sequence(), u64::MAX);
    let none = log.append(at(0), stream(u64::MAX), message("b"));
    assert_eq!(none, Err(AppendError::NumbersExhausted));
}

#[test]
fn a_log_sheds_what_no_connection_reads_first() {
    const OVERHEAD: usize = EventLogConfig::EVENT_OVERHEAD;
    let mut log = EventLog::new(EventLogConfig {
        unshared_bytes: 0,
        unshared_unread_bytes: 0,
        ..EventLogConfig::default()
    });
    let gone = log.open(at(0), stream(1)).unwrap();
    let slow = log.open(at(0), stream(2)).unwrap();
    log.detach(at(0), gone);
    for text in ["a", "b", "c"] {
        log.append(at(0), stream(1), message(text)).unwrap();
        log.append(at(0), stream(2), message(text)).unwrap();
    }
    let all = log.bytes();
    assert_eq!(all, 6 * (OVERHEAD + 1));
    log.shed(at(0), 0);
    assert_eq!(log.bytes(), all);
    // Any part of an event takes the whole event.
    log.shed(at(0), OVERHEAD + 2);
    assert_eq!(log.bytes(), all - 2 * (OVERHEAD + 1));
    let error = log.replay(at(0), id("1-1")).unwrap_err();
    assert!(matches!(error, ReplayError::Evicted { .. }), "{error:?}");
    assert_eq!(log.stats().lagged, 0);
    // Then connections are given up, and what they have not read goes as well.
    log.shed(at(0), usize::MAX);
    assert_eq!(log.bytes(), 0);
    assert_eq!(log.stats().lagged, 1);
    assert_eq!(log.poll_read(at(0), &slow), Read::Lagged);
}

#[test]
fn a_log_does_not_shed_what_is_its_own() {
    const OVERHEAD: usize = EventLogConfig::EVENT_OVERHEAD;
    let cost = OVERHEAD + 1;
    let mut log = EventLog::new(EventLogConfig {
        unshared_bytes: 2 * cost + 2 * EventLogConfig::STREAM_OVERHEAD,
        unshared_unread_bytes: 2 * cost,
        ..EventLogConfig::default()
    });
    let gone = log.open(at(0), stream(1)).unwrap();
    log.detach(at(0), gone);
    let reading = log.open(at(0), stream(2)).unwrap();
    for _ in 0..2 {
        log.append(at(0), stream(1), message("a")).unwrap();
        log.append(at(0), stream(2), message("a")).unwrap();
    }
    // A response is read by its client however large it is.
    log.append(at(0), stream(2), response(&"a".repeat(1000)))
        .unwrap();
    let all = log.bytes();
    log.shed(at(0), usize::MAX);
    assert_eq!(log.bytes(), all, "at the limits");
    log.append(at(0), stream(1), message("a")).unwrap();
    log.shed(at(0), usize::MAX);
    assert_eq!(log.bytes(), all, "one event past that of waiting events");
    log.append(at(0), stream(2), message("b")).unwrap_err();
    let more = log.open(at(0), stream(3)).unwrap();
    log.append(at(0), stream(3), message("a")).unwrap();
    log.shed(at(0), usize::MAX);
    assert_eq!(log.poll_read(at(0), &reading), Read::Lagged);
    assert!(matches!(log.poll_read(at(0), &more), Read::Event(_)));
}

#[test]
fn a_log_forgets_streams_of_which_nothing_is_left() {
    const OVERHEAD: usize = EventLogConfig::STREAM_OVERHEAD;
    let mut log = EventLog::new(EventLogConfig {
        events: 0,
        unshared_bytes: 2 * OVERHEAD,
        ..EventLogConfig::default()
    });
    for number in 1..=4 {
        let reader = log.open(at(0), stream(number)).unwrap();
        log.append(at(0), stream(number), response("a")).unwrap();
        log.detach(at(0), reader);
    }
    assert_eq!((log.bytes(), log.cost()), (0, 4 * OVERHEAD));
    log.shed(at(0), 0);
    assert_eq!(log.cost(), 4 * OVERHEAD);
    log.shed(at(0), 1);
    assert_eq!(log.cost(), 3 * OVERHEAD);
    log.shed(at(0), usize::MAX);
    assert_eq!(log.cost(), 2 * OVERHEAD, "the rest is unshared");
    let error = log.replay(at(0), id("1-1")).unwrap_err();
    assert_eq!(error, ReplayError::UnknownStream(stream(1)));
    assert!(log.replay(at(0), id("4-1")).is_ok());
}
