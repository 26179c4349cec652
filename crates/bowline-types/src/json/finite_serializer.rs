//! A serializer around another one that refuses numbers that JSON doesn't have.
//!
//! `serde_json` writes `null` for what is not finite, which is another value, and which the
//! schema of a number forbids. The check of each number while it is written needs no second pass.

use std::fmt::Display;

use serde::Serialize;
use serde::ser::{
    Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// A value of which every number must be finite.
pub(super) struct Finite<T>(pub(super) T);

impl<T: Serialize + ?Sized> Serialize for Finite<&T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(Finite(serializer))
    }
}

macro_rules! plain {
    ($($method:ident($type:ty)),* $(,)?) => {$(
        fn $method(self, value: $type) -> Result<S::Ok, S::Error> {
            self.0.$method(value)
        }
    )*};
}

macro_rules! number {
    ($($method:ident($type:ty)),* $(,)?) => {$(
        fn $method(self, value: $type) -> Result<S::Ok, S::Error> {
            if value.is_finite() {
                self.0.$method(value)
            } else {
                Err(S::Error::custom(format_args!("{value} is not a JSON number")))
            }
        }
    )*};
}

impl<S: Serializer> Serializer for Finite<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Finite<S::SerializeSeq>;
    type SerializeTuple = Finite<S::SerializeTuple>;
    type SerializeTupleStruct = Finite<S::SerializeTupleStruct>;
    type SerializeTupleVariant = Finite<S::SerializeTupleVariant>;
    type SerializeMap = Finite<S::SerializeMap>;
    type SerializeStruct = Finite<S::SerializeStruct>;
    type SerializeStructVariant = Finite<S::SerializeStructVariant>;

    number!(serialize_f32(f32), serialize_f64(f64));

    plain!(
        serialize_bool(bool),
        serialize_i8(i8),
        serialize_i16(i16),
        serialize_i32(i32),
        serialize_i64(i64),
        serialize_i128(i128),
        serialize_u8(u8),
        serialize_u16(u16),
        serialize_u32(u32),
        serialize_u64(u64),
        serialize_u128(u128),
        serialize_char(char),
        serialize_str(&str),
        serialize_bytes(&[u8]),
        serialize_unit_struct(&'static str),
    );

    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.0.serialize_none()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.0.serialize_some(&Finite(value))
    }

    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.0.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_unit_variant(name, index, variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_struct(name, &Finite(value))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let value = &Finite(value);
        self.0
            .serialize_newtype_variant(name, index, variant, value)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        self.0.serialize_seq(length).map(Finite)
    }

    fn serialize_tuple(self, length: usize) -> Result<Self::SerializeTuple, S::Error> {
        self.0.serialize_tuple(length).map(Finite)
    }

    fn serialize_tuple_struct(
        self,
        name: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleStruct, S::Error> {
        self.0.serialize_tuple_struct(name, length).map(Finite)
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        let variant = self.0.serialize_tuple_variant(name, index, variant, length);
        variant.map(Finite)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        self.0.serialize_map(length).map(Finite)
    }

    fn serialize_struct(
        self,
        name: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStruct, S::Error> {
        self.0.serialize_struct(name, length).map(Finite)
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        let variant = self
            .0
            .serialize_struct_variant(name, index, variant, length);
        variant.map(Finite)
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.0.collect_str(value)
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

macro_rules! elements {
    ($($trait:ident::$method:ident),* $(,)?) => {$(
        impl<S: $trait> $trait for Finite<S> {
            type Ok = S::Ok;
            type Error = S::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
                self.0.$method(&Finite(value))
            }

            fn end(self) -> Result<S::Ok, S::Error> {
                self.0.end()
            }
        }
    )*};
}

elements!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field,
);

macro_rules! fields {
    ($($trait:ident),* $(,)?) => {$(
        impl<S: $trait> $trait for Finite<S> {
            type Ok = S::Ok;
            type Error = S::Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), S::Error> {
                self.0.serialize_field(key, &Finite(value))
            }

            fn skip_field(&mut self, key: &'static str) -> Result<(), S::Error> {
                self.0.skip_field(key)
            }

            fn end(self) -> Result<S::Ok, S::Error> {
                self.0.end()
            }
        }
    )*};
}

fields!(SerializeStruct, SerializeStructVariant);

impl<S: SerializeMap> SerializeMap for Finite<S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), S::Error> {
        self.0.serialize_key(&Finite(key))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
        self.0.serialize_value(&Finite(value))
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        self.0.end()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{JsonObject, RawJson};

    #[derive(Serialize)]
    enum Shape {
        Unit,
        Newtype(f64),
        Tuple(f64, bool),
        Struct { radius: f64 },
    }

    #[derive(Serialize)]
    struct Pair(u8, f32);

    #[derive(Serialize)]
    struct Everything {
        shapes: Vec<Shape>,
        pair: Pair,
        tuple: (i128, char),
        map: BTreeMap<u8, Option<f64>>,
        nothing: (),
        text: &'static str,
        json: RawJson,
        #[serde(skip_serializing_if = "Option::is_none")]
        skipped: Option<u8>,
        #[serde(flatten)]
        flat: BTreeMap<&'static str, f64>,
    }

    fn everything(number: f64) -> Everything {
        Everything {
            shapes: vec![
                Shape::Unit,
                Shape::Newtype(number),
                Shape::Tuple(1.5, true),
                Shape::Struct { radius: 2.5 },
            ],
            pair: Pair(1, 0.5),
            tuple: (-7, 'x'),
            map: [(1, None), (2, Some(3.25))].into(),
            nothing: (),
            text: "words",
            json: RawJson::parse(r#"{"a":1.50}"#).expect("JSON"),
            skipped: None,
            flat: [("flat", 4.0)].into(),
        }
    }

    #[test]
    fn finite_numbers_are_written_as_serde_json_writes_them() {
        let value = everything(1.0);
        let expected = serde_json::to_string(&value).expect("it can be written");
        let written = RawJson::from_serialize(&value).expect("it can be written");
        assert_eq!(written.as_str(), expected);
        let written = JsonObject::from_serialize(&value).expect("it can be written");
        assert_eq!(written.as_str(), expected);
    }

    // proves: F-HD-05
    #[test]
    fn numbers_that_are_not_finite_are_refused_wherever_they_are() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let error = RawJson::from_serialize(&everything(number)).expect_err("no number");
            assert!(error.to_string().contains("not a JSON number"), "{error}");
            assert!(JsonObject::from_serialize(&everything(number)).is_err());
        }
        let refused = [
            RawJson::from_serialize(&f32::NAN),
            RawJson::from_serialize(&Some(f32::INFINITY)),
            RawJson::from_serialize(&(1, f64::NAN)),
            RawJson::from_serialize(&Pair(1, f32::NAN)),
            RawJson::from_serialize(&Shape::Tuple(f64::NAN, true)),
            RawJson::from_serialize(&Shape::Struct { radius: f64::NAN }),
            RawJson::from_serialize(&BTreeMap::from([("key", f64::NAN)])),
        ];
        assert!(refused.iter().all(Result::is_err), "{refused:?}");
    }
}
