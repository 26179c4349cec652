//! Adapts a call that may wait to the session in which it is sent.
//!
//! The server and its revision are not known while a call waits for a connection, or before it is
//! sent again in another one. So the checks that precede a call are made when it is sent, under the
//! lock of the core, and what each revision encodes differently is encoded then.

use std::borrow::Cow;
use std::fmt;

use bowline_proto::CallRequest;
use bowline_proto::link::{AdaptToSession, SessionTerms};
use bowline_types::Era;
use bowline_types::logging::LoggingLevel;
use bowline_types::meta::{RequestMeta, keys};
use bytes::Bytes;

use super::features::{check_capability, check_revision};

/// Encodes the members of parameters for a session. Fails where its revision can't encode them.
pub(super) type ParamsEncoder =
    Box<dyn Fn(&SessionTerms<'_>) -> Result<Bytes, String> + Send + Sync>;

/// Adapts a call to its session: refuses what that lacks, and encodes it for its revision.
pub(super) struct SessionAdapter {
    pub(super) method: Cow<'static, str>,
    /// It is refused where the server has not declared it.
    pub(super) checks_capability: bool,
    /// This client has declared tasks.
    pub(super) declares_tasks: bool,
    pub(super) meta: Option<RequestMeta>,
    /// The log level that calls of the stateless era carry.
    pub(super) level: Option<LoggingLevel>,
    /// How to encode the parameters, where that depends on the session.
    pub(super) encode_params: Option<ParamsEncoder>,
}

impl AdaptToSession for SessionAdapter {
    fn adapt(&self, terms: &SessionTerms<'_>, request: &mut CallRequest) -> Result<(), String> {
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

/// Returns the `_meta` of a call, with the log level where calls carry it.
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
