//! Every fault by itself: it can happen, and nothing breaks.

use bowline_sim::{Fault, Faults, ServerCounts, ServerWorld, SimCarrier, World};

#[test]
fn every_fault_happens_and_breaks_nothing() {
    assert!(Fault::LINK.len() >= 50);
    for fault in Fault::LINK {
        let times = (0..200).scan(0, |times, seed| {
            // A few worlds each; more where it happens seldom.
            let is_enough = *times > 0 && seed >= 6;
            *times += happens(*fault, seed);
            (!is_enough).then_some(*times)
        });
        let times = times.last().unwrap_or(0);
        // It is a beginning, and nothing that happens.
        let is_setting = *fault == Fault::CounterNearEnd;
        assert!(times > 0 || is_setting, "{fault} never happens");
    }
}

/// How often a fault happens in two worlds in which nothing else does.
fn happens(fault: Fault, seed: u64) -> usize {
    let times = [SimCarrier::Pipe, SimCarrier::Http].map(|carrier| {
        let mut faults = Faults::none();
        faults.set(fault, 200);
        let report = World::of_faults(seed, carrier, true, faults).run();
        let chart = report.trace;
        assert_eq!(report.violation, None, "{fault}, seed {seed}: {chart}");
        chart.matches(&format!("⚡ {fault} ")).count()
    });
    times.iter().sum()
}

#[test]
fn nothing_goes_wrong_where_nothing_can() {
    for seed in 0..50 {
        for carrier in [SimCarrier::Pipe, SimCarrier::Http] {
            let report = World::of_faults(seed, carrier, false, Faults::none()).run();
            assert_eq!(report.violation, None, "seed {seed}");
            assert!(report.sessions <= 1);
        }
    }
}

// proves: F-SE-10, F-SE-11, F-SE-12, F-SE-13, F-RD-14
#[test]
fn every_fault_of_a_server_happens_and_breaks_nothing() {
    for fault in Fault::SERVER {
        let mut counts = ServerCounts::default();
        for seed in 0..20 {
            let mut faults = Faults::none();
            faults.set(*fault, 200);
            let report = ServerWorld::of_faults(seed, true, faults).run();
            let trace = report.trace;
            assert_eq!(report.violation, None, "{fault}, seed {seed}: {trace}");
            counts.add(&report.counts);
        }
        for (other, times) in counts.faults() {
            assert_eq!(other == *fault, times > 0, "{other} {times} for {fault}");
        }
        check_effect(*fault, &counts);
    }
}

/// Checks that a fault had its effect, where it can be counted.
fn check_effect(fault: Fault, counts: &ServerCounts) {
    let effect = match fault {
        Fault::CutAtBoundary | Fault::CutInEvent => counts.resumed,
        Fault::LostPriming => counts.losses,
        Fault::DisplaceReader | Fault::OldPosition => counts.log.displaced,
        Fault::ForgedEventId | Fault::GarbageEventId => counts.refused,
        Fault::EvictEvents => counts.log.evicted,
        Fault::SlowReader => counts.log.lagged,
        Fault::ExpireSession | Fault::DeleteSession => counts.losses,
        _ => 1,
    };
    assert!(effect > 0, "{fault} had no effect");
}

// proves: F-SE-10, F-SE-11
#[test]
fn nothing_is_lost_on_a_server_without_faults() {
    for seed in 0..50 {
        let report = ServerWorld::of_faults(seed, false, Faults::none()).run();
        assert_eq!(report.violation, None, "seed {seed}");
        let counts = report.counts;
        assert!(counts.answers > 0, "seed {seed}");
    }
}
