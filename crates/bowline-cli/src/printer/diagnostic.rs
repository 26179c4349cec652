//! Errors, warnings and notes, as text and as JSON.

use bowline_types::{ErrorObject, RawJson};
use serde::Serialize;

use super::harmless;
use crate::escape;
use crate::failure::stderr_suffix;
use crate::redact;

/// An error, a warning or a note, as `--json` writes it.
#[derive(Debug, Default, Serialize)]
pub(super) struct Diagnostic<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<&'a str>,
    /// The last lines that the server wrote to stderr.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stderr: Option<&'a str>,
    /// The code of the error of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<i64>,
    /// The data of the error of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) data: Option<&'a RawJson>,
    /// The size of the data, if it is too large to be printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) data_left_out: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) warning: Option<&'a str>,
    /// A note, which is printed as it is in text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exit_code: Option<u8>,
}

impl<'a> Diagnostic<'a> {
    /// Takes code and data from an error of a server. The other fields are left empty.
    pub(super) fn of_server(error: Option<&'a ErrorObject>) -> Self {
        let data = error.and_then(|error| error.data.as_ref());
        let fits = |data: &&RawJson| data.as_str().len() <= MAX_DATA;
        Self {
            code: error.map(|error| error.code),
            data: data.filter(fits),
            data_left_out: data
                .filter(|data| !fits(data))
                .map(|data| data.as_str().len()),
            ..Self::default()
        }
    }

    /// Formats the diagnostic, with line ends.
    pub(super) fn to_line(&self, is_json: bool) -> String {
        if is_json {
            // Strings, numbers and JSON can always be serialized.
            let json = serde_json::to_string(self).unwrap_or_default();
            let json = redact::json_without_secrets(&json);
            return format!("{}\n", escape::in_json(&json));
        }
        let error = self
            .error
            .map(|error| format!("{error}{}", self.data_text()));
        let (error, words) = match (error, self.stderr) {
            (Some(error), Some(words)) => apart(error, words),
            (error, _) => (error, Vec::new()),
        };
        let lines = [("error: ", error.as_deref())].into_iter();
        let lines = lines.chain(words.iter().map(|line| ("", Some(line.as_str()))));
        let lines = lines.chain([
            ("warning: ", self.warning),
            ("", self.note),
            ("hint: ", self.hint),
        ]);
        let lines = lines.filter_map(|(kind, text)| Some((kind, text?)));
        lines
            .map(|(kind, text)| {
                let text = redact::without_secrets(text);
                harmless(&format!("{kind}{text}"))
            })
            .collect()
    }

    /// Formats the data of the error: short data itself, otherwise a hint at `--json`.
    fn data_text(&self) -> String {
        let Some(data) = self.data.filter(|data| data.as_str() != "null") else {
            return match self.data_left_out {
                Some(bytes) => format!("; with {bytes} bytes of data"),
                None => String::new(),
            };
        };
        let text = serde_json::from_str::<String>(data.as_str());
        let text = text.unwrap_or_else(|_| data.as_str().to_owned());
        if text.chars().count() <= MAX_SHOWN {
            format!("; data: {text}")
        } else {
            format!("; `--json` has its data, {} bytes", data.as_str().len())
        }
    }
}

/// Takes the last lines of stderr out of the error message if there are several. A single line
/// stays in it.
fn apart(error: String, words: &str) -> (Option<String>, Vec<String>) {
    let on_one_line = stderr_suffix(words);
    if !words.contains('\n') || !error.contains(&on_one_line) {
        return (Some(error), Vec::new());
    }
    let error = error.replacen(&on_one_line, "", 1) + "; stderr:";
    // Redacted before splitting: a secret may span several lines.
    let words = redact::without_secrets(words);
    let lines = words.lines().map(|line| format!("  {line}"));
    (Some(error), lines.collect())
}

/// The largest data that is printed as JSON, in bytes.
const MAX_DATA: usize = 64 * 1024;

/// The longest data that is printed as text, in characters.
const MAX_SHOWN: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn written(data: impl Into<RawJson>) -> (String, String) {
        let mut error = ErrorObject::new(-7, "no");
        error.data = Some(data.into());
        let diagnostic = Diagnostic {
            error: Some("no (code -7)"),
            ..Diagnostic::of_server(Some(&error))
        };
        (diagnostic.to_line(false), diagnostic.to_line(true))
    }

    // proves: F-CL-01
    #[test]
    fn error_data_is_printed_up_to_a_limit() {
        for (data, words, json) in [
            (
                r#"{"a": [1]}"#,
                "error: no (code -7); data: {\"a\": [1]}\n",
                r#""data":{"a":[1]}"#,
            ),
            (
                r#""a\u001b\n""#,
                "error: no (code -7); data: a\\u{1b}\\n\n",
                r#""data":"a\u001b\n""#,
            ),
            ("null", "error: no (code -7)\n", r#""data":null"#),
        ] {
            let (text, object) = written(RawJson::parse(data).unwrap());
            assert_eq!(text, words);
            let expected = format!("{{\"error\":\"no (code -7)\",\"code\":-7,{json}}}\n");
            assert_eq!(object, expected);
        }
        let (text, object) = written("x".repeat(MAX_SHOWN));
        assert!(text.ends_with("xx\n") && object.contains("xx\""), "{text}");
        let (text, object) = written("x".repeat(MAX_SHOWN + 1));
        assert_eq!(
            text,
            "error: no (code -7); `--json` has its data, 203 bytes\n"
        );
        assert!(object.contains("xx\""));
        let (_, object) = written("x".repeat(MAX_DATA - 2));
        assert!(object.contains("xx\""));
        let (text, object) = written("x".repeat(MAX_DATA - 1));
        assert_eq!(text, "error: no (code -7); with 65537 bytes of data\n");
        let skipped_items = "{\"error\":\"no (code -7)\",\"code\":-7,\"data_left_out\":65537}\n";
        assert_eq!(object, skipped_items);
    }
}
