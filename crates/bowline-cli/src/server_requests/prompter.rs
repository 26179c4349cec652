//! The interface to the user: lines that are shown, lines that are typed, and how input is parsed.

use std::future::Future;

use crate::escape;

/// Shows lines to a user and reads their input.
pub(super) trait Prompter: Send {
    /// Shows a line. Control characters are escaped.
    fn show(&mut self, line: &str);

    /// Prompts for a line. Returns `None` at the end of the input.
    fn ask(&mut self, prompt: &str) -> impl Future<Output = Option<String>> + Send;
}

/// A parsed line of input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// A text.
    Text(String),
    /// An empty line.
    Empty,
    /// `!decline`: decline the request.
    Decline,
    /// `!cancel`, or the end of the input: cancel the request.
    Cancel,
    /// `!` and another word.
    Command(String),
}

impl Input {
    /// Parses a line; `None` is the end of the input.
    pub(super) fn parse(line: Option<String>) -> Self {
        let Some(line) = line else {
            return Self::Cancel;
        };
        let text = line.trim();
        match text.strip_prefix('!') {
            None if text.is_empty() => Self::Empty,
            None => Self::Text(text.to_owned()),
            // `!!` escapes a text that begins with `!`.
            Some(text) if text.starts_with('!') => Self::Text(text.to_owned()),
            Some("decline") => Self::Decline,
            Some("cancel") => Self::Cancel,
            Some(other) => Self::Command(other.to_owned()),
        }
    }
}

/// Returns the message for an unknown command.
pub(super) fn unknown_command(command: &str) -> String {
    format!("unknown command !{command}; for text that begins with !, write !!{command}")
}

/// Shows a text of the server, marked so that no line of it looks like one of ours.
pub(super) fn show_text(prompter: &mut impl Prompter, text: &str) {
    for line in lines_of(text) {
        prompter.show(&format!("  | {line}"));
    }
}

/// Returns the lines of a text, limited in number and length.
fn lines_of(text: &str) -> Vec<String> {
    let mut lines = text.lines();
    let mut shown: Vec<_> = lines.by_ref().take(MAX_LINES).map(cut).collect();
    let more = lines.count();
    if more > 0 {
        shown.push(format!("… and {more} more lines"));
    }
    shown
}

/// Returns a text on one line, escaped and limited in length.
pub(super) fn cut(text: &str) -> String {
    let mut characters = text.chars();
    let mut shown: String = characters.by_ref().take(MAX_CHARACTERS).collect();
    let more = characters.count();
    if more > 0 {
        shown.push_str(&format!("… and {more} more characters"));
    }
    escape::for_terminal(&shown).into_owned()
}

/// The number of lines of a text that are shown.
const MAX_LINES: usize = 100;

/// The number of characters of a line that are shown.
const MAX_CHARACTERS: usize = 2000;

#[cfg(test)]
pub(super) mod script {
    use super::*;

    /// A prompter with scripted input, which records what is shown.
    #[derive(Default)]
    pub(crate) struct Script {
        typed: std::collections::VecDeque<String>,
        pub(crate) seen: String,
    }

    impl Script {
        pub(crate) fn of(lines: &[&str]) -> Self {
            Self {
                typed: lines.iter().map(|&line| line.to_owned()).collect(),
                seen: String::new(),
            }
        }

        /// Returns the number of scripted lines that were not read.
        pub(crate) fn rest(&self) -> usize {
            self.typed.len()
        }
    }

    impl Prompter for Script {
        fn show(&mut self, line: &str) {
            self.seen.extend([&*escape::for_terminal(line), "\n"]);
        }

        fn ask(&mut self, prompt: &str) -> impl Future<Output = Option<String>> + Send {
            let line = self.typed.pop_front();
            let shown = line.as_deref().unwrap_or("^D");
            self.seen
                .extend([&*escape::for_terminal(prompt), shown, "\n"]);
            std::future::ready(line)
        }
    }

    /// Runs a future to its end; a scripted prompter never waits.
    pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(future)
    }
}

#[cfg(test)]
mod tests {
    use super::script::Script;
    use super::*;

    #[test]
    fn a_line_is_a_text_or_a_command() {
        let text = |text: &str| Input::Text(text.to_owned());
        for (line, input) in [
            (Some("Ada\n"), text("Ada")),
            (Some("  two words "), text("two words")),
            (Some("!!decline"), text("!decline")),
            (Some(""), Input::Empty),
            (Some(" \n"), Input::Empty),
            (Some("!decline\n"), Input::Decline),
            (Some("!cancel"), Input::Cancel),
            (Some("!help me"), Input::Command("help me".to_owned())),
            (Some("!"), Input::Command(String::new())),
            (None, Input::Cancel),
        ] {
            assert_eq!(Input::parse(line.map(str::to_owned)), input, "{line:?}");
        }
    }

    // proves: F-CL-01
    #[test]
    fn texts_of_servers_are_escaped_marked_and_cut() {
        let mut prompter = Script::default();
        show_text(&mut prompter, "\u{1b}[2Ja\r\nb> !forged");
        assert_eq!(prompter.seen, "  | \\u{1b}[2Ja\n  | b> !forged\n");

        let mut prompter = Script::default();
        show_text(&mut prompter, &"x\n".repeat(MAX_LINES + 2));
        assert_eq!(prompter.seen.lines().last(), Some("  | … and 2 more lines"));
        assert_eq!(cut(&"x".repeat(MAX_CHARACTERS)).len(), MAX_CHARACTERS);
        assert!(cut(&"x".repeat(MAX_CHARACTERS + 1)).ends_with("… and 1 more characters"));
    }
}
