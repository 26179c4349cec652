//! Streams, readers, and what a client gets after a cut.

use super::*;

// proves: F-SE-10
#[test]
fn a_second_cut_loses_nothing() {
    let mut log = log();
    let reader = log.open(at(0), stream(7)).unwrap();
    for text in ["a", "b", "c"] {
        log.append(at(0), stream(7), message(text)).unwrap();
    }
    assert_eq!(read_all(&mut log, &reader), "7-1=a 7-2=b 7-3=c Pending");
    log.detach(at(0), reader);
    // Only the first event has arrived. Cut again before anything is replayed, and once more
    // after a part of it.
    for _ in 0..2 {
        let replay = log.replay(at(0), id("7-1")).unwrap();
        assert_eq!((replay.position, replay.waiting), (id("7-1"), 2));
        assert!(!replay.displaced);
        log.detach(at(0), replay.reader);
    }
    let reader = log.replay(at(0), id("7-1")).unwrap().reader;
    assert!(matches!(log.poll_read(at(0), &reader), Read::Event(event) if event.id == id("7-2")));
    log.detach(at(0), reader);
    let reader = log.replay(at(0), id("7-2")).unwrap().reader;
    log.append(at(0), stream(7), message("d")).unwrap();
    assert_eq!(read_all(&mut log, &reader), "7-3=c 7-4=d Pending");
    log.append(at(0), stream(7), response("e")).unwrap();
    assert_eq!(read_all(&mut log, &reader), "7-5=e Ended");
    assert_eq!(read_all(&mut log, &reader), "Displaced");
}

// proves: F-SE-11
#[test]
fn an_answer_waits_for_its_client() {
    let mut log = log();
    let reader = log.open(at(0), stream(7)).unwrap();
    log.append(at(0), stream(7), EventData::Priming).unwrap();
    assert_eq!(read_all(&mut log, &reader), "7-1= Pending");
    log.detach(at(0), reader);
    log.append(at(1), stream(7), response("answer")).unwrap();
    // Fetched twice, since the first connection was cut as well.
    for _ in 0..2 {
        let reader = log.replay(at(2), id("7-1")).unwrap().reader;
        assert_eq!(read_all(&mut log, &reader), "7-2=answer Ended");
    }
    assert_eq!(log.head(stream(7)).unwrap().phase, StreamPhase::Ended);
    log.handle_timeout(at(301));
    assert!(log.is_empty());
    assert_eq!(log.bytes(), 0);
    assert_eq!(log.stats().expired_responses, 0);
}

// proves: F-SE-13
#[test]
fn a_second_connection_takes_the_stream_over() {
    let mut log = log();
    let first = log.open(at(0), stream(1)).unwrap();
    let other = log.open(at(0), stream(2)).unwrap();
    log.append(at(0), stream(1), message("a")).unwrap();
    assert_eq!(read_all(&mut log, &first), "1-1=a Pending");
    let second = log.replay(at(0), id("1-1")).unwrap();
    assert!(second.displaced);
    log.append(at(0), stream(1), message("b")).unwrap();
    assert_eq!(read_all(&mut log, &first), "Displaced");
    // The end of the displaced connection does not end the other one.
    log.detach(at(0), first);
    assert_eq!(read_all(&mut log, &second.reader), "1-2=b Pending");
    // Each event is on its own stream alone.
    assert_eq!(read_all(&mut log, &other), "Pending");
    assert_eq!(log.stats().displaced, 1);
    // A refused resumption displaces nothing.
    assert!(log.replay(at(0), id("1-9")).is_err());
    assert!(log.has_reader(stream(1)));
    assert_eq!(read_all(&mut log, &second.reader), "Pending");
}

#[test]
fn a_client_may_be_made_to_poll() {
    let mut log = log();
    let retry = Duration::from_millis(500);
    let reader = log.open(at(0), stream(7)).unwrap();
    log.close_stream(at(0), stream(7), retry).unwrap();
    log.append(at(0), stream(7), message("a")).unwrap();
    // Without an id the client could not come back, so it gets one.
    assert_eq!(read_all(&mut log, &reader), "7-1= Polling { retry: 500ms }");
    let phase = |log: &EventLog| log.head(stream(7)).unwrap().phase;
    assert_eq!(phase(&log), StreamPhase::Polling);
    let reader = log.replay(at(1), id("7-1")).unwrap().reader;
    assert_eq!(phase(&log), StreamPhase::Open);
    // The final response comes between the request to close and the end of the connection.
    log.close_stream(at(1), stream(7), retry).unwrap();
    log.append(at(1), stream(7), response("b")).unwrap();
    assert_eq!(
        read_all(&mut log, &reader),
        "7-2=a Polling { retry: 500ms }"
    );
    assert_eq!(phase(&log), StreamPhase::Ended);
    let reader = log.replay(at(2), id("7-2")).unwrap().reader;
    assert_eq!(read_all(&mut log, &reader), "7-3=b Ended");
    // Without a connection there is none to close.
    let reader = log.open(at(3), stream(8)).unwrap();
    log.detach(at(3), reader);
    log.close_stream(at(3), stream(8), retry).unwrap();
    let reader = log.replay(at(3), id("8-1")).unwrap().reader;
    assert_eq!(read_all(&mut log, &reader), "Pending");
}

#[test]
fn an_ended_stream_takes_nothing() {
    let mut log = log();
    let reader = log.open(at(0), stream(7)).unwrap();
    log.append(at(0), stream(7), message("a")).unwrap();
    log.end(at(0), stream(7)).unwrap();
    assert_eq!(
        log.append(at(0), stream(7), message("b")),
        Err(AppendError::Ended)
    );
    assert_eq!(log.end(at(0), stream(7)), Err(AppendError::Ended));
    let closed = log.close_stream(at(0), stream(7), Duration::ZERO);
    assert_eq!(closed, Err(AppendError::Ended));
    assert_eq!(log.end(at(0), stream(8)), Err(AppendError::UnknownStream));
    assert_eq!(read_all(&mut log, &reader), "7-1=a Ended");
}

#[test]
fn a_number_is_used_once() {
    let mut log = log();
    let reader = log.open(at(0), stream(7)).unwrap();
    let again = log.open(at(0), stream(7)).unwrap_err();
    assert_eq!(again, OpenStreamError::NotNew);
    log.end(at(0), stream(7)).unwrap();
    log.detach(at(0), reader);
    // Forgotten, but not free.
    log.handle_timeout(at(600));
    assert_eq!(log.head(stream(7)), None);
    for number in [6, 7] {
        let used = log.open(at(600), stream(number)).unwrap_err();
        assert_eq!(used, OpenStreamError::NotNew);
    }
    log.open(at(600), stream(8)).unwrap();
}

// proves: F-SE-12
#[test]
fn every_refusal_is_distinct() {
    let mut log = log_of(2, 1 << 20);
    let reader = log.open(at(0), stream(7)).unwrap();
    log.detach(at(0), reader);
    for text in ["a", "b", "c", "d"] {
        log.append(at(0), stream(7), message(text)).unwrap();
    }
    let refusal = |log: &mut EventLog, now, text: &str| {
        let replay = EventId::parse(text.as_bytes())
            .map_err(ReplayError::from)
            .and_then(|id| log.replay(now, id));
        let error = replay.unwrap_err();
        let refusal = error.refusal();
        assert_eq!((refusal.status, refusal.id), (400, None));
        refusal.error.message.to_string()
    };
    let mut messages = vec![
        refusal(&mut log, at(0), "'; DROP TABLE"),
        refusal(&mut log, at(0), "8-1"),
        refusal(&mut log, at(0), "7-5"),
        refusal(&mut log, at(0), "7-1"),
    ];
    messages.push(refusal(&mut log, at(300), "7-3"));
    let expected = [
        "it does not have the form `<stream>-<sequence>`",
        "this session has no stream 8, or it ended long ago",
        "it was never issued (newest: 7-4)",
        "later events were evicted at a limit of the event log (first available: 7-3)",
        "later events have expired (first available: none)",
    ];
    let expected = expected.map(|text| format!("cannot resume from Last-Event-ID: {text}"));
    assert_eq!(messages, expected);
    // Nothing was missed by a client that had everything.
    assert!(log.replay(at(300), id("7-4")).is_ok());
}

#[test]
fn a_connection_without_an_id_reads_what_was_not_read_yet() {
    let mut log = log();
    let reader = log.open(at(0), stream(7)).unwrap();
    log.append(at(0), stream(7), message("a")).unwrap();
    assert_eq!(read_all(&mut log, &reader), "7-1=a Pending");
    log.append(at(0), stream(7), message("b")).unwrap();
    // The server has not noticed that the first connection is gone.
    let second = log.continue_stream(at(0), stream(7)).unwrap();
    assert!(second.displaced);
    assert_eq!(second.position, Some(id("7-1")));
    assert_eq!(read_all(&mut log, &reader), "Displaced");
    assert_eq!(read_all(&mut log, &second.reader), "7-2=b Pending");
    log.detach(at(0), second.reader);
    log.append(at(1), stream(7), message("c")).unwrap();
    // What no connection has read, and what is gone, is left out.
    log.append(at(200), stream(7), message("d")).unwrap();
    let third = log.continue_stream(at(302), stream(7)).unwrap();
    assert!(!third.displaced);
    assert_eq!(third.position, Some(id("7-3")));
    assert_eq!(read_all(&mut log, &third.reader), "7-4=d Pending");
    // An id still decides for itself.
    let replay = log.replay(at(302), id("7-3")).unwrap();
    assert_eq!(read_all(&mut log, &replay.reader), "7-4=d Pending");
    log.end(at(302), stream(7)).unwrap();
    let error = log.continue_stream(at(302), stream(7)).unwrap_err();
    assert_eq!(error, AppendError::Ended);
}

#[test]
fn a_stream_that_was_never_read_is_continued_from_its_beginning() {
    let mut log = log();
    let reader = log.open(at(0), stream(7)).unwrap();
    log.detach(at(0), reader);
    log.append(at(0), stream(7), EventData::Priming).unwrap();
    log.append(at(0), stream(7), message("a")).unwrap();
    let first = log.continue_stream(at(0), stream(7)).unwrap();
    assert_eq!(first.position, None);
    assert_eq!(read_all(&mut log, &first.reader), "7-1= 7-2=a Pending");
}

#[test]
fn a_stream_is_restored_from_its_head() {
    let mut before = log();
    let reader = before.open(at(0), stream(7)).unwrap();
    before.append(at(0), stream(7), message("a")).unwrap();
    before.append(at(0), stream(7), message("b")).unwrap();
    before.detach(at(0), reader);
    before.handle_timeout(at(400));
    assert!(before.is_empty());
    let head = before.head(stream(7)).unwrap();

    let mut log = log();
    log.restore(head).unwrap();
    assert_eq!(log.restore(head), Err(OpenStreamError::NotNew));
    let error = log.replay(at(400), id("7-1")).unwrap_err();
    assert!(matches!(error, ReplayError::Expired { .. }), "{error:?}");
    let replay = log.replay(at(400), id("7-2")).unwrap();
    log.append(at(400), stream(7), message("c")).unwrap();
    assert_eq!(read_all(&mut log, &replay.reader), "7-3=c Pending");
    let continued = log.continue_stream(at(400), stream(7)).unwrap();
    assert_eq!(continued.position, Some(id("7-3")));

    // Neither does a stream come back that has ended, nor is its number used again.
    log.end(at(400), stream(7)).unwrap();
    let ended = log.head(stream(7)).unwrap();
    let mut log = EventLog::new(EventLogConfig::default());
    log.restore(ended).unwrap();
    assert!(log.head(stream(7)).is_none());
    assert_eq!(
        log.open(at(400), stream(7)).unwrap_err(),
        OpenStreamError::NotNew
    );
}
