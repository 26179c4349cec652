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
use super::service::{Reply, Request, Serve, Service};
use super::tool::{Run, rejected};
use crate::transport::BoxFuture;

/// What a layer wraps: whoever serves requests, as a tower service.
#[derive(Clone, Debug)]
pub struct RequestService(pub(super) Service);

impl TowerService<Request> for RequestService {
    type Response = Payload;
    type Error = ErrorObject;
    type Future = BoxFuture<'static, Reply>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), ErrorObject>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        self.0.0.serve(request)
    }
}

/// A service with layers around it. A tower service is used by one at a time, so each request
/// has a clone.
struct Layered<S>(Mutex<S>);

impl<S> Serve for Layered<S>
where
    S: TowerService<Request, Response = Payload, Error = ErrorObject> + Clone + Send + 'static,
    S::Future: Send + 'static,
{
    fn serve(&self, request: Request) -> BoxFuture<'static, Reply> {
        let service = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut service = service.clone();
        Box::pin(async move {
            poll_fn(|cx| service.poll_ready(cx)).await?;
            service.call(request).await
        })
    }
}

/// Puts a layer around whoever serves requests.
pub(super) fn wrap<L>(service: Service, layer: &L) -> Service
where
    L: Layer<RequestService>,
    L::Service:
        TowerService<Request, Response = Payload, Error = ErrorObject> + Clone + Send + 'static,
    <L::Service as TowerService<Request>>::Future: Send + 'static,
{
    let layered = layer.layer(RequestService(service));
    Service(Arc::new(Layered(Mutex::new(layered))))
}

/// A call of a tool, as a layer around the tool sees it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolCall {
    /// Its arguments: a JSON object, not yet checked.
    pub arguments: String,
    /// Where it comes from.
    pub context: Context,
}

/// What a layer around a tool wraps: the tool, as a tower service.
#[derive(Clone)]
pub struct ToolService(Arc<Run>);

impl TowerService<ToolCall> for ToolService {
    type Response = CallToolResult;
    type Error = ErrorObject;
    type Future = BoxFuture<'static, Result<CallToolResult, ErrorObject>>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), ErrorObject>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: ToolCall) -> Self::Future {
        match (self.0)(&call.arguments, &call.context) {
            Ok(called) => called,
            Err(rejection) => {
                let rejected = rejected(rejection, call.context.revision());
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
pub(super) fn wrap_tool<L>(run: Arc<Run>, layer: &L) -> Arc<Run>
where
    L: Layer<ToolService>,
    L::Service: TowerService<ToolCall, Response = CallToolResult, Error = ErrorObject>
        + Clone
        + Send
        + 'static,
    <L::Service as TowerService<ToolCall>>::Future: Send + 'static,
{
    let layered = Mutex::new(layer.layer(ToolService(run)));
    Arc::new(move |arguments, context| {
        let service = layered.lock().unwrap_or_else(PoisonError::into_inner);
        let mut service = service.clone();
        let call = ToolCall {
            arguments: arguments.to_owned(),
            context: context.clone(),
        };
        Ok(Box::pin(async move {
            poll_fn(|cx| service.poll_ready(cx)).await?;
            service.call(call).await
        }))
    })
}
