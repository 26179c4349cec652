//! The JSON Schemas of a tool, kept as text so that no keyword is lost.

use std::fmt;

use crate::json::{DecodeError, Encoder, JsonObject, NotInRevision, RawJsonRef, Reader};
use crate::revision::{Revision, Revisions};
use crate::wire::{Decode, Encode, Member, Shape, Struct, Wire};

/// The JSON Schema of a tool's arguments: an object whose root has `"type": "object"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputSchema(JsonObject);

impl InputSchema {
    /// Creates a schema that accepts any arguments.
    pub fn empty() -> Self {
        Self(
            [("type", serde_json::json!("object"))]
                .into_iter()
                .collect(),
        )
    }

    /// Creates a schema that accepts no arguments.
    pub fn no_arguments() -> Self {
        let mut schema = Self::empty();
        schema
            .0
            .insert("additionalProperties", serde_json::json!(false));
        schema
    }

    /// Parses a schema from JSON text.
    pub fn parse(text: &str) -> Result<Self, InvalidInputSchema> {
        JsonObject::parse(text)
            .map_err(InvalidInputSchema::Malformed)?
            .try_into()
    }
}

/// Fails if the root isn't `"type": "object"`: no revision allows such tools.
impl TryFrom<JsonObject> for InputSchema {
    type Error = InvalidInputSchema;

    fn try_from(schema: JsonObject) -> Result<Self, InvalidInputSchema> {
        if is_object_schema(&schema) {
            Ok(Self(schema))
        } else {
            Err(InvalidInputSchema::NotOfTypeObject)
        }
    }
}

/// Fails if the value isn't an object, or its root isn't `"type": "object"`.
impl TryFrom<serde_json::Value> for InputSchema {
    type Error = InvalidInputSchema;

    fn try_from(schema: serde_json::Value) -> Result<Self, InvalidInputSchema> {
        Self::parse(&schema.to_string())
    }
}

/// Why a value isn't a valid schema of a tool's arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidInputSchema {
    /// The value isn't a JSON object.
    Malformed(DecodeError),
    /// The root lacks `"type": "object"`.
    NotOfTypeObject,
}

impl fmt::Display for InvalidInputSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(_) => {
                f.write_str("the schema of a tool's arguments is not a JSON object")
            }
            Self::NotOfTypeObject => f.write_str(
                "the schema of a tool's arguments must have \"type\": \"object\" at its root",
            ),
        }
    }
}

impl std::error::Error for InvalidInputSchema {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Malformed(error) => Some(error),
            Self::NotOfTypeObject => None,
        }
    }
}

/// The JSON Schema of a tool's structured result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputSchema(JsonObject);

impl OutputSchema {
    /// Returns `true` if `revision` allows the schema: results that aren't objects exist since
    /// 2026-07-28 only.
    pub fn is_known_in(&self, revision: Revision) -> bool {
        revision >= Revision::V2026_07_28 || is_object_schema(&self.0)
    }
}

impl From<JsonObject> for OutputSchema {
    fn from(schema: JsonObject) -> Self {
        Self(schema)
    }
}

impl From<InputSchema> for OutputSchema {
    fn from(schema: InputSchema) -> Self {
        Self(schema.0)
    }
}

macro_rules! schema_type {
    ($name:ident, type required in $type_required:expr) => {
        impl $name {
            /// Returns the schema as a JSON object.
            pub fn as_object(&self) -> &JsonObject {
                &self.0
            }
        }

        // A peer's schema is not validated: one invalid tool must not hide the others.
        impl Decode for $name {
            fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                if reader.null()? {
                    return Ok(Self(JsonObject::new()));
                }
                JsonObject::decode(reader).map(Self)
            }
        }

        impl Encode for $name {
            fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), NotInRevision> {
                self.0.encode(encoder)
            }
        }

        impl Wire for $name {
            const SHAPE: &'static Shape = &Shape::Struct(&Struct::new(
                stringify!($name),
                Revisions::ALL,
                &[
                    Member::new(
                        "type",
                        &Shape::Literal("object"),
                        $type_required,
                        Revisions::ALL,
                    ),
                    Member::new("$schema", &Shape::String, Revisions::ALL, Revisions::NONE),
                    Member::new(
                        "properties",
                        &Shape::Map(&Shape::Object),
                        Revisions::until(Revision::V2025_11_25),
                        Revisions::NONE,
                    ),
                    Member::new(
                        "required",
                        &Shape::Array(&Shape::String),
                        Revisions::until(Revision::V2025_11_25),
                        Revisions::NONE,
                    ),
                ],
                true,
            ));
        }

        crate::wire::serde_through_json!($name);
    };
}

schema_type!(InputSchema, type required in Revisions::ALL);
schema_type!(OutputSchema, type required in Revisions::until(Revision::V2025_11_25));

fn is_object_schema(schema: &JsonObject) -> bool {
    schema.get("type").map(RawJsonRef::as_str) == Some("\"object\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Tool;

    #[test]
    fn schemas_of_arguments_describe_objects() {
        let error = InputSchema::parse(r#"{"type":"array"}"#).unwrap_err();
        assert_eq!(error, InvalidInputSchema::NotOfTypeObject);
        let error = InputSchema::parse("true").unwrap_err();
        assert!(matches!(error, InvalidInputSchema::Malformed(_)));
        assert!(std::error::Error::source(&error).is_some());
        let none = InputSchema::no_arguments();
        assert_eq!(
            none.as_object().as_str(),
            r#"{"type":"object","additionalProperties":false}"#
        );
    }

    #[test]
    fn output_schemas_of_other_types_are_written_for_2026_only() {
        let list = JsonObject::parse(r#"{"type":"array","items":{}}"#).unwrap();
        let tool = Tool::new("a", InputSchema::empty()).output_schema(list);
        let has_schema = |revision| {
            tool.to_json(revision)
                .unwrap()
                .as_str()
                .contains("outputSchema")
        };
        assert!(!has_schema(Revision::V2025_11_25));
        assert!(has_schema(Revision::V2026_07_28));
    }
}
