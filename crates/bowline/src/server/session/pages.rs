//! Pages that people were asked to open, and that they may still be busy with.

use std::collections::VecDeque;

use bowline_proto::Payload;
use bowline_types::elicitation::ElicitationCompleteParams;
use bowline_types::{Method, Revision};

use super::Shared;

/// Pages of one client that are remembered. The oldest is forgotten first.
const MOST: usize = 256;

/// Their ids, from the oldest on.
#[derive(Debug, Default)]
pub(super) struct Pages(VecDeque<String>);

impl Shared {
    /// The client is asked to open a page.
    pub(in super::super) fn open_page(&self, id: &str) {
        let pages = &mut self.lock().pages.0;
        if pages.len() >= MOST {
            pages.pop_front();
        }
        pages.push_back(id.to_owned());
    }

    /// Nobody is busy with a page any more. Whether somebody was.
    pub(in super::super) fn forget_page(&self, id: &str) -> bool {
        let pages = &mut self.lock().pages.0;
        let at = pages.iter().position(|page| page == id);
        at.is_some_and(|at| pages.remove(at).is_some())
    }

    /// Somebody is done with a page. If this client opened it, it is told, once (EL-17).
    /// Whether it was.
    pub(in super::super) fn page_done(&self, id: &str) -> bool {
        if !self.forget_page(id) {
            return false;
        }
        let params = ElicitationCompleteParams::new(id);
        // It is the only revision that has it.
        let Ok(said) = Payload::encode(&params, Revision::V2025_11_25) else {
            return false;
        };
        let bytes = said.into_bytes();
        let members = bytes.slice(1..bytes.len() - 1);
        let method = Method::ElicitationComplete.as_str();
        self.with(|core, _| core.session.notify(None, method, members).is_ok())
    }
}
