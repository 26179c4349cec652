//! Validation of the content of a form against its schema.
//!
//! Both sides should validate (client/elicitation, since 2025-06-18): the client before it
//! responds, the server before it uses the content.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::{
    ElicitValue, EnumOption, FormSchema, NumberSchema, NumberType, PrimitiveSchema, StringFormat,
    StringSchema,
};
use crate::json::shortened;
use crate::wire::Map;

/// Why the content of a form is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormError {
    field: String,
    reason: String,
}

impl FormError {
    /// Returns the name of the field.
    pub fn field(&self) -> &str {
        &self.field
    }

    /// Returns what is wrong, as a phrase that follows the name of the field.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the field `{}` {}", shortened(&self.field), self.reason)
    }
}

impl std::error::Error for FormError {}

impl FormSchema {
    /// Validates `content`, and returns it with the defaults of omitted fields added.
    ///
    /// ```
    /// use bowline_types::elicitation::{FormSchema, PrimitiveSchema, StringSchema};
    /// use bowline_types::wire::Map;
    ///
    /// let colour = PrimitiveSchema::from(StringSchema::new().default("red"));
    /// let form = FormSchema::new([("colour", colour), ("age", PrimitiveSchema::integer())])
    ///     .required(["age".to_owned()]);
    /// let filled = form.fill(Map::from([("age", 36)]))?;
    /// assert_eq!(filled.len(), 2);
    /// let error = form.fill(Map::default()).unwrap_err();
    /// assert_eq!(error.to_string(), "the field `age` is missing");
    /// # Ok::<(), bowline_types::elicitation::FormError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a required field is missing, or a value doesn't match the schema of its field.
    pub fn fill(&self, mut content: Map<ElicitValue>) -> Result<Map<ElicitValue>, FormError> {
        let wrong = |field: &str, reason: &str| FormError {
            field: field.to_owned(),
            reason: reason.to_owned(),
        };
        // The peer decides how many fields there are, so the work stays linear.
        let fields: HashMap<_, _> = self.properties.iter().collect();
        for (name, value) in content.iter() {
            // The schema allows additional fields.
            if let Some(field) = fields.get(name) {
                field.check(value).map_err(|reason| wrong(name, &reason))?;
            }
        }
        let mut filled: HashSet<_> = content.iter().map(|(name, _)| name).collect();
        let unfilled = self.properties.iter();
        let unfilled = unfilled.filter(|(name, _)| !filled.contains(name));
        let defaults: Vec<_> = unfilled
            .filter_map(|(name, field)| Some((name, field.default_value()?)))
            .collect();
        filled.extend(defaults.iter().map(|(name, _)| *name));
        let mut required = self.required.iter().flatten();
        if let Some(missing) = required.find(|name| !filled.contains(name.as_str())) {
            return Err(wrong(missing, "is missing"));
        }
        content.append(defaults);
        Ok(content)
    }
}

impl PrimitiveSchema {
    /// Returns the default of the field.
    pub fn default_value(&self) -> Option<ElicitValue> {
        match self {
            Self::String(field) => field.default.clone().map(ElicitValue::String),
            Self::Number(field) => field.default.map(ElicitValue::Number),
            Self::Boolean(field) => field.default.map(ElicitValue::Boolean),
            Self::UntitledSingleSelect(field) => field.default.clone().map(ElicitValue::String),
            Self::TitledSingleSelect(field) => field.default.clone().map(ElicitValue::String),
            Self::LegacyTitledEnum(field) => field.default.clone().map(ElicitValue::String),
            Self::UntitledMultiSelect(field) => field.default.clone().map(ElicitValue::Strings),
            Self::TitledMultiSelect(field) => field.default.clone().map(ElicitValue::Strings),
            Self::Other(_) => None,
        }
    }

    /// Returns the choices of the field, each with its title, or `None` for other kinds of fields.
    pub fn choices(&self) -> Option<Vec<(&str, &str)>> {
        match self {
            Self::UntitledSingleSelect(field) => Some(untitled(&field.values)),
            Self::UntitledMultiSelect(field) => Some(untitled(&field.items.values)),
            Self::TitledSingleSelect(field) => Some(titled(&field.options)),
            Self::TitledMultiSelect(field) => Some(titled(&field.items.options)),
            Self::LegacyTitledEnum(field) => {
                let names = field.value_names.iter().flatten().map(String::as_str);
                let names = names.map(Some).chain(std::iter::repeat(None));
                let values = field.values.iter().map(String::as_str);
                let pairs = values.zip(names);
                Some(
                    pairs
                        .map(|(value, name)| (value, name.unwrap_or(value)))
                        .collect(),
                )
            }
            Self::String(_) | Self::Number(_) | Self::Boolean(_) | Self::Other(_) => None,
        }
    }

    /// Validates a value. Every value is valid for a field of an unknown kind.
    ///
    /// # Errors
    ///
    /// Returns what is wrong, as a phrase that follows the name of the field.
    pub fn check(&self, value: &ElicitValue) -> Result<(), String> {
        match (self, value) {
            (Self::Other(_), _) => Ok(()),
            (Self::String(field), ElicitValue::String(text)) => check_text(field, text),
            (Self::Number(field), ElicitValue::Number(number)) => {
                check_number(field, number.as_f64())
            }
            (Self::Boolean(_), ElicitValue::Boolean(_)) => Ok(()),
            (
                Self::UntitledSingleSelect(_)
                | Self::TitledSingleSelect(_)
                | Self::LegacyTitledEnum(_),
                ElicitValue::String(text),
            ) => self.check_choices(std::iter::once(text.as_str())),
            (Self::UntitledMultiSelect(field), ElicitValue::Strings(texts)) => {
                check_count(texts.len(), field.min_items, field.max_items)?;
                self.check_choices(texts.iter().map(String::as_str))
            }
            (Self::TitledMultiSelect(field), ElicitValue::Strings(texts)) => {
                check_count(texts.len(), field.min_items, field.max_items)?;
                self.check_choices(texts.iter().map(String::as_str))
            }
            _ => Err(format!("must be {}", self.kind())),
        }
    }

    fn check_choices<'t>(&self, mut texts: impl Iterator<Item = &'t str>) -> Result<(), String> {
        let choices = self.choices().unwrap_or_default();
        let values: HashSet<_> = choices.iter().map(|(value, _)| *value).collect();
        if texts.all(|text| values.contains(text)) {
            return Ok(());
        }
        let values: Vec<_> = choices.iter().map(|(value, _)| *value).collect();
        Err(format!("must be one of: {}", shortened(&values.join(", "))))
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::String(_) => "a string",
            Self::Number(field) => number_kind(field),
            Self::Boolean(_) => "true or false",
            Self::UntitledSingleSelect(_)
            | Self::TitledSingleSelect(_)
            | Self::LegacyTitledEnum(_) => "one of the choices",
            Self::UntitledMultiSelect(_) | Self::TitledMultiSelect(_) => "a list of choices",
            Self::Other(_) => "a value",
        }
    }
}

fn untitled(values: &[String]) -> Vec<(&str, &str)> {
    values.iter().map(|value| (&**value, &**value)).collect()
}

fn titled(options: &[EnumOption]) -> Vec<(&str, &str)> {
    let pairs = options.iter();
    pairs
        .map(|option| (&*option.value, &*option.title))
        .collect()
}

fn number_kind(field: &NumberSchema) -> &'static str {
    match field.number_type {
        NumberType::Integer => "an integer",
        NumberType::Number | NumberType::Other(_) => "a number",
    }
}

fn check_number(field: &NumberSchema, number: f64) -> Result<(), String> {
    if field.number_type == NumberType::Integer && number.fract() != 0.0 {
        return Err("must be an integer".to_owned());
    }
    if let Some(least) = field
        .minimum
        .as_ref()
        .filter(|minimum| number < minimum.as_f64())
    {
        return Err(format!("must be at least {least}"));
    }
    match field
        .maximum
        .as_ref()
        .filter(|maximum| number > maximum.as_f64())
    {
        Some(most) => Err(format!("must be at most {most}")),
        None => Ok(()),
    }
}

fn check_text(field: &StringSchema, text: &str) -> Result<(), String> {
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    if let Some(least) = field.min_length.filter(|least| length < *least) {
        return Err(format!("must have at least {least} characters"));
    }
    if let Some(most) = field.max_length.filter(|most| length > *most) {
        return Err(format!("must have at most {most} characters"));
    }
    let (is_valid, kind) = match &field.format {
        Some(StringFormat::Email) => (is_email(text), "an e-mail address"),
        Some(StringFormat::Uri) => (is_uri(text), "a URI"),
        Some(StringFormat::Date) => (is_date(text), "a date such as 2026-07-28"),
        Some(StringFormat::DateTime) => (
            is_date_time(text),
            "a date and time such as 2026-07-28T12:00:00Z",
        ),
        None | Some(StringFormat::Other(_)) => (true, ""),
    };
    if is_valid {
        Ok(())
    } else {
        Err(format!("must be {kind}"))
    }
}

fn check_count(count: usize, least: Option<i64>, most: Option<i64>) -> Result<(), String> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    if let Some(least) = least.filter(|least| count < *least) {
        return Err(format!("must have at least {least} choices"));
    }
    match most.filter(|most| count > *most) {
        Some(most) => Err(format!("must have at most {most} choices")),
        None => Ok(()),
    }
}

/// Returns `true` if there is text on both sides of the last `@`. Only the mail host can validate
/// the rest.
fn is_email(text: &str) -> bool {
    let is_plain = !text.contains(char::is_whitespace);
    let sides = text.rsplit_once('@');
    is_plain && sides.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
}

/// Returns `true` for a scheme, a colon and at least one character (RFC 3986, section 3.1).
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || "+-.".contains(character));
    is_scheme
        && !rest.is_empty()
        && !text.contains(|character: char| character.is_whitespace() || character.is_control())
}

/// Returns `true` for a date such as `2026-07-28` (RFC 3339, full-date).
fn is_date(text: &str) -> bool {
    let parts: Vec<_> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else {
        return false;
    };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2))
    else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// Returns `true` for a date and time such as `2026-07-28T12:00:00Z` (RFC 3339, date-time).
fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else {
        return false;
    };
    let zone = time.find(['Z', 'z', '+', '-']);
    let Some((time, zone)) = zone.and_then(|at| time.split_at_checked(at)) else {
        return false;
    };
    let is_zone = match zone.strip_prefix(['+', '-']) {
        Some(offset) => is_time(offset, &[24, 60]),
        None => zone.eq_ignore_ascii_case("z"),
    };
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    // A second of 60 is a leap second.
    is_date(date) && is_time(time, &[24, 60, 61]) && is_fraction && is_zone
}

/// Parts of two digits each, separated by colons and each below its limit.
fn is_time(text: &str, limits: &[u32]) -> bool {
    let parts: Vec<_> = text.split(':').collect();
    let is_below =
        |(part, limit): (&&str, &u32)| digits(part, 2).is_some_and(|number| number < *limit);
    parts.len() == limits.len() && parts.iter().zip(limits).all(is_below)
}

fn digits(text: &str, count: usize) -> Option<u32> {
    let is_number = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Wire;

    fn field(json: &str) -> PrimitiveSchema {
        PrimitiveSchema::from_json(json).expect("a field")
    }

    fn value(json: &str) -> ElicitValue {
        ElicitValue::from_json(json).expect("a value")
    }

    #[test]
    fn a_value_that_does_not_match_its_field_is_reported_with_the_reason() {
        for (schema, good, bad, reason) in [
            (r#"{"type":"string"}"#, r#""a""#, "1", "must be a string"),
            (
                r#"{"type":"string","minLength":2}"#,
                r#""åå""#,
                r#""å""#,
                "must have at least 2 characters",
            ),
            (
                r#"{"type":"string","maxLength":2}"#,
                r#""åå""#,
                r#""ååå""#,
                "must have at most 2 characters",
            ),
            (
                r#"{"type":"string","format":"email"}"#,
                r#""a@b""#,
                r#""a@""#,
                "must be an e-mail address",
            ),
            (
                r#"{"type":"string","format":"uri"}"#,
                r#""a:b""#,
                r#""/b""#,
                "must be a URI",
            ),
            (
                r#"{"type":"string","format":"date"}"#,
                r#""2024-02-29""#,
                r#""2026-02-29""#,
                "must be a date such as 2026-07-28",
            ),
            (
                r#"{"type":"string","format":"date-time"}"#,
                r#""2026-07-28T23:59:60.5+02:00""#,
                r#""2026-07-28T24:00:00Z""#,
                "must be a date and time such as 2026-07-28T12:00:00Z",
            ),
            (r#"{"type":"integer"}"#, "2", "2.5", "must be an integer"),
            (
                r#"{"type":"number","minimum":1}"#,
                "1",
                "0.5",
                "must be at least 1",
            ),
            (
                r#"{"type":"number","maximum":1}"#,
                "1",
                "1.5",
                "must be at most 1",
            ),
            (
                r#"{"type":"boolean"}"#,
                "true",
                r#""yes""#,
                "must be true or false",
            ),
            (
                r#"{"type":"string","enum":["a","b"]}"#,
                r#""b""#,
                r#""c""#,
                "must be one of: a, b",
            ),
            (
                r#"{"type":"string","oneOf":[{"const":"a","title":"A"}]}"#,
                r#""a""#,
                r#""A""#,
                "must be one of: a",
            ),
            (
                r#"{"type":"string","enum":["a"],"enumNames":["A"]}"#,
                r#""a""#,
                "[]",
                "must be one of the choices",
            ),
            (
                r#"{"type":"array","items":{"type":"string","enum":["a"]},"minItems":1}"#,
                r#"["a"]"#,
                "[]",
                "must have at least 1 choices",
            ),
            (
                r#"{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]},"maxItems":1}"#,
                r#"["a"]"#,
                r#"["a","a"]"#,
                "must have at most 1 choices",
            ),
            (
                r#"{"type":"array","items":{"type":"string","enum":["a"]}}"#,
                r#"["a"]"#,
                r#""a""#,
                "must be a list of choices",
            ),
        ] {
            assert_eq!(field(schema).check(&value(good)), Ok(()), "{good}");
            let error = field(schema).check(&value(bad)).expect_err(bad);
            assert_eq!(error, reason);
        }
        // A field of an unknown kind accepts every value.
        assert_eq!(field(r#"{"type":"matrix"}"#).check(&value("1")), Ok(()));
    }

    #[test]
    fn omitted_fields_get_their_default_or_are_reported() {
        let form = r#"{"type":"object","required":["a"],"properties":{
            "a":{"type":"string"},"b":{"type":"integer","default":3},
            "c":{"type":"array","items":{"type":"string","enum":["x"]},"default":["x"]}}}"#;
        let form = FormSchema::from_json(form).expect("a form");
        let filled = form.fill(Map::from([("a", "yes")])).expect("valid content");
        assert_eq!(filled.get("b"), Some(&value("3")));
        assert_eq!(filled.get("c"), Some(&value(r#"["x"]"#)));
        let error = form.fill(Map::from([("d", "no")]));
        let error = error.expect_err("one is missing");
        assert_eq!(error.to_string(), "the field `a` is missing");
        assert_eq!((error.field(), error.reason()), ("a", "is missing"));
    }

    // Takes too long if the time is quadratic in the number of fields.
    #[test]
    fn a_form_of_many_fields_is_filled_in_linear_time() {
        let number = NumberSchema::new(NumberType::Integer).default(3);
        let names = || (0..200_000).map(|number| format!("f{number}"));
        let fields = names().map(|name| (name, PrimitiveSchema::from(number.clone())));
        let fields: Map<PrimitiveSchema> = fields.collect();
        let form = FormSchema::new(fields).required(names().collect::<Vec<_>>());
        let content: Map<ElicitValue> = names().step_by(2).map(|name| (name, 4)).collect();
        let filled = form.fill(content).expect("valid content");
        assert_eq!(filled.len(), 200_000);
        assert_eq!(filled.get("f0"), Some(&value("4")));
        assert_eq!(filled.get("f1"), Some(&value("3")));
    }

    #[test]
    fn many_choices_are_checked_in_linear_time() {
        let texts: Vec<_> = (0..200_000).map(|number| number.to_string()).collect();
        let json = serde_json::json!({"type": "array", "items": {"type": "string", "enum": texts}});
        let field = field(&json.to_string());
        let mut chosen = texts.clone();
        assert_eq!(field.check(&ElicitValue::Strings(texts)), Ok(()));
        chosen.push("another".to_owned());
        let error = field.check(&ElicitValue::Strings(chosen));
        assert!(error.is_err_and(|error| error.starts_with("must be one of: 0, 1")));
    }

    #[test]
    fn choices_have_titles() {
        let titles = |schema| {
            let field = field(schema);
            let choices = field.choices().expect("choices");
            choices
                .iter()
                .map(|(value, title)| format!("{value}={title}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(titles(r#"{"type":"string","enum":["a"]}"#), ["a=a"]);
        assert_eq!(
            titles(r#"{"type":"string","enum":["a","b"],"enumNames":["A"]}"#),
            ["a=A", "b=b"]
        );
        assert_eq!(
            titles(r#"{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}"#),
            ["a=A"]
        );
        assert_eq!(field(r#"{"type":"string"}"#).choices(), None);
    }
}
