//! From a text to the value that a schema wants.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::arguments::Item;
use crate::schema::{Kind, Schema};
use crate::signature::type_of;
use crate::suggestion::did_you_mean;

/// Why a text is not what a schema wants.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    /// What it wants.
    pub(super) expected: String,
    /// What was perhaps meant, and how that is written.
    pub(super) question: Option<String>,
    /// Whether it begins as an array and is none, as one whose quotes a shell has taken.
    pub(super) is_unquoted: bool,
}

/// The value that `text` stands for. Where a schema allows several kinds, the most special
/// one that fits is meant, and a text is the least special.
pub(super) fn coerce(text: &str, schema: Schema<'_>) -> Result<Item, Mismatch> {
    let list = list_of(schema);
    let is_unquoted = list.is_some() && is_broken_list(text);
    let mismatch = match coerce_item(text, schema) {
        Ok(Item::Text(_)) if is_unquoted => return Err(unquoted()),
        Ok(item) => return Ok(item),
        Err(mismatch) => mismatch,
    };
    // One element stands for an array of it; an element of that is not tried, since arrays of
    // themselves have no end.
    match list.and_then(|list| coerce_item(text, list.items()).ok()) {
        Some(Item::Text(_)) if is_unquoted => Err(unquoted()),
        Some(item) => Ok(Item::List(vec![item])),
        None => Err(mismatch),
    }
}

/// The same for an element of an array: it does not stand for an array itself.
pub(super) fn coerce_item(text: &str, schema: Schema<'_>) -> Result<Item, Mismatch> {
    let kinds = schema.kinds();
    // A file ends with a newline, which is no part of a number.
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
    // No text is meant, so that there is nothing else that it could stand for.
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

/// Whether a text begins as an array and is none.
fn is_broken_list(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('[') && raw(text).is_none()
}

/// The text would do, but hardly anybody means it.
fn unquoted() -> Mismatch {
    Mismatch {
        expected: "a JSON array".to_owned(),
        question: None,
        is_unquoted: true,
    }
}

/// The array that a schema allows, if it allows one.
pub(super) fn list_of(schema: Schema<'_>) -> Option<Schema<'_>> {
    schema.kinds().into_iter().find_map(|kind| match kind {
        Kind::List(list) => Some(list),
        _ => None,
    })
}

/// The object that a schema allows, if it allows one.
pub(super) fn object_of(schema: Schema<'_>) -> Option<Schema<'_>> {
    schema.kinds().into_iter().find_map(|kind| match kind {
        Kind::Object(object) => Some(object),
        Kind::Any => Some(schema),
        _ => None,
    })
}

/// `text` as JSON, if it is.
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
    // A text in quotes is a text with quotes in it.
    let is_other = !value.is_string() && values.contains(&value);
    is_other.then(|| raw(trimmed)).flatten()
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.bytes().all(|byte| byte.is_ascii_digit()) && is_numeric(text)
}

/// A number that those who read it can hold: most have doubles. Longer integers are exact for
/// those who have more.
fn is_number(text: &str) -> bool {
    is_numeric(text) && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// A number of whatever size.
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

/// `1.0` or `1e3` as an integer, if it is one of 64 bits.
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
    // How many zeros follow the digits, or how many of those that they end with are too many.
    let shift = exponent.parse::<i32>().ok()?;
    let shift = shift.checked_sub(i32::try_from(part.len()).ok()?)?;
    let size = usize::try_from(shift.unsigned_abs()).ok()?;
    let digits = match shift < 0 {
        true if size > zeros => return None,
        true => digits[..digits.len() - size].to_owned(),
        false if size > MAX_DIGITS => return None,
        false => format!("{digits}{}", "0".repeat(size)),
    };
    let integer: i128 = format!("{sign}{digits}").parse().ok()?;
    let is_held = i64::try_from(integer).is_ok() || u64::try_from(integer).is_ok();
    is_held.then(|| raw(&integer.to_string())).flatten()
}

/// Whether a number has no fraction, as far as a double can tell.
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

/// Digits of the longest integer of 64 bits.
const MAX_DIGITS: usize = 20;
