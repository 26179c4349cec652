//! Who makes a request, as far as somebody has checked it.

use std::fmt;
use std::sync::Arc;

use bowline_types::{ErrorObject, JsonObject, RawJson, RawJsonRef};

use super::context::Context;
use super::extract::{Extract, Input, Needs, Rejection};

/// Who makes a request, as a layer or a transport has found out. Cloning it is cheap.
///
/// A [layer](super::Server::layer) that knows it adds it to the request; where a whole stream
/// belongs to one, [`Running::serve_stream_as`](super::Running::serve_stream_as) says so. A
/// handler gets it with [`Context::principal`], or asks for it: then it doesn't run without.
/// What a client was asked for one principal can't be answered for another.
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
/// let server = Server::new("files", "1.0.0").tool("whoami", "Tells who asks", |who: Principal| async move {
///     who.id().to_owned()
/// });
/// ```
#[derive(Clone, PartialEq)]
pub struct Principal(Arc<Inner>);

#[derive(Clone, PartialEq)]
struct Inner {
    id: String,
    claims: JsonObject,
}

impl Principal {
    /// A principal by what tells it from all others: a user and who vouches for it, not a
    /// token, which changes.
    pub fn new(id: impl Into<String>) -> Self {
        Self(Arc::new(Inner {
            id: id.into(),
            claims: JsonObject::new(),
        }))
    }

    /// The same, with something else that is known of it.
    #[must_use]
    pub fn claim(mut self, name: &str, value: impl Into<RawJson>) -> Self {
        Arc::make_mut(&mut self.0).claims.insert(name, value);
        self
    }

    /// What tells it from all others.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// What else is known of it, by name.
    pub fn get(&self, claim: &str) -> Option<RawJsonRef<'_>> {
        self.0.claims.get(claim)
    }

    /// All that else is known of it.
    pub fn claims(&self) -> &JsonObject {
        &self.0.claims
    }
}

/// Prints nothing of what is known of it.
impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Principal")
            .field("id", &self.0.id)
            .finish_non_exhaustive()
    }
}

impl Extract for Principal {
    fn extract(input: &Input<'_>) -> Result<Self, Rejection> {
        input.context.principal().ok_or_else(|| {
            let request = input.context.request_number();
            tracing::error!(request, "no principal is set for the request");
            Rejection::Server(ErrorObject::internal_error(
                "the request has no authenticated principal",
            ))
        })
    }

    fn declare(_: &mut Needs) {}
}

impl Context {
    /// Who makes the request, where a layer or a transport has found out.
    pub fn principal(&self) -> Option<Principal> {
        let of_stream = || self.inner().session.principal.clone();
        self.extension().or_else(of_stream)
    }
}
