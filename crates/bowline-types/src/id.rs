//! Request ids and progress tokens: strings or integers, kept exactly.

use std::fmt;

use crate::json::{DecodeError, Encoder, Kind, NotInRevision, Problem, RawJsonRef, Reader};
use crate::wire::{Decode, Encode, Shape, Wire};

/// Declares a type that is a string or an integer on the wire.
macro_rules! exact_id {
    ($(#[$attribute:meta])* $name:ident) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Repr);

        impl $name {
            /// Returns the integer, if it is one of 64 bits.
            pub fn as_i64(&self) -> Option<i64> {
                match self.0 {
                    Repr::Integer(integer) => Some(integer),
                    Repr::LongInteger(_) | Repr::String(_) => None,
                }
            }

            /// Bytes of memory that it holds beside itself: none for an integer of 64 bits.
            pub fn text_len(&self) -> usize {
                match &self.0 {
                    Repr::Integer(_) => 0,
                    Repr::LongInteger(text) | Repr::String(text) => text.len(),
                }
            }

            /// Returns the string, if it is one.
            pub fn as_str(&self) -> Option<&str> {
                match &self.0 {
                    Repr::String(string) => Some(string),
                    Repr::Integer(_) | Repr::LongInteger(_) => None,
                }
            }
        }

        /// Prints the JSON form, so that `1` and `"1"` look different.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<i64> for $name {
            fn from(integer: i64) -> Self {
                Self(Repr::Integer(integer))
            }
        }

        impl From<i32> for $name {
            fn from(integer: i32) -> Self {
                Self(Repr::Integer(integer.into()))
            }
        }

        impl From<u32> for $name {
            fn from(integer: u32) -> Self {
                Self(Repr::Integer(integer.into()))
            }
        }

        impl From<u64> for $name {
            fn from(integer: u64) -> Self {
                Self(match i64::try_from(integer) {
                    Ok(integer) => Repr::Integer(integer),
                    Err(_) => Repr::LongInteger(integer.to_string().into()),
                })
            }
        }

        impl From<&str> for $name {
            fn from(string: &str) -> Self {
                Self(Repr::String(string.into()))
            }
        }

        impl From<String> for $name {
            fn from(string: String) -> Self {
                Self(Repr::String(string.into()))
            }
        }

        impl Decode for $name {
            fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Repr::read(reader).map(Self)
            }
        }

        impl Encode for $name {
            fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), NotInRevision> {
                self.0.write(encoder);
                Ok(())
            }
        }

        impl Wire for $name {
            const SHAPE: &'static Shape = &Shape::Id;
        }

        crate::wire::serde_through_json!($name);
    };
}

exact_id! {
    /// The id of a request, which its response repeats.
    ///
    /// `1` and `"1"` are different ids, and an integer of any length survives a round
    /// trip. Fractions, exponents and `null` are no ids.
    ///
    /// ```
    /// use bowline_types::{RequestId, Wire};
    ///
    /// assert_ne!(RequestId::from(1), RequestId::from("1"));
    /// let long = RequestId::from_json("18446744073709551616")?;
    /// assert_eq!(long.to_string(), "18446744073709551616");
    /// assert!(RequestId::from_json("1.0").is_err());
    /// # Ok::<(), bowline_types::DecodeError>(())
    /// ```
    RequestId
}

impl RequestId {
    /// Parses the id that a response has: a string or an integer, or a number with a fraction or an
    /// exponent whose value is exactly an integer of 64 bits. `None` for any other JSON.
    ///
    /// A peer that holds all numbers as doubles may answer `1` with `1.0`. That can only be meant
    /// as it, while an id that we have to repeat is repeated as it is written, or refused.
    ///
    /// ```
    /// use bowline_types::RequestId;
    ///
    /// assert_eq!(RequestId::from_response("1.0"), Some(RequestId::from(1)));
    /// assert_eq!(RequestId::from_response("1.5"), None);
    /// ```
    pub fn from_response(json: &str) -> Option<Self> {
        match Self::from_json(json) {
            Ok(id) => Some(id),
            Err(_) => exact_integer(RawJsonRef::parse(json).ok()?).map(Self::from),
        }
    }
}

/// Returns the integer that a number is, however it is written, without the rounding of a double.
fn exact_integer(json: RawJsonRef<'_>) -> Option<i64> {
    if json.kind() != Kind::Number {
        return None;
    }
    let text = json.as_str();
    let (text, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (sign, text) = text
        .strip_prefix('-')
        .map_or(("", text), |text| ("-", text));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = [whole, fraction].concat();
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    // 0.d1d2… times ten to the `point`.
    let point = i64::try_from(whole.len()).ok()?;
    let point = point.checked_add(exponent.parse().ok()?)?;
    let point = usize::try_from(point).ok()?;
    let zeros = point.checked_sub(significant.len())?;
    let leading = significant.len() - significant.trim_start_matches('0').len();
    if point - leading > MOST_DIGITS {
        return None;
    }
    format!("{sign}{significant}{}", "0".repeat(zeros))
        .parse()
        .ok()
}

/// Digits of the longest integer of 64 bits.
const MOST_DIGITS: usize = 19;

exact_id! {
    /// The token by which progress notifications refer to a request.
    ProgressToken
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Repr {
    Integer(i64),
    /// Digits that 64 bits don't hold, and `-0`.
    LongInteger(Box<str>),
    String(Box<str>),
}

impl Repr {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match reader.kind()? {
            Kind::String => Ok(Self::String(reader.string()?.into())),
            Kind::Number => {
                let text = reader.number_text()?;
                Self::from_number(text)
                    .ok_or_else(|| reader.problem(Problem::OutOfRange("an integer")))
            }
            Kind::Object | Kind::Array | Kind::Boolean | Kind::Null => {
                Err(reader.expected("a string or an integer"))
            }
        }
    }

    fn from_number(text: &str) -> Option<Self> {
        if text.contains(['.', 'e', 'E']) {
            return None;
        }
        match text.parse() {
            Ok(integer) if text != "-0" => Some(Self::Integer(integer)),
            _ => Some(Self::LongInteger(text.into())),
        }
    }

    fn write(&self, encoder: &mut Encoder<'_>) {
        match self {
            Self::Integer(integer) => encoder.integer(*integer),
            Self::LongInteger(digits) => encoder.raw(RawJsonRef::validated(digits)),
            Self::String(string) => encoder.string(string),
        }
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        self.write(&mut Encoder::lossless(&mut text));
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: F-JR-05
    #[test]
    fn ids_are_echoed_exactly_or_refused() {
        for exact in [
            "0",
            "-7",
            "-0",
            "9007199254740993",
            "18446744073709551616",
            "-99999999999999999999999",
            "\"\"",
            "\"1\"",
            "\"a\\nb\"",
            "\"\u{1f600}\"",
        ] {
            let id = RequestId::from_json(exact).unwrap();
            assert_eq!(id.to_string(), exact);
        }
        let long = format!("\"{}\"", "x".repeat(65536));
        assert_eq!(RequestId::from_json(&long).unwrap().to_string(), long);
        for refused in [
            "1.0",
            "1e0",
            "1E2",
            "null",
            "true",
            "{}",
            "[]",
            "[1]",
            "\"\\ud800\"",
        ] {
            assert!(RequestId::from_json(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn an_answer_may_have_an_integer_written_otherwise() {
        for (json, id) in [
            ("1", Some(1)),
            ("-1.0", Some(-1)),
            ("1e0", Some(1)),
            ("120e-1", Some(12)),
            ("0.0012E+4", Some(12)),
            ("-0.0", Some(0)),
            ("0e-99999999999999999999", Some(0)),
            ("9223372036854775807.0", Some(i64::MAX)),
            ("-9.223372036854775808e18", Some(i64::MIN)),
            ("9223372036854775808.0", None),
            ("9007199254740993.0", Some((1 << 53) + 1)),
            ("1.5", None),
            ("12e-1", None),
            ("1e19", None),
            ("1e999999999", None),
            ("1e99999999999999999999", None),
            ("1e-9223372036854775808", None),
            ("true", None),
            ("[1.0]", None),
            ("1.0 2", None),
        ] {
            assert_eq!(
                RequestId::from_response(json),
                id.map(RequestId::from),
                "{json}"
            );
        }
        let zeros = "0".repeat(1 << 20);
        let long = format!("0.{zeros}7e{}", zeros.len() + 1);
        assert_eq!(RequestId::from_response(&long), Some(7.into()));
        let text = RequestId::from_response("\"1.0\"").unwrap();
        assert_eq!(text.as_str(), Some("1.0"));
    }

    #[test]
    fn strings_and_integers_are_different() {
        let (number, string) = (RequestId::from(1), RequestId::from("1"));
        assert_ne!(number, string);
        assert_eq!((number.as_i64(), number.as_str()), (Some(1), None));
        assert_eq!((string.as_i64(), string.as_str()), (None, Some("1")));
    }
}
