//! The transport of 2024-11-05 (HTTP+SSE), for clients that don't know Streamable HTTP.
//!
//! A GET opens an event stream and with it a session. Its first event names the URI of the session,
//! to which the client posts its messages; each is answered with 202, and every message of the
//! server leaves on the stream. The session ends with the stream.
//!
//! Files: `sessions` (the open sessions), `events` (the body of a stream). What a POST does in a
//! session is in `server/session/legacy_stream.rs`.

mod events;
mod sessions;

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use ::http::request::Parts;
use ::http::{Method, Request, Response, StatusCode};
use bowline_proto::Carrier;
use bowline_proto::server::{Routed, RouterConfig, SessionConfig, SessionId, route};
use bowline_types::Era;
use bytes::Bytes;
use http_body::Body;
use tower_service::Service;

pub(super) use self::events::LegacyEvents;
use self::sessions::LegacySessions;
use super::HttpConfig;
use super::body::{HttpBody, read_body};
use super::body_budget::BodyBudget;
use super::content::{check_content, check_get_accept};
use super::cors::{CorsOrigin, answer_options};
use super::head_checks::check_head;
use super::refusal::HttpRefusal;
use super::request_parts::HttpRequestParts;
use super::responses::{
    accepted, new_session_id, server_ends, streaming, too_many_sessions, too_many_streams,
    unreadable_body,
};
use super::stats::{HttpCounters, HttpStats};
use crate::clock::Clock;
use crate::server::principal::Principal;
use crate::server::server_core::ServerCore;
use crate::server::session::{NotTaken, SessionShared};

/// A server as a tower service for clients of the transport of 2024-11-05 (HTTP+SSE), which was
/// replaced by Streamable HTTP. Clones share one server and its sessions.
///
/// One path serves both kinds of requests: GET opens the event stream of a session, POST brings its
/// messages. It takes any path, so it can be mounted anywhere. Clients learn from the stream where
/// to post: the path that [`HttpConfig::legacy_sse`] sets, below the [public
/// URL](HttpConfig::public_url), or, without such a path, a reference that is relative to the URL
/// of the stream and right wherever it is mounted.
///
/// A session lasts as long as its stream. It has the revisions that begin with `initialize`.
/// Limits, allowed hosts and origins are those of the configuration;
/// [`max_sessions`](HttpConfig::max_sessions) counts these sessions apart from others.
///
/// ```
/// use bowline::server::{HttpConfig, Server};
///
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::new("greeter", "1.0.0").tool("greet", "Greets", || async { "hello" });
/// let server = server.build()?;
/// let current = server.http_service(HttpConfig::new());
/// let legacy = server.legacy_sse_service(HttpConfig::new());
/// // With axum: Router::new().route_service("/mcp", current).route_service("/sse", legacy)
/// # let _ = (current, legacy);
/// # Ok(())
/// # }
/// # example().expect("the server is valid");
/// ```
#[derive(Clone)]
pub struct LegacySseService(Arc<Inner>);

struct Inner {
    core: Arc<ServerCore>,
    config: HttpConfig,
    router: RouterConfig,
    clock: Clock,
    counters: HttpCounters,
    sessions: Arc<LegacySessions>,
    bodies: BodyBudget,
    /// The configuration of sessions, without capabilities, which may change.
    session_config: SessionConfig,
    /// What the URI of a session begins with.
    endpoint: String,
}

impl LegacySseService {
    pub(in super::super) fn new(core: Arc<ServerCore>, config: HttpConfig) -> Self {
        let mut session_config = core.config.clone();
        let revisions = session_config.supported_revisions();
        let revisions = revisions.intersection(Era::Handshake.revisions());
        session_config
            .revisions(revisions)
            .carrier(Carrier::StreamPerRequest)
            // The stream of a client that sends nothing is closed.
            .handshake_timeout(core.handshake_timeout, false);
        Self(Arc::new(Inner {
            router: RouterConfig::new(revisions),
            clock: Clock::start(),
            counters: HttpCounters::within(&core.http_counters),
            sessions: LegacySessions::new(config.max_sessions),
            bodies: BodyBudget::of(&config),
            session_config,
            endpoint: endpoint(&config),
            config,
            core,
        }))
    }

    /// Returns how many requests were refused, by reason.
    pub fn stats(&self) -> HttpStats {
        self.0.counters.snapshot()
    }

    /// Returns the number of sessions.
    pub fn session_count(&self) -> usize {
        self.0.sessions.len()
    }
}

/// Returns what the URI of a session begins with.
fn endpoint(config: &HttpConfig) -> String {
    let path = config
        .legacy_sse
        .as_deref()
        .map(|path| match &config.public_url {
            Some(url) => url.path_of(path),
            None => path.to_owned(),
        });
    format!("{}?{SESSION_ID}=", path.unwrap_or_default())
}

impl fmt::Debug for LegacySseService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LegacySseService")
            .field("server", &self.0.core.name)
            .finish_non_exhaustive()
    }
}

impl<B> Service<Request<B>> for LegacySseService
where
    B: Body<Data = Bytes> + Send + 'static,
{
    type Response = Response<HttpBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<HttpBody>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            Ok(inner.respond(parts, body).await)
        })
    }
}

impl Inner {
    async fn respond<B>(&self, mut parts: Parts, body: B) -> Response<HttpBody>
    where
        B: Body<Data = Bytes> + Send,
    {
        // First, so that the pages of an allowed origin can read every refusal.
        let origin = match self.config.allowed_origins.check(&parts.headers) {
            Ok(origin) => origin,
            Err(refusal) => return self.refuse(refusal),
        };
        let responded = match self.check(&parts, &origin) {
            Ok(None) => match self.config.authenticate_request(&mut parts).await {
                Ok(()) if parts.method == Method::GET => self.open(&parts),
                Ok(()) => self.post(parts, body).await,
                Err(refusal) => Err(refusal),
            },
            Ok(Some(preflight)) => Ok(preflight.map(|()| HttpBody::empty())),
            Err(refusal) => Err(refusal),
        };
        let mut response = responded.unwrap_or_else(|refusal| self.refuse(refusal));
        origin.add_headers(response.headers_mut());
        response
    }

    /// Checks the head of a request. Returns the response if it is a CORS preflight.
    fn check(
        &self,
        parts: &Parts,
        origin: &CorsOrigin,
    ) -> Result<Option<Response<()>>, HttpRefusal> {
        check_head(&self.config, parts)?;
        match parts.method {
            // What a POST is answered with has no media type.
            Method::POST => check_content(parts)?,
            Method::GET => check_get_accept(parts)?,
            Method::OPTIONS => return answer_options(parts, origin, METHODS).map(Some),
            _ => return Err(HttpRefusal::method_not_allowed(&parts.method, METHODS)),
        }
        Ok(None)
    }

    /// Counts a refusal, and makes it a response.
    fn refuse(&self, refusal: HttpRefusal) -> Response<HttpBody> {
        self.counters.count(&refusal);
        refusal.into_response().map(HttpBody::full)
    }

    /// Opens the event stream of a new session.
    fn open(&self, parts: &Parts) -> Result<Response<HttpBody>, HttpRefusal> {
        if self.core.sessions.has_ended() {
            return Err(server_ends());
        }
        self.sessions.check_room().map_err(too_many_sessions)?;
        let id = new_session_id()?;
        let mut config = self.session_config.clone();
        config.capabilities(self.core.capabilities());
        let session = SessionShared::for_legacy_sse(
            Arc::clone(&self.core),
            Arc::new(config),
            self.clock,
            parts.extensions.get::<Principal>().cloned(),
        );
        let endpoint = format!("{}{}", self.endpoint, id.as_str());
        let session = self.sessions.insert(id, session);
        let session = session.map_err(too_many_sessions)?;
        let events = LegacyEvents::new(session, &endpoint, self.config.keep_alive);
        Ok(streaming(HttpBody::legacy_events(events)))
    }

    /// Takes a message of a session.
    async fn post<B>(&self, parts: Parts, body: B) -> Result<Response<HttpBody>, HttpRefusal>
    where
        B: Body<Data = Bytes> + Send,
    {
        let Some(id) = session_id(&parts) else {
            // A client that tries Streamable HTTP first goes on with a GET then.
            let message = "no sessionId in the query of the URL (open the event stream with GET, \
                           and post to the URI of its first event)";
            return Err(HttpRefusal::bad_request(message).closing());
        };
        let principal = parts.extensions.get::<Principal>();
        let find = || self.sessions.find(&id, principal);
        let session = find().ok_or_else(|| unknown_session().closing())?;
        let (limit, timeout) = (self.config.max_body_bytes, self.config.body_timeout);
        let read = read_body(body, limit, timeout, &self.bodies).await;
        let frame = read.map_err(|error| unreadable_body(error, &self.config))?;
        let message = match route(&self.router, &frame, None) {
            Routed::Session(message) => message,
            Routed::Refused(refusal) => return Err((*refusal).into()),
            // The router has no revision of the stateless era.
            _ => {
                return Err(HttpRefusal::bad_request(
                    "this message is not supported over HTTP+SSE",
                ));
            }
        };
        let http = HttpRequestParts::new(parts, &self.config.trusted_proxies);
        let limit = self.config.max_streams_per_session;
        let mut message = Some(message);
        let taken = poll_fn(|cx| match message.take() {
            Some(message) => {
                Poll::Ready(session.handle_legacy_post(&frame, message, &http, limit, cx))
            }
            None => Poll::Pending,
        });
        match taken.await {
            Ok(()) => Ok(accepted()),
            Err(NotTaken::Closed) => Err(unknown_session()),
            Err(NotTaken::ShuttingDown) => Err(server_ends()),
            Err(NotTaken::Busy) => Err(too_many_streams()),
        }
    }
}

/// Returns the id of the session that a POST names.
fn session_id(parts: &Parts) -> Option<SessionId> {
    let mut pairs = parts.uri.query()?.split('&');
    let id = pairs.find_map(|pair| pair.strip_prefix(SESSION_ID)?.strip_prefix('='))?;
    SessionId::new(id).ok()
}

/// Returns the refusal of a message to a session that doesn't exist, has ended, or is another
/// principal's.
fn unknown_session() -> HttpRefusal {
    let message = "the session doesn't exist or has ended (open the event stream again)";
    HttpRefusal::new(StatusCode::NOT_FOUND, message)
}

/// The methods of the path.
const METHODS: &str = "GET, POST";

/// The parameter of the query that names the session of a POST.
const SESSION_ID: &str = "sessionId";
