//! What is wrong, in words that name the place and what is expected there, not what came.

use std::borrow::Cow;
use std::fmt::Write as _;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::paths::{Location, LocationSegment};
use serde_json::Value;

use super::Misfit;

/// How much is shown of something that a peer chose.
const SHOWN: usize = 200;

/// What is wrong with a value. Everything that the error says is about a part of it.
pub(super) fn of_value(error: &ValidationError<'_>, whole: &Value) -> Misfit {
    let mut place = place(error.instance_path());
    let words = match error.kind() {
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            push_name(&mut place, name);
            "is missing".to_owned()
        }
        Kind::FalseSchema
            if error
                .schema_path()
                .as_str()
                .ends_with("/additionalProperties") =>
        {
            // Nothing but unknown members can be there, and the first will do.
            let name = whole.pointer(error.instance_path().as_str());
            let name = name.and_then(|it| it.as_object()?.keys().next());
            let name = name.map_or("", String::as_str);
            unknown(std::iter::once(name))
        }
        kind => told(kind).unwrap_or_else(|| error.masked_with("it").to_string()),
    };
    Misfit::Wrong(match place.is_empty() {
        true => shortened(&words).into_owned(),
        false => format!("{}: {}", shortened(&place), shortened(&words)),
    })
}

/// What is wrong with a schema.
pub(super) fn of_schema(error: &ValidationError<'_>) -> String {
    let place = error.instance_path().as_str();
    let words = error.masked_with("it").to_string();
    match place {
        "" => format!("it is no JSON Schema: {}", shortened(&words)),
        place => format!(
            "it is no JSON Schema: at {}: {}",
            shortened(place),
            shortened(&words)
        ),
    }
}

fn told(kind: &Kind) -> Option<String> {
    Some(match kind {
        Kind::Type { kind } => format!("must be {}", types(kind)),
        Kind::Minimum { limit } => format!("must be {limit} at least"),
        Kind::Maximum { limit } => format!("must be {limit} at most"),
        Kind::ExclusiveMinimum { limit } => format!("must be more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("must have {limit} characters at least"),
        Kind::MaxLength { limit } => format!("must have {limit} characters at most"),
        Kind::MinItems { limit } => format!("must have {limit} items at least"),
        Kind::MaxItems { limit } => format!("must have {limit} items at most"),
        Kind::MinProperties { limit } => format!("must have {limit} members at least"),
        Kind::MaxProperties { limit } => format!("must have {limit} members at most"),
        Kind::AdditionalItems { limit } => format!("must have {limit} items at most"),
        Kind::Pattern { pattern } => format!("must match the pattern {}", shortened(pattern)),
        // Only of keywords of our own.
        Kind::Custom { message, .. } => message.clone(),
        Kind::UniqueItems => "must not have an item twice".to_owned(),
        Kind::Contains => "must contain an item that it doesn't".to_owned(),
        Kind::Constant { expected_value } => format!("must be {}", shown(expected_value)),
        Kind::Enum { options } => format!("must be one of {}", shown(options)),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            unknown(unexpected.iter().map(String::as_str))
        }
        Kind::UnevaluatedItems { .. } => "has more items than are known".to_owned(),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            format!("fits none of {} alternatives", context.len())
        }
        Kind::OneOfMultipleValid { context } => {
            format!("fits more than one of {} alternatives", context.len())
        }
        Kind::Not { .. } => "must not be as it is".to_owned(),
        Kind::FalseSchema => "must not be there".to_owned(),
        Kind::PropertyNames { error } => match told(error.kind()) {
            Some(words) => format!("a member's name {words}"),
            None => "has a member whose name it must not have".to_owned(),
        },
        _ => return None,
    })
}

fn unknown<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names = names.take(3).map(|it| format!("{:?}", shortened(it)));
    format!("unknown member {}", names.collect::<Vec<_>>().join(", "))
}

fn types(kind: &TypeKind) -> String {
    let named = |name: &str| match name {
        "array" | "integer" | "object" => format!("an {name}"),
        "null" => "null".to_owned(),
        name => format!("a {name}"),
    };
    match kind {
        TypeKind::Single(one) => named(one.as_str()),
        TypeKind::Multiple(types) => {
            let names: Vec<_> = types.iter().map(|it| named(it.as_str())).collect();
            names.join(" or ")
        }
    }
}

/// A value of the schema.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::Array(options) => {
            let options: Vec<_> = options.iter().map(ToString::to_string).collect();
            options.join(", ")
        }
        other => other.to_string(),
    };
    shortened(&text).into_owned()
}

/// A place as `a.b[0].c`.
fn place(location: &Location) -> String {
    let mut place = String::new();
    for segment in location.segments() {
        match segment {
            LocationSegment::Property(name) => push_name(&mut place, &name),
            // Writing to a string can't go wrong.
            LocationSegment::Index(index) => drop(write!(place, "[{index}]")),
        }
    }
    place
}

fn push_name(place: &mut String, name: &str) {
    if !place.is_empty() {
        place.push('.');
    }
    place.push_str(name);
}

/// Words without their middle, where they are long.
pub(super) fn shortened(words: &str) -> Cow<'_, str> {
    if words.len() <= SHOWN {
        return words.into();
    }
    let begin = &words[..words.floor_char_boundary(SHOWN / 2)];
    let end = &words[words.ceil_char_boundary(words.len() - SHOWN / 4)..];
    format!("{begin} … {end}").into()
}
