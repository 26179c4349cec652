//! Requests over HTTP: their messages go into the session here, and their handlers run.
//!
//! A session over HTTP has no driver. The task that calls into its core moves what came of that to the
//! [streams](super::response_streams) and wakes what waits for it. A handler is polled in place, on
//! the task of its HTTP request, and moves to a task of its own when it has to wait: a client of the
//! handshake era may disconnect meanwhile. Deadlines are those of the tasks that wait: each of them
//! has a [`SessionTimer`].

use std::future::Future;
use std::hash::{BuildHasher as _, RandomState};
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use bowline_proto::server::{
    ClientInfo, EventId, EventReader, ReplayError, Session, SessionConfig, SessionPhase,
    SessionRecord, StatelessRequest, UnknownRequest,
};
use bowline_proto::{Instant, RequestKey, StreamId, Transmit};
use bowline_types::envelope::Envelope;
use bowline_types::{Method, Revision};
use bytes::Bytes;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::time::sleep;

use super::dispatch_inbound::{InboundMessage, Invocation, InvocationOutcome};
use super::driver_slot::ReplacementContext;
use super::handler_run::{CANCEL_GRACE, HandlerRun};
use super::http_drain::Drained;
use super::response_streams::{ResponseStreams, StreamOutput, StreamStart, StreamsRecord};
use super::session_shutdown::DEFAULT_SHUTDOWN_DEADLINE;
use super::stream_log::LogSettings;
use super::{SessionCore, SessionShared};
use crate::clock::{Alarm, Clock};
use crate::log_names::entered;
use crate::server::block_monitor;
use crate::server::context::Context;
use crate::server::http::{HttpRequestParts, UnreadResponses};
use crate::server::principal::Principal;
use crate::server::server_core::ServerCore;
use crate::server::service::ClientRequest;
use crate::server::session_set::ShutdownMode;

/// The message of a POST.
pub(in super::super) enum PostMessage<'a> {
    /// A message of a session of the handshake era.
    Session(Envelope<'a>),
    /// A request of the stateless era.
    Stateless(StatelessRequest<'a>),
    /// A request of the stateless era with a method that the protocol doesn't have.
    Unknown(UnknownRequest<'a>),
}

impl PostMessage<'_> {
    /// Returns `true` if it opens a stream that has no end of its own.
    pub(in super::super) fn is_listen(&self) -> bool {
        matches!(self, Self::Stateless(request) if request.method == Method::Listen)
    }
}

/// What is kept of a session that is idle.
#[derive(Debug)]
pub(in super::super) struct SessionRemains {
    pub(in super::super) record: SessionRecord,
    /// Its client, where that is known.
    pub(in super::super) client: Option<Arc<ClientInfo>>,
    pub(in super::super) streams: StreamsRecord,
}

impl SessionRemains {
    /// Creates what is kept of a session that had no streams on this node.
    pub(in super::super) fn of(record: SessionRecord, client: Option<Arc<ClientInfo>>) -> Self {
        Self {
            record,
            client,
            streams: new_streams(),
        }
    }
}

/// How a session over HTTP begins.
pub(in super::super) struct HttpSessionStart {
    pub(in super::super) config: Arc<SessionConfig>,
    /// The clock of all sessions of the server.
    pub(in super::super) clock: Clock,
    pub(in super::super) principal: Option<Principal>,
    /// The idle session that goes on.
    pub(in super::super) resumed: Option<SessionRemains>,
    /// What its event log is made with, if its clients can resume streams.
    pub(in super::super) log: Option<Arc<LogSettings>>,
}

impl SessionShared {
    /// Begins a session over HTTP, or goes on with one. Must be called within a runtime.
    pub(in super::super) fn for_http(
        server: Arc<ServerCore>,
        start: HttpSessionStart,
    ) -> Arc<Self> {
        let HttpSessionStart {
            config,
            clock,
            principal,
            resumed,
            log,
        } = start;
        let now = clock.now();
        let (session, client, streams) = match resumed {
            Some(remains) => {
                let session = Session::resume(now, config, remains.record);
                (session, remains.client, remains.streams)
            }
            None => (Session::new(now, config), None, new_streams()),
        };
        let streams = ResponseStreams::new(log, streams, session.revision());
        let mut core =
            SessionCore::new(session, server.config.listen_limits(), server.max_blocking);
        core.client = client;
        core.streams = Some(streams);
        let shared = Self::with_core_state(server, core, clock, principal);
        let runtime = Handle::current();
        if runtime.runtime_flavor() != RuntimeFlavor::CurrentThread && block_monitor::start() {
            let context = ReplacementContext::without_driver(runtime);
            // It can't be set yet: the session is new.
            let _ = shared.replacement_context.set(context);
        }
        shared
    }

    /// Handles the message of a POST, and runs its handlers in place. Returns its stream, which the
    /// caller [closes](Self::close_stream).
    pub(in super::super) fn handle_post(
        self: &Arc<Self>,
        frame: &Bytes,
        message: PostMessage<'_>,
        parts: &HttpRequestParts,
        cx: &mut TaskContext<'_>,
    ) -> StreamId {
        let _entered = entered(&self.span);
        let now = self.now();
        let (stream, drained) = {
            let mut core = self.lock();
            let stream = core.open_stream();
            let session = &mut core.session;
            match message {
                PostMessage::Session(message) => {
                    session.handle_message(now, Some(stream), frame, message);
                }
                PostMessage::Stateless(request) => {
                    session.handle_stateless_request(now, Some(stream), frame, request);
                }
                PostMessage::Unknown(request) => {
                    session.handle_stateless_unknown_request(now, Some(stream), frame, request);
                }
            }
            let drained = core.drain_http(self.clock);
            core.expect_responses(now, stream, &drained);
            (stream, drained)
        };
        let mut now = now;
        for message in drained.finish(self) {
            now = self.run_inbound(message, parts, now, cx);
        }
        stream
    }

    /// Runs one message of a POST. Returns the time after it.
    pub(super) fn run_inbound(
        self: &Arc<Self>,
        message: InboundMessage,
        parts: &HttpRequestParts,
        now: Instant,
        cx: &mut TaskContext<'_>,
    ) -> Instant {
        let invocation = match message {
            InboundMessage::Notification(notification) => {
                if !self.server.handles_notifications() {
                    return now;
                }
                Invocation::Notification(notification)
            }
            InboundMessage::Request {
                key,
                method,
                params,
                stateless,
                revision,
            } => {
                let (name, kept) = (method.clone(), params.clone());
                let context = Context::new(Arc::clone(self), key, name, revision, kept, stateless);
                context.insert_extension(parts.clone());
                Invocation::Request(ClientRequest {
                    method,
                    params,
                    context,
                })
            }
        };
        match invocation.run(self, now, cx) {
            InvocationOutcome::Responded { at, .. } => at,
            InvocationOutcome::CallbackReturned => self.now(),
            InvocationOutcome::Pending(run) => {
                self.spawn_http_handler(run);
                self.now()
            }
        }
    }

    /// Lets a handler go on in a task of its own.
    fn spawn_http_handler(self: &Arc<Self>, run: HandlerRun) {
        let is_open = self.lock().track_running(run.context());
        if !is_open {
            // The request was cancelled while its handler ran in place.
            run.context().cancel();
        }
        tokio::spawn(HttpHandler {
            run,
            timer: SessionTimer::new(Arc::clone(self)),
        });
    }

    /// Opens the stream of a GET, for messages that belong to no request.
    pub(in super::super) fn open_server_stream(&self) -> Option<(StreamId, StreamStart)> {
        self.with_streams(ResponseStreams::open_server_stream)
    }

    /// Makes the stream of a POST one of events. A large response on it is kept within a limit, where
    /// it can't be resumed.
    pub(in super::super) fn begin_events(
        &self,
        stream: StreamId,
        unread: &Arc<UnreadResponses>,
    ) -> StreamStart {
        let start = self.with_streams(|streams, now, revision| {
            let start = streams.begin_events(now, stream, revision);
            streams.limit_unread(stream, unread);
            start
        });
        start.unwrap_or_default()
    }

    /// Resumes a stream after an event.
    pub(in super::super) fn resume_stream(
        &self,
        last: EventId,
    ) -> Result<(StreamId, StreamStart), ReplayError> {
        let resumed = self.with_streams(|streams, now, _| streams.resume(now, last));
        resumed.unwrap_or(Err(ReplayError::UnknownStream(last.stream())))
    }

    /// Lets the client of a request's stream poll. Returns `false` if it can't resume the stream.
    pub(in super::super) fn close_for_polling(&self, request: RequestKey, retry: Duration) -> bool {
        let closed = self.with_streams(|streams, now, revision| {
            streams.close_for_polling(now, request, retry, revision)
        });
        closed.unwrap_or(false)
    }

    /// Runs `work` on the streams of a session over HTTP, and wakes bodies.
    fn with_streams<T>(
        &self,
        work: impl FnOnce(&mut ResponseStreams, Instant, Option<Revision>) -> T,
    ) -> Option<T> {
        let now = self.now();
        let (done, drained) = {
            let mut core = self.lock();
            let revision = core.session.revision();
            let ends = matches!(
                core.session.phase(),
                SessionPhase::ShuttingDown | SessionPhase::Closed
            );
            let streams = core.streams.as_mut()?;
            let done = work(streams, now, revision);
            if ends {
                // It may have been opened just now, when nothing would end it any more.
                streams.end_server_stream(now);
            }
            (done, core.drain_http(self.clock))
        };
        drained.finish_outbound(self);
        Some(done)
    }

    /// Returns the response of a POST, if nothing else was sent and it is there.
    pub(in super::super) fn take_only_response(&self, stream: StreamId) -> Option<Transmit> {
        self.lock().streams.as_mut()?.take_only_response(stream)
    }

    /// Is ready when a stream has a message, or has ended.
    pub(in super::super) fn poll_stream_ready(
        &self,
        stream: StreamId,
        cx: &TaskContext<'_>,
    ) -> Poll<()> {
        match &mut self.lock().streams {
            Some(streams) => streams.poll_ready(stream, cx),
            None => Poll::Ready(()),
        }
    }

    /// Returns the next message of a stream, after sending changes that are due. The timer wakes
    /// the task for those that are due later.
    pub(in super::super) fn poll_stream(
        &self,
        stream: StreamId,
        reader: Option<&EventReader>,
        timer: &mut SessionTimer,
        cx: &mut TaskContext<'_>,
    ) -> Poll<StreamOutput> {
        timer.poll(cx);
        let now = self.now();
        match &mut self.lock().streams {
            Some(streams) => streams.poll_next(now, stream, reader, cx),
            None => Poll::Ready(StreamOutput::End),
        }
    }

    /// Closes a stream whose HTTP response has ended, or whose client has disconnected. In the
    /// stateless era that cancels its request (2026-07-28, basic/transports); in the handshake era
    /// the handler goes on.
    pub(in super::super) fn close_stream(
        &self,
        stream: StreamId,
        reader: Option<EventReader>,
        cancels: bool,
    ) {
        let is_gone = |streams: &ResponseStreams| streams.is_gone(stream);
        if reader.is_none() && self.lock().streams.as_ref().is_some_and(is_gone) {
            // Its response was all that was sent, and was taken.
            return;
        }
        let _entered = entered(&self.span);
        self.with(|core, now| {
            let requests = match &mut core.streams {
                Some(streams) => streams.close(now, stream, reader),
                None => Vec::new(),
            };
            if cancels
                && requests
                    .iter()
                    .any(|key| core.session.request_id(*key).is_some())
            {
                core.session.close(now);
            }
        });
    }

    /// Returns `true` if nothing is open in the session, so that its record is all of it.
    pub(in super::super) fn is_idle(&self) -> bool {
        let now = self.now();
        let (is_idle, drained) = {
            let mut core = self.lock();
            // Its client has no stream open that would send them.
            core.send_due_changes(now);
            let drained = core.drain_http(self.clock);
            (core.idle_streams(now).is_some(), drained)
        };
        drained.finish_outbound(self);
        is_idle
    }

    /// Returns `true` if a handler goes on in it, or a question waits for the client.
    pub(in super::super) fn is_busy(&self) -> bool {
        let core = self.lock();
        core.session.open_handlers() > 0 || core.session.pending() > 0
    }

    /// Returns `true` once the session has ended.
    pub(in super::super) fn is_closed(&self) -> bool {
        self.lock().session.phase() == SessionPhase::Closed
    }

    /// Returns `true` once the client has finished the handshake.
    pub(in super::super) fn is_ready(&self) -> bool {
        self.lock().session.phase() != SessionPhase::Initialized
    }

    /// Returns `true` if `initialize` was answered with a result.
    pub(in super::super) fn has_negotiated(&self) -> bool {
        self.lock().session.revision().is_some()
    }

    /// Reduces an idle session to its record.
    ///
    /// # Errors
    ///
    /// Returns the session if something refers to it, and nothing if it has ended.
    pub(in super::super) fn into_record(
        shared: Arc<Self>,
    ) -> Result<SessionRemains, Option<Arc<Self>>> {
        let now = shared.now();
        let shared = Arc::try_unwrap(shared).map_err(Some)?;
        let mut core = shared
            .core
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let streams = core.idle_streams(now).ok_or(None)?;
        let record = core.session.into_record().ok_or(None)?;
        Ok(SessionRemains {
            record,
            client: core.client,
            streams,
        })
    }

    /// Returns `true` if the session is one over HTTP, which has no driver.
    pub(super) fn is_http(&self) -> bool {
        self.lock().streams.is_some()
    }

    /// Ends the session when its requests are answered, within the deadline of a shutdown. Streams
    /// that have no end of their own end at once.
    pub(super) fn end_http(self: &Arc<Self>) {
        self.with(|core, now| {
            core.session.shut_down();
            core.end_listen_subscriptions(now);
            if let Some(streams) = &mut core.streams {
                streams.end_server_stream(now);
            }
        });
        // What the session has sent is on its streams now: closing it drops the rest.
        let has_ended = self.with(|core, now| {
            let has_ended = core.session.open_handlers() == 0;
            if has_ended {
                core.session.close(now);
            }
            has_ended
        });
        if has_ended {
            return;
        }
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(finish_requests(Arc::clone(self)))),
            // Nothing could wait for the deadline.
            Err(_) => self.end(ShutdownMode::Immediate),
        }
    }

    /// Returns what enforces the deadlines while a question waits for its answer: over HTTP no
    /// driver does.
    pub(super) fn question_timer(self: &Arc<Self>) -> Option<SessionTimer> {
        self.is_http().then(|| SessionTimer::new(Arc::clone(self)))
    }

    /// Returns the number of open streams.
    pub(in super::super) fn open_streams(&self) -> usize {
        self.lock().streams.as_ref().map_or(0, ResponseStreams::len)
    }
}

impl SessionCore {
    fn open_stream(&mut self) -> StreamId {
        self.streams.get_or_insert_default().open()
    }

    /// Returns `true` if a notification that belongs to a request can wait on its stream.
    pub(super) fn has_room_for_notification(&self, about: RequestKey, bytes: usize) -> bool {
        let streams = self.streams.as_ref();
        streams.is_none_or(|streams| streams.has_room_for_notification(about, bytes))
    }

    /// Notes which responses a stream waits for. One without any ends at once: its message was
    /// no request, or is answered already, or is a batch that cancels its own requests.
    fn expect_responses(&mut self, now: Instant, stream: StreamId, drained: &Drained) {
        let Some(streams) = &mut self.streams else {
            return;
        };
        let mut expects_none = true;
        for message in &drained.inbound {
            if let InboundMessage::Request { key, .. } = message
                && !drained.unanswered.contains(key)
            {
                streams.expect_response(stream, *key);
                expects_none = false;
            }
        }
        if expects_none {
            streams.end(now, stream);
        }
    }

    /// Returns what is kept of the streams of a session over HTTP if nothing is open in it, so that
    /// its record is all of it.
    fn idle_streams(&mut self, now: Instant) -> Option<StreamsRecord> {
        let is_idle = self.session.open_handlers() == 0
            && self.session.pending() == 0
            && self.listens.is_empty()
            && self.subscriptions.is_empty()
            && self.url_elicitations.is_empty()
            && self.changes.due().is_none();
        if !is_idle {
            return None;
        }
        match &mut self.streams {
            Some(streams) => streams.idle_record(now),
            None => Some(StreamsRecord::default()),
        }
    }
}

/// Returns where the numbers of a session's streams begin. That is somewhere: the id of an event of
/// another session, or of another node, then names no stream of this one.
fn new_streams() -> StreamsRecord {
    const MAX_FIRST: u64 = 1 << 48;
    StreamsRecord {
        last_id: RandomState::new().hash_one(0) % MAX_FIRST,
        server_stream: None,
    }
}

/// Enforces the deadlines of a session over HTTP, for a task that waits for something in it.
pub(in super::super) struct SessionTimer {
    shared: Arc<SessionShared>,
    alarm: Option<Alarm>,
}

impl SessionTimer {
    pub(in super::super) fn new(shared: Arc<SessionShared>) -> Self {
        Self {
            shared,
            alarm: None,
        }
    }

    /// Handles what is due, and wakes the task when something is due next.
    pub(in super::super) fn poll(&mut self, cx: &mut TaskContext<'_>) {
        loop {
            let now = self.shared.now();
            let (due, drained) = {
                let mut core = self.shared.lock();
                if core.session.poll_timeout().is_some_and(|due| due <= now) {
                    core.session.handle_timeout(now);
                }
                core.send_due_changes(now);
                let drained = core.drain_http(self.shared.clock);
                let due = [core.session.poll_timeout(), core.changes.due()];
                (due.into_iter().flatten().min(), drained)
            };
            drained.finish_outbound(&self.shared);
            let Some(due) = due else {
                return;
            };
            let clock = self.shared.clock;
            let alarm = self.alarm.get_or_insert_with(|| Alarm::new(clock));
            alarm.arm(Some(due));
            if alarm.poll(cx).is_pending() {
                return;
            }
        }
    }
}

/// Lets the requests of a session be answered until the deadline: handlers are notified shortly
/// before, and what is open then is answered with an error.
async fn finish_requests(shared: Arc<SessionShared>) {
    let deadline = shared.server.shutdown_deadline;
    let deadline = deadline.unwrap_or(DEFAULT_SHUTDOWN_DEADLINE);
    sleep(deadline.saturating_sub(CANCEL_GRACE)).await;
    let running: Vec<Context> = shared.lock().running.values().cloned().collect();
    for context in running {
        context.shut_down();
    }
    sleep(CANCEL_GRACE).await;
    shared.with(|core, now| core.session.refuse_open_requests(now));
    // Closing drops what is not on the streams yet.
    shared.with(|core, now| core.session.close(now));
}

/// A handler that goes on after its first poll.
struct HttpHandler {
    run: HandlerRun,
    timer: SessionTimer,
}

impl Future for HttpHandler {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<()> {
        if Pin::new(&mut self.run).poll(cx).is_ready() {
            return Poll::Ready(());
        }
        self.timer.poll(cx);
        Poll::Pending
    }
}

#[cfg(test)]
mod tests;
