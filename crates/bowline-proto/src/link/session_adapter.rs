//! Adapting a call to the session in which it is sent.
//!
//! The encoding of a call depends on the revision and the capabilities of the session in which it
//! is offered to a connection, not on those at the time of the call: the server may have been
//! replaced by another version. The adapter belongs to the caller; the link invokes it once for
//! each session.

use std::fmt;

use bowline_types::tools::TaskSupport;

use super::Link;
use super::calls::CallKey;
use super::tool_modes::ToolModes;
use crate::commands::CallRequest;
use crate::negotiation::Agreement;

/// Adapts a call to the session in which it is about to be sent (PV-5).
pub trait AdaptToSession: fmt::Debug + Send + Sync {
    /// Encodes the call for the revision and the capabilities of the session.
    ///
    /// # Errors
    ///
    /// Returns a message if the session does not support the call. The call ends with
    /// [`Outcome::Unsupported`](crate::Outcome::Unsupported), and the server sees nothing of it.
    fn adapt(&self, terms: &SessionTerms<'_>, request: &mut CallRequest) -> Result<(), String>;
}

/// The agreement and the tool modes of the session in which a call is about to be sent.
#[derive(Clone, Copy, Debug)]
pub struct SessionTerms<'l> {
    agreement: &'l Agreement,
    modes: &'l ToolModes,
    session: u64,
}

impl<'l> SessionTerms<'l> {
    /// Returns the agreement of the session.
    pub fn agreement(&self) -> &'l Agreement {
        self.agreement
    }

    /// As [`Link::task_support`].
    pub fn task_support(&self, tool: &str) -> Option<TaskSupport> {
        self.modes.task_support(tool, self.session)
    }
}

impl Link {
    /// Adapts a call to this session, unless it has been adapted. Returns a message if the session
    /// does not support the call.
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
        adapter.adapt(&terms, &mut entry.call.request).err()
    }
}
