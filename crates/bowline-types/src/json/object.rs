//! JSON objects that are kept as text.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};

use super::encoder::Encoder;
use super::finite_serializer::Finite;
use super::raw_string::RawStr;
use super::reader::{DecodeError, Kind, Reader};
use super::unchecked_scan::{skip_space, string_end, value_end};
use super::{RawJson, RawJsonRef, Scanner};

/// A JSON object, as text.
///
/// Looking up a member goes over the text, and inserting one rewrites it: right for
/// the few members of `_meta` or of a capability, not for a data structure. Take
/// [`to`](Self::to) for that.
///
/// Two are equal when their texts are.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct JsonObject {
    /// The text with its braces, or nothing at all for the empty object.
    text: String,
}

impl JsonObject {
    /// Creates an object without members. Does not allocate.
    pub const fn new() -> Self {
        Self {
            text: String::new(),
        }
    }

    /// Checks that `text` is one JSON object and keeps it.
    pub fn parse(text: &str) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(text);
        let object = Self::read(&mut reader)?;
        reader.finish()?;
        Ok(object)
    }

    /// Encodes a value of your own, which must be an object.
    ///
    /// # Errors
    ///
    /// When it is no object, or JSON can't represent it: see [`RawJson::from_serialize`].
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        let text = serde_json::to_string(&Finite(value))?;
        Self::parse(&text).map_err(serde_json::Error::custom)
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        if reader.kind()? != Kind::Object {
            return Err(reader.expected("an object"));
        }
        Ok(Self::validated(reader.raw()?))
    }

    fn validated(object: RawJsonRef<'_>) -> Self {
        let mut scanner = Scanner::new(object.as_str());
        let is_empty = scanner.take(b'{') && scanner.take(b'}');
        let text = if is_empty { "" } else { object.as_str() };
        Self { text: text.into() }
    }

    /// Puts a member in. One of the same name makes room.
    pub fn insert(&mut self, key: &str, value: impl Into<RawJson>) {
        self.remove(key);
        self.append(key, value.into().as_ref());
    }

    /// Takes a member out.
    pub fn remove(&mut self, key: &str) -> Option<RawJson> {
        let removed = self.get(key)?.to_owned();
        let mut rest = Self::new();
        for (name, value) in self.iter().filter(|(name, _)| !name.is(key)) {
            match name.unescape() {
                Some(name) => rest.append(&name, value),
                None => rest.append_quoted(&format!("\"{}\"", name.as_written()), value),
            }
        }
        *self = rest;
        Some(removed)
    }

    /// Returns the text, with its braces.
    pub fn as_str(&self) -> &str {
        if self.text.is_empty() {
            "{}"
        } else {
            &self.text
        }
    }

    /// Borrows the object.
    pub fn as_ref(&self) -> RawJsonRef<'_> {
        RawJsonRef::validated(self.as_str())
    }

    /// Returns a member. The last of several of one name counts, as with most parsers.
    pub fn get(&self, key: &str) -> Option<RawJsonRef<'_>> {
        let matching = self.iter().filter(|(name, _)| name.is(key));
        matching.last().map(|(_, value)| value)
    }

    /// Returns `true` if there is a member of that name.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Returns `true` if there is no member.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the members in the order of the text.
    pub fn iter(&self) -> Members<'_> {
        Members::new(self.as_str())
    }

    /// Decodes the object as a type of your own.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        self.as_ref().to()
    }

    /// Puts a member at the end without looking for one of the same name.
    pub(crate) fn append(&mut self, key: &str, value: RawJsonRef<'_>) {
        let mut text = std::mem::take(&mut self.text).into_bytes();
        text.reserve(key.len() + value.as_str().len() + 5);
        text.pop();
        text.push(if text.is_empty() { b'{' } else { b',' });
        Encoder::lossless(&mut text).string(key);
        text.push(b':');
        text.extend_from_slice(value.as_str().as_bytes());
        text.push(b'}');
        self.text = String::from_utf8(text).unwrap_or_default();
    }

    fn append_quoted(&mut self, key: &str, value: RawJsonRef<'_>) {
        if self.text.pop().is_some() {
            self.text.push(',');
        } else {
            self.text.push('{');
        }
        self.text.push_str(key);
        self.text.push(':');
        self.text.push_str(value.as_str());
        self.text.push('}');
    }
}

impl fmt::Debug for JsonObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for JsonObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<serde_json::Map<String, serde_json::Value>> for JsonObject {
    fn from(map: serde_json::Map<String, serde_json::Value>) -> Self {
        let text = serde_json::Value::Object(map).to_string();
        Self::validated(RawJsonRef::validated(&text))
    }
}

/// Fails with the value itself when it is no object.
impl TryFrom<RawJson> for JsonObject {
    type Error = RawJson;

    fn try_from(json: RawJson) -> Result<Self, RawJson> {
        match json.kind() {
            Kind::Object => Ok(Self::validated(json.as_ref())),
            _ => Err(json),
        }
    }
}

/// Fails with the value itself when it is no object.
impl TryFrom<serde_json::Value> for JsonObject {
    type Error = serde_json::Value;

    fn try_from(value: serde_json::Value) -> Result<Self, serde_json::Value> {
        match value {
            serde_json::Value::Object(map) => Ok(map.into()),
            other => Err(other),
        }
    }
}

/// Of several members of one name the last one counts.
impl<K: AsRef<str>, V: Into<RawJson>> FromIterator<(K, V)> for JsonObject {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        let mut members = members.into_iter();
        let mut object = Self::new();
        let Some((first, value)) = members.next() else {
            return object;
        };
        let Some(second) = members.next() else {
            object.append(first.as_ref(), value.into().as_ref());
            return object;
        };
        let members: Vec<(K, RawJson)> = [(first, value), second]
            .into_iter()
            .chain(members)
            .map(|(key, value)| (key, value.into()))
            .collect();
        let last: BTreeMap<&str, usize> = (0..)
            .zip(&members)
            .map(|(at, (key, _))| (key.as_ref(), at))
            .collect();
        for (at, (key, value)) in members.iter().enumerate() {
            if last.get(key.as_ref()) == Some(&at) {
                object.append(key.as_ref(), value.as_ref());
            }
        }
        object
    }
}

impl Serialize for JsonObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for JsonObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = RawJson::deserialize(deserializer)?;
        Self::parse(json.as_str()).map_err(D::Error::custom)
    }
}

/// The members of a [`JsonObject`].
#[derive(Clone, Debug)]
pub struct Members<'a> {
    text: &'a str,
    /// Where the next one begins, with its comma and the space around it.
    next: usize,
}

impl<'a> Members<'a> {
    /// Creates the members of an object, which begins with its bracket.
    pub(super) fn new(object: &'a str) -> Self {
        Self {
            text: object,
            next: 1,
        }
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (Key<'a>, RawJsonRef<'a>);

    // The text was checked when the object was made.
    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.text.as_bytes();
        let mut at = skip_space(bytes, self.next);
        if bytes.get(at) == Some(&b',') {
            at = skip_space(bytes, at + 1);
        }
        if bytes.get(at) != Some(&b'"') {
            return None;
        }
        let start = at + 1;
        let name = string_end(bytes, start)?;
        let key = RawStr::new(self.text.get(start..name.end - 1)?, name.is_escaped, start);
        // The colon, and space around it.
        at = skip_space(bytes, skip_space(bytes, name.end) + 1);
        self.next = value_end(bytes, at)?;
        let value = self.text.get(at..self.next)?;
        Some((Key(key), RawJsonRef::validated(value)))
    }
}

/// The name of a member.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a>(RawStr<'a>);

impl<'a> Key<'a> {
    /// Returns `true` if the name is `wanted`.
    pub fn is(self, wanted: &str) -> bool {
        self.0.is(wanted)
    }

    /// Returns `true` if some parser may take the name for `wanted`, an ASCII name that it
    /// isn't.
    pub(crate) fn may_be_read_as(self, wanted: &str) -> bool {
        self.0.may_be_read_as(wanted)
    }

    /// Returns what stands between the quotes, and whether there are escapes in it.
    pub(crate) fn as_raw(self) -> RawStr<'a> {
        self.0
    }

    /// Returns `true` if the names are the same.
    pub(crate) fn is_same_as(self, other: Self) -> bool {
        self.0.is_same_as(other.0)
    }

    /// Returns what stands between the quotes.
    pub(crate) fn as_written(self) -> &'a str {
        self.0.as_written()
    }

    /// Returns the name. `None` when it has the escape of a lone surrogate in it.
    pub fn unescape(self) -> Option<std::borrow::Cow<'a, str>> {
        self.0.unescape().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_replaced_and_removed() {
        let mut object = JsonObject::new();
        assert!(object.is_empty() && object.as_str() == "{}");
        object.insert("a", RawJson::null());
        object.insert("b\"", RawJson::parse("[1]").unwrap());
        object.insert("a", RawJson::parse("2").unwrap());
        assert_eq!(object.as_str(), r#"{"b\"":[1],"a":2}"#);
        assert_eq!(object.get("a").map(RawJsonRef::as_str), Some("2"));
        assert_eq!(object.remove("b\"").unwrap().as_str(), "[1]");
        assert_eq!(object.remove("b\""), None);
        object.remove("a");
        assert_eq!(object, JsonObject::parse(" { } ").unwrap());
    }

    #[test]
    fn odd_names_survive_their_neighbours() {
        let mut object = JsonObject::parse(r#"{"\ud800":1,"x":2,"x":3}"#).unwrap();
        assert_eq!(object.get("x").map(RawJsonRef::as_str), Some("3"));
        object.remove("x");
        assert_eq!(object.as_str(), r#"{"\ud800":1}"#);
    }

    #[test]
    fn only_objects_are_objects() {
        for text in ["[]", "1", "null", "\"{}\"", "{", "{}{}"] {
            assert!(JsonObject::parse(text).is_err(), "{text}");
        }
        assert!(JsonObject::from_serialize(&1).is_err());
        assert!(JsonObject::try_from(RawJson::null()).is_err());
        assert!(serde_json::from_str::<JsonObject>("[]").is_err());
        let value = serde_json::json!({"a": 1});
        let object = JsonObject::try_from(value.clone()).unwrap();
        assert_eq!(serde_json::to_value(&object).unwrap(), value);
    }
}
