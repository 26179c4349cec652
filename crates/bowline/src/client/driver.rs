//! The task that moves a client's bytes.
//!
//! One task for each client, whatever it does: it opens the transport, reads when the core
//! asks for it, writes many small messages at once, and watches the time. Each wake-up does a
//! bounded amount of work; a write that can't proceed stops neither time nor reading.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bowline_proto::link::{Action, LinkState, StopOutcome};
use bowline_proto::{Instant, MonotonicTable};
use tokio::sync::Mutex;

use super::features::cancel_orphan;
use super::input_rounds;
use super::open_transport::TransportState;
use super::runtime::{NO_IO, has_io};
use super::server_requests::RunningHandlers;
use super::shared::{Core, Dispatch, DispatchEvent, Shared};
use super::telemetry::StatusEvent;
use crate::clock::Alarm;
use crate::io::Io;
use crate::panics::caught;
use crate::read_grace::ReadGrace;
use crate::transport::{Transport, TransportEnd};

/// Iterations of work in one wake-up.
const MAX_ITERATIONS: usize = 32;

/// How long a client has nothing to do before it gives back memory that it only keeps to
/// use it again.
const IDLE_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) struct Driver<T> {
    shared: Arc<Shared>,
    transport: Arc<Mutex<T>>,
    /// What is dropped when the driver or the transport panics.
    transport_state: TransportState,
    alarm: Alarm,
    read_grace: ReadGrace,
    dispatch: Dispatch,
    idleness: Idleness,
    /// `true` if the transport was opened before.
    has_opened: bool,
}

/// How long the driver has had nothing to do.
#[derive(Clone, Copy, PartialEq)]
enum Idleness {
    /// There is no session yet.
    Handshaking,
    Busy,
    /// Not since then.
    IdleSince(Instant),
    /// Not for long, and memory was given back.
    Shrunk,
}

impl<T: Transport> Driver<T> {
    pub(super) fn new(shared: Arc<Shared>, transport: T) -> Self {
        let alarm = Alarm::new(shared.clock);
        Self {
            shared,
            transport: Arc::new(Mutex::new(transport)),
            transport_state: TransportState::default(),
            alarm,
            read_grace: ReadGrace::default(),
            dispatch: Dispatch::default(),
            idleness: Idleness::Handshaking,
            has_opened: false,
        }
    }

    /// Works until nothing can be done now. Ready when the link is over and everything closed.
    fn work(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..MAX_ITERATIONS {
            // In each iteration, since another connection has another span.
            let _entered = self.shared.telemetry.enter();
            let mut made_progress = self.poll_opening(cx) | self.poll_exit_query(cx);
            let is_over = self.poll_core(cx, &mut made_progress);
            self.deliver_events();
            if let Some((_, io)) = &mut self.transport_state.io {
                made_progress |= io.poll_write(cx);
            }
            made_progress |= self.poll_draining();
            if is_over && !made_progress {
                return Poll::Ready(());
            }
            if made_progress && self.idleness != Idleness::Handshaking {
                self.idleness = Idleness::Busy;
            }
            if !made_progress && self.alarm.poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Closes a stream on which nothing is left to be written. The link waits for it, though
    /// not for long.
    fn poll_draining(&mut self) -> bool {
        let now = self.shared.now();
        let Some((connection, io)) = self.transport_state.take_drained(now) else {
            return false;
        };
        drop(io);
        self.shared.lock().link.handle_eof(now, connection);
        true
    }

    fn poll_opening(&mut self, cx: &mut Context<'_>) -> bool {
        let Some((connection, opening)) = &mut self.transport_state.opening else {
            return false;
        };
        let Poll::Ready(opened) = opening.as_mut().poll(cx) else {
            return false;
        };
        let connection = *connection;
        self.transport_state.opening = None;
        let now = self.shared.now();
        let mut core = self.shared.lock();
        match opened {
            Ok(stream) => {
                self.transport_state.io = Some((connection, Io::new(stream)));
                core.transport_end = None;
                self.idleness = Idleness::Handshaking;
                core.link.handle_opened(now, connection);
            }
            Err(error) => {
                core.last_stream_end = None;
                core.link.handle_open_failed(now, connection, error);
            }
        }
        true
    }

    /// Learns why the stream has ended, and passes that to the core.
    fn poll_exit_query(&mut self, cx: &mut Context<'_>) -> bool {
        let Some((connection, otherwise, exit_query)) = &mut self.transport_state.exit_query else {
            return false;
        };
        let Poll::Ready(transport_end) = exit_query.as_mut().poll(cx) else {
            return false;
        };
        let transport_end =
            transport_end.unwrap_or_else(|| TransportEnd::new(std::mem::take(otherwise)));
        let connection = *connection;
        self.transport_state.exit_query = None;
        let now = self.shared.now();
        let mut core = self.shared.lock();
        core.link.handle_end(now, connection, &transport_end.reason);
        let transport_end = Arc::new(transport_end);
        core.last_stream_end = Some((now, Arc::clone(&transport_end)));
        core.transport_end = Some(transport_end);
        true
    }

    /// Reads a chunk, and executes the actions of the core. Returns `true` if the link has ended.
    fn poll_core(&mut self, cx: &mut Context<'_>, made_progress: &mut bool) -> bool {
        let now = self.shared.now();
        let shared = Arc::clone(&self.shared);
        let mut core = shared.lock();
        let is_behind = self.dispatch.is_behind();
        let has_read = !is_behind && self.transport_state.poll_read(&mut core, now, cx);
        *made_progress |= has_read;
        let due = core.link.poll_timeout();
        if self.read_grace.is_over(due, now, has_read || is_behind, cx) {
            core.link.handle_timeout(now);
            *made_progress = true;
        }
        // Closed without the lock: a stream is foreign code, and may use the client.
        let mut closed = Vec::new();
        while let Some(action) = core.link.poll_action() {
            closed.extend(self.execute(action, &mut core, now));
            *made_progress = true;
        }
        *made_progress |= core.take_events(now, &mut self.dispatch);
        if let Some((_, io)) = &mut self.transport_state.io {
            while io.has_room()
                && let Some(transmit) = core.link.poll_transmit()
            {
                io.queue(transmit);
                *made_progress = true;
            }
        }
        if !*made_progress {
            self.release_idle_memory(&mut core, now);
        }
        self.alarm
            .arm(self.read_grace.next(core.link.poll_timeout()));
        self.alarm.arm(self.transport_state.listens_until());
        if !*made_progress {
            core.driver = Some(cx.waker().clone());
        }
        let is_over = core.link.state() == LinkState::Closed;
        drop(core);
        drop(closed);
        is_over
    }

    /// Executes an action of the core. Returns what is to be closed because of it.
    fn execute(&mut self, action: Action, core: &mut Core, now: Instant) -> Option<TransportState> {
        match action {
            Action::Open(connection) => {
                // The first one has its span from the start.
                if self.has_opened {
                    self.shared.telemetry.connect(core.link.session() + 1);
                }
                self.has_opened = true;
                let transport = Arc::clone(&self.transport);
                let opening = async move { transport.lock().await.open().await };
                self.transport_state.opening = Some((connection, Box::pin(opening)));
                None
            }
            Action::Close(connection)
                if core.link.state() == LinkState::Closing
                    && self
                        .transport_state
                        .drain(connection, core.final_messages.drain(..)) =>
            {
                None
            }
            Action::Close(connection) => {
                let closed = self.transport_state.close(connection);
                // `Client::stop` waits for this.
                if core.link.state() == LinkState::Closing {
                    core.link.handle_eof(now, connection);
                }
                Some(closed)
            }
            _ => {
                tracing::debug!("unknown link action ignored");
                None
            }
        }
    }

    /// Gives back memory: after a while without work, and after a handshake, whose messages
    /// are larger than most.
    fn release_idle_memory(&mut self, core: &mut Core, now: Instant) {
        match self.idleness {
            Idleness::Handshaking if core.link.state() == LinkState::Ready => {
                self.shrink_buffers(core)
            }
            Idleness::Handshaking | Idleness::Shrunk => {}
            Idleness::Busy => {
                self.idleness = Idleness::IdleSince(now);
                self.alarm.arm(Some(now + IDLE_TIMEOUT));
            }
            Idleness::IdleSince(since) if now >= since + IDLE_TIMEOUT => self.shrink_buffers(core),
            Idleness::IdleSince(since) => self.alarm.arm(Some(since + IDLE_TIMEOUT)),
        }
    }

    fn shrink_buffers(&mut self, core: &mut Core) {
        self.idleness = Idleness::Shrunk;
        core.link.shrink_to_fit();
        if core.slots.is_empty() {
            core.slots = MonotonicTable::new();
        }
        if let Some((_, io)) = &mut self.transport_state.io {
            io.shrink();
        }
        self.dispatch.wakers.shrink_to_fit();
        self.dispatch.events.shrink_to_fit();
        self.dispatch.status_events.shrink_to_fit();
    }

    /// Wakes callers and starts handlers, without the lock.
    fn deliver_events(&mut self) {
        self.wake();
        for event in self.dispatch.events.drain(..) {
            match event {
                DispatchEvent::Notification(method, params) => {
                    // Before a handler reads again because of it.
                    self.shared
                        .cache
                        .handle_notification(&method, params.as_ref());
                    self.shared.output_schemas.handle_notification(&method);
                    self.shared.subscriptions.dispatch(&method, params.as_ref());
                    let telemetry = &self.shared.telemetry;
                    self.shared.router.dispatch(telemetry, method, params);
                }
                DispatchEvent::Subscription(key, update) => {
                    if !self.shared.subscriptions.handle_update(key, update) {
                        self.shared
                            .with(|core, now| core.link.unsubscribe(now, key));
                    }
                }
                DispatchEvent::Ready => self.shared.with(Core::send_log_level),
                DispatchEvent::Request(key, request) => {
                    RunningHandlers::start(&self.shared, key, request)
                }
                DispatchEvent::RequestCancelled(key) => self.shared.running_handlers.stop(key),
                DispatchEvent::InputRequired(call, result) => {
                    input_rounds::answer_input_requests(&self.shared, call, result)
                }
                DispatchEvent::OrphanResult(result) => cancel_orphan(&self.shared, &result),
                DispatchEvent::ConnectionLost => {
                    self.shared.cache.clear();
                    self.shared.output_schemas.clear();
                    self.shared.running_handlers.stop_all();
                }
            }
        }
    }

    fn wake(&mut self) {
        self.dispatch
            .status_events
            .drain(..)
            .for_each(StatusEvent::emit);
        if let Some(state) = self.dispatch.state.take() {
            self.shared.state.send_replace(state);
        }
        self.dispatch.wakers.drain(..).for_each(wake);
    }

    /// Handles a panic of the driver, or of the transport that it drives.
    fn handle_panic(&mut self) {
        let transport_state = std::mem::take(&mut self.transport_state);
        // What crashed once may do so again.
        let _ = caught(|| drop(transport_state));
        // What panicked for want of it would do so again.
        let has_io = has_io();
        let now = self.shared.now();
        let link = &mut self.shared.lock().link;
        if has_io {
            link.handle_crash(now);
        } else {
            link.handle_driver_failed(now, NO_IO);
        }
    }
}

impl<T: Transport> Future for Driver<T> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match caught(|| self.work(cx)) {
            Ok(polled) => polled,
            Err(panicked) => {
                let _entered = self.shared.telemetry.enter();
                tracing::error!(panic = panicked.0, "client driver panicked");
                self.handle_panic();
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for Driver<T> {
    /// The runtime may be gone before the link is over: then nothing serves it, and
    /// callers that wait, in another runtime perhaps, have to be woken.
    fn drop(&mut self) {
        let _entered = self.shared.telemetry.enter();
        let now = self.shared.now();
        let mut dispatch = std::mem::take(&mut self.dispatch);
        let mut events = std::mem::take(&mut dispatch.events);
        {
            let mut core = self.shared.lock();
            if core.link.stop(now) == StopOutcome::Started {
                core.stop_reason = "its tokio runtime was shut down";
            }
            core.link.handle_crash(now);
            while core.take_events(now, &mut dispatch) {
                events.append(&mut dispatch.events);
            }
        }
        dispatch.status_events.drain(..).for_each(StatusEvent::emit);
        self.shared.running_handlers.stop_all();
        self.shared.state.send_replace(LinkState::Closed);
        for event in events.into_iter().chain(dispatch.events) {
            // Subscriptions are waited for as calls are; the rest would need a runtime.
            if let DispatchEvent::Subscription(key, update) = event {
                // As with wakers: one that panics must not keep the others asleep.
                let _ = caught(|| self.shared.subscriptions.handle_update(key, update));
            }
        }
        dispatch.wakers.into_iter().for_each(wake);
    }
}

/// Wakes a task. A waker is foreign code: a panic in it must not keep other tasks asleep.
fn wake(waker: Waker) {
    if let Err(panicked) = caught(|| waker.wake()) {
        tracing::error!(panic = panicked.0, "waker panicked");
    }
}
