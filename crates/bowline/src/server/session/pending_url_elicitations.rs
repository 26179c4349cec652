//! Pages that people were asked to open, and that they may still be busy with.

use std::collections::VecDeque;

use bowline_proto::{CallError, Payload};
use bowline_types::elicitation::ElicitationCompleteParams;
use bowline_types::{Method, Revision};

use super::{Core, Shared};

/// Pages of one client that are remembered. The oldest is forgotten first.
const MOST: usize = 256;

/// Their ids, from the oldest on.
#[derive(Debug, Default)]
pub(super) struct Pages {
    open: VecDeque<String>,
    /// Those that somebody is done with, and that there was no room to tell of. They are as
    /// many at most.
    done: VecDeque<String>,
}

impl Pages {
    /// Whether it was open.
    fn close(&mut self, id: &str) -> bool {
        let at = self.open.iter().position(|page| page == id);
        at.is_some_and(|at| self.open.remove(at).is_some())
    }
}

/// Remembers a page, and forgets the oldest one if they are too many.
fn remember(pages: &mut VecDeque<String>, id: &str) {
    if pages.len() >= MOST {
        pages.pop_front();
    }
    pages.push_back(id.to_owned());
}

impl Shared {
    /// The client is asked to open a page.
    pub(in super::super) fn open_page(&self, id: &str) {
        remember(&mut self.lock().pages.open, id);
    }

    /// Nobody is busy with a page any more. Whether somebody was.
    pub(in super::super) fn forget_page(&self, id: &str) -> bool {
        self.lock().pages.close(id)
    }

    /// Somebody is done with a page. If this client opened it, it is told, once (EL-17): now,
    /// or when there is room. Whether it is.
    pub(in super::super) fn page_done(&self, id: &str) -> bool {
        self.with(|core, _| {
            if !core.pages.close(id) {
                return false;
            }
            match core.tell_page(id) {
                Err(CallError::QueueFull) => {
                    remember(&mut core.pages.done, id);
                    true
                }
                told => told.is_ok(),
            }
        })
    }
}

impl Core {
    /// Something has left: tells of the pages for which there was no room.
    pub(super) fn tell_pages(&mut self) {
        while let Some(id) = self.pages.done.pop_front() {
            if self.tell_page(&id) == Err(CallError::QueueFull) {
                self.pages.done.push_front(id);
                return;
            }
        }
    }

    fn tell_page(&mut self, id: &str) -> Result<(), CallError> {
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
