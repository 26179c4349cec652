//! Prompts as text.

use bowline_types::prompts::{Prompt, PromptArgument};

use crate::paragraph::{self, row};
use crate::printer::{Piece, Printer, Tone};

/// Prints a prompt in a few lines.
pub(super) fn brief(prompt: &Prompt, printer: &mut Printer) -> anyhow::Result<()> {
    printer.line(0, Tone::Heading, &signature(prompt))?;
    let about = prompt.description.as_ref().or(prompt.title.as_ref());
    match about {
        Some(about) => paragraph::opening(printer, 2, about),
        None => Ok(()),
    }
}

/// Prints all details of a prompt.
pub(super) fn full(prompt: &Prompt, printer: &mut Printer) -> anyhow::Result<()> {
    printer.line(0, Tone::Heading, &signature(prompt))?;
    if let Some(description) = &prompt.description {
        paragraph::indented(printer, 2, description)?;
    }
    printer.line(0, Tone::Plain, "")?;
    if let Some(title) = &prompt.title {
        row(printer, "title", title)?;
    }
    let arguments = prompt.arguments.as_deref().unwrap_or_default();
    if arguments.is_empty() {
        return row(printer, "arguments", "none");
    }
    row(printer, "arguments", "")?;
    for argument in arguments {
        let mut pieces = vec![Piece::plain(&*argument.name)];
        if !is_required(argument) {
            pieces.push(Piece::new(Tone::Aside, " (optional)"));
        }
        printer.pieces(1, &pieces)?;
        let about = argument.description.as_ref().or(argument.title.as_ref());
        if let Some(about) = about {
            paragraph::indented(printer, 3, about)?;
        }
    }
    Ok(())
}

/// Returns `greet(name, style?)`, with `?` after optional arguments. All values are strings.
fn signature(prompt: &Prompt) -> String {
    let arguments = prompt.arguments.as_deref().unwrap_or_default();
    let mut shown: Vec<_> = arguments
        .iter()
        .take(MAX_ARGUMENTS)
        .map(|argument| {
            if is_required(argument) {
                argument.name.clone()
            } else {
                format!("{}?", argument.name)
            }
        })
        .collect();
    if arguments.len() > MAX_ARGUMENTS {
        shown.push("…".to_owned());
    }
    format!("{}({})", prompt.name, shown.join(", "))
}

fn is_required(argument: &PromptArgument) -> bool {
    argument.required.unwrap_or(false)
}

/// The number of arguments in a signature.
const MAX_ARGUMENTS: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_has_a_limited_number_of_arguments() {
        let many = (0..25).map(|number| PromptArgument::new(number.to_string()).required(true));
        let many: Vec<_> = many.collect();
        let shown = signature(&Prompt::new("many").arguments(many));
        assert!(shown.ends_with(", 23, …)"), "{shown}");
        assert_eq!(signature(&Prompt::new("none")), "none()");
    }
}
