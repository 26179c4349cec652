//! One connection: HTTP/1.1 or HTTP/2 on a stream of bytes, which hyper speaks.

use std::convert::Infallible;
use std::error::Error as StdError;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ::http::header::CONNECTION;
use ::http::{HeaderValue, Request, Response, Version};
use bytes::Bytes;
use http_body::Body;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep_until};
use tower_service::Service;

use super::connection_io::ConnectionIo;
use super::connection_state::{ConnectionState, Timeouts};
use super::message_bodies::{MAX_SEND_BUFFER_BYTES, RequestBody, open_request};
use super::stream_tasks::{StreamExecutor, StreamTasks};
use crate::transport::Stream;

/// The most bytes of a request's head. Beyond it, or beyond 100 headers, the answer is 431. HTTP/1
/// also reads no more ahead, and keeps no more that is not yet written.
const MAX_HEAD_BYTES: usize = 32 * 1024;

/// HTTP/2: the most requests that are served at the same time.
const MAX_STREAMS: u32 = 100;

/// HTTP/2: the most requests that a client may reset before they were looked at. One more ends the
/// connection.
const MAX_RESET_STREAMS: usize = 20;

/// HTTP/2: the most bytes of bodies that are received and not yet read, for one request and for the
/// connection. With the heads and what is not yet sent it keeps no more than about 10 MiB.
const WINDOWS: (u32, u32) = (256 * 1024, 1024 * 1024);

/// HTTP/2: the time between two pings, and the time to answer one.
const PING: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(20));

/// How long a connection without requests may take to end: a client of HTTP/2 has to confirm it,
/// and one of HTTP/1 may just be sending a request.
const CLOSE_GRACE: Duration = Duration::from_millis(500);

/// A service of HTTP requests that hyper can drive.
pub(in crate::server::http) trait ServeHttp:
    Clone + Send + 'static
{
    type Body: Body<Data = Bytes, Error: Into<Box<dyn StdError + Send + Sync>>>
        + Send
        + Unpin
        + 'static;

    /// Serves one request.
    fn serve(
        self,
        request: Request<RequestBody>,
    ) -> impl Future<Output = Response<Self::Body>> + Send + 'static;
}

impl<S, B> ServeHttp for S
where
    S: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send + 'static,
    B: Body<Data = Bytes, Error: Into<Box<dyn StdError + Send + Sync>>> + Send + Unpin + 'static,
{
    type Body = B;

    async fn serve(mut self, request: Request<RequestBody>) -> Response<B> {
        let Ok(()) = poll_fn(|cx| self.poll_ready(cx)).await;
        let Ok(response) = self.call(request).await;
        response
    }
}

/// How a connection is served.
#[derive(Clone, Debug)]
pub(super) struct ConnectionSettings {
    pub(super) timeouts: Timeouts,
    /// Only one request is answered.
    pub(super) closes_after_request: bool,
    pub(super) end_signal: watch::Receiver<bool>,
}

/// Serves one connection, until it has ended. Dropping the future ends it with all its requests.
pub(super) async fn serve_connection(
    mut stream: Stream,
    service: impl ServeHttp,
    settings: ConnectionSettings,
    state: Arc<ConnectionState>,
) {
    let tasks = StreamTasks::default();
    let builder = builder(tasks.executor());
    let mut extensions = std::mem::take(&mut stream.extensions);
    if let Some(address) = stream.peer_addr() {
        extensions.insert(address);
    }
    let io = TokioIo::new(ConnectionIo::new(stream, Arc::clone(&state)));
    let shared = Arc::clone(&state);
    let closes = settings.closes_after_request;
    let service = hyper::service::service_fn(move |mut request: Request<Incoming>| {
        let (service, shared) = (service.clone(), Arc::clone(&shared));
        request.extensions_mut().extend(extensions.clone());
        let (request, open) = open_request(request, shared);
        // In HTTP/2 there is no such header; the connection is closed all the same.
        let says_close = closes && request.version() < Version::HTTP_2;
        async move {
            let mut response = service.serve(request).await;
            if says_close {
                let close = HeaderValue::from_static("close");
                response.headers_mut().insert(CONNECTION, close);
            }
            Ok::<_, Infallible>(open.respond(response))
        }
    });
    let connection = pin!(builder.serve_connection(io, service));
    drive(
        connection,
        |connection| connection.graceful_shutdown(),
        &settings,
        &state,
    )
    .await;
    tasks.shut_down().await;
}

fn builder(executor: StreamExecutor) -> auto::Builder<StreamExecutor> {
    let mut builder = auto::Builder::new(executor);
    builder
        .http1()
        .timer(TokioTimer::new())
        // hyper's timeout would also end idle connections: see `ConnectionState::deadline`.
        .header_read_timeout(None)
        .max_buf_size(MAX_HEAD_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_pending_accept_reset_streams(MAX_RESET_STREAMS)
        .max_header_list_size(MAX_HEAD_BYTES as u32)
        .initial_stream_window_size(WINDOWS.0)
        .initial_connection_window_size(WINDOWS.1)
        .max_send_buf_size(MAX_SEND_BUFFER_BYTES)
        .keep_alive_interval(PING.0)
        .keep_alive_timeout(PING.1);
    builder
}

/// Drives a connection until it ends, and ends it at its timeouts. `end` lets it end: requests that
/// are being served are finished.
async fn drive<C, E>(
    connection: Pin<&mut C>,
    end: fn(Pin<&mut C>),
    settings: &ConnectionSettings,
    state: &ConnectionState,
) where
    C: Future<Output = Result<(), E>>,
{
    let mut end_signal = settings.end_signal.clone();
    let ending = pin!(async move {
        // A server that is gone has ended too.
        let _ = end_signal.wait_for(|is_ending| *is_ending).await;
    });
    let eviction = pin!(async {
        loop {
            state.eviction.notified().await;
            if state.confirm_eviction() {
                return;
            }
        }
    });
    let timer = pin!(sleep_until(Instant::now() + settings.timeouts.head));
    let mut driver = Driver {
        connection,
        end,
        timer,
        ending,
        eviction,
        settings,
        state,
        closing_since: None,
    };
    poll_fn(|cx| driver.poll(cx)).await;
}

struct Driver<'a, C, F, G> {
    connection: Pin<&'a mut C>,
    end: fn(Pin<&mut C>),
    timer: Pin<&'a mut Sleep>,
    ending: Pin<&'a mut F>,
    eviction: Pin<&'a mut G>,
    settings: &'a ConnectionSettings,
    state: &'a ConnectionState,
    closing_since: Option<Instant>,
}

impl<C, E, F, G> Driver<'_, C, F, G>
where
    C: Future<Output = Result<(), E>>,
    F: Future<Output = ()>,
    G: Future<Output = ()>,
{
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            // Errors are those of one client, who gets them as an answer where it can be sent.
            if self.connection.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            if self.closing_since.is_none() {
                if self.should_end(cx) {
                    self.begin_end();
                    continue;
                }
                if self.eviction.as_mut().poll(cx).is_ready() {
                    // Requests whose bodies are slow are not waited for.
                    if !self.state.is_http2() || self.state.is_serving() {
                        return Poll::Ready(());
                    }
                    self.begin_end();
                    continue;
                }
            }
            ready!(self.poll_deadline(cx));
            if self.state.is_not_read(self.settings.timeouts) {
                tracing::warn!("connection closed: the client doesn't read from it");
                return Poll::Ready(());
            }
            if self.closing_since.is_some() || !self.state.is_http2() {
                return Poll::Ready(());
            }
            self.begin_end();
        }
    }

    fn should_end(&mut self, cx: &mut Context<'_>) -> bool {
        let is_answered = self.settings.closes_after_request && self.state.has_sent_request();
        is_answered || self.ending.as_mut().poll(cx).is_ready()
    }

    fn begin_end(&mut self) {
        self.closing_since = Some(Instant::now());
        (self.end)(self.connection.as_mut());
    }

    /// Is ready when the connection was without a request, or blocked, for too long.
    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let deadline = self.deadline();
            // The timer is only moved when it has to be: most requests leave it alone.
            if let Some(deadline) = deadline
                && deadline < self.timer.deadline()
            {
                self.timer.as_mut().reset(deadline);
            }
            ready!(self.timer.as_mut().poll(cx));
            match deadline {
                Some(deadline) if deadline <= self.timer.deadline() => return Poll::Ready(()),
                Some(deadline) => self.timer.as_mut().reset(deadline),
                None => {
                    let later = Instant::now() + self.settings.timeouts.idle.max(CLOSE_GRACE);
                    self.timer.as_mut().reset(later);
                }
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let deadline = self.state.deadline(self.settings.timeouts);
        match self.closing_since {
            Some(since) if !self.state.is_serving() => {
                let closed = since + CLOSE_GRACE;
                Some(deadline.map_or(closed, |deadline| deadline.min(closed)))
            }
            _ => deadline,
        }
    }
}
