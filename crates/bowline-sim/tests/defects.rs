//! Deliberate defects in the core: the simulator finds every one of them.
#![cfg(feature = "defects")]

use bowline_proto::defect::{Defect, set};
use bowline_sim::find_violation;

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
