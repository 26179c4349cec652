//! Named values in the order of insertion, with pagination.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

/// Named values in the order of insertion. Clones share the values.
#[derive(Debug)]
pub(super) struct NamedTable<T> {
    /// The same values by name, so that finding one takes one look-up.
    by_name: HashMap<Arc<str>, (u64, Arc<T>)>,
    in_order: BTreeMap<u64, Arc<T>>,
    next: u64,
}

impl<T> NamedTable<T> {
    /// Inserts a value, in place of the one of the same name, which is returned: a caller that
    /// holds a lock must not drop a user's value.
    pub(super) fn insert(&mut self, name: &str, value: T) -> Option<Arc<T>> {
        let value = Arc::new(value);
        if let Some((number, known)) = self.by_name.get_mut(name) {
            self.in_order.insert(*number, Arc::clone(&value));
            return Some(std::mem::replace(known, value));
        }
        self.next += 1;
        let entry = (self.next, Arc::clone(&value));
        self.by_name.insert(name.into(), entry);
        self.in_order.insert(self.next, value);
        None
    }

    /// Removes the value of a name.
    pub(super) fn remove(&mut self, name: &str) -> Option<Arc<T>> {
        let (number, value) = self.by_name.remove(name)?;
        self.in_order.remove(&number);
        Some(value)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Arc<T>> {
        self.by_name.get(name).map(|(_, value)| value)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.in_order.values()
    }

    /// Returns `true` if there ever was a value, though it may be gone.
    pub(super) fn has_had_any(&self) -> bool {
        self.next > 0
    }

    /// Returns a page, and the cursor of the next one. `None` for an invalid cursor, or one of
    /// another list.
    ///
    /// A cursor is the list and the number of the last value on the page: what is added or removed
    /// meanwhile neither repeats nor hides another value (PG-5).
    pub(super) fn page(
        &self,
        list: &str,
        cursor: Option<&str>,
        size: usize,
    ) -> Option<(Vec<&Arc<T>>, Option<String>)> {
        let after = match cursor {
            None => 0,
            Some(cursor) => cursor
                .strip_prefix(list)
                .and_then(|rest| rest.strip_prefix(AFTER))
                .and_then(|digits| u64::from_str_radix(digits, 16).ok())
                .filter(|after| (1..=self.next).contains(after))?,
        };
        let rest = (Bound::Excluded(after), Bound::Unbounded);
        let mut rest = self.in_order.range(rest);
        let page: Vec<_> = rest.by_ref().take(size.max(1)).collect();
        let last = page.last().map(|(number, _)| **number);
        let next = last.filter(|_| rest.next().is_some());
        let next = next.map(|number| format!("{list}{AFTER}{number:x}"));
        Some((page.into_iter().map(|(_, value)| value).collect(), next))
    }
}

/// The separator of the list and the number.
const AFTER: &str = "-after-";

impl<T> Default for NamedTable<T> {
    fn default() -> Self {
        Self {
            by_name: HashMap::new(),
            in_order: BTreeMap::new(),
            next: 0,
        }
    }
}

impl<T> Clone for NamedTable<T> {
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

    const TOOLS: &str = "tools/list";

    #[test]
    fn pages_are_complete_and_in_order_while_things_come_and_go() {
        let mut table = NamedTable::default();
        assert!(!table.has_had_any());
        for number in 0..7 {
            assert!(table.insert(&format!("n{number}"), number).is_none());
        }
        assert!(table.insert("n3", 33).is_some(), "it keeps its place");
        assert_eq!(table.get("n3").map(|value| **value), Some(33));
        assert_eq!(table.insert("n3", 3).as_deref(), Some(&33));
        let mut seen = Vec::new();
        let mut cursor = None;
        loop {
            let (page, next) = table.page(TOOLS, cursor.as_deref(), 2).expect("our cursor");
            seen.extend(page.into_iter().map(|value| **value));
            let Some(next) = next else {
                break;
            };
            // The value that the cursor names is removed, and one is added.
            table.remove(&format!("n{}", seen[seen.len() - 1]));
            cursor = Some(next);
            if seen.len() == 4 {
                table.insert("n7", 7);
            }
        }
        assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6, 7]);
        for odd in [
            "",
            "0",
            "3",
            "tools/list",
            "-after-3",
            "tools/list-after-",
            "tools/list-after-0",
            "tools/list-after-99",
            "tools/list-after-x",
            "tools/list-after--1",
            "prompts/list-after-3",
        ] {
            assert!(table.page(TOOLS, Some(odd), 2).is_none(), "{odd}");
        }
        let ours = "tools/list-after-3";
        assert!(table.page(TOOLS, Some(ours), 2).is_some());
        assert!(table.page("prompts/list", Some(ours), 2).is_none());
        let (all, next) = table.page(TOOLS, None, 100).expect("no cursor");
        assert!(next.is_none() && all.len() == table.iter().count());
    }
}
