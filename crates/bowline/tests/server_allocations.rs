//! How often the server takes memory for a call.
//!
//! The aim is at most 15 allocations. The tests hold what is really there, with a quarter of
//! one for what is taken for many calls together. A change for the better makes them fail as
//! well: then lower the numbers.

#[path = "../benches/support/scripted_client.rs"]
mod scripted_client;

use allocation_counter::measure;
use bowline::types::Era;
use tokio::runtime::Builder;

#[test]
fn a_call_of_100_bytes() {
    check(Era::Handshake, 1, 7.0);
    check(Era::Stateless, 1, 9.0);
}

#[test]
fn the_number_of_tools_makes_no_difference() {
    check(Era::Handshake, 1000, 7.0);
    check(Era::Stateless, 1000, 9.0);
}

fn check(era: Era, tools: usize, expected: f64) {
    for window in [1, 64] {
        // Two run lengths: what is not a call cancels out.
        let (few, many) = (
            count(era, tools, window, 640),
            count(era, tools, window, 1920),
        );
        let each = (many - few) / 1280.0;
        let measured = format!("{era:?}, {tools} tools, window {window}: {each:.2} allocations");
        assert!((each - expected).abs() < 0.25, "{measured}, not {expected}");
    }
}

fn count(era: Era, tools: usize, window: usize, calls: usize) -> f64 {
    let server = scripted_client::echo(tools).expect("it is set up well");
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let taken = measure(|| {
        let called = runtime.block_on(scripted_client::call(&server, era, window, calls));
        called.expect("all is answered");
    });
    // Far below what a double can hold.
    taken.count_total as f64
}
