//! Sampling requests, which the user answers in place of a model.

use std::fmt::Write as _;

use bowline_types::common::Role;
use bowline_types::sampling::{
    CreateMessageParams, CreateMessageResult, SamplingContent, ToolChoiceMode, ToolUseContent,
};
use bowline_types::{ErrorObject, JsonObject};

use crate::server_requests::prompter::{Input, Prompter, cut, show_text, unknown_command};

/// Shows the messages, and asks for the answer of the model.
///
/// # Errors
///
/// The user declined; this is the error for the server.
pub(super) async fn ask_for_message(
    prompter: &mut impl Prompter,
    server: &str,
    params: &CreateMessageParams,
) -> Result<CreateMessageResult, ErrorObject> {
    show(prompter, server, params);
    let mut typed = String::new();
    loop {
        match Input::parse(prompter.ask("model> ").await) {
            Input::Text(text) => {
                typed.extend([&*text, "\n"]);
                continue;
            }
            Input::Decline => return Err(rejection()),
            // A tool call is a whole answer.
            Input::Command(command) if typed.is_empty() => match tool_use(&command, params) {
                Ok(content) => return Ok(assistant_message(content, "human", "toolUse")),
                Err(reason) => prompter.show(&reason),
            },
            Input::Command(command) => prompter.show(&unknown_command(&command)),
            Input::Cancel if typed.is_empty() => return Err(rejection()),
            Input::Empty if typed.is_empty() => {}
            // Ctrl-D ends the text, as an empty line does.
            Input::Empty | Input::Cancel => match text_result(typed.trim_end(), "human", params) {
                Ok(answer) => return Ok(answer),
                Err(reason) => {
                    prompter.show(&reason);
                    typed.clear();
                }
            },
        }
    }
}

/// Returns a text as the result of a sampling request.
///
/// # Errors
///
/// The server requires a tool call.
pub(super) fn text_result(
    text: &str,
    model: &str,
    params: &CreateMessageParams,
) -> Result<CreateMessageResult, String> {
    match tool_choice_mode(params) {
        ToolChoiceMode::Required => Err("the server requires a tool call".to_owned()),
        _ => Ok(assistant_message(
            SamplingContent::text(text),
            model,
            "endTurn",
        )),
    }
}

/// Returns the error for a rejected request (client/sampling, error handling).
pub(super) fn rejection() -> ErrorObject {
    ErrorObject::new(-1, "the user rejected the sampling request")
}

fn assistant_message(content: SamplingContent, model: &str, reason: &str) -> CreateMessageResult {
    CreateMessageResult::new(Role::Assistant, content, model).stop_reason(reason)
}

/// Parses `tool NAME {…}` as a tool call for the server to execute.
fn tool_use(command: &str, params: &CreateMessageParams) -> Result<SamplingContent, String> {
    let Some(rest) = command.strip_prefix("tool ") else {
        return Err(unknown_command(command));
    };
    let (name, input) = match rest.trim().split_once(char::is_whitespace) {
        Some((name, input)) => (name, input.trim()),
        None => (rest.trim(), "{}"),
    };
    let mut tools = params.tools.iter().flatten();
    if tool_choice_mode(params) == ToolChoiceMode::None || !tools.any(|tool| tool.name == name) {
        return Err(format!("no tool named {name}"));
    }
    let input = JsonObject::parse(input);
    let input =
        input.map_err(|error| format!("the input of {name} is not a JSON object: {error}"))?;
    // The id is unique in this conversation.
    let content = params
        .messages
        .iter()
        .flat_map(|message| message.content.iter());
    let is_use = |block: &&SamplingContent| matches!(block, SamplingContent::ToolUse(_));
    let id = format!("call-{}", content.filter(is_use).count() + 1);
    Ok(ToolUseContent::new(id, name, input).into())
}

fn tool_choice_mode(params: &CreateMessageParams) -> ToolChoiceMode {
    let mode = params
        .tool_choice
        .as_ref()
        .and_then(|choice| choice.mode.clone());
    mode.unwrap_or(ToolChoiceMode::Auto)
}

/// Shows what the model would receive.
fn show(prompter: &mut impl Prompter, server: &str, params: &CreateMessageParams) {
    let tokens = params.max_tokens;
    prompter.show(&format!(
        "{server} sends a sampling request for your model, of at most {tokens} tokens:"
    ));
    if let Some(prompt) = &params.system_prompt {
        prompter.show("system:");
        show_text(prompter, prompt);
    }
    // The latest messages are shown: they hold the actual request.
    let skipped = params.messages.len().saturating_sub(MAX_MESSAGES);
    if skipped > 0 {
        prompter.show(&format!("… {skipped} earlier messages"));
    }
    for message in &params.messages[skipped..] {
        prompter.show(&format!("{}:", cut(message.role.as_str())));
        for content in message.content.iter().take(MAX_MESSAGES) {
            show_text(prompter, &content_text(content));
        }
    }
    let mut help = "type the model's response; an empty line ends it, !decline declines".to_owned();
    if let Some(tools) = params.tools.as_deref().filter(|tools| !tools.is_empty()) {
        let names: Vec<_> = tools
            .iter()
            .take(MAX_TOOLS)
            .map(|tool| &*tool.name)
            .collect();
        let word = match tool_choice_mode(params) {
            ToolChoiceMode::Required => "one must be used",
            ToolChoiceMode::None => "none may be used",
            _ => "one may be used",
        };
        prompter.show(&format!("tools: {}; {word}", cut(&names.join(", "))));
        // Writing to a string cannot fail.
        let _ = write!(help, ", !tool NAME {{…}} calls a tool");
    }
    prompter.show(&help);
}

/// Formats a content block for the user.
fn content_text(content: &SamplingContent) -> String {
    match content {
        SamplingContent::Text(text) => text.text.clone(),
        SamplingContent::Image(image) => format!("[an image, {}]", image.mime_type),
        SamplingContent::Audio(audio) => format!("[audio, {}]", audio.mime_type),
        SamplingContent::ToolUse(used) => format!("[calls {} {}]", used.name, used.input),
        SamplingContent::ToolResult(result) => {
            let texts = result.content.iter().filter_map(|block| block.as_text());
            let texts = texts.collect::<Vec<_>>().join("\n");
            format!("[the result of {}]\n{texts}", result.tool_use_id)
        }
        _ => "[unknown content]".to_owned(),
    }
}

/// The number of messages that are shown, and of content blocks of each.
const MAX_MESSAGES: usize = 20;

/// The number of tools whose names are shown.
const MAX_TOOLS: usize = 50;

#[cfg(test)]
mod tests {
    use bowline_types::Wire;

    use super::*;
    use crate::server_requests::prompter::script::{Script, now};

    const PLAIN: &str = r#"{"maxTokens":9,"systemPrompt":"Be brief","messages":[
        {"role":"user","content":{"type":"text","text":"Why?\u001b[2J\nSay!"}}]}"#;
    const TOOLS: &str = r#"{"maxTokens":9,"tools":[{"name":"add","inputSchema":{"type":"object"}}],
        "toolChoice":{"mode":"required"},"messages":[
        {"role":"user","content":[{"type":"image","data":"","mimeType":"image/png"},
            {"type":"audio","data":"","mimeType":"audio/wav"},{"type":"smell"}]},
        {"role":"assistant","content":{"type":"tool_use","id":"x","name":"add","input":{"a":1}}},
        {"role":"user","content":{"type":"tool_result","toolUseId":"x",
            "content":[{"type":"text","text":"1"}]}}]}"#;

    /// Returns what the server receives and what is shown.
    fn answered(params: &str, lines: &[&str]) -> (String, String) {
        let params = CreateMessageParams::from_json(params).unwrap();
        let mut prompter = Script::of(lines);
        let sent = match now(ask_for_message(&mut prompter, "demo", &params)) {
            Ok(result) => serde_json::to_string(&result).unwrap(),
            Err(error) => error.to_string(),
        };
        assert_eq!(prompter.rest(), 0, "{}", prompter.seen);
        (sent, prompter.seen)
    }

    // proves: FT-4, F-CL-01
    #[test]
    fn the_user_answers_in_place_of_the_model() {
        let (sent, seen) = answered(PLAIN, &["", "Because", "!x", "it holds", ""]);
        let expected = r#"{"role":"assistant","content":{"type":"text","text":"Because\nit holds"},"model":"human","stopReason":"endTurn"}"#;
        assert_eq!(sent, expected);
        let expected = "demo sends a sampling request for your model, of at most 9 tokens:\n\
             system:\n  | Be brief\nuser:\n  | Why?\\u{1b}[2J\n  | Say!\n\
             type the model's response; an empty line ends it, !decline declines\n\
             model> \nmodel> Because\nmodel> !x\n\
             unknown command !x; for text that begins with !, write !!x\n\
             model> it holds\nmodel> \n";
        assert_eq!(seen, expected);
        // The end of the input ends the text; without any text the request is rejected.
        assert!(answered(PLAIN, &["Because"]).0.contains("\"Because\""));
        let refused = rejection().to_string();
        assert_eq!(answered(PLAIN, &[]).0, refused);
        assert_eq!(answered(PLAIN, &["!decline"]).0, refused);
        assert_eq!(answered(PLAIN, &["Because", "!decline"]).0, refused);
        assert_eq!(answered(PLAIN, &["!cancel"]).0, refused);
    }

    // proves: FT-4
    #[test]
    fn a_tool_can_be_used_where_there_are_some() {
        let lines = [
            "a text",
            "",
            "!tool sub {}",
            "!tool add 1",
            r#"!tool add {"a":2}"#,
        ];
        let (sent, seen) = answered(TOOLS, &lines);
        let expected = r#"{"role":"assistant","content":{"type":"tool_use","id":"call-2","name":"add","input":{"a":2}},"model":"human","stopReason":"toolUse"}"#;
        assert_eq!(sent, expected);
        for line in [
            "  | [an image, image/png]\n  | [audio, audio/wav]\n  | [unknown content]\n",
            "  | [calls add {\"a\":1}]\n",
            "  | [the result of x]\n  | 1\n",
            "tools: add; one must be used\n",
            "\nthe server requires a tool call\n",
            "\nno tool named sub\n",
            "\nthe input of add is not a JSON object: ",
        ] {
            assert!(seen.contains(line), "{line}: {seen}");
        }
        let forbidden = TOOLS.replace("required", "none");
        let (_, seen) = answered(&forbidden, &["!tool add", "no", ""]);
        assert!(seen.contains("none may be used\n") && seen.contains("no tool named add\n"));
        let (sent, _) = answered(&TOOLS.replace("required", "auto"), &["!tool add"]);
        assert!(sent.contains(r#""input":{}"#), "{sent}");
        let (_, seen) = answered(PLAIN, &["!tool add", "!decline"]);
        assert!(seen.contains("no tool named add\n"), "{seen}");
    }

    #[test]
    fn of_a_long_conversation_the_end_is_shown() {
        let message = |number: usize| {
            let content = serde_json::json!({"type": "text", "text": format!("m{number}")});
            serde_json::json!({"role": "user", "content": content})
        };
        let messages: Vec<_> = (0..MAX_MESSAGES + 1).map(message).collect();
        let params = serde_json::json!({"maxTokens": 1, "messages": messages}).to_string();
        let (_, seen) = answered(&params, &["!decline"]);
        assert!(seen.contains("… 1 earlier messages\nuser:\n  | m1\n"));
        assert!(!seen.contains("m0") && seen.contains("m20"), "{seen}");
    }
}
