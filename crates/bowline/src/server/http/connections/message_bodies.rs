//! The bodies of requests and responses, as they pass between hyper and the service.
//!
//! They report to the [`ConnectionState`] how far a request is: its body received, its response
//! sent, or waiting for a client that doesn't read.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ::http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use ::http::{HeaderValue, Request, Response};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::connection_state::{ConnectionState, ResponseNumber};

/// HTTP/2: the most bytes of one response that are not yet sent. h2 keeps each part of a body whole,
/// and for as long as its client likes, so that larger parts are split.
pub(super) const MAX_SEND_BUFFER_BYTES: usize = 64 * 1024;

/// A request that is not finished: its response is not made, or not yet sent.
#[derive(Debug)]
pub(super) struct OpenRequest(Arc<ConnectionState>);

impl OpenRequest {
    /// Attaches the request to its response, so that it ends when that is sent.
    pub(super) fn respond<B>(self, response: Response<B>) -> Response<ResponseBody<B>> {
        let number = self.0.on_response_begun();
        response.map(|body| ResponseBody {
            body,
            rest: Bytes::new(),
            number,
            open: self,
        })
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0.on_request_end();
    }
}

pub(super) fn open_request(
    mut request: Request<Incoming>,
    state: Arc<ConnectionState>,
) -> (Request<RequestBody>, OpenRequest) {
    let is_received = request.body().is_end_stream();
    restore_content_length(&mut request, &state);
    state.on_request(request.version(), is_received);
    let receiving = (!is_received).then(|| Receiving(Arc::clone(&state)));
    let request = request.map(|body| RequestBody { body, receiving });
    (request, OpenRequest(state))
}

/// Puts back the `Content-Length` that hyper has removed beside `Transfer-Encoding`, for the checks
/// of the service, which refuses both (RFC 9112, 6.3).
fn restore_content_length(request: &mut Request<Incoming>, state: &ConnectionState) {
    if request.headers().contains_key(TRANSFER_ENCODING)
        && let Some(length) = state.received_content_length()
        && let Ok(length) = HeaderValue::try_from(length)
    {
        request.headers_mut().insert(CONTENT_LENGTH, length);
    }
}

/// A body that is being received, until it is complete or isn't read any more.
#[derive(Debug)]
struct Receiving(Arc<ConnectionState>);

impl Drop for Receiving {
    fn drop(&mut self) {
        self.0.on_body_end();
    }
}

/// The body of a request.
#[derive(Debug)]
pub(in crate::server::http) struct RequestBody {
    body: Incoming,
    /// Until the body is complete.
    receiving: Option<Receiving>,
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        let frame = ready!(Pin::new(&mut this.body).poll_frame(cx));
        let is_complete = frame.is_none() || this.body.is_end_stream();
        if is_complete && let Some(receiving) = this.receiving.take() {
            receiving.0.on_body_received();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a response: its request is open until it is sent.
#[derive(Debug)]
pub(super) struct ResponseBody<B> {
    body: B,
    /// HTTP/2: what is left of a part that was too large.
    rest: Bytes,
    /// With HTTP/2.
    number: Option<ResponseNumber>,
    open: OpenRequest,
}

impl<B> Drop for ResponseBody<B> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.open.0.on_response_wanted(number);
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for ResponseBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.get_mut();
        let Some(number) = this.number else {
            return Pin::new(&mut this.body).poll_frame(cx);
        };
        // hyper asks when the client takes more.
        this.open.0.on_response_wanted(number);
        let mut part = std::mem::take(&mut this.rest);
        if part.is_empty() {
            match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => part = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                end => return Poll::Ready(end),
            }
        }
        if part.len() > MAX_SEND_BUFFER_BYTES {
            this.rest = part.split_off(MAX_SEND_BUFFER_BYTES);
        }
        this.open.0.on_response_part(number);
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.body.size_hint();
        let rest = self.rest.len() as u64;
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(hint.lower() + rest);
        hint
    }
}
