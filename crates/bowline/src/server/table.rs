//! Things with names, in the order in which they were added, in pages.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

/// Things with names. Cloning it shares them.
#[derive(Debug)]
pub(super) struct Table<T> {
    /// The same ones, so that finding one takes one look-up however many there are.
    by_name: HashMap<Arc<str>, (u64, Arc<T>)>,
    in_order: BTreeMap<u64, Arc<T>>,
    next: u64,
}

impl<T> Table<T> {
    /// Adds one, in place of another one of its name. Whether there was none.
    pub(super) fn insert(&mut self, name: &str, value: T) -> bool {
        let value = Arc::new(value);
        if let Some((number, known)) = self.by_name.get_mut(name) {
            known.clone_from(&value);
            self.in_order.insert(*number, value);
            return false;
        }
        self.next += 1;
        let entry = (self.next, Arc::clone(&value));
        self.by_name.insert(name.into(), entry);
        self.in_order.insert(self.next, value);
        true
    }

    /// Whether it was there.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        let entry = self.by_name.remove(name);
        entry.is_some_and(|(number, _)| self.in_order.remove(&number).is_some())
    }

    pub(super) fn get(&self, name: &str) -> Option<&Arc<T>> {
        self.by_name.get(name).map(|(_, value)| value)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.in_order.values()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.in_order.is_empty()
    }

    /// A page, and where the next one begins. `None` for a cursor that is none of ours.
    ///
    /// A cursor is the number of the last one that was told: what is added or removed
    /// meanwhile neither repeats nor hides another one (PG-5).
    pub(super) fn page(
        &self,
        cursor: Option<&str>,
        size: usize,
    ) -> Option<(Vec<&Arc<T>>, Option<String>)> {
        let after = match cursor {
            None => 0,
            Some(cursor) => cursor
                .strip_prefix(CURSOR)
                .and_then(|digits| u64::from_str_radix(digits, 16).ok())
                .filter(|after| (1..=self.next).contains(after))?,
        };
        let rest = (Bound::Excluded(after), Bound::Unbounded);
        let mut rest = self.in_order.range(rest);
        let page: Vec<_> = rest.by_ref().take(size.max(1)).collect();
        let last = page.last().map(|(number, _)| **number);
        let next = last.filter(|_| rest.next().is_some());
        let next = next.map(|number| format!("{CURSOR}{number:x}"));
        Some((page.into_iter().map(|(_, value)| value).collect(), next))
    }
}

/// How a cursor begins, so that a number that somebody made up is none.
const CURSOR: &str = "after-";

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            by_name: HashMap::new(),
            in_order: BTreeMap::new(),
            next: 0,
        }
    }
}

impl<T> Clone for Table<T> {
    fn clone(&self) -> Self {
        Self {
            by_name: self.by_name.clone(),
            in_order: self.in_order.clone(),
            next: self.next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_complete_and_in_order_while_things_come_and_go() {
        let mut table = Table::default();
        for number in 0..7 {
            assert!(table.insert(&format!("n{number}"), number));
        }
        assert!(!table.insert("n3", 33), "it keeps its place");
        assert_eq!(table.get("n3").map(|value| **value), Some(33));
        assert!(!table.insert("n3", 3));
        let mut seen = Vec::new();
        let mut cursor = None;
        loop {
            let (page, next) = table.page(cursor.as_deref(), 2).expect("our cursor");
            seen.extend(page.into_iter().map(|value| **value));
            let Some(next) = next else {
                break;
            };
            // The one that the cursor is about goes, and one comes.
            table.remove(&format!("n{}", seen[seen.len() - 1]));
            cursor = Some(next);
            if seen.len() == 4 {
                table.insert("n7", 7);
            }
        }
        assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6, 7]);
        for odd in [
            "", "0", "after-", "after-0", "after-99", "after-x", "after--1",
        ] {
            assert!(table.page(Some(odd), 2).is_none(), "{odd}");
        }
        let (all, next) = table.page(None, 100).expect("no cursor");
        assert!(next.is_none() && all.len() == table.iter().count());
    }
}
