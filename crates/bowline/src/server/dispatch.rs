//! Serves requests from the registered features.

use std::sync::Arc;
use std::time::Duration;

use bowline_types::capabilities::{
    ServerCapabilities, ServerTaskRequests, ServerTasksCapability, ToolTaskRequests,
};
use bowline_types::completion::{CompleteParams, CompleteResult, Reference};
use bowline_types::lifecycle::DiscoverResult;
use bowline_types::pagination::PaginatedParams;
use bowline_types::prompts::{GetPromptParams, ListPromptsResult};
use bowline_types::resources::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceParams,
};
use bowline_types::tasks::EXTENSION;
use bowline_types::tools::ListToolsResult;
use bowline_types::{Era, ErrorObject, JsonObject, Method, RawJson, Revisions};
use tokio::time::timeout;

use super::caching::{Cacheable, Caching};
use super::features::{Contents, ServerFeatures};
use super::named_table::Table;
use super::resource::settle;
use super::server_core::named;
use super::service::{ClientRequest, Serve, method_not_found, say_with, served_by_session};
use super::tasks::{TaskStore, Way, created, run};
use super::tool::{CallText, Called, ToolDef, no_such_tool};
use crate::RpcResult;
use crate::transport::BoxFuture;

/// Serves what is registered.
#[derive(Debug)]
pub(super) struct Dispatch {
    pub(super) features: ServerFeatures,
    pub(super) revisions: Revisions,
    pub(super) has_logging: bool,
    pub(super) instructions: Option<String>,
    pub(super) page_size: usize,
    /// Of lists, and of what the server says of itself.
    pub(super) caching: Caching,
    /// What each result of the stateless era says of the server, as an encoded member.
    pub(super) meta: Arc<str>,
    /// The same for who discovers it, with all that there is to say.
    pub(super) full_meta: Arc<str>,
    pub(super) tasks: Arc<TaskStore>,
}

impl Serve for Dispatch {
    fn serve(&self, request: ClientRequest) -> BoxFuture<'static, RpcResult> {
        let contents = self.features.contents();
        let Some(method) = request.known_method() else {
            let refused = Err(method_not_found(request.method()));
            return Box::pin(std::future::ready(refused));
        };
        match method {
            Method::CallTool => self.call_tool(&contents, request),
            Method::ReadResource => self.read_resource(&contents, request),
            Method::GetPrompt => self.get_prompt(&contents, request),
            Method::Complete => self.complete(&contents, request),
            Method::GetTask
            | Method::GetTaskPayload
            | Method::ListTasks
            | Method::CancelTask
            | Method::UpdateTask
                if contents.has_task_tools() =>
            {
                let meta = self.meta_for(&request).to_owned();
                self.tasks.serve(request, &meta, self.page_size)
            }
            _ => Box::pin(std::future::ready(self.look(&contents, &request))),
        }
    }
}

impl Dispatch {
    /// What the server can do, but for extensions.
    pub(super) fn capabilities(&self) -> ServerCapabilities {
        let contents = self.features.contents();
        let mut capabilities = contents.capabilities();
        if self.has_logging {
            capabilities.logging = Some(JsonObject::new());
        }
        if contents.has_task_tools() {
            let calls = ToolTaskRequests::new().call(JsonObject::new());
            let mut tasks = ServerTasksCapability::new()
                .cancel(JsonObject::new())
                .requests(ServerTaskRequests::new().tools(calls));
            tasks.list = self.tasks.is_listed().then(JsonObject::new);
            capabilities.tasks = Some(tasks);
        }
        capabilities
    }

    /// What needs no handler.
    fn look(&self, contents: &Contents, request: &ClientRequest) -> RpcResult {
        if let Some(reply) = served_by_session(request) {
            return reply;
        }
        let unknown = || method_not_found(request.method());
        match request.known_method().ok_or_else(unknown)? {
            Method::Discover => self.discover(request),
            Method::ListTools if contents.has_tools() => {
                let (page, next) = self.page(&contents.tools, request)?;
                let tools: Vec<_> = page.into_iter().map(|it| it.tool.clone()).collect();
                let mut result = ListToolsResult::new(tools).cached(self.caching);
                result.next_cursor = next;
                say_with(&request.context, &result, self.meta_for(request))
            }
            Method::ListResources if contents.has_resources() => {
                let (page, next) = self.page(&contents.resources, request)?;
                let resources: Vec<_> = page.into_iter().map(|it| it.resource.clone()).collect();
                let mut result = ListResourcesResult::new(resources).cached(self.caching);
                result.next_cursor = next;
                say_with(&request.context, &result, self.meta_for(request))
            }
            Method::ListResourceTemplates if contents.has_resources() => {
                let (page, next) = self.page(&contents.templates, request)?;
                let templates: Vec<_> = page.into_iter().map(|it| it.template.clone()).collect();
                let mut result = ListResourceTemplatesResult::new(templates).cached(self.caching);
                result.next_cursor = next;
                say_with(&request.context, &result, self.meta_for(request))
            }
            Method::ListPrompts if contents.has_prompts() => {
                let (page, next) = self.page(&contents.prompts, request)?;
                let prompts: Vec<_> = page.into_iter().map(|it| it.prompt.clone()).collect();
                let mut result = ListPromptsResult::new(prompts).cached(self.caching);
                result.next_cursor = next;
                say_with(&request.context, &result, self.meta_for(request))
            }
            _ => Err(unknown()),
        }
    }

    fn discover(&self, request: &ClientRequest) -> RpcResult {
        let versions: Vec<String> = self.revisions.iter().map(String::from).collect();
        let mut capabilities = self.capabilities();
        if capabilities.tasks.is_some() {
            // TX-19: each generation is declared where it is spoken.
            capabilities.add_extension(EXTENSION);
        }
        let mut result = DiscoverResult::new(versions, capabilities).cached(self.caching);
        result.instructions.clone_from(&self.instructions);
        say_with(&request.context, &result, &self.full_meta)
    }

    fn page<'t, T>(
        &self,
        table: &'t Table<T>,
        request: &ClientRequest,
    ) -> Result<(Vec<&'t Arc<T>>, Option<String>), ErrorObject> {
        let params: PaginatedParams = request.decode()?;
        let page = table.page(request.method(), params.cursor.as_deref(), self.page_size);
        // PG-5.
        page.ok_or_else(|| ErrorObject::invalid_params("params.cursor is none of this list"))
    }

    /// What a result says of the server.
    fn meta_for(&self, request: &ClientRequest) -> &str {
        match request.context.revision().era() {
            Era::Handshake => "",
            Era::Stateless => &self.meta,
        }
    }

    /// The same, for a result that comes later.
    fn later_meta(&self, request: &ClientRequest) -> Option<Arc<str>> {
        let era = request.context.revision().era();
        (era == Era::Stateless).then(|| Arc::clone(&self.meta))
    }

    fn call_tool(
        &self,
        contents: &Contents,
        request: ClientRequest,
    ) -> BoxFuture<'static, RpcResult> {
        let meta = self.later_meta(&request);
        let offered = offered(contents.has_tools(), &request);
        let call = offered.and_then(|()| CallText::read(request.params_json()));
        let called = call.and_then(|call| {
            let tool = contents.tools.get(&call.name);
            let tool = tool.ok_or_else(|| no_such_tool(&call.name))?;
            let way = match (tool.tasks, call.task) {
                (None, None) => Way::Plain,
                (rule, asked) => {
                    let offers = || contents.has_task_tools();
                    Way::of(rule, asked, offers, &request.context)?
                }
            };
            match way {
                Way::Plain => Ok(Ok(tool.call(call.arguments, &request.context))),
                Way::After(after) => {
                    let called = tool.call(call.arguments, &request.context);
                    Ok(Err(self.call_patiently(called, &request, after)))
                }
                Way::Task(ttl) => {
                    let begun = self.begin_task(tool, call.arguments, &request, ttl);
                    Ok(Err(Box::pin(std::future::ready(begun))))
                }
            }
        });
        match called {
            Err(error) => Box::pin(std::future::ready(Err(error))),
            Ok(Err(replying)) => replying,
            Ok(Ok(called)) => Box::pin(async move {
                let mut result = called.await?;
                let meta = named(&mut result.meta, meta.as_deref());
                say_with(&request.context, &result, meta)
            }),
        }
    }

    /// Calls a tool as a task.
    fn begin_task(
        &self,
        tool: &Arc<ToolDef>,
        arguments: &str,
        request: &ClientRequest,
        ttl: Option<i64>,
    ) -> RpcResult {
        let context = &request.context;
        let entry = self.tasks.begin(context, ttl)?;
        let reply = created(&entry, context, self.meta_for(request));
        if !context.become_task(&entry) {
            // A layer has it served twice: it is one task, and runs once.
            self.tasks.take_back(&entry);
            let words = || ErrorObject::internal_error("this request can't become a task");
            let begun = context.task().ok_or_else(words)?;
            return created(&begun, context, self.meta_for(request));
        }
        let (tool, arguments) = (Arc::clone(tool), arguments.to_owned());
        let (caller, context) = (context.clone(), context.clone());
        // Where a panic is the task's own affair.
        let called = Box::pin(async move { tool.call(&arguments, &caller).await });
        run(&self.tasks, entry, context, called);
        reply
    }

    /// Answers with the result if it is there soon, and with a task otherwise.
    fn call_patiently(
        &self,
        mut called: Called,
        request: &ClientRequest,
        after: Duration,
    ) -> BoxFuture<'static, RpcResult> {
        let meta = self.later_meta(request);
        let (context, tasks) = (request.context.clone(), Arc::clone(&self.tasks));
        Box::pin(async move {
            let mut result = match timeout(after, &mut called).await {
                Ok(result) => result?,
                Err(_) => match tasks.begin_late(&context) {
                    Some(entry) => {
                        let reply = created(&entry, &context, meta.as_deref().unwrap_or_default());
                        run(&tasks, entry, context, called);
                        return reply;
                    }
                    None => called.await?,
                },
            };
            let meta = named(&mut result.meta, meta.as_deref());
            say_with(&context, &result, meta)
        })
    }

    fn read_resource(
        &self,
        contents: &Contents,
        request: ClientRequest,
    ) -> BoxFuture<'static, RpcResult> {
        let revision = request.context.revision();
        let offered = offered(contents.has_resources(), &request);
        let read = offered.and_then(|()| {
            let params: ReadResourceParams = request.decode()?;
            let uri = params.uri;
            let read = match contents.resources.get(&uri) {
                Some(resource) => Some(resource.read(&uri, &request.context)),
                None => {
                    let mut templates = contents.templates.iter();
                    templates.find_map(|template| template.read(&uri, &request.context))
                }
            };
            let read = read.ok_or_else(|| ErrorObject::resource_not_found(&uri, revision))?;
            Ok((uri, read))
        });
        let meta = self.later_meta(&request);
        match read {
            Err(error) => Box::pin(std::future::ready(Err(error))),
            Ok((uri, read)) => Box::pin(async move {
                let mut result = read.await.map_err(|error| settle(error, &uri, revision))?;
                let meta = named(&mut result.meta, meta.as_deref());
                say_with(&request.context, &result, meta)
            }),
        }
    }

    fn get_prompt(
        &self,
        contents: &Contents,
        request: ClientRequest,
    ) -> BoxFuture<'static, RpcResult> {
        let offered = offered(contents.has_prompts(), &request);
        let got = offered.and_then(|()| {
            let params: GetPromptParams = request.decode()?;
            let prompt = contents.prompts.get(&params.name).ok_or_else(|| {
                let name: String = params.name.chars().take(128).collect();
                ErrorObject::invalid_params(format!("there is no prompt {name:?}"))
            })?;
            let arguments = params.arguments.unwrap_or_default();
            let arguments: Vec<_> = arguments.into_iter().collect();
            Ok((Arc::clone(prompt), prompt.get(&arguments, &request.context)))
        });
        let meta = self.later_meta(&request);
        match got {
            Err(error) => Box::pin(std::future::ready(Err(error))),
            Ok((prompt, got)) => Box::pin(async move {
                let mut result = got.await?;
                if result.description.is_none() {
                    result.description.clone_from(&prompt.prompt.description);
                }
                let meta = named(&mut result.meta, meta.as_deref());
                say_with(&request.context, &result, meta)
            }),
        }
    }

    fn complete(
        &self,
        contents: &Contents,
        request: ClientRequest,
    ) -> BoxFuture<'static, RpcResult> {
        let completed = completer(contents, &request);
        let meta = self.later_meta(&request);
        match completed {
            Err(error) => Box::pin(std::future::ready(Err(error))),
            Ok(completed) => Box::pin(async move {
                let result = CompleteResult::new(completed.await?);
                say_with(
                    &request.context,
                    &result,
                    meta.as_deref().unwrap_or_default(),
                )
            }),
        }
    }
}

/// Refuses a method that the server doesn't offer, whatever its parameters are.
fn offered(is_offered: bool, request: &ClientRequest) -> Result<(), ErrorObject> {
    match is_offered {
        true => Ok(()),
        false => Err(method_not_found(request.method())),
    }
}

/// Finds who completes an argument. Nobody suggests nothing, where the prompt or template
/// exists (CP-5).
fn completer(
    contents: &Contents,
    request: &ClientRequest,
) -> Result<super::prompt::Completed, ErrorObject> {
    offered(contents.has_completers(), request)?;
    let params: CompleteParams = request.decode()?;
    let invalid = |words: String| ErrorObject::invalid_params(words);
    let (of, exists) = match &params.reference {
        Reference::Prompt(prompt) => {
            let exists = contents.prompts.get(&prompt.name).is_some();
            (prompt.name.clone(), exists)
        }
        Reference::Resource(resource) => {
            let exists = contents.templates.get(&resource.uri).is_some()
                || contents.resources.get(&resource.uri).is_some();
            (resource.uri.clone(), exists)
        }
        _ => return Err(invalid("params.ref is not understood".to_owned())),
    };
    if !exists {
        let of: String = of.chars().take(256).collect();
        return Err(invalid(format!("there is no {of:?} to complete")));
    }
    let argument = params.argument;
    let Some(completer) = contents.completers.get(&(of, argument.name)) else {
        let nothing = bowline_types::completion::Completion::ranked(Vec::<String>::new());
        return Ok(Box::pin(std::future::ready(Ok(nothing))));
    };
    let known = params.context.and_then(|context| context.arguments);
    let known: JsonObject = known
        .unwrap_or_default()
        .iter()
        .map(|(name, value)| (name, RawJson::from(value.as_str())))
        .collect();
    let partial: JsonObject = [
        ("value", RawJson::from(argument.value.as_str())),
        ("arguments", RawJson::from(known)),
    ]
    .into_iter()
    .collect();
    Ok(completer.complete(partial.as_str(), &request.context))
}
