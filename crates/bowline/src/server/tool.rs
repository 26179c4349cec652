//! Tools.

use std::fmt;
use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bowline_types::common::Icon;
use bowline_types::json::Reader;
use bowline_types::meta::Meta;
use bowline_types::tools::{CallToolResult, Tool, ToolAnnotations};
use bowline_types::{ErrorObject, InputSchema, JsonObject, OutputSchema, Revision};

use tower_layer::Layer;
use tower_service::Service as TowerService;

use super::context::Context;
use super::extract::{HandlerFn, Input, Needs, Rejection, schema_text};
use super::layer::{ToolCall, ToolService, wrap_tool};
use super::output::IntoToolResult;
use super::service::{INTERNAL_ERROR, INVALID_PARAMS};
use super::session::GRACE;
use crate::transport::BoxFuture;

pub(super) type Called = BoxFuture<'static, Result<CallToolResult, ErrorObject>>;
pub(super) type Run = dyn Fn(&str, &Context) -> Result<Called, Rejection> + Send + Sync;

/// A tool: what clients see of it, and its handler.
///
/// ```
/// use bowline::server::{Server, tool};
/// use bowline::types::tools::ToolAnnotations;
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Number { number: u64 }
///
/// let is_prime = tool("is_prime", |Number { number }: Number| async move {
///     number > 1 && (2..number).all(|divisor| number % divisor != 0)
/// })
/// .description("Whether a number is prime")
/// .annotations(ToolAnnotations::new().read_only_hint(true))
/// // It computes for long, and would hold up other calls.
/// .blocking();
/// let server = Server::new("numbers", "1.0.0").add_tool(is_prime);
/// ```
#[derive(Clone)]
pub struct ToolDef {
    pub(super) tool: Tool,
    pub(super) needs: Arc<Needs>,
    pub(super) problem: Option<String>,
    run: Arc<Run>,
    is_blocking: bool,
}

/// A tool with a handler: see [`ToolDef`].
pub fn tool<A, H>(name: impl Into<String>, handler: H) -> ToolDef
where
    A: 'static,
    H: HandlerFn<A>,
    H::Output: IntoToolResult + Send,
{
    let name = name.into();
    let mut needs = H::needs();
    let (schema, problem) = input_schema(&name, &mut needs);
    let mut tool = Tool::new(name, schema);
    tool.output_schema = <H::Output as IntoToolResult>::output_schema()
        .and_then(schema_text)
        .map(OutputSchema::from);
    let run = move |arguments: &str, context: &Context| -> Result<Called, Rejection> {
        let called = handler.run(&Input {
            arguments,
            context,
            uri: None,
        })?;
        Ok(Box::pin(async move { called.await.into_tool_result() }))
    };
    ToolDef {
        tool,
        needs: Arc::new(needs),
        problem,
        run: Arc::new(run),
        is_blocking: false,
    }
}

fn input_schema(name: &str, needs: &mut Needs) -> (InputSchema, Option<String>) {
    if needs.arguments > 1 {
        let words = format!("tool {name}: its handler asks for arguments twice");
        return (InputSchema::empty(), Some(words));
    }
    let Some(schema) = needs.schema.take() else {
        return (InputSchema::no_arguments(), None);
    };
    let schema = schema_text(schema).unwrap_or_default();
    match InputSchema::try_from(schema) {
        Ok(schema) => (schema, None),
        Err(error) => {
            let words = format!("tool {name}: the schema of its arguments: {error}");
            (InputSchema::empty(), Some(words))
        }
    }
}

impl ToolDef {
    /// What it does, for the model.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.tool.description = Some(description.into());
        self
    }

    /// Its name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.tool.title = Some(title.into());
        self
    }

    /// Hints on what calling it does.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.tool.annotations = Some(annotations);
        self
    }

    /// Icons to show.
    #[must_use]
    pub fn icons(mut self, icons: impl Into<Vec<Icon>>) -> Self {
        self.tool.icons = Some(icons.into());
        self
    }

    /// Additional data for clients.
    #[must_use]
    pub fn meta(mut self, meta: Meta) -> Self {
        self.tool.meta = Some(meta);
        self
    }

    /// The schema of its arguments, in place of the one of its handler's type.
    #[must_use]
    pub fn input_schema(mut self, schema: InputSchema) -> Self {
        self.tool.input_schema = schema;
        self.problem = None;
        self
    }

    /// The schema of its structured content.
    #[must_use]
    pub fn output_schema(mut self, schema: OutputSchema) -> Self {
        self.tool.output_schema = Some(schema);
        self
    }

    /// Runs its handler on a thread where it may block: for what computes for long or waits
    /// without `await`. Such a handler can't be stopped from outside; it should look at
    /// [`Context::is_cancelled`] now and then.
    #[must_use]
    pub fn blocking(mut self) -> Self {
        self.is_blocking = true;
        self
    }

    /// Puts a tower layer around the tool: it sees every call of it. The last one that is
    /// added is the outermost.
    #[must_use]
    pub fn layer<L>(mut self, layer: &L) -> Self
    where
        L: Layer<ToolService>,
        L::Service: TowerService<ToolCall, Response = CallToolResult, Error = ErrorObject>
            + Clone
            + Send
            + 'static,
        <L::Service as TowerService<ToolCall>>::Future: Send + 'static,
    {
        self.run = wrap_tool(self.run, layer);
        self
    }

    /// Calls it.
    pub(super) fn call(&self, arguments: &str, context: &Context) -> Called {
        if self.is_blocking {
            return self.call_blocking(arguments.to_owned(), context.clone());
        }
        match (self.run)(arguments, context) {
            Ok(called) => called,
            Err(rejection) => {
                let rejected = rejected(rejection, context.revision());
                Box::pin(std::future::ready(rejected))
            }
        }
    }

    fn call_blocking(&self, arguments: String, context: Context) -> Called {
        let run = Arc::clone(&self.run);
        let runtime = tokio::runtime::Handle::current();
        let revision = context.revision();
        let called = tokio::task::spawn_blocking(move || match run(&arguments, &context) {
            Ok(called) => runtime.block_on(run_out(called, &context)),
            Err(rejection) => rejected(rejection, revision),
        });
        Box::pin(async move {
            called
                .await
                .unwrap_or_else(|error| match error.try_into_panic() {
                    // Whoever serves the request contains it.
                    Ok(panic) => std::panic::resume_unwind(panic),
                    Err(_) => Err(ErrorObject::new(INTERNAL_ERROR, "the server is ending")),
                })
        })
    }
}

impl fmt::Debug for ToolDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolDef")
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}

/// Runs a handler to its end, or as long as somebody waits for it. In the stateless era one
/// that asks the client waits for an answer that only its next run gets.
async fn run_out(mut called: Called, context: &Context) -> Result<CallToolResult, ErrorObject> {
    let mut over = pin!(async {
        context.cancelled().await;
        tokio::time::sleep(GRACE).await;
    });
    poll_fn(|cx| match called.as_mut().poll(cx) {
        Poll::Ready(result) => Poll::Ready(result),
        Poll::Pending => {
            let nobody = || ErrorObject::new(INTERNAL_ERROR, "nobody waits for the result");
            over.as_mut().poll(cx).map(|()| Err(nobody()))
        }
    })
    .await
}

/// Arguments that are wrong are for the model to mend since 2025-11-25 (TL-12), and errors
/// of the protocol before.
pub(super) fn rejected(
    rejection: Rejection,
    revision: Revision,
) -> Result<CallToolResult, ErrorObject> {
    match rejection {
        Rejection::Server(error) => Err(error),
        Rejection::Arguments(words) => {
            let words = format!("the arguments are wrong: {words}");
            match revision >= Revision::V2025_11_25 {
                true => Ok(CallToolResult::error(words)),
                false => Err(ErrorObject::new(INVALID_PARAMS, words)),
            }
        }
    }
}

/// The name and the arguments of a call, in one pass over its parameters.
pub(super) fn name_and_arguments(params: &str) -> Result<(String, &str), ErrorObject> {
    let (mut name, mut arguments) = (None, "{}");
    let read = Reader::new(params).object(|reader, key| {
        match key {
            "name" => name = Some(reader.string()?.into_owned()),
            "arguments" => arguments = reader.raw()?.as_str(),
            _ => {
                reader.raw()?;
            }
        }
        Ok(())
    });
    let invalid = |words: String| ErrorObject::new(INVALID_PARAMS, words);
    read.map_err(|error| invalid(error.under_key("params").to_string()))?;
    let name = name.ok_or_else(|| invalid("params.name is missing".to_owned()))?;
    if !arguments.starts_with('{') {
        return Err(invalid("params.arguments is no object".to_owned()));
    }
    Ok((name, arguments))
}

/// The words for a tool that doesn't exist.
pub(super) fn no_such_tool(name: &str) -> ErrorObject {
    let name: String = name.chars().take(128).collect();
    let data: JsonObject = [("name", name.as_str())].into_iter().collect();
    ErrorObject::new(INVALID_PARAMS, format!("there is no tool {name:?}")).data(data)
}
