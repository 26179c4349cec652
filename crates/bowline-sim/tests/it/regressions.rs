//! Seeds in whose worlds something once did not hold.

use bowline_sim::{Scenario, ServerWorld, SimCarrier, World};

fn check(seed: u64, carrier: SimCarrier) {
    let report = World::new(seed, carrier, true).run();
    assert_eq!(report.violation, None, "{}", report.trace);
}

macro_rules! seeds {
    ($($name:ident = $seed:literal, $carrier:ident;)+) => {
        $(#[test]
        fn $name() {
            check($seed, SimCarrier::$carrier);
        })+
    };
}

seeds! {
    a_patient_call_after_a_stop = 26, Pipe;
    keys_of_requests_when_ids_begin_anew = 529, Pipe;
    keys_of_requests_when_ids_begin_anew_over_http = 732, Http;
    a_reset_before_the_handshake = 584, Pipe;
    a_reset_before_the_handshake_over_http = 933, Http;
    a_cancellation_on_a_busy_transport = 727, Pipe;
    ids_that_are_used_up_with_nothing_to_wait_for = 205, Pipe;
    ids_that_are_used_up_while_a_question_is_open = 116_938, Pipe;
    a_call_that_found_no_room = 112, Pipe;
    an_answer_to_a_call_that_has_not_left = 11389, Pipe;
    an_expired_session_with_the_last_id = 168_543, Http;
}

// proves: CN-1, CN-2, CN-7, F-LC-11
#[test]
fn nothing_goes_wrong_in_a_thousand_worlds() {
    let summary = bowline_sim::run_many(0, 1000, None);
    assert_eq!(summary.failures, []);
    assert!(
        summary.calls > 5_000 && summary.sessions > 500,
        "{summary:?}"
    );
}

#[test]
fn two_runs_of_a_seed_are_the_same_to_the_byte() {
    for seed in 0..100 {
        for carrier in [SimCarrier::Pipe, SimCarrier::Http] {
            let run = || World::new(seed, carrier, true).run();
            let report = run();
            assert!(!report.trace.is_empty());
            assert_eq!(report, run(), "seed {seed}");
        }
    }
}

// proves: F-SE-10, F-SE-11, F-SE-12, F-SE-13
#[test]
fn nothing_goes_wrong_in_a_thousand_worlds_of_a_server() {
    let summary = bowline_sim::run_many(0, 1000, Some(Scenario::Server));
    assert_eq!(summary.failures, []);
    let counts = summary.server;
    assert!(
        counts.answers > 5_000 && counts.resumed > 5_000 && counts.refused > 500,
        "{counts:?}"
    );
    assert!(counts.faults().all(|(_, times)| times > 0), "{counts:?}");
    assert!(
        counts.log.evicted_responses > 0 && counts.log.expired_responses > 0,
        "{counts:?}"
    );
}

#[test]
fn two_runs_of_a_server_are_the_same_to_the_byte() {
    for seed in 0..100 {
        let run = || ServerWorld::new(seed, true).run();
        let report = run();
        assert!(!report.trace.is_empty());
        assert_eq!(report, run(), "seed {seed}");
    }
}
