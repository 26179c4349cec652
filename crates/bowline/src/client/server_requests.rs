//! Requests of the server, and their handlers.
//!
//! They are few, and their handlers run user code that may take its time or block: each runs
//! in a task of its own, as many as the connection's limit of open requests allows. A handler
//! whose request is cancelled, or whose connection is lost, is dropped.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bowline_proto::link::CallKey;
use bowline_proto::{Payload, RequestKey};
use bowline_types::error::codes;
use bowline_types::method::{RequestMethod, requests};
use bowline_types::{ErrorObject, Revision, Wire};
use tokio::task::AbortHandle;
use tracing::Instrument as _;

use super::client_handlers::RootList;
use super::shared::Shared;
use super::url_elicitation_retry::UrlRetryPolicy;
use crate::RpcResult;
use crate::error::{Error, ErrorKind};
use crate::log_names::shortened;
use crate::panics::{CatchPanic, caught};

/// Why a request of the server has no result.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Refusal {
    /// The server must not send it: this client has not declared the capability.
    NotDeclared(ErrorObject),
    /// The handler failed, or the request is wrong.
    Failed(ErrorObject),
}

impl Refusal {
    /// Returns the error of the response to the server.
    fn into_error(self) -> ErrorObject {
        match self {
            Self::NotDeclared(error) | Self::Failed(error) => error,
        }
    }
}

impl From<ErrorObject> for Refusal {
    fn from(error: ErrorObject) -> Self {
        Self::Failed(error)
    }
}

type HandlerResult = Result<Payload, Refusal>;
type HandlerFuture = Pin<Box<dyn Future<Output = HandlerResult> + Send>>;
type Handler = dyn Fn(ServerRequest) -> HandlerFuture + Send + Sync;

/// A request of the server.
#[derive(Clone, Debug)]
pub struct ServerRequest {
    method: Box<str>,
    params: Option<Payload>,
    revision: Revision,
}

impl ServerRequest {
    pub(super) fn new(method: Box<str>, params: Option<Payload>, revision: Revision) -> Self {
        Self {
            method,
            params,
            revision,
        }
    }

    /// Returns the method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Returns the parameters.
    pub fn params(&self) -> Option<&Payload> {
        self.params.as_ref()
    }

    /// Returns the revision in which its result is to be encoded.
    pub fn revision(&self) -> Revision {
        self.revision
    }
}

/// Handlers of requests, by method.
#[derive(Clone, Default)]
pub(super) struct Handlers {
    by_method: BTreeMap<Box<str>, Arc<Handler>>,
    roots: Option<RootList>,
    pub(super) url_retry: UrlRetryPolicy,
}

impl Handlers {
    pub(super) fn add<F, Fut>(&mut self, method: Box<str>, handler: F)
    where
        F: Fn(ServerRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = RpcResult> + Send + 'static,
    {
        let handler = move |request| -> HandlerFuture {
            let response = handler(request);
            Box::pin(async move { Ok(response.await?) })
        };
        self.by_method.insert(method, Arc::new(handler));
    }

    pub(super) fn add_typed<R, F, Fut, E>(&mut self, handler: F)
    where
        R: RequestMethod,
        R::Params: Send,
        R::Result: Send,
        F: Fn(R::Params) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R::Result, E>> + Send + 'static,
        E: Into<Refusal> + Send,
    {
        let handler = move |request: ServerRequest| -> HandlerFuture {
            let text = request.params.as_ref().map_or("{}", Payload::as_str);
            match R::Params::from_json(text) {
                Ok(params) => {
                    let response = handler(params);
                    Box::pin(async move {
                        let result = response.await.map_err(Into::into)?;
                        Ok(encode_result(result, request.revision)?)
                    })
                }
                Err(error) => {
                    let refusal = ErrorObject::invalid_params(error.to_string());
                    Box::pin(std::future::ready(Err(refusal.into())))
                }
            }
        };
        let method = R::METHOD.as_str().into();
        self.by_method.insert(method, Arc::new(handler));
    }

    /// Responds with these roots when the server requests them.
    pub(super) fn set_roots(&mut self, roots: RootList) {
        self.roots = Some(roots.clone());
        self.add_typed::<requests::ListRoots, _, _, Refusal>(move |_| {
            std::future::ready(Ok(roots.result()))
        });
    }

    pub(super) fn roots(&self) -> Option<&RootList> {
        self.roots.as_ref()
    }

    /// Returns the same handlers for another client, whose roots are its own.
    pub(super) fn copy(&self) -> Self {
        let mut copy = self.clone();
        if let Some(roots) = &self.roots {
            copy.set_roots(roots.copy());
        }
        copy
    }

    /// Returns the response to an input request during a call, or the error with which the call
    /// ends.
    pub(super) async fn answer_input_request(
        &self,
        request: ServerRequest,
    ) -> Result<Payload, Error> {
        let method = request.method.clone();
        let outcome = self.run_handler(request).await;
        outcome.map_err(|refusal| input_round_error(&method, refusal))
    }

    /// Returns the response to a request, also if its handler panics.
    pub(super) fn respond(
        &self,
        request: ServerRequest,
    ) -> impl Future<Output = RpcResult> + use<> {
        let outcome = self.run_handler(request);
        async move { outcome.await.map_err(Refusal::into_error) }
    }

    fn run_handler(&self, request: ServerRequest) -> impl Future<Output = HandlerResult> + use<> {
        let handler = self.by_method.get(&*request.method).cloned();
        async move {
            let Some(handler) = handler else {
                return Err(Refusal::NotDeclared(no_handler_error(&request.method)));
            };
            let method = request.method.clone();
            let outcome = match caught(|| handler(request)) {
                Ok(response) => CatchPanic::new(response).await,
                Err(panicked) => Err(panicked),
            };
            outcome.unwrap_or_else(|panicked| {
                // The message of the panic is for our log, not for the peer (ER-4).
                tracing::error!(
                    method = &*shortened(&method),
                    panic = panicked.0,
                    "handler panicked"
                );
                Err(ErrorObject::internal_error("the handler failed").into())
            })
        }
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_method.keys()).finish()
    }
}

/// Returns the error for a request that has no handler.
fn no_handler_error(method: &str) -> ErrorObject {
    match method {
        // FT-4: as if the user had refused (client/sampling, error handling).
        "sampling/createMessage" => ErrorObject::new(
            codes::USER_REJECTED,
            "this client does not support sampling",
        ),
        _ => ErrorObject::method_not_found(format!("no handler for {method}")),
    }
}

/// Returns the error of a call whose input request has no response (2026-07-28,
/// basic/patterns/mrtr): only the caller can be given the error, and not the server.
fn input_round_error(method: &str, refusal: Refusal) -> Error {
    let error = match refusal {
        Refusal::NotDeclared(error) => {
            let message = format!("the server requested {method}: {error}");
            return Error::new(ErrorKind::CapabilityNotSupported, message)
                .with_handler_error(error);
        }
        Refusal::Failed(error) => error,
    };
    let (kind, message) = match error.code {
        codes::USER_REJECTED => (
            ErrorKind::Cancelled,
            format!("this client rejected {method}: {error}"),
        ),
        codes::INVALID_PARAMS => (
            ErrorKind::Protocol,
            format!("invalid {method} request from the server: {error}"),
        ),
        _ => (
            ErrorKind::Handler,
            format!("the server requested {method}: {error}"),
        ),
    };
    Error::new(kind, message).with_handler_error(error)
}

fn encode_result<T: Wire>(result: T, revision: Revision) -> RpcResult {
    Payload::encode(&result, revision).map_err(|error| {
        tracing::error!(%error, "result of a handler can't be encoded");
        ErrorObject::internal_error("the handler failed")
    })
}

/// The handlers that are running.
#[derive(Debug, Default)]
pub(super) struct RunningHandlers(Mutex<BTreeMap<RequestKey, Option<AbortHandle>>>);

impl RunningHandlers {
    /// Runs the handler of a request. Must be called within a runtime.
    pub(super) fn start(shared: &Arc<Shared>, key: RequestKey, request: ServerRequest) {
        let paused = match &*request.method {
            // A person or a model takes the time (CN-8).
            "elicitation/create" | "sampling/createMessage" => {
                shared.with(|core, now| core.pause_calls(now))
            }
            _ => Vec::new(),
        };
        let span = shared
            .telemetry
            .handler_span(&request.method, Some(key.get()));
        let response = shared.handlers.respond(request);
        let mut open = OpenRequest {
            shared: Arc::downgrade(shared),
            key,
            is_answered: false,
            paused,
        };
        // Before it can end; the lock is not held while it is spawned, since a runtime that
        // is being shut down drops it at once.
        shared.running_handlers.lock().insert(key, None);
        let run = async move {
            let result = response.await;
            open.respond(result);
        };
        let task = tokio::spawn(run.instrument(span));
        if let Some(handle) = shared.running_handlers.lock().get_mut(&key) {
            *handle = Some(task.abort_handle());
        }
    }

    /// Drops the handler of a request.
    pub(super) fn stop(&self, key: RequestKey) {
        let task = self.lock().remove(&key);
        if let Some(Some(task)) = task {
            task.abort();
        }
    }

    /// Drops all handlers: their requests are gone with their connection.
    pub(super) fn stop_all(&self) {
        let tasks = std::mem::take(&mut *self.lock());
        for task in tasks.into_values().flatten() {
            task.abort();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RequestKey, Option<AbortHandle>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request with a handler. Its slot is free again when the handler has
/// really been dropped, and not when that was requested.
struct OpenRequest {
    shared: Weak<Shared>,
    key: RequestKey,
    is_answered: bool,
    /// Calls that are paused while its handler runs.
    paused: Vec<CallKey>,
}

impl OpenRequest {
    fn respond(&mut self, result: RpcResult) {
        self.is_answered = true;
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        shared.running_handlers.lock().remove(&self.key);
        let responded = shared.with(|core, now| {
            core.resume_calls(now, &self.paused);
            match result {
                Ok(result) => core.link.respond(now, self.key, result),
                Err(error) => core.link.respond_error(now, self.key, &error),
            }
        });
        if let Err(error) = responded {
            tracing::debug!(%error, "response not sent");
        }
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        if let Some(shared) = self.shared.upgrade() {
            shared.running_handlers.lock().remove(&self.key);
            shared.with(|core, now| {
                core.resume_calls(now, &self.paused);
                core.link.release(now, self.key);
            });
        }
    }
}
