//! Values by key, until they expire, within limits.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeBounds;

use bowline_proto::Instant;

use super::super::error::StoreError;

/// The limits of a store in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordLimits {
    pub(super) records: usize,
    /// Of all values together.
    pub(super) bytes: usize,
}

/// Values by key. One whose time is over doesn't exist.
#[derive(Debug)]
pub(super) struct Records<K, V> {
    limits: RecordLimits,
    records: BTreeMap<K, Record<V>>,
    by_expiry: BTreeSet<(Instant, K)>,
    bytes: usize,
}

#[derive(Debug)]
struct Record<V> {
    value: V,
    bytes: usize,
    expires: Instant,
}

impl<K: Ord + Clone, V> Records<K, V> {
    pub(super) fn new(limits: RecordLimits) -> Self {
        Self {
            limits,
            records: BTreeMap::new(),
            by_expiry: BTreeSet::new(),
            bytes: 0,
        }
    }

    pub(super) fn limits_mut(&mut self) -> &mut RecordLimits {
        &mut self.limits
    }

    /// Removes what has expired. Each operation of a store begins with it. Returns the keys and
    /// values.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<(K, V)> {
        let mut expired = Vec::new();
        while self.by_expiry.first().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, key)) = self.by_expiry.pop_first()
                && let Some(record) = self.records.remove(&key)
            {
                self.bytes -= record.bytes;
                expired.push((key, record.value));
            }
        }
        expired
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.records.get(key).map(|record| &record.value)
    }

    pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.records.get_mut(key).map(|record| &mut record.value)
    }

    pub(super) fn range(&self, keys: impl RangeBounds<K>) -> impl Iterator<Item = (&K, &V)> {
        let records = self.records.range(keys);
        records.map(|(key, record)| (key, &record.value))
    }

    /// Adds a value, or replaces it.
    ///
    /// # Errors
    ///
    /// If a limit is reached. Then nothing has changed.
    pub(super) fn insert(
        &mut self,
        key: K,
        value: V,
        bytes: usize,
        expires: Instant,
    ) -> Result<(), StoreError> {
        let (others, freed) = match self.records.get(&key) {
            Some(old) => (self.records.len() - 1, old.bytes),
            None => (self.records.len(), 0),
        };
        if others >= self.limits.records || self.exceeds(freed, bytes) {
            return Err(StoreError::Full);
        }
        self.remove(&key);
        self.bytes += bytes;
        self.by_expiry.insert((expires, key.clone()));
        let record = Record {
            value,
            bytes,
            expires,
        };
        self.records.insert(key, record);
        Ok(())
    }

    /// Returns `true` if there is no room when so many bytes are replaced by so many.
    fn exceeds(&self, old: usize, new: usize) -> bool {
        (self.bytes - old).saturating_add(new) > self.limits.bytes
    }

    /// Says how many bytes a value has that was changed in place.
    ///
    /// # Errors
    ///
    /// If there is no room for them. Then they are not counted, and the caller takes the change
    /// back.
    pub(super) fn resize(&mut self, key: &K, bytes: usize) -> Result<(), StoreError> {
        let old = self.records.get(key).map_or(0, |record| record.bytes);
        if bytes > old && self.exceeds(old, bytes) {
            return Err(StoreError::Full);
        }
        if let Some(record) = self.records.get_mut(key) {
            record.bytes = bytes;
            self.bytes = self.bytes - old + bytes;
        }
        Ok(())
    }

    /// Changes when a value expires.
    pub(super) fn touch(&mut self, key: &K, expires: Instant) {
        if let Some(record) = self.records.get_mut(key) {
            self.by_expiry.remove(&(record.expires, key.clone()));
            record.expires = expires;
            self.by_expiry.insert((expires, key.clone()));
        }
    }

    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        let record = self.records.remove(key)?;
        self.by_expiry.remove(&(record.expires, key.clone()));
        self.bytes -= record.bytes;
        Some(record.value)
    }
}
