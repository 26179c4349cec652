use super::ids::RESERVED;
use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn at(seconds: u32) -> Instant {
    Instant::START + SECOND * seconds
}

fn calls(pending: usize) -> (Calls<()>, IdCounter) {
    let limits = CallLimits {
        pending,
        tombstones: 4096,
        tombstone_lifetime: 75 * SECOND,
    };
    (Calls::new(limits, GivenUp::default()), IdCounter::new())
}

fn open(
    calls: &mut Calls<()>,
    counter: &mut IdCounter,
    now: Instant,
    timeouts: Timeouts,
) -> CallId {
    let id = counter.issue().unwrap();
    calls.insert(now, id, timeouts, ());
    id
}

const THIRTY: Timeouts = Timeouts::new(Duration::from_secs(30), Duration::from_secs(600));

#[test]
fn an_id_is_pending_given_up_ended_or_unknown() {
    let (mut calls, mut counter) = calls(10);
    let [answered, given_up, pending] =
        [0; 3].map(|_| open(&mut calls, &mut counter, at(0), THIRTY));
    calls.complete(answered).unwrap();
    calls.give_up(at(0), given_up).unwrap();
    let mut find = |now, id: RequestId| calls.find(now, &id, &counter);
    assert_eq!(find(at(1), pending.into()), Found::Pending(pending));
    assert_eq!(find(at(1), "3".into()), Found::Pending(pending));
    assert_eq!(find(at(1), given_up.into()), Found::GivenUp);
    assert_eq!(find(at(75), given_up.into()), Found::Ended);
    assert_eq!(find(at(1), answered.into()), Found::Ended);
    for unknown in [0, 4, -1, i64::MAX] {
        assert_eq!(find(at(1), unknown.into()), Found::Unknown, "{unknown}");
    }
    for unknown in ["", "03", "+3", "x", " 3", "99999999999999999999"] {
        assert_eq!(find(at(1), unknown.into()), Found::Unknown, "{unknown:?}");
    }
}

#[test]
fn the_table_is_full_at_its_limit() {
    let (mut calls, mut counter) = calls(2);
    open(&mut calls, &mut counter, at(0), THIRTY);
    assert!(calls.has_room(0));
    let second = open(&mut calls, &mut counter, at(0), THIRTY);
    assert!(!calls.has_room(0));
    calls.give_up(at(0), second);
    assert!(calls.has_room(0));
}

#[test]
fn a_call_ends_once() {
    let (mut calls, mut counter) = calls(10);
    let id = open(&mut calls, &mut counter, at(0), THIRTY);
    assert!(calls.give_up(at(0), id).is_some());
    assert!(calls.give_up(at(0), id).is_none() && calls.complete(id).is_none());
    assert!(calls.len() == 0 && calls.next_deadline().is_none());
    assert_eq!(calls.tombstones(), 1);
}

// proves: F-TO-03
#[test]
fn progress_moves_the_idle_deadline_and_not_the_total() {
    let (mut calls, mut counter) = calls(10);
    let mut timeouts = Timeouts::new(5 * SECOND, 12 * SECOND);
    let strict = open(&mut calls, &mut counter, at(0), timeouts);
    timeouts.progress_counts = true;
    let lenient = open(&mut calls, &mut counter, at(0), timeouts);
    for id in [strict, lenient] {
        assert!(calls.progress(at(4), id, Some(1.into())));
    }
    assert_eq!(calls.overdue(at(5)), Some(strict));
    calls.give_up(at(5), strict);
    assert_eq!(calls.overdue(at(8)), None);
    calls.progress(at(8), lenient, Some(2.into()));
    assert_eq!(calls.next_deadline(), Some(at(12)));
    calls.progress(at(11), lenient, Some(3.into()));
    assert_eq!(calls.overdue(at(12)), Some(lenient));
    assert!(!calls.progress(at(12), strict, Some(4.into())));
}

#[test]
fn only_rising_progress_moves_the_idle_deadline() {
    let (mut calls, mut counter) = calls(10);
    let mut timeouts = Timeouts::new(5 * SECOND, 60 * SECOND);
    timeouts.progress_counts = true;
    let id = open(&mut calls, &mut counter, at(0), timeouts);
    let large = 1_i64 << 60;
    let values = [
        (None, false),
        (Some((-0.5).into()), true),
        (Some((-0.5).into()), false),
        (Some((-1).into()), false),
        (Some(0.into()), true),
        (None, false),
        (Some(0.0.into()), false),
        (Some(0.5.into()), true),
        (Some(large.into()), true),
        (Some((large + 1).into()), true),
        (Some(large.into()), false),
        (Some(1e300.into()), true),
        (Some(u64::MAX.into()), false),
    ];
    let mut deadline = at(5);
    for (second, (value, has_risen)) in (1..).zip(values) {
        assert_eq!(
            calls.progress(at(second), id, value),
            has_risen,
            "{value:?}"
        );
        if has_risen {
            deadline = at(second + 5);
        }
        assert_eq!(calls.next_deadline(), Some(deadline), "{value:?}");
    }
}

#[test]
fn the_idle_time_stands_still_while_the_peer_waits_for_us() {
    let (mut calls, mut counter) = calls(10);
    let id = open(
        &mut calls,
        &mut counter,
        at(0),
        Timeouts::new(5 * SECOND, 60 * SECOND),
    );
    calls.pause(at(3), id);
    calls.pause(at(4), id);
    calls.resume(at(20), id);
    assert_eq!(calls.next_deadline(), Some(at(60)));
    calls.resume(at(30), id);
    assert_eq!(calls.next_deadline(), Some(at(32)));
    // One resume too many changes nothing.
    calls.resume(at(31), id);
    assert_eq!(calls.next_deadline(), Some(at(32)));
    // The total goes on.
    calls.pause(at(31), id);
    assert_eq!(calls.overdue(at(60)), Some(id));
}

// proves: F-TO-05
#[test]
fn no_time_and_all_time() {
    let (mut calls, mut counter) = calls(10);
    let none = open(
        &mut calls,
        &mut counter,
        at(1),
        Timeouts::new(Duration::ZERO, Duration::MAX),
    );
    assert_eq!(calls.overdue(at(1)), Some(none));
    calls.give_up(at(1), none);
    let tick = Duration::from_nanos(1);
    let short = open(
        &mut calls,
        &mut counter,
        at(1),
        Timeouts::new(tick, Duration::MAX),
    );
    assert_eq!(calls.overdue(at(1)), None);
    assert_eq!(calls.overdue(at(1) + tick), Some(short));
    calls.give_up(at(2), short);
    open(
        &mut calls,
        &mut counter,
        at(2),
        Timeouts::new(Duration::MAX, Duration::MAX),
    );
    assert_eq!(calls.next_deadline(), Some(Instant::NEVER));
}

// proves: F-MC-07
#[test]
fn ids_stay_within_what_every_parser_reads() {
    let mut counter = IdCounter::starting_at(RESERVED - 2);
    assert_eq!(counter.percent_used(), 95);
    assert_eq!(counter.issue(), Some(CallId(RESERVED - 2)));
    assert_eq!(counter.issue(), Some(CallId(RESERVED - 1)));
    assert!(counter.is_exhausted());
    assert_eq!((counter.issue(), counter.issue()), (None, None));
    assert!(counter.has_issued(CallId(RESERVED - 1)));
    assert!(!counter.has_issued(CallId(RESERVED)) && !counter.has_issued(CallId(0)));
    assert_eq!(RequestId::from(CallId::MAX).to_string(), "9007199254740991");
}

// proves: F-CK-03
#[test]
fn a_million_deadlines_come_in_their_order() {
    let (mut calls, mut counter) = calls(usize::MAX);
    for n in 0..1_000_000_u64 {
        let idle = Duration::from_nanos(n.wrapping_mul(0x9e37_79b9) % 1_000_003);
        open(
            &mut calls,
            &mut counter,
            Instant::START,
            Timeouts::new(idle, Duration::MAX),
        );
    }
    let mut last = Instant::START;
    while let Some(deadline) = calls.next_deadline() {
        assert!(deadline >= last);
        last = deadline;
        let id = calls.overdue(deadline).unwrap();
        calls.complete(id);
    }
    assert_eq!(calls.len(), 0);
}
