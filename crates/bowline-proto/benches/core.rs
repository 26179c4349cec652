//! The core without I/O: what a call costs on both sides together, what PF-1 promises, and
//! that time grows with the bytes and with nothing else.
//!
//! `cargo bench -p bowline-proto --bench core`; figures are kept in `docs/benchmarks.md`. It
//! exits with 1 when a promise is broken by so much that a busy machine can't be the reason.

#![expect(
    clippy::disallowed_types,
    reason = "a benchmark measures time; the core still knows none"
)]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "support/both_sides.rs"]
mod both_sides;
#[path = "support/linear.rs"]
mod linear;
#[path = "support/link_pair.rs"]
mod link_pair;
#[path = "support/table.rs"]
mod table;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use allocation_counter::measure;
use bowline_proto::Outcome;
use bowline_types::{Era, ErrorCode, ErrorObject, Revision, Revisions};

use both_sides::{Answer, BothSides, Offers, body, result};
use table::{Table, Unit};

fn main() -> ExitCode {
    let mut table = Table::new();
    calls(&mut table);
    waiting(&mut table);
    handshakes(&mut table);
    transitions(&mut table);
    link_pair::transitions(&mut table);
    link_pair::abandoned(&mut table);
    dispatch(&mut table);
    linear::frames(&mut table);
    linear::objects(&mut table);
    table.finish()
}

/// One call and its answer through both sides.
fn calls(table: &mut Table) {
    table.heading("one call and its answer, both sides together");
    for era in [Era::Handshake, Era::Stateless] {
        for (size, name) in [(200, "200 B"), (10_000, "10 KB"), (1_000_000, "1 MB")] {
            let (body, result) = (body(size), result(size));
            let mut sides = BothSides::ready(era);
            let mut call = || {
                let outcome = sides.call(&body, Answer::Result(&result));
                assert!(matches!(outcome, Outcome::Result(_)), "{outcome:?}");
            };
            let times = repeated(if size > 100_000 { 3 } else { 300 }, &mut call);
            let taken = measure(&mut call);
            // What is promised, is promised for small calls.
            let (time, count) = if size == 200 {
                (Some(3_000.0), Some(8.0))
            } else {
                (None, None)
            };
            let name = format!("{era}, {name}");
            table.watch(&format!("{name}: time"), times.best, Unit::Nanos, time);
            table.note(&format!("{name}: time, median"), times.median, Unit::Nanos);
            let allocations = taken.count_total as f64;
            table.watch(
                &format!("{name}: allocations"),
                allocations,
                Unit::Count,
                count,
            );
            let bytes = taken.bytes_total as f64;
            table.note(&format!("{name}: allocated"), bytes, Unit::Bytes);
        }
    }
}

/// The same with other calls waiting: their number must not matter.
fn waiting(table: &mut Table) {
    table.heading("a call of 200 B while others wait, against none waiting");
    let (body, result) = (body(200), result(200));
    for era in [Era::Handshake, Era::Stateless] {
        // Interleaved, so that a busy moment hits all of them.
        let mut all = [0, 1, 10, 100, 1000].map(|others| {
            let mut sides = BothSides::ready(era);
            sides.hold(others);
            (others, sides, f64::INFINITY)
        });
        for _ in 0..SAMPLES {
            for (_, sides, best) in &mut all {
                let start = Instant::now();
                for _ in 0..200 {
                    sides.call(&body, Answer::Result(&result));
                }
                *best = best.min(nanos(start.elapsed()) / 200.0);
            }
        }
        let alone = all[0].2;
        for (others, _, best) in &all[1..] {
            let name = format!("{era}, {others} waiting");
            table.hold(&name, best / alone, Unit::Ratio, 1.5);
        }
    }
}

/// PF-1: the handshake, from nothing to ready, on both sides together.
// proves: PF-1
fn handshakes(table: &mut Table) {
    table.heading("a whole handshake, both sides together");
    let both = Revisions::ALL;
    let old = Era::Handshake.revisions();
    let new = Era::Stateless.revisions();
    for (name, client, server) in [
        ("version: initialize", old, old),
        ("version: discover", new, new),
        ("version: discover, refused, initialize", both, old),
    ] {
        let offers = Offers {
            client,
            server,
            everything: false,
        };
        table.hold(name, handshake(offers), Unit::Nanos, MILLISECOND);
    }
    for (name, revisions) in [
        ("capabilities: initialize", old),
        ("capabilities: discover", new),
    ] {
        let offers = Offers {
            client: revisions,
            server: revisions,
            everything: true,
        };
        table.hold(name, handshake(offers), Unit::Nanos, 5.0 * MILLISECOND);
    }
}

fn handshake(offers: Offers) -> f64 {
    once(
        || BothSides::new(offers),
        |sides| {
            sides.shake_hands();
            assert!(sides.client().is_ready());
        },
    )
}

/// PF-1: from ready to closed.
fn transitions(table: &mut Table) {
    table.heading("a transition: ready to closed");
    for pending in [0, 1000] {
        let time = once(
            || {
                let mut sides = BothSides::ready(Era::Handshake);
                sides.hold(pending);
                sides
            },
            |sides| assert_eq!(sides.close(), pending + 1),
        );
        let name = format!("{pending} calls waiting");
        if pending == 0 {
            table.hold(&name, time, Unit::Nanos, 100.0 * MICROSECOND);
        } else {
            // The promise is for the transition; that it ends so many calls is on top.
            table.watch(&name, time, Unit::Nanos, Some(100.0 * MICROSECOND));
        }
    }
}

/// PF-1: what one frame leads to on the client.
fn dispatch(table: &mut Table) {
    table.heading("from the bytes of a frame to its event, on the client");
    let correlation = answered(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    let name = "correlation: an answer among 1000 waiting calls";
    table.hold(name, correlation, Unit::Nanos, 50.0 * MICROSECOND);
    let error = answered(|id| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"unknown tool","data":{{"name":"search"}}}}}}"#
        )
    });
    let name = "error: an error answer to its kind";
    table.hold(name, error, Unit::Nanos, 10.0 * MICROSECOND);
    let note = concat!(
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}"#,
        "\n"
    );
    let mut sides = BothSides::ready(Era::Handshake);
    let times = repeated(300, || {
        sides.client_reads(note.as_bytes());
        sides.notified();
    });
    let name = "notification: dispatched";
    table.hold(name, times.best, Unit::Nanos, 100.0 * MICROSECOND);
}

/// The time from an answer to the end of its call and, for an error, to its kind, while 999
/// others wait.
fn answered(answer: impl Fn(u64) -> String) -> f64 {
    let mut sides = BothSides::ready(Era::Handshake);
    sides.hold(999);
    let body = body(200);
    let mut best = f64::INFINITY;
    for _ in 0..SAMPLES * 100 {
        let call = sides.begin_call(&body);
        sides.drop_sent();
        let frame = answer(call.get()) + "\n";
        let start = Instant::now();
        sides.client_reads(frame.as_bytes());
        let kind = match sides.ended() {
            Some(Outcome::Error(error)) => kind_of(&error),
            Some(Outcome::Result(_)) => None,
            other => panic!("{other:?}"),
        };
        best = best.min(nanos(start.elapsed()));
        assert!(matches!(kind, Some(ErrorCode::InvalidParams) | None));
    }
    best
}

fn kind_of(error: &ErrorObject) -> Option<ErrorCode> {
    error.error_code(Revision::LATEST_HANDSHAKE)
}

#[derive(Clone, Copy, Debug)]
struct Times {
    best: f64,
    median: f64,
}

/// Nanoseconds of one round of `work`: samples of `rounds` each. The best one is what it
/// takes when nothing else wants the machine.
fn repeated(rounds: u32, mut work: impl FnMut()) -> Times {
    work();
    let mut samples: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..rounds {
                work();
            }
            nanos(start.elapsed()) / f64::from(rounds)
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    Times {
        best: samples[0],
        median: samples[samples.len() / 2],
    }
}

/// Nanoseconds of work that can be done once with each thing: the best of many.
fn once<T>(setup: impl Fn() -> T, work: impl Fn(&mut T)) -> f64 {
    let samples = (0..SAMPLES).map(|_| {
        let mut thing = setup();
        let start = Instant::now();
        work(&mut thing);
        nanos(start.elapsed())
    });
    samples.fold(f64::INFINITY, f64::min)
}

fn nanos(duration: Duration) -> f64 {
    duration.as_nanos() as f64
}

const SAMPLES: usize = 60;
const MICROSECOND: f64 = 1_000.0;
const MILLISECOND: f64 = 1_000_000.0;
