//! Calls that wait, or are made again: said anew for the session in which they are made.
//!
//! What a call may say, and how, is known when it is offered to a connection, not when it was
//! made: the server may have come back as another one. Whoever makes the call knows its
//! meaning; here it is only asked at the right moment, once a session.

use std::fmt;

use bowline_types::tools::TaskSupport;

use super::Link;
use super::calls::CallKey;
use super::tool_modes::ToolModes;
use crate::commands::CallRequest;
use crate::negotiation::Agreement;

/// Fits a call to the session in which it is about to be made (PV-5).
pub trait AdaptToSession: fmt::Debug + Send + Sync {
    /// Says the call in the words of the session.
    ///
    /// # Errors
    ///
    /// Why it can't be said there, in words. The call ends with
    /// [`Outcome::Unsupported`](crate::Outcome::Unsupported), and the server sees nothing of it.
    fn fit(&self, terms: &SessionTerms<'_>, request: &mut CallRequest) -> Result<(), String>;
}

/// What is known of the session in which a call is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct SessionTerms<'l> {
    agreement: &'l Agreement,
    modes: &'l ToolModes,
    session: u64,
}

impl<'l> SessionTerms<'l> {
    /// Returns what was agreed.
    pub fn agreement(&self) -> &'l Agreement {
        self.agreement
    }

    /// As [`Link::task_support`].
    pub fn task_support(&self, tool: &str) -> Option<TaskSupport> {
        self.modes.task_support(tool, self.session)
    }
}

impl Link {
    /// Fits a call to this session, unless it has been. Why it can't be made, if it can't.
    pub(super) fn adapt_call(&mut self, key: CallKey) -> Option<String> {
        let session = self.session;
        let (entry, agreement) = (self.calls.get_mut(key)?, self.agreement.as_deref()?);
        let adapter = entry.call.adapter.as_ref()?;
        if entry.adapted_session == session {
            return None;
        }
        let terms = SessionTerms {
            agreement,
            modes: &self.tool_modes,
            session,
        };
        entry.adapted_session = session;
        adapter.fit(&terms, &mut entry.call.request).err()
    }
}
