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
use bowline_types::skills;
use bowline_types::tasks::EXTENSION;
use bowline_types::tools::ListToolsResult;
use bowline_types::{Era, ErrorObject, JsonObject, Method, RawJson, Revisions};
use tokio::time::timeout;

use super::caching::{Cacheable, Caching};
use super::features::{Contents, ServerFeatures};
use super::named_table::NamedTable;
use super::resource::resolve_not_found;
use super::server_core::add_server_info;
use super::service::{
    ClientRequest, Serve, encode_result_with, method_not_found, served_by_session,
};
use super::skills::SkillSet;
use super::tasks::{TaskMode, TaskStore, create_task_result, run_task};
use super::tool::{CallParams, ToolDef, ToolFuture, unknown_tool};
use crate::RpcResult;
use crate::transport::BoxFuture;

/// The service of the registered features.
#[derive(Debug)]
pub(super) struct Dispatch {
    pub(super) features: ServerFeatures,
    pub(super) revisions: Revisions,
    pub(super) has_logging: bool,
    pub(super) instructions: Option<String>,
    pub(super) page_size: usize,
    /// The caching of lists and of `server/discover`.
    pub(super) caching: Caching,
    /// The server information in each result of the stateless era, as an encoded member.
    pub(super) meta: Arc<str>,
    /// The full server information, for `server/discover`.
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
            _ => Box::pin(std::future::ready(self.serve_list(&contents, &request))),
        }
    }
}

impl Dispatch {
    /// Returns the capabilities without extensions.
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
            tasks.list = self.tasks.has_list().then(JsonObject::new);
            capabilities.tasks = Some(tasks);
        }
        capabilities
    }

    /// Serves a request that needs no handler: lists, and `server/discover`.
    fn serve_list(&self, contents: &Contents, request: &ClientRequest) -> RpcResult {
        if let Some(reply) = served_by_session(request) {
            return reply;
        }
        let unknown = || method_not_found(request.method());
        match request.known_method().ok_or_else(unknown)? {
            Method::Discover => self.discover(request),
            Method::ListTools if contents.has_tools() => {
                let (page, next) = self.list_page(&contents.tools, request)?;
                let tools: Vec<_> = page.into_iter().map(|tool| tool.tool.clone()).collect();
                let mut result = ListToolsResult::new(tools).cached(self.caching);
                result.next_cursor = next;
                encode_result_with(&request.context, &result, self.meta_for(request))
            }
            Method::ListResources if contents.has_resources() => {
                let (page, next) = self.list_page(&contents.resources, request)?;
                let resources: Vec<_> = page
                    .into_iter()
                    .map(|resource| resource.resource.clone())
                    .collect();
                let mut result = ListResourcesResult::new(resources).cached(self.caching);
                result.next_cursor = next;
                encode_result_with(&request.context, &result, self.meta_for(request))
            }
            Method::ListResourceTemplates if contents.has_resources() => {
                let (page, next) = self.list_page(&contents.templates, request)?;
                let templates: Vec<_> = page
                    .into_iter()
                    .map(|template| template.template.clone())
                    .collect();
                let mut result = ListResourceTemplatesResult::new(templates).cached(self.caching);
                result.next_cursor = next;
                encode_result_with(&request.context, &result, self.meta_for(request))
            }
            Method::ListPrompts if contents.has_prompts() => {
                let (page, next) = self.list_page(&contents.prompts, request)?;
                let prompts: Vec<_> = page
                    .into_iter()
                    .map(|prompt| prompt.prompt.clone())
                    .collect();
                let mut result = ListPromptsResult::new(prompts).cached(self.caching);
                result.next_cursor = next;
                encode_result_with(&request.context, &result, self.meta_for(request))
            }
            method => match &contents.skills {
                Some(skills) => self.serve_skills(skills, method, request),
                None => Err(unknown()),
            },
        }
    }

    /// Serves the methods of the skills extension.
    fn serve_skills(
        &self,
        skills: &SkillSet,
        method: Method,
        request: &ClientRequest,
    ) -> RpcResult {
        let (context, meta) = (&request.context, self.meta_for(request));
        match method {
            Method::ListSkills => {
                let params: PaginatedParams = request.decode()?;
                let cursor = params.cursor.as_deref();
                let result = skills.list(cursor, request.method(), self.page_size)?;
                encode_result_with(context, &result.cached(self.caching), meta)
            }
            Method::GetSkill => {
                let result = skills.get(request)?.cached(self.caching);
                encode_result_with(context, &result, meta)
            }
            Method::ReadDirectory => {
                let result = skills.read_directory(request, self.page_size)?;
                encode_result_with(context, &result, meta)
            }
            _ => Err(method_not_found(request.method())),
        }
    }

    fn discover(&self, request: &ClientRequest) -> RpcResult {
        let versions: Vec<String> = self.revisions.iter().map(String::from).collect();
        let mut capabilities = self.capabilities();
        if capabilities.tasks.is_some() {
            // TX-19: each generation of tasks is declared in its own revision.
            capabilities.add_extension(EXTENSION);
        }
        if self.features.contents().skills.is_some() {
            let settings: JsonObject = [("directoryRead", true)].into_iter().collect();
            let extensions = capabilities.extensions.get_or_insert_with(JsonObject::new);
            extensions.insert(skills::EXTENSION, settings);
        }
        let mut result = DiscoverResult::new(versions, capabilities).cached(self.caching);
        result.instructions.clone_from(&self.instructions);
        encode_result_with(&request.context, &result, &self.full_meta)
    }

    fn list_page<'t, T>(
        &self,
        table: &'t NamedTable<T>,
        request: &ClientRequest,
    ) -> Result<(Vec<&'t Arc<T>>, Option<String>), ErrorObject> {
        let params: PaginatedParams = request.decode()?;
        let page = table.page(request.method(), params.cursor.as_deref(), self.page_size);
        // PG-5.
        page.ok_or_else(|| {
            ErrorObject::invalid_params("invalid params.cursor: not a cursor of this list")
        })
    }

    /// Returns the server information for a result.
    fn meta_for(&self, request: &ClientRequest) -> &str {
        match request.context.revision().era() {
            Era::Handshake => "",
            Era::Stateless => &self.meta,
        }
    }

    /// Returns the server information for a result that is encoded later.
    fn owned_meta_for(&self, request: &ClientRequest) -> Option<Arc<str>> {
        let era = request.context.revision().era();
        (era == Era::Stateless).then(|| Arc::clone(&self.meta))
    }

    fn call_tool(
        &self,
        contents: &Contents,
        request: ClientRequest,
    ) -> BoxFuture<'static, RpcResult> {
        let meta = self.owned_meta_for(&request);
        let offered = check_offered(contents.has_tools(), &request);
        let call = offered.and_then(|()| CallParams::of(request.params.as_ref()));
        let called = call.and_then(|call| {
            let tool = contents.tools.get(&call.name);
            let tool = tool.ok_or_else(|| unknown_tool(&call.name))?;
            let mode = match (tool.tasks, call.task) {
                (None, None) => TaskMode::Plain,
                (rule, asked) => {
                    let offers = || contents.has_task_tools();
                    TaskMode::select(rule, asked, offers, &request.context)?
                }
            };
            match mode {
                TaskMode::Plain => Ok(Ok(tool.call(call.arguments, &request.context))),
                TaskMode::TaskAfter(after) => {
                    let called = tool.call(call.arguments, &request.context);
                    Ok(Err(self.call_with_task_fallback(called, &request, after)))
                }
                TaskMode::Task(ttl) => {
                    let begun = self.call_as_task(tool, call.arguments, &request, ttl);
                    Ok(Err(Box::pin(std::future::ready(begun))))
                }
            }
        });
        match called {
            Err(error) => Box::pin(std::future::ready(Err(error))),
            Ok(Err(replying)) => replying,
            Ok(Ok(called)) => Box::pin(async move {
                let mut result = called.await?;
                let meta = add_server_info(&mut result.meta, meta.as_deref());
                encode_result_with(&request.context, &result, meta)
            }),
        }
    }

    /// Calls a tool as a task.
    fn call_as_task(
        &self,
        tool: &Arc<ToolDef>,
        arguments: &str,
        request: &ClientRequest,
        ttl: Option<i64>,
    ) -> RpcResult {
        let context = &request.context;
        let entry = self.tasks.create(context, ttl)?;
        let reply = create_task_result(&entry, context, self.meta_for(request));
        if !context.become_task(&entry) {
            // A layer has served the request twice: it is one task, and runs once.
            self.tasks.discard(&entry);
            let error = || ErrorObject::internal_error("this request can't become a task");
            let begun = context.task().ok_or_else(error)?;
            return create_task_result(&begun, context, self.meta_for(request));
        }
        let (tool, arguments) = (Arc::clone(tool), arguments.to_owned());
        let (caller, context) = (context.clone(), context.clone());
        // Called within the task, so that a panic fails only the task.
        let called = Box::pin(async move { tool.call(&arguments, &caller).await });
        run_task(&self.tasks, entry, context, called);
        reply
    }

    /// Responds with the result if it is ready in time, and with a task otherwise.
    fn call_with_task_fallback(
        &self,
        mut called: ToolFuture,
        request: &ClientRequest,
        after: Duration,
    ) -> BoxFuture<'static, RpcResult> {
        let meta = self.owned_meta_for(request);
        let (context, tasks) = (request.context.clone(), Arc::clone(&self.tasks));
        Box::pin(async move {
            let mut result = match timeout(after, &mut called).await {
                Ok(result) => result?,
                Err(_) => match tasks.create_late(&context) {
                    Some(entry) => {
                        let reply = create_task_result(
                            &entry,
                            &context,
                            meta.as_deref().unwrap_or_default(),
                        );
                        run_task(&tasks, entry, context, called);
                        return reply;
                    }
                    None => called.await?,
                },
            };
            let meta = add_server_info(&mut result.meta, meta.as_deref());
            encode_result_with(&context, &result, meta)
        })
    }

    fn read_resource(
        &self,
        contents: &Contents,
        request: ClientRequest,
    ) -> BoxFuture<'static, RpcResult> {
        let revision = request.context.revision();
        let offered = check_offered(contents.has_resources(), &request);
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
        let meta = self.owned_meta_for(&request);
        match read {
            Err(error) => Box::pin(std::future::ready(Err(error))),
            Ok((uri, read)) => Box::pin(async move {
                let mut result = read
                    .await
                    .map_err(|error| resolve_not_found(error, &uri, revision))?;
                let meta = add_server_info(&mut result.meta, meta.as_deref());
                encode_result_with(&request.context, &result, meta)
            }),
        }
    }

    fn get_prompt(
        &self,
        contents: &Contents,
        request: ClientRequest,
    ) -> BoxFuture<'static, RpcResult> {
        let offered = check_offered(contents.has_prompts(), &request);
        let got = offered.and_then(|()| {
            let params: GetPromptParams = request.decode()?;
            let prompt = contents.prompts.get(&params.name).ok_or_else(|| {
                let name: String = params.name.chars().take(128).collect();
                ErrorObject::invalid_params(format!("no prompt named {name:?}"))
            })?;
            let arguments = params.arguments.unwrap_or_default();
            let arguments: Vec<_> = arguments.into_iter().collect();
            Ok((Arc::clone(prompt), prompt.get(&arguments, &request.context)))
        });
        let meta = self.owned_meta_for(&request);
        match got {
            Err(error) => Box::pin(std::future::ready(Err(error))),
            Ok((prompt, got)) => Box::pin(async move {
                let mut result = got.await?;
                if result.description.is_none() {
                    result.description.clone_from(&prompt.prompt.description);
                }
                let meta = add_server_info(&mut result.meta, meta.as_deref());
                encode_result_with(&request.context, &result, meta)
            }),
        }
    }

    fn complete(
        &self,
        contents: &Contents,
        request: ClientRequest,
    ) -> BoxFuture<'static, RpcResult> {
        let completed = find_completion(contents, &request);
        let meta = self.owned_meta_for(&request);
        match completed {
            Err(error) => Box::pin(std::future::ready(Err(error))),
            Ok(completed) => Box::pin(async move {
                let result = CompleteResult::new(completed.await?);
                encode_result_with(
                    &request.context,
                    &result,
                    meta.as_deref().unwrap_or_default(),
                )
            }),
        }
    }
}

/// Refuses a method that the server doesn't support, whatever its parameters are.
fn check_offered(is_offered: bool, request: &ClientRequest) -> Result<(), ErrorObject> {
    if is_offered {
        Ok(())
    } else {
        Err(method_not_found(request.method()))
    }
}

/// Finds the completion of an argument. Without one there are no suggestions, where the prompt or
/// template exists (CP-5).
fn find_completion(
    contents: &Contents,
    request: &ClientRequest,
) -> Result<super::prompt::CompletionFuture, ErrorObject> {
    check_offered(contents.has_completers(), request)?;
    let params: CompleteParams = request.decode()?;
    let invalid = |message: String| ErrorObject::invalid_params(message);
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
        _ => {
            return Err(invalid(
                "params.ref.type must be \"ref/prompt\" or \"ref/resource\"".to_owned(),
            ));
        }
    };
    if !exists {
        let of: String = of.chars().take(256).collect();
        return Err(invalid(format!(
            "no prompt or resource template named {of:?} to complete"
        )));
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
