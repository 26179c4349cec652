//! The bodies of responses: nothing, one JSON message, or a stream of events.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};
use std::time::Duration;

use bowline_proto::codec::{write_priming, write_retry};
use bowline_proto::server::EventReader;
use bowline_proto::{StreamId, Transmit};
use bytes::{BufMut, Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use memchr::memchr2;
use tokio::time::{Instant, Sleep, sleep};

use super::body_budget::BodyBudget;
use super::legacy_sse::LegacyEvents;
use super::sessions::SessionLease;
use super::unread_responses::{MAX_UNCOUNTED, UnreadResponse, UnreadResponses};
use crate::server::session::{SessionShared, SessionTimer, StreamOutput, StreamStart};

/// Messages larger than this are not copied into one piece.
const MAX_COPIED: usize = 16 * 1024;

/// Bytes of events that leave together.
pub(super) const MAX_TOGETHER: usize = 64 * 1024;

/// A comment: it shows proxies and clients that the stream is alive (TR-111).
pub(super) const COMMENT: &[u8] = b":\n\n";

/// The body of a response.
pub struct HttpBody(Kind);

enum Kind {
    /// What is left of a body that is known.
    Known(VecDeque<Bytes>),
    /// A large response.
    Unread(UnreadResponse),
    Events(Box<Events>),
    LegacyEvents(Box<LegacyEvents>),
}

impl HttpBody {
    /// Creates a body without anything.
    pub(super) fn empty() -> Self {
        Self(Kind::Known(VecDeque::new()))
    }

    /// Creates a body of these bytes.
    pub(super) fn full(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        if bytes.is_empty() {
            return Self::empty();
        }
        Self(Kind::Known(VecDeque::from([bytes])))
    }

    /// Creates a body of one message.
    pub(super) fn message(transmit: Transmit, unread: &Arc<UnreadResponses>) -> Self {
        if transmit.len() <= MAX_COPIED {
            let mut bytes = BytesMut::with_capacity(transmit.len());
            transmit.append_to(&mut bytes);
            return Self::full(bytes.freeze());
        }
        let is_counted = transmit.len() > MAX_UNCOUNTED;
        let parts = [transmit.head, transmit.body, transmit.tail];
        if is_counted {
            let (response, cut) = unread.hold(parts);
            cut.log();
            return Self(Kind::Unread(response));
        }
        Self(Kind::Known(
            parts.into_iter().filter(|part| !part.is_empty()).collect(),
        ))
    }

    pub(super) fn events(events: Events) -> Self {
        Self(Kind::Events(Box::new(events)))
    }

    pub(super) fn legacy_events(events: LegacyEvents) -> Self {
        Self(Kind::LegacyEvents(Box::new(events)))
    }
}

impl Body for HttpBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match &mut self.0 {
            Kind::Known(parts) => Poll::Ready(parts.pop_front().map(|part| Ok(Frame::data(part)))),
            Kind::Unread(response) => {
                let read = response.read().transpose();
                Poll::Ready(read.map(|piece| piece.map(Frame::data)))
            }
            Kind::Events(events) => {
                let polled = events.poll_bytes(cx);
                polled.map(|bytes| bytes.map(|bytes| bytes.map(Frame::data)))
            }
            Kind::LegacyEvents(events) => {
                let polled = events.poll_bytes(cx);
                polled.map(|bytes| bytes.map(|bytes| bytes.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Known(parts) => parts.is_empty(),
            Kind::Unread(response) => response.remaining() == 0,
            Kind::Events(events) => events.has_ended && events.large.is_none(),
            Kind::LegacyEvents(events) => events.has_ended(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Known(parts) => {
                SizeHint::with_exact(parts.iter().map(|part| part.len() as u64).sum())
            }
            Kind::Unread(response) => SizeHint::with_exact(response.remaining() as u64),
            Kind::Events(_) | Kind::LegacyEvents(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for HttpBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpBody")
    }
}

/// A stream of a session, until it is dropped.
pub(super) struct OpenStream {
    pub(super) session: Arc<SessionShared>,
    pub(super) id: StreamId,
    /// The right to read its events, where they can be resumed.
    pub(super) reader: Option<EventReader>,
    /// `true` if the client's disconnecting cancels its request: in the stateless era.
    pub(super) cancels: bool,
    /// Keeps the session live. Requests without a session have none.
    pub(super) _lease: Option<SessionLease>,
}

impl OpenStream {
    /// Returns the response if nothing else was sent and it is there.
    pub(super) fn take_only_response(&self) -> Option<Transmit> {
        self.session.take_only_response(self.id)
    }

    /// Waits until there is a message, or the stream has ended. Cancel safe.
    pub(super) async fn ready(&self) {
        poll_fn(|cx| self.session.poll_stream_ready(self.id, cx)).await;
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.session
            .close_stream(self.id, self.reader.take(), self.cancels);
    }
}

/// The events of a stream, as they leave.
pub(super) struct Events {
    stream: OpenStream,
    timer: SessionTimer,
    keep_alive: Pin<Box<Sleep>>,
    keep_alive_interval: Duration,
    /// Ends a stream that has become old.
    max_age: Option<Pin<Box<Sleep>>>,
    /// How long the client is to wait before it resumes the stream.
    reconnect_delay: Option<Duration>,
    /// What is sent before anything else.
    preamble: Option<Bytes>,
    /// Events that leave in pieces, before anything else.
    large: Option<UnreadResponse>,
    unread: Arc<UnreadResponses>,
    has_ended: bool,
}

impl Events {
    pub(super) fn new(
        mut stream: OpenStream,
        start: StreamStart,
        unread: Arc<UnreadResponses>,
        keep_alive_interval: Duration,
        max_age: Option<Duration>,
    ) -> Self {
        stream.reader = start.reader;
        let preamble = start.position.map_or_else(
            // A proxy holds the head back until it sees a byte of the body.
            || Bytes::from_static(COMMENT),
            |position| {
                let mut priming = BytesMut::new();
                let id = position.text();
                write_priming(&mut priming, id.as_str(), start.reconnect_delay);
                priming.freeze()
            },
        );
        Self {
            timer: SessionTimer::new(Arc::clone(&stream.session)),
            stream,
            reconnect_delay: start.reconnect_delay,
            preamble: Some(preamble),
            keep_alive: Box::pin(sleep(keep_alive_interval)),
            keep_alive_interval,
            max_age: max_age.map(|age| Box::pin(sleep(age))),
            large: None,
            unread,
            has_ended: false,
        }
    }

    fn poll_bytes(&mut self, cx: &mut TaskContext<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.has_ended && self.large.is_none() {
            return Poll::Ready(None);
        }
        let polled = match self.read_large() {
            Some(piece) => Poll::Ready(Some(piece)),
            None => self.poll_events(cx),
        };
        if let Poll::Ready(Some(Ok(_))) = &polled {
            let next = Instant::now() + self.keep_alive_interval;
            self.keep_alive.as_mut().reset(next);
        }
        polled
    }

    /// Returns the next piece of events that are large, if there are any.
    fn read_large(&mut self) -> Option<io::Result<Bytes>> {
        let large = self.large.as_mut()?;
        let piece = large.read();
        if large.remaining() == 0 {
            self.large = None;
        }
        self.has_ended |= piece.is_err();
        piece.transpose()
    }

    fn poll_events(&mut self, cx: &mut TaskContext<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let mut out = BytesMut::new();
        let preamble = self.preamble.take();
        if let Some(preamble) = preamble.as_ref().filter(|bytes| *bytes != COMMENT) {
            out.put_slice(preamble);
        }
        while out.len() < MAX_TOGETHER && !self.has_ended && self.large.is_none() {
            let stream = &self.stream;
            let polled =
                stream
                    .session
                    .poll_stream(stream.id, stream.reader.as_ref(), &mut self.timer, cx);
            match polled {
                Poll::Ready(StreamOutput::Message(transmit)) => write_event(&mut out, &transmit),
                Poll::Ready(StreamOutput::Large(event)) => self.large = Some(event),
                Poll::Ready(StreamOutput::Event(event)) => {
                    event.write_sse(&mut out, self.reconnect_delay);
                }
                Poll::Ready(StreamOutput::Polling(retry)) => {
                    write_retry(&mut out, retry);
                    self.has_ended = true;
                }
                Poll::Ready(StreamOutput::End) => self.has_ended = true,
                Poll::Ready(StreamOutput::Cut) => return Poll::Ready(Some(Err(self.cut()))),
                Poll::Pending => break,
            }
        }
        // Those together are not much larger, unless one of them is.
        if out.len() > 2 * MAX_TOGETHER && self.large.is_none() {
            let (large, cut) = self
                .unread
                .hold([Bytes::new(), out.split().freeze(), Bytes::new()]);
            cut.log();
            self.large = Some(large);
        }
        if !out.is_empty() {
            return Poll::Ready(Some(Ok(out.freeze())));
        }
        if let Some(piece) = self.read_large() {
            return Poll::Ready(Some(piece));
        }
        if self.has_ended {
            return Poll::Ready(None);
        }
        if preamble.is_some() {
            return Poll::Ready(preamble.map(Ok));
        }
        if let Some(max_age) = &mut self.max_age
            && max_age.as_mut().poll(cx).is_ready()
        {
            self.has_ended = true;
            return Poll::Ready(self.reconnect_delay.map(|retry| {
                write_retry(&mut out, retry);
                Ok(out.freeze())
            }));
        }
        ready!(self.keep_alive.as_mut().poll(cx));
        Poll::Ready(Some(Ok(Bytes::from_static(COMMENT))))
    }

    /// Ends a stream whose client doesn't read.
    fn cut(&mut self) -> io::Error {
        self.has_ended = true;
        cut_stream()
    }
}

/// Returns the error that ends a stream whose client doesn't read, and logs it.
pub(super) fn cut_stream() -> io::Error {
    tracing::warn!("event stream closed: the client doesn't read from it");
    io::Error::new(
        io::ErrorKind::TimedOut,
        "the client doesn't read its event stream",
    )
}

/// Appends a message as an event. A line end in JSON is white space, which becomes a blank: an
/// event has one line of data.
pub(in crate::server) fn write_event(out: &mut BytesMut, transmit: &Transmit) {
    out.reserve(transmit.len() + 8);
    out.put_slice(b"data: ");
    for part in [&transmit.head, &transmit.body, &transmit.tail] {
        let mut rest: &[u8] = part;
        while let Some(at) = memchr2(b'\n', b'\r', rest) {
            let (line, after) = rest.split_at(at);
            out.put_slice(line);
            out.put_u8(b' ');
            rest = after.get(1..).unwrap_or_default();
        }
        out.put_slice(rest);
    }
    out.put_slice(b"\n\n");
}

/// Reads a body, up to a limit and a deadline. One that arrives in several pieces is held within the
/// budget of all bodies.
pub(super) async fn read_body<B>(
    body: B,
    max_bytes: usize,
    timeout: Duration,
    budget: &BodyBudget,
) -> Result<Bytes, BodyError>
where
    B: Body<Data = Bytes>,
{
    let mut body = std::pin::pin!(body);
    if body.size_hint().lower() > max_bytes as u64 {
        return Err(BodyError::TooLarge);
    }
    let mut deadline = None;
    let mut first: Option<Bytes> = None;
    let mut more: Option<BytesMut> = None;
    let mut held = budget.begin();
    let read = poll_fn(|cx| {
        loop {
            match body.as_mut().poll_frame(cx) {
                Poll::Ready(None) => return Poll::Ready(Ok(())),
                Poll::Ready(Some(Err(_))) => return Poll::Ready(Err(BodyError::Lost)),
                Poll::Ready(Some(Ok(frame))) => {
                    // Trailers have no meaning here.
                    let Ok(data) = frame.into_data() else {
                        continue;
                    };
                    let read = first.as_ref().map_or(0, Bytes::len);
                    let read = more.as_ref().map_or(read, BytesMut::len);
                    if read + data.len() > max_bytes {
                        return Poll::Ready(Err(BodyError::TooLarge));
                    }
                    if read > 0 && !held.grow_to(read + data.len()) {
                        return Poll::Ready(Err(BodyError::NoRoom));
                    }
                    match (&mut more, first.take()) {
                        (Some(more), _) => more.extend_from_slice(&data),
                        (None, None) => first = Some(data),
                        (none, Some(begin)) => {
                            let mut bytes = BytesMut::with_capacity(2 * (begin.len() + data.len()));
                            bytes.extend_from_slice(&begin);
                            bytes.extend_from_slice(&data);
                            *none = Some(bytes);
                        }
                    }
                }
                Poll::Pending => {
                    // It begins with the first poll. Most bodies are there with their head.
                    let deadline = deadline.get_or_insert_with(|| Box::pin(sleep(timeout)));
                    ready!(deadline.as_mut().poll(cx));
                    return Poll::Ready(Err(BodyError::TooSlow));
                }
            }
        }
    });
    read.await?;
    let body = more.map(BytesMut::freeze).or(first).unwrap_or_default();
    if body.is_empty() {
        return Err(BodyError::Empty);
    }
    Ok(body)
}

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    /// It is larger than allowed.
    TooLarge,
    /// It didn't arrive in time.
    TooSlow,
    /// Too much of other bodies is being received.
    NoRoom,
    /// It is malformed, or the client has disconnected.
    Lost,
    /// There is none.
    Empty,
}
