use super::*;

fn responses(max: usize) -> Arc<UnreadResponses> {
    UnreadResponses::new(max, Arc::default())
}

/// Holds a response of this size. Returns it, and how many were cut.
fn hold(responses: &Arc<UnreadResponses>, bytes: usize) -> (UnreadResponse, usize) {
    let body = Bytes::from(vec![b'x'; bytes]);
    let (response, cut) = responses.hold([Bytes::new(), body, Bytes::new()]);
    let count = cut.0.len();
    cut.log();
    (response, count)
}

fn cut_count(responses: &UnreadResponses) -> u64 {
    responses.counters.snapshot().cut_responses
}

// proves: SE-12
#[test]
fn all_responses_together_stay_within_the_limit() {
    let responses = responses(100);
    let (mut first, cut) = hold(&responses, 60);
    assert_eq!(cut, 0);
    let (second, cut) = hold(&responses, 40);
    assert_eq!((cut, responses.bytes()), (0, 100), "at the limit");
    let (mut third, cut) = hold(&responses, 1);
    assert_eq!((cut, responses.bytes()), (1, 41), "one past it");
    assert_eq!(cut_count(&responses), 1);
    let error = first.read().unwrap_err();
    assert_eq!(error.to_string(), "the client doesn't read its response");
    drop(first);
    assert_eq!(responses.bytes(), 41, "given back once only");
    drop(second);
    assert_eq!(responses.bytes(), 1);
    assert_eq!(third.read().unwrap().unwrap(), "x");
    assert_eq!(responses.bytes(), 0);
    assert_eq!(third.read().unwrap(), None);
}

#[test]
fn the_response_that_was_not_read_for_the_longest_time_is_cut() {
    const SIZE: usize = MAX_UNCOUNTED + 10;
    let responses = responses(2 * SIZE);
    let (mut read, _) = hold(&responses, SIZE);
    let (mut unread, _) = hold(&responses, SIZE);
    assert_eq!(read.read().unwrap().unwrap().len(), MAX_UNCOUNTED);
    assert_eq!(responses.bytes(), 2 * SIZE, "its buffer is kept");
    let (_new, cut) = hold(&responses, SIZE);
    assert_eq!(cut, 1);
    unread.read().unwrap_err();
    assert_eq!(read.remaining(), 10);
    assert_eq!(read.read().unwrap().unwrap().len(), 10);
    assert_eq!(responses.bytes(), SIZE);
}

#[test]
fn as_many_are_cut_as_have_to_be_but_never_the_new_one() {
    let responses = responses(100);
    let mut held: Vec<_> = (0..4).map(|_| hold(&responses, 25).0).collect();
    let (_two, cut) = hold(&responses, 50);
    assert_eq!((cut, responses.bytes()), (2, 100));
    let (mut large, cut) = hold(&responses, 101);
    assert_eq!((cut, responses.bytes()), (3, 101));
    assert_eq!(cut_count(&responses), 5);
    for response in &mut held {
        response.read().unwrap_err();
    }
    assert_eq!(large.read().unwrap().unwrap().len(), 101);
}

#[test]
fn a_response_leaves_whole_in_copies() {
    let responses = responses(usize::MAX);
    let body: Bytes = (0..3 * MAX_UNCOUNTED).map(|at| at as u8).collect();
    let parts = [
        Bytes::from_static(b"head"),
        body.clone(),
        "tail".to_owned().into(),
    ];
    let whole = parts.concat();
    let (mut response, _cut) = responses.hold(parts);
    let mut read = Vec::new();
    while let Some(piece) = response.read().unwrap() {
        assert!(piece.len() == MAX_UNCOUNTED || response.remaining() == 0);
        read.extend_from_slice(&piece);
        assert_eq!(response.remaining(), whole.len() - read.len());
    }
    assert_eq!(read, whole);
    // No other part of the buffer is kept.
    assert!(body.is_unique());
}
