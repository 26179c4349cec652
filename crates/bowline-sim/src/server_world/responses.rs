//! What clients make of the responses: events, answers, ends and refusals.

use std::time::Duration;

use bowline_proto::codec::SseItem;
use bytes::Bytes;

use super::client::{Client, ClientSession, ClientState, Probe, Purpose};
use super::event_streams::RETRY;
use super::handlers::LATE_ANSWER;
use super::http::Arrival;
use super::user::Target;
use super::{ServerWorld, SimEvent};
use crate::fault::Fault;
use crate::oracle::{Mark, number_after};
use crate::trace_text::Column;

/// Connections that may end one after the other without an event: the stream of a call is
/// displaced when another client names an event id that is valid here, too.
const MAX_EMPTY_ENDS: u32 = 4;

impl ServerWorld {
    /// A part of a response comes to its client.
    pub(super) fn on_response(&mut self, connection: u64, arrival: Arrival) {
        let Some(exchange) = self.exchanges.get_mut(&connection) else {
            return;
        };
        match arrival {
            Arrival::Head {
                status,
                session,
                is_stream,
            } => {
                exchange.status = status;
                exchange.opened = session;
                exchange.is_stream = is_stream;
            }
            Arrival::Bytes(bytes) if exchange.is_stream => self.on_stream_bytes(connection, &bytes),
            Arrival::Bytes(bytes) => exchange.body.extend_from_slice(&bytes),
            Arrival::End => self.on_response_end(connection, true),
            Arrival::Lost => self.on_response_end(connection, false),
        }
    }

    fn on_stream_bytes(&mut self, connection: u64, bytes: &[u8]) {
        if let Some(exchange) = self.exchanges.get_mut(&connection) {
            exchange.decoder.push(bytes);
        }
        // The exchange may end with one of its events.
        while let Some(exchange) = self.exchanges.get_mut(&connection)
            && let Some(item) = exchange.decoder.poll()
        {
            match item {
                SseItem::Event { data, .. } => {
                    exchange.has_event |= !data.is_empty();
                    let id = exchange.decoder.last_event_id().to_owned();
                    self.on_event(connection, id, &data);
                }
                SseItem::Retry(_) => exchange.has_retry = true,
                SseItem::Comment => {}
                SseItem::Cursor | SseItem::TooLarge(_) => {
                    self.oracle.violated("an event that no client expects");
                }
                _ => self.oracle.violated("an item that no client knows"),
            }
        }
    }

    fn on_event(&mut self, connection: u64, id: String, data: &Bytes) {
        let mark = self.oracle.on_event(connection, &id, data);
        let Some(exchange) = self.exchanges.get(&connection) else {
            return;
        };
        let (client, session) = (exchange.client, exchange.session);
        let Purpose::Stream(call) = exchange.purpose else {
            return;
        };
        let target = Target {
            client,
            session,
            call,
        };
        let has_priming = self.clients.get(client).is_some_and(Client::has_priming);
        if data.is_empty() && !has_priming {
            self.oracle
                .violated("a priming event for a client of an older revision");
        }
        if let Some(session) = self.session_of(target) {
            session.event_ids.push((call, id.clone()));
        }
        if let Some(stream) = self.stream_of(target) {
            stream.last_event_id = Some(id);
            stream.empty_ends = 0;
        }
        let is_answer = mark.is_some_and(|mark| mark.is_answer);
        if is_answer {
            self.complete(target);
        } else if let (Some(mark), Some(question)) = (mark, number_after(data, "\"id\":")) {
            self.on_question(target, question, mark);
        }
    }

    /// A call has its answer.
    fn complete(&mut self, target: Target) {
        let Target { client, call, .. } = target;
        self.note(Column::Client, || {
            format!("client {client}: call {call} is answered")
        });
        let stream = self
            .session_of(target)
            .and_then(|session| session.streams.remove(&call));
        let Some(stream) = stream else {
            return;
        };
        self.oracle.on_answered(target.session, call);
        if let Some(client) = self.clients.get_mut(client) {
            client.owes_call = false;
        }
        if let (Some(last), true) = (stream.last_event_id, self.hit(Fault::OldPosition)) {
            self.probe_after(client, Probe::Again, last);
        }
    }

    fn on_question(&mut self, target: Target, question: u64, mark: Mark) {
        let is_new = self
            .session_of(target)
            .is_some_and(|session| session.questions.insert(question));
        if !is_new {
            // It is read again, and was answered.
            return;
        }
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{question},"result":{{"action":"accept","content":{{}},{mark}}}}}"#
        );
        let delay = if self.hit(Fault::LateAnswer) {
            Duration::from_secs(4) + self.random.millis(LATE_ANSWER.as_secs() * 1000 - 4000)
        } else {
            self.random.millis(1500)
        };
        self.after(delay, SimEvent::Answer(target, body.into_bytes()));
    }

    pub(super) fn answer_question(&mut self, target: Target, body: &[u8]) {
        if self.session_of(target).is_some() {
            self.post(target.client, Purpose::Message, body.to_vec());
        }
    }

    /// A response has ended, or was cut.
    fn on_response_end(&mut self, connection: u64, is_whole: bool) {
        let Some(exchange) = self.exchanges.remove(&connection) else {
            return;
        };
        let (client, status) = (exchange.client, exchange.status);
        let is_gone = status == 404;
        if is_gone && exchange.purpose != Purpose::Probe(Probe::UnknownSession) {
            if let Some(client) = self.clients.get_mut(client) {
                client.former = exchange.named;
            }
            return self.forget_session(client, exchange.session);
        }
        match exchange.purpose {
            Purpose::Initialize => {
                let opened = exchange.opened.filter(|_| is_whole && status == 200);
                self.on_initialized(client, opened);
            }
            Purpose::Stream(call) => {
                let target = Target {
                    client,
                    session: exchange.session,
                    call,
                };
                let is_current = self
                    .stream_of(target)
                    .is_some_and(|stream| stream.connection == Some(connection));
                if !is_current {
                    return;
                }
                if status == 200 {
                    let has_moved = exchange.has_event || exchange.has_retry;
                    self.on_stream_end(
                        target,
                        is_whole && !has_moved,
                        is_whole && !exchange.has_retry,
                    );
                } else if status > 0 {
                    self.on_refused(target, status, &exchange.body);
                } else {
                    self.on_stream_end(target, false, false);
                }
            }
            Purpose::Probe(probe) => self.check_probe(probe, status, is_whole),
            Purpose::Delete => {
                if let Some(client) = self.clients.get_mut(client) {
                    client.former = exchange.named;
                }
            }
            Purpose::Message | Purpose::Displaced => {}
        }
    }

    fn on_initialized(&mut self, client: usize, session: Option<String>) {
        let Some(opening) = self.clients.get_mut(client) else {
            return;
        };
        let Some(session) = session else {
            opening.state = ClientState::New;
            return self.act_after(Duration::from_millis(200), client);
        };
        opening.state = ClientState::Open(ClientSession::new(session));
        let initialized = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        self.post(client, Purpose::Message, initialized.to_vec());
        self.act_after(Duration::from_millis(50), client);
        if self.is_healed {
            self.call_at_last();
        }
    }

    /// The stream of a call or of the server's own messages has no more on this connection.
    fn on_stream_end(&mut self, target: Target, is_empty: bool, is_final: bool) {
        let Target { session, call, .. } = target;
        let has_common_numbers = self.node.has_common_numbers;
        let Some(stream) = self.stream_of(target) else {
            return;
        };
        stream.connection = None;
        if call > 0 && stream.is_cancelled && is_final {
            return self.end_cancelled(target);
        }
        if stream.last_event_id.is_none() {
            if call > 0 {
                if is_final && !has_common_numbers {
                    self.oracle.on_stream_ended(session, call);
                }
                return self.lose(target);
            }
        } else if is_empty && call > 0 {
            stream.empty_ends += 1;
            if stream.empty_ends > MAX_EMPTY_ENDS {
                return self.oracle.on_stream_ended(session, call);
            }
        }
        self.reconnect(target);
    }

    fn end_cancelled(&mut self, target: Target) {
        if let Some(session) = self.session_of(target) {
            session.streams.remove(&target.call);
        }
    }

    /// The client opens a connection after a while.
    pub(super) fn reconnect(&mut self, target: Target) {
        let Some(stream) = self.stream_of(target) else {
            return;
        };
        if std::mem::replace(&mut stream.is_reconnecting, true) {
            return;
        }
        let delay = if self.hit(Fault::ExpireEvents) {
            self.node.log_config.age + self.random.millis(3000)
        } else {
            match self.random.below(4) {
                0 => Duration::ZERO,
                1 => self.random.millis(5000),
                _ => RETRY,
            }
        };
        self.after(delay, SimEvent::Connect(target));
    }

    fn on_refused(&mut self, target: Target, status: u16, body: &[u8]) {
        let text = String::from_utf8_lossy(body).into_owned();
        let Some(stream) = self.stream_of(target) else {
            return;
        };
        stream.connection = None;
        let named = stream.last_event_id.take();
        match (status, named) {
            (400, Some(_)) => {
                let is_possible = self.node.may_have_gap(target.session)
                    && !text.contains("never issued")
                    && !text.contains("the form");
                self.oracle.on_gap(target.session, is_possible);
            }
            (503, None) => {}
            _ => {
                return self
                    .oracle
                    .violated(format!("{status} for a stream: {text}"));
            }
        }
        if target.call > 0 {
            self.lose(target);
        } else {
            // What is gone is gone: the next stream begins anew.
            self.reconnect(target);
        }
    }

    /// A call ends without an answer, and its client knows why.
    pub(super) fn lose(&mut self, target: Target) {
        let Target { client, call, .. } = target;
        self.note(Column::Client, || {
            format!("client {client}: call {call} is lost")
        });
        if let Some(session) = self.session_of(target)
            && let Some(stream) = session.streams.remove(&call)
            && !stream.is_cancelled
        {
            self.oracle.on_lost(target.session, call);
        }
    }

    /// The session is over: its calls are lost, and the client begins a new one.
    pub(super) fn forget_session(&mut self, client: usize, session: u64) {
        let target = Target {
            client,
            session,
            call: 0,
        };
        let Some(ended) = self.session_of(target) else {
            return;
        };
        let streams = std::mem::take(&mut ended.streams);
        for (call, stream) in streams {
            if call > 0 && !stream.is_cancelled {
                self.oracle.on_lost(session, call);
            }
            if let Some(connection) = stream.connection {
                self.hang_up(connection);
            }
        }
        if let Some(client) = self.clients.get_mut(client) {
            client.state = ClientState::New;
        }
        self.act_after(Duration::from_millis(100), client);
    }

    fn check_probe(&mut self, probe: Probe, status: u16, is_whole: bool) {
        let expected: &[u16] = match probe {
            Probe::Forged | Probe::Garbage => &[400],
            Probe::UnknownSession => &[404],
            Probe::Foreign if !self.node.has_common_numbers => &[400],
            Probe::Foreign | Probe::Again => &[200, 400],
        };
        if is_whole && !expected.contains(&status) {
            self.oracle.violated(format!("{status} for {probe:?}"));
        }
    }
}
