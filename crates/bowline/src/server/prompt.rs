//! Prompts, and the completion of their arguments.

use std::fmt;
use std::sync::Arc;

use bowline_types::ErrorObject;
use bowline_types::common::{Icon, Role};
use bowline_types::completion::Completion;
use bowline_types::content::ContentBlock;
use bowline_types::meta::Meta;
use bowline_types::prompts::{GetPromptResult, Prompt, PromptArgument, PromptMessage};
use schemars::JsonSchema;
use serde::Deserialize;

use super::context::Context;
use super::extract::{
    Arguments, HandlerArguments, HandlerFn, HandlerInput, HandlerRequirements, Rejection,
};
use super::output::IntoToolError;
use super::string_arguments::{self, StringArguments};
use crate::transport::BoxFuture;

pub(super) type PromptFuture = BoxFuture<'static, Result<GetPromptResult, ErrorObject>>;
type Run = dyn Fn(StringArguments<'_>, &Context) -> Result<PromptFuture, Rejection> + Send + Sync;

/// A type that the handler of a prompt may return: a string (a message of the user), messages, or a
/// `Result` of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be a prompt",
    label = "not a result type of prompts",
    note = "return text (`String`, `&'static str`), `PromptMessage`, a list of messages, `GetPromptResult`, \
            or a `Result` with a `ToolError`"
)]
pub trait IntoPrompt {
    /// Converts it into what the client gets.
    ///
    /// # Errors
    ///
    /// When the handler has failed.
    fn into_prompt(self) -> Result<GetPromptResult, ErrorObject>;

    /// Converts it for a request, which log events about hidden errors name.
    #[doc(hidden)]
    fn into_prompt_of(self, of: &Context) -> Result<GetPromptResult, ErrorObject>
    where
        Self: Sized,
    {
        let _ = of;
        self.into_prompt()
    }
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

impl<T: IntoPrompt, E: IntoToolError> IntoPrompt for Result<T, E> {
    fn into_prompt(self) -> Result<GetPromptResult, ErrorObject> {
        self.map_err(|error| error.into_tool_error().into_error(None))?
            .into_prompt()
    }

    fn into_prompt_of(self, of: &Context) -> Result<GetPromptResult, ErrorObject> {
        self.map_err(|error| error.into_tool_error().into_error(Some(of)))?
            .into_prompt_of(of)
    }
}

/// The definition of a prompt: what clients see of it, and its handler.
#[derive(Clone)]
pub struct PromptDef {
    pub(super) prompt: Prompt,
    pub(super) needs: Arc<HandlerRequirements>,
    pub(super) problem: Option<String>,
    run: Arc<Run>,
}

/// Creates a prompt with a handler. Its arguments are the fields of the handler's type. The
/// protocol sends them as strings; numbers, booleans and enums of names are parsed from their
/// string.
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
    A: HandlerArguments,
    H: HandlerFn<A>,
    H::Output: IntoPrompt + Send,
{
    let mut needs = H::needs();
    let mut prompt = Prompt::new(name);
    let schema = needs.schema.take();
    let of = format_args!("prompt {}", prompt.name);
    let problem = schema
        .as_ref()
        .and_then(|schema| string_arguments::schema_problem(schema, of));
    prompt.arguments = schema.as_ref().map(arguments_of);
    let run = move |arguments: StringArguments<'_>,
                    context: &Context|
          -> Result<PromptFuture, Rejection> {
        context.begin_rounds()?;
        let got = handler.run(&HandlerInput {
            arguments: Arguments::Strings(arguments),
            context,
            uri: None,
            checks: None,
        })?;
        let of = context.clone();
        Ok(Box::pin(async move { got.await.into_prompt_of(&of) }))
    };
    PromptDef {
        prompt,
        needs: Arc::new(needs),
        problem,
        run: Arc::new(run),
    }
}

/// Returns the properties of a schema as arguments of a prompt.
fn arguments_of(schema: &schemars::Schema) -> Vec<PromptArgument> {
    let properties = schema
        .get("properties")
        .and_then(|properties| properties.as_object());
    let required = schema
        .get("required")
        .and_then(|required| required.as_array());
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
    /// Sets the description.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.prompt.description = Some(description.into());
        self
    }

    /// Sets the name that is shown to users.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.prompt.title = Some(title.into());
        self
    }

    /// Sets icons to show.
    #[must_use]
    pub fn icons(mut self, icons: impl Into<Vec<Icon>>) -> Self {
        self.prompt.icons = Some(icons.into());
        self
    }

    /// Sets the `_meta` of the prompt.
    #[must_use]
    pub fn meta(mut self, meta: Meta) -> Self {
        self.prompt.meta = Some(meta);
        self
    }

    pub(super) fn get(&self, arguments: StringArguments<'_>, context: &Context) -> PromptFuture {
        match (self.run)(arguments, context) {
            Ok(got) => got,
            Err(rejection) => {
                let error = match rejection {
                    Rejection::Server(error) => error,
                    // PR-2.
                    Rejection::Arguments(message) => {
                        ErrorObject::invalid_params(format!("invalid arguments: {message}"))
                    }
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

/// The input of a completion handler: the argument that the user is typing, and the others.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct CompletionInput {
    /// The value so far.
    pub value: String,
    /// Other arguments that have values already (since 2025-06-18).
    #[serde(default)]
    pub arguments: std::collections::BTreeMap<String, String>,
}

/// A type that the handler of a completion may return: a list of strings, the best first, a whole
/// [`Completion`], or a `Result` of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be a completion",
    label = "not a list of suggestions",
    note = "return a list of strings (`Vec<String>`, `Vec<&'static str>`), `Completion`, or a `Result` with a \
            `ToolError`"
)]
pub trait IntoCompletion {
    /// Returns the completion that the client gets.
    ///
    /// # Errors
    ///
    /// When it can't be made.
    fn into_completion(self) -> Result<Completion, ErrorObject>;

    /// Converts it for a request, which log events about hidden errors name.
    #[doc(hidden)]
    fn into_completion_of(self, of: &Context) -> Result<Completion, ErrorObject>
    where
        Self: Sized,
    {
        let _ = of;
        self.into_completion()
    }
}

impl IntoCompletion for Completion {
    fn into_completion(self) -> Result<Completion, ErrorObject> {
        Ok(self)
    }
}

impl<T: Into<String>> IntoCompletion for Vec<T> {
    fn into_completion(self) -> Result<Completion, ErrorObject> {
        Ok(Completion::ranked(self))
    }
}

impl<T: IntoCompletion, E: IntoToolError> IntoCompletion for Result<T, E> {
    fn into_completion(self) -> Result<Completion, ErrorObject> {
        self.map_err(|error| error.into_tool_error().into_error(None))?
            .into_completion()
    }

    fn into_completion_of(self, of: &Context) -> Result<Completion, ErrorObject> {
        self.map_err(|error| error.into_tool_error().into_error(Some(of)))?
            .into_completion_of(of)
    }
}

pub(super) type CompletionFuture = BoxFuture<'static, Result<Completion, ErrorObject>>;

/// Completes one argument of a prompt, or one variable of a template.
#[derive(Clone)]
pub(super) struct Completer {
    pub(super) needs: Arc<HandlerRequirements>,
    #[expect(clippy::type_complexity, reason = "the type is used once")]
    run: Arc<dyn Fn(&str, &Context) -> Result<CompletionFuture, Rejection> + Send + Sync>,
}

impl Completer {
    pub(super) fn new<A, H>(handler: H) -> Self
    where
        A: HandlerArguments,
        H: HandlerFn<A>,
        H::Output: IntoCompletion + Send,
    {
        let run =
            move |arguments: &str, context: &Context| -> Result<CompletionFuture, Rejection> {
                let completed = handler.run(&HandlerInput {
                    arguments: Arguments::Json(arguments),
                    context,
                    uri: None,
                    checks: None,
                })?;
                let of = context.clone();
                Ok(Box::pin(
                    async move { completed.await.into_completion_of(&of) },
                ))
            };
        Self {
            needs: Arc::new(H::needs()),
            run: Arc::new(run),
        }
    }

    pub(super) fn complete(&self, partial: &str, context: &Context) -> CompletionFuture {
        match (self.run)(partial, context) {
            Ok(completed) => completed,
            Err(rejection) => {
                let error = match rejection {
                    Rejection::Server(error) => error,
                    Rejection::Arguments(message) => ErrorObject::invalid_params(message),
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
