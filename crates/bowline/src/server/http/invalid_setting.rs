//! The error of a setting that can't be parsed.

use std::fmt;

use super::refusal::Shown;

/// The error of an entry in [`AllowedHosts`](super::AllowedHosts),
/// [`AllowedOrigins`](super::AllowedOrigins), [`TrustedProxies`](super::TrustedProxies),
/// [`PublicUrl`](super::PublicUrl) or [`ServerCard`](super::ServerCard).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidHttpSetting {
    kind: &'static str,
    entry: String,
    expected: &'static str,
}

impl InvalidHttpSetting {
    pub(super) fn new(kind: &'static str, entry: &str, expected: &'static str) -> Self {
        Self {
            kind,
            entry: entry.into(),
            expected,
        }
    }
}

impl fmt::Display for InvalidHttpSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entry = Shown(self.entry.as_bytes());
        write!(
            f,
            "invalid {} {entry} (expected {})",
            self.kind, self.expected
        )
    }
}

impl std::error::Error for InvalidHttpSetting {}
