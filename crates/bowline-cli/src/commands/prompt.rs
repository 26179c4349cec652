//! `bowline prompt`: gets a prompt with its arguments filled in.

use anyhow::{Context as _, anyhow};
use bowline_types::prompts::{GetPromptResult, Prompt};
use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::commands::call::read_stdin_argument;
use crate::commands::named_items;
use crate::content::{Part, ResultPrinter};
use crate::environment::Environment;
use crate::exit::ExitStatus;
use crate::failure::usage;
use crate::output::Output;
use crate::printer::{Printer, Tone};
use crate::server_connection::{self, ServerConnection};
use crate::settings::{Format, RequestSettings};

/// Gets a prompt.
///
/// # Errors
///
/// The server can't be reached, has no such prompt, or the arguments don't match.
pub(crate) fn prompt(
    settings: &RequestSettings,
    environment: &Environment,
    printer: &mut Printer,
) -> anyhow::Result<ExitStatus> {
    settings.output.check()?;
    let input = read_stdin_argument(&settings.words)?;
    server_connection::run_with_server(
        &settings.server,
        environment,
        printer,
        async |connection| {
            let prompt: Prompt = named_items::find(&settings.name, connection).await?;
            let arguments = arguments(&prompt, &settings.words, &input)?;
            let filled = get_prompt(&prompt, arguments, connection).await?;
            print_messages(&filled, &settings.output, connection)
        },
    )?;
    Ok(ExitStatus::Done)
}

/// Parses the arguments, which are strings.
pub(super) fn arguments(
    prompt: &Prompt,
    words: &[String],
    mut input: &[u8],
) -> anyhow::Result<Vec<(String, String)>> {
    let arguments = Arguments::read(words, &schema(prompt), &mut input)?;
    let arguments = serde_json::to_value(&arguments).context("cannot encode the arguments")?;
    let Value::Object(members) = arguments else {
        return Ok(Vec::new());
    };
    let texts = members.into_iter().map(|(name, value)| match value {
        Value::String(text) => Ok((name, text)),
        other => {
            let error = anyhow!("{name}: prompt arguments are strings, found {other}");
            Err(usage(error, format!("write {name}=…")))
        }
    });
    texts.collect()
}

/// Returns the arguments of a prompt as a JSON Schema, as a tool declares them.
fn schema(prompt: &Prompt) -> Value {
    let arguments = prompt.arguments.as_deref().unwrap_or_default();
    let properties: serde_json::Map<_, _> = arguments
        .iter()
        .map(|argument| (argument.name.clone(), json!({"type": "string"})))
        .collect();
    let required = arguments
        .iter()
        .filter(|argument| argument.required == Some(true));
    let required: Vec<_> = required.map(|argument| &*argument.name).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

async fn get_prompt(
    prompt: &Prompt,
    arguments: Vec<(String, String)>,
    connection: &ServerConnection<'_>,
) -> anyhow::Result<GetPromptResult> {
    let shown = connection.progress(&prompt.name);
    let bar = shown.bar();
    let call = connection.client.prompts().get(&*prompt.name, arguments);
    let call = call.on_progress(move |report| bar.report(&report));
    connection.complete_call(call).await
}

/// Prints the messages, each below its role.
fn print_messages(
    filled: &GetPromptResult,
    output: &Output,
    connection: &mut ServerConnection<'_>,
) -> anyhow::Result<()> {
    let parts = filled
        .messages
        .iter()
        .map(|message| Part::from(&message.content));
    let parts: Vec<Part<'_>> = parts.collect();
    let format = connection.format;
    let mut results = ResultPrinter::new(output, connection.printer);
    if format == Format::Json {
        results.printer().json(filled)?;
        results.save_beside(&parts)?;
    } else if matches!(output, Output::File(_) | Output::Stdout) {
        results.print(&parts)?;
    } else {
        let mut is_first = true;
        for (message, part) in filled.messages.iter().zip(parts) {
            if !is_first {
                results.printer().line(0, Tone::Plain, "")?;
            }
            is_first = false;
            let role = format!("[{}]", message.role.as_str());
            results.printer().line(0, Tone::Heading, &role)?;
            results.print(&[part])?;
        }
    }
    results.finish(format, None)
}

#[cfg(test)]
mod tests {
    use bowline_types::prompts::PromptArgument;

    use super::*;
    use crate::failure::Failure;

    fn read(words: &[&str]) -> anyhow::Result<Vec<(String, String)>> {
        let greet = Prompt::new("greet").arguments([
            PromptArgument::new("name").required(true),
            PromptArgument::new("style"),
        ]);
        let words: Vec<_> = words.iter().map(|&word| word.to_owned()).collect();
        arguments(&greet, &words, b"")
    }

    #[test]
    fn arguments_are_texts() {
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let two = read(&["name=3", "style:=\"true\""]).unwrap();
        assert_eq!(two, [pair("name", "3"), pair("style", "true")]);
        let error = read(&["name:=3"]).unwrap_err();
        assert_eq!(Failure::status_of(&error), ExitStatus::Usage);
        assert_eq!(Failure::hint_of(&error), Some("write name=…"));
        assert!(read(&["style=x"]).is_err());
        assert!(read(&["name=x", "other=y"]).is_err());
    }
}
