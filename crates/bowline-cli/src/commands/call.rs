//! `bowline call`: calls a tool.

use std::io::{Read as _, stdin};

use anyhow::{Context as _, anyhow};
use bowline::Error;
use bowline_types::RawJson;
use bowline_types::tools::{CallToolResult, Tool};

use crate::arguments::Arguments;
use crate::bounded_file::MAX_BYTES;
use crate::commands::named_items;
use crate::content::{self, Part, ResultPrinter};
use crate::environment::Environment;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::Output;
use crate::printer::{OutputClosed, Printer};
use crate::server_connection::{self, ServerConnection};
use crate::settings::{Format, RequestSettings};

/// Calls a tool.
///
/// # Errors
///
/// The server can't be reached, has no such tool, the arguments don't match its schema, or the tool
/// failed.
pub(crate) fn call(
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
            let tool: Tool = named_items::find(&settings.name, connection).await?;
            let arguments = arguments(&tool, &settings.words, &input)?;
            let outcome = call_tool(&tool, &arguments, connection).await?;
            print_outcome(outcome, &settings.output, connection)
        },
    )?;
    Ok(ExitStatus::Done)
}

/// Reads stdin if an argument refers to it. Done before the server is started, which would
/// otherwise have to wait while the user types.
pub(super) fn read_stdin_argument(words: &[String]) -> anyhow::Result<Vec<u8>> {
    let is_wanted = |word: &String| word == "-" || word == "@-" || word.ends_with("=@-");
    let mut input = Vec::new();
    if words.iter().any(is_wanted) {
        // One byte more than allowed, so that the parser notices that it is too much.
        let read = stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut input);
        read.context("cannot read stdin")?;
    }
    Ok(input)
}

fn arguments(tool: &Tool, words: &[String], input: &[u8]) -> anyhow::Result<Arguments> {
    let schema = serde_json::to_value(&tool.input_schema);
    let schema = schema.context("cannot read the input schema of the tool")?;
    Arguments::read(words, &schema, &mut { input })
}

/// The result of a call.
struct CallOutcome {
    result: CallToolResult,
    /// Why the result does not match the output schema. The result is printed nevertheless, since
    /// the tool was executed.
    schema_error: Option<anyhow::Error>,
    /// Why the result could not be checked.
    unvalidated_reason: Option<String>,
}

/// Calls the tool, and shows progress.
async fn call_tool(
    tool: &Tool,
    arguments: &Arguments,
    connection: &ServerConnection<'_>,
) -> anyhow::Result<CallOutcome> {
    let shown = connection.progress(&tool.name);
    let bar = shown.bar();
    let call = connection.client.tools().call(&*tool.name, arguments);
    // Progress is requested even if it is not shown: it extends the timeout.
    let call = call.on_progress(move |report| bar.report(&report));
    match connection.complete_call(call).await {
        Ok(result) => Ok(CallOutcome {
            unvalidated_reason: result.unvalidated_reason().map(str::to_owned),
            result: result.into_inner(),
            schema_error: None,
        }),
        Err(error) => {
            let result = Failure::inner_of::<Error>(&error).and_then(Error::tool_result);
            match result.cloned() {
                Some(result) => Ok(CallOutcome {
                    result,
                    schema_error: Some(error),
                    unvalidated_reason: None,
                }),
                None => Err(error),
            }
        }
    }
}

/// Prints the result.
fn print_outcome(
    outcome: CallOutcome,
    output: &Output,
    connection: &mut ServerConnection<'_>,
) -> anyhow::Result<()> {
    let CallOutcome {
        result,
        schema_error,
        unvalidated_reason,
    } = outcome;
    let parts: Vec<Part<'_>> = result.content.iter().map(Part::from).collect();
    let mut results = ResultPrinter::new(output, connection.printer);
    let printed = match connection.format {
        Format::Json => {
            let printed = results.printer().json(&result);
            printed.and_then(|()| results.save_beside(&parts))
        }
        Format::Text => print_text(parts, result.structured_content.as_ref(), &mut results),
    };
    let finished = match printed {
        Ok(()) => results.finish(connection.format, Some("the tool was executed")),
        // The exit status of the call does not depend on the reader of the output.
        Err(error) if error.is::<OutputClosed>() => Err(error),
        Err(error) => return Err(error),
    };
    if let Some(reason) = unvalidated_reason {
        let words =
            format!("the result was not checked against the tool's output schema: {reason}");
        connection.warn(&words, None);
    }
    if let Some(schema_error) = schema_error {
        return Err(schema_error);
    }
    if !result.is_failure() {
        return finished;
    }
    // The failure of the tool is more important than a lost part, for which there was a warning.
    let failure = Failure::new(ExitStatus::ToolError, anyhow!("the tool reported an error"));
    let failure = match finished.as_ref().err().and_then(Failure::hint_of) {
        Some(hint) => failure.hint(hint.to_owned()),
        None => failure,
    };
    Err(failure.into())
}

/// Prints the parts, or the structured content if there is no text.
fn print_text(
    mut parts: Vec<Part<'_>>,
    structured: Option<&RawJson>,
    results: &mut ResultPrinter<'_>,
) -> anyhow::Result<()> {
    let Some(json) = structured else {
        return results.print(&parts);
    };
    if content::has_text(&parts) {
        results.print(&parts)?;
        if !content::contains_json(&parts, json) {
            results.printer().flush()?;
            results.printer().note(HAS_STRUCTURED_CONTENT);
        }
        return Ok(());
    }
    parts.retain(|part| !part.is_blank());
    if !parts.is_empty() {
        results.print(&parts)?;
    }
    if !results.is_raw() {
        return results.printer().text(&content::pretty(json));
    }
    // Raw output has the other parts, or the structured content if there are none.
    if parts.is_empty() {
        return results.printer().bytes(json.as_str().as_bytes());
    }
    Ok(())
}

/// The note about structured content that was not printed.
const HAS_STRUCTURED_CONTENT: &str = "the result also has structured content; `--json` shows it";
