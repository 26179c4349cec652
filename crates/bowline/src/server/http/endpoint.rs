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

use ::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use ::http::{HeaderValue, Method, Request, Response, StatusCode};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::watch;
use tower_service::Service;

/// A service behind its path, with health checks beside it.
#[derive(Clone, Debug)]
pub(super) struct Endpoint<S> {
    service: S,
    path: Arc<str>,
    /// Further paths of the service.
    others: Arc<[String]>,
    is_draining: watch::Receiver<bool>,
    has_room: bool,
}

impl<S> Endpoint<S> {
    /// Creates the endpoint of a service. `is_draining` is `true` when the server shuts down.
    pub(super) fn new(service: S, path: &str, is_draining: watch::Receiver<bool>) -> Self {
        Self {
            service,
            path: path.into(),
            others: Arc::default(),
            is_draining,
            has_room: true,
        }
    }

    /// Returns the same endpoint, whose service has further paths.
    pub(super) fn with_paths(mut self, others: Vec<String>) -> Self {
        self.others = others.into();
        self
    }

    /// Returns the same endpoint for a connection beyond the limit: requests are answered with 503.
    pub(super) fn without_room(mut self) -> Self {
        self.has_room = false;
        self
    }

    pub(super) fn has_room(&self) -> bool {
        self.has_room
    }

    /// Returns the answer to a request that doesn't go to the service.
    fn own_answer<B>(&self, request: &Request<B>) -> Option<Answer> {
        let path = request.uri().path();
        let is_endpoint = is_same_path(path, &self.path)
            || self.others.iter().any(|other| is_same_path(path, other));
        Some(match path {
            _ if is_endpoint && self.has_room => return None,
            _ if is_endpoint => Answer::no_room(),
            "/healthz" | "/readyz" if !is_get(request.method()) => Answer::only_get(),
            "/healthz" => Answer::text(StatusCode::OK, "ok"),
            "/readyz" => self.readiness(),
            _ => Answer::not_found(&self.path),
        })
    }

    fn readiness(&self) -> Answer {
        if *self.is_draining.borrow() {
            Answer::text(StatusCode::SERVICE_UNAVAILABLE, "shutting down")
        } else if self.has_room {
            Answer::text(StatusCode::OK, "ok")
        } else {
            Answer::text(StatusCode::SERVICE_UNAVAILABLE, "too many connections")
        }
    }
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
    Own(Option<Answer>),
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
                Ok(answer.0.map(|text| EndpointBody::Own(Some(text))))
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

/// A response that is made here.
#[derive(Debug)]
pub(super) struct Answer(Response<Bytes>);

impl Answer {
    fn text(status: StatusCode, text: &'static str) -> Self {
        Self::new(status, "text/plain", Bytes::from_static(text.as_bytes()))
    }

    fn new(status: StatusCode, content_type: &'static str, body: Bytes) -> Self {
        let mut answer = Self(Response::new(body));
        *answer.0.status_mut() = status;
        answer.header(CONTENT_TYPE, content_type);
        answer.header(CACHE_CONTROL, "no-store");
        answer
    }

    /// Creates an error of JSON-RPC without an id: the request was not read.
    fn error(status: StatusCode, code: i32, message: &str) -> Self {
        let message = serde_json::Value::from(message);
        let error = format!(r#"{{"jsonrpc":"2.0","error":{{"code":{code},"message":{message}}}}}"#);
        Self::new(status, "application/json", error.into())
    }

    fn no_room() -> Self {
        let message = "too many connections, try again later";
        let mut answer = Self::error(StatusCode::SERVICE_UNAVAILABLE, -32603, message);
        answer.header(RETRY_AFTER, "1");
        answer
    }

    fn only_get() -> Self {
        let mut answer = Self::text(StatusCode::METHOD_NOT_ALLOWED, "use GET");
        answer.header(ALLOW, "GET, HEAD");
        answer
    }

    /// Not -32601: with 404 that is the answer to a method that the server doesn't have.
    fn not_found(endpoint: &str) -> Self {
        let message = format!("no MCP endpoint at this path: it is at {endpoint}");
        Self::error(StatusCode::NOT_FOUND, -32600, &message)
    }

    fn header(&mut self, name: ::http::HeaderName, value: &'static str) {
        let value = HeaderValue::from_static(value);
        self.0.headers_mut().insert(name, value);
    }
}

#[cfg(test)]
mod tests;
