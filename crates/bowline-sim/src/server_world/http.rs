//! Requests and responses on the way, and connections that are cut.
//!
//! What is written on a connection arrives in order. A cut loses what is written after it; the
//! server learns of it later, and goes on writing until then.

use std::time::Duration;

use bowline_proto::Instant;
use bowline_proto::server::EventReader;
use bowline_types::Revision;
use bytes::Bytes;

use super::{ServerWorld, SimEvent};
use crate::fault::Fault;
use crate::trace_text::{Column, shown};

/// An HTTP request.
#[derive(Clone, Debug)]
pub(super) struct HttpRequest {
    /// The number of its connection.
    pub(super) connection: u64,
    pub(super) method: HttpMethod,
    /// `Mcp-Session-Id`
    pub(super) session: Option<String>,
    /// `MCP-Protocol-Version`
    pub(super) revision: Option<Revision>,
}

#[derive(Clone, Debug)]
pub(super) enum HttpMethod {
    Post(Bytes),
    /// With `Last-Event-ID`.
    Get(Option<String>),
    Delete,
}

/// A part of a response.
#[derive(Clone, Debug)]
pub(super) enum Arrival {
    Head {
        status: u16,
        /// `Mcp-Session-Id`, of a new session.
        session: Option<String>,
        is_stream: bool,
    },
    Bytes(Bytes),
    End,
    /// The connection was cut.
    Lost,
}

/// A connection, on the side of the server.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) session: u64,
    pub(super) reader: Option<EventReader>,
    pub(super) is_resumed: bool,
    /// The client has not read for a while.
    pub(super) is_stalled: bool,
    /// Nothing arrives any more.
    is_cut: bool,
    has_event: bool,
    /// When the last bytes arrive: those after them come later.
    last_arrival: Instant,
}

impl Connection {
    pub(super) fn new(session: u64) -> Self {
        Self {
            session,
            reader: None,
            is_resumed: false,
            is_stalled: false,
            is_cut: false,
            has_event: false,
            last_arrival: Instant::START,
        }
    }
}

impl ServerWorld {
    /// A client sends a request.
    pub(super) fn send(&mut self, request: HttpRequest) {
        let connection = request.connection;
        self.note(Column::Client, || match &request.method {
            HttpMethod::Post(frame) => format!("{connection}: POST {}", shown(frame)),
            HttpMethod::Get(id) => format!("{connection}: GET after {id:?}"),
            HttpMethod::Delete => format!("{connection}: DELETE"),
        });
        let delay = self.random.millis(30);
        self.after(delay, SimEvent::Request(request));
    }

    /// The server writes the head of a response.
    pub(super) fn write_head(&mut self, connection: u64, status: u16, session: Option<String>) {
        let head = Arrival::Head {
            status,
            session,
            is_stream: false,
        };
        self.deliver(connection, head);
    }

    pub(super) fn write_stream_head(&mut self, connection: u64) {
        let head = Arrival::Head {
            status: 200,
            session: None,
            is_stream: true,
        };
        self.deliver(connection, head);
    }

    /// The server writes an event, or what comes before events.
    pub(super) fn write_event(&mut self, connection: u64, event: &[u8]) {
        let Some(open) = self.node.connections.get_mut(&connection) else {
            return;
        };
        if open.is_cut {
            return;
        }
        let is_first = !std::mem::replace(&mut open.has_event, true);
        let is_resumed = open.is_resumed;
        let kept = if is_first && is_resumed && self.hit(Fault::CutReplay) {
            0
        } else if is_first && !is_resumed && self.hit(Fault::LostPriming) {
            self.random.index(event.len())
        } else if self.hit(Fault::CutInEvent) {
            1 + self.random.index(event.len() - 1)
        } else if self.hit(Fault::CutAtBoundary) {
            event.len()
        } else {
            return self.write(connection, event);
        };
        self.write(connection, event.get(..kept).unwrap_or_default());
        self.cut(connection);
    }

    /// The server writes bytes, which may arrive in pieces.
    pub(super) fn write(&mut self, connection: u64, bytes: &[u8]) {
        self.note(Column::Wire, || format!("{connection}: {}", shown(bytes)));
        let middle = if self.random.one_in(4) {
            self.random.index(bytes.len())
        } else {
            0
        };
        let (first, second) = bytes.split_at(middle);
        for piece in [first, second] {
            if !piece.is_empty() {
                self.deliver(connection, Arrival::Bytes(piece.to_vec().into()));
            }
        }
    }

    /// The server ends a response.
    pub(super) fn end_response(&mut self, connection: u64, end: Arrival) {
        self.deliver(connection, end);
        self.close_connection(connection);
    }

    /// A connection is cut. The server learns of it now or later.
    fn cut(&mut self, connection: u64) {
        self.deliver(connection, Arrival::Lost);
        if let Some(open) = self.node.connections.get_mut(&connection) {
            open.is_cut = true;
        }
        let delay = match self.random.below(3) {
            0 => Duration::ZERO,
            1 => self.random.millis(100),
            _ => self.random.millis(3000),
        };
        self.after(delay, SimEvent::ConnectionLost(connection));
    }

    /// The client closes a connection.
    pub(super) fn hang_up(&mut self, connection: u64) {
        if self.exchanges.remove(&connection).is_some() {
            let delay = self.random.millis(100);
            self.after(delay, SimEvent::ConnectionLost(connection));
        }
    }

    /// The server learns that a connection is lost.
    pub(super) fn on_connection_lost(&mut self, connection: u64) {
        if self.node.connections.contains_key(&connection) {
            self.note(Column::Server, || format!("{connection} is lost"));
            self.close_connection(connection);
        }
    }

    fn deliver(&mut self, connection: u64, arrival: Arrival) {
        let latency = self.random.millis(30);
        let Some(open) = self.node.connections.get_mut(&connection) else {
            return;
        };
        if open.is_cut {
            return;
        }
        let at = open.last_arrival.max(self.now + latency);
        open.last_arrival = at;
        self.at(at, SimEvent::Response(connection, arrival));
    }
}
