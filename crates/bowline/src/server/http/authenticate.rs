//! Who sends a request: the hook that authenticates it, before its body is read.
//!
//! A hook gets an `HttpRequestHead` and returns `Authenticated` or
//! `AuthenticationRefusal`. `Authentication` runs it, with a deadline, and contains its panics.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::WWW_AUTHENTICATE;
use ::http::request::Parts;
use ::http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode, Uri, Version};
use tokio::time::timeout;

use super::forwarded::ClientAddr;
use super::refusal::{HttpRefusal, RefusalKind};
use super::responses::RETRY_AFTER;
use crate::panics::CatchPanic;
use crate::server::principal::Principal;

/// Authenticates HTTP requests: for [`HttpConfig::authenticate`](super::HttpConfig::authenticate).
/// Implemented for async closures and functions.
///
/// ```
/// use bowline::server::{AuthenticationRefusal, HttpConfig, HttpRequestHead, Principal};
/// use http::HeaderValue;
///
/// async fn authenticate(head: HttpRequestHead) -> Result<Principal, AuthenticationRefusal> {
///     match head.bearer_token() {
///         // A real one asks a store, or checks a signature.
///         Some("open-sesame") => Ok(Principal::new("ali")),
///         _ => {
///             let challenge = HeaderValue::from_static("Bearer");
///             Err(AuthenticationRefusal::unauthorized(challenge))
///         }
///     }
/// }
///
/// let config = HttpConfig::new().authenticate(authenticate);
/// # let _ = config;
/// ```
pub trait Authenticate: Send + Sync + 'static {
    /// Decides who sends a request, for each request anew.
    ///
    /// Must be cancel safe: the future is dropped when the client disconnects, and at the
    /// [deadline](super::HttpConfig::authentication_timeout).
    ///
    /// # Errors
    ///
    /// Returns what the client is answered if it is not served.
    fn authenticate(
        &self,
        head: HttpRequestHead,
    ) -> impl Future<Output = Result<Authenticated, AuthenticationRefusal>> + Send;
}

impl<F, O, T> Authenticate for F
where
    F: Fn(HttpRequestHead) -> O + Send + Sync + 'static,
    O: Future<Output = Result<T, AuthenticationRefusal>> + Send,
    T: Into<Authenticated>,
{
    async fn authenticate(
        &self,
        head: HttpRequestHead,
    ) -> Result<Authenticated, AuthenticationRefusal> {
        self(head).await.map(Into::into)
    }
}

/// The head of an HTTP request, with its credentials, for its [authentication](Authenticate).
/// Cloning it is cheap.
#[derive(Clone)]
pub struct HttpRequestHead(Arc<Head>);

struct Head {
    parts: Parts,
    client: ClientAddr,
}

impl HttpRequestHead {
    /// Returns the method of the request.
    pub fn method(&self) -> &Method {
        &self.0.parts.method
    }

    /// Returns the URI of the request.
    pub fn uri(&self) -> &Uri {
        &self.0.parts.uri
    }

    /// Returns the HTTP version.
    pub fn version(&self) -> Version {
        self.0.parts.version
    }

    /// Returns all headers, credentials too: handlers don't get these.
    pub fn headers(&self) -> &HeaderMap {
        &self.0.parts.headers
    }

    /// Returns what layers and the listener have added to the request, such as the
    /// [`PeerAddr`](crate::transport::PeerAddr) of the connection, or the certificate of its
    /// client.
    pub fn extensions(&self) -> &Extensions {
        &self.0.parts.extensions
    }

    /// Returns the client's address and scheme, as far as they are known.
    pub fn client(&self) -> &ClientAddr {
        &self.0.client
    }

    /// Returns the token of the header `Authorization`, if its scheme is `Bearer` (RFC 6750).
    /// `None` also if the header was sent twice. A token in the URI is never looked at.
    pub fn bearer_token(&self) -> Option<&str> {
        let mut values = self.headers().get_all(::http::header::AUTHORIZATION).iter();
        let (value, None) = (values.next()?, values.next()) else {
            return None;
        };
        let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
        let token = token.trim_matches(' ');
        (scheme.eq_ignore_ascii_case("Bearer") && !token.is_empty()).then_some(token)
    }
}

/// Prints no values of headers, and no query.
impl fmt::Debug for HttpRequestHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRequestHead")
            .field("method", self.method())
            .field("path", &self.uri().path())
            .field("client", self.client())
            .finish_non_exhaustive()
    }
}

/// A request whose sender is known.
#[derive(Clone, Debug, Default)]
pub struct Authenticated {
    principal: Option<Principal>,
    extensions: Extensions,
}

impl Authenticated {
    /// Creates it for the principal that sends the request.
    pub fn new(principal: Principal) -> Self {
        Self {
            principal: Some(principal),
            extensions: Extensions::new(),
        }
    }

    /// Creates it for a request without a principal, where a server serves these as well. One that
    /// the listener has set doesn't count.
    pub fn anonymous() -> Self {
        Self::default()
    }

    /// Adds a value to the extensions of the request, where handlers find it by its type. Not the
    /// token: a handler could pass it on.
    #[must_use]
    pub fn with_extension<T: Clone + Send + Sync + 'static>(mut self, value: T) -> Self {
        self.extensions.insert(value);
        self
    }
}

impl From<Principal> for Authenticated {
    fn from(principal: Principal) -> Self {
        Self::new(principal)
    }
}

/// The answer to a request that is not authenticated, or whose sender may not use the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthenticationRefusal {
    status: StatusCode,
    message: String,
    challenges: Vec<HeaderValue>,
}

impl AuthenticationRefusal {
    /// Refuses with 401: the request has no valid credentials. The challenge is the value of
    /// `WWW-Authenticate`, which such a response always has.
    pub fn unauthorized(challenge: HeaderValue) -> Self {
        let message = "the request has no valid credentials";
        Self::new(StatusCode::UNAUTHORIZED, message).with_challenge(challenge)
    }

    /// Refuses with 403: the credentials are valid, but not sufficient. A challenge may name what
    /// would be.
    pub fn forbidden() -> Self {
        let message = "the credentials are not sufficient";
        Self::new(StatusCode::FORBIDDEN, message)
    }

    /// Refuses with 400: the credentials are malformed.
    pub fn malformed() -> Self {
        let message = "the credentials are malformed";
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// Refuses with 503 and `Retry-After`: the credentials can't be checked now.
    pub fn unavailable() -> Self {
        let message = "the credentials can't be checked now, try again later";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    fn new(status: StatusCode, message: &str) -> Self {
        Self {
            status,
            message: message.to_owned(),
            challenges: Vec::new(),
        }
    }

    /// Adds a value of `WWW-Authenticate`, such as `Bearer error="insufficient_scope"`.
    #[must_use]
    pub fn with_challenge(mut self, challenge: HeaderValue) -> Self {
        self.challenges.push(challenge);
        self
    }

    /// Sets the message of the JSON-RPC error in the body. Clients show it; it is shortened to
    /// 1 KiB.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// Returns the status of the response.
    pub fn status(&self) -> StatusCode {
        self.status
    }
}

impl fmt::Display for AuthenticationRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.status.as_u16())
    }
}

impl std::error::Error for AuthenticationRefusal {}

impl From<AuthenticationRefusal> for HttpRefusal {
    fn from(refused: AuthenticationRefusal) -> Self {
        let mut refusal = if refused.status == StatusCode::SERVICE_UNAVAILABLE {
            Self::retry_later(refused.status, RETRY_AFTER, refused.message)
        } else {
            Self::new(refused.status, refused.message).counted_as(RefusalKind::Authentication)
        };
        for challenge in refused.challenges {
            refusal = refusal.with_header(WWW_AUTHENTICATE, challenge);
        }
        refusal
    }
}

/// A hook, as a configuration has it.
#[derive(Clone)]
pub(super) struct Authentication(Arc<dyn AnyAuthenticate>);

impl Authentication {
    pub(super) fn new(hook: impl Authenticate) -> Self {
        Self(Arc::new(hook))
    }

    /// Authenticates a request: sets its principal and the further extensions.
    pub(super) async fn check(
        &self,
        parts: Parts,
        client: ClientAddr,
        deadline: Duration,
    ) -> Result<Parts, HttpRefusal> {
        let head = HttpRequestHead(Arc::new(Head { parts, client }));
        let checking = CatchPanic::new(self.0.authenticate_any(head.clone()));
        let authenticated = match timeout(deadline, checking).await {
            Ok(Ok(Ok(authenticated))) => authenticated,
            Ok(Ok(Err(refused))) => return Err(refused.into()),
            Ok(Err(panicked)) => {
                tracing::error!(panic = panicked.0, "authentication panicked");
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                return Err(HttpRefusal::new(status, "the credentials can't be checked"));
            }
            Err(_) => {
                tracing::warn!("authentication takes longer than its timeout");
                return Err(AuthenticationRefusal::unavailable().into());
            }
        };
        let mut parts = match Arc::try_unwrap(head.0) {
            Ok(head) => head.parts,
            // The hook has kept it.
            Err(head) => head.parts.clone(),
        };
        parts.extensions.remove::<Principal>();
        parts.extensions.extend(authenticated.extensions);
        if let Some(principal) = authenticated.principal {
            parts.extensions.insert(principal);
        }
        Ok(parts)
    }
}

impl fmt::Debug for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authentication").finish_non_exhaustive()
    }
}

type Authenticating<'a> =
    Pin<Box<dyn Future<Output = Result<Authenticated, AuthenticationRefusal>> + Send + 'a>>;

/// An [`Authenticate`] whose type is forgotten.
trait AnyAuthenticate: Send + Sync {
    fn authenticate_any(&self, head: HttpRequestHead) -> Authenticating<'_>;
}

impl<A: Authenticate> AnyAuthenticate for A {
    fn authenticate_any(&self, head: HttpRequestHead) -> Authenticating<'_> {
        // Called within the future, which contains its panics.
        Box::pin(async move { self.authenticate(head).await })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearer_token_is_the_only_one_of_its_request() {
        for (values, expected) in [
            (&["Bearer abc"][..], Some("abc")),
            (&["bearer  a.b-c "], Some("a.b-c")),
            (&["Bearer"], None),
            (&["Bearer "], None),
            (&["Basic abc"], None),
            (&["abc"], None),
            (&["Bearer a", "Bearer b"], None),
            (&[], None),
        ] {
            let mut request = ::http::Request::builder().uri("/mcp?access_token=query");
            for value in values {
                request = request.header("authorization", *value);
            }
            let (parts, ()) = request.body(()).unwrap().into_parts();
            let client = ClientAddr::default();
            let head = HttpRequestHead(Arc::new(Head { parts, client }));
            assert_eq!(head.bearer_token(), expected, "{values:?}");
            let shown = format!("{head:?}");
            assert!(
                !shown.contains("abc") && !shown.contains("query"),
                "{shown}"
            );
        }
    }
}
