//! The authenticated identity that makes a request.

use std::fmt;
use std::sync::Arc;

use bowline_types::{ErrorObject, JsonObject, RawJson, RawJsonRef};

use super::context::Context;
use super::extract::{Extract, HandlerInput, HandlerRequirements, Rejection};

/// The authenticated identity that makes a request, set by a layer or a transport. Cloning it is
/// cheap.
///
/// A [layer](super::Server::layer) that authenticates requests adds it to the request; over HTTP a
/// hook does that before (`HttpConfig::authenticate`); where a whole stream belongs to one principal, use
/// [`RunningServer::serve_stream_as`](super::RunningServer::serve_stream_as). A handler gets it with
/// [`Context::principal`], or as an argument: then it doesn't run without one. Questions that were
/// asked for one principal can't be answered by another.
///
/// ```
/// use bowline::server::{Principal, ClientRequest, Server};
///
/// // In a layer:
/// fn authenticate(request: &ClientRequest, user: &str) {
///     let principal = Principal::new(user).claim("scope", "files:read");
///     request.context().insert_extension(principal);
/// }
///
/// // In a handler:
/// let server = Server::new("files", "1.0.0").tool("whoami", "Returns the id of the caller", |who: Principal| async move {
///     who.id().to_owned()
/// });
/// ```
#[derive(Clone)]
pub struct Principal(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    id: String,
    claims: JsonObject,
}

impl Principal {
    /// Creates a principal with an id that is unique among all principals: a user and its issuer,
    /// not a token, which changes.
    pub fn new(id: impl Into<String>) -> Self {
        Self(Arc::new(Inner {
            id: id.into(),
            claims: JsonObject::new(),
        }))
    }

    /// Creates a principal that was stored.
    #[cfg(feature = "http-server")]
    pub(super) fn with_claims(id: String, claims: JsonObject) -> Self {
        Self(Arc::new(Inner { id, claims }))
    }

    /// Adds a claim, such as a scope.
    #[must_use]
    pub fn claim(mut self, name: &str, value: impl Into<RawJson>) -> Self {
        Arc::make_mut(&mut self.0).claims.insert(name, value);
        self
    }

    /// Returns its unique id.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Returns a claim by its name.
    pub fn get(&self, claim: &str) -> Option<RawJsonRef<'_>> {
        self.0.claims.get(claim)
    }

    /// Returns all claims.
    pub fn claims(&self) -> &JsonObject {
        &self.0.claims
    }
}

/// Compares the ids only: a principal is the same with another token, which has other claims.
impl PartialEq for Principal {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for Principal {}

/// Prints no claims.
impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Principal")
            .field("id", &self.0.id)
            .finish_non_exhaustive()
    }
}

impl Extract for Principal {
    fn extract(input: &HandlerInput<'_>) -> Result<Self, Rejection> {
        input.context.principal().ok_or_else(|| {
            let request = input.context.request_number();
            tracing::error!(request, "no principal is set for the request");
            Rejection::Server(ErrorObject::internal_error(
                "the request has no authenticated principal",
            ))
        })
    }

    fn declare(_: &mut HandlerRequirements) {}
}

impl Context {
    /// Returns the principal that makes the request, where a layer or a transport has set one.
    ///
    /// Over HTTP it is that of the request itself, with the claims of its own token, also within a
    /// session that another token has opened.
    pub fn principal(&self) -> Option<Principal> {
        let of_stream = || self.inner().session.principal.clone();
        self.extension()
            .or_else(|| self.http_principal())
            .or_else(of_stream)
    }

    #[cfg(feature = "http-server")]
    fn http_principal(&self) -> Option<Principal> {
        self.http_request()?.extensions().get().cloned()
    }

    #[cfg(not(feature = "http-server"))]
    fn http_principal(&self) -> Option<Principal> {
        None
    }
}
