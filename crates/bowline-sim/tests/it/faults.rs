//! Every fault by itself: it can happen, and nothing breaks.

use bowline_sim::{Fault, Faults, SimCarrier, World};

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
