//! JSON text to and from `serde`: member by member, so that it works inside `flatten`,
//! untagged and tagged enums, and with any format.
//!
//! Numbers that neither 64 bits nor a double hold are written exactly by `serde_json`'s text
//! writers, and read as the nearest double.

use std::fmt;

use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Error as _, Serialize, SerializeMap, SerializeSeq, Serializer};

use serde_json::value::RawValue;

use super::encoder::Encoder;
use super::reader::{Kind, Reader};
use super::{Number, RawJson, RawJsonRef};

impl Serialize for RawJsonRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut reader = self.reader();
        match self.kind() {
            Kind::Null => serializer.serialize_unit(),
            Kind::Boolean => serializer.serialize_bool(reader.boolean().map_err(S::Error::custom)?),
            Kind::String => serializer.serialize_str(&reader.string().map_err(S::Error::custom)?),
            Kind::Number => number(&mut reader, serializer),
            Kind::Array => {
                let mut sequence = serializer.serialize_seq(None)?;
                let mut outcome = Ok(());
                let read = reader.array(|reader| {
                    let element = reader.raw()?;
                    if outcome.is_ok() {
                        outcome = sequence.serialize_element(&element);
                    }
                    Ok(())
                });
                read.map_err(S::Error::custom)?;
                outcome?;
                sequence.end()
            }
            Kind::Object => {
                let mut map = serializer.serialize_map(None)?;
                let mut outcome = Ok(());
                let read = reader.object(|reader, key| {
                    let value = reader.raw()?;
                    if outcome.is_ok() {
                        outcome = map.serialize_entry(key, &value);
                    }
                    Ok(())
                });
                read.map_err(S::Error::custom)?;
                outcome?;
                map.end()
            }
        }
    }
}

/// Writes a number that 64 bits or a double hold as such, a longer one as it is written, which only
/// `serde_json` can do.
fn number<S: Serializer>(reader: &mut Reader<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    let text = reader.number_text().map_err(S::Error::custom)?;
    if let Ok(signed) = text.parse::<i64>() {
        return serializer.serialize_i64(signed);
    }
    if let Ok(unsigned) = text.parse::<u64>() {
        return serializer.serialize_u64(unsigned);
    }
    let is_integer = !text.contains(['.', 'e', 'E']);
    match Number::parse(text) {
        Some(double) if !is_integer => serializer.serialize_f64(double.as_f64()),
        Some(_) | None => {
            let raw: &RawValue = serde_json::from_str(text).map_err(S::Error::custom)?;
            raw.serialize(serializer)
        }
    }
}

/// Deserializes any value as JSON text.
pub(super) fn transcode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RawJson, D::Error> {
    let mut text = Vec::new();
    deserializer.deserialize_any(Transcoder(&mut Encoder::lossless(&mut text)))?;
    Ok(RawJson::written(text))
}

struct Transcoder<'e, 'b>(&'e mut Encoder<'b>);

impl<'de> Visitor<'de> for Transcoder<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.0.boolean(value);
        Ok(())
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.0.integer(value);
        Ok(())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.0.number(value.into()).map_err(E::custom)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        self.0.number(value.into()).map_err(E::custom)
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        self.0.string(value);
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.0.null();
        Ok(())
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        self.0.begin_array();
        loop {
            let before = self.0.len();
            self.0.separate();
            if sequence.next_element_seed(Seed(self.0))?.is_none() {
                self.0.truncate(before);
                break;
            }
        }
        self.0.end_array();
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.begin_object();
        while let Some(key) = map.next_key::<String>()? {
            self.0.key(&key);
            map.next_value_seed(Seed(self.0))?;
        }
        self.0.end_object();
        Ok(())
    }
}

struct Seed<'e, 'b>(&'e mut Encoder<'b>);

impl<'de> serde::de::DeserializeSeed<'de> for Seed<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer
            .deserialize_any(Transcoder(self.0))
            .map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use crate::InputSchema;
    use crate::tools::Tool;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Flattened {
        server: String,
        #[serde(flatten)]
        tool: Tool,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Untagged {
        Tool(Box<Tool>),
        Number(u8),
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        One { tool: Tool },
    }

    fn round_trip<T>(value: &T, expected: serde_json::Value)
    where
        T: Serialize + for<'de> Deserialize<'de> + PartialEq + std::fmt::Debug,
    {
        let json = serde_json::to_value(value).unwrap();
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_value::<T>(json).unwrap(), *value);
        let text = serde_json::to_string(value).unwrap();
        assert_eq!(serde_json::from_str::<T>(&text).unwrap(), *value);
    }

    #[test]
    fn long_numbers_are_written_exactly() {
        for text in ["18446744073709551616", "-0", "1e400", "0.5", "[1.0]"] {
            let json = crate::RawJson::parse(text).unwrap();
            let written = serde_json::to_string(&json).unwrap();
            assert_eq!(written.replace("-0", "0"), text.replace("-0", "0"));
        }
    }

    #[test]
    fn types_fit_into_types_of_any_kind() {
        let tool = Tool::new("a", InputSchema::empty()).title("A");
        let expected = json!({"name": "a", "title": "A", "inputSchema": {"type": "object"}});
        round_trip(&tool, expected.clone());
        round_trip(&Untagged::Tool(Box::new(tool.clone())), expected.clone());
        round_trip(&Untagged::Number(3), json!(3));
        round_trip(
            &Tagged::One { tool: tool.clone() },
            json!({"kind": "One", "tool": expected}),
        );
        let mut flat = expected;
        flat["server"] = json!("s");
        let server = "s".to_owned();
        round_trip(&Flattened { server, tool }, flat);
    }
}
