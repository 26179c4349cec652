//! Middleware: tower layers around a whole server, or around one tool.

use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll};

use bowline_proto::Payload;
use bowline_types::ErrorObject;
use bowline_types::tools::CallToolResult;
use tower_layer::Layer;
use tower_service::Service as TowerService;

use super::context::Context;
use super::service::{ClientRequest, Serve, Service};
use super::telemetry::layer_failed;
use super::tool::{RunTool, rejection_result};
use super::validation::ToolValidators;
use crate::RpcResult;
use crate::transport::BoxFuture;

/// The service that a layer wraps, as a tower service.
#[derive(Clone, Debug)]
pub struct RequestService(pub(super) Service);

impl TowerService<ClientRequest> for RequestService {
    type Response = Payload;
    type Error = ErrorObject;
    type Future = BoxFuture<'static, RpcResult>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), ErrorObject>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: ClientRequest) -> Self::Future {
        self.0.0.serve(request)
    }
}

/// A service with a layer around it. A tower service serves one request at a time, so each request
/// has a clone.
struct Layered<S>(Mutex<S>);

impl<S> Serve for Layered<S>
where
    S: TowerService<ClientRequest, Response = Payload> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
{
    fn serve(&self, request: ClientRequest) -> BoxFuture<'static, RpcResult> {
        let service = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let service = service.clone();
        Box::pin(call_layer(service, request.context.clone(), request))
    }
}

/// An error of a layer: an [`ErrorObject`], which the client gets, or another one, which is
/// logged.
pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Sends a request through a service that is used for it alone.
async fn call_layer<S, R>(
    mut service: S,
    context: Context,
    request: R,
) -> Result<S::Response, ErrorObject>
where
    S: TowerService<R>,
    S::Error: Into<BoxError>,
{
    let refused = |error: S::Error| {
        let error = error.into().downcast::<ErrorObject>();
        error.map_or_else(
            |error| {
                layer_failed(&context, &error);
                ErrorObject::internal_error("a middleware layer failed")
            },
            |error| *error,
        )
    };
    poll_fn(|cx| service.poll_ready(cx))
        .await
        .map_err(refused)?;
    service.call(request).await.map_err(refused)
}

/// Puts a layer around a service.
pub(super) fn wrap<L>(service: Service, layer: &L) -> Service
where
    L: Layer<RequestService>,
    L::Service: TowerService<ClientRequest, Response = Payload> + Clone + Send + 'static,
    <L::Service as TowerService<ClientRequest>>::Error: Into<BoxError>,
    <L::Service as TowerService<ClientRequest>>::Future: Send + 'static,
{
    let layered = layer.layer(RequestService(service));
    Service(Arc::new(Layered(Mutex::new(layered))))
}

/// The service behind a function that wraps it: see [`Server::middleware`](super::Server::middleware).
#[derive(Clone, Debug)]
pub struct Next(Service);

impl Next {
    /// Serves a request. Cancel safe: dropping the future cancels it.
    ///
    /// # Errors
    ///
    /// The error for the client, unless the function around it returns another one.
    pub async fn run(self, request: ClientRequest) -> RpcResult {
        self.0.0.serve(request).await
    }
}

/// A service with a function around it.
struct FunctionLayer<F> {
    function: Arc<F>,
    service: Service,
}

impl<F, Fut> Serve for FunctionLayer<F>
where
    F: Fn(ClientRequest, Next) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = RpcResult> + Send + 'static,
{
    fn serve(&self, request: ClientRequest) -> BoxFuture<'static, RpcResult> {
        let function = Arc::clone(&self.function);
        let next = Next(self.service.clone());
        // The function runs within the future of the request, as a layer does: its panic harms no
        // other request.
        Box::pin(async move { function(request, next).await })
    }
}

/// Puts a function around a service.
pub(super) fn wrap_function<F, Fut>(service: Service, function: F) -> Service
where
    F: Fn(ClientRequest, Next) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = RpcResult> + Send + 'static,
{
    let function = Arc::new(function);
    Service(Arc::new(FunctionLayer { function, service }))
}

/// A call of a tool, as a layer around the tool sees it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolRequest {
    /// The arguments: a JSON object, not yet checked.
    pub arguments: String,
    /// The context of the request.
    pub context: Context,
    checks: ToolValidators,
}

/// The tool that a layer wraps, as a tower service.
#[derive(Clone)]
pub struct ToolService(Arc<RunTool>);

impl TowerService<ToolRequest> for ToolService {
    type Response = CallToolResult;
    type Error = ErrorObject;
    type Future = BoxFuture<'static, Result<CallToolResult, ErrorObject>>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), ErrorObject>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: ToolRequest) -> Self::Future {
        match (self.0)(&call.arguments, &call.context, &call.checks) {
            Ok(called) => called,
            Err(rejection) => {
                let rejected = rejection_result(rejection, call.context.revision());
                Box::pin(std::future::ready(rejected))
            }
        }
    }
}

impl fmt::Debug for ToolService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ToolService")
    }
}

/// Puts a layer around a tool.
pub(super) fn wrap_tool<L>(run: Arc<RunTool>, layer: &L) -> Arc<RunTool>
where
    L: Layer<ToolService>,
    L::Service: TowerService<ToolRequest, Response = CallToolResult> + Clone + Send + 'static,
    <L::Service as TowerService<ToolRequest>>::Error: Into<BoxError>,
    <L::Service as TowerService<ToolRequest>>::Future: Send + 'static,
{
    let layered = Mutex::new(layer.layer(ToolService(run)));
    Arc::new(move |arguments, context, checks| {
        let service = layered.lock().unwrap_or_else(PoisonError::into_inner);
        let service = service.clone();
        let call = ToolRequest {
            arguments: arguments.to_owned(),
            context: context.clone(),
            checks: checks.clone(),
        };
        Ok(Box::pin(call_layer(service, context.clone(), call)))
    })
}
