//! The streams of a session over HTTP: where its messages leave.
//!
//! A POST has a stream for its response and for the messages that belong to its requests; a GET has
//! one for all other messages. The core's messages are moved here as soon as they are composed, and
//! the bodies of HTTP responses take them from here. A body that isn't read holds up no other
//! stream: its own is cut when it keeps too much.

use std::collections::VecDeque;
use std::task::{Context as TaskContext, Poll, Waker};

use bowline_proto::{MonotonicTable, RequestKey, StreamId, Transmit, TransmitKind};

/// Bytes of notifications and requests that may wait on one stream. Beyond it the stream is cut.
pub(in super::super) const MAX_STREAM_BYTES: usize = 1024 * 1024;

/// Messages that may wait on one stream, for those that are small.
pub(in super::super) const MAX_STREAM_MESSAGES: usize = 1000;

/// The streams of one session.
#[derive(Debug, Default)]
pub(in super::super) struct ResponseStreams {
    /// The streams of requests that are not answered in full, or whose response was not taken.
    streams: MonotonicTable<StreamId, ResponseStream>,
    last_id: u64,
    /// The stream of a GET, while there is one.
    server_stream: Option<StreamId>,
    /// Messages that belong to no request, while there is no GET. The oldest are dropped.
    unclaimed: ResponseStream,
    /// Wakers of streams that have new messages, to be woken without the lock.
    wakers: Vec<Waker>,
}

/// One stream.
#[derive(Debug, Default)]
struct ResponseStream {
    queue: VecDeque<Transmit>,
    /// Bytes of the queue, without responses.
    bytes: usize,
    /// Requests whose response is expected here.
    requests: Vec<RequestKey>,
    /// `true` once nothing follows what is queued.
    has_ended: bool,
    /// `true` if messages were dropped since the client doesn't read.
    is_cut: bool,
    waker: Option<Waker>,
}

/// What a body finds on its stream.
#[derive(Debug)]
pub(in super::super) enum StreamOutput {
    Message(Transmit),
    /// Nothing follows.
    End,
    /// The client doesn't read: messages were dropped.
    Cut,
}

impl ResponseStream {
    fn push(&mut self, transmit: Transmit, wakers: &mut Vec<Waker>) {
        let is_response = transmit.kind == TransmitKind::Response;
        if !is_response {
            let is_full = self.bytes + transmit.len() > MAX_STREAM_BYTES
                || self.queue.len() >= MAX_STREAM_MESSAGES;
            if is_full || self.is_cut {
                self.is_cut = true;
                return;
            }
            self.bytes += transmit.len();
        }
        self.has_ended |= is_response;
        self.queue.push_back(transmit);
        wakers.extend(self.waker.take());
    }

    fn pop(&mut self) -> Option<Transmit> {
        let transmit = self.queue.pop_front()?;
        if transmit.kind != TransmitKind::Response {
            self.bytes -= transmit.len();
        }
        Some(transmit)
    }
}

impl ResponseStreams {
    /// Opens the stream of a POST.
    pub(in super::super) fn open(&mut self) -> StreamId {
        self.last_id += 1;
        let id = StreamId::new(self.last_id);
        self.streams.insert(id, ResponseStream::default());
        id
    }

    /// Opens the stream of a GET. It takes the place of an earlier one, which ends: its client may
    /// have lost it without the server knowing.
    pub(in super::super) fn open_server_stream(&mut self) -> StreamId {
        self.end_server_stream();
        let id = self.open();
        if let Some(stream) = self.streams.get_mut(id) {
            *stream = std::mem::take(&mut self.unclaimed);
        }
        self.server_stream = Some(id);
        id
    }

    /// Ends the stream of a GET.
    pub(in super::super) fn end_server_stream(&mut self) {
        if let Some(id) = self.server_stream.take() {
            self.end(id);
        }
    }

    /// Returns the number of streams that are open.
    pub(in super::super) fn len(&self) -> usize {
        self.streams.len()
    }

    /// Returns `true` if nothing is open and nothing waits for a GET.
    pub(in super::super) fn is_idle(&self) -> bool {
        self.streams.is_empty() && self.unclaimed.queue.is_empty()
    }

    /// Queues a message of the core.
    pub(super) fn queue(&mut self, transmit: Transmit) {
        match transmit.stream.or(self.server_stream) {
            Some(id) => {
                // Without its stream the message has no receiver: the client has disconnected.
                if let Some(stream) = self.streams.get_mut(id) {
                    stream.push(transmit, &mut self.wakers);
                }
            }
            None => {
                if self.unclaimed.queue.len() >= MAX_UNCLAIMED {
                    self.unclaimed.pop();
                }
                self.unclaimed.push(transmit, &mut self.wakers);
                self.unclaimed.is_cut = false;
            }
        }
    }

    /// Notes that a response is expected on a stream.
    pub(super) fn expect_response(&mut self, stream: StreamId, request: RequestKey) {
        if let Some(stream) = self.streams.get_mut(stream) {
            stream.requests.push(request);
        }
    }

    /// Notes that a request has ended without a response. Its stream ends when nothing else is
    /// expected there.
    pub(super) fn forget_request(&mut self, request: RequestKey) {
        let mut streams = self.streams.iter_mut();
        let found = streams.find(|(_, stream)| stream.requests.contains(&request));
        if let Some((_, stream)) = found {
            stream.requests.retain(|expected| *expected != request);
            if stream.requests.is_empty() {
                stream.has_ended = true;
                self.wakers.extend(stream.waker.take());
            }
        }
    }

    /// Ends a stream after what is queued.
    pub(in super::super) fn end(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.get_mut(id) {
            stream.has_ended = true;
            self.wakers.extend(stream.waker.take());
        }
    }

    /// Ends all streams after what is queued.
    pub(super) fn end_all(&mut self) {
        self.server_stream = None;
        self.unclaimed = ResponseStream::default();
        for (_, stream) in self.streams.iter_mut() {
            stream.has_ended = true;
            self.wakers.extend(stream.waker.take());
        }
    }

    /// Wakes the bodies of all streams: a change may have become due.
    pub(super) fn wake_all(&mut self) {
        for (_, stream) in self.streams.iter_mut() {
            self.wakers.extend(stream.waker.take());
        }
    }

    /// Closes a stream whose body is gone. Returns the requests whose responses it waited for.
    pub(in super::super) fn close(&mut self, id: StreamId) -> Vec<RequestKey> {
        if self.server_stream == Some(id) {
            self.server_stream = None;
        }
        let stream = self.streams.remove(id);
        stream.map_or_else(Vec::new, |stream| stream.requests)
    }

    /// Takes the response of a stream if it is all that there is.
    pub(in super::super) fn take_only_response(&mut self, id: StreamId) -> Option<Transmit> {
        let stream = self.streams.get_mut(id)?;
        let is_only = stream.queue.len() == 1
            && stream.queue.front().map(|first| first.kind) == Some(TransmitKind::Response);
        let response = if is_only { stream.pop() } else { None };
        if response.is_some() {
            self.streams.remove(id);
        }
        response
    }

    /// Returns the next message of a stream.
    pub(in super::super) fn poll_next(
        &mut self,
        id: StreamId,
        cx: &TaskContext<'_>,
    ) -> Poll<StreamOutput> {
        let Some(stream) = self.streams.get_mut(id) else {
            return Poll::Ready(StreamOutput::End);
        };
        if stream.is_cut {
            return Poll::Ready(StreamOutput::Cut);
        }
        if let Some(transmit) = stream.pop() {
            return Poll::Ready(StreamOutput::Message(transmit));
        }
        if stream.has_ended {
            return Poll::Ready(StreamOutput::End);
        }
        stream.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Is ready when the stream has something, or has ended.
    pub(in super::super) fn poll_ready(&mut self, id: StreamId, cx: &TaskContext<'_>) -> Poll<()> {
        match self.streams.get_mut(id) {
            Some(stream) if stream.queue.is_empty() && !stream.has_ended => {
                stream.waker = Some(cx.waker().clone());
                Poll::Pending
            }
            _ => Poll::Ready(()),
        }
    }

    /// Takes the wakers of streams that have something new.
    pub(super) fn take_wakers(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.wakers)
    }
}

/// Messages that belong to no request and are kept until there is a GET.
const MAX_UNCLAIMED: usize = 100;
