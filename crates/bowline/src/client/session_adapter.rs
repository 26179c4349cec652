//! What a call that may wait has to be in the session in which it is made.
//!
//! Nobody knows who answers when a call waits for a connection, or is made again in another
//! one. So what is looked at before a call is made is looked at then, under the lock of the
//! core, and what each revision says in its own words is said then.

use std::borrow::Cow;
use std::fmt;

use bowline_proto::CallRequest;
use bowline_proto::link::{AdaptToSession, SessionTerms};
use bowline_types::Era;
use bowline_types::logging::LoggingLevel;
use bowline_types::meta::{RequestMeta, keys};
use bytes::Bytes;

use super::features::{check_capability, check_revision};

/// The members of parameters, in the words of a session, or why it has none.
pub(super) type ParamsEncoder =
    Box<dyn Fn(&SessionTerms<'_>) -> Result<Bytes, String> + Send + Sync>;

/// Fits a call to its session: refuses what that lacks, and says it in its words.
pub(super) struct SessionAdapter {
    pub(super) method: Cow<'static, str>,
    /// It is refused where the server has not declared it.
    pub(super) checks_capability: bool,
    /// We have declared tasks.
    pub(super) declares_tasks: bool,
    pub(super) meta: Option<RequestMeta>,
    /// The level of log messages that calls of the stateless era say.
    pub(super) level: Option<LoggingLevel>,
    /// How to say it, where that depends on who is spoken to.
    pub(super) encode_params: Option<ParamsEncoder>,
}

impl AdaptToSession for SessionAdapter {
    fn fit(&self, terms: &SessionTerms<'_>, request: &mut CallRequest) -> Result<(), String> {
        let agreement = terms.agreement();
        check_revision(&self.method, agreement.revision)?;
        if self.checks_capability {
            check_capability(&self.method, agreement, self.declares_tasks)?;
        }
        if let Some(encode) = &self.encode_params {
            request.set_body(encode(terms)?);
        }
        if self.level.is_some() {
            let meta = self.meta.clone();
            let era = Some(agreement.revision.era());
            request.set_meta(with_log_level(meta, self.level.as_ref(), era));
        }
        Ok(())
    }
}

impl fmt::Debug for SessionAdapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionAdapter")
            .field("method", &self.method)
            .field("checks_capability", &self.checks_capability)
            .finish_non_exhaustive()
    }
}

/// What a call's `_meta` says, with the level of log messages where calls say it.
pub(super) fn with_log_level(
    meta: Option<RequestMeta>,
    level: Option<&LoggingLevel>,
    era: Option<Era>,
) -> Option<RequestMeta> {
    let (Some(level), None | Some(Era::Stateless)) = (level, era) else {
        return meta;
    };
    let mut meta = meta.unwrap_or_default();
    if meta.get(keys::LOG_LEVEL.name()).is_none() {
        meta.set(keys::LOG_LEVEL, level.clone());
    }
    Some(meta)
}
