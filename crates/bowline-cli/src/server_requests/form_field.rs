//! A field of a form: its description for the user, and how their input is parsed.

use bowline_types::Wire;
use bowline_types::elicitation::{
    ElicitValue, NumberSchema, NumberType, PrimitiveSchema, StringFormat, StringSchema,
};

use crate::redact;
use crate::server_requests::prompter::cut;

/// A field of a form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a> {
    pub(super) name: &'a str,
    pub(super) schema: &'a PrimitiveSchema,
    pub(super) is_required: bool,
}

impl<'a> Field<'a> {
    /// Returns the lines that describe the field: title, kind, description, choices, and the
    /// default that an empty line takes.
    pub(super) fn description_lines(&self, default: Option<&ElicitValue>) -> Vec<String> {
        let (title, description) = self.title_and_description();
        let required = if self.is_required { ", required" } else { "" };
        let kind = kind(self.schema);
        let name = title.unwrap_or(self.name);
        let mut lines = vec![format!("{} ({kind}{required})", cut(name))];
        lines.extend(description.map(|text| format!("  {}", cut(text))));
        let choices = self.schema.choices().unwrap_or_default();
        let shown = choices.iter().take(MAX_CHOICES).enumerate();
        lines.extend(shown.map(|(index, (value, title))| {
            let number = index + 1;
            if value == title {
                format!("  {number}. {}", cut(value))
            } else {
                format!("  {number}. {} ({})", cut(title), cut(value))
            }
        }));
        if choices.len() > MAX_CHOICES {
            lines.push(format!("  … and {} more", choices.len() - MAX_CHOICES));
        }
        lines.extend(default.map(|value| format!("  default: {}", cut(&shown_value(value)))));
        // Spec, client/elicitation, all revisions that have it: forms are not for secrets.
        if redact::is_secret_name(self.name) {
            lines.push("  warning: a server must not ask for a secret in a form".to_owned());
        }
        lines
    }

    /// Returns the title and the description of the schema.
    fn title_and_description(&self) -> (Option<&'a str>, Option<&'a str>) {
        let (title, description) = match self.schema {
            PrimitiveSchema::String(schema) => (&schema.title, &schema.description),
            PrimitiveSchema::Number(schema) => (&schema.title, &schema.description),
            PrimitiveSchema::Boolean(schema) => (&schema.title, &schema.description),
            PrimitiveSchema::UntitledSingleSelect(schema) => (&schema.title, &schema.description),
            PrimitiveSchema::TitledSingleSelect(schema) => (&schema.title, &schema.description),
            PrimitiveSchema::UntitledMultiSelect(schema) => (&schema.title, &schema.description),
            PrimitiveSchema::TitledMultiSelect(schema) => (&schema.title, &schema.description),
            PrimitiveSchema::LegacyTitledEnum(schema) => (&schema.title, &schema.description),
            _ => return (None, None),
        };
        (title.as_deref(), description.as_deref())
    }

    /// Parses a text as a value of the field. The error continues a sentence that begins with the
    /// name of the field.
    pub(super) fn parse(&self, text: &str) -> Result<ElicitValue, String> {
        let value = match self.schema {
            PrimitiveSchema::Number(_) => number(text)?,
            PrimitiveSchema::Boolean(_) => boolean(text)?,
            PrimitiveSchema::UntitledSingleSelect(_)
            | PrimitiveSchema::TitledSingleSelect(_)
            | PrimitiveSchema::LegacyTitledEnum(_) => ElicitValue::String(self.choice(text)),
            PrimitiveSchema::UntitledMultiSelect(_) | PrimitiveSchema::TitledMultiSelect(_) => {
                ElicitValue::Strings(self.several(text))
            }
            PrimitiveSchema::Other(_) => match ElicitValue::from_json(text) {
                Ok(value) => value,
                Err(_) => ElicitValue::String(text.to_owned()),
            },
            _ => ElicitValue::String(text.to_owned()),
        };
        self.schema.check(&value).map(|()| value)
    }

    /// Returns the choice that matches by value, by title or by number.
    fn choice(&self, text: &str) -> String {
        let choices = self.schema.choices().unwrap_or_default();
        let by_value = choices.iter().find(|(value, _)| *value == text);
        let folded = text.to_lowercase();
        let by_title = || {
            let mut choices = choices.iter();
            choices.find(|(_, title)| title.to_lowercase() == folded)
        };
        let by_number = || choices.get(text.parse::<usize>().ok()?.checked_sub(1)?);
        let chosen = by_value.or_else(by_title).or_else(by_number);
        // The schema check refuses a text that matches none of them.
        chosen.map_or(text, |(value, _)| value).to_owned()
    }

    /// Returns several choices, separated by commas.
    fn several(&self, text: &str) -> Vec<String> {
        let choices = self.schema.choices().unwrap_or_default();
        if choices
            .iter()
            .any(|(value, title)| *value == text || *title == text)
        {
            return vec![self.choice(text)];
        }
        let parts = text.split(',').map(str::trim);
        let parts = parts.filter(|part| !part.is_empty());
        parts.map(|part| self.choice(part)).collect()
    }
}

/// Describes the kind of a field.
fn kind(schema: &PrimitiveSchema) -> String {
    match schema {
        PrimitiveSchema::String(field) => text_kind(field),
        PrimitiveSchema::Number(field) => number_kind(field),
        PrimitiveSchema::Boolean(_) => "yes or no".to_owned(),
        PrimitiveSchema::UntitledSingleSelect(_)
        | PrimitiveSchema::TitledSingleSelect(_)
        | PrimitiveSchema::LegacyTitledEnum(_) => "choose one".to_owned(),
        PrimitiveSchema::UntitledMultiSelect(field) => several(field.min_items, field.max_items),
        PrimitiveSchema::TitledMultiSelect(field) => several(field.min_items, field.max_items),
        _ => "JSON or text".to_owned(),
    }
}

fn text_kind(field: &StringSchema) -> String {
    let kind = match &field.format {
        Some(StringFormat::Email) => "e-mail address",
        Some(StringFormat::Uri) => "URI",
        Some(StringFormat::Date) => "date such as 2026-07-28",
        Some(StringFormat::DateTime) => "date and time such as 2026-07-28T12:00:00Z",
        _ => "text",
    };
    let range = range(field.min_length, field.max_length);
    match range {
        Some(range) => format!("{kind}, {range} characters"),
        None => kind.to_owned(),
    }
}

fn number_kind(field: &NumberSchema) -> String {
    let kind = match field.number_type {
        NumberType::Integer => "integer",
        _ => "number",
    };
    match range(field.minimum, field.maximum) {
        Some(range) => format!("{kind}, {range}"),
        None => kind.to_owned(),
    }
}

fn several(least: Option<i64>, most: Option<i64>) -> String {
    match range(least, most) {
        Some(range) => format!("choose {range}, with commas between them"),
        None => "choose some, with commas between them".to_owned(),
    }
}

fn range<T: std::fmt::Display>(least: Option<T>, most: Option<T>) -> Option<String> {
    match (least, most) {
        (Some(least), Some(most)) => Some(format!("{least} to {most}")),
        (Some(least), None) => Some(format!("at least {least}")),
        (None, Some(most)) => Some(format!("at most {most}")),
        (None, None) => None,
    }
}

fn number(text: &str) -> Result<ElicitValue, String> {
    match ElicitValue::from_json(text) {
        Ok(value @ ElicitValue::Number(_)) => Ok(value),
        _ => Err("must be a number".to_owned()),
    }
}

fn boolean(text: &str) -> Result<ElicitValue, String> {
    match text.to_lowercase().as_str() {
        "y" | "yes" | "true" => Ok(ElicitValue::Boolean(true)),
        "n" | "no" | "false" => Ok(ElicitValue::Boolean(false)),
        _ => Err("must be yes or no".to_owned()),
    }
}

/// Formats a value for the user.
pub(super) fn shown_value(value: &ElicitValue) -> String {
    match value {
        ElicitValue::String(text) => text.clone(),
        ElicitValue::Number(number) => number.to_string(),
        ElicitValue::Boolean(true) => "yes".to_owned(),
        ElicitValue::Boolean(false) => "no".to_owned(),
        ElicitValue::Strings(texts) => texts.join(", "),
        other => match serde_json::to_string(other) {
            Ok(json) => json,
            Err(_) => "a value".to_owned(),
        },
    }
}

/// The number of choices that are shown. The others can still be chosen by value or title.
const MAX_CHOICES: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = r#"{"type":"string","oneOf":[
        {"const":"r","title":"Red"},{"const":"2","title":"Two"},{"const":"b","title":"1"}]}"#;
    const SOME: &str = r#"{"type":"array","minItems":1,"maxItems":2,
        "items":{"type":"string","enum":["a","b","a, b"]}}"#;

    fn check(schema: &str, text: &str, expected: Result<&str, &str>) {
        let schema = PrimitiveSchema::from_json(schema).unwrap();
        let field = Field {
            name: "it",
            schema: &schema,
            is_required: false,
        };
        let read = field.parse(text);
        let read = read
            .as_ref()
            .map(|value| serde_json::to_string(value).unwrap());
        let read = read.as_ref().map(String::as_str);
        assert_eq!(read.map_err(|error| error.as_str()), expected, "{text}");
    }

    // proves: FT-8
    #[test]
    fn a_text_is_converted_by_the_field() {
        check(r#"{"type":"string"}"#, "1", Ok(r#""1""#));
        check(r#"{"type":"integer"}"#, "-7", Ok("-7"));
        check(r#"{"type":"number"}"#, "1.50", Ok("1.5"));
        check(r#"{"type":"boolean"}"#, "Yes", Ok("true"));
        check(r#"{"type":"boolean"}"#, "n", Ok("false"));
        check(r#"{"type":"string","enum":["a","b"]}"#, "2", Ok(r#""b""#));
        // The value has precedence over the title, and the title over the number.
        check(ONE, "red", Ok(r#""r""#));
        check(ONE, "2", Ok(r#""2""#));
        check(ONE, "1", Ok(r#""b""#));
        check(SOME, "1, b", Ok(r#"["a","b"]"#));
        check(SOME, "a, b", Ok(r#"["a, b"]"#));
        check(r#"{"type":"matrix"}"#, "[1,2]", Ok("[1,2]"));
        check(r#"{"type":"matrix"}"#, "one", Ok(r#""one""#));
    }

    // proves: FT-8
    #[test]
    fn a_text_that_does_not_fit_is_refused_with_the_reason() {
        check(r#"{"type":"integer"}"#, "seven", Err("must be a number"));
        check(r#"{"type":"integer"}"#, "1.5", Err("must be an integer"));
        check(r#"{"type":"number"}"#, r#""1""#, Err("must be a number"));
        check(r#"{"type":"boolean"}"#, "1", Err("must be yes or no"));
        check(ONE, "4", Err("must be one of: r, 2, b"));
        check(ONE, "0", Err("must be one of: r, 2, b"));
        check(SOME, ",", Err("must have at least 1 choices"));
        check(SOME, "a,b,1", Err("must have at most 2 choices"));
        let date = r#"{"type":"string","format":"date"}"#;
        check(date, "today", Err("must be a date such as 2026-07-28"));
    }

    fn lines(name: &str, schema: &str, is_required: bool) -> String {
        let schema = PrimitiveSchema::from_json(schema).unwrap();
        let field = Field {
            name,
            schema: &schema,
            is_required,
        };
        field
            .description_lines(schema.default_value().as_ref())
            .join("\n")
    }

    #[test]
    fn a_field_is_described() {
        for (schema, expected) in [
            (r#"{"type":"string"}"#, "it (text)"),
            (
                r#"{"type":"string","title":"T","description":"D","minLength":1,"maxLength":3}"#,
                "T (text, 1 to 3 characters)\n  D",
            ),
            (
                r#"{"type":"string","format":"email","maxLength":9}"#,
                "it (e-mail address, at most 9 characters)",
            ),
            (r#"{"type":"string","format":"uri"}"#, "it (URI)"),
            (
                r#"{"type":"string","format":"date-time"}"#,
                "it (date and time such as 2026-07-28T12:00:00Z)",
            ),
            (
                r#"{"type":"integer","minimum":1,"default":3}"#,
                "it (integer, at least 1)\n  default: 3",
            ),
            (r#"{"type":"number"}"#, "it (number)"),
            (
                r#"{"type":"boolean","default":true}"#,
                "it (yes or no)\n  default: yes",
            ),
            (
                r#"{"type":"string","oneOf":[{"const":"r","title":"Red"}],"default":"r"}"#,
                "it (choose one)\n  1. Red (r)\n  default: r",
            ),
            (
                SOME,
                "it (choose 1 to 2, with commas between them)\n  1. a\n  2. b\n  3. a, b",
            ),
            (
                r#"{"type":"array","items":{"type":"string","enum":["a"]},"default":["a"]}"#,
                "it (choose some, with commas between them)\n  1. a\n  default: a",
            ),
            (r#"{"type":"matrix"}"#, "it (JSON or text)"),
        ] {
            assert_eq!(lines("it", schema, false), expected);
        }
        assert_eq!(
            lines("it", r#"{"type":"string"}"#, true),
            "it (text, required)"
        );
    }

    // proves: F-CL-01
    #[test]
    fn text_of_a_server_is_escaped_and_cut_and_secrets_have_a_warning() {
        let schema = r#"{"type":"string","title":"\u001b[1m","description":"a\nb"}"#;
        let shown = "\\u{1b}[1m (text)\n  a\\nb";
        assert_eq!(lines("it", schema, false), shown);
        let many: Vec<_> = (0..MAX_CHOICES + 1)
            .map(|number| format!("v{number}"))
            .collect();
        let many = serde_json::json!({"type": "string", "enum": many}).to_string();
        let shown = lines("it", &many, false);
        assert!(shown.ends_with("  50. v49\n  … and 1 more"), "{shown}");
        let shown = lines("api_key", r#"{"type":"string"}"#, false);
        assert!(shown.contains("must not ask for a secret"), "{shown}");
    }
}
