//! The paths of a server over HTTP: the endpoint, and what load balancers ask for.
//!
//! Requests to the endpoint go to the service behind it unchanged. `/healthz` is answered with 200
//! as long as the process can answer at all; `/readyz` with 503 as soon as the server shuts down or
//! has no room for another connection. Redirects are never sent: clients lose the body or the
//! method of a POST with them.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use ::http::{HeaderValue, Method, Request, Response, StatusCode};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::watch;
use tower_service::Service;

use super::config::HttpConfig;
use super::origins::AllowedOrigins;
use super::refusal::HttpRefusal;
use super::stats::HttpCounters;

/// When a client should come back that found no room.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// A service behind its path, with health checks beside it.
#[derive(Clone, Debug)]
pub(super) struct Endpoint<S> {
    service: S,
    path: Arc<str>,
    /// Further paths of the service.
    others: Arc<[String]>,
    is_draining: watch::Receiver<bool>,
    has_room: bool,
    origins: Arc<AllowedOrigins>,
    counters: Arc<HttpCounters>,
}

impl<S> Endpoint<S> {
    /// Creates the endpoint of a service. `is_draining` is `true` when the server shuts down.
    pub(super) fn new(
        service: S,
        config: &HttpConfig,
        is_draining: watch::Receiver<bool>,
        counters: Arc<HttpCounters>,
    ) -> Self {
        Self {
            service,
            path: (*config.path).into(),
            others: config.further_paths().into(),
            is_draining,
            has_room: true,
            origins: Arc::new(config.allowed_origins.clone()),
            counters,
        }
    }

    /// Returns the same endpoint for a connection beyond the limit: requests are answered with 503.
    pub(super) fn without_room(mut self) -> Self {
        self.has_room = false;
        self
    }

    pub(super) fn has_room(&self) -> bool {
        self.has_room
    }

    /// Returns the answer to a request that doesn't go to the service. The pages of an allowed
    /// origin can read it.
    fn own_answer<B>(&self, request: &Request<B>) -> Option<Response<Bytes>> {
        let mut answer = match self.answer(request).transpose()? {
            Ok(answer) => answer,
            Err(refusal) => {
                self.counters.count(&refusal);
                refusal.into_response()
            }
        };
        if let Ok(origin) = self.origins.check(request.headers()) {
            origin.add_headers(answer.headers_mut());
        }
        Some(answer)
    }

    fn answer<B>(&self, request: &Request<B>) -> Result<Option<Response<Bytes>>, HttpRefusal> {
        let (path, method) = (request.uri().path(), request.method());
        let is_endpoint = is_same_path(path, &self.path)
            || self.others.iter().any(|other| is_same_path(path, other));
        // Without an answer to its preflight a page can't learn that there is no room.
        if is_endpoint && (self.has_room || method == Method::OPTIONS) {
            return Ok(None);
        }
        match path {
            _ if is_endpoint => Err(no_room()),
            "/healthz" | "/readyz" if !is_get(method) => {
                Err(HttpRefusal::method_not_allowed(method, "GET, HEAD"))
            }
            "/healthz" => Ok(Some(text(StatusCode::OK, "ok"))),
            "/readyz" => Ok(Some(self.readiness())),
            _ => Err(not_found(&self.path)),
        }
    }

    fn readiness(&self) -> Response<Bytes> {
        if *self.is_draining.borrow() {
            text(StatusCode::SERVICE_UNAVAILABLE, "shutting down")
        } else if self.has_room {
            text(StatusCode::OK, "ok")
        } else {
            text(StatusCode::SERVICE_UNAVAILABLE, "too many connections")
        }
    }
}

fn no_room() -> HttpRefusal {
    let message = "too many connections, try again later";
    HttpRefusal::retry_later(StatusCode::SERVICE_UNAVAILABLE, RETRY_AFTER, message)
}

/// The code is not -32601: with 404 that is the answer to a method that the server doesn't have.
fn not_found(endpoint: &str) -> HttpRefusal {
    let message = format_args!("no MCP endpoint at this path: it is at {endpoint}");
    HttpRefusal::new(StatusCode::NOT_FOUND, message)
}

fn text(status: StatusCode, text: &'static str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from_static(text.as_bytes()));
    *response.status_mut() = status;
    for (name, value) in [(CONTENT_TYPE, "text/plain"), (CACHE_CONTROL, "no-store")] {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}

/// Returns `true` if two paths differ in a slash at their end at most.
pub(super) fn is_same_path(path: &str, other: &str) -> bool {
    path.strip_suffix('/').unwrap_or(path) == other.strip_suffix('/').unwrap_or(other)
}

fn is_get(method: &Method) -> bool {
    method == Method::GET || method == Method::HEAD
}

impl<S, Q, B> Service<Request<Q>> for Endpoint<S>
where
    S: Service<Request<Q>, Response = Response<B>, Error = Infallible>,
    S::Future: Unpin,
{
    type Response = Response<EndpointBody<B>>;
    type Error = Infallible;
    type Future = EndpointFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        match self.own_answer(&request) {
            Some(answer) => EndpointFuture::Own(Some(answer)),
            None => EndpointFuture::Service(self.service.call(request)),
        }
    }
}

/// The future response of an [`Endpoint`].
#[derive(Debug)]
pub(super) enum EndpointFuture<F> {
    Service(F),
    Own(Option<Response<Bytes>>),
}

impl<F, B> Future for EndpointFuture<F>
where
    F: Future<Output = Result<Response<B>, Infallible>> + Unpin,
{
    type Output = Result<Response<EndpointBody<B>>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(match self.get_mut() {
            Self::Service(future) => ready!(Pin::new(future).poll(cx))
                .map(|response| response.map(EndpointBody::Service)),
            Self::Own(answer) => {
                let answer = answer.take().expect("it is not polled after its response");
                Ok(answer.map(|text| EndpointBody::Own(Some(text))))
            }
        })
    }
}

/// The body of a response of an [`Endpoint`].
#[derive(Debug)]
pub(super) enum EndpointBody<B> {
    Service(B),
    Own(Option<Bytes>),
}

impl<B: Body<Data = Bytes> + Unpin> Body for EndpointBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match self.get_mut() {
            Self::Service(body) => Pin::new(body).poll_frame(cx),
            Self::Own(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Service(body) => body.is_end_stream(),
            Self::Own(text) => text.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Service(body) => body.size_hint(),
            Self::Own(text) => {
                SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64))
            }
        }
    }
}

#[cfg(test)]
mod tests;
