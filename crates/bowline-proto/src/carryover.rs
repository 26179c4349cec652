//! What outlives a connection.

use crate::calls::{GivenUp, IdCounter};

/// What a connection hands to the next one of the same link: ids are never used twice, and
/// calls that were given up are remembered.
#[derive(Debug)]
pub struct Carryover {
    pub(crate) ids: IdCounter,
    pub(crate) given_up: GivenUp,
    /// The number of the next request of the peer.
    pub(crate) next_request: u64,
}

impl Carryover {
    /// Nothing has been before.
    pub fn new() -> Self {
        Self::from(IdCounter::new())
    }

    /// Begins with fresh ids. Those that were given up are none of the new ones.
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
