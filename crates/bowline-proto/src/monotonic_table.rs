//! Tables whose keys increase.
//!
//! Ids, tickets and most deadlines are issued in order and removed roughly in order. For them a
//! sorted queue with binary search is enough: several times cheaper than a tree, and in order as
//! well.

use std::collections::{BTreeSet, VecDeque};

/// A table whose keys are added in increasing order, as a rule.
///
/// An entry that is removed from the middle leaves a gap. Gaps at the ends are removed at once,
/// and all others before there are more of them than entries, so that a table is never much larger
/// than its entries.
///
/// ```
/// let mut table = bowline_proto::MonotonicTable::new();
/// for key in 1..=3 {
///     table.insert(key, key * 10);
/// }
/// assert_eq!(table.remove(2), Some(20));
/// assert_eq!(table.iter().collect::<Vec<_>>(), [(1, &10), (3, &30)]);
/// ```
#[derive(Clone, Debug)]
pub struct MonotonicTable<K, T> {
    entries: VecDeque<(K, Option<T>)>,
    len: usize,
}

/// The number of gaps that is always allowed.
const GAPS: usize = 32;

impl<K: Copy + Ord, T> MonotonicTable<K, T> {
    /// Creates an empty table, which has no memory.
    pub const fn new() -> Self {
        Self {
            entries: VecDeque::new(),
            len: 0,
        }
    }

    /// Returns how many entries there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Inserts an entry. Returns the one that it replaces.
    pub fn insert(&mut self, key: K, value: T) -> Option<T> {
        let is_last = self.entries.back().is_none_or(|(last, _)| *last < key);
        if is_last {
            self.entries.push_back((key, Some(value)));
            self.len += 1;
            return None;
        }
        let before = match self.place(key) {
            Ok(at) => self.entries.get_mut(at)?.1.replace(value),
            Err(at) => {
                self.entries.insert(at, (key, Some(value)));
                None
            }
        };
        self.len += usize::from(before.is_none());
        before
    }

    /// Removes an entry.
    pub fn remove(&mut self, key: K) -> Option<T> {
        let at = self.place(key).ok()?;
        let value = self.entries.get_mut(at)?.1.take()?;
        self.len -= 1;
        if at == 0 {
            self.trim();
        }
        while self
            .entries
            .back()
            .is_some_and(|(_, value)| value.is_none())
        {
            self.entries.pop_back();
        }
        self.compact();
        Some(value)
    }

    /// Returns an entry.
    pub fn get(&self, key: K) -> Option<&T> {
        self.entries.get(self.place(key).ok()?)?.1.as_ref()
    }

    /// Returns an entry, to be changed.
    pub fn get_mut(&mut self, key: K) -> Option<&mut T> {
        let at = self.place(key).ok()?;
        self.entries.get_mut(at)?.1.as_mut()
    }

    /// Returns `true` if there is such an entry.
    pub fn contains(&self, key: K) -> bool {
        self.get(key).is_some()
    }

    /// Returns the first entry.
    pub fn first(&self) -> Option<(K, &T)> {
        // A gap never comes first.
        let (key, value) = self.entries.front()?;
        Some((*key, value.as_ref()?))
    }

    /// Removes the first entry.
    pub fn pop_first(&mut self) -> Option<(K, T)> {
        let (key, value) = self.entries.pop_front()?;
        self.len -= 1;
        self.trim();
        self.compact();
        Some((key, value?))
    }

    /// Returns all entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = (K, &T)> {
        let entries = self.entries.iter();
        entries.filter_map(|(key, value)| Some((*key, value.as_ref()?)))
    }

    /// Returns all entries, in order, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (K, &mut T)> {
        let entries = self.entries.iter_mut();
        entries.filter_map(|(key, value)| Some((*key, value.as_mut()?)))
    }

    /// Returns all keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = K> {
        self.iter().map(|(key, _)| key)
    }

    /// Returns where a key is, or would be. Most are near the front.
    fn place(&self, key: K) -> Result<usize, usize> {
        match self.entries.front() {
            Some((first, _)) if *first == key => Ok(0),
            Some(_) | None => self.entries.binary_search_by(|(other, _)| other.cmp(&key)),
        }
    }

    fn compact(&mut self) {
        if self.entries.len() > 2 * self.len + GAPS {
            self.entries.retain(|(_, value)| value.is_some());
        }
    }

    fn trim(&mut self) {
        while self
            .entries
            .front()
            .is_some_and(|(_, value)| value.is_none())
        {
            self.entries.pop_front();
        }
    }
}

impl<K: Copy + Ord, T> Default for MonotonicTable<K, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Copy + Ord, T> IntoIterator for MonotonicTable<K, T> {
    type Item = (K, T);
    type IntoIter = MonotonicTableIntoIter<K, T>;

    fn into_iter(self) -> MonotonicTableIntoIter<K, T> {
        MonotonicTableIntoIter(self.entries.into_iter())
    }
}

/// The entries of a table, in order.
#[derive(Debug)]
pub struct MonotonicTableIntoIter<K, T>(std::collections::vec_deque::IntoIter<(K, Option<T>)>);

impl<K, T> Iterator for MonotonicTableIntoIter<K, T> {
    type Item = (K, T);

    fn next(&mut self) -> Option<(K, T)> {
        loop {
            if let (key, Some(value)) = self.0.next()? {
                return Some((key, value));
            }
        }
    }
}

/// Deadlines. Most are added in order; the others are in a tree, so that no order of them is slow.
#[derive(Debug)]
pub(crate) struct Deadlines<T> {
    rising: MonotonicTable<T, ()>,
    others: BTreeSet<T>,
}

impl<T: Copy + Ord> Deadlines<T> {
    pub(crate) const fn new() -> Self {
        Self {
            rising: MonotonicTable::new(),
            others: BTreeSet::new(),
        }
    }

    pub(crate) fn insert(&mut self, at: T) {
        let last = self.rising.entries.back();
        if last.is_none_or(|(last, _)| *last < at) {
            self.rising.insert(at, ());
        } else {
            self.others.insert(at);
        }
    }

    pub(crate) fn remove(&mut self, at: T) {
        if self.rising.remove(at).is_none() {
            self.others.remove(&at);
        }
    }

    pub(crate) fn first(&self) -> Option<T> {
        let rising = self.rising.first().map(|(at, ())| at);
        match (rising, self.others.first().copied()) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new();
    }
}

impl<T: Copy + Ord> Default for Deadlines<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u8),
        Next,
        Remove(u8),
        Pop,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            1 => any::<u8>().prop_map(Step::Insert),
            4 => Just(Step::Next),
            4 => any::<u8>().prop_map(Step::Remove),
            1 => Just(Step::Pop),
        ]
    }

    proptest! {
        #[test]
        fn a_table_is_a_map_in_order(steps in proptest::collection::vec(step(), 0..400)) {
            let (mut table, mut map) = (MonotonicTable::new(), BTreeMap::new());
            let (mut deadlines, mut set) = (Deadlines::new(), BTreeSet::new());
            let mut next = 0_u32;
            for step in steps {
                match step {
                    Step::Insert(key) => {
                        let key = u32::from(key);
                        prop_assert_eq!(table.insert(key, key), map.insert(key, key));
                        if set.insert(key) {
                            deadlines.insert(key);
                        }
                    }
                    Step::Next => {
                        next += 1;
                        prop_assert_eq!(table.insert(next, 0), map.insert(next, 0));
                        if set.insert(next) {
                            deadlines.insert(next);
                        }
                    }
                    Step::Remove(key) => {
                        let key = u32::from(key);
                        prop_assert_eq!(table.remove(key), map.remove(&key));
                        set.remove(&key);
                        deadlines.remove(key);
                    }
                    Step::Pop => {
                        let popped = table.pop_first();
                        prop_assert_eq!(popped, map.pop_first());
                        if let Some((key, _)) = popped {
                            set.remove(&key);
                            deadlines.remove(key);
                        }
                    }
                }
                prop_assert_eq!(table.len(), map.len());
                prop_assert_eq!(table.first(), map.first_key_value().map(|(key, value)| (*key, value)));
                prop_assert!(table.entries.len() <= 2 * table.len + GAPS);
                prop_assert_eq!(deadlines.first(), set.first().copied());
            }
            prop_assert!(table.keys().eq(map.keys().copied()));
            prop_assert!(table.into_iter().eq(map));
        }
    }

    #[test]
    fn an_entry_that_stays_keeps_no_others() {
        let mut table = MonotonicTable::new();
        table.insert(0, ());
        for key in 1..100_000 {
            table.insert(key, ());
            table.remove(key);
        }
        assert!(table.entries.len() <= 2 + GAPS);
    }
}
