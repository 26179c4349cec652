//! JSON values that are kept as text.
//!
//! A protocol library forwards most values without decoding them: arguments,
//! schemas, structured results, `_meta`. [`RawJson`] and [`JsonObject`] hold such a value
//! as the text that came over the wire, checked once and never rebuilt, so numbers
//! keep their digits and schemas their keywords. Convert them when you need to:
//!
//! ```
//! use bowline_types::{RawJson, JsonObject};
//!
//! let arguments = JsonObject::parse(r#"{"city":"Delft","days":3}"#)?;
//! assert_eq!(arguments.get("days").map(|days| days.as_str()), Some("3"));
//!
//! #[derive(serde::Deserialize)]
//! struct Forecast { city: String, days: u8 }
//! let typed: Forecast = arguments.to()?;
//! assert_eq!((typed.city.as_str(), typed.days), ("Delft", 3));
//!
//! let back = RawJson::from_serialize(&[typed.days])?;
//! assert_eq!(back.as_str(), "[3]");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - `scanner`: the validating scanner. `syntax_error`: what can be wrong with a text. `nesting`: its
//!   depth.
//! - `unchecked_scan`: finds parts of a text that is known to be JSON. `raw_string`: strings and
//!   escapes.
//! - `reader`: reads typed values. `encoder`: writes them, for a revision.
//! - `object`, `number`: objects and numbers that are kept as text.
//! - `member_name`: names that some parsers read as another name.
//! - `serde_impls`, `finite_serializer`: conversion to and from `serde`.
//!
//! Nothing here knows a type of MCP.

mod encoder;
mod finite_serializer;
mod member_name;
mod nesting;
mod number;
mod object;
mod raw_string;
mod reader;
mod scanner;
mod serde_impls;
mod syntax_error;
mod unchecked_scan;

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde::ser::{Serialize, Serializer};

use finite_serializer::Finite;

pub use encoder::{Encoder, NotInRevision, Reason};
pub use nesting::MAX_DEPTH;
pub use number::Number;
pub use object::{JsonObject, Key, Members};
pub use reader::{DecodeError, Kind, Problem, Reader};
pub use syntax_error::{SyntaxError, SyntaxErrorKind};

pub(crate) use raw_string::RawStr;
pub(crate) use reader::{index_path, key_path, shortened};
pub(crate) use scanner::Scanner;

/// A JSON value of any kind, as text.
///
/// Two are equal when their texts are.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson(Box<str>);

impl RawJson {
    /// Checks that `text` is one JSON value and keeps it, without the space around it.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        Ok(RawJsonRef::parse(text)?.to_owned())
    }

    /// Serializes a value with `serde`.
    ///
    /// # Errors
    ///
    /// Fails if the value has no form in JSON: a number that is not finite, a key that is not a
    /// string.
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        Ok(Self(serde_json::to_string(&Finite(value))?.into()))
    }

    /// Creates a value from the output of an encoder.
    pub(crate) fn written(text: Vec<u8>) -> Self {
        Self(
            String::from_utf8(text)
                .expect("the encoder writes UTF-8")
                .into(),
        )
    }

    /// Returns `null`.
    pub fn null() -> Self {
        Self("null".into())
    }

    /// Returns the text, without copying it.
    pub fn into_string(self) -> String {
        self.0.into_string()
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns a borrowed view of the value.
    pub fn as_ref(&self) -> RawJsonRef<'_> {
        RawJsonRef(&self.0)
    }

    /// Returns the JSON type of the value.
    pub fn kind(&self) -> Kind {
        self.as_ref().kind()
    }

    /// Deserializes the value with `serde`.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        self.as_ref().to()
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<serde_json::Value> for RawJson {
    fn from(value: serde_json::Value) -> Self {
        Self(value.to_string().into())
    }
}

/// A JSON string. For text that is JSON already there is [`RawJson::parse`].
impl From<&str> for RawJson {
    fn from(text: &str) -> Self {
        let mut out = Vec::with_capacity(text.len() + 2);
        Encoder::lossless(&mut out).string(text);
        Self::written(out)
    }
}

/// A JSON string. For text that is JSON already there is [`RawJson::parse`].
impl From<String> for RawJson {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<bool> for RawJson {
    fn from(value: bool) -> Self {
        Self(if value { "true" } else { "false" }.into())
    }
}

impl From<i64> for RawJson {
    fn from(integer: i64) -> Self {
        Self(integer.to_string().into())
    }
}

impl From<JsonObject> for RawJson {
    fn from(object: JsonObject) -> Self {
        object.as_ref().to_owned()
    }
}

impl From<RawJsonRef<'_>> for RawJson {
    fn from(json: RawJsonRef<'_>) -> Self {
        json.to_owned()
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde_impls::transcode(deserializer)
    }
}

/// A borrowed JSON value: a part of a text such as a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RawJsonRef<'a>(&'a str);

impl<'a> RawJsonRef<'a> {
    /// `{}`
    pub const EMPTY_OBJECT: Self = Self("{}");

    /// Checks that `text` is one JSON value, and leaves off the space around it.
    pub fn parse(text: &'a str) -> Result<Self, SyntaxError> {
        let mut scanner = Scanner::new(text);
        let value = scanner.value(0)?;
        scanner.finish()?;
        Ok(Self(value))
    }

    /// Creates a value from a span that a scanner has checked.
    pub(crate) const fn validated(span: &'a str) -> Self {
        Self(span)
    }

    /// Creates a value from a text that was checked before, by [`parse`](Self::parse) for instance.
    /// If the text is not JSON, reading it returns errors or wrong values; it is never unsound.
    pub const fn new_unchecked(text: &'a str) -> Self {
        Self(text)
    }

    /// Returns the text.
    pub const fn as_str(self) -> &'a str {
        self.0
    }

    /// Returns the JSON type of the value.
    pub fn kind(self) -> Kind {
        match self.0.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// Returns the string, if the value is one. It is borrowed if it has no escapes.
    ///
    /// # Errors
    ///
    /// Fails if the value is not a string, or contains a lone surrogate.
    pub fn to_text(self) -> Result<Cow<'a, str>, DecodeError> {
        let inside = self
            .0
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        match inside.filter(|inside| !inside.contains('\\')) {
            Some(inside) => Ok(Cow::Borrowed(inside)),
            None => self.reader().string(),
        }
    }

    /// Returns the members, if the value is an object. They are not checked again.
    ///
    /// ```
    /// use bowline_types::RawJsonRef;
    ///
    /// let object = RawJsonRef::parse(r#"{"a":[1],"b":2}"#)?;
    /// let (key, value) = object.members().unwrap().last().unwrap();
    /// assert!(key.is("b") && value.as_str() == "2");
    /// assert!(RawJsonRef::parse("[]")?.members().is_none());
    /// # Ok::<(), bowline_types::json::SyntaxError>(())
    /// ```
    pub fn members(self) -> Option<Members<'a>> {
        (self.kind() == Kind::Object).then(|| Members::new(self.0))
    }

    /// Returns a reader of the value, which is not checked again.
    pub fn reader(self) -> Reader<'a> {
        Reader::known(self.0)
    }

    /// Deserializes the value with `serde`.
    pub fn to<T: Deserialize<'a>>(self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.0)
    }

    /// Returns an owned copy.
    pub fn to_owned(self) -> RawJson {
        RawJson(self.0.into())
    }
}

impl fmt::Debug for RawJsonRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Display for RawJsonRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_kept_as_it_is() {
        for text in [
            "1.0",
            "1e400",
            "\"\\ud800\"",
            "{\"b\":1, \"a\":[2]}",
            "123456789012345678901",
        ] {
            let json = RawJson::parse(&format!(" {text}\n")).unwrap();
            assert_eq!(json.as_str(), text);
        }
        assert!(RawJson::parse("{} x").is_err());
        assert!(RawJson::parse("").is_err());
    }

    #[test]
    fn values_of_serde_json_convert_both_ways() {
        let value = serde_json::json!({"a": [1, null, "x"]});
        let json = RawJson::from(value.clone());
        assert_eq!(json.to::<serde_json::Value>().unwrap(), value);
        assert_eq!(serde_json::to_value(&json).unwrap(), value);
        assert_eq!(serde_json::from_value::<RawJson>(value).unwrap(), json);
        assert_eq!(RawJson::null().kind(), Kind::Null);
        assert_eq!(RawJson::from("a\"").as_str(), r#""a\"""#);
        assert_eq!(
            (RawJson::from(true).as_str(), RawJson::from(-3).as_str()),
            ("true", "-3")
        );
    }
}
