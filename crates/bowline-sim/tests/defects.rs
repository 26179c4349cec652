//! Deliberate defects in the core: the simulator finds every one of them.
#![cfg(feature = "defects")]

use bowline_proto::defect::{Defect, set};
use bowline_sim::{Scenario, find_violation};

/// Seeds within which every one is found; all are within 20 000 by far.
const SEEDS: u64 = 3000;

#[test]
fn every_defect_is_found() {
    assert!(Defect::ALL.len() >= 12);
    for defect in Defect::ALL {
        set(Some(*defect));
        let found = find_violation(0, SEEDS);
        assert!(found.is_some(), "{} is not found", defect.name());
    }
    set(None);
    assert_eq!(find_violation(0, 100), None);
}

/// A call that is wrongly reported as sent or as not sent is found by what is wrong with it.
#[test]
fn every_wrong_report_of_a_delivery_is_found_as_such() {
    let (sent, not_sent) = ("is reported as sent", "is reported as not sent");
    for (defect, violation) in [
        (Defect::WaitingCountsAsSent, sent),
        (Defect::QueuedCountsAsSent, sent),
        (Defect::ReturnedCountsAsSent, sent),
        (Defect::GivenUpCountsAsUnsent, not_sent),
        (Defect::ForgottenAttempt, not_sent),
    ] {
        set(Some(defect));
        let found = find_violation(0, SEEDS).map(|found| found.failure.violation);
        let found = found.unwrap_or_default();
        assert!(found.contains(violation), "{}: {found}", defect.name());
    }
    set(None);
}

/// A defect of resumption is found in a world of a server, by what its clients see.
#[test]
fn every_defect_of_resumption_is_found_as_such() {
    for (defect, violation) in [
        (Defect::RepeatedReplay, "is next"),
        (Defect::ForeignReplay, "event "),
        (Defect::NamedReplay, "is next"),
        (Defect::SwallowedGap, "is next"),
        (Defect::DroppedAnswer, "ended without its answer"),
        (Defect::WrongStream, "on the stream of"),
        (Defect::NewerPriming, "two positions"),
        (Defect::SkippedUnread, "is next"),
        (Defect::CancelledAnswer, "which was cancelled"),
        (Defect::EndlessEvents, "outlive their age"),
    ] {
        set(Some(defect));
        let found = find_violation(0, SEEDS).map(|found| found.failure);
        let found = found.unwrap_or_else(|| panic!("{} is not found", defect.name()));
        assert_eq!(found.scenario, Scenario::Server, "{}", defect.name());
        assert!(found.violation.contains(violation), "{found:?}");
    }
    set(None);
}
