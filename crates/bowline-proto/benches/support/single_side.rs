//! A client or a server whose peer is the benchmark, which may send any bytes.
//!
//! The only place where the hostile cases reach the state machines.

use bowline_proto::codec::{FrameLimits, Framing};
use bowline_proto::connection::Event;
use bowline_proto::server::{Session, SessionConfig, SessionEvent};
use bowline_proto::{Config, Connection, IdCounter, Instant};
use bowline_types::Era;
use bowline_types::common::Implementation;

/// A client that is ready, in the handshake era, with a peer that frames like this.
#[derive(Debug)]
pub(crate) struct Client {
    connection: Connection,
}

impl Client {
    pub(crate) fn ready(limits: FrameLimits, peer: Framing) -> Self {
        let mut config = Config::new(Implementation::new("client", "1.0"));
        config.revisions(Era::Handshake.revisions());
        config.limits().frames(limits);
        let mut connection = Connection::new(config, IdCounter::new());
        connection.open(NOW);
        let mut client = Self { connection };
        let mut answer = Vec::new();
        peer.write_head(&mut answer, INITIALIZED.len());
        answer.extend_from_slice(INITIALIZED.as_bytes());
        answer.extend_from_slice(peer.tail());
        client.reads(&answer);
        while client.connection.poll_transmit().is_some() {}
        let event = client.connection.poll_event();
        assert!(matches!(event, Some(Event::Ready(_))), "{event:?}");
        client
    }

    pub(crate) fn reads(&mut self, bytes: &[u8]) {
        self.connection.read_buffer().extend_from_slice(bytes);
        self.connection.handle_read(NOW);
    }

    pub(crate) fn wants_read(&self) -> bool {
        self.connection.wants_read()
    }

    /// Takes and drops what happened. Returns why the connection is over, if it is.
    pub(crate) fn drop_events(&mut self) -> Option<String> {
        let mut closed = None;
        while let Some(event) = self.connection.poll_event() {
            if let Event::Closed(reason) = event {
                closed = Some(reason.to_string());
            }
        }
        closed
    }
}

/// A server with a session that is ready.
#[derive(Debug)]
pub(crate) struct Server {
    session: Session,
}

impl Server {
    pub(crate) fn ready() -> Self {
        let config = SessionConfig::new(Implementation::new("server", "1.0"));
        let mut server = Self {
            session: Session::new(NOW, config),
        };
        server.reads(INITIALIZE.as_bytes());
        assert_eq!(server.drop_sent(), 1);
        server.drop_events();
        server
    }

    pub(crate) fn reads(&mut self, bytes: &[u8]) {
        self.session.read_buffer().extend_from_slice(bytes);
        self.session.handle_read(NOW);
    }

    pub(crate) fn wants_read(&self) -> bool {
        self.session.wants_read()
    }

    /// Takes and drops what happened. Returns how many requests that were.
    pub(crate) fn drop_events(&mut self) -> usize {
        std::iter::from_fn(|| self.session.poll_event())
            .filter(|event| matches!(event, SessionEvent::Request { .. }))
            .count()
    }

    /// Takes and drops what is to be sent. Returns how much that was.
    pub(crate) fn drop_sent(&mut self) -> usize {
        std::iter::from_fn(|| self.session.poll_transmit()).count()
    }

    pub(crate) fn open_requests(&self) -> usize {
        self.session.open_requests()
    }

    pub(crate) fn refused(&self) -> u64 {
        self.session.stats().refused_requests
    }
}

const NOW: Instant = Instant::START;

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"server","version":"1.0"}}}"#;

const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"client","version":"1.0"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n"
);
