//! How often memory is taken for a call, on both sides together.
//!
//! The aim is at most 8 allocations for a small call and its answer. The tests hold what is
//! really there: the count exactly, since a tenth of it is nothing, and the bytes with a
//! tenth to spare. A change for the better makes them fail as well: then lower the numbers.

#[path = "../benches/support/both_sides.rs"]
mod both_sides;

use allocation_counter::{AllocationInfo, measure};
use bowline_proto::Outcome;
use bowline_types::{Era, ErrorObject};
use bytes::Bytes;

use both_sides::{Answer, BothSides, body, result};

#[test]
fn a_call_of_200_bytes() {
    check(Era::Handshake, call(Era::Handshake, 200, 200), 4, 568);
    check(Era::Stateless, call(Era::Stateless, 200, 200), 6, 1297);
}

#[test]
fn an_answer_with_an_error() {
    let error = ErrorObject::new(-32602, "unknown tool: search");
    for (era, count, bytes) in [(Era::Handshake, 6, 458), (Era::Stateless, 8, 1187)] {
        let body = body(200);
        let taken = warm(era, |sides| {
            let outcome = sides.call(&body, Answer::Error(&error));
            assert!(matches!(outcome, Outcome::Error(_)), "{outcome:?}");
        });
        check(era, taken, count, bytes);
    }
}

#[test]
fn a_notification() {
    let body = Bytes::from_static(br#""uri":"file:///a""#);
    let taken = warm(Era::Handshake, |sides| sides.notify(&body));
    check(Era::Handshake, taken, 4, 180);
}

/// The body of a call is shared: what is taken for a large one is the transport's buffer.
#[test]
fn a_large_body_is_not_copied() {
    let body = body(1_000_000);
    for era in [Era::Handshake, Era::Stateless] {
        let mut sides = BothSides::ready(era);
        // The first use of a shared body makes it one.
        sides.begin_call(&body);
        sides.drop_sent();
        let taken = measure(|| {
            sides.begin_call(&body);
            sides.drop_sent();
        });
        assert!(taken.bytes_total < 1000, "{era}: {taken:?}");
        // On the way, it is in one buffer of the server, which is used again.
        let taken = call(era, 1_000_000, 200);
        assert!(taken.bytes_max < 1_100_000, "{era}: {taken:?}");
    }
}

/// A large result is written once and read once.
#[test]
fn a_large_result() {
    // The client's buffer, since the result is kept.
    let taken = call(Era::Handshake, 200, 1_000_000);
    check(Era::Handshake, taken, 4, 1_000_368);
    let taken = call(Era::Stateless, 200, 1_000_000);
    check(Era::Stateless, taken, 6, 1_001_097);
}

/// What one call takes when the sides are warm: the body and the result are so large.
fn call(era: Era, body_size: usize, result_size: usize) -> AllocationInfo {
    let (body, result) = (body(body_size), result(result_size));
    warm(era, |sides| {
        let outcome = sides.call(&body, Answer::Result(&result));
        assert!(matches!(outcome, Outcome::Result(_)), "{outcome:?}");
    })
}

fn warm(era: Era, mut work: impl FnMut(&mut BothSides)) -> AllocationInfo {
    let mut sides = BothSides::ready(era);
    for _ in 0..10 {
        work(&mut sides);
    }
    measure(|| work(&mut sides))
}

fn check(era: Era, taken: AllocationInfo, count: u64, bytes: u64) {
    assert_eq!(taken.count_total, count, "{era}: {taken:?}");
    let most = bytes + bytes / 10;
    assert!(taken.bytes_total <= most, "{era}: {taken:?}");
    assert_eq!(taken.count_current, 0, "{era}: something is kept");
}
