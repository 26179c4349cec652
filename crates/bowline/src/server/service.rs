//! A request as a server has it, and who serves it.

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

/// The method of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MethodName {
    Known(Method),
    /// The protocol doesn't have it.
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
    /// The method, as the client has said it.
    pub fn method(&self) -> &str {
        self.method.as_str()
    }

    /// The same, unless the protocol doesn't have it: a [`Handler`](super::Handler) is asked
    /// such methods too.
    pub fn known_method(&self) -> Option<Method> {
        self.method.known()
    }

    /// The parameters, as they came: `{}` where there are none.
    pub fn params(&self) -> &str {
        self.params_json().as_str()
    }

    /// The same, as the JSON that they are.
    pub(super) fn params_json(&self) -> RawJsonRef<'_> {
        let params = self.params.as_ref();
        params.map_or(RawJsonRef::EMPTY_OBJECT, Payload::as_json)
    }

    /// Gives it other parameters, before it is served. What its [context](Self::context)
    /// says, such as its `_meta`, stays as it came.
    pub fn set_params(&mut self, params: impl Into<Payload>) {
        self.params = Some(params.into());
    }

    /// Where it comes from, and what can be done for it. What a layer knows of it can be
    /// [added](Context::insert_extension) there.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Reads the parameters.
    ///
    /// # Errors
    ///
    /// When they are no `T`: an error that names the field, for the client.
    pub fn decode<T: Wire>(&self) -> Result<T, ErrorObject> {
        T::from_json_ref(self.params_json())
            .map_err(|error| ErrorObject::invalid_params(error.under_key("params").to_string()))
    }

    /// Says a result in the words of the client's revision.
    ///
    /// # Errors
    ///
    /// When they can't say it.
    pub fn reply<T: Wire>(&self, result: &T) -> RpcResult {
        encode_result(&self.context, result)
    }
}

/// Says a result in the words of a client's revision.
pub(super) fn encode_result<T: Wire>(context: &Context, result: &T) -> RpcResult {
    encode_result_with(context, result, "")
}

/// Says a result in the words of a client's revision, with members that are encoded already.
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

/// The answer to a method that a server doesn't have.
pub(super) fn method_not_found(method: &str) -> ErrorObject {
    // It may be the client's own word, and as long as it likes.
    let shown: String = method.chars().take(64).collect();
    ErrorObject::method_not_found(format!("method not supported: {shown}"))
}

/// The answer when there is no room now (MO-4).
pub(super) fn busy_error(words: impl Into<String>) -> ErrorObject {
    let reason: JsonObject = [("reason", "busy")].into_iter().collect();
    ErrorObject::internal_error(words).data(reason)
}

/// Serves what is about the client's session, for a server that has nothing to say to it:
/// `None` for other requests. It is done here, behind all layers, so that they see it (MO-2).
pub(super) fn served_by_session(request: &ClientRequest) -> Option<RpcResult> {
    let applied = match request.known_method()? {
        Method::SetLevel | Method::Subscribe | Method::Unsubscribe => apply_to_session(request),
        // The result is sent when it ends.
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

/// What `subscriptions/listen` asks for.
///
/// # Errors
///
/// When it can't be read, or is about tasks and the client doesn't say that it takes any (TX-15).
pub(super) fn listen_params(request: &ClientRequest) -> Result<ListenParams, ErrorObject> {
    let params: ListenParams = request.decode()?;
    let tasks = params.notifications.task_ids.as_ref();
    if tasks.is_some_and(|ids| !ids.is_empty()) && !declares_extension(&request.context) {
        return Err(missing_extension());
    }
    Ok(params)
}

/// Somebody who serves requests.
pub(super) trait Serve: Send + Sync + 'static {
    fn serve(&self, request: ClientRequest) -> BoxFuture<'static, RpcResult>;

    /// A client has notified us.
    fn handle_notification(&self, method: &str, params: Option<&Payload>) {
        let _ = (method, params);
    }
}

/// Whoever serves requests, behind a pointer. Cloning it is cheap.
#[derive(Clone)]
pub(super) struct Service(pub(super) Arc<dyn Serve>);

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Service")
    }
}
