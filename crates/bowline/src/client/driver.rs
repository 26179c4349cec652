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

use bowline_proto::link::{Action, State, StopOutcome};
use bowline_proto::{Instant, MonotonicTable};
use tokio::sync::Mutex;

use super::features::cancel_orphan;
use super::input_rounds;
use super::open_transport::Hands;
use super::runtime::{NO_IO, has_io};
use super::server_requests::Running;
use super::shared::{Core, Dispatch, Shared, Told};
use super::telemetry::Course;
use crate::clock::Alarm;
use crate::io::Io;
use crate::panics::caught;
use crate::read_grace::ReadGrace;
use crate::transport::{Transport, TransportEnd};

/// Rounds of work in one wake-up.
const ROUNDS: usize = 32;

/// How long a client has nothing to do before it gives back memory that it only keeps to
/// use it again.
const IDLE: Duration = Duration::from_secs(2);

pub(super) struct Driver<T> {
    shared: Arc<Shared>,
    transport: Arc<Mutex<T>>,
    /// What a crash takes with it.
    hands: Hands,
    alarm: Alarm,
    read_grace: ReadGrace,
    dispatch: Dispatch,
    rest: Rest,
    /// Whether the transport was opened before.
    has_opened: bool,
}

/// Whether there has been something to do.
#[derive(Clone, Copy, PartialEq)]
enum Rest {
    /// There is no session yet.
    Shaking,
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
            hands: Hands::default(),
            alarm,
            read_grace: ReadGrace::default(),
            dispatch: Dispatch::default(),
            rest: Rest::Shaking,
            has_opened: false,
        }
    }

    /// Works until nothing can be done now. Ready when the link is over and everything closed.
    fn work(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..ROUNDS {
            // In each round, since another connection has another span.
            let _entered = self.shared.telemetry.enter();
            let mut has_worked = self.poll_opening(cx) | self.poll_asking(cx);
            let is_over = self.poll_core(cx, &mut has_worked);
            self.tell();
            if let Some((_, io)) = &mut self.hands.io {
                has_worked |= io.poll_write(cx);
            }
            has_worked |= self.poll_parting();
            if is_over && !has_worked {
                return Poll::Ready(());
            }
            if has_worked && self.rest != Rest::Shaking {
                self.rest = Rest::Busy;
            }
            if !has_worked && self.alarm.poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Closes a stream on which nothing is left to be written. The link waits for it, though
    /// not for long.
    fn poll_parting(&mut self) -> bool {
        let now = self.shared.now();
        let Some((life, io)) = self.hands.take_parted(now) else {
            return false;
        };
        drop(io);
        self.shared.lock().link.handle_eof(now, life);
        true
    }

    fn poll_opening(&mut self, cx: &mut Context<'_>) -> bool {
        let Some((life, opening)) = &mut self.hands.opening else {
            return false;
        };
        let Poll::Ready(opened) = opening.as_mut().poll(cx) else {
            return false;
        };
        let life = *life;
        self.hands.opening = None;
        let now = self.shared.now();
        let mut core = self.shared.lock();
        match opened {
            Ok(stream) => {
                self.hands.io = Some((life, Io::new(stream)));
                core.ending = None;
                self.rest = Rest::Shaking;
                core.link.handle_opened(now, life);
            }
            Err(error) => {
                core.failed_with = None;
                core.link.handle_open_failed(now, life, error);
            }
        }
        true
    }

    /// Learns why the stream has ended, and tells.
    fn poll_asking(&mut self, cx: &mut Context<'_>) -> bool {
        let Some((life, otherwise, asking)) = &mut self.hands.asking else {
            return false;
        };
        let Poll::Ready(ending) = asking.as_mut().poll(cx) else {
            return false;
        };
        let ending = ending.unwrap_or_else(|| TransportEnd::new(std::mem::take(otherwise)));
        let life = *life;
        self.hands.asking = None;
        let now = self.shared.now();
        let mut core = self.shared.lock();
        core.link.handle_end(now, life, &ending.reason);
        let ending = Arc::new(ending);
        core.failed_with = Some((now, Arc::clone(&ending)));
        core.ending = Some(ending);
        true
    }

    /// Reads a chunk, and lets the core act. Whether it is over.
    fn poll_core(&mut self, cx: &mut Context<'_>, has_worked: &mut bool) -> bool {
        let now = self.shared.now();
        let shared = Arc::clone(&self.shared);
        let mut core = shared.lock();
        let is_behind = self.dispatch.is_behind();
        let has_read = !is_behind && self.hands.poll_read(&mut core, now, cx);
        *has_worked |= has_read;
        let due = core.link.poll_timeout();
        if self.read_grace.is_over(due, now, has_read || is_behind, cx) {
            core.link.handle_timeout(now);
            *has_worked = true;
        }
        // Closed without the lock: a stream is somebody else's, and may use the client.
        let mut closed = Vec::new();
        while let Some(action) = core.link.poll_action() {
            closed.extend(self.act(action, &mut core, now));
            *has_worked = true;
        }
        *has_worked |= core.take_events(now, &mut self.dispatch);
        if let Some((_, io)) = &mut self.hands.io {
            while io.has_room()
                && let Some(transmit) = core.link.poll_transmit()
            {
                io.queue(transmit);
                *has_worked = true;
            }
        }
        if !*has_worked {
            self.relax(&mut core, now);
        }
        self.alarm
            .arm(self.read_grace.next(core.link.poll_timeout()));
        self.alarm.arm(self.hands.listens_until());
        if !*has_worked {
            core.driver = Some(cx.waker().clone());
        }
        let is_over = core.link.state() == State::Closed;
        drop(core);
        drop(closed);
        is_over
    }

    /// Does what the core wants. What is closed with it.
    fn act(&mut self, action: Action, core: &mut Core, now: Instant) -> Option<Hands> {
        match action {
            Action::Open(life) => {
                // The first one has its span from the start.
                if self.has_opened {
                    self.shared.telemetry.connect(core.link.session() + 1);
                }
                self.has_opened = true;
                let transport = Arc::clone(&self.transport);
                let opening = async move { transport.lock().await.open().await };
                self.hands.opening = Some((life, Box::pin(opening)));
                None
            }
            Action::Close(life)
                if core.link.state() == State::Closing
                    && self.hands.part(life, core.parting.drain(..)) =>
            {
                None
            }
            Action::Close(life) => {
                let closed = self.hands.close(life);
                // Whoever stops waits for this.
                if core.link.state() == State::Closing {
                    core.link.handle_eof(now, life);
                }
                Some(closed)
            }
            _ => {
                tracing::debug!("unknown action ignored");
                None
            }
        }
    }

    /// Gives back memory: after a while without work, and after a handshake, whose messages
    /// are larger than most.
    fn relax(&mut self, core: &mut Core, now: Instant) {
        match self.rest {
            Rest::Shaking if core.link.state() == State::Ready => self.shrink(core),
            Rest::Shaking | Rest::Shrunk => {}
            Rest::Busy => {
                self.rest = Rest::IdleSince(now);
                self.alarm.arm(Some(now + IDLE));
            }
            Rest::IdleSince(since) if now >= since + IDLE => self.shrink(core),
            Rest::IdleSince(since) => self.alarm.arm(Some(since + IDLE)),
        }
    }

    fn shrink(&mut self, core: &mut Core) {
        self.rest = Rest::Shrunk;
        core.link.shrink();
        if core.slots.is_empty() {
            core.slots = MonotonicTable::new();
        }
        if let Some((_, io)) = &mut self.hands.io {
            io.shrink();
        }
        self.dispatch.wakers.shrink_to_fit();
        self.dispatch.events.shrink_to_fit();
        self.dispatch.course.shrink_to_fit();
    }

    /// Wakes who waits and starts handlers, without the lock.
    fn tell(&mut self) {
        self.wake();
        for told in self.dispatch.events.drain(..) {
            match told {
                Told::Notification(method, params) => {
                    // Before anybody reads again because of it.
                    self.shared.cache.notify(&method, params.as_ref());
                    self.shared.outputs.notify(&method);
                    self.shared.watchers.notify(&method, params.as_ref());
                    let telemetry = &self.shared.telemetry;
                    self.shared.router.dispatch(telemetry, method, params);
                }
                Told::Watch(key, event) => {
                    if !self.shared.watchers.tell(key, event) {
                        self.shared
                            .with(|core, now| core.link.unsubscribe(now, key));
                    }
                }
                Told::Ready => self.shared.with(Core::tell_log_level),
                Told::Request(key, request) => Running::start(&self.shared, key, request),
                Told::Cancelled(key) => self.shared.running.stop(key),
                Told::Input(call, result) => input_rounds::give(&self.shared, call, result),
                Told::Orphan(result) => cancel_orphan(&self.shared, &result),
                Told::Gone => {
                    self.shared.cache.clear();
                    self.shared.outputs.clear();
                    self.shared.running.stop_all();
                }
            }
        }
    }

    fn wake(&mut self) {
        self.dispatch.course.drain(..).for_each(Course::emit);
        if let Some(state) = self.dispatch.state.take() {
            self.shared.state.send_replace(state);
        }
        self.dispatch.wakers.drain(..).for_each(wake);
    }

    /// The driver, or the transport that it drives, has panicked.
    fn crash(&mut self) {
        let hands = std::mem::take(&mut self.hands);
        // What crashed once may do so again.
        let _ = caught(|| drop(hands));
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
                self.crash();
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for Driver<T> {
    /// The runtime may be gone before the link is over: then nobody is left to serve it, and
    /// whoever waits, in another runtime perhaps, has to know.
    fn drop(&mut self) {
        let _entered = self.shared.telemetry.enter();
        let now = self.shared.now();
        let mut dispatch = std::mem::take(&mut self.dispatch);
        let mut events = std::mem::take(&mut dispatch.events);
        {
            let mut core = self.shared.lock();
            if core.link.stop(now) == StopOutcome::Begun {
                core.stopped_by = "its tokio runtime was shut down";
            }
            core.link.handle_crash(now);
            while core.take_events(now, &mut dispatch) {
                events.append(&mut dispatch.events);
            }
        }
        dispatch.course.drain(..).for_each(Course::emit);
        self.shared.running.stop_all();
        self.shared.state.send_replace(State::Closed);
        for told in events.into_iter().chain(dispatch.events) {
            // Subscriptions are waited for as calls are; the rest would need a runtime.
            if let Told::Watch(key, event) = told {
                // As with wakers: those of others must not keep the rest asleep.
                let _ = caught(|| self.shared.watchers.tell(key, event));
            }
        }
        dispatch.wakers.into_iter().for_each(wake);
    }
}

/// Wakes somebody. A waker is somebody else's: a panic in it must not keep others asleep.
fn wake(waker: Waker) {
    if let Err(panicked) = caught(|| waker.wake()) {
        tracing::error!(panic = panicked.0, "waker panicked");
    }
}
