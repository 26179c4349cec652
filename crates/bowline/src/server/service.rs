//! A request as a server has it, and who serves it.

use std::fmt;
use std::sync::Arc;

use bowline_proto::Payload;
use bowline_types::capabilities::ClientCapabilities;
use bowline_types::error::MissingCapabilityData;
use bowline_types::{Era, ErrorObject, Method, Revision, Wire};

use super::context::Context;
use crate::transport::BoxFuture;

/// What a request is answered with.
pub type Reply = Result<Payload, ErrorObject>;

/// A request of a client.
#[derive(Clone, Debug)]
pub struct Request {
    pub(super) method: Method,
    pub(super) params: Option<Payload>,
    pub(super) context: Context,
}

impl Request {
    /// The method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// The parameters, as they came: `{}` where there are none.
    pub fn params(&self) -> &str {
        self.params.as_ref().map_or("{}", Payload::as_str)
    }

    /// Where it comes from, and what can be done for it.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Reads the parameters.
    ///
    /// # Errors
    ///
    /// When they are no `T`: an error that names the field, for the client.
    pub fn decode<T: Wire>(&self) -> Result<T, ErrorObject> {
        T::from_json(self.params()).map_err(|error| {
            ErrorObject::new(INVALID_PARAMS, error.under_key("params").to_string())
        })
    }

    /// Says a result in the words of the client's revision.
    ///
    /// # Errors
    ///
    /// When they can't say it.
    pub fn reply<T: Wire>(&self, result: &T) -> Reply {
        say(&self.context, result)
    }
}

/// Says a result in the words of a client's revision.
pub(super) fn say<T: Wire>(context: &Context, result: &T) -> Reply {
    Payload::encode(result, context.revision()).map_err(|error| {
        tracing::error!(%error, request = %context.request_number(), "a result can't be said");
        ErrorObject::new(INTERNAL_ERROR, "the result can't be said in this revision")
    })
}

pub(super) const METHOD_NOT_FOUND: i64 = -32601;
pub(super) const INVALID_PARAMS: i64 = -32602;
pub(super) const INTERNAL_ERROR: i64 = -32603;
pub(super) const MISSING_CAPABILITY: i64 = -32021;

/// The client doesn't declare what a request needs of it (MR-5).
pub(super) fn missing_capability(words: &str, required: &ClientCapabilities) -> ErrorObject {
    let data = MissingCapabilityData::new(required.clone());
    let mut error = ErrorObject::new(MISSING_CAPABILITY, words);
    error.data = data.to_json(Revision::LATEST).ok();
    error
}

/// An error in the words of a revision: those before 2026-07-28 have no code for what a
/// client doesn't declare.
pub(super) fn dated(error: ErrorObject, revision: Revision) -> ErrorObject {
    match error.code {
        MISSING_CAPABILITY if revision.era() == Era::Handshake => {
            ErrorObject::new(INTERNAL_ERROR, error.message)
        }
        _ => error,
    }
}

/// The answer to a method that a server doesn't have.
pub(super) fn method_not_found(method: Method) -> ErrorObject {
    ErrorObject::new(METHOD_NOT_FOUND, format!("{method} is not offered here"))
}

/// Somebody who serves requests.
pub(super) trait Serve: Send + Sync + 'static {
    fn serve(&self, request: Request) -> BoxFuture<'static, Reply>;
}

/// Whoever serves requests, behind a pointer. Cloning it is cheap.
#[derive(Clone)]
pub(super) struct Service(pub(super) Arc<dyn Serve>);

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Service")
    }
}
