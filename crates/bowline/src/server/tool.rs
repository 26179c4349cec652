//! Tools: their definition, and calling their handlers.

use std::borrow::Cow;
use std::fmt;
use std::future::{Future as _, pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bowline_proto::Payload;
use bowline_proto::server::ParamHeaders;
use bowline_types::common::Icon;
use bowline_types::json::Kind;
use bowline_types::meta::Meta;
use bowline_types::tools::{CallToolResult, TaskSupport, Tool, ToolAnnotations, ToolExecution};
use bowline_types::{
    DecodeError, ErrorObject, InputSchema, JsonObject, OutputSchema, RawJsonRef, Revision,
};

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::sleep;
use tower_layer::Layer;
use tower_service::Service as TowerService;

use super::blocking_threads::Job;
use super::client_questions::HandlerRunner;
use super::context::Context;
use super::extract::{
    Arguments, HandlerArguments, HandlerFn, HandlerInput, HandlerRequirements, Rejection,
    arguments_schema, schema_text,
};
use super::layer::{ToolRequest, ToolService, wrap_tool};
use super::output::IntoToolResult;
use super::session::CANCEL_GRACE;
use super::tasks::TaskRule;
use super::tool_name;
use super::validation::ToolValidators;
use crate::panics::{Panicked, caught};
use crate::transport::BoxFuture;

pub(super) type ToolFuture = BoxFuture<'static, Result<CallToolResult, ErrorObject>>;
pub(super) type RunTool =
    dyn Fn(&str, &Context, &ToolValidators) -> Result<ToolFuture, Rejection> + Send + Sync;

/// The definition of a tool: what clients see of it, and its handler.
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
    pub(super) needs: Arc<HandlerRequirements>,
    pub(super) problem: Option<String>,
    /// How calls become tasks, where the tool supports it.
    pub(super) tasks: Option<TaskRule>,
    checks: ToolValidators,
    /// Arguments that an HTTP request repeats as headers.
    param_headers: ParamHeaders,
    run: Arc<RunTool>,
    is_blocking: bool,
}

/// Creates a tool with a handler: see [`ToolDef`].
///
/// A name has 1 to 128 characters. The protocol recommends A-Z, a-z, 0-9, `_`, `-` and `.`; other
/// characters, and more than 64 of them, are logged as a warning, since not every client and
/// model accepts them. An empty or longer name, and one with whitespace or control characters, is
/// an error of [`Server::build`](super::Server::build) and of
/// [`ServerFeatures::add_tool`](super::ServerFeatures::add_tool).
pub fn tool<A, H>(name: impl Into<String>, handler: H) -> ToolDef
where
    A: HandlerArguments,
    H: HandlerFn<A>,
    H::Output: IntoToolResult + Send,
{
    let name = name.into();
    let mut needs = H::needs();
    let checks = ToolValidators::for_arguments(needs.schema.as_ref());
    let (schema, problem) = input_schema(&name, &mut needs);
    let mut tool = Tool::new(name, schema);
    tool.output_schema = <H::Output as IntoToolResult>::output_schema()
        .and_then(schema_text)
        .map(OutputSchema::from);
    let run = move |arguments: &str, context: &Context, checks: &ToolValidators| {
        context.begin_rounds()?;
        let called = handler.run(&HandlerInput {
            arguments: Arguments::Json(arguments),
            context,
            uri: None,
            checks: Some(checks),
        })?;
        let of = context.clone();
        let called: ToolFuture = Box::pin(async move { called.await.into_tool_result_of(&of) });
        Ok(called)
    };
    ToolDef {
        tool,
        needs: Arc::new(needs),
        problem,
        tasks: None,
        checks,
        param_headers: ParamHeaders::default(),
        run: Arc::new(run),
        is_blocking: false,
    }
}

fn input_schema(name: &str, needs: &mut HandlerRequirements) -> (InputSchema, Option<String>) {
    if needs.arguments > 1 {
        let message = format!("tool {name}: its handler has two parameters for the arguments");
        return (InputSchema::empty(), Some(message));
    }
    let Some(schema) = needs.schema.take() else {
        return (InputSchema::no_arguments(), None);
    };
    let schema = arguments_schema(schema).unwrap_or_default();
    match InputSchema::try_from(schema) {
        Ok(schema) => (schema, None),
        Err(_) => {
            let message = format!(
                "tool {name}: its arguments are not an object: make them the fields of a struct"
            );
            (InputSchema::empty(), Some(message))
        }
    }
}

impl ToolDef {
    /// Sets the description for the model.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.tool.description = Some(description.into());
        self
    }

    /// Sets the name that is shown to users.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.tool.title = Some(title.into());
        self
    }

    /// Sets hints about the effects of a call.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.tool.annotations = Some(annotations);
        self
    }

    /// Sets icons to show.
    #[must_use]
    pub fn icons(mut self, icons: impl Into<Vec<Icon>>) -> Self {
        self.tool.icons = Some(icons.into());
        self
    }

    /// Sets the `_meta` of the tool.
    #[must_use]
    pub fn meta(mut self, meta: Meta) -> Self {
        self.tool.meta = Some(meta);
        self
    }

    /// Sets the schema of the arguments, in place of the one of its handler's type. With the
    /// feature `validate` arguments are checked against it before the handler runs; a schema that
    /// can't be compiled is an error of [`Server::build`](super::Server::build) and of
    /// [`ServerFeatures::add_tool`](super::ServerFeatures::add_tool).
    #[must_use]
    pub fn input_schema(mut self, schema: InputSchema) -> Self {
        self.tool.input_schema = schema;
        self.checks.require_arguments_check();
        self.problem = None;
        self
    }

    /// Sets the schema of the structured content. With the feature `validate` results are checked
    /// against it: one that doesn't match, or has no structured content, is logged, and the client
    /// gets an error.
    #[must_use]
    pub fn output_schema(mut self, schema: OutputSchema) -> Self {
        self.tool.output_schema = Some(schema);
        self.checks.require_result_check();
        self
    }

    /// Runs the handler on a thread where it may block: for one that computes for long or waits
    /// without `await`.
    ///
    /// Any other handler runs on a thread of the runtime. On a current-thread runtime, which has
    /// one, a handler that blocks holds up everything: make it `blocking`, run the blocking part
    /// with [`spawn_blocking`](tokio::task::spawn_blocking), or use a multi-thread runtime. There
    /// another worker takes over its connection after some milliseconds, and other calls run as
    /// long as there is a worker that no handler blocks. A handler that blocks for longer than
    /// 100 ms is logged as a warning with the name of its tool, and on a
    /// multi-thread runtime also while it blocks, after a second.
    ///
    /// A handler on a thread can't be stopped from outside; it should check
    /// [`Context::is_cancelled`] now and then. It counts as a running request until it returns, but
    /// neither the server nor the process waits for it to end. There are at most 512 such threads
    /// in a process, and one client has [a share of them](super::Server::max_blocking); further
    /// calls wait.
    #[must_use]
    pub fn blocking(mut self) -> Self {
        self.is_blocking = true;
        self
    }

    /// Sets whether calls can become tasks, which go on after their response: for work that
    /// takes minutes or hours. The handler is written as any other.
    ///
    /// In 2025-11-25 the client asks for a task: with [`Optional`](TaskSupport::Optional) it may,
    /// with [`Required`](TaskSupport::Required) it must. With the extension of 2026-07-28
    /// `Required` makes each call a task, and refuses clients that don't declare the extension;
    /// `Optional` alone makes none: see [`as_task_after`](Self::as_task_after). In older
    /// revisions, which have no tasks, calls are served as always.
    ///
    /// ```
    /// use std::time::Duration;
    /// use bowline::server::{Context, Server, tool};
    ///
    /// let render = tool("render", |cx: Context| async move {
    ///     cx.progress(1, None, Some("rendering"));
    ///     "rendered"
    /// })
    /// .as_task_after(Duration::from_secs(5));
    /// let server = Server::new("renderer", "1.0.0").add_tool(render);
    /// ```
    #[must_use]
    pub fn task_support(mut self, support: TaskSupport) -> Self {
        let after = self.tasks.and_then(|rule| rule.after);
        let is_required = support == TaskSupport::Required;
        self.tasks = match support {
            TaskSupport::Forbidden => None,
            _ => Some(TaskRule { is_required, after }),
        };
        self.tool.execution = match support {
            TaskSupport::Forbidden => None,
            support => Some(ToolExecution::new().task_support(support)),
        };
        self
    }

    /// Makes a task, with the extension of 2026-07-28, of each call that takes longer than this,
    /// for clients that declare the extension. In 2025-11-25 the client may ask for one, as with
    /// [`TaskSupport::Optional`].
    #[must_use]
    pub fn as_task_after(mut self, after: Duration) -> Self {
        if self.tasks.is_none() {
            self = self.task_support(TaskSupport::Optional);
        }
        if let Some(rule) = &mut self.tasks {
            rule.after = Some(after);
        }
        self
    }

    /// Adds a tower layer around the tool: it sees every call. The layer that is added last is the
    /// outermost. Its errors are treated as those of [`Server::layer`](super::Server::layer).
    #[must_use]
    pub fn layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<ToolService>,
        L::Service: TowerService<ToolRequest, Response = CallToolResult> + Clone + Send + 'static,
        <L::Service as TowerService<ToolRequest>>::Error:
            Into<Box<dyn std::error::Error + Send + Sync>>,
        <L::Service as TowerService<ToolRequest>>::Future: Send + 'static,
    {
        self.run = wrap_tool(self.run, &layer);
        self
    }

    /// Compiles its schemas and checks its name. Sets `problem` if it can't be served.
    pub(super) fn prepare(&mut self) {
        let of_schemas = self.checks.compile(&self.tool);
        let of_name = tool_name::problem(&self.tool.name);
        let of_headers = self.find_param_headers();
        self.problem = of_name
            .or(self.problem.take())
            .or(of_schemas)
            .or(of_headers);
        if self.problem.is_none()
            && let Some(caution) = tool_name::caution(&self.tool.name)
        {
            tracing::warn!(
                tool = self.tool.name,
                caution,
                "some clients may refuse the name of a tool"
            );
        }
    }

    /// Finds the arguments that are repeated as headers. Returns what is wrong with them: clients
    /// don't offer such a tool.
    fn find_param_headers(&mut self) -> Option<String> {
        let schema = self.tool.input_schema.as_object().as_ref();
        match ParamHeaders::from_schema(schema) {
            Ok(found) => self.param_headers = found,
            Err(wrong) => return Some(format!("tool {}: {wrong}", self.tool.name)),
        }
        None
    }

    /// Returns the arguments that an HTTP request repeats as headers.
    pub(super) fn param_headers(&self) -> &ParamHeaders {
        &self.param_headers
    }

    /// Calls the tool.
    pub(super) fn call(&self, arguments: &str, context: &Context) -> ToolFuture {
        let called = if self.is_blocking {
            self.call_blocking(arguments.to_owned(), context)
        } else {
            (self.run)(arguments, context, &self.checks).unwrap_or_else(|rejection| {
                let rejected = rejection_result(rejection, context.revision());
                Box::pin(std::future::ready(rejected))
            })
        };
        self.checks.check_result(called, context)
    }

    fn call_blocking(&self, arguments: String, context: &Context) -> ToolFuture {
        let (run, checks) = (Arc::clone(&self.run), self.checks.clone());
        let runtime = Handle::current();
        let place = context.hold();
        let (sender, called) = oneshot::channel();
        let of_job = context.clone();
        let job = Job::submit(context, move || {
            // The receiver is dropped when the result is not wanted any more.
            let _ = sender.send(block_on(&runtime, (&*run, &checks), &arguments, &of_job));
            drop(place);
        });
        Box::pin(async move {
            let _submitted = job;
            match called.await {
                Ok(Ok(Some(called))) => called,
                // The runner of the request drops this future.
                Ok(Ok(None)) => pending().await,
                // The runner of the request catches the panic.
                Ok(Err(Panicked(message))) => std::panic::resume_unwind(Box::new(message)),
                Err(_) => Err(ErrorObject::internal_error(
                    "no thread available for a blocking handler",
                )),
            }
        })
    }
}

/// Runs a handler on this thread. `None` when the request was cancelled.
fn block_on(
    runtime: &Handle,
    (run, checks): (&RunTool, &ToolValidators),
    arguments: &str,
    context: &Context,
) -> Result<Option<Result<CallToolResult, ErrorObject>>, Panicked> {
    if context.is_cancelled() {
        return Ok(None);
    }
    let _within = runtime.enter();
    caught(|| match run(arguments, context, checks) {
        Ok(called) => runtime.block_on(run_until_cancelled(called, context)),
        Err(rejection) => Some(rejection_result(rejection, context.revision())),
    })
}

/// Runs a handler, and gives it up where it waits in vain: for the answer to a question with which
/// the request ends, or for anything after the request was cancelled. Otherwise it would keep its
/// thread for ever.
async fn run_until_cancelled(
    mut called: ToolFuture,
    context: &Context,
) -> Option<Result<CallToolResult, ErrorObject>> {
    let mut given_up = pin!(async {
        context.cancelled().await;
        sleep(CANCEL_GRACE).await;
    });
    poll_fn(|cx| match called.as_mut().poll(cx) {
        Poll::Ready(called) => Poll::Ready(Some(called)),
        Poll::Pending if context.has_asked(HandlerRunner::Thread, cx) => Poll::Ready(None),
        Poll::Pending => given_up.as_mut().poll(cx).map(|()| None),
    })
    .await
}

impl fmt::Debug for ToolDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolDef")
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}

/// Returns the result for invalid arguments: since 2025-11-25 a tool error, so that the model can
/// correct them (TL-12), and before that a protocol error.
pub(super) fn rejection_result(
    rejection: Rejection,
    revision: Revision,
) -> Result<CallToolResult, ErrorObject> {
    match rejection {
        Rejection::Server(error) => Err(error),
        Rejection::Arguments(message) => {
            let message = format!("invalid arguments: {message}");
            if revision >= Revision::V2025_11_25 {
                Ok(CallToolResult::error(message))
            } else {
                Err(ErrorObject::invalid_params(message))
            }
        }
    }
}

/// The parameters of a call, from one pass over the JSON.
pub(super) struct CallParams<'p> {
    pub(super) name: Cow<'p, str>,
    pub(super) arguments: &'p str,
    /// The member `task`.
    pub(super) task: Option<&'p str>,
}

impl<'p> CallParams<'p> {
    /// Returns the parameters of a call, where the envelope pass has found its members without
    /// looking for them again.
    pub(super) fn of(params: Option<&'p Payload>) -> Result<Self, ErrorObject> {
        if let Some((name, arguments)) = params.and_then(Payload::call_members)
            && let Ok(name) = name.to_text()
            && arguments.is_none_or(|arguments| arguments.kind() == Kind::Object)
        {
            return Ok(Self {
                name,
                arguments: arguments.map_or("{}", RawJsonRef::as_str),
                task: None,
            });
        }
        Self::parse(params.map_or(RawJsonRef::EMPTY_OBJECT, Payload::as_json))
    }

    pub(super) fn parse(params: RawJsonRef<'p>) -> Result<Self, ErrorObject> {
        let (mut name, mut arguments, mut task) = (None, "{}", None);
        let invalid = |message: String| ErrorObject::invalid_params(message);
        // No member occurs twice: the envelope parser has refused that.
        for (key, value) in params.members().into_iter().flatten() {
            if key.is("name") {
                let read = value.to_text();
                let wrong = |error: DecodeError| error.under_key("name").under_key("params");
                name = Some(read.map_err(|error| invalid(wrong(error).to_string()))?);
            } else if key.is("arguments") && value.kind() != Kind::Null {
                arguments = value.as_str();
            } else if key.is("task") {
                task = Some(value.as_str());
            }
        }
        let name = name.ok_or_else(|| invalid("params.name is missing".to_owned()))?;
        if !arguments.starts_with('{') {
            return Err(invalid("params.arguments is not an object".to_owned()));
        }
        Ok(Self {
            name,
            arguments,
            task: task.filter(|task| *task != "null"),
        })
    }

    /// Returns the arguments as JSON.
    #[cfg_attr(
        not(feature = "http-server"),
        expect(dead_code, reason = "only HTTP has headers")
    )]
    pub(super) fn arguments_json(&self) -> Option<RawJsonRef<'p>> {
        RawJsonRef::parse(self.arguments).ok()
    }
}

/// Returns the error for a tool that doesn't exist.
pub(super) fn unknown_tool(name: &str) -> ErrorObject {
    let name: String = name.chars().take(128).collect();
    let data: JsonObject = [("name", name.as_str())].into_iter().collect();
    ErrorObject::invalid_params(format!("no tool named {name:?}")).data(data)
}
