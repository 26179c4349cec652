//! URL elicitations that the client has accepted and that may not be completed yet.

use std::collections::VecDeque;

use bowline_proto::{CallError, Payload};
use bowline_types::elicitation::ElicitationCompleteParams;
use bowline_types::{Method, Revision};

use super::{SessionCore, SessionShared};

/// URL elicitations of one client that are tracked. Beyond it the oldest is forgotten.
const MAX_TRACKED: usize = 256;

/// The elicitation ids, from the oldest on.
#[derive(Debug, Default)]
pub(super) struct PendingUrlElicitations {
    open: VecDeque<String>,
    /// Completed elicitations for whose notification there was no room in the send queue. Bounded
    /// as `open` is.
    unsent: VecDeque<String>,
}

impl PendingUrlElicitations {
    /// Returns `true` if there are none.
    #[cfg(feature = "http-server")]
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.unsent.is_empty()
    }

    /// Removes an elicitation. Returns `true` if it was open.
    fn remove(&mut self, id: &str) -> bool {
        let at = self.open.iter().position(|known| known == id);
        at.is_some_and(|at| self.open.remove(at).is_some())
    }
}

/// Appends an id, and drops the oldest one beyond the limit.
fn push_bounded(url_elicitations: &mut VecDeque<String>, id: &str) {
    if url_elicitations.len() >= MAX_TRACKED {
        url_elicitations.pop_front();
    }
    url_elicitations.push_back(id.to_owned());
}

impl SessionShared {
    /// Tracks a URL elicitation that is sent to the client.
    pub(in super::super) fn track_url_elicitation(&self, id: &str) {
        push_bounded(&mut self.lock().url_elicitations.open, id);
    }

    /// Stops tracking a URL elicitation. Returns `true` if it was tracked.
    pub(in super::super) fn forget_url_elicitation(&self, id: &str) -> bool {
        self.lock().url_elicitations.remove(id)
    }

    /// Completes a URL elicitation. If this client was asked for it,
    /// `notifications/elicitation/complete` is sent once (EL-17): now, or when there is room.
    /// Returns `true` if it is sent.
    pub(in super::super) fn complete_url_elicitation(&self, id: &str) -> bool {
        self.with(|core, _| {
            if !core.url_elicitations.remove(id) {
                return false;
            }
            match core.send_completion(id) {
                Err(CallError::QueueFull) => {
                    push_bounded(&mut core.url_elicitations.unsent, id);
                    true
                }
                sent => sent.is_ok(),
            }
        })
    }
}

impl SessionCore {
    /// Sends the completions for which there was no room before.
    pub(super) fn send_unsent_completions(&mut self) {
        while let Some(id) = self.url_elicitations.unsent.pop_front() {
            if self.send_completion(&id) == Err(CallError::QueueFull) {
                self.url_elicitations.unsent.push_front(id);
                return;
            }
        }
    }

    fn send_completion(&mut self, id: &str) -> Result<(), CallError> {
        let params = ElicitationCompleteParams::new(id);
        // 2025-11-25 is the only revision that has this notification.
        let Ok(encoded) = Payload::encode(&params, Revision::V2025_11_25) else {
            return Err(CallError::NotReady);
        };
        let bytes = encoded.into_bytes();
        let members = bytes.slice(1..bytes.len() - 1);
        let method = Method::ElicitationComplete.as_str();
        self.session.notify(None, method, members)
    }
}
