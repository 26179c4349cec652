//! A request of a client, and the services that handle it.

use std::fmt;
use std::sync::Arc;

use bowline_proto::Payload;
use bowline_types::subscriptions::ListenParams;
use bowline_types::{ErrorObject, JsonObject, Method, RawJsonRef, Wire};

use super::context::Context;
use super::resource_subscriptions::apply_to_session;
use super::session::SessionCore;
use super::tasks::{declares_extension, missing_extension};
use super::telemetry::result_not_encoded;
use crate::RpcResult;
use crate::transport::BoxFuture;

/// The method of a request or notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MethodName {
    Known(Method),
    /// A method that the protocol doesn't define.
    Unknown(Arc<str>),
}

impl MethodName {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Known(method) => method.as_str(),
            Self::Unknown(name) => name,
        }
    }

    pub(super) fn known(&self) -> Option<Method> {
        match self {
            Self::Known(method) => Some(*method),
            Self::Unknown(_) => None,
        }
    }
}

/// A request of a client.
#[derive(Clone, Debug)]
pub struct ClientRequest {
    pub(super) method: MethodName,
    pub(super) params: Option<Payload>,
    pub(super) context: Context,
}

impl ClientRequest {
    /// Returns the method, as the client has sent it.
    pub fn method(&self) -> &str {
        self.method.as_str()
    }

    /// Returns the method, or `None` if the protocol doesn't define it: a
    /// [`Handler`](super::Handler) gets such requests too.
    pub fn known_method(&self) -> Option<Method> {
        self.method.known()
    }

    /// Returns the parameters as they were sent: `{}` where there are none.
    pub fn params(&self) -> &str {
        self.params_json().as_str()
    }

    /// Returns the parameters as JSON.
    pub(super) fn params_json(&self) -> RawJsonRef<'_> {
        let params = self.params.as_ref();
        params.map_or(RawJsonRef::EMPTY_OBJECT, Payload::as_json)
    }

    /// Replaces the parameters, before the request is served. The [context](Self::context), with
    /// the `_meta`, doesn't change.
    pub fn set_params(&mut self, params: impl Into<Payload>) {
        self.params = Some(params.into());
    }

    /// Returns the context of the request. A layer can [add](Context::insert_extension) values
    /// there.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Decodes the parameters.
    ///
    /// # Errors
    ///
    /// When they are not a `T`: an error for the client, which names the field.
    pub fn decode<T: Wire>(&self) -> Result<T, ErrorObject> {
        T::from_json_ref(self.params_json())
            .map_err(|error| ErrorObject::invalid_params(error.under_key("params").to_string()))
    }

    /// Encodes a result in the client's protocol revision.
    ///
    /// # Errors
    ///
    /// When the revision can't represent the result.
    pub fn reply<T: Wire>(&self, result: &T) -> RpcResult {
        encode_result(&self.context, result)
    }
}

/// Encodes a result in the client's protocol revision.
pub(super) fn encode_result<T: Wire>(context: &Context, result: &T) -> RpcResult {
    encode_result_with(context, result, "")
}

/// Encodes a result in the client's protocol revision, with members that are encoded already.
pub(super) fn encode_result_with<T: Wire>(
    context: &Context,
    result: &T,
    members: &str,
) -> RpcResult {
    Payload::encode_with(result, context.revision(), members).map_err(|error| {
        result_not_encoded(Some(context), &error);
        ErrorObject::internal_error("the result is not supported in this protocol revision")
    })
}

/// Returns the error for a method that the server doesn't support.
pub(super) fn method_not_found(method: &str) -> ErrorObject {
    // The client chose the name, which may be long.
    let shown: String = method.chars().take(64).collect();
    ErrorObject::method_not_found(format!("method not supported: {shown}"))
}

/// Returns the error for a limit that is reached now (MO-4).
pub(super) fn busy_error(message: impl Into<String>) -> ErrorObject {
    let reason: JsonObject = [("reason", "busy")].into_iter().collect();
    ErrorObject::internal_error(message).data(reason)
}

/// Serves requests about the session itself, for a server without a handler for them. Returns
/// `None` for other requests. It is done here, behind all layers, so that they see it (MO-2).
pub(super) fn served_by_session(request: &ClientRequest) -> Option<RpcResult> {
    let applied = match request.known_method()? {
        Method::SetLevel | Method::Subscribe | Method::Unsubscribe => apply_to_session(request),
        // The result is sent when the subscription ends.
        Method::Listen => listen_params(request).and_then(|params| {
            let inner = request.context.inner();
            let capabilities = inner.session.server.capabilities();
            let open =
                |core: &mut SessionCore, _| core.open_listen(inner.key, params, &capabilities);
            inner.session.with(open)
        }),
        _ => return None,
    };
    Some(applied.map(|()| Payload::EMPTY))
}

/// Decodes the parameters of `subscriptions/listen`.
///
/// # Errors
///
/// When they can't be decoded, or name tasks and the client doesn't declare the extension (TX-15).
pub(super) fn listen_params(request: &ClientRequest) -> Result<ListenParams, ErrorObject> {
    let params: ListenParams = request.decode()?;
    let tasks = params.notifications.task_ids.as_ref();
    if tasks.is_some_and(|ids| !ids.is_empty()) && !declares_extension(&request.context) {
        return Err(missing_extension());
    }
    Ok(params)
}

/// Serves requests: the registered features, a handler, or a layer.
pub(super) trait Serve: Send + Sync + 'static {
    fn serve(&self, request: ClientRequest) -> BoxFuture<'static, RpcResult>;

    /// Handles a notification of the client.
    fn handle_notification(&self, method: &str, params: Option<&Payload>) {
        let _ = (method, params);
    }
}

/// A service behind a pointer. Cloning it is cheap.
#[derive(Clone)]
pub(super) struct Service(pub(super) Arc<dyn Serve>);

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Service")
    }
}
