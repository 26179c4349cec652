//! Finds the schemas of Rust types that decoding the type already enforces.

use schemars::Schema;
use serde_json::{Map, Value};

/// Returns `true` if decoding the type enforces its schema, so that a check is not needed.
/// `schema` is the schema of the type that is decoded, with the formats of its numbers.
///
/// Constraints that may have been added by hand count as not enforced, so a type with a choice
/// (`enum`, `oneOf`) is checked even though its decoding is equally strict. So is a struct inside
/// another: it can also be decoded from an array of its members, where its schema requires an
/// object. The outermost struct isn't, since arguments are an object before they are decoded.
///
/// A schema of a type other than the decoded one can't be recognized: `#[schemars(required)]` on
/// an `Option`, which may still be absent, or `#[schemars(with = "…")]`. With these attributes
/// only decoding is checked.
pub(crate) fn is_enforced_by_decoding(schema: &Schema) -> bool {
    schema.as_value().as_object().is_none_or(are_enforced)
}

/// Returns `true` if decoding enforces a nested schema.
fn is_enforced(schema: &Value) -> bool {
    schema
        .as_object()
        .is_none_or(|members| !may_be_struct(members) && are_enforced(members))
}

/// Returns `true` if the schema may be that of a struct. A map has members of any name, and can be
/// decoded from an object only.
fn may_be_struct(members: &Map<String, Value>) -> bool {
    let is_object = match members.get("type") {
        Some(Value::Array(types)) => types.iter().any(|name| name == "object"),
        Some(one) => one == "object",
        None => false,
    };
    let is_map = members.contains_key("additionalProperties");
    members.contains_key("properties") || is_object && !is_map
}

fn are_enforced(members: &Map<String, Value>) -> bool {
    members.iter().all(|(key, value)| match key.as_str() {
        // The type itself, and annotations.
        "type" | "required" | "$schema" | "$id" | "format" | "title" | "description"
        | "default" | "examples" | "deprecated" | "readOnly" | "writeOnly" | "$comment" => true,
        // The schema itself is that of a struct.
        "$ref" => value != "#",
        "properties" | "$defs" | "definitions" => {
            let mut schemas = value.as_object().into_iter().flatten();
            schemas.all(|(_, schema)| is_enforced(schema))
        }
        "items" => is_enforced(value),
        "additionalProperties" => value != &Value::Bool(false) && is_enforced(value),
        "anyOf" => is_option(value),
        "minimum" => is_bound_of_format(members.get("format"), value, false),
        "maximum" => is_bound_of_format(members.get("format"), value, true),
        _ => false,
    })
}

/// Returns `true` for the schema of an `Option<T>` whose `T` is a reference.
fn is_option(branches: &Value) -> bool {
    match branches.as_array().map(Vec::as_slice) {
        Some([some, none]) => {
            let null = none.as_object();
            null.is_some_and(|members| {
                members.len() == 1 && members.get("type").is_some_and(|name| name == "null")
            }) && is_enforced(some)
        }
        _ => false,
    }
}

/// Returns `true` if a bound is the natural bound of the number's format.
fn is_bound_of_format(format: Option<&Value>, bound: &Value, is_upper: bool) -> bool {
    let (least, most): (i64, Option<i64>) = match format.and_then(Value::as_str) {
        Some("uint8") => (0, Some(u8::MAX.into())),
        Some("uint16") => (0, Some(u16::MAX.into())),
        Some("uint32") => (0, Some(u32::MAX.into())),
        Some("uint" | "uint64" | "uint128") => (0, None),
        Some("int8") => (i8::MIN.into(), Some(i8::MAX.into())),
        Some("int16") => (i16::MIN.into(), Some(i16::MAX.into())),
        Some("int32") => (i32::MIN.into(), Some(i32::MAX.into())),
        _ => return false,
    };
    let expected = if is_upper { most } else { Some(least) };
    bound.as_i64().is_some() && bound.as_i64() == expected
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use schemars::{JsonSchema, schema_for};
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    struct Plain {
        small: u8,
        signed: i16,
        large: Option<u64>,
        #[serde(default)]
        part: f32,
        /// Described.
        texts: Vec<String>,
        by_name: HashMap<String, bool>,
        any: serde_json::Value,
        any_by_name: HashMap<String, serde_json::Value>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    struct Recursive {
        more: Vec<Self>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    struct Point {
        x: i64,
        y: i64,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    struct Nothing {}

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    struct Within<T> {
        inner: T,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    #[schemars(inline)]
    struct Inlined {
        x: i64,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    struct Ranged {
        #[schemars(range(min = 1))]
        count: u8,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    struct Deep {
        list: Vec<Option<Ranged>>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only its schema is used")]
    struct Strict {
        count: u8,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    struct Chosen {
        kind: Kind,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    enum Kind {
        One,
        Two,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    struct Short {
        #[schemars(length(max = 3))]
        text: String,
    }

    // proves: SV-5
    #[test]
    fn constraints_of_the_type_need_no_check_and_added_ones_do() {
        for schema in [
            schema_for!(Plain),
            schema_for!(serde_json::Value),
            schema_for!(HashMap<String, Vec<i64>>),
            schema_for!(Point),
            schema_for!(Within<Option<HashMap<String, u8>>>),
        ] {
            assert!(is_enforced_by_decoding(&schema), "{}", schema.as_value());
        }
        for schema in [
            schema_for!(Ranged),
            schema_for!(Deep),
            schema_for!(Strict),
            schema_for!(Chosen),
            schema_for!(Short),
            schema_for!(std::collections::HashSet<u8>),
            schema_for!([u8; 3]),
            schema_for!(Recursive),
            schema_for!(Within<Point>),
            schema_for!(Within<Option<Point>>),
            schema_for!(Within<HashMap<String, Point>>),
            schema_for!(Within<Nothing>),
            schema_for!(Vec<Point>),
            schema_for!(Within<Option<Inlined>>),
        ] {
            assert!(!is_enforced_by_decoding(&schema), "{}", schema.as_value());
        }
    }
}
