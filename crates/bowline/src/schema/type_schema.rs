//! Which schemas of types say no more than decoding the type does.

use schemars::Schema;
use serde_json::{Map, Value};

/// Whether decoding the type enforces what its schema says: then there is nothing to check. The
/// schema is the one of the type that is decoded, with the formats of its numbers.
///
/// What may have been added to a type by hand counts as not enforced, so that a type with a
/// choice (`enum`, `oneOf`) is checked though its decoding refuses the same. So does a struct
/// within another: it is decoded from a list of its members as well, where its schema says
/// object. The outermost is not, as arguments are an object before they are decoded.
///
/// A schema that tells another type than the one that is decoded can't be told from an honest
/// one: `#[schemars(required)]` on an `Option`, which may still be missing, or
/// `#[schemars(with = "…")]`. Whoever writes these has decoding to rely on, and nothing else.
pub(crate) fn is_enforced_by_decoding(schema: &Schema) -> bool {
    schema.as_value().as_object().is_none_or(are_enforced)
}

/// A schema within the schema.
fn is_enforced(schema: &Value) -> bool {
    schema
        .as_object()
        .is_none_or(|members| !may_be_struct(members) && are_enforced(members))
}

/// A map has members of any name, and is decoded from nothing else.
fn may_be_struct(members: &Map<String, Value>) -> bool {
    let is_object = match members.get("type") {
        Some(Value::Array(types)) => types.iter().any(|it| it == "object"),
        Some(one) => one == "object",
        None => false,
    };
    let is_map = members.contains_key("additionalProperties");
    members.contains_key("properties") || is_object && !is_map
}

fn are_enforced(members: &Map<String, Value>) -> bool {
    members.iter().all(|(key, value)| match key.as_str() {
        // What it is, as the type says, and what is only told.
        "type" | "required" | "$schema" | "$id" | "format" | "title" | "description"
        | "default" | "examples" | "deprecated" | "readOnly" | "writeOnly" | "$comment" => true,
        // The schema itself is a struct.
        "$ref" => value != "#",
        "properties" | "$defs" | "definitions" => {
            let mut schemas = value.as_object().into_iter().flatten();
            schemas.all(|(_, schema)| is_enforced(schema))
        }
        "items" => is_enforced(value),
        "additionalProperties" => value != &Value::Bool(false) && is_enforced(value),
        "anyOf" => is_option(value),
        "minimum" => is_natural(members.get("format"), value, false),
        "maximum" => is_natural(members.get("format"), value, true),
        _ => false,
    })
}

/// `Option<T>` of a type that is referred to.
fn is_option(branches: &Value) -> bool {
    match branches.as_array().map(Vec::as_slice) {
        Some([some, none]) => {
            let null = none.as_object();
            null.is_some_and(|it| it.len() == 1 && it.get("type").is_some_and(|it| it == "null"))
                && is_enforced(some)
        }
        _ => false,
    }
}

/// Whether a bound is the one that a number of this kind has anyway.
fn is_natural(format: Option<&Value>, bound: &Value, is_upper: bool) -> bool {
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
    #[allow(dead_code, reason = "only its schema is looked at")]
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
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Recursive {
        more: Vec<Self>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Point {
        x: i64,
        y: i64,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Nothing {}

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Within<T> {
        inner: T,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    #[schemars(inline)]
    struct Inlined {
        x: i64,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Ranged {
        #[schemars(range(min = 1))]
        count: u8,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Deep {
        list: Vec<Option<Ranged>>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Strict {
        count: u8,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Chosen {
        kind: Kind,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    enum Kind {
        One,
        Two,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Short {
        #[schemars(length(max = 3))]
        text: String,
    }

    // proves: SV-5
    #[test]
    fn what_a_type_says_needs_no_check_and_what_is_added_does() {
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
