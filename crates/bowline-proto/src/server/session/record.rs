//! What is kept of an idle session.

use std::collections::BTreeSet;

use bowline_types::Revision;
use bowline_types::logging::LoggingLevel;

use crate::calls::IdCounter;
use crate::carryover::Carryover;

/// What is kept of a session of the handshake era while nothing is open in it: over HTTP an idle
/// session is no more than this.
#[derive(Clone, Debug)]
pub struct SessionRecord {
    pub(super) revision: Revision,
    /// `true` once the client has sent `notifications/initialized`.
    pub(super) is_ready: bool,
    pub(super) log_level: Option<LoggingLevel>,
    pub(super) subscribed: BTreeSet<String>,
    /// The ids of our requests go on: a late response must not be taken for that of another one.
    pub(super) next_call: IdCounter,
    pub(super) next_request: u64,
}

impl SessionRecord {
    /// Creates the record of a session that has negotiated this revision, and whose client is ready:
    /// for a server without sessions, where each request stands alone.
    pub fn new(revision: Revision) -> Self {
        Self {
            revision,
            is_ready: true,
            log_level: None,
            subscribed: BTreeSet::new(),
            next_call: IdCounter::new(),
            next_request: 1,
        }
    }

    /// Returns the negotiated protocol revision.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns `true` once the client has sent `notifications/initialized`.
    pub fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// Returns `true` if the client has subscribed to a resource.
    pub fn is_subscribed(&self, uri: &str) -> bool {
        self.subscribed.contains(uri)
    }

    pub(super) fn carryover(&self) -> Carryover {
        Carryover {
            next_request: self.next_request,
            ..Carryover::from(self.next_call.clone())
        }
    }
}
