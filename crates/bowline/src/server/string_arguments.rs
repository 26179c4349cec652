//! String arguments: those of a prompt, and the variables of a resource template.
//!
//! A handler may take a number or a boolean where a client can only send a string: then the string
//! is parsed.

use std::fmt::Display;

use serde::de::value::{Error, MapAccessDeserializer, MapDeserializer};
use serde::de::{Deserializer, Error as _, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

/// Arguments by name.
pub(super) type StringArguments<'a> = &'a [(String, String)];

/// Deserializes arguments.
pub(super) struct StringArgumentsReader<'a>(pub(super) StringArguments<'a>);

impl<'a> StringArgumentsReader<'a> {
    fn access(self) -> MapAccessDeserializer<impl serde::de::MapAccess<'a, Error = Error>> {
        let members = self.0.iter();
        let members = members.map(|(name, text)| (name.as_str(), StringValue(text)));
        MapAccessDeserializer::new(MapDeserializer::new(members))
    }
}

impl<'de> Deserializer<'de> for StringArgumentsReader<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.access().deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.access().deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// One string, which may be parsed into another type.
#[derive(Clone, Copy)]
struct StringValue<'a>(&'a str);

impl<'de> IntoDeserializer<'de, Error> for StringValue<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! parsed {
    ($($method:ident $visit:ident),* $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.0.parse() {
                Ok(value) => visitor.$visit(value),
                Err(_) => Err(Error::invalid_value(Unexpected::Str(self.0), &visitor)),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for StringValue<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self.0)
    }

    parsed!(
        deserialize_bool visit_bool,
        deserialize_i8 visit_i8,
        deserialize_i16 visit_i16,
        deserialize_i32 visit_i32,
        deserialize_i64 visit_i64,
        deserialize_i128 visit_i128,
        deserialize_u8 visit_u8,
        deserialize_u16 visit_u16,
        deserialize_u32 visit_u32,
        deserialize_u64 visit_u64,
        deserialize_u128 visit_u128,
    );

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        // As in JSON: no infinity, and no NaN.
        match self.0.parse::<f64>() {
            Ok(value) if value.is_finite() => visitor.visit_f64(value),
            Ok(_) | Err(_) => Err(Error::invalid_value(Unexpected::Str(self.0), &visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(self.0.into_deserializer())
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

/// Returns why a type can't be deserialized from strings, by its schema: a property that no string
/// can be.
pub(super) fn schema_problem(schema: &schemars::Schema, of: impl Display) -> Option<String> {
    let properties = schema.get("properties")?.as_object()?;
    properties.iter().find_map(|(name, member)| {
        let kind = member.get("type")?.as_str()?;
        matches!(kind, "array" | "object")
            .then(|| format!("{of}: argument {name} is an {kind}, but clients send strings"))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde::de::DeserializeOwned;

    use super::*;

    fn read<T: DeserializeOwned>(texts: &[(&str, &str)]) -> Result<T, String> {
        let texts: Vec<_> = texts
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect();
        T::deserialize(StringArgumentsReader(&texts)).map_err(|error| error.to_string())
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Colour {
        Red,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Metres(f32);

    #[derive(Debug, Deserialize, PartialEq)]
    struct All {
        text: String,
        count: u8,
        below: i64,
        large: u128,
        part: f64,
        is_on: bool,
        letter: char,
        colour: Colour,
        length: Option<Metres>,
        missing: Option<u8>,
        #[serde(default)]
        usual: u8,
    }

    const ALL: [(&str, &str); 9] = [
        ("text", "7"),
        ("count", "7"),
        ("below", "-7"),
        ("large", "340282366920938463463374607431768211455"),
        ("part", "1.5e3"),
        ("is_on", "true"),
        ("letter", "é"),
        ("colour", "red"),
        ("length", "2.5"),
    ];

    #[test]
    fn a_text_is_what_the_handler_takes_it_for() {
        let expected = All {
            text: "7".to_owned(),
            count: 7,
            below: -7,
            large: u128::MAX,
            part: 1500.0,
            is_on: true,
            letter: 'é',
            colour: Colour::Red,
            length: Some(Metres(2.5)),
            missing: None,
            usual: 0,
        };
        assert_eq!(read::<All>(&ALL).as_ref(), Ok(&expected));
        assert_eq!(read::<Option<All>>(&ALL), Ok(Some(expected)));
        let value = read::<serde_json::Value>(&ALL[..2]);
        assert_eq!(value, Ok(serde_json::json!({"text": "7", "count": "7"})));
        let map = read::<BTreeMap<String, u8>>(&ALL[..2]).expect("numbers");
        assert_eq!(map["text"], 7);
    }

    #[test]
    fn a_string_of_the_wrong_type_is_named_in_the_error() {
        for (name, text, message) in [
            ("count", "300", r#"string "300", expected u8"#),
            ("count", "", r#"string "", expected u8"#),
            ("below", "1.5", "expected i64"),
            ("part", "NaN", "expected f64"),
            ("part", "inf", "expected f64"),
            ("is_on", "yes", "expected a boolean"),
            ("colour", "blue", "unknown variant `blue`"),
        ] {
            let mut texts = ALL;
            for (known, value) in &mut texts {
                if *known == name {
                    *value = text;
                }
            }
            let error = read::<All>(&texts).expect_err(text);
            assert!(error.contains(message), "{name}: {error}");
        }
    }
}
