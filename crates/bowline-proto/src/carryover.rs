//! State that outlives a connection.

use crate::calls::{GivenUp, IdCounter};

/// The state that a connection passes to the next one of the same link: ids are never used twice,
/// and cancelled calls are remembered.
#[derive(Debug)]
pub struct Carryover {
    pub(crate) ids: IdCounter,
    pub(crate) given_up: GivenUp,
    /// The number of the next request of the peer.
    pub(crate) next_request: u64,
}

impl Carryover {
    /// Creates the state of the first connection.
    pub fn new() -> Self {
        Self::from(IdCounter::new())
    }

    /// Starts with fresh ids. Cancelled calls of the old ids are forgotten.
    pub(crate) fn renew_ids(&mut self) {
        self.ids = IdCounter::new();
        self.given_up = GivenUp::default();
    }
}

impl Default for Carryover {
    fn default() -> Self {
        Self::new()
    }
}

impl From<IdCounter> for Carryover {
    fn from(ids: IdCounter) -> Self {
        Self {
            ids,
            given_up: GivenUp::default(),
            next_request: 1,
        }
    }
}
