//! The streams of a session over HTTP: where its messages leave.
//!
//! A POST has a stream for its response and for the messages that belong to its requests; a GET has
//! one for all other messages. The core's messages are moved here as soon as they are composed, and
//! the bodies of HTTP responses take them from here. A body that isn't read holds up no other
//! stream.
//!
//! A stream begins as a short queue: most have one message, the response, which is sent as JSON.
//! When it becomes a stream of events, and the session is one that clients can resume, its messages
//! go through the session's [log](super::stream_log) from then on. Such a stream outlives its
//! connection: it ends with its response.

use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use bowline_proto::server::{EventId, EventReader, EventRecord, Read, ReplayError, StreamHead};
use bowline_proto::{Instant, MonotonicTable, RequestKey, StreamId, Transmit, TransmitKind};
use bowline_types::Revision;

use super::response_queue::Queue;
use super::stream_log::{LogSettings, StreamLog};
use crate::clock::Clock;
use crate::server::http::{CutResponses, UnreadResponse, UnreadResponses};

/// Messages that belong to no request and are kept until there is a GET, where there is no log.
const MAX_UNCLAIMED: usize = 100;

/// The streams of one session.
#[derive(Debug, Default)]
pub(in super::super) struct ResponseStreams {
    /// The streams of requests that are not answered in full, or whose response was not taken.
    streams: MonotonicTable<StreamId, ResponseStream>,
    last_id: u64,
    /// The stream for messages that belong to no request: that of the GET, if there is one.
    server_stream: Option<StreamId>,
    /// Messages that belong to no request, while there is neither a GET nor a log. The oldest are
    /// dropped.
    unclaimed: Queue,
    /// What the log is made with. `None` if clients can't resume streams of this session.
    settings: Option<Arc<LogSettings>>,
    /// `None` until a stream of events begins.
    log: Option<Box<StreamLog>>,
    /// When the last connection of the server's stream was lost or closed.
    left_at: Option<Instant>,
    /// Wakers of streams that have new messages, to be woken without the lock.
    wakers: Vec<Waker>,
    /// Responses of other streams that were cut, to be logged without the lock.
    cut_responses: CutResponses,
}

/// What is kept of the streams of an idle session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct StreamsRecord {
    /// The number of the last stream.
    pub(in super::super) last_id: u64,
    /// The stream for messages that belong to no request: its client may resume it.
    pub(in super::super) server_stream: Option<StreamHead>,
}

/// One stream.
#[derive(Debug, Default)]
struct ResponseStream {
    output: Output,
    /// Requests whose response is expected here.
    requests: Vec<RequestKey>,
    /// `true` once nothing follows what is queued.
    has_ended: bool,
    waker: Option<Waker>,
}

/// Where the messages of a stream wait.
#[derive(Debug)]
enum Output {
    Queue(Queue),
    /// In the log. The reader is here until the body of the response takes it.
    Log(Option<EventReader>),
}

/// A body's right to read a stream of events. `None` if the stream can't be resumed.
#[derive(Debug, Default)]
pub(in super::super) struct StreamStart {
    pub(in super::super) reader: Option<EventReader>,
    /// What the first event repeats, where the stream goes on and the revision has such events.
    pub(in super::super) position: Option<EventId>,
    /// When the client should resume the stream if it is cut, where the revision says so.
    pub(in super::super) reconnect_delay: Option<Duration>,
    /// `true` if the server may end the stream before it has an end of its own: no response is
    /// expected on it, or the client can resume it whatever it has received (TR-40). Only the priming
    /// events of 2025-11-25 ensure that.
    pub(in super::super) can_end: bool,
}

/// What a body finds on its stream.
#[derive(Debug)]
pub(in super::super) enum StreamOutput {
    /// A message without an id.
    Message(Transmit),
    /// A large response without an id, as an event.
    Large(UnreadResponse),
    /// A message that can be resumed from.
    Event(EventRecord),
    /// The client is to resume the stream after this time.
    Polling(Duration),
    /// Nothing follows.
    End,
    /// The client doesn't read: messages were dropped.
    Cut,
}

impl Default for Output {
    fn default() -> Self {
        Self::Queue(Queue::default())
    }
}

impl ResponseStreams {
    /// Creates the streams of a session. With settings of a log, its clients can resume streams.
    /// The first stream follows the last one of the record.
    pub(in super::super) fn new(
        settings: Option<Arc<LogSettings>>,
        record: StreamsRecord,
        revision: Option<Revision>,
    ) -> Self {
        let mut streams = Self {
            settings,
            last_id: record.last_id,
            ..Self::default()
        };
        if let Some(head) = record.server_stream
            && let Some(log) = streams.log(revision)
        {
            log.restore(head);
            let stream = ResponseStream {
                output: Output::Log(None),
                ..ResponseStream::default()
            };
            streams.streams.insert(head.stream, stream);
            streams.server_stream = Some(head.stream);
        }
        streams
    }

    /// Opens the stream of a POST.
    pub(in super::super) fn open(&mut self) -> StreamId {
        self.last_id += 1;
        let id = StreamId::new(self.last_id);
        self.streams.insert(id, ResponseStream::default());
        id
    }

    /// Makes a stream one of events, in the log where there is one.
    pub(in super::super) fn begin_events(
        &mut self,
        now: Instant,
        id: StreamId,
        revision: Option<Revision>,
    ) -> StreamStart {
        self.move_to_log(now, id, revision);
        let reconnect_delay = self.log.as_ref().and_then(|log| log.reconnect_delay());
        let Some(stream) = self.streams.get_mut(id) else {
            return StreamStart::default();
        };
        match &mut stream.output {
            Output::Queue(_) => StreamStart::default(),
            Output::Log(reader) => StreamStart {
                reader: reader.take(),
                position: None,
                reconnect_delay,
                can_end: reconnect_delay.is_some(),
            },
        }
    }

    /// Keeps a large response of a stream of events within a limit, where there is no log.
    pub(in super::super) fn limit_unread(&mut self, id: StreamId, unread: &Arc<UnreadResponses>) {
        if let Some(stream) = self.streams.get_mut(id)
            && let Output::Queue(queue) = &mut stream.output
        {
            self.cut_responses.append(queue.limit_unread(unread));
        }
    }

    /// Takes the responses that were cut, if there are any.
    pub(super) fn take_cut_responses(&mut self) -> Option<CutResponses> {
        (!self.cut_responses.is_empty()).then(|| std::mem::take(&mut self.cut_responses))
    }

    /// Moves what is queued on a stream into the log.
    fn move_to_log(&mut self, now: Instant, id: StreamId, revision: Option<Revision>) {
        if self.log(revision).is_none() {
            return;
        }
        let (Some(log), Some(stream)) = (&mut self.log, self.streams.get_mut(id)) else {
            return;
        };
        let Output::Queue(queue) = &mut stream.output else {
            return;
        };
        if queue.is_cut || queue.large.is_some() {
            return;
        }
        // Without room in the log the stream goes on as it is.
        let Some(reader) = log.open(now, id) else {
            return;
        };
        for transmit in &queue.messages {
            log.append(now, id, transmit);
        }
        if stream.has_ended {
            log.end(now, id);
        }
        stream.output = Output::Log(Some(reader));
    }

    /// Lets the client of a request's stream poll: its connection is closed, and the client resumes
    /// the stream after `retry`. Returns `false` if it can't.
    pub(in super::super) fn close_for_polling(
        &mut self,
        now: Instant,
        request: RequestKey,
        retry: Duration,
        revision: Option<Revision>,
    ) -> bool {
        let Some(id) = self.stream_of(request) else {
            return false;
        };
        if !self.log(revision).is_some_and(|log| log.has_priming()) {
            return false;
        }
        self.move_to_log(now, id, revision);
        let (Some(log), Some(stream)) = (&mut self.log, self.streams.get_mut(id)) else {
            return false;
        };
        self.wakers.extend(stream.waker.take());
        matches!(stream.output, Output::Log(_)) && log.close_stream(now, id, retry)
    }

    /// Opens the stream of a GET, or goes on with it: it carries what no connection has read yet. An
    /// earlier connection ends, which its client may have lost without the server knowing.
    pub(in super::super) fn open_server_stream(
        &mut self,
        now: Instant,
        revision: Option<Revision>,
    ) -> (StreamId, StreamStart) {
        if let Some(id) = self.server_stream
            && let Some(log) = &mut self.log
            && let Some(continued) = log.continue_stream(now, id)
        {
            let start = StreamStart {
                reader: Some(continued.reader),
                position: continued.position.filter(|_| log.has_priming()),
                reconnect_delay: log.reconnect_delay(),
                can_end: true,
            };
            self.wake(id);
            return (id, start);
        }
        self.end_server_stream(now);
        let id = self.open();
        self.server_stream = Some(id);
        if let Some(stream) = self.streams.get_mut(id) {
            stream.output = Output::Queue(std::mem::take(&mut self.unclaimed));
        }
        let start = StreamStart {
            can_end: true,
            ..self.begin_events(now, id, revision)
        };
        (id, start)
    }

    /// Resumes a stream after an event.
    pub(in super::super) fn resume(
        &mut self,
        now: Instant,
        last: EventId,
    ) -> Result<(StreamId, StreamStart), ReplayError> {
        let stream = last.stream();
        let unknown = ReplayError::UnknownStream(stream);
        let log = self.log.as_mut().ok_or(unknown)?;
        let replay = log.replay(now, last)?;
        let start = StreamStart {
            reader: Some(replay.reader),
            position: Some(replay.position).filter(|_| log.has_priming()),
            reconnect_delay: log.reconnect_delay(),
            can_end: log.has_priming() || self.server_stream == Some(stream),
        };
        // A connection that it takes the place of ends.
        self.wake(stream);
        Ok((stream, start))
    }

    /// Ends the stream of a GET.
    pub(in super::super) fn end_server_stream(&mut self, now: Instant) {
        if let Some(id) = self.server_stream.take() {
            self.end(now, id);
        }
    }

    /// Returns the number of streams that are open.
    pub(in super::super) fn len(&self) -> usize {
        self.streams.len()
    }

    /// Returns what is kept of the streams if nothing is open and no event waits.
    pub(in super::super) fn idle_record(&mut self, now: Instant) -> Option<StreamsRecord> {
        let others = self.streams.len() - usize::from(self.server_stream.is_some());
        if others > 0 || !self.unclaimed.messages.is_empty() {
            return None;
        }
        let mut record = StreamsRecord {
            last_id: self.last_id,
            server_stream: None,
        };
        if let Some(log) = &mut self.log {
            let id = self.server_stream;
            if !log.is_empty(now) || id.is_some_and(|id| log.has_reader(id)) {
                return None;
            }
            // A record is not notified of changes, which the client would miss that comes back.
            if self.left_at.is_some_and(|left| !log.is_old(left, now)) {
                return None;
            }
            record.server_stream = id.and_then(|id| log.head(id));
        }
        Some(record)
    }

    /// Queues a message of the core.
    pub(super) fn queue(&mut self, transmit: Transmit, clock: Clock, revision: Option<Revision>) {
        let id = match transmit.stream.or(self.server_stream) {
            Some(id) => id,
            None if self.settings.is_some() => self.keep_server_stream(clock.now(), revision),
            None => {
                if self.unclaimed.messages.len() >= MAX_UNCLAIMED {
                    self.unclaimed.pop();
                }
                // None of these is a response.
                let _ = self.unclaimed.push(transmit);
                self.unclaimed.is_cut = false;
                return;
            }
        };
        let is_response = transmit.kind == TransmitKind::Response;
        if !is_response && self.is_full(id, transmit.len()) {
            // The log has more room.
            self.move_to_log(clock.now(), id, revision);
        }
        // Without its stream the message has no receiver: the client has disconnected.
        let Some(stream) = self.streams.get_mut(id) else {
            return;
        };
        stream.has_ended |= is_response;
        match &mut stream.output {
            Output::Queue(queue) => self.cut_responses.append(queue.push(transmit)),
            Output::Log(_) => {
                if let Some(log) = &mut self.log {
                    log.append(clock.now(), id, &transmit);
                }
            }
        }
        self.wakers.extend(stream.waker.take());
        if is_response {
            self.remove_if_left(id);
        }
    }

    /// Returns `true` if the queue of a stream has no room for a notification of this length.
    fn is_full(&self, id: StreamId, bytes: usize) -> bool {
        self.streams.get(id).is_some_and(
            |stream| matches!(&stream.output, Output::Queue(queue) if !queue.has_room(bytes)),
        )
    }

    /// Returns `true` if a notification that belongs to a request can wait on its stream: cutting the
    /// stream would lose the response, though its client may read as fast as it can.
    pub(super) fn has_room_for_notification(&self, request: RequestKey, bytes: usize) -> bool {
        // Streams that can be resumed move to the log.
        self.settings.is_some()
            || self
                .stream_of(request)
                .is_none_or(|id| !self.is_full(id, bytes))
    }

    /// Opens the stream for messages that belong to no request, before there is a GET for it.
    fn keep_server_stream(&mut self, now: Instant, revision: Option<Revision>) -> StreamId {
        let id = self.open();
        self.server_stream = Some(id);
        let start = self.begin_events(now, id, revision);
        if let (Some(log), Some(reader)) = (&mut self.log, start.reader) {
            log.detach(now, reader);
        }
        id
    }

    /// Notes that a response is expected on a stream.
    pub(super) fn expect_response(&mut self, stream: StreamId, request: RequestKey) {
        if let Some(stream) = self.streams.get_mut(stream) {
            stream.requests.push(request);
        }
    }

    fn stream_of(&self, request: RequestKey) -> Option<StreamId> {
        let mut streams = self.streams.iter();
        let found = streams.find(|(_, stream)| stream.requests.contains(&request));
        found.map(|(id, _)| id)
    }

    /// Notes that a request has ended without a response. Its stream ends when nothing else is
    /// expected there.
    pub(super) fn forget_request(&mut self, now: Instant, request: RequestKey) {
        let Some(id) = self.stream_of(request) else {
            return;
        };
        if let Some(stream) = self.streams.get_mut(id) {
            stream.requests.retain(|expected| *expected != request);
            if stream.requests.is_empty() {
                self.end(now, id);
            }
        }
    }

    /// Ends a stream after what is queued.
    pub(in super::super) fn end(&mut self, now: Instant, id: StreamId) {
        let Some(stream) = self.streams.get_mut(id) else {
            return;
        };
        stream.has_ended = true;
        self.wakers.extend(stream.waker.take());
        if let (Output::Log(_), Some(log)) = (&stream.output, &mut self.log) {
            log.end(now, id);
        }
        self.remove_if_left(id);
    }

    /// Removes a stream that has ended if no body will take what is left of it from here: resuming it
    /// needs the log only.
    fn remove_if_left(&mut self, id: StreamId) {
        let is_left = match (self.streams.get(id), &self.log) {
            (Some(stream), Some(log)) => {
                matches!(stream.output, Output::Log(None)) && !log.has_reader(id)
            }
            _ => false,
        };
        if is_left {
            self.streams.remove(id);
        }
    }

    /// Ends all streams after what is queued.
    pub(super) fn end_all(&mut self, now: Instant) {
        self.server_stream = None;
        let ids: Vec<StreamId> = self.streams.iter().map(|(id, _)| id).collect();
        for id in ids {
            self.end(now, id);
        }
    }

    fn wake(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.get_mut(id) {
            self.wakers.extend(stream.waker.take());
        }
    }

    /// Wakes the bodies of all streams: a change may have become due.
    pub(super) fn wake_all(&mut self) {
        for (_, stream) in self.streams.iter_mut() {
            self.wakers.extend(stream.waker.take());
        }
    }

    /// Closes a stream whose body is gone. Returns the requests whose responses it waited for. A
    /// stream that can be resumed stays until its response.
    pub(in super::super) fn close(
        &mut self,
        now: Instant,
        id: StreamId,
        reader: Option<EventReader>,
    ) -> Vec<RequestKey> {
        let reader = reader.or_else(|| match self.streams.get_mut(id) {
            // The request was dropped before its body took the reader.
            Some(ResponseStream {
                output: Output::Log(reader),
                ..
            }) => reader.take(),
            _ => None,
        });
        if let (Some(log), Some(reader)) = (&mut self.log, reader) {
            log.detach(now, reader);
            if self.server_stream == Some(id) {
                self.left_at = Some(now);
            }
            if self.streams.get(id).is_some_and(|stream| stream.has_ended) {
                self.remove_if_left(id);
            }
            return Vec::new();
        }
        if self.server_stream == Some(id) {
            self.server_stream = None;
        }
        let stream = self.streams.remove(id);
        stream.map_or_else(Vec::new, |stream| stream.requests)
    }

    /// Returns `true` if there is nothing to close of a stream.
    pub(in super::super) fn is_gone(&self, id: StreamId) -> bool {
        self.server_stream != Some(id) && self.streams.get(id).is_none()
    }

    /// Takes the response of a stream if it is all that there is.
    pub(in super::super) fn take_only_response(&mut self, id: StreamId) -> Option<Transmit> {
        let Output::Queue(queue) = &mut self.streams.get_mut(id)?.output else {
            return None;
        };
        let is_only = queue.messages.len() == 1
            && queue.messages.front().map(|first| first.kind) == Some(TransmitKind::Response);
        let response = if is_only { queue.pop() } else { None };
        if response.is_some() {
            self.streams.remove(id);
        }
        response
    }

    /// Returns the next message of a stream.
    pub(in super::super) fn poll_next(
        &mut self,
        now: Instant,
        id: StreamId,
        reader: Option<&EventReader>,
        cx: &TaskContext<'_>,
    ) -> Poll<StreamOutput> {
        if let (Some(log), Some(reader)) = (&mut self.log, reader) {
            return Poll::Ready(match log.poll_read(now, reader) {
                Read::Event(event) => StreamOutput::Event(event),
                Read::Polling { retry } => StreamOutput::Polling(retry),
                Read::Pending => {
                    if let Some(stream) = self.streams.get_mut(id) {
                        stream.waker = Some(cx.waker().clone());
                    }
                    return Poll::Pending;
                }
                Read::Lagged => StreamOutput::Cut,
                // `Ended`, or `Displaced`: another connection reads on.
                _ => StreamOutput::End,
            });
        }
        let Some(stream) = self.streams.get_mut(id) else {
            return Poll::Ready(StreamOutput::End);
        };
        let Output::Queue(queue) = &mut stream.output else {
            return Poll::Ready(StreamOutput::End);
        };
        if queue.is_cut {
            return Poll::Ready(StreamOutput::Cut);
        }
        if let Some(transmit) = queue.pop() {
            return Poll::Ready(StreamOutput::Message(transmit));
        }
        if let Some(response) = queue.large.take() {
            return Poll::Ready(StreamOutput::Large(response));
        }
        if stream.has_ended {
            return Poll::Ready(StreamOutput::End);
        }
        stream.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Is ready when the stream has something, or has ended.
    pub(in super::super) fn poll_ready(&mut self, id: StreamId, cx: &TaskContext<'_>) -> Poll<()> {
        let Some(stream) = self.streams.get_mut(id) else {
            return Poll::Ready(());
        };
        match &stream.output {
            Output::Queue(queue) if queue.messages.is_empty() && !stream.has_ended => {
                stream.waker = Some(cx.waker().clone());
                Poll::Pending
            }
            Output::Queue(_) | Output::Log(_) => Poll::Ready(()),
        }
    }

    /// Takes the wakers of streams that have something new.
    pub(super) fn take_wakers(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.wakers)
    }

    /// Returns the log, which is made on first use.
    fn log(&mut self, revision: Option<Revision>) -> Option<&mut StreamLog> {
        if self.log.is_none() {
            let settings = self.settings.clone()?;
            self.log = Some(Box::new(StreamLog::new(settings, revision)));
        }
        self.log.as_deref_mut()
    }
}
