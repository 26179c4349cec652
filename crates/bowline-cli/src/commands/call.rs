//! `bowline call`: calls a tool.

use std::io::{Read as _, stdin};

use anyhow::{Context as _, anyhow};
use bowline::Error;
use bowline_types::RawJson;
use bowline_types::tools::{CallToolResult, Tool};

use crate::arguments::Arguments;
use crate::bounded_file::MAX_BYTES;
use crate::commands::tools;
use crate::content::{self, Part, Telling};
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::Output;
use crate::printer::{OutputClosed, Printer};
use crate::server_connection::{self, Conversation};
use crate::settings::{AskSettings, Format};
use crate::surroundings::Surroundings;

/// Calls a tool.
///
/// # Errors
///
/// The server can't be reached, has no such tool, the arguments are not what it wants, or the
/// tool failed.
pub(crate) fn call(
    settings: &AskSettings,
    surroundings: &Surroundings,
    printer: &mut Printer,
) -> anyhow::Result<ExitStatus> {
    settings.output.check()?;
    let input = typed_input(&settings.words)?;
    server_connection::hold(
        &settings.server,
        surroundings,
        printer,
        async |conversation| {
            let tools = tools::list(conversation).await?;
            let tool = tools::named(&settings.name, tools)?;
            let arguments = arguments(&tool, &settings.words, &input)?;
            let answered = make(&tool, &arguments, conversation).await?;
            tell(answered, &settings.output, conversation)
        },
    )?;
    Ok(ExitStatus::Done)
}

/// What stdin has, if a word refers to it. Before the server is started, which could not be
/// answered while somebody types.
pub(super) fn typed_input(words: &[String]) -> anyhow::Result<Vec<u8>> {
    let is_wanted = |word: &String| word == "-" || word == "@-" || word.ends_with("=@-");
    let mut input = Vec::new();
    if words.iter().any(is_wanted) {
        // One byte more than is allowed, so that whoever parses it sees that it is too much.
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

/// What a tool answered.
struct Answered {
    result: CallToolResult,
    /// Why it is not what the tool declares. It is told nevertheless: what was done was done.
    misfit: Option<anyhow::Error>,
    /// Why nobody knows whether it is.
    unchecked: Option<String>,
}

/// Makes the call, and shows how far it is.
async fn make(
    tool: &Tool,
    arguments: &Arguments,
    conversation: &Conversation<'_>,
) -> anyhow::Result<Answered> {
    let shown = conversation.progress(&tool.name);
    let bar = shown.bar();
    let call = conversation.client.tools().call(&*tool.name, arguments);
    // It is asked for even when nobody sees it: progress is a sign of life.
    let call = call.on_progress(move |report| bar.report(&report));
    match conversation.answer(call).await {
        Ok(result) => Ok(Answered {
            unchecked: result.unchecked().map(str::to_owned),
            result: result.into_inner(),
            misfit: None,
        }),
        Err(error) => {
            let result = Failure::inner_of::<Error>(&error).and_then(Error::tool_result);
            match result.cloned() {
                Some(result) => Ok(Answered {
                    result,
                    misfit: Some(error),
                    unchecked: None,
                }),
                None => Err(error),
            }
        }
    }
}

/// Tells what the tool answered.
fn tell(
    answered: Answered,
    output: &Output,
    conversation: &mut Conversation<'_>,
) -> anyhow::Result<()> {
    let Answered {
        result,
        misfit,
        unchecked,
    } = answered;
    let parts: Vec<Part<'_>> = result.content.iter().map(Part::from).collect();
    let mut telling = Telling::new(output, conversation.printer);
    let printed = match conversation.format {
        Format::Json => {
            let printed = telling.printer().json(&result);
            printed.and_then(|()| telling.save_beside(&parts))
        }
        Format::Text => tell_person(parts, result.structured_content.as_ref(), &mut telling),
    };
    let told = match printed {
        Ok(()) => telling.end(conversation.format, Some("the tool was executed")),
        // How the call ended does not depend on who reads to the end.
        Err(error) if error.is::<OutputClosed>() => Err(error),
        Err(error) => return Err(error),
    };
    if let Some(why) = unchecked {
        let words = format!("the result was not checked against the tool's output schema: {why}");
        conversation.warn(&words, None);
    }
    if let Some(misfit) = misfit {
        return Err(misfit);
    }
    if !result.is_failure() {
        return told;
    }
    // That it failed says more than that a part is lost, of which there was a warning.
    let failure = Failure::new(ExitStatus::ToolError, anyhow!("the tool reported an error"));
    let failure = match told.as_ref().err().and_then(Failure::hint_of) {
        Some(hint) => failure.hint(hint.to_owned()),
        None => failure,
    };
    Err(failure.into())
}

/// Tells the parts, and what is meant for programs where there is no text.
fn tell_person(
    mut parts: Vec<Part<'_>>,
    structured: Option<&RawJson>,
    telling: &mut Telling<'_>,
) -> anyhow::Result<()> {
    let Some(json) = structured else {
        return telling.print(&parts);
    };
    if content::has_text(&parts) {
        telling.print(&parts)?;
        if !content::says(&parts, json) {
            telling.printer().flush()?;
            telling.printer().talk(STRUCTURED_TOO);
        }
        return Ok(());
    }
    parts.retain(|part| !part.is_blank());
    if !parts.is_empty() {
        telling.print(&parts)?;
    }
    match telling.is_poured() {
        // Whoever wants bytes gets what is for people, or this where there is nothing.
        true if !parts.is_empty() => Ok(()),
        true => telling.printer().bytes(json.as_str().as_bytes()),
        false => telling.printer().text(&content::pretty(json)),
    }
}

/// What is said of what was not shown.
const STRUCTURED_TOO: &str = "the result also has structured content; `--json` shows it";
