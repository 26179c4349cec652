//! Ids of calls, and where they come from.

use std::fmt;

use bowline_types::{ProgressToken, RequestId};

/// The id of a call of ours. Ids rise and are never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub(super) u64);

impl CallId {
    /// The greatest id that every JSON parser reads exactly: 2^53 − 1.
    pub const MAX: Self = Self((1 << 53) - 1);

    /// Returns the id that a peer names, whether it was issued or not.
    ///
    /// Our ids are integers. One that comes back as a string of the same digits can only
    /// be meant as it, so it counts (some peers do that).
    pub(crate) fn named(id: &RequestId) -> Option<Self> {
        let number = match id.as_str() {
            Some(digits) if !digits.starts_with(['0', '+']) => digits.parse().ok(),
            Some(_) => None,
            None => id.as_i64().and_then(|id| u64::try_from(id).ok()),
        };
        number.map(Self)
    }

    /// Returns the id as a number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<CallId> for RequestId {
    fn from(id: CallId) -> Self {
        // Ids stay below 2^53.
        Self::from(i64::try_from(id.0).unwrap_or(i64::MAX))
    }
}

impl From<CallId> for ProgressToken {
    fn from(id: CallId) -> Self {
        Self::from(i64::try_from(id.0).unwrap_or(i64::MAX))
    }
}

/// Issues ids. It belongs to the link and continues across connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdCounter {
    next: u64,
}

/// The first reserved id, at 96 % of the range: no more ids are issued. The connection drains, and
/// the next one begins anew.
pub(super) const RESERVED: u64 = CallId::MAX.0 / 100 * 96;

impl IdCounter {
    /// Begins at 1.
    pub const fn new() -> Self {
        Self { next: 1 }
    }

    /// Begins at `first`, so that a test can reach the end. 0 is none: it begins at 1.
    pub const fn starting_at(first: u64) -> Self {
        let next = if first == 0 { 1 } else { first };
        Self { next }
    }

    /// Returns the number of the next id, so that another counter can begin there.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Returns the next id. `None` when the rest of the range is reserved.
    pub fn issue(&mut self) -> Option<CallId> {
        if self.is_exhausted() {
            return None;
        }
        let id = CallId(self.next);
        self.next += 1;
        Some(id)
    }

    /// Takes back the id that was issued last, if it was not sent.
    pub(crate) fn take_back(&mut self, id: CallId) {
        if id.0.checked_add(1) == Some(self.next) {
            self.next = id.0;
        }
    }

    /// Returns `true` if only reserved ids are left.
    pub const fn is_exhausted(&self) -> bool {
        self.next >= RESERVED
    }

    /// Returns how much of the range is used up, in percent.
    pub const fn percent_used(&self) -> u64 {
        self.next / (CallId::MAX.0 / 100)
    }

    /// Returns how much of the range is used up, in percent, when that has just become worth a
    /// warning.
    pub(crate) const fn threshold(&self) -> Option<u64> {
        const PERCENT: u64 = CallId::MAX.0 / 100;
        match self.next.checked_rem(PERCENT) {
            Some(0) => match self.next / PERCENT {
                percent @ (80 | 90 | 96) => Some(percent),
                _ => None,
            },
            Some(_) | None => None,
        }
    }

    /// Returns `true` if `id` was issued.
    pub const fn has_issued(&self, id: CallId) -> bool {
        id.0 != 0 && id.0 < self.next
    }
}

impl Default for IdCounter {
    fn default() -> Self {
        Self::new()
    }
}
