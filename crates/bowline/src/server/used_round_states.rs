//! Round states that were used, so that none is accepted twice (MR-13).
//!
//! A state comes from the seal, is opened by the core, and is claimed here right before the handler
//! runs. Without this, a sealed state is valid until it expires, however often it is sent.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use bowline_proto::server::{RoundsError, StateMark};
use bowline_types::ErrorObject;

use super::service::busy_error;

/// Remembers which states were used, for one node or for several.
pub(super) trait UsedRoundStates: Send + Sync {
    /// Claims a state that is not expired at `now`, in seconds. It must be remembered until it
    /// expires.
    fn claim(&self, mark: &StateMark, now: u64) -> Claim;
}

/// The outcome of claiming a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// The state was unused, and is used now.
    Accepted,
    /// The state was used before.
    AlreadyUsed,
    /// There is no room to remember the state, so it is not used.
    Full,
}

impl Claim {
    /// # Errors
    ///
    /// The error for the client when the state can't be used.
    pub(super) fn into_result(self) -> Result<(), ErrorObject> {
        match self {
            Self::Accepted => Ok(()),
            Self::AlreadyUsed => Err(RoundsError::UsedState.to_error()),
            Self::Full => Err(busy_error("too many input rounds in progress")),
        }
    }
}

/// Remembers the states that were used in this process, up to a limit.
#[derive(Debug)]
pub(super) struct InProcessRoundStates {
    max: usize,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    /// Ordered by expiry.
    marks: BTreeSet<StateMark>,
    /// States that expired by then were forgotten. The wall clock may be set back: a forgotten
    /// state must not become valid again.
    forgotten: u64,
}

impl InProcessRoundStates {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            used: Mutex::default(),
        }
    }
}

impl UsedRoundStates for InProcessRoundStates {
    fn claim(&self, mark: &StateMark, now: u64) -> Claim {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(first) = used.marks.first()
            && first.expires <= now
        {
            used.forgotten = first.expires;
            used.marks.pop_first();
        }
        if mark.expires <= used.forgotten || used.marks.contains(mark) {
            return Claim::AlreadyUsed;
        }
        if used.marks.len() >= self.max {
            return Claim::Full;
        }
        used.marks.insert(mark.clone());
        Claim::Accepted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(used: &InProcessRoundStates, nonce: &str, expires: u64, now: u64) -> Claim {
        used.claim(&StateMark::new(nonce, expires), now)
    }

    // proves: F-OA-20
    #[test]
    fn a_state_is_used_once_until_it_is_too_old() {
        let used = InProcessRoundStates::new(10);
        assert_eq!(claim(&used, "a", 200, 100), Claim::Accepted);
        assert_eq!(claim(&used, "b", 200, 100), Claim::Accepted);
        for now in [100, 199] {
            assert_eq!(claim(&used, "a", 200, now), Claim::AlreadyUsed, "{now}");
        }
        assert_eq!(claim(&used, "c", 300, 200), Claim::Accepted);
        let kept = used.used.lock().expect("no thread panicked").marks.len();
        assert_eq!(kept, 1, "the two that are too old are forgotten");
        // The clock is set back.
        assert_eq!(claim(&used, "a", 200, 100), Claim::AlreadyUsed);
        let error = Claim::AlreadyUsed.into_result().expect_err("it was used");
        assert_eq!(error.code, -32602);
    }

    #[test]
    fn used_states_are_not_forgotten_for_want_of_room() {
        let used = InProcessRoundStates::new(2);
        assert_eq!(claim(&used, "a", 200, 100), Claim::Accepted);
        assert_eq!(claim(&used, "b", 300, 100), Claim::Accepted);
        assert_eq!(claim(&used, "c", 400, 100), Claim::Full);
        assert_eq!(claim(&used, "a", 200, 199), Claim::AlreadyUsed);
        assert_eq!(
            claim(&used, "c", 400, 200),
            Claim::Accepted,
            "one is too old"
        );
        assert_eq!(claim(&used, "d", 400, 200), Claim::Full);
        let error = Claim::Full.into_result().expect_err("there is no room");
        let data = error.data.expect("a reason");
        assert_eq!(data.as_str(), r#"{"reason":"busy"}"#);
    }
}
