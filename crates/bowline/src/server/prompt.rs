//! Prompts, and the completion of arguments.

use std::fmt;
use std::sync::Arc;

use bowline_types::common::{Icon, Role};
use bowline_types::completion::Completion;
use bowline_types::content::ContentBlock;
use bowline_types::prompts::{GetPromptResult, Prompt, PromptArgument, PromptMessage};
use bowline_types::{ErrorObject, JsonObject};
use schemars::JsonSchema;
use serde::Deserialize;

use super::context::Context;
use super::extract::{HandlerFn, Input, Needs, Rejection};
use super::output::ToolError;
use super::service::{INTERNAL_ERROR, INVALID_PARAMS};
use crate::transport::BoxFuture;

pub(super) type Got = BoxFuture<'static, Result<GetPromptResult, ErrorObject>>;
type Run = dyn Fn(&str, &Context) -> Result<Got, Rejection> + Send + Sync;

/// Something that a prompt may be: a text (which the user says), messages, or a `Result` of
/// these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be a prompt",
    label = "not something that a prompt can be",
    note = "return text (`String`, `&'static str`), `PromptMessage`, a list of them, `GetPromptResult`, \
            or a `Result` with a `ToolError`"
)]
pub trait IntoPrompt {
    /// What the client gets.
    ///
    /// # Errors
    ///
    /// When it can't be made.
    fn into_prompt(self) -> Result<GetPromptResult, ErrorObject>;
}

impl IntoPrompt for GetPromptResult {
    fn into_prompt(self) -> Result<Self, ErrorObject> {
        Ok(self)
    }
}

impl IntoPrompt for Vec<PromptMessage> {
    fn into_prompt(self) -> Result<GetPromptResult, ErrorObject> {
        Ok(GetPromptResult::new(self))
    }
}

impl IntoPrompt for PromptMessage {
    fn into_prompt(self) -> Result<GetPromptResult, ErrorObject> {
        Ok(GetPromptResult::new([self]))
    }
}

impl IntoPrompt for String {
    fn into_prompt(self) -> Result<GetPromptResult, ErrorObject> {
        PromptMessage::new(Role::User, ContentBlock::text(self)).into_prompt()
    }
}

impl IntoPrompt for &'static str {
    fn into_prompt(self) -> Result<GetPromptResult, ErrorObject> {
        self.to_owned().into_prompt()
    }
}

impl<T: IntoPrompt, E: Into<ToolError>> IntoPrompt for Result<T, E> {
    fn into_prompt(self) -> Result<GetPromptResult, ErrorObject> {
        match self {
            Ok(prompt) => prompt.into_prompt(),
            Err(error) => Err(match error.into().into_result() {
                Ok(result) => {
                    let words = result.content.first().and_then(|block| block.as_text());
                    ErrorObject::new(INTERNAL_ERROR, words.unwrap_or("it can't be made"))
                }
                Err(error) => error,
            }),
        }
    }
}

/// A prompt: what clients see of it, and its handler.
#[derive(Clone)]
pub struct PromptDef {
    pub(super) prompt: Prompt,
    pub(super) needs: Arc<Needs>,
    run: Arc<Run>,
}

/// A prompt with a handler. Its arguments are those of the handler's type: texts, all of
/// them, as the protocol has it.
///
/// ```
/// use bowline::server::{Server, prompt};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Name {
///     /// Who is greeted.
///     name: String,
/// }
///
/// let greet = prompt("greet", |Name { name }: Name| async move {
///     format!("Write a greeting for {name}.")
/// })
/// .description("Greets somebody");
/// let server = Server::new("greeter", "1.0.0").add_prompt(greet);
/// ```
pub fn prompt<A, H>(name: impl Into<String>, handler: H) -> PromptDef
where
    A: 'static,
    H: HandlerFn<A>,
    H::Output: IntoPrompt + Send,
{
    let mut needs = H::needs();
    let mut prompt = Prompt::new(name);
    prompt.arguments = needs.schema.take().map(|schema| arguments_of(&schema));
    let run = move |arguments: &str, context: &Context| -> Result<Got, Rejection> {
        let got = handler.run(&Input {
            arguments,
            context,
            uri: None,
        })?;
        Ok(Box::pin(async move { got.await.into_prompt() }))
    };
    PromptDef {
        prompt,
        needs: Arc::new(needs),
        run: Arc::new(run),
    }
}

/// The members of a schema, as a prompt has them.
fn arguments_of(schema: &schemars::Schema) -> Vec<PromptArgument> {
    let properties = schema.get("properties").and_then(|it| it.as_object());
    let required = schema.get("required").and_then(|it| it.as_array());
    let is_required = |name: &str| {
        let mut required = required.into_iter().flatten();
        required.any(|other| other.as_str() == Some(name))
    };
    let arguments = properties.into_iter().flatten().map(|(name, member)| {
        let mut argument = PromptArgument::new(name.as_str());
        let text = |key: &str| member.get(key)?.as_str().map(str::to_owned);
        argument.description = text("description");
        argument.title = text("title");
        argument.required = Some(is_required(name));
        argument
    });
    arguments.collect()
}

impl PromptDef {
    /// What it is for.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.prompt.description = Some(description.into());
        self
    }

    /// Its name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.prompt.title = Some(title.into());
        self
    }

    /// Icons to show.
    #[must_use]
    pub fn icons(mut self, icons: impl Into<Vec<Icon>>) -> Self {
        self.prompt.icons = Some(icons.into());
        self
    }

    pub(super) fn get(&self, arguments: &JsonObject, context: &Context) -> Got {
        match (self.run)(arguments.as_str(), context) {
            Ok(got) => got,
            Err(rejection) => {
                let error = match rejection {
                    Rejection::Server(error) => error,
                    // PR-2.
                    Rejection::Arguments(words) => ErrorObject::new(
                        INVALID_PARAMS,
                        format!("the arguments are wrong: {words}"),
                    ),
                };
                Box::pin(std::future::ready(Err(error)))
            }
        }
    }
}

impl fmt::Debug for PromptDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptDef")
            .field("prompt", &self.prompt)
            .finish_non_exhaustive()
    }
}

/// What is being typed, for a handler that completes it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Partial {
    /// What is there so far.
    pub value: String,
    /// Other arguments that are known already (since 2025-06-18).
    #[serde(default)]
    pub arguments: std::collections::BTreeMap<String, String>,
}

/// Suggestions: texts, the best first, or a whole [`Completion`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be a completion",
    label = "not suggestions",
    note = "return a list of texts (`Vec<String>`, `Vec<&'static str>`) or `Completion`"
)]
pub trait IntoCompletion {
    /// What the client gets.
    fn into_completion(self) -> Completion;
}

impl IntoCompletion for Completion {
    fn into_completion(self) -> Completion {
        self
    }
}

impl<T: Into<String>> IntoCompletion for Vec<T> {
    fn into_completion(self) -> Completion {
        Completion::ranked(self)
    }
}

pub(super) type Completed = BoxFuture<'static, Result<Completion, ErrorObject>>;

/// Completes one argument of a prompt, or one variable of a template.
#[derive(Clone)]
pub(super) struct Completer {
    pub(super) needs: Arc<Needs>,
    #[expect(clippy::type_complexity, reason = "it is said once")]
    run: Arc<dyn Fn(&str, &Context) -> Result<Completed, Rejection> + Send + Sync>,
}

impl Completer {
    pub(super) fn new<A, H>(handler: H) -> Self
    where
        A: 'static,
        H: HandlerFn<A>,
        H::Output: IntoCompletion + Send,
    {
        let run = move |arguments: &str, context: &Context| -> Result<Completed, Rejection> {
            let completed = handler.run(&Input {
                arguments,
                context,
                uri: None,
            })?;
            Ok(Box::pin(
                async move { Ok(completed.await.into_completion()) },
            ))
        };
        Self {
            needs: Arc::new(H::needs()),
            run: Arc::new(run),
        }
    }

    pub(super) fn complete(&self, partial: &str, context: &Context) -> Completed {
        match (self.run)(partial, context) {
            Ok(completed) => completed,
            Err(rejection) => {
                let error = match rejection {
                    Rejection::Server(error) => error,
                    Rejection::Arguments(words) => ErrorObject::new(INVALID_PARAMS, words),
                };
                Box::pin(std::future::ready(Err(error)))
            }
        }
    }
}

impl fmt::Debug for Completer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Completer")
    }
}
