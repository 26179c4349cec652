//! What clients do, and when: calls, cancellations, streams, and what they should not do.

use std::time::Duration;

use bowline_types::Revision;

use super::client::{Client, ClientState, Probe, Purpose};
use super::http::HttpMethod;
use super::node::SESSION_LIFETIME;
use super::{ServerWorld, SimEvent};
use crate::fault::Fault;

/// Calls that a client has open at most.
const MAX_CALLS: usize = 4;

/// A stream of a client's session; 0 is the call of the server's own messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) client: usize,
    pub(super) session: u64,
    pub(super) call: u64,
}

impl ServerWorld {
    /// The user of a client acts.
    pub(super) fn act(&mut self, client: usize) {
        let Some(acting) = self.clients.get_mut(client) else {
            return;
        };
        acting.will_act = false;
        match &acting.state {
            ClientState::New => return self.initialize(client),
            ClientState::Opening => return,
            ClientState::Open(_) if self.is_healed || acting.is_away => return,
            ClientState::Open(_) => {}
        }
        self.act_in_session(client);
        let pause = self.random.pick(&[50, 300, 1000]).unwrap_or(300);
        let delay = self.random.millis(pause);
        self.act_after(delay, client);
    }

    /// Lets the user of a client act later, if that isn't to be anyway.
    pub(super) fn act_after(&mut self, delay: Duration, client: usize) {
        if let Some(acting) = self.clients.get_mut(client)
            && !std::mem::replace(&mut acting.will_act, true)
        {
            self.after(delay, SimEvent::Act(client));
        }
    }

    fn initialize(&mut self, client: usize) {
        let Some(opening) = self.clients.get_mut(client) else {
            return;
        };
        opening.state = ClientState::Opening;
        opening.is_away = false;
        let revision = opening.revision;
        let frame = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{"elicitation":{{}}}},"clientInfo":{{"name":"sim","version":"0"}}}}}}"#
        );
        self.post(client, Purpose::Initialize, frame.into_bytes());
    }

    fn act_in_session(&mut self, client: usize) {
        self.open_server_stream(client);
        match self.random.below(10) {
            0..=4 => self.call(client),
            5 => self.cancel(client),
            6 | 7 => self.publish_to(client),
            _ => self.probe(client),
        }
        if self.random.one_in(2) && self.hit(Fault::DisplaceReader) {
            self.take_over(client, false);
        }
        if self.random.one_in(2) && self.hit(Fault::OldPosition) {
            self.take_over(client, true);
        }
        if self.random.one_in(6) && self.hit(Fault::DeleteSession) {
            self.delete(client);
        } else if self.random.one_in(4) && self.hit(Fault::ExpireSession) {
            self.go_away(client);
        }
    }

    fn publish_to(&mut self, client: usize) {
        if let Some(session) = self.clients.get(client).and_then(Client::session) {
            self.publish(session.number);
        }
    }

    /// Each client makes one more call, in a new session if need be.
    pub(super) fn call_at_last(&mut self) {
        let is_first = !self.clients.iter().any(|client| client.owes_call);
        for client in 0..self.clients.len() {
            let Some(calling) = self.clients.get_mut(client) else {
                continue;
            };
            calling.owes_call |= is_first;
            if !calling.owes_call {
                continue;
            }
            match calling.state {
                ClientState::New => self.act(client),
                ClientState::Opening => {}
                ClientState::Open(_) => {
                    self.open_server_stream(client);
                    self.call(client);
                    self.publish_to(client);
                }
            }
        }
    }

    pub(super) fn post(&mut self, client: usize, purpose: Purpose, frame: Vec<u8>) -> u64 {
        self.request(client, purpose, HttpMethod::Post(frame.into()))
    }

    fn open_server_stream(&mut self, client: usize) {
        let Some(opening) = self.clients.get_mut(client) else {
            return;
        };
        if !opening.wants_server_stream() {
            return;
        }
        let Some(session) = opening.session_mut() else {
            return;
        };
        let target = Target {
            client,
            session: session.number,
            call: 0,
        };
        if !session.streams.contains_key(&0) {
            session.streams.entry(0).or_default().is_reconnecting = true;
            self.connect(target);
        }
    }

    fn call(&mut self, client: usize) {
        let Some(calling) = self.clients.get_mut(client) else {
            return;
        };
        let is_busy = calling.open_calls().count() >= MAX_CALLS;
        let Some(session) = calling.session_mut() else {
            return;
        };
        if is_busy {
            return;
        }
        session.last_call += 1;
        let call = session.last_call;
        let frame = format!(
            r#"{{"jsonrpc":"2.0","id":{call},"method":"tools/call","params":{{"name":"t","arguments":{{"nonce":{call}}}}}}}"#
        );
        let target = Target {
            client,
            session: session.number,
            call,
        };
        session.streams.entry(call).or_default();
        let connection = self.post(client, Purpose::Stream(call), frame.into_bytes());
        if let Some(stream) = self.stream_of(target) {
            stream.connection = Some(connection);
        }
    }

    /// The client cancels a call, and reads its stream to the end.
    fn cancel(&mut self, client: usize) {
        let calls: Vec<u64> = self
            .clients
            .get(client)
            .map(|client| client.open_calls().collect())
            .unwrap_or_default();
        let Some(call) = self.random.pick(&calls) else {
            return;
        };
        let session = self.clients.get_mut(client).and_then(Client::session_mut);
        if let Some(stream) = session.and_then(|session| session.streams.get_mut(&call)) {
            stream.is_cancelled = true;
        }
        let frame = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{call}}}}}"#
        );
        self.post(client, Purpose::Message, frame.into_bytes());
    }

    /// The client opens a connection for a stream, from where it is.
    pub(super) fn connect(&mut self, target: Target) {
        let Some(stream) = self.stream_of(target) else {
            return;
        };
        stream.is_reconnecting = false;
        if stream.connection.is_some() {
            return;
        }
        let last = stream.last_event_id.clone();
        self.resume(target, last);
    }

    fn resume(&mut self, target: Target, last: Option<String>) {
        let purpose = Purpose::Stream(target.call);
        let connection = self.request(target.client, purpose, HttpMethod::Get(last));
        if let Some(stream) = self.stream_of(target) {
            stream.connection = Some(connection);
        }
    }

    /// The client opens a second connection for a stream that it reads, from where it is or from
    /// before.
    fn take_over(&mut self, client: usize, is_older: bool) {
        let Some(session) = self.clients.get(client).and_then(Client::session) else {
            return;
        };
        let streams = session.streams.iter();
        let reading = streams
            .filter(|(_, stream)| stream.connection.is_some() && stream.last_event_id.is_some());
        let calls: Vec<u64> = reading.map(|(call, _)| *call).collect();
        let Some(call) = self.random.pick(&calls) else {
            return;
        };
        let Some(session) = self.clients.get(client).and_then(Client::session) else {
            return;
        };
        let number = session.number;
        let ids: Vec<String> = session
            .event_ids
            .iter()
            .filter(|(of, _)| *of == call)
            .map(|(_, id)| id.clone())
            .collect();
        let target = Target {
            client,
            session: number,
            call,
        };
        let older = self.random.index(ids.len());
        let Some(stream) = self.stream_of(target) else {
            return;
        };
        let previous = stream.connection.take();
        if is_older && let Some(older) = ids.into_iter().nth(older) {
            stream.last_event_id = Some(older);
        }
        let last = stream.last_event_id.clone();
        let displaced = previous.and_then(|previous| self.exchanges.get_mut(&previous));
        if let Some(displaced) = displaced {
            displaced.purpose = Purpose::Displaced;
        }
        self.resume(target, last);
    }

    fn delete(&mut self, client: usize) {
        let Some(session) = self.clients.get(client).and_then(Client::session) else {
            return;
        };
        let number = session.number;
        self.request(client, Purpose::Delete, HttpMethod::Delete);
        self.forget_session(client, number);
    }

    /// The client is gone until its session has expired, and all its connections with it.
    fn go_away(&mut self, client: usize) {
        let Some(leaving) = self.clients.get_mut(client) else {
            return;
        };
        leaving.is_away = true;
        let Some(session) = leaving.session_mut() else {
            return;
        };
        let number = session.number;
        let away = SESSION_LIFETIME + Duration::from_secs(2);
        let calls: Vec<u64> = session.streams.keys().copied().collect();
        for call in calls {
            let target = Target {
                client,
                session: number,
                call,
            };
            let Some(stream) = self.stream_of(target) else {
                continue;
            };
            stream.is_reconnecting = true;
            if let Some(connection) = stream.connection.take() {
                self.hang_up(connection);
            }
            let has_position = self
                .stream_of(target)
                .is_some_and(|stream| stream.last_event_id.is_some());
            if has_position || call == 0 {
                self.after(away, SimEvent::Connect(target));
            } else {
                self.lose(target);
            }
        }
    }

    /// The client does what it should not do.
    fn probe(&mut self, client: usize) {
        if self.hit(Fault::ForeignEventId) {
            let mut others = self.clients.iter().enumerate();
            let other = others.find_map(|(other, peer)| {
                let session = peer.session().filter(|_| other != client)?;
                session.event_ids.last().map(|(_, id)| id.clone())
            });
            if let Some(id) = other {
                self.probe_after(client, Probe::Foreign, id);
            }
        }
        if self.hit(Fault::ForgedEventId) {
            let session = self.clients.get(client).and_then(Client::session);
            let last = session.and_then(|session| session.event_ids.last());
            let stream = last.and_then(|(_, id)| id.split('-').next().map(str::to_owned));
            let stream = stream.unwrap_or_else(|| "1".into());
            let far = 1_000_000 + self.random.below(1_000_000);
            self.probe_after(client, Probe::Forged, format!("{stream}-{far}"));
        }
        if self.hit(Fault::GarbageEventId) {
            let garbage = [
                "",
                "1",
                "1-",
                "-1",
                "1-0",
                "01-1",
                "1-1 ",
                "a-b",
                "99999999999999999999-1",
            ];
            let garbage = self.random.pick(&garbage).unwrap_or("");
            self.probe_after(client, Probe::Garbage, garbage.into());
        }
        if self.hit(Fault::UnknownSession) {
            let former = self
                .clients
                .get(client)
                .and_then(|client| client.former.clone());
            let id = former.unwrap_or_else(|| format!("0-{:016x}", self.random.draw()));
            self.probe_session(client, id);
        }
    }

    /// A client reads after an event that is not its last one.
    pub(super) fn probe_after(&mut self, client: usize, probe: Probe, last: String) {
        let purpose = Purpose::Probe(probe);
        let connection = self.request(client, purpose, HttpMethod::Get(Some(last)));
        let delay = Duration::from_secs(1) + self.random.millis(2000);
        self.after(delay, SimEvent::HangUp(connection));
    }

    fn probe_session(&mut self, client: usize, id: String) {
        let purpose = Purpose::Probe(Probe::UnknownSession);
        let headers = (Some(id), Some(Revision::V2025_11_25));
        let method = match self.random.below(3) {
            0 => HttpMethod::Get(None),
            1 => HttpMethod::Delete,
            _ => HttpMethod::Post(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.as_slice().into()),
        };
        self.request_in(client, purpose, headers, method);
    }
}
