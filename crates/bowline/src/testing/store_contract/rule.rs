//! A rule of a contract, and what breaks it.

use std::fmt;

use crate::server::store::StoreError;

/// A rule that a store has broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenRule {
    rule: &'static str,
    detail: String,
}

impl BrokenRule {
    /// Returns the name of the rule, such as `sessions: compare-and-set`.
    pub fn rule(&self) -> &str {
        self.rule
    }

    /// Returns what the store did instead.
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

impl fmt::Display for BrokenRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the store breaks the rule {:?}: {}",
            self.rule, self.detail
        )
    }
}

impl std::error::Error for BrokenRule {}

pub(super) type Checked = Result<(), BrokenRule>;

/// A rule, by its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule(pub(super) &'static str);

impl Rule {
    /// Requires that an operation succeeds.
    pub(super) fn succeeds<T>(
        self,
        operation: &str,
        outcome: Result<T, StoreError>,
    ) -> Result<T, BrokenRule> {
        outcome.map_err(|error| self.broken(format!("{operation} fails: {error}")))
    }

    /// Requires that an operation returns this.
    pub(super) fn returns<T: PartialEq + fmt::Debug>(
        self,
        operation: &str,
        outcome: Result<T, StoreError>,
        expected: T,
    ) -> Checked {
        self.is(operation, outcome, Ok(expected))
    }

    /// Requires that an operation fails with this error.
    pub(super) fn fails<T: PartialEq + fmt::Debug>(
        self,
        operation: &str,
        outcome: Result<T, StoreError>,
        expected: StoreError,
    ) -> Checked {
        self.is(operation, outcome, Err(expected))
    }

    /// Requires that a value is this one.
    pub(super) fn is<T: PartialEq + fmt::Debug>(
        self,
        what: &str,
        found: T,
        expected: T,
    ) -> Checked {
        if found == expected {
            return Ok(());
        }
        Err(self.broken(format!("{what}: expected {expected:?}, found {found:?}")))
    }

    /// Requires a condition.
    pub(super) fn requires(self, holds: bool, what: &str) -> Checked {
        if holds {
            return Ok(());
        }
        Err(self.broken(what.to_owned()))
    }

    pub(super) fn broken(self, detail: String) -> BrokenRule {
        let rule = self.0;
        BrokenRule { rule, detail }
    }
}
