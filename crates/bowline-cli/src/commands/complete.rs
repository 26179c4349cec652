//! `bowline complete`: completes an argument of a prompt, or a variable of a resource template.

use anyhow::anyhow;
use bowline_types::completion::Completion;
use bowline_types::prompts::Prompt;
use bowline_types::resources::ResourceTemplate;

use crate::commands::named_items::NamedItem as _;
use crate::commands::resources;
use crate::environment::Environment;
use crate::exit::ExitStatus;
use crate::failure::usage;
use crate::printer::{Printer, Tone};
use crate::server_connection::{self, ServerConnection};
use crate::settings::{CompleteSettings, Format};
use crate::suggestion::did_you_mean;

/// Completes an argument.
///
/// # Errors
///
/// The server can't be reached, doesn't support completion, or has no such item.
pub(crate) fn complete(
    settings: &CompleteSettings,
    environment: &Environment,
    printer: &mut Printer,
) -> anyhow::Result<ExitStatus> {
    server_connection::run_with_server(
        &settings.server,
        environment,
        printer,
        async |connection| {
            let target = CompletionTarget::find(&settings.reference, connection).await?;
            target.check(&settings.argument)?;
            let completion = request_completion(&target, settings, connection).await?;
            print_values(&completion, connection)
        },
    )?;
    Ok(ExitStatus::Done)
}

/// The prompt or resource template.
#[derive(Debug)]
enum CompletionTarget {
    Prompt(Prompt),
    Template(ResourceTemplate),
}

impl CompletionTarget {
    /// Finds the item that a word refers to: `prompt:NAME`, `template:NAME`, a URI template, or a
    /// name.
    async fn find(word: &str, connection: &ServerConnection<'_>) -> anyhow::Result<Self> {
        let (wants_prompt, wants_template, name) = parse_reference(word);
        let capabilities = connection.client.capabilities().unwrap_or_default();
        let has_prompts = wants_prompt && capabilities.prompts.is_some();
        let has_templates = wants_template && capabilities.resources.is_some();
        let prompts = if has_prompts {
            Prompt::list(connection).await?
        } else {
            Vec::new()
        };
        let templates = if has_templates {
            resources::templates(connection).await?
        } else {
            Vec::new()
        };
        Self::select(name, prompts, templates)
    }

    fn select(
        name: &str,
        prompts: Vec<Prompt>,
        templates: Vec<ResourceTemplate>,
    ) -> anyhow::Result<Self> {
        let names = prompts.iter().map(|prompt| &prompt.name);
        let names = names.chain(
            templates
                .iter()
                .flat_map(|template| [&template.name, &template.uri_template]),
        );
        let hint = did_you_mean(name, names.map(String::as_str));
        if let Some(prompt) = prompts.into_iter().find(|prompt| prompt.name == name) {
            return Ok(Self::Prompt(prompt));
        }
        let is_meant =
            |template: &ResourceTemplate| template.uri_template == name || template.name == name;
        if let Some(template) = templates.into_iter().find(is_meant) {
            return Ok(Self::Template(template));
        }
        let listed = "`bowline prompts` and `bowline resources` list them".to_owned();
        let error = anyhow!("no prompt or template named `{name}`");
        Err(usage(error, hint.unwrap_or(listed)))
    }

    /// Refuses an unknown argument, as far as the arguments are known.
    fn check(&self, argument: &str) -> anyhow::Result<()> {
        let known: Vec<&str> = match self {
            Self::Prompt(prompt) => {
                let arguments = prompt.arguments.as_deref().unwrap_or_default();
                arguments
                    .iter()
                    .map(|argument| argument.name.as_str())
                    .collect()
            }
            Self::Template(template) => variables(&template.uri_template),
        };
        if known.is_empty() || known.contains(&argument) {
            return Ok(());
        }
        let hint = did_you_mean(argument, known.iter().copied());
        let hint = hint.unwrap_or_else(|| format!("the arguments are {}", known.join(", ")));
        Err(usage(anyhow!("no argument named `{argument}`"), hint))
    }
}

/// Returns if a word may refer to a prompt, if to a template, and the name in it.
fn parse_reference(word: &str) -> (bool, bool, &str) {
    if let Some(name) = word.strip_prefix("prompt:") {
        (true, false, name)
    } else if let Some(name) = word.strip_prefix("template:") {
        (false, true, name)
    } else {
        (true, true, word)
    }
}

/// Returns the variables of a URI template (RFC 6570).
fn variables(template: &str) -> Vec<&str> {
    let expressions = template.split('{').skip(1);
    let expressions = expressions.filter_map(|rest| Some(rest.split_once('}')?.0));
    let names = expressions.flat_map(|expression| {
        let names = expression.trim_start_matches(|c| "+#./;?&".contains(c));
        names.split(',')
    });
    names
        .map(|name| name.split([':', '*']).next().unwrap_or_default())
        .filter(|name| !name.is_empty())
        .take(MAX_VARIABLES)
        .collect()
}

async fn request_completion(
    target: &CompletionTarget,
    settings: &CompleteSettings,
    connection: &ServerConnection<'_>,
) -> anyhow::Result<Completion> {
    let client = &connection.client;
    let (argument, typed) = (&*settings.argument, &*settings.typed);
    let mut call = match target {
        CompletionTarget::Prompt(prompt) => {
            client.prompts().complete(&*prompt.name, argument, typed)
        }
        CompletionTarget::Template(template) => {
            let template = &*template.uri_template;
            client.resources().complete(template, argument, typed)
        }
    };
    for (name, value) in &settings.known {
        call = call.context_argument(name, value);
    }
    Ok(connection.complete_call(call).await?.completion)
}

/// Prints the values, one per line.
fn print_values(
    completion: &Completion,
    connection: &mut ServerConnection<'_>,
) -> anyhow::Result<()> {
    if connection.format == Format::Json {
        return connection.printer.json(completion);
    }
    for value in &completion.values {
        connection.printer.line(0, Tone::Plain, value)?;
    }
    connection.print_count(completion.values.len(), "value")?;
    if let Some(more) = more_values(completion) {
        connection.printer.note(&more);
    }
    Ok(())
}

/// Returns a note if there are more values.
fn more_values(completion: &Completion) -> Option<String> {
    let shown = i64::try_from(completion.values.len()).unwrap_or(i64::MAX);
    match completion.total {
        Some(total) if total > shown => Some(format!(
            "{} more values; type more of the argument",
            total - shown
        )),
        _ if completion.has_more == Some(true) => {
            Some("there are more values; type more of the argument".to_owned())
        }
        _ => None,
    }
}

/// The number of variables that are looked at. A server may have written any number of them.
const MAX_VARIABLES: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;

    #[test]
    fn a_word_can_mean_a_prompt_or_a_template() {
        let found = |word: &str| {
            let prompts = vec![Prompt::new("book"), Prompt::new("greet")];
            let templates = vec![ResourceTemplate::new("x://{a}", "book")];
            let (wants_prompt, wants_template, name) = parse_reference(word);
            let prompts = if wants_prompt { prompts } else { Vec::new() };
            let templates = if wants_template {
                templates
            } else {
                Vec::new()
            };
            CompletionTarget::select(name, prompts, templates)
        };
        assert!(matches!(found("book"), Ok(CompletionTarget::Prompt(_))));
        assert!(matches!(
            found("prompt:greet"),
            Ok(CompletionTarget::Prompt(_))
        ));
        assert!(matches!(
            found("template:book"),
            Ok(CompletionTarget::Template(_))
        ));
        assert!(matches!(
            found("x://{a}"),
            Ok(CompletionTarget::Template(_))
        ));
        let error = found("template:greet").unwrap_err();
        let words = "no prompt or template named `greet`";
        assert_eq!(error.to_string(), words);
        let error = found("gret").unwrap_err();
        assert_eq!(Failure::hint_of(&error), Some("did you mean `greet`?"));
    }

    #[test]
    fn variables_are_those_of_the_template() {
        for (template, expected) in [
            ("x://plain", &[][..]),
            ("x://{a}/{b}", &["a", "b"]),
            (
                "x://{+path}{?q,limit*}{#part:3}",
                &["path", "q", "limit", "part"],
            ),
            ("x://{open", &[]),
            ("x://{}", &[]),
        ] {
            assert_eq!(variables(template), expected, "{template}");
        }
    }

    #[test]
    fn more_values_are_noted() {
        let values = || Completion::new(["a".to_owned()]);
        assert_eq!(more_values(&values()), None);
        assert_eq!(more_values(&values().total(1)), None);
        let words = more_values(&values().total(3).has_more(true));
        assert_eq!(
            words.as_deref(),
            Some("2 more values; type more of the argument")
        );
        let words = more_values(&values().has_more(true));
        assert_eq!(
            words.as_deref(),
            Some("there are more values; type more of the argument")
        );
    }
}
