//! Our JSON reader agrees with `serde_json`.

use crate::support::frames;

use std::borrow::Cow;
use std::fmt;

use bowline_types::json::{Kind, MAX_DEPTH, Problem, SyntaxErrorKind};
use bowline_types::{DecodeError, JsonObject, RawJson, RawJsonRef, Reader};
use proptest::prelude::*;
use serde::de::{
    Deserialize, DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value;
use serde_json::value::RawValue;

use frames::{Bytes, Tape, damaged_frame, json_object, taped};

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4096,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_grammar_is_the_same(Bytes(bytes) in damaged_frame(), text: String) {
        for text in [&*String::from_utf8_lossy(&bytes), &text] {
            let expected = serde_json::from_str::<&RawValue>(text).map(RawValue::get);
            match (RawJsonRef::parse(text), expected) {
                (Ok(json), Ok(expected)) => prop_assert_eq!(json.as_str(), expected),
                (Err(_), Err(_)) => {}
                (Err(error), Ok(_)) => {
                    prop_assert_eq!(error.kind, SyntaxErrorKind::TooDeep);
                    let depth = text.matches(['{', '[']).count();
                    prop_assert!(depth > MAX_DEPTH, "{depth}");
                }
                (Ok(json), Err(error)) => prop_assert!(false, "{json}: {error}"),
            }
        }
    }

    #[test]
    fn values_are_the_same(Bytes(bytes) in damaged_frame()) {
        let text = String::from_utf8_lossy(&bytes);
        let mut reader = Reader::new(&text);
        let read = read(&mut reader).and_then(|value| reader.finish().map(|()| value));
        match read {
            Ok(value) => prop_assert_eq!(Some(value), parsed::<Named>(&text).map(|named| named.0)),
            Err(error) if *error.problem() == Problem::Syntax(SyntaxErrorKind::TooDeep) => {}
            Err(error) => prop_assert!(parsed::<Named>(&text).is_none(), "{error}"),
        }
    }

    #[test]
    fn strings_are_the_same(Bytes(bytes) in taped(|tape| {
        let string = tape.string();
        Bytes(tape.damage(string.into_bytes()))
    })) {
        let text = String::from_utf8_lossy(&bytes);
        let mut reader = Reader::new(&text);
        let read = reader.string().and_then(|string| reader.finish().map(|()| string));
        let expected: Result<String, _> = serde_json::from_str(&text);
        prop_assert_eq!(read.ok(), expected.ok().map(Cow::from));
    }

    #[test]
    fn numbers_are_the_same(Bytes(bytes) in taped(|tape| {
        let number = tape.number();
        Bytes(tape.damage(number.into_bytes()))
    })) {
        let text = String::from_utf8_lossy(&bytes);
        let mut reader = Reader::new(&text);
        let number = reader.number().and_then(|number| reader.finish().map(|()| number));
        let expected: Result<serde_json::Number, _> = serde_json::from_str(&text);
        prop_assert_eq!(number.is_ok(), expected.is_ok());
        let (Ok(number), Ok(expected)) = (number, expected) else { return Ok(()) };
        prop_assert_eq!(Some(number.as_f64().to_bits()), expected.as_f64().map(f64::to_bits));
        if let Some(integer) = expected.as_i64() {
            prop_assert_eq!(number.as_i64(), Some(integer));
        }
        // The written number is the same, and of the same kind.
        let written = serde_json::from_str(&number.to_string());
        prop_assert_eq!(written.ok(), Some(expected));
    }

    #[test]
    fn members_are_found(text in json_object()) {
        let object = JsonObject::parse(&text).unwrap();
        prop_assert_eq!(JsonObject::try_from(RawJson::parse(&text).unwrap()), Ok(object.clone()));
        let Some(value) = parsed::<Value>(&text) else { return Ok(()) };
        let members = value.as_object().unwrap();
        prop_assert_eq!(object.is_empty(), members.is_empty());
        for (key, expected) in members {
            let member = object.get(key).unwrap();
            prop_assert_eq!(parsed::<Value>(member.as_str()), Some(expected.clone()));
            // `peek_member` finds the first member of a name, and treats `null` as absent.
            if object.iter().filter(|(name, _)| name.is(key)).count() == 1 {
                let expected = (!expected.is_null()).then_some(member);
                prop_assert_eq!(object.as_ref().reader().peek_member(key), Ok(expected));
            }
        }
    }

    #[test]
    fn objects_change_as_maps_do(text in json_object(), key in taped(Tape::text), inner in json_object()) {
        let (Some(Value::Object(mut map)), Some(value)) = (parsed::<Value>(&text), parsed::<Value>(&inner)) else {
            return Ok(());
        };
        let mut object = JsonObject::parse(&text).unwrap();
        let keys: Vec<_> = map.keys().cloned().collect();
        map.insert(key.clone(), value);
        object.insert(&key, RawJson::parse(&inner).unwrap());
        prop_assert_eq!(object.to::<Value>().unwrap(), Value::Object(map.clone()));
        for key in keys {
            prop_assert_eq!(object.remove(&key).is_some(), map.remove(&key).is_some());
            prop_assert_eq!(object.to::<Value>().unwrap(), Value::Object(map.clone()));
        }
    }
}

/// Decodes the text with `serde_json`, without a limit on the depth.
fn parsed<T: DeserializeOwned>(text: &str) -> Option<T> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    let value = T::deserialize(&mut deserializer).ok()?;
    deserializer.end().ok().map(|()| value)
}

/// A value without the members whose names contain a lone surrogate: a reader skips them.
struct Named(Value);

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NamedVisitor).map(Self)
    }
}

struct NamedVisitor;

impl<'de> Visitor<'de> for NamedVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = serde_json::Map::new();
        while let Some(key) = map.next_key::<Box<RawValue>>()? {
            match serde_json::from_str(key.get()) {
                Ok(key) => drop(members.insert(key, map.next_value::<Named>()?.0)),
                Err(_) => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Value::Object(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Named(element)) = elements.next_element()? {
            array.push(element);
        }
        Ok(Value::Array(array))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }
}

/// Reads a value with the typed reader.
fn read(reader: &mut Reader<'_>) -> Result<Value, DecodeError> {
    Ok(match reader.kind()? {
        Kind::Object => {
            let mut members = serde_json::Map::new();
            reader.object(|reader, key| {
                members.insert(key.to_owned(), read(reader)?);
                Ok(())
            })?;
            Value::Object(members)
        }
        Kind::Array => {
            let mut elements = Vec::new();
            reader.array(|reader| {
                elements.push(read(reader)?);
                Ok(())
            })?;
            Value::Array(elements)
        }
        Kind::String => reader.string()?.into_owned().into(),
        Kind::Number => {
            let number = reader.number()?.to_string();
            serde_json::from_str(&number).expect("a number is JSON")
        }
        Kind::Boolean => reader.boolean()?.into(),
        Kind::Null => {
            reader.null()?;
            Value::Null
        }
    })
}
