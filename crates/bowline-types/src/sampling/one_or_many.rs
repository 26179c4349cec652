//! A value or an array of such values.

use super::SamplingContent;
use crate::json::{DecodeError, Encoder, Kind, NotInRevision, Reader};
use crate::revision::{Revision, Revisions};
use crate::wire::{Decode, Encode, Shape, Wire};

/// One value or an array: both forms are valid since 2025-11-25, and kept apart.
///
/// For an older peer an array of one element is written as that element. A longer array fails with
/// [`NotInRevision`].
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a value is either an array or not")]
pub enum OneOrMany<T> {
    /// A single value, without an array around it.
    One(T),
    /// An array.
    Many(Vec<T>),
}

const MANY: Revisions = Revisions::since(Revision::V2025_11_25);

impl<T> OneOrMany<T> {
    /// Returns an iterator over the values.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        match self {
            Self::One(one) => std::slice::from_ref(one).iter(),
            Self::Many(many) => many.iter(),
        }
    }
}

impl<'a, T> IntoIterator for &'a OneOrMany<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T> From<T> for OneOrMany<T> {
    fn from(one: T) -> Self {
        Self::One(one)
    }
}

impl<T> From<Vec<T>> for OneOrMany<T> {
    fn from(many: Vec<T>) -> Self {
        Self::Many(many)
    }
}

impl From<&str> for OneOrMany<SamplingContent> {
    fn from(text: &str) -> Self {
        Self::One(SamplingContent::text(text))
    }
}

impl<T: Decode> Decode for OneOrMany<T> {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match reader.kind()? {
            Kind::Array => Vec::decode(reader).map(Self::Many),
            _ => T::decode(reader).map(Self::One),
        }
    }
}

impl<T: Encode> Encode for OneOrMany<T> {
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), NotInRevision> {
        match self {
            Self::One(one) => one.encode(encoder),
            Self::Many(many) => match many.as_slice() {
                [one] if !encoder.has_revision_in(MANY) => one.encode(encoder),
                _ => {
                    encoder.require_revision("an array of content", MANY)?;
                    many.encode(encoder)
                }
            },
        }
    }
}

impl<T: Wire> Wire for OneOrMany<T> {
    const SHAPE: &'static Shape = &Shape::OneOrMany(T::SHAPE, MANY);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Reason;

    #[test]
    fn arrays_are_for_2025_11_25_and_later() {
        let many = |count| OneOrMany::Many(vec![SamplingContent::text("x"); count]);
        let old = |content: OneOrMany<_>| content.to_json(Revision::V2025_06_18);
        assert_eq!(
            old(many(1)).unwrap().as_str(),
            r#"{"type":"text","text":"x"}"#
        );
        for count in [0, 2] {
            let error = old(many(count)).unwrap_err();
            assert!(matches!(error.reason(), Reason::NotInRevision { .. }));
            assert!(many(count).to_json(Revision::V2025_11_25).is_ok());
        }
        assert!(
            many(1)
                .to_json(Revision::V2025_11_25)
                .unwrap()
                .as_str()
                .starts_with('[')
        );
    }
}
