//! Converts a text to a value of a schema.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::arguments::Item;
use crate::schema::{Kind, Schema};
use crate::signature::type_of;
use crate::suggestion::did_you_mean;

/// Why a text does not match a schema.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    /// The expected value.
    pub(super) expected: String,
    /// A suggestion for the value.
    pub(super) question: Option<String>,
    /// `true` if the text looks like a broken array, as one whose quotes were removed by a shell.
    pub(super) is_unquoted: bool,
}

/// Converts `text`. Where a schema allows several types, the most specific one that matches is
/// chosen; a string is the least specific.
pub(super) fn coerce(text: &str, schema: Schema<'_>) -> Result<Item, Mismatch> {
    let list = list_of(schema);
    let is_unquoted = list.is_some() && is_broken_list(text);
    let mismatch = match coerce_item(text, schema) {
        Ok(Item::Text(_)) if is_unquoted => return Err(unquoted()),
        Ok(item) => return Ok(item),
        Err(mismatch) => mismatch,
    };
    // One element stands for an array of it. Elements of that are not tried: arrays that contain
    // themselves have no end.
    match list.and_then(|list| coerce_item(text, list.items()).ok()) {
        Some(Item::Text(_)) if is_unquoted => Err(unquoted()),
        Some(item) => Ok(Item::List(vec![item])),
        None => Err(mismatch),
    }
}

/// Converts an element of an array, which does not stand for an array itself.
pub(super) fn coerce_item(text: &str, schema: Schema<'_>) -> Result<Item, Mismatch> {
    let kinds = schema.kinds();
    // A file ends with a newline, which is not part of a number.
    let trimmed = text.trim();
    let exact = kinds.iter().find_map(|kind| match kind {
        Kind::OneOf(values) => one_of(text, trimmed, values),
        Kind::Null if trimmed == "null" => raw(trimmed),
        Kind::Boolean if matches!(trimmed, "true" | "false") => raw(trimmed),
        Kind::Integer if is_integer(trimmed) => raw(trimmed),
        Kind::Number if is_number(trimmed) => raw(trimmed),
        Kind::List(_) if trimmed.starts_with('[') => raw(trimmed),
        Kind::Object(_) if trimmed.starts_with('{') => raw(trimmed),
        _ => None,
    });
    if let Some(item) = exact {
        return Ok(item);
    }
    let is_text = |kind: &Kind<'_>| matches!(kind, Kind::Text | Kind::Any);
    if kinds.iter().any(is_text) {
        return Ok(Item::Text(text.to_owned()));
    }
    // A string is not allowed, so the text can't stand for anything else.
    let loose = kinds.iter().find_map(|kind| match kind {
        Kind::Boolean => boolean(trimmed),
        Kind::Integer => integral(trimmed),
        _ => None,
    });
    if let Some(item) = loose {
        return Ok(item);
    }
    Err(Mismatch {
        expected: expected(trimmed, schema, &kinds),
        question: question(trimmed, &kinds),
        is_unquoted: false,
    })
}

/// Returns `true` if a text begins as an array and is not valid JSON.
fn is_broken_list(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('[') && raw(text).is_none()
}

/// Returns the error for a text that is allowed but hardly intended.
fn unquoted() -> Mismatch {
    Mismatch {
        expected: "a JSON array".to_owned(),
        question: None,
        is_unquoted: true,
    }
}

/// Returns the array schema, if the schema allows an array.
pub(super) fn list_of(schema: Schema<'_>) -> Option<Schema<'_>> {
    schema.kinds().into_iter().find_map(|kind| match kind {
        Kind::List(list) => Some(list),
        _ => None,
    })
}

/// Returns the object schema, if the schema allows an object.
pub(super) fn object_of(schema: Schema<'_>) -> Option<Schema<'_>> {
    schema.kinds().into_iter().find_map(|kind| match kind {
        Kind::Object(object) => Some(object),
        Kind::Any => Some(schema),
        _ => None,
    })
}

/// Returns `text` as JSON, if it is valid.
fn raw(text: &str) -> Option<Item> {
    RawValue::from_string(text.to_owned()).ok().map(Item::Raw)
}

fn one_of(text: &str, trimmed: &str, values: &[Value]) -> Option<Item> {
    let texts = values.iter().filter_map(Value::as_str);
    let mut texts = texts.filter(|value| *value == text || *value == trimmed);
    if let Some(value) = texts.next() {
        return Some(Item::Text(value.to_owned()));
    }
    let value: Value = serde_json::from_str(trimmed).ok()?;
    // A text in quotes is a string that contains quotes.
    let is_other = !value.is_string() && values.contains(&value);
    is_other.then(|| raw(trimmed)).flatten()
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.bytes().all(|byte| byte.is_ascii_digit()) && is_numeric(text)
}

/// Returns `true` for a number that receivers can represent: most use doubles. Longer integers are
/// exact where receivers have more.
fn is_number(text: &str) -> bool {
    is_numeric(text) && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Returns `true` for a JSON number of any size.
fn is_numeric(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    begins && raw(text).is_some()
}

fn boolean(text: &str) -> Option<Item> {
    let is = |words: [&str; 2]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    match (is(["true", "yes"]), is(["false", "no"])) {
        (true, _) => raw("true"),
        (_, true) => raw("false"),
        _ => None,
    }
}

/// Returns `1.0` or `1e3` as an integer, if it has 64 bits.
fn integral(text: &str) -> Option<Item> {
    if !is_number(text) {
        return None;
    }
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{part}");
    let digits = digits.trim_start_matches('0');
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    if digits.is_empty() {
        return raw("0");
    }
    // The number of zeros to append, or of trailing digits to drop.
    let shift = exponent.parse::<i32>().ok()?;
    let shift = shift.checked_sub(i32::try_from(part.len()).ok()?)?;
    let size = usize::try_from(shift.unsigned_abs()).ok()?;
    let digits = if shift < 0 {
        if size > zeros {
            return None;
        }
        digits[..digits.len() - size].to_owned()
    } else if size > MAX_DIGITS {
        return None;
    } else {
        format!("{digits}{}", "0".repeat(size))
    };
    let integer: i128 = format!("{sign}{digits}").parse().ok()?;
    let is_held = i64::try_from(integer).is_ok() || u64::try_from(integer).is_ok();
    is_held.then(|| raw(&integer.to_string())).flatten()
}

/// Returns `true` if a number has no fraction, as far as a double is exact.
fn is_whole(text: &str) -> bool {
    let number = text.parse::<f64>().unwrap_or(f64::NAN);
    number.is_infinite() || number.fract() == 0.0
}

fn expected(text: &str, schema: Schema<'_>, kinds: &[Kind<'_>]) -> String {
    match kinds {
        [] => "no value (the schema allows none)".to_owned(),
        [Kind::OneOf(values)] if values.len() > 1 => format!("one of {}", type_of(schema)),
        [Kind::Boolean] => "true or false".to_owned(),
        [Kind::Integer] if is_numeric(text) && is_whole(text) => "a 64-bit integer".to_owned(),
        [Kind::Integer] => "an integer".to_owned(),
        [Kind::Number] if is_numeric(text) => {
            "a number in the range of a double, up to 1.8e308".to_owned()
        }
        [Kind::Number] => "a number".to_owned(),
        [Kind::Object(_)] => "a JSON object".to_owned(),
        [Kind::List(_)] => format!("an array, {}", type_of(schema)),
        _ => type_of(schema),
    }
}

fn question(text: &str, kinds: &[Kind<'_>]) -> Option<String> {
    let values = kinds.iter().filter_map(|kind| match kind {
        Kind::OneOf(values) => Some(*values),
        _ => None,
    });
    let texts = values.flatten().filter_map(Value::as_str);
    did_you_mean(text, texts)
}

/// The number of digits of the longest 64-bit integer.
const MAX_DIGITS: usize = 20;
