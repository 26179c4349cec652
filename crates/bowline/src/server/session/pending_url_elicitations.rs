//! Pages that people were asked to open, and that they may still be busy with.

use std::collections::VecDeque;

use bowline_proto::{CallError, Payload};
use bowline_types::elicitation::ElicitationCompleteParams;
use bowline_types::{Method, Revision};

use super::{SessionCore, SessionShared};

/// Pages of one client that are remembered. The oldest is forgotten first.
const MAX_TRACKED: usize = 256;

/// Their ids, from the oldest on.
#[derive(Debug, Default)]
pub(super) struct PendingUrlElicitations {
    open: VecDeque<String>,
    /// Those that somebody is done with, and that there was no room to tell of. They are as
    /// many at most.
    unsent: VecDeque<String>,
}

impl PendingUrlElicitations {
    /// Whether it was open.
    fn remove(&mut self, id: &str) -> bool {
        let at = self.open.iter().position(|known| known == id);
        at.is_some_and(|at| self.open.remove(at).is_some())
    }
}

/// Remembers a page, and forgets the oldest one if they are too many.
fn push_bounded(url_elicitations: &mut VecDeque<String>, id: &str) {
    if url_elicitations.len() >= MAX_TRACKED {
        url_elicitations.pop_front();
    }
    url_elicitations.push_back(id.to_owned());
}

impl SessionShared {
    /// The client is asked to open a page.
    pub(in super::super) fn track_url_elicitation(&self, id: &str) {
        push_bounded(&mut self.lock().url_elicitations.open, id);
    }

    /// Nobody is busy with a page any more. Whether somebody was.
    pub(in super::super) fn forget_url_elicitation(&self, id: &str) -> bool {
        self.lock().url_elicitations.remove(id)
    }

    /// Somebody is done with a page. If this client opened it, it is told, once (EL-17): now,
    /// or when there is room. Whether it is.
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
    /// Something has left: tells of the pages for which there was no room.
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
        // It is the only revision that has it.
        let Ok(said) = Payload::encode(&params, Revision::V2025_11_25) else {
            return Err(CallError::NotReady);
        };
        let bytes = said.into_bytes();
        let members = bytes.slice(1..bytes.len() - 1);
        let method = Method::ElicitationComplete.as_str();
        self.session.notify(None, method, members)
    }
}
