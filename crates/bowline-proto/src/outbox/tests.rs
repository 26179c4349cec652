use super::*;

fn message(kind: TransmitKind, body: &'static str) -> Transmit {
    Transmit {
        kind,
        stream: None,
        head: Bytes::new(),
        body: Bytes::from_static(body.as_bytes()),
        tail: Bytes::from_static(b"\n"),
        status: 200,
        slot: Slot::default(),
    }
}

fn outbox() -> Outbox {
    let limits = OutboxLimits {
        messages: 2,
        bytes: 10,
        responses: 2,
    };
    Outbox::new(limits, Carrier::SharedStream)
}

// proves: F-BP-02
#[test]
fn an_outbox_is_full_at_its_limits() {
    let note = |body| message(TransmitKind::Notification, body);
    let mut by_count = outbox();
    by_count.push(note("a")).unwrap();
    by_count.push(note("b")).unwrap();
    assert_eq!(by_count.push(note("c")), Err(Full));
    by_count.pop();
    assert!(by_count.push(note("c")).is_ok());
    let mut by_bytes = outbox();
    by_bytes.push(note("1234")).unwrap();
    assert_eq!(by_bytes.push(note("12345")), Err(Full));
    assert!(by_bytes.push(note("1234")).is_ok());
    let mut alone = outbox();
    assert!(alone.push(note("much more than ten bytes")).is_ok());
    assert_eq!(alone.push(note("")), Err(Full));
}

#[test]
fn answers_are_always_taken_and_say_when_to_stop_reading() {
    let mut outbox = outbox();
    for expected in [true, true, false, false] {
        assert_eq!(outbox.accepts_responses(), expected);
        outbox.push_owed(message(TransmitKind::Response, "a"));
    }
    while outbox.pop().is_some() {}
    assert!(outbox.accepts_responses() && outbox.queue.is_empty());
}

// proves: F-CA-01
#[test]
fn a_queued_message_can_be_taken_back() {
    let mut outbox = outbox();
    let first = outbox
        .push(message(TransmitKind::Notification, "1"))
        .unwrap();
    outbox
        .push(message(TransmitKind::Notification, "2"))
        .unwrap();
    assert!(outbox.take_back(first).is_some());
    assert!(outbox.take_back(first).is_none());
    assert_eq!(outbox.pop().unwrap().to_bytes(), b"2\n");
    assert!(outbox.pop().is_none());
    assert!(
        outbox
            .push(message(TransmitKind::Notification, "3"))
            .is_ok()
    );
}

#[test]
fn owed_messages_do_not_count_against_the_limits() {
    let note = |body| message(TransmitKind::Notification, body);
    let mut outbox = outbox();
    for _ in 0..5 {
        outbox.push_owed(note("cancel"));
    }
    outbox.push(note("a")).unwrap();
    outbox.push(note("b")).unwrap();
    for _ in 0..5 {
        outbox.pop();
    }
    assert_eq!(outbox.push(note("c")), Err(Full));
}

#[test]
fn a_returned_message_counts_again_and_comes_first() {
    let note = |body| message(TransmitKind::Notification, body);
    let mut outbox = outbox();
    outbox.push(note("a")).unwrap();
    outbox.push(note("b")).unwrap();
    let mut first = outbox.pop().unwrap();
    assert_eq!(first.count_attempt(Instant::START).0, 1);
    outbox.put_back(first, Instant::NEVER);
    assert_eq!(outbox.push(note("c")), Err(Full));
    assert!(outbox.pop().is_none(), "the lane waits");
    outbox.resume(Instant::NEVER);
    let mut again = outbox.pop().unwrap();
    assert_eq!(again.to_bytes(), b"a\n");
    assert_eq!(again.count_attempt(Instant::START).0, 2);
    assert!(outbox.push(note("c")).is_ok());

    let owed = message(TransmitKind::Response, "x");
    for _ in 0..2 {
        outbox.push_owed(owed.clone());
    }
    assert!(!outbox.accepts_responses());
    while outbox
        .pop()
        .is_some_and(|transmit| transmit.kind != TransmitKind::Response)
    {}
    assert!(outbox.accepts_responses());
    let taken = outbox.pop().unwrap();
    outbox.push_owed(owed);
    assert!(outbox.accepts_responses());
    outbox.put_back(taken, Instant::START);
    assert!(!outbox.accepts_responses());
}

#[test]
fn a_busy_stream_stops_no_other() {
    let limits = OutboxLimits {
        messages: 9,
        bytes: 99,
        responses: 9,
    };
    let mut outbox = Outbox::new(limits, Carrier::StreamPerRequest);
    for stream in [3, 4, 3] {
        let mut answer = message(TransmitKind::Response, "x");
        answer.stream = Some(StreamId::new(stream));
        outbox.push_owed(answer);
    }
    let (three, four) = (outbox.pop().unwrap(), outbox.pop().unwrap());
    // Both were taken before either was known to be busy.
    outbox.put_back(three, Instant::NEVER);
    outbox.put_back(four, Instant::START);
    outbox.resume(Instant::START);
    assert_eq!(outbox.pop().unwrap().stream, Some(StreamId::new(4)));
    assert!(outbox.pop().is_none());
    assert_eq!(outbox.next_resume(), Some(Instant::NEVER));
}
