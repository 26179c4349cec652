//! Hints: what to do about an error, where we know.

use std::error::Error;
use std::fmt;

/// An error together with what to do about it.
#[derive(Debug)]
pub(crate) struct Hinted {
    error: anyhow::Error,
    hint: &'static str,
}

/// `error`, and what to do about it.
pub(crate) fn hinted(error: anyhow::Error, hint: &'static str) -> anyhow::Error {
    Hinted { error, hint }.into()
}

impl Hinted {
    /// What to do.
    pub(crate) fn hint(&self) -> &'static str {
        self.hint
    }
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for Hinted {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}
