//! Versions and fences of records.

use std::fmt;

use bytes::Bytes;

/// The version of a record: larger after each change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u64);

impl Version {
    /// Creates the version of this number: for a store.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns its number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A fencing token: larger each time that a node claims a record. Who holds the largest may use the
/// record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(u64);

impl Fence {
    /// Creates the fence of this number: for a store.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns its number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a write compares with the store before it replaces a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The version that the writer has read or written.
    pub version: Version,
    /// The claim of the writer.
    pub fence: Fence,
}

/// A record of a [`SessionStore`](super::SessionStore).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    /// The bytes, as they were written.
    pub record: Bytes,
    /// With what it can be replaced.
    pub stamp: Stamp,
}
