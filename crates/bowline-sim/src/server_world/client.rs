//! The clients of the server: their sessions, their calls, and where they are on each stream.

use std::collections::{BTreeMap, BTreeSet};

use bowline_proto::codec::SseDecoder;
use bowline_types::Revision;

use super::ServerWorld;
use super::http::{HttpMethod, HttpRequest};
use super::node::session_number;
use super::user::Target;
use crate::oracle::Start;
use crate::random::Random;

/// The bytes that an event may have.
const MAX_EVENT: usize = 1 << 20;

/// A client.
#[derive(Debug)]
pub(super) struct Client {
    /// The revision that it proposes.
    pub(super) revision: Revision,
    /// It reads the server's own messages.
    wants_server_stream: bool,
    pub(super) state: ClientState,
    /// A call that must be answered when the faults have stopped.
    pub(super) owes_call: bool,
    /// Its user does nothing until it comes back.
    pub(super) is_away: bool,
    pub(super) will_act: bool,
    /// The id of the session before.
    pub(super) former: Option<String>,
}

#[derive(Debug)]
pub(super) enum ClientState {
    /// It has no session.
    New,
    /// It waits for the response to `initialize`.
    Opening,
    Open(ClientSession),
}

/// A session, as its client knows it.
#[derive(Debug)]
pub(super) struct ClientSession {
    pub(super) id: String,
    pub(super) number: u64,
    /// The streams of its calls, and at 0 that of the server's own messages.
    pub(super) streams: BTreeMap<u64, ClientStream>,
    pub(super) last_call: u64,
    /// Questions of the server that it has seen.
    pub(super) questions: BTreeSet<u64>,
    /// The ids of all events.
    pub(super) event_ids: Vec<(u64, String)>,
}

/// A stream, as its client knows it.
#[derive(Debug, Default)]
pub(super) struct ClientStream {
    /// The connection that it reads.
    pub(super) connection: Option<u64>,
    /// The client will open a connection.
    pub(super) is_reconnecting: bool,
    pub(super) last_event_id: Option<String>,
    pub(super) is_cancelled: bool,
    /// Connections that ended without any event.
    pub(super) empty_ends: u32,
}

/// A request and its response, on the side of the client.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) client: usize,
    /// The session, or 0.
    pub(super) session: u64,
    /// The id of the session, as the request named it.
    pub(super) named: Option<String>,
    pub(super) purpose: Purpose,
    pub(super) decoder: SseDecoder,
    pub(super) body: Vec<u8>,
    pub(super) status: u16,
    pub(super) opened: Option<String>,
    pub(super) is_stream: bool,
    pub(super) has_event: bool,
    pub(super) has_retry: bool,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Initialize,
    /// A notification, or an answer.
    Message,
    /// A stream that the client follows.
    Stream(u64),
    /// A stream that another connection has taken over.
    Displaced,
    /// Something that a client should not do, or has no need for.
    Probe(Probe),
    Delete,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    /// A call that has ended is read again.
    Again,
    Foreign,
    Forged,
    Garbage,
    UnknownSession,
}

impl Client {
    pub(super) fn draw(random: &mut Random) -> Self {
        let revisions = [
            Revision::V2025_03_26,
            Revision::V2025_06_18,
            Revision::V2025_11_25,
            Revision::V2025_11_25,
        ];
        Self {
            revision: random.pick(&revisions).unwrap_or(Revision::V2025_11_25),
            wants_server_stream: random.one_in(2),
            state: ClientState::New,
            owes_call: false,
            is_away: false,
            will_act: false,
            former: None,
        }
    }

    pub(super) fn session(&self) -> Option<&ClientSession> {
        match &self.state {
            ClientState::Open(session) => Some(session),
            ClientState::New | ClientState::Opening => None,
        }
    }

    pub(super) fn session_mut(&mut self) -> Option<&mut ClientSession> {
        match &mut self.state {
            ClientState::Open(session) => Some(session),
            ClientState::New | ClientState::Opening => None,
        }
    }

    /// Returns the calls that wait for their answer, or for the end of their stream.
    pub(super) fn open_calls(&self) -> impl Iterator<Item = u64> {
        let streams = self.session().map(|session| &session.streams);
        let calls = streams.into_iter().flat_map(BTreeMap::keys);
        calls.copied().filter(|call| *call > 0)
    }

    /// Returns `true` if its streams may begin with a priming event.
    pub(super) fn has_priming(&self) -> bool {
        self.revision >= Revision::V2025_11_25
    }

    pub(super) fn wants_server_stream(&self) -> bool {
        self.wants_server_stream && self.session().is_some()
    }

    pub(super) fn server_stream_connection(&self) -> Option<u64> {
        self.session()?.streams.get(&0)?.connection
    }
}

impl ClientSession {
    pub(super) fn new(id: String) -> Self {
        Self {
            number: session_number(&id).unwrap_or(0),
            id,
            streams: BTreeMap::new(),
            last_call: 0,
            questions: BTreeSet::new(),
            event_ids: Vec::new(),
        }
    }
}

impl Exchange {
    /// Returns `true` if its response has an end.
    pub(super) fn must_end(&self) -> bool {
        self.purpose != Purpose::Stream(0)
    }
}

impl ServerWorld {
    /// Returns a client's session, if it is still this one.
    pub(super) fn session_of(&mut self, target: Target) -> Option<&mut ClientSession> {
        let session = self.clients.get_mut(target.client)?.session_mut()?;
        (session.number == target.session).then_some(session)
    }

    /// Returns a stream that a client follows.
    pub(super) fn stream_of(&mut self, target: Target) -> Option<&mut ClientStream> {
        self.session_of(target)?.streams.get_mut(&target.call)
    }

    /// A client sends a request of its session. Returns the number of the connection.
    pub(super) fn request(&mut self, client: usize, purpose: Purpose, method: HttpMethod) -> u64 {
        let (id, revision) = match self.clients.get(client) {
            Some(client) if purpose != Purpose::Initialize => (
                client.session().map(|session| session.id.clone()),
                Some(client.revision).filter(|revision| *revision > Revision::V2025_03_26),
            ),
            _ => (None, None),
        };
        self.request_in(client, purpose, (id, revision), method)
    }

    /// A client sends a request with this session id.
    pub(super) fn request_in(
        &mut self,
        client: usize,
        purpose: Purpose,
        (id, revision): (Option<String>, Option<Revision>),
        method: HttpMethod,
    ) -> u64 {
        let connection = self.next_connection;
        self.next_connection += 1;
        let session = id.as_deref().and_then(session_number).unwrap_or(0);
        let last_event_id = match &method {
            HttpMethod::Get(last) => last.clone(),
            HttpMethod::Post(_) | HttpMethod::Delete => None,
        };
        let start = match (purpose, &last_event_id) {
            (Purpose::Stream(_) | Purpose::Probe(Probe::Again), Some(_)) => Some(Start::After),
            (Purpose::Stream(0), None) => Some(Start::ServerStream),
            (Purpose::Stream(call), None) => Some(Start::Call(call)),
            (Purpose::Probe(_), Some(_)) => Some(Start::Anywhere),
            _ => None,
        };
        if let Some(start) = start {
            self.oracle
                .on_opened(connection, session, start, last_event_id.as_deref());
        }
        let exchange = Exchange {
            client,
            session,
            named: id.clone(),
            purpose,
            decoder: SseDecoder::new(MAX_EVENT),
            body: Vec::new(),
            status: 0,
            opened: None,
            is_stream: false,
            has_event: false,
            has_retry: false,
        };
        self.exchanges.insert(connection, exchange);
        self.send(HttpRequest {
            connection,
            method,
            session: id,
            revision,
        });
        connection
    }
}
