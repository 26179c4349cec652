//! [`Handler`]: full control over every request, for proxies and for lists that come from
//! elsewhere.

use std::future::{Future, ready};
use std::ops::ControlFlow;
use std::sync::Arc;

use bowline_proto::Payload;
use bowline_types::capabilities::ServerCapabilities;
use bowline_types::completion::{CompleteParams, CompleteResult};
use bowline_types::lifecycle::DiscoverResult;
use bowline_types::logging::{LoggingLevel, SetLevelParams};
use bowline_types::pagination::PaginatedParams;
use bowline_types::prompts::{GetPromptParams, GetPromptResult, ListPromptsResult};
use bowline_types::resources::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceParams, ReadResourceResult,
};
use bowline_types::tools::{CallToolParams, CallToolResult, ListToolsResult};
use bowline_types::{Era, ErrorObject, Method, Revisions};

use super::context::Context;
use super::resource_subscriptions::{QueuePlace, apply_to_session};
use super::server_core::add_server_info;
use super::service::{ClientRequest, Serve, encode_result_with, method_not_found};
use crate::RpcResult;
use crate::transport::BoxFuture;

/// Serves requests by method, without the registered features: see
/// [`Server::with_handler`](super::Server::with_handler).
///
/// Methods that are not implemented get the error "method not found". Declare those that are
/// with [`capabilities`](Self::capabilities).
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
///
/// Arguments are not checked against the listed schemas: the handler has to do that.
///
/// A handler whose lists change declares that in its capabilities (`list_changed`, and `subscribe`
/// for resources), and announces changes with the server's
/// [`ServerFeatures`](super::ServerFeatures), which [`Server::features`](super::Server::features)
/// and [`Context::features`] return: [`notify_tools_changed`](super::ServerFeatures::notify_tools_changed),
/// [`notify_resource_updated`](super::ServerFeatures::notify_resource_updated) and so on.
pub trait Handler: Send + Sync + 'static {
    /// Returns the capabilities of the server. Called once for each client, and for each
    /// `server/discover`.
    fn capabilities(&self) -> ServerCapabilities {
        ServerCapabilities::new()
    }

    /// Receives every request, before it is dispatched to one of the methods below. `Break` answers
    /// it with a response as it is, and `Continue` dispatches it, which is the default. A result in
    /// place of another one, such as questions of 2026-07-28 (`input_required`) or a task, can be
    /// passed through so.
    ///
    /// Return `Continue` for `resources/subscribe`, `resources/unsubscribe`, `subscriptions/listen`
    /// and `logging/setLevel`, unless the server sends its clients no notifications: there are
    /// methods for them below.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use bowline::Client;
    /// use bowline::RpcResult;
    /// use bowline::server::{ClientRequest, Handler};
    /// use bowline::types::ErrorObject;
    ///
    /// struct Proxy { upstream: Client }
    ///
    /// impl Handler for Proxy {
    ///     async fn on_request(&self, request: ClientRequest) -> ControlFlow<RpcResult, ClientRequest> {
    ///         if request.method() != "tools/call" {
    ///             return ControlFlow::Continue(request);
    ///         }
    ///         let result = self.upstream.call("tools/call", request.params()).raw().await;
    ///         ControlFlow::Break(result.map_err(|error| match error.server_error() {
    ///             Some(error) => error.clone(),
    ///             None => ErrorObject::internal_error("the server behind this one is gone"),
    ///         }))
    ///     }
    /// }
    /// ```
    fn on_request(
        &self,
        request: ClientRequest,
    ) -> impl Future<Output = ControlFlow<RpcResult, ClientRequest>> + Send {
        ready(ControlFlow::Continue(request))
    }

    /// Handles `tools/list`.
    fn list_tools(
        &self,
        params: PaginatedParams,
        context: Context,
    ) -> impl Future<Output = Result<ListToolsResult, ErrorObject>> + Send {
        refused(params, context)
    }

    /// Handles `tools/call`.
    fn call_tool(
        &self,
        params: CallToolParams,
        context: Context,
    ) -> impl Future<Output = Result<CallToolResult, ErrorObject>> + Send {
        refused(params, context)
    }

    /// Handles `resources/list`.
    fn list_resources(
        &self,
        params: PaginatedParams,
        context: Context,
    ) -> impl Future<Output = Result<ListResourcesResult, ErrorObject>> + Send {
        refused(params, context)
    }

    /// Handles `resources/templates/list`.
    fn list_resource_templates(
        &self,
        params: PaginatedParams,
        context: Context,
    ) -> impl Future<Output = Result<ListResourceTemplatesResult, ErrorObject>> + Send {
        refused(params, context)
    }

    /// Handles `resources/read`.
    fn read_resource(
        &self,
        params: ReadResourceParams,
        context: Context,
    ) -> impl Future<Output = Result<ReadResourceResult, ErrorObject>> + Send {
        refused(params, context)
    }

    /// Handles `prompts/list`.
    fn list_prompts(
        &self,
        params: PaginatedParams,
        context: Context,
    ) -> impl Future<Output = Result<ListPromptsResult, ErrorObject>> + Send {
        refused(params, context)
    }

    /// Handles `prompts/get`.
    fn get_prompt(
        &self,
        params: GetPromptParams,
        context: Context,
    ) -> impl Future<Output = Result<GetPromptResult, ErrorObject>> + Send {
        refused(params, context)
    }

    /// Handles `completion/complete`.
    fn complete(
        &self,
        params: CompleteParams,
        context: Context,
    ) -> impl Future<Output = Result<CompleteResult, ErrorObject>> + Send {
        refused(params, context)
    }

    /// Accepts a subscription to a resource: by `resources/subscribe`, or by `subscriptions/listen`
    /// of 2026-07-28, for each of its resources. The default accepts. Announce changes with
    /// [`ServerFeatures::notify_resource_updated`](super::ServerFeatures::notify_resource_updated).
    ///
    /// An error refuses it: it is the response to `resources/subscribe`, and `subscriptions/listen`
    /// is honoured without the resource. Not called again for a resource to which the client has
    /// subscribed already.
    ///
    /// It may take its time: later requests of the client about the same resource wait, and are
    /// served in the order of arrival.
    fn on_subscribe(
        &self,
        uri: &str,
        context: &Context,
    ) -> impl Future<Output = Result<(), ErrorObject>> + Send {
        let _ = (uri, context);
        ready(Ok(()))
    }

    /// Ends a subscription: called once for each time that [`on_subscribe`](Self::on_subscribe) has
    /// accepted one. The client has unsubscribed, its request has ended, or it is gone. `context`
    /// is that of the request that began it.
    ///
    /// The connection runs it, so it has to be quick: no handler is started before it returns.
    fn on_unsubscribe(&self, uri: &str, context: &Context) {
        let _ = (uri, context);
    }

    /// Handles `logging/setLevel` (until 2025-11-25): the client wants log messages of this level
    /// and above. An error refuses it; the default accepts.
    fn set_level(
        &self,
        level: LoggingLevel,
        context: &Context,
    ) -> impl Future<Output = Result<(), ErrorObject>> + Send {
        let _ = (level, context);
        ready(Ok(()))
    }

    /// Handles all other requests, and methods that the protocol doesn't define, such as those of
    /// an extension: [`ClientRequest::method`] has the name. Layers see them, and they are limited
    /// and cancelled as all requests are.
    fn on_other_request(&self, request: ClientRequest) -> impl Future<Output = RpcResult> + Send {
        ready(Err(method_not_found(request.method())))
    }

    /// Handles a notification of the client, also one that the protocol doesn't define.
    /// Notifications for the session itself are not passed on: `notifications/initialized`,
    /// cancellations and progress. The default ignores it.
    ///
    /// The connection runs it, so it has to be quick: messages that arrive after the notification
    /// wait until it returns.
    fn on_notification(&self, method: &str, params: Option<&Payload>) {
        let _ = (method, params);
    }
}

fn refused<P, T>(_: P, context: Context) -> impl Future<Output = Result<T, ErrorObject>> + Send
where
    T: Send,
{
    ready(Err(method_not_found(context.method())))
}

/// Serves requests with a [`Handler`].
pub(super) struct HandlerService<H> {
    pub(super) handler: Arc<H>,
    pub(super) revisions: Revisions,
    pub(super) instructions: Option<String>,
    pub(super) meta: Arc<str>,
    /// The full server information, for `server/discover`.
    pub(super) full_meta: Arc<str>,
}

/// Decodes the parameters, runs a method of the handler, and encodes its result with the server
/// information.
macro_rules! respond_with {
    ($service:ident, $request:ident, $method:ident) => {{
        let params = $request.decode()?;
        $request.context.begin_rounds()?;
        let handled = $service.handler.$method(params, $request.context.clone());
        let mut result = handled.await?;
        let meta = $service.meta_for(&$request.context);
        let meta = add_server_info(&mut result.meta, meta.as_deref());
        encode_result_with(&$request.context, &result, meta)
    }};
}

impl<H: Handler> Serve for Arc<HandlerService<H>> {
    fn serve(&self, request: ClientRequest) -> BoxFuture<'static, RpcResult> {
        let service = Self::clone(self);
        let place = QueuePlace::enqueue(&request);
        Box::pin(async move {
            let request = match service.handler.on_request(request).await {
                ControlFlow::Break(reply) => return reply,
                ControlFlow::Continue(request) => request,
            };
            if let Some(place) = &place {
                place.wait().await;
            }
            service.dispatch(request).await
        })
    }

    fn handle_notification(&self, method: &str, params: Option<&Payload>) {
        self.handler.on_notification(method, params);
    }
}

impl<H: Handler> HandlerService<H> {
    async fn dispatch(self: Arc<Self>, request: ClientRequest) -> RpcResult {
        let Some(method) = request.known_method() else {
            return self.handler.on_other_request(request).await;
        };
        let applied = match method {
            Method::Discover => return self.discover(&request),
            Method::ListTools => return respond_with!(self, request, list_tools),
            Method::CallTool => return respond_with!(self, request, call_tool),
            Method::ListResources => return respond_with!(self, request, list_resources),
            Method::ListResourceTemplates => {
                return respond_with!(self, request, list_resource_templates);
            }
            Method::ReadResource => return respond_with!(self, request, read_resource),
            Method::ListPrompts => return respond_with!(self, request, list_prompts),
            Method::GetPrompt => return respond_with!(self, request, get_prompt),
            Method::Complete => return respond_with!(self, request, complete),
            Method::Subscribe => self.subscribe(&request).await,
            Method::Unsubscribe => self.unsubscribe(&request),
            // The result is sent when the subscription ends.
            Method::Listen => self.listen(&request).await,
            Method::SetLevel => self.set_level(&request).await,
            _ => return self.handler.on_other_request(request).await,
        };
        applied.map(|()| Payload::EMPTY)
    }

    async fn set_level(&self, request: &ClientRequest) -> Result<(), ErrorObject> {
        if self.handler.capabilities().logging.is_none() {
            return Err(method_not_found(request.method()));
        }
        let params: SetLevelParams = request.decode()?;
        let context = &request.context;
        self.handler.set_level(params.level, context).await?;
        apply_to_session(request)
    }

    fn discover(&self, request: &ClientRequest) -> RpcResult {
        let versions: Vec<String> = self.revisions.iter().map(String::from).collect();
        let mut result = DiscoverResult::new(versions, self.handler.capabilities());
        result.instructions.clone_from(&self.instructions);
        encode_result_with(&request.context, &result, &self.full_meta)
    }

    fn meta_for(&self, context: &Context) -> Option<Arc<str>> {
        let is_stateless = context.revision().era() == Era::Stateless;
        is_stateless.then(|| Arc::clone(&self.meta))
    }
}
