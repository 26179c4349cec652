//! A server with full control: for proxies, and for lists that come from elsewhere.

use std::future::{Future, ready};
use std::sync::Arc;

use bowline_types::capabilities::ServerCapabilities;
use bowline_types::completion::{CompleteParams, CompleteResult};
use bowline_types::lifecycle::DiscoverResult;
use bowline_types::pagination::PaginatedParams;
use bowline_types::prompts::{GetPromptParams, GetPromptResult, ListPromptsResult};
use bowline_types::resources::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceParams, ReadResourceResult,
};
use bowline_types::tools::{CallToolParams, CallToolResult, ListToolsResult};
use bowline_types::{Era, ErrorObject, Method, Revisions};

use super::context::Context;
use super::core::named;
use super::service::{Reply, Request, Serve, method_not_found, say_with};
use crate::transport::BoxFuture;

/// Answers requests by method, without a registry: see
/// [`Server::with_handler`](super::Server::with_handler).
///
/// What is not implemented is answered with "method not found". Declare what is with
/// [`capabilities`](Self::capabilities).
///
/// ```
/// use bowline::server::{Context, Handler, Server};
/// use bowline::types::capabilities::{ServerCapabilities, ToolsCapability};
/// use bowline::types::pagination::PaginatedParams;
/// use bowline::types::tools::{CallToolParams, CallToolResult, ListToolsResult, Tool};
/// use bowline::types::{ErrorObject, InputSchema};
///
/// struct Echo;
///
/// impl Handler for Echo {
///     fn capabilities(&self) -> ServerCapabilities {
///         ServerCapabilities::new().tools(ToolsCapability::new())
///     }
///
///     async fn list_tools(&self, _: PaginatedParams, _: Context) -> Result<ListToolsResult, ErrorObject> {
///         Ok(ListToolsResult::new([Tool::new("echo", InputSchema::empty())]))
///     }
///
///     async fn call_tool(&self, call: CallToolParams, _: Context) -> Result<CallToolResult, ErrorObject> {
///         Ok(CallToolResult::text(call.arguments.unwrap_or_default().to_string()))
///     }
/// }
///
/// let server = Server::with_handler("echo", "1.0.0", Echo);
/// ```
pub trait Handler: Send + Sync + 'static {
    /// What the server can do. It is asked once for each client, and for each
    /// `server/discover`.
    fn capabilities(&self) -> ServerCapabilities {
        ServerCapabilities::new()
    }

    /// `tools/list`.
    fn list_tools(
        &self,
        params: PaginatedParams,
        context: Context,
    ) -> impl Future<Output = Result<ListToolsResult, ErrorObject>> + Send {
        refused(params, context)
    }

    /// `tools/call`.
    fn call_tool(
        &self,
        params: CallToolParams,
        context: Context,
    ) -> impl Future<Output = Result<CallToolResult, ErrorObject>> + Send {
        refused(params, context)
    }

    /// `resources/list`.
    fn list_resources(
        &self,
        params: PaginatedParams,
        context: Context,
    ) -> impl Future<Output = Result<ListResourcesResult, ErrorObject>> + Send {
        refused(params, context)
    }

    /// `resources/templates/list`.
    fn list_resource_templates(
        &self,
        params: PaginatedParams,
        context: Context,
    ) -> impl Future<Output = Result<ListResourceTemplatesResult, ErrorObject>> + Send {
        refused(params, context)
    }

    /// `resources/read`.
    fn read_resource(
        &self,
        params: ReadResourceParams,
        context: Context,
    ) -> impl Future<Output = Result<ReadResourceResult, ErrorObject>> + Send {
        refused(params, context)
    }

    /// `prompts/list`.
    fn list_prompts(
        &self,
        params: PaginatedParams,
        context: Context,
    ) -> impl Future<Output = Result<ListPromptsResult, ErrorObject>> + Send {
        refused(params, context)
    }

    /// `prompts/get`.
    fn get_prompt(
        &self,
        params: GetPromptParams,
        context: Context,
    ) -> impl Future<Output = Result<GetPromptResult, ErrorObject>> + Send {
        refused(params, context)
    }

    /// `completion/complete`.
    fn complete(
        &self,
        params: CompleteParams,
        context: Context,
    ) -> impl Future<Output = Result<CompleteResult, ErrorObject>> + Send {
        refused(params, context)
    }

    /// Everything else that a client may ask.
    fn other(&self, request: Request) -> impl Future<Output = Reply> + Send {
        ready(Err(method_not_found(request.method())))
    }
}

fn refused<P, T>(_: P, context: Context) -> impl Future<Output = Result<T, ErrorObject>> + Send
where
    T: Send,
{
    ready(Err(method_not_found(context.method())))
}

/// Serves what a handler answers.
pub(super) struct HandlerService<H> {
    pub(super) handler: Arc<H>,
    pub(super) revisions: Revisions,
    pub(super) instructions: Option<String>,
    pub(super) meta: Arc<str>,
}

/// Decodes the parameters, runs a method of the handler, says its result with the server's
/// name in it.
macro_rules! answered {
    ($service:ident, $request:ident, $method:ident) => {{
        let handler = Arc::clone(&$service.handler);
        let meta = $service.meta_for(&$request.context);
        Box::pin(async move {
            let params = $request.decode()?;
            let mut result = handler.$method(params, $request.context.clone()).await?;
            let meta = named(&mut result.meta, meta.as_deref());
            say_with(&$request.context, &result, meta)
        })
    }};
}

impl<H: Handler> Serve for HandlerService<H> {
    fn serve(&self, request: Request) -> BoxFuture<'static, Reply> {
        match request.method {
            Method::Discover => Box::pin(ready(self.discover(&request))),
            Method::ListTools => answered!(self, request, list_tools),
            Method::CallTool => answered!(self, request, call_tool),
            Method::ListResources => answered!(self, request, list_resources),
            Method::ListResourceTemplates => answered!(self, request, list_resource_templates),
            Method::ReadResource => answered!(self, request, read_resource),
            Method::ListPrompts => answered!(self, request, list_prompts),
            Method::GetPrompt => answered!(self, request, get_prompt),
            Method::Complete => answered!(self, request, complete),
            _ => {
                let handler = Arc::clone(&self.handler);
                Box::pin(async move { handler.other(request).await })
            }
        }
    }
}

impl<H: Handler> HandlerService<H> {
    fn discover(&self, request: &Request) -> Reply {
        let versions: Vec<String> = self.revisions.iter().map(String::from).collect();
        let mut result = DiscoverResult::new(versions, self.handler.capabilities());
        result.instructions.clone_from(&self.instructions);
        let meta = self.meta_for(&request.context);
        say_with(
            &request.context,
            &result,
            meta.as_deref().unwrap_or_default(),
        )
    }

    fn meta_for(&self, context: &Context) -> Option<Arc<str>> {
        let is_stateless = context.revision().era() == Era::Stateless;
        is_stateless.then(|| Arc::clone(&self.meta))
    }
}
