//! An ordered map from strings to values of one type.

use std::collections::HashMap;

use crate::json::{DecodeError, Encoder, NotInRevision, Problem, Reader};
use crate::wire::{Decode, Encode, Shape, Wire};

/// The number of entries up to which a linear search is faster than a hash map.
const LINEAR_SEARCH_LIMIT: usize = 16;

/// A map that keeps the order of its entries, which forms need.
///
/// Meant for the few entries of a message: lookup is a linear search.
///
/// ```
/// use bowline_types::Map;
///
/// let arguments: Map<String> = Map::from([("code", "fn main() {}"), ("style", "brief")]);
/// assert_eq!(arguments.get("style").map(String::as_str), Some("brief"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Map<T> {
    entries: Vec<(String, T)>,
}

impl<T> Map<T> {
    /// Creates an empty map.
    pub const fn new() -> Self {
        Self {
            entries: Vec::new(),
        }
    }

    /// Inserts an entry, and returns the value that it replaces.
    pub fn insert(&mut self, key: impl Into<String>, value: T) -> Option<T> {
        let key = key.into();
        match self.entries.iter_mut().find(|(name, _)| *name == key) {
            Some((_, old)) => Some(std::mem::replace(old, value)),
            None => {
                self.entries.push((key, value));
                None
            }
        }
    }

    /// Appends entries. Their names must be distinct, and not in the map.
    pub(crate) fn append<'k>(&mut self, entries: impl IntoIterator<Item = (&'k str, T)>) {
        let entries = entries.into_iter();
        self.entries
            .extend(entries.map(|(name, value)| (name.to_owned(), value)));
    }

    /// Removes an entry.
    pub fn remove(&mut self, key: &str) -> Option<T> {
        let at = self.entries.iter().position(|(name, _)| name == key)?;
        Some(self.entries.remove(at).1)
    }

    /// Returns the value of an entry.
    pub fn get(&self, key: &str) -> Option<&T> {
        self.iter()
            .find(|(name, _)| *name == key)
            .map(|(_, value)| value)
    }

    /// Returns an iterator over the entries, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &T)> {
        self.entries
            .iter()
            .map(|(key, value)| (key.as_str(), value))
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if the map has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl<T> Default for Map<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Into<String>, V: Into<T>, T> FromIterator<(K, V)> for Map<T> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        // The content of a form has as many entries as the peer that sent the form decides.
        let mut positions = HashMap::new();
        for (key, value) in entries {
            let (key, value) = (key.into(), value.into());
            if map.len() < LINEAR_SEARCH_LIMIT {
                map.insert(key, value);
                continue;
            }
            if positions.is_empty() {
                let names = map.entries.iter().map(|(name, _)| name.clone());
                positions = names.zip(0..).collect();
            }
            match positions
                .get(&key)
                .and_then(|at: &usize| map.entries.get_mut(*at))
            {
                Some((_, old)) => *old = value,
                None => {
                    positions.insert(key.clone(), map.len());
                    map.entries.push((key, value));
                }
            }
        }
        map
    }
}

impl<K: Into<String>, V: Into<T>, T, const N: usize> From<[(K, V); N]> for Map<T> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<'a, T> IntoIterator for &'a Map<T> {
    type Item = (&'a str, &'a T);
    type IntoIter = Box<dyn Iterator<Item = (&'a str, &'a T)> + 'a>;

    fn into_iter(self) -> Self::IntoIter {
        Box::new(self.iter())
    }
}

impl<T> IntoIterator for Map<T> {
    type Item = (String, T);
    type IntoIter = std::vec::IntoIter<(String, T)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<T: Decode> Decode for Map<T> {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut entries = Vec::new();
        reader.object(|reader, key| {
            entries.push((key.to_owned(), T::decode(reader)?));
            Ok(())
        })?;
        match duplicate_key(&entries) {
            Some(key) => Err(reader.problem(Problem::Duplicate).under_key(key)),
            None => Ok(Self { entries }),
        }
    }
}

impl<T: Encode> Encode for Map<T> {
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), NotInRevision> {
        encoder.begin_object();
        for (key, value) in self.iter() {
            encoder.member(key, value)?;
        }
        encoder.end_object();
        Ok(())
    }
}

impl<T: Wire> Wire for Map<T> {
    const SHAPE: &'static Shape = &Shape::Map(T::SHAPE);
}

/// Returns a name that occurs twice. Sorts, since the peer decides how many names there are.
fn duplicate_key<T>(entries: &[(String, T)]) -> Option<&str> {
    let mut names: Vec<_> = entries.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names
        .windows(2)
        .find_map(|pair| (pair.first() == pair.last()).then(|| pair.first().copied())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_replacement() {
        let mut map: Map<String> = Map::from([("b", "1"), ("a", "2")]);
        assert_eq!(map.insert("b", "3".into()), Some("1".into()));
        assert_eq!(map.insert("c", "4".into()), None);
        let entries: Vec<_> = map
            .iter()
            .map(|(key, value)| (key, value.as_str()))
            .collect();
        assert_eq!(entries, [("b", "3"), ("a", "2"), ("c", "4")]);
        assert_eq!(map.remove("a"), Some("2".into()));
        assert_eq!(
            (map.len(), map.is_empty(), map.remove("a")),
            (2, false, None)
        );
    }

    #[test]
    fn collecting_many_entries_equals_inserting_them() {
        let names = || (0..40).map(|number| format!("{}", number % 30));
        let map: Map<usize> = names().zip(0..40_usize).collect();
        let mut slow = Map::new();
        for (name, number) in names().zip(0..40) {
            slow.insert(name, number);
        }
        assert_eq!(map, slow);
        assert_eq!(
            (map.len(), map.get("3"), map.get("12")),
            (30, Some(&33), Some(&12))
        );
    }

    #[test]
    fn duplicate_names_are_rejected() {
        let error = Map::<i64>::from_json(r#"{"a":1,"b":2,"a":3}"#).unwrap_err();
        assert_eq!((error.path(), error.problem()), ("a", &Problem::Duplicate));
        assert_eq!(Map::<i64>::from_json(r#"{"b":1,"a":2}"#).unwrap().len(), 2);
    }
}
