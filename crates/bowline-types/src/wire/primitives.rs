//! Primitive types, and the decoding steps of generated code.

use crate::json::{
    DecodeError, Encoder, JsonObject, NotInRevision, Number, Problem, RawJson, RawJsonRef, Reader,
    shortened,
};
use crate::pagination::SkippedItems;
use crate::wire::{Decode, Encode, Shape, Wire};

/// Decodes a member into `slot`. Fails if the slot is already filled.
pub(crate) fn decode_member<T: Decode>(
    slot: &mut Option<T>,
    reader: &mut Reader<'_>,
) -> Result<(), DecodeError> {
    if slot.is_some() {
        return Err(reader.problem(Problem::Duplicate));
    }
    *slot = Some(T::decode(reader)?);
    Ok(())
}

/// Decodes an optional member. Some peers write `null` for an absent member.
pub(crate) fn decode_optional_member<T: Decode>(
    slot: &mut Option<T>,
    reader: &mut Reader<'_>,
) -> Result<(), DecodeError> {
    if reader.null()? {
        return Ok(());
    }
    decode_member(slot, reader)
}

/// Decodes a member that is only a hint. An invalid hint is skipped, so that it doesn't make the
/// whole value invalid.
pub(crate) fn decode_hint_member<T: Decode>(
    slot: &mut Option<T>,
    reader: &mut Reader<'_>,
) -> Result<(), DecodeError> {
    if slot.is_some() {
        reader.raw()?;
        return Err(reader.problem(Problem::Duplicate));
    }
    *slot = try_decode(reader)?.ok();
    Ok(())
}

/// Decodes a list. Invalid items are skipped, so that they don't make the whole list invalid.
pub(crate) fn decode_items<T: Decode>(
    slot: &mut Option<Vec<T>>,
    reader: &mut Reader<'_>,
    name: &str,
    skipped_items: &mut SkippedItems,
) -> Result<(), DecodeError> {
    if slot.is_some() {
        return Err(reader.problem(Problem::Duplicate));
    }
    let mut items = Vec::new();
    let mut index = 0;
    reader.array(|reader| {
        match try_decode(reader)? {
            Ok(item) => items.push(item),
            Err((json, error)) => {
                skipped_items.record(json, || error.under_index(index).under_key(name));
            }
        }
        index += 1;
        Ok(())
    })?;
    *slot = Some(items);
    Ok(())
}

/// Decodes a value, or skips a value that is not a valid `T`.
fn try_decode<'a, T: Decode>(
    reader: &mut Reader<'a>,
) -> Result<Result<T, (RawJsonRef<'a>, DecodeError)>, DecodeError> {
    let mut ahead = reader.clone();
    match T::decode(&mut ahead) {
        Ok(value) => {
            *reader = ahead;
            Ok(Ok(value))
        }
        Err(error) => Ok(Err((reader.raw()?, error))),
    }
}

/// Decodes a string that has only one valid value. `null` counts as absent.
pub(crate) fn expect_literal(
    reader: &mut Reader<'_>,
    expected: &'static str,
) -> Result<(), DecodeError> {
    if reader.null()? {
        return Ok(());
    }
    let found = reader.string()?;
    if found == expected {
        return Ok(());
    }
    let found = shortened(&found);
    Err(reader.problem(Problem::Unexpected { expected, found }))
}

/// Implements the traits of `serde` for a wire type, so that users can include it in their own
/// types. They go through the JSON text, hence work with `serde_json` only.
macro_rules! serde_through_json {
    ($name:ty) => {
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let json = $crate::wire::Wire::to_lossless_json(self)
                    .map_err(::serde::ser::Error::custom)?;
                json.serialize(serializer)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Self, D::Error> {
                let json =
                    <$crate::json::RawJson as ::serde::Deserialize>::deserialize(deserializer)?;
                $crate::wire::Wire::from_json(json.as_str()).map_err(::serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use serde_through_json;

impl Decode for String {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(reader.string()?.into_owned())
    }
}

impl Encode for String {
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), NotInRevision> {
        encoder.string(self);
        Ok(())
    }
}

impl Wire for String {
    const SHAPE: &'static Shape = &Shape::String;
}

impl Encode for str {
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), NotInRevision> {
        encoder.string(self);
        Ok(())
    }
}

impl Decode for bool {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.boolean()
    }
}

impl Encode for bool {
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), NotInRevision> {
        encoder.boolean(*self);
        Ok(())
    }
}

impl Wire for bool {
    const SHAPE: &'static Shape = &Shape::Boolean;
}

impl Decode for i64 {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.integer()
    }
}

impl Encode for i64 {
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), NotInRevision> {
        encoder.integer(*self);
        Ok(())
    }
}

impl Wire for i64 {
    const SHAPE: &'static Shape = &Shape::Integer;
}

impl Decode for Number {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.number()
    }
}

impl Encode for Number {
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), NotInRevision> {
        encoder.number(*self)
    }
}

impl Wire for Number {
    const SHAPE: &'static Shape = &Shape::Number;
}

impl Decode for RawJson {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(reader.raw()?.to_owned())
    }
}

impl Encode for RawJson {
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), NotInRevision> {
        encoder.raw(self.as_ref());
        Ok(())
    }
}

impl Wire for RawJson {
    const SHAPE: &'static Shape = &Shape::Any;
}

impl Encode for RawJsonRef<'_> {
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), NotInRevision> {
        encoder.raw(*self);
        Ok(())
    }
}

impl Decode for JsonObject {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Self::read(reader)
    }
}

impl Encode for JsonObject {
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), NotInRevision> {
        encoder.raw(self.as_ref());
        Ok(())
    }
}

impl Wire for JsonObject {
    const SHAPE: &'static Shape = &Shape::Object;
}

impl<T: Decode> Decode for Vec<T> {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut elements = Self::new();
        reader.array(|reader| {
            elements.push(T::decode(reader)?);
            Ok(())
        })?;
        Ok(elements)
    }
}

impl<T: Encode> Encode for Vec<T> {
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), NotInRevision> {
        encoder.array(self)
    }
}

impl<T: Wire> Wire for Vec<T> {
    const SHAPE: &'static Shape = &Shape::Array(T::SHAPE);
}
