//! Why an operation of a store has failed.

use std::fmt;
use std::sync::Arc;

/// Why an operation of a store has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// The record exists already, or another writer has changed it since it was read. An event:
    /// its sequence is not larger than that of the event before it.
    Conflict,
    /// Another node has claimed the record since. The caller must stop using it.
    Fenced,
    /// There is no such record: it was never created, was removed, or its TTL is over.
    Missing,
    /// A limit of the store is reached. Nothing was written.
    Full,
    /// The store returned bytes that it can't have been given.
    Corrupt(Arc<str>),
    /// The operation took longer than its deadline. It may have happened.
    Timeout,
    /// The store can't be reached, or refuses to serve. The operation may have happened.
    Unavailable(Arc<str>),
}

impl StoreError {
    /// Creates the error of a store that can't be reached, or that refuses to serve. The reason is
    /// logged: it must not have credentials in it.
    pub fn unavailable(reason: impl fmt::Display) -> Self {
        Self::Unavailable(reason.to_string().into())
    }

    /// Creates the error for bytes that are not what was stored.
    pub fn corrupt(reason: impl fmt::Display) -> Self {
        Self::Corrupt(reason.to_string().into())
    }

    /// Returns `true` if the store did not answer, or has no room: the same operation may succeed
    /// later. All other errors are answers.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Full | Self::Timeout | Self::Unavailable(_) => true,
            Self::Conflict | Self::Fenced | Self::Missing | Self::Corrupt(_) => false,
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict => f.write_str("the stored record was changed by another writer"),
            Self::Fenced => f.write_str("the stored record was claimed by another node"),
            Self::Missing => f.write_str("there is no such record in the store"),
            Self::Full => f.write_str("the store is full"),
            Self::Corrupt(reason) => write!(f, "the stored record is corrupt: {reason}"),
            Self::Timeout => f.write_str("the store did not answer in time"),
            Self::Unavailable(reason) => write!(f, "the store is unavailable: {reason}"),
        }
    }
}

impl std::error::Error for StoreError {}
