//! Error messages, which have the path and the expectation, but not the value.

use std::borrow::Cow;
use std::fmt::Write as _;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::paths::{Location, LocationSegment};
use serde_json::Value;

use super::CheckError;

/// The maximum length of a text that a peer chose, in bytes.
const MAX_SHOWN: usize = 200;

/// Describes why a value is invalid.
pub(super) fn describe_value_error(error: &ValidationError<'_>, whole: &Value) -> CheckError {
    let mut path = format_path(error.instance_path());
    let message = match error.kind() {
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            push_name(&mut path, name);
            "is missing".to_owned()
        }
        Kind::FalseSchema
            if error
                .schema_path()
                .as_str()
                .ends_with("/additionalProperties") =>
        {
            // Only unknown members can be there, and naming the first of them suffices.
            let name = whole.pointer(error.instance_path().as_str());
            let name = name.and_then(|value| value.as_object()?.keys().next());
            let name = name.map_or("", String::as_str);
            describe_unknown_members(std::iter::once(name))
        }
        kind => describe(kind).unwrap_or_else(|| error.masked_with("the value").to_string()),
    };
    CheckError::Invalid(if path.is_empty() {
        shortened(&message).into_owned()
    } else {
        format!("{}: {}", shortened(&path), shortened(&message))
    })
}

/// Describes why a schema is invalid.
pub(super) fn describe_schema_error(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().as_str();
    let message = error.masked_with("the value").to_string();
    match path {
        "" => format!("invalid JSON Schema: {}", shortened(&message)),
        path => format!(
            "invalid JSON Schema: {}: {}",
            shortened(path),
            shortened(&message)
        ),
    }
}

fn describe(kind: &Kind) -> Option<String> {
    Some(match kind {
        Kind::Type { kind } => format!("must be {}", describe_types(kind)),
        Kind::Minimum { limit } => format!("must be at least {limit}"),
        Kind::Maximum { limit } => format!("must be at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("must be more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("must have at least {limit} characters"),
        Kind::MaxLength { limit } => format!("must have at most {limit} characters"),
        Kind::MinItems { limit } => format!("must have at least {limit} items"),
        Kind::MaxItems { limit } => format!("must have at most {limit} items"),
        Kind::MinProperties { limit } => format!("must have at least {limit} members"),
        Kind::MaxProperties { limit } => format!("must have at most {limit} members"),
        Kind::AdditionalItems { limit } => format!("must have at most {limit} items"),
        Kind::Pattern { pattern } => format!("must match the pattern {}", shortened(pattern)),
        // Only the keywords of this module are custom.
        Kind::Custom { message, .. } => message.clone(),
        Kind::UniqueItems => "must not have duplicate items".to_owned(),
        Kind::Contains => "has no item that matches `contains`".to_owned(),
        Kind::Constant { expected_value } => format!("must be {}", format_value(expected_value)),
        Kind::Enum { options } => format!("must be one of {}", format_value(options)),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            describe_unknown_members(unexpected.iter().map(String::as_str))
        }
        Kind::UnevaluatedItems { .. } => "must not have unevaluated items".to_owned(),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            format!("matches none of {} alternatives", context.len())
        }
        Kind::OneOfMultipleValid { context } => {
            format!("matches more than one of {} alternatives", context.len())
        }
        Kind::Not { .. } => "must not match the `not` schema".to_owned(),
        Kind::FalseSchema => "is not allowed".to_owned(),
        Kind::PropertyNames { error } => match describe(error.kind()) {
            Some(message) => format!("member name {message}"),
            None => "has a member name that is not allowed".to_owned(),
        },
        _ => return None,
    })
}

fn describe_unknown_members<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names = names.take(3).map(|name| format!("{:?}", shortened(name)));
    format!("unknown member {}", names.collect::<Vec<_>>().join(", "))
}

fn describe_types(kind: &TypeKind) -> String {
    let named = |name: &str| match name {
        "array" | "integer" | "object" => format!("an {name}"),
        "null" => "null".to_owned(),
        name => format!("a {name}"),
    };
    match kind {
        TypeKind::Single(one) => named(one.as_str()),
        TypeKind::Multiple(types) => {
            let names: Vec<_> = types.iter().map(|kind| named(kind.as_str())).collect();
            names.join(" or ")
        }
    }
}

/// Formats a value of the schema.
fn format_value(value: &Value) -> String {
    let text = match value {
        Value::Array(options) => {
            let options: Vec<_> = options.iter().map(ToString::to_string).collect();
            options.join(", ")
        }
        other => other.to_string(),
    };
    shortened(&text).into_owned()
}

/// Formats a path as `a.b[0].c`.
fn format_path(location: &Location) -> String {
    let mut path = String::new();
    for segment in location.segments() {
        match segment {
            LocationSegment::Property(name) => push_name(&mut path, &name),
            // Writing to a string doesn't fail.
            LocationSegment::Index(index) => drop(write!(path, "[{index}]")),
        }
    }
    path
}

fn push_name(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

/// Removes the middle of a long text.
pub(super) fn shortened(message: &str) -> Cow<'_, str> {
    if message.len() <= MAX_SHOWN {
        return message.into();
    }
    let begin = &message[..message.floor_char_boundary(MAX_SHOWN / 2)];
    let end = &message[message.ceil_char_boundary(message.len() - MAX_SHOWN / 4)..];
    format!("{begin} … {end}").into()
}
