//! The driver of the link: transports, bytes, time, events.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bowline_proto::link::{Action, ConnectionId, OpenError};
use bowline_proto::{CallId, Instant, Link, Stats, Transmit, TransmitKind};
use bytes::Bytes;

use super::{End, SimCarrier, SimEvent, StreamInput, StreamInputKind, World};
use crate::fault::Fault;
use crate::trace_text::{Column, describe_event, shown};

/// Bytes that a pipe holds.
const PIPE: usize = 2048;

/// Times that a timer may be due again in the moment in which it was.
const MAX_TIMEOUTS: u32 = 16;

/// What the driver knows.
#[derive(Debug)]
pub(super) struct Client {
    /// The transport of the latest `Open` action.
    pub(super) connection_id: Option<ConnectionId>,
    pub(super) is_open: bool,
    /// Unread chunks, and the end of the pipe behind them.
    inbox: VecDeque<Bytes>,
    end: Option<End>,
    /// Unread input over HTTP.
    pub(super) stream_input: VecDeque<StreamInput>,
    /// Bytes in the pipe to the server.
    pub(super) in_pipe: usize,
    /// Streams of calls that are open, with the number of the POST.
    pub(super) streams: BTreeMap<CallId, u64>,
    /// The HTTP session.
    pub(super) session: Option<u64>,
    /// Set while no events are taken.
    pub(super) is_asleep: bool,
    /// Set after no events were taken for a while: the next ones are old.
    is_late: bool,
    /// The clock stands still, here.
    pub(super) frozen: Option<Instant>,
    /// The clock is ahead of the world's.
    pub(super) ahead: Duration,
}

/// What can be seen of a link.
type Seen = (
    bowline_proto::link::LinkState,
    u64,
    usize,
    usize,
    Stats,
    Option<Instant>,
    bool,
);

impl Client {
    pub(super) fn new() -> Self {
        Self {
            connection_id: None,
            is_open: false,
            inbox: VecDeque::new(),
            end: None,
            stream_input: VecDeque::new(),
            in_pipe: 0,
            streams: BTreeMap::new(),
            session: None,
            is_asleep: false,
            is_late: false,
            frozen: None,
            ahead: Duration::ZERO,
        }
    }

    fn forget_transport(&mut self) {
        self.is_open = false;
        self.inbox.clear();
        self.end = None;
        self.in_pipe = 0;
        self.streams.clear();
        self.session = None;
    }
}

impl World {
    /// Returns the link's time.
    pub(super) fn clock(&self) -> Instant {
        self.client.frozen.unwrap_or(self.now + self.client.ahead)
    }

    /// Returns when a timer is due, in the world's time.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        let link = self
            .link
            .poll_timeout()
            .filter(|_| self.client.frozen.is_none());
        let ahead = self.client.ahead;
        let link = link.map(|at| Instant::START + at.since(Instant::START + ahead));
        let server = self.server.next_timer();
        [link, server].into_iter().flatten().min()
    }

    pub(super) fn fire_timers(&mut self) {
        self.server.time_out(self.now);
        if self.client.frozen.is_some() {
            return;
        }
        let now = self.clock();
        let mut times = 0;
        while self.link.poll_timeout().is_some_and(|at| at <= now) {
            self.link.handle_timeout(now);
            times += 1;
            if times > MAX_TIMEOUTS {
                self.oracle.violated("6: a timer stays in the past");
                return;
            }
            // What it wants is done before it is asked again.
            self.do_actions();
        }
    }

    pub(super) fn do_actions(&mut self) -> bool {
        let mut has_moved = false;
        while let Some(action) = self.link.poll_action() {
            has_moved = true;
            self.oracle.on_action(action);
            match action {
                Action::Open(connection_id) => self.open(connection_id),
                Action::Close(connection_id) => self.close(connection_id),
                _ => {}
            }
        }
        has_moved
    }

    fn open(&mut self, connection_id: ConnectionId) {
        self.note(Column::Client, || {
            format!("opens transport {connection_id}")
        });
        self.client.forget_transport();
        self.client.connection_id = Some(connection_id);
        let soon = Duration::from_millis(1) + self.random.millis(40);
        let (delay, result) = if self.hit(Fault::OpenFails) {
            (soon, Err(OpenError::transient("refused")))
        } else if self.hit(Fault::OpenPermanent) {
            (soon, Err(OpenError::permanent("no such command")))
        } else if self.hit(Fault::OpenLate) {
            (Duration::from_secs(25), Ok(()))
        } else if self.hit(Fault::OpenHangs) {
            return;
        } else {
            (soon, Ok(()))
        };
        self.after(delay, SimEvent::Opened(connection_id, result));
    }

    fn close(&mut self, connection_id: ConnectionId) {
        self.note(Column::Client, || {
            format!("closes transport {connection_id}")
        });
        if self.client.connection_id != Some(connection_id) {
            return;
        }
        self.client.forget_transport();
        self.server.on_client_gone(connection_id);
        let delay = self.random.millis(80);
        self.after(delay, SimEvent::Closed(connection_id));
    }

    pub(super) fn on_opened(&mut self, connection_id: ConnectionId, result: Result<(), OpenError>) {
        let is_current = self.client.connection_id == Some(connection_id);
        match result {
            Ok(()) => {
                if is_current && self.link.state() == bowline_proto::link::LinkState::Starting {
                    self.client.is_open = true;
                    self.start_server(connection_id);
                }
                self.report_to_link(connection_id, "opened", |link, now| {
                    link.handle_opened(now, connection_id)
                });
            }
            Err(error) => {
                self.oracle.on_transport_over(connection_id.get());
                self.report_to_link(connection_id, "not opened", |link, now| {
                    link.handle_open_failed(now, connection_id, error);
                });
            }
        }
        if self.hit(Fault::StaleEvents) {
            self.report_to_link(connection_id, "opened again", |link, now| {
                link.handle_opened(now, connection_id)
            });
        }
    }

    pub(super) fn on_closed(&mut self, connection_id: ConnectionId) {
        self.oracle.on_transport_over(connection_id.get());
        self.report_to_link(connection_id, "is closed", |link, now| {
            link.handle_lost(now, connection_id, "closed")
        });
    }

    pub(super) fn on_chunk(&mut self, connection_id: ConnectionId, chunk: Bytes) {
        if self.client.connection_id == Some(connection_id) && self.client.is_open {
            return self.client.inbox.push_back(chunk);
        }
        // Bytes of an old transport that a driver has not thrown away.
        let is_wanted = self.link.read_buffer(connection_id).is_some();
        if is_wanted && self.client.connection_id != Some(connection_id) {
            self.oracle.violated(format!(
                "3: bytes of transport {connection_id}, which is closed, are read"
            ));
        }
        self.report_to_link(connection_id, "old bytes", |link, now| {
            link.handle_read(now, connection_id)
        });
    }

    pub(super) fn on_end(&mut self, connection_id: ConnectionId, end: End) {
        if self.client.connection_id == Some(connection_id) && self.client.is_open {
            self.client.end = Some(end);
            return;
        }
        self.oracle.on_transport_over(connection_id.get());
        self.report_to_link(connection_id, "old end", |link, now| {
            link.handle_eof(now, connection_id)
        });
    }

    /// Reads one chunk, if the link wants one.
    pub(super) fn read(&mut self) -> bool {
        match self.carrier {
            SimCarrier::Pipe => self.read_pipe(),
            SimCarrier::Http => self.read_streams(),
        }
    }

    fn read_pipe(&mut self) -> bool {
        let Some(connection_id) = self.client.connection_id.filter(|_| self.client.is_open) else {
            return false;
        };
        if !self.link.wants_read() {
            return false;
        }
        let now = self.clock();
        if let Some(chunk) = self.client.inbox.pop_front() {
            if self.is_clean() {
                let frames = chunk.split(|byte| *byte == b'\n');
                frames.for_each(|frame| self.oracle.on_delivered(frame));
            }
            if let Some(buffer) = self.link.read_buffer(connection_id) {
                buffer.extend_from_slice(&chunk);
            }
            self.link.handle_read(now, connection_id);
            return true;
        }
        let Some(end) = self.client.end.take() else {
            return false;
        };
        self.note(Column::Client, || {
            format!("{end:?} of transport {connection_id}")
        });
        self.oracle.on_transport_over(connection_id.get());
        match end {
            End::Eof => self.link.handle_eof(now, connection_id),
            End::Lost => self.link.handle_lost(now, connection_id, "reset by peer"),
        }
        true
    }

    /// Returns `true` if what the server writes comes as it was written.
    fn is_clean(&self) -> bool {
        let spoiling = [
            Fault::BitFlip,
            Fault::Truncate,
            Fault::Split,
            Fault::Utf16,
            Fault::ContentLength,
            Fault::ByteOrderMark,
            Fault::DeepNesting,
            Fault::ResultAndError,
            Fault::Oversize,
        ];
        !spoiling.iter().any(|fault| self.faults.has(*fault))
    }

    fn read_streams(&mut self) -> bool {
        let is_blocked = self.client.is_open && !self.link.wants_read();
        if is_blocked {
            return false;
        }
        let Some(stream_input) = self.client.stream_input.pop_front() else {
            return self.lose_server();
        };
        let StreamInput {
            connection_id,
            stream,
            kind,
        } = stream_input;
        let is_current = self.client.connection_id == Some(connection_id) && self.client.is_open;
        if let (Some(call), true) = (stream, is_current && kind.is_not_sent()) {
            // A call that has ended by now was right to count as sent.
            self.drain_events();
            self.oracle.on_not_sent(call);
        }
        if let (Some(call), true) = (stream, is_current) {
            match &kind {
                StreamInputKind::Message(_, Some(session)) => self.client.session = Some(*session),
                StreamInputKind::Message(_, None) => {}
                StreamInputKind::End(_) | StreamInputKind::Expired => {
                    self.client.streams.remove(&call);
                    self.oracle.on_stream_over(call);
                }
            }
        }
        self.note(Column::Client, || {
            format!("{kind:?} on {stream:?}").chars().take(42).collect()
        });
        self.report_to_link(connection_id, "old message", |link, now| {
            match (kind, stream) {
                (StreamInputKind::Message(frame, _), stream) => {
                    link.handle_message(now, connection_id, stream, &frame)
                }
                (StreamInputKind::End(end), Some(call)) => {
                    link.handle_stream_end(now, connection_id, call, end)
                }
                (StreamInputKind::Expired, Some(call)) => {
                    link.handle_session_expired(now, connection_id, call)
                }
                (StreamInputKind::End(_) | StreamInputKind::Expired, None) => {
                    link.handle_activity(now, connection_id)
                }
            }
        });
        true
    }

    /// Handles that the server is gone.
    fn lose_server(&mut self) -> bool {
        let (Some(connection_id), Some(_)) = (self.client.connection_id, self.client.end.take())
        else {
            return false;
        };
        self.oracle.on_transport_over(connection_id.get());
        self.report_to_link(connection_id, "the end", |link, now| {
            link.handle_lost(now, connection_id, "unreachable")
        });
        true
    }

    /// Reports an input to the link. Input of an old transport must have no effect.
    fn report_to_link(
        &mut self,
        connection_id: ConnectionId,
        what: &str,
        report: impl FnOnce(&mut Link, Instant),
    ) {
        let now = self.clock();
        let is_old = self.client.connection_id != Some(connection_id);
        let before = seen(&self.link);
        report(&mut self.link, now);
        if is_old && seen(&self.link) != before {
            self.oracle.violated(format!(
                "3: {what} of transport {connection_id} had an effect"
            ));
        }
    }

    /// Sends what is to be sent, as far as the carrier takes it.
    pub(super) fn write(&mut self) -> bool {
        let mut has_moved = false;
        while self.client.in_pipe < PIPE
            && let Some(transmit) = self.link.poll_transmit()
        {
            has_moved = true;
            self.oracle.on_taken();
            if self.hit(Fault::Busy) {
                let (now, connection_id) = (self.clock(), self.client.connection_id);
                if let Some(connection_id) = connection_id {
                    self.link.handle_busy(now, connection_id, transmit);
                }
                break;
            }
            self.send(&transmit);
        }
        has_moved
    }

    fn send(&mut self, transmit: &Transmit) {
        let frame = transmit.to_bytes();
        self.note(Column::Wire, || match transmit.kind {
            TransmitKind::Reset(call) => format!("─▶ closes the stream of {call}"),
            _ => format!("─▶ {}", shown(&frame)),
        });
        self.oracle.on_sent(transmit.kind, &frame);
        let Some(connection_id) = self.client.connection_id.filter(|_| self.client.is_open) else {
            return self.oracle.violated("a message without a transport");
        };
        match self.carrier {
            SimCarrier::Pipe => {
                self.client.in_pipe += frame.len();
                let delay = self.latency();
                let at = self.server.in_order(self.now + delay);
                let frame = if self.hit(Fault::DropOfClient) {
                    Bytes::new()
                } else {
                    frame.into()
                };
                self.at(at, SimEvent::ToServer(connection_id, frame));
            }
            SimCarrier::Http => self.post(connection_id, transmit.kind, frame.into()),
        }
    }

    pub(super) fn latency(&mut self) -> Duration {
        Duration::from_micros(200 + self.random.below(20_000))
    }

    /// Takes the events of the link.
    pub(super) fn take_events(&mut self) -> bool {
        if self.client.is_asleep {
            return false;
        }
        if self.faults.has(Fault::SlowConsumer) && self.hit(Fault::SlowConsumer) {
            self.client.is_asleep = true;
            self.client.is_late = true;
            let until = self.random.millis(15_000);
            self.after(until, SimEvent::Wake);
            return false;
        }
        self.drain_events()
    }

    /// Takes the events that wait, unless the consumer sleeps.
    fn drain_events(&mut self) -> bool {
        let mut has_moved = false;
        while !self.client.is_asleep
            && let Some(event) = self.link.poll_event()
        {
            has_moved = true;
            self.note(Column::Client, || describe_event(&event));
            self.oracle
                .on_event(&self.link, &event, !self.client.is_late);
            self.react(event);
        }
        if !self.client.is_asleep {
            self.client.is_late = false;
            self.oracle.on_drained();
        }
        has_moved
    }
}

fn seen(link: &Link) -> Seen {
    (
        link.state(),
        link.session(),
        link.pending(),
        link.tombstones(),
        link.stats(),
        link.poll_timeout(),
        link.wants_read(),
    )
}
