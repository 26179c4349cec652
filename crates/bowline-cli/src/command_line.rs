//! Parsing the command line. A usage error is written as one line with a hint.
//!
//! For the parser, `--help` and `--version` are errors as well.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ColorChoice, CommandFactory as _, FromArgMatches as _};

use crate::args::{Args, ColourChoice};
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::suggestion::nearest;

/// Parses the command line, of which the first word is the program.
///
/// # Errors
///
/// The command line is wrong, or asks for help. The message has been written; the error is the exit
/// status.
pub(crate) fn parse(line: &[OsString]) -> Result<Args, ExitStatus> {
    let words = TypedWords::of(line);
    let mut command = Args::command().color(words.colour());
    let parsed = command
        .try_get_matches_from_mut(line)
        .and_then(|matches| Args::from_arg_matches(&matches))
        .map_err(|refusal| refusal.format(&mut command));
    parsed.map_err(|refusal| report_refusal(refusal, &words))
}

/// Writes the message of a parse error, or the help.
fn report_refusal(refusal: clap::Error, words: &TypedWords) -> ExitStatus {
    // The program without arguments shows its help.
    let is_alone = refusal.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if is_alone || !refusal.use_stderr() {
        // Nothing can be done if this fails.
        let _ = refusal.print();
        return if is_alone {
            ExitStatus::Usage
        } else {
            ExitStatus::Done
        };
    }
    let mut printer = Printer::standard(ColourChoice::Never);
    // The command line was not parsed, so it is not known if this is an option.
    if words.has("--json") {
        printer.write_messages_as_json();
    }
    let (error, hint) = match refusal.kind() {
        ErrorKind::MissingSubcommand => ("no command given".to_owned(), None),
        _ => in_one_line(&with_useful_tips(refusal, words).to_string()),
    };
    let help = match words.command() {
        Some(command) => format!("see `bowline {command} --help`"),
        None => "see `bowline --help`".to_owned(),
    };
    let hint = match hint {
        Some(hint) => format!("{hint} ({help})"),
        None => help,
    };
    printer.usage_error(&error, &hint);
    ExitStatus::Usage
}

/// The words before `--`, for checks that the parser doesn't make.
struct TypedWords(Vec<String>);

impl TypedWords {
    fn of(line: &[OsString]) -> Self {
        let words = line.iter().skip(1).take_while(|word| *word != "--");
        Self(words.map(|word| word.to_string_lossy().into()).collect())
    }

    fn has(&self, word: &str) -> bool {
        self.0.iter().any(|typed| typed == word)
    }

    /// Returns if the parser should use colours, which it has to know before it parses.
    fn colour(&self) -> ColorChoice {
        let mut words = self.0.iter();
        let mut choice = ColorChoice::Auto;
        while let Some(word) = words.next() {
            let when = match word.strip_prefix("--color") {
                Some("") => words.next().map(String::as_str),
                Some(rest) => rest.strip_prefix('='),
                None => None,
            };
            choice = match when {
                Some("always") => ColorChoice::Always,
                Some("never") => ColorChoice::Never,
                _ => choice,
            };
        }
        choice
    }

    /// Returns the command among the words: the first one that is no option. Later words may equal
    /// the name of a command and mean something else.
    fn command(&self) -> Option<String> {
        let mut words = self.0.iter();
        let first = loop {
            match words.next()?.as_str() {
                // The only option before a command that has a value.
                "--color" => drop(words.next()),
                option if option.starts_with('-') => {}
                word => break word,
            }
        };
        let all = Args::command();
        let command = all.find_subcommand(first)?;
        Some(command.get_name().to_owned())
    }

    /// Returns `b=3` if `--b=3` was typed.
    fn as_argument(&self, option: &str) -> Option<String> {
        let name = option.strip_prefix("--").filter(|name| !name.is_empty())?;
        let begin = format!("{option}=");
        let typed = self.0.iter().find(|word| word.starts_with(&begin));
        Some(match typed {
            Some(word) => word.trim_start_matches('-').to_owned(),
            None => format!("{name}=…"),
        })
    }
}

/// Removes tips that don't help (to write `-- -1`, or an option unlike the one that was typed), and
/// adds better ones.
fn with_useful_tips(mut refusal: clap::Error, words: &TypedWords) -> clap::Error {
    let tips = match refusal.get(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(tips)) => tips.clone(),
        _ if refusal.kind() == ErrorKind::UnknownArgument => Vec::new(),
        _ => return refusal,
    };
    let command = words.command();
    // Only these commands take the text literally; for others it is a command to start.
    let takes_text = matches!(command.as_deref(), Some("explain" | "servers"));
    let mut fit = tips;
    fit.retain(|tip| takes_text || !tip.to_string().contains("'-- "));
    let is_misspelt = is_misspelt(&refusal);
    if !is_misspelt {
        refusal.remove(ContextKind::SuggestedArg);
    }
    let takes_arguments = matches!(command.as_deref(), Some("call" | "prompt" | "complete"));
    if let Some(ContextValue::String(word)) = refusal.get(ContextKind::InvalidArg)
        && takes_arguments
        && !is_misspelt
    {
        let tip = match words.as_argument(word) {
            Some(argument) => format!("arguments are written without dashes: {argument}"),
            None => format!("write a value that begins with - after its name: NAME={word}"),
        };
        fit.push(tip.into());
    }
    refusal.insert(ContextKind::Suggested, ContextValue::StyledStrs(fit));
    refusal
}

/// Returns `true` if an unknown option is close enough to the one that the parser suggests. The
/// parser finds `--name` similar to `--sample`.
fn is_misspelt(refusal: &clap::Error) -> bool {
    let name = |kind| match refusal.get(kind) {
        Some(ContextValue::String(option)) => Some(option.trim_start_matches('-')),
        _ => None,
    };
    let typed = name(ContextKind::InvalidArg);
    let similar = name(ContextKind::SuggestedArg);
    let both = typed.zip(similar);
    both.is_some_and(|(typed, similar)| nearest(typed, [similar]).is_some())
}

/// Splits the rendered error into its message and its tips.
fn in_one_line(refusal: &str) -> (String, Option<String>) {
    let mut error = Vec::new();
    let mut hint = Vec::new();
    for line in refusal.lines().map(str::trim) {
        match line.strip_prefix("tip: ") {
            Some(tip) => hint.push(tip),
            None if line.starts_with("Usage:") => break,
            None if line.is_empty() || line.starts_with("For more information") => {}
            None => error.push(line.strip_prefix("error: ").unwrap_or(line)),
        }
    }
    let hint = Some(hint.join("; ")).filter(|hint| !hint.is_empty());
    (error.join(" "), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> TypedWords {
        let line: Vec<_> = line.split(' ').map(OsString::from).collect();
        TypedWords::of(&line)
    }

    #[test]
    fn the_last_colour_option_wins() {
        for (line, choice) in [
            ("bowline --help", ColorChoice::Auto),
            ("bowline --color never --help", ColorChoice::Never),
            ("bowline tools --color=always --help", ColorChoice::Always),
            (
                "bowline --color=always --help --color never",
                ColorChoice::Never,
            ),
            ("bowline --color", ColorChoice::Auto),
            ("bowline --colored=never", ColorChoice::Auto),
            ("bowline call -- x --color never", ColorChoice::Auto),
        ] {
            assert_eq!(words(line).colour(), choice, "{line}");
        }
    }

    #[test]
    fn the_command_is_found_among_options() {
        for (line, command) in [
            ("bowline --color never tools demo", Some("tools")),
            ("bowline --json call demo tools", Some("call")),
            ("bowline toolz", None),
            ("bowline tool demo", None),
            ("bowline --color tools", None),
            ("bowline -v --color=never call demo", Some("call")),
            ("bowline -- tools", None),
        ] {
            assert_eq!(words(line).command().as_deref(), command, "{line}");
        }
    }
}
