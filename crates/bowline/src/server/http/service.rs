//! The tower service: an HTTP request in, an HTTP response out. `session_lookup` finds the session of
//! a request.

mod session_lookup;

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll};

use ::http::header::ALLOW;
use ::http::request::Parts;
use ::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use bowline_proto::Carrier;
use bowline_proto::server::{
    HandshakeHttpConfig, HandshakeHttpRequest, HandshakeRoute, Refusal, Routed, RouterConfig,
    SessionConfig, route, route_handshake_request,
};
use bowline_types::RequestId;
use bowline_types::capabilities::ServerCapabilities;
use bowline_types::envelope::Envelope;
use bytes::Bytes;
use http_body::Body;
use tokio::time::timeout;
use tower_service::Service;

use self::session_lookup::{FoundSession, SessionUse};
use super::HttpConfig;
use super::body::{Events, HttpBody, OpenStream, read_body};
use super::body_budget::BodyBudget;
use super::content::{check_content, check_get_accept, check_post_accept};
use super::cors::{CorsOrigin, answer_options};
use super::head_checks::check_head;
use super::mcp_headers::{last_event_id, mcp_headers};
use super::param_headers::check_param_headers;
use super::refusal::HttpRefusal;
use super::request_parts::HttpRequestParts;
use super::responses::{
    accepted, event_stream, json, new_session_id, no_content, server_ends, too_many_sessions,
    too_many_streams, unreadable_body, with_session_id,
};
use super::server_card::CardDocument;
use super::sessions::{SessionLease, SessionMap};
use super::stats::{HttpCounters, HttpStats};
use super::unread_responses::UnreadResponses;
use crate::clock::Clock;
use crate::server::principal::Principal;
use crate::server::server_core::ServerCore;
use crate::server::session::{
    HttpSessionStart, LogSettings, PostMessage, SessionRemains, SessionShared, StreamStart,
};

/// A server as a tower service: it answers the HTTP requests of one endpoint. Clones share one
/// server and its sessions.
///
/// It takes any path, so it can be mounted anywhere.
#[derive(Clone)]
pub struct HttpService(Arc<Inner>);

struct Inner {
    core: Arc<ServerCore>,
    config: HttpConfig,
    router: RouterConfig,
    handshake: HandshakeHttpConfig,
    clock: Clock,
    counters: Arc<HttpCounters>,
    sessions: Arc<SessionMap>,
    /// What the event logs of sessions are made with, where clients can resume streams.
    log: Option<Arc<LogSettings>>,
    bodies: BodyBudget,
    unread: Arc<UnreadResponses>,
    card: Option<CardDocument>,
    /// The configuration of requests of the stateless era, which needs no capabilities.
    stateless: Arc<SessionConfig>,
    /// The configuration of the latest session of the handshake era, and its capabilities.
    latest: Mutex<(ServerCapabilities, Arc<SessionConfig>)>,
}

impl HttpService {
    pub(in super::super) fn new(core: Arc<ServerCore>, config: HttpConfig) -> Self {
        let clock = Clock::start();
        let mut session = core.config.clone();
        session
            .carrier(Carrier::StreamPerRequest)
            .handshake_timeout(core.handshake_timeout, true);
        let revisions = session.supported_revisions();
        let mut handshake = HandshakeHttpConfig::new(revisions);
        if !config.has_sessions {
            handshake = handshake.without_sessions();
        }
        let mut router = RouterConfig::new(revisions);
        router.forward_unknown_methods = core.raw_notification_handler.is_some();
        let stateless = Arc::new(session);
        let counters = Arc::new(HttpCounters::within(&core.http_counters));
        Self(Arc::new(Inner {
            router,
            handshake,
            clock,
            unread: UnreadResponses::new(config.max_unread_response_bytes, Arc::clone(&counters)),
            counters,
            sessions: SessionMap::new(clock, &config),
            log: config.log_settings(),
            bodies: BodyBudget::of(&config),
            latest: Mutex::new((ServerCapabilities::new(), Arc::clone(&stateless))),
            stateless,
            card: CardDocument::new(&core, &config),
            config,
            core,
        }))
    }

    /// Returns how many requests were refused, by reason.
    pub fn stats(&self) -> HttpStats {
        self.0.counters.snapshot()
    }

    /// Returns the bytes of all events that are kept for clients to resume, and of the streams that are
    /// remembered for it.
    pub fn kept_event_bytes(&self) -> usize {
        self.0.log.as_ref().map_or(0, |log| log.budget.kept())
    }

    /// Returns the bytes of all large responses that are kept until their clients have read them.
    pub fn unread_response_bytes(&self) -> usize {
        self.0.unread.bytes()
    }

    /// Returns the number of sessions of the handshake era.
    pub fn session_count(&self) -> usize {
        self.0.sessions.len()
    }
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpService")
            .field("server", &self.0.core.name)
            .finish_non_exhaustive()
    }
}

impl<B> Service<Request<B>> for HttpService
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
    async fn respond<B>(self: &Arc<Self>, mut parts: Parts, body: B) -> Response<HttpBody>
    where
        B: Body<Data = Bytes> + Send,
    {
        if let Some(card) = &self.card
            && CardDocument::is_requested(&parts)
        {
            let response = card.respond(&self.config, &parts);
            return response.unwrap_or_else(|refusal| self.refuse(refusal));
        }
        // First, so that the pages of an allowed origin can read every refusal.
        let origin = match self.config.allowed_origins.check(&parts.headers) {
            Ok(origin) => origin,
            Err(refusal) => return self.refuse(refusal),
        };
        let mut response = match self.check(&parts, &origin) {
            Ok(None) => match self.config.authenticate_request(&mut parts).await {
                // A server that ends refuses some messages of a POST only.
                Ok(()) if parts.method == Method::POST => self.post(parts, body).await,
                Ok(()) if self.core.sessions.has_ended() => self.refuse(server_ends()),
                Ok(()) if parts.method == Method::GET => Box::pin(self.get(&parts)).await,
                Ok(()) => Box::pin(self.delete(&parts)).await,
                Err(refusal) => self.refuse(refusal),
            },
            Ok(Some(preflight)) => preflight.map(|()| HttpBody::empty()),
            Err(refusal) => self.refuse(refusal),
        };
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
            Method::POST => {
                check_content(parts)?;
                check_post_accept(parts)?;
            }
            Method::GET => check_get_accept(parts)?,
            Method::DELETE => {}
            Method::OPTIONS => return answer_options(parts, origin, METHODS).map(Some),
            _ => return Err(HttpRefusal::method_not_allowed(&parts.method, METHODS)),
        }
        Ok(None)
    }

    /// Refuses a method that is not offered in this revision, or without sessions.
    fn not_offered(&self, method: &Method) -> Response<HttpBody> {
        self.refuse(HttpRefusal::method_not_allowed(method, METHODS))
    }

    /// Counts a refusal, and makes it a response.
    fn refuse(&self, mut refusal: HttpRefusal) -> Response<HttpBody> {
        if refusal.status() == StatusCode::METHOD_NOT_ALLOWED && !refusal.has_headers() {
            refusal = refusal.with_header(ALLOW, HeaderValue::from_static(METHODS));
        }
        self.counters.count(&refusal);
        refusal.into_response().map(HttpBody::full)
    }

    async fn post<B>(self: &Arc<Self>, parts: Parts, body: B) -> Response<HttpBody>
    where
        B: Body<Data = Bytes> + Send,
    {
        let (limit, timeout) = (self.config.max_body_bytes, self.config.body_timeout);
        let frame = match read_body(body, limit, timeout, &self.bodies).await {
            Ok(frame) => frame,
            Err(error) => return self.refuse(unreadable_body(error, &self.config)),
        };
        let target = match self.route_post(&frame, &parts.headers) {
            // The answer to a question, without which a handler can't finish.
            Ok(target @ Target::Handshake(HandshakeRoute::Accept(_), _)) => target,
            _ if self.core.sessions.has_ended() => return self.refuse(server_ends()),
            Ok(target) => target,
            Err(refusal) => return self.refuse(refusal),
        };
        let post = Post {
            frame: &frame,
            principal: parts.extensions.get::<Principal>().cloned(),
            http: HttpRequestParts::new(parts, &self.config.trusted_proxies),
        };
        match target {
            Target::Stateless(message) => {
                let headers = post.http.headers();
                if let Err(refusal) = check_param_headers(&self.core.features, &message, headers) {
                    return self.refuse(refusal);
                }
                let config = Arc::clone(&self.stateless);
                let session = self.begin(config, post.principal.clone(), None, None);
                self.serve(post, message, session, true, None).await
            }
            Target::Handshake(HandshakeRoute::OpenSession, message) => {
                Box::pin(self.open_session(post, message)).await
            }
            Target::Handshake(HandshakeRoute::Respond(target), message) => {
                let principal = post.principal.as_ref();
                let found = self.find_session(&target, principal, SessionUse::Message);
                let FoundSession {
                    session,
                    lease,
                    saved,
                } = match found.await {
                    Ok(Some(found)) => found,
                    Ok(None) => {
                        return self.refuse(Refusal::unknown_session(request_id(&message)).into());
                    }
                    Err(refusal) => return self.refuse(refusal),
                };
                if session.open_streams() >= self.config.max_streams_per_session {
                    return self.refuse(too_many_streams());
                }
                let message = PostMessage::Session(message);
                let response = self.serve(post, message, session, false, lease).await;
                match self.save_changes(saved).await {
                    Ok(()) => response,
                    Err(refusal) => self.refuse(refusal),
                }
            }
            Target::Handshake(HandshakeRoute::Accept(target), message) => {
                let principal = post.principal.as_ref();
                let found = self.find_session(&target, principal, SessionUse::Message);
                let FoundSession {
                    session,
                    lease,
                    saved,
                } = match found.await {
                    Ok(Some(found)) => found,
                    Ok(None) => return self.refuse(Refusal::unknown_session(None).into()),
                    Err(refusal) => return self.refuse(refusal),
                };
                drop(run(post, PostMessage::Session(message), session, false, lease).await);
                match self.save_changes(saved).await {
                    Ok(()) => accepted(),
                    Err(refusal) => self.refuse(refusal),
                }
            }
            // A notification of the stateless era. A POST has no other route.
            Target::Handshake(_, _) => accepted(),
        }
    }

    /// Finds out what a message is.
    fn route_post<'a>(
        &self,
        frame: &'a Bytes,
        headers: &HeaderMap,
    ) -> Result<Target<'a>, HttpRefusal> {
        let headers = mcp_headers(headers);
        Ok(match route(&self.router, frame, Some(&headers)) {
            Routed::Stateless(request) => Target::Stateless(PostMessage::Stateless(request)),
            Routed::Unknown(request) => Target::Stateless(PostMessage::Unknown(request)),
            Routed::Session(message) => {
                let request = HandshakeHttpRequest::Post(&message);
                let route = route_handshake_request(&self.handshake, request, &headers)?;
                Target::Handshake(route, message)
            }
            Routed::Refused(refusal) => return Err((*refusal).into()),
            _ => return Err(Refusal::unknown_session(None).into()),
        })
    }

    /// Serves a request, and answers with JSON or with a stream of events.
    async fn serve(
        &self,
        post: Post<'_>,
        message: PostMessage<'_>,
        session: Arc<SessionShared>,
        cancels: bool,
        lease: Option<SessionLease>,
    ) -> Response<HttpBody> {
        let is_endless = message.is_listen();
        let stream = run(post, message, session, cancels, lease).await;
        if let Some(response) = stream.take_only_response() {
            return json(response, &self.unread);
        }
        // Plain JSON if nothing else is sent, and the response is there soon (TR-107).
        let _ = timeout(self.config.stream_after, stream.ready()).await;
        match stream.take_only_response() {
            Some(response) => json(response, &self.unread),
            None => {
                let start = stream.session.begin_events(stream.id, &self.unread);
                let can_end = is_endless || start.can_end;
                self.event_stream(stream, start, can_end)
            }
        }
    }

    fn event_stream(
        &self,
        stream: OpenStream,
        start: StreamStart,
        can_end: bool,
    ) -> Response<HttpBody> {
        let max_age = self.config.max_stream_age.filter(|_| can_end);
        let unread = Arc::clone(&self.unread);
        let keep_alive = self.config.keep_alive;
        event_stream(Events::new(stream, start, unread, keep_alive, max_age))
    }

    /// Opens a session with an `initialize`.
    async fn open_session(
        self: &Arc<Self>,
        post: Post<'_>,
        message: Envelope<'_>,
    ) -> Response<HttpBody> {
        if self.config.has_sessions
            && let Err(too_many) = self.sessions.check_room()
        {
            return self.refuse(too_many_sessions(too_many));
        }
        let log = self.log.as_ref();
        let session = self.begin(self.session_config(), post.principal.clone(), None, log);
        let message = PostMessage::Session(message);
        let stream = run(post, message, Arc::clone(&session), false, None).await;
        let Some(response) = stream.take_only_response() else {
            return self.refuse(Refusal::unknown_session(None).into());
        };
        if !(self.config.has_sessions && session.has_negotiated()) {
            return json(response, &self.unread);
        }
        let id = match new_session_id() {
            Ok(id) => id,
            Err(refusal) => return self.refuse(refusal),
        };
        match self.add_session(&id, &session).await {
            Ok(()) => with_session_id(json(response, &self.unread), &id),
            Err(refusal) => self.refuse(refusal),
        }
    }

    /// Opens the stream of a session for messages that belong to no request, or resumes any of its
    /// streams.
    async fn get(self: &Arc<Self>, parts: &Parts) -> Response<HttpBody> {
        let headers = mcp_headers(&parts.headers);
        let routed = route_handshake_request(&self.handshake, HandshakeHttpRequest::Get, &headers);
        let target = match routed {
            Ok(HandshakeRoute::OpenStream(target)) => target,
            Ok(_) => return self.not_offered(&parts.method),
            Err(refusal) => return self.refuse(refusal.into()),
        };
        if target.id.is_none() {
            // Without a session there is nothing to send.
            return self.not_offered(&parts.method);
        }
        let principal = parts.extensions.get::<Principal>();
        let last = last_event_id(&parts.headers);
        // Only the node that has sent an event can go on after it.
        let usage = match last {
            Ok(None) => SessionUse::Stream,
            Ok(Some(_)) | Err(_) => SessionUse::Message,
        };
        let found = self.find_session(&target, principal, usage);
        let FoundSession { session, lease, .. } = match found.await {
            Ok(Some(found)) => found,
            Ok(None) => return self.refuse(Refusal::unknown_session(None).into()),
            Err(refusal) => return self.refuse(refusal),
        };
        let opened = match last.map(|last| last.map(|last| session.resume_stream(last))) {
            Ok(None) => session.open_server_stream(),
            Ok(Some(Ok(resumed))) => Some(resumed),
            Ok(Some(Err(error))) => return self.refuse(error.refusal().into()),
            Err(refusal) => return self.refuse(refusal),
        };
        let Some((id, start)) = opened else {
            return self.not_offered(&parts.method);
        };
        let can_end = start.can_end;
        self.event_stream(
            OpenStream {
                session,
                id,
                reader: None,
                cancels: false,
                _lease: lease,
            },
            start,
            can_end,
        )
    }

    /// Ends a session.
    async fn delete(&self, parts: &Parts) -> Response<HttpBody> {
        let headers = mcp_headers(&parts.headers);
        let request = HandshakeHttpRequest::Delete;
        match route_handshake_request(&self.handshake, request, &headers) {
            Ok(HandshakeRoute::EndSession(id)) => {
                let principal = parts.extensions.get::<Principal>();
                match self.end_session(&id, principal).await {
                    Ok(true) => no_content(),
                    Ok(false) => self.refuse(Refusal::unknown_session(None).into()),
                    Err(refusal) => self.refuse(refusal),
                }
            }
            Ok(_) => self.not_offered(&parts.method),
            Err(refusal) => self.refuse(refusal.into()),
        }
    }

    /// Begins a session, or goes on with one.
    fn begin(
        &self,
        config: Arc<SessionConfig>,
        principal: Option<Principal>,
        resumed: Option<SessionRemains>,
        log: Option<&Arc<LogSettings>>,
    ) -> Arc<SessionShared> {
        let start = HttpSessionStart {
            config,
            clock: self.clock,
            principal,
            resumed,
            log: log.cloned(),
        };
        SessionShared::for_http(Arc::clone(&self.core), start)
    }

    /// Returns the configuration of a session that begins now. Sessions share it while the
    /// capabilities of the server stay the same.
    fn session_config(&self) -> Arc<SessionConfig> {
        let capabilities = self.core.capabilities();
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if latest.0 != capabilities {
            let mut config = SessionConfig::clone(&self.stateless);
            config.capabilities(capabilities.clone());
            *latest = (capabilities, Arc::new(config));
        }
        Arc::clone(&latest.1)
    }
}

/// A POST whose body was read.
struct Post<'a> {
    frame: &'a Bytes,
    principal: Option<Principal>,
    http: HttpRequestParts,
}

/// What a POST is for.
enum Target<'a> {
    Stateless(PostMessage<'a>),
    Handshake(HandshakeRoute, Envelope<'a>),
}

/// Passes a message to its session, and runs its handlers in place.
async fn run(
    post: Post<'_>,
    message: PostMessage<'_>,
    session: Arc<SessionShared>,
    cancels: bool,
    lease: Option<SessionLease>,
) -> OpenStream {
    let mut message = Some(message);
    let id = poll_fn(|cx| match message.take() {
        Some(message) => Poll::Ready(session.handle_post(post.frame, message, &post.http, cx)),
        None => Poll::Pending,
    })
    .await;
    OpenStream {
        session,
        id,
        reader: None,
        cancels,
        _lease: lease,
    }
}

/// Returns the id of a request.
fn request_id(message: &Envelope<'_>) -> Option<RequestId> {
    match message {
        Envelope::Request(request) => Some(request.id.clone()),
        _ => None,
    }
}

/// The methods of the endpoint.
const METHODS: &str = "GET, POST, DELETE";
