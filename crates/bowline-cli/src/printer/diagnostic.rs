//! Errors, warnings and notes: in words for people, as objects for programs.

use bowline_types::{ErrorObject, RawJson};
use serde::Serialize;

use super::harmless;
use crate::escape;
use crate::failure::stderr_suffix;
use crate::redact;

/// An error, a warning or a note as a program sees it.
#[derive(Debug, Default, Serialize)]
pub(super) struct Diagnostic<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<&'a str>,
    /// The lines that the server wrote to stderr before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last_words: Option<&'a str>,
    /// The code of the server's error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<i64>,
    /// What else the server says about its error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) data: Option<&'a RawJson>,
    /// Its bytes, where they are too many to be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) data_left_out: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) warning: Option<&'a str>,
    /// A line about the work, which a person sees as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exit_code: Option<u8>,
}

impl<'a> Diagnostic<'a> {
    /// What a server said, if it is its error. The rest is to be filled in.
    pub(super) fn of_server(error: Option<&'a ErrorObject>) -> Self {
        let data = error.and_then(|error| error.data.as_ref());
        let fits = |data: &&RawJson| data.as_str().len() <= MAX_DATA;
        Self {
            code: error.map(|error| error.code),
            data: data.filter(fits),
            data_left_out: data.filter(|it| !fits(it)).map(|it| it.as_str().len()),
            ..Self::default()
        }
    }

    /// It in the words of whoever listens, with line ends.
    pub(super) fn to_line(&self, talks_json: bool) -> String {
        if talks_json {
            // A few strings, numbers and JSON can always be put into JSON.
            let json = serde_json::to_string(self).unwrap_or_default();
            let json = redact::json_without_secrets(&json);
            return format!("{}\n", escape::in_json(&json));
        }
        let error = self
            .error
            .map(|error| format!("{error}{}", self.data_text()));
        let (error, words) = match (error, self.last_words) {
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

    /// What the server says about its error beside the message, where a person would read
    /// it; otherwise where it is.
    fn data_text(&self) -> String {
        let Some(data) = self.data.filter(|data| data.as_str() != "null") else {
            return match self.data_left_out {
                Some(bytes) => format!("; with {bytes} bytes of data"),
                None => String::new(),
            };
        };
        let text = serde_json::from_str::<String>(data.as_str());
        let text = text.unwrap_or_else(|_| data.as_str().to_owned());
        match text.chars().count() <= MAX_SHOWN {
            true => format!("; data: {text}"),
            false => format!("; `--json` has its data, {} bytes", data.as_str().len()),
        }
    }
}

/// An error without the last words of the server, and their lines, if they are several. One line
/// stays where it is.
fn apart(error: String, words: &str) -> (Option<String>, Vec<String>) {
    let on_one_line = stderr_suffix(words);
    if !words.contains('\n') || !error.contains(&on_one_line) {
        return (Some(error), Vec::new());
    }
    let error = error.replacen(&on_one_line, "", 1) + "; its last words:";
    // Before they are taken apart: a secret may have several lines.
    let words = redact::without_secrets(words);
    let lines = words.lines().map(|line| format!("  {line}"));
    (Some(error), lines.collect())
}

/// Bytes of a server's data that are told to a program.
const MAX_DATA: usize = 64 * 1024;

/// Characters of it that a person would read.
const MAX_SHOWN: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn said(data: impl Into<RawJson>) -> (String, String) {
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
    fn what_a_server_says_about_its_error_is_told_within_bounds() {
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
            let (told, object) = said(RawJson::parse(data).unwrap());
            assert_eq!(told, words);
            let expected = format!("{{\"error\":\"no (code -7)\",\"code\":-7,{json}}}\n");
            assert_eq!(object, expected);
        }
        let (told, object) = said("x".repeat(MAX_SHOWN));
        assert!(told.ends_with("xx\n") && object.contains("xx\""), "{told}");
        let (told, object) = said("x".repeat(MAX_SHOWN + 1));
        assert_eq!(
            told,
            "error: no (code -7); `--json` has its data, 203 bytes\n"
        );
        assert!(object.contains("xx\""));
        let (_, object) = said("x".repeat(MAX_DATA - 2));
        assert!(object.contains("xx\""));
        let (told, object) = said("x".repeat(MAX_DATA - 1));
        assert_eq!(told, "error: no (code -7); with 65537 bytes of data\n");
        let skipped_items = "{\"error\":\"no (code -7)\",\"code\":-7,\"data_left_out\":65537}\n";
        assert_eq!(object, skipped_items);
    }
}
