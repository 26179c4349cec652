//! Every limit and every time of a configuration, at the limit and one past it.
//!
//! The messages that lead there are in the transcripts; here is where exactly it ends.

mod client;
mod server;
mod unknown;

use std::time::Duration;

use bowline_proto::connection::Event;
use bowline_proto::server::{Session, SessionConfig, SessionEvent};
use bowline_proto::{
    CallError, CallId, CallRequest, Config, Connection, IdCounter, Instant, Outcome, RequestKey,
};
use bowline_types::capabilities::{ResourcesCapability, ServerCapabilities};
use bowline_types::common::Implementation;
use bowline_types::{Revision, Revisions};

const SECOND: Duration = Duration::from_secs(1);
const ZERO: Instant = Instant::START;

fn at(seconds: u32) -> Instant {
    ZERO + seconds * SECOND
}

/// The last moment before.
fn just_before(seconds: u32) -> Instant {
    ZERO + (seconds * SECOND - Duration::from_nanos(1))
}

/// A connection that was opened, and has sent its first message.
fn opened(revisions: Revisions, configure: impl FnOnce(&mut Config)) -> Connection {
    let mut config = Config::new(Implementation::new("limits", "0"));
    config.revisions(revisions);
    configure(&mut config);
    let mut connection = Connection::new(config, IdCounter::new());
    connection.open(ZERO);
    sent(&mut connection);
    connection
}

/// A connection that is ready for calls.
fn client(configure: impl FnOnce(&mut Config)) -> Connection {
    let mut connection = opened(Revisions::only(Revision::V2025_11_25), configure);
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#;
    receive(&mut connection, ZERO, answer);
    assert!(connection.is_ready());
    while connection.poll_event().is_some() {}
    sent(&mut connection);
    connection
}

/// A session whose client is ready.
fn server(configure: impl FnOnce(&mut SessionConfig)) -> Session {
    server_of(Revision::V2025_11_25, configure)
}

fn server_of(revision: Revision, configure: impl FnOnce(&mut SessionConfig)) -> Session {
    let resources = ResourcesCapability::new().subscribe(true);
    let mut config = SessionConfig::new(Implementation::new("limits", "0"));
    config.capabilities(ServerCapabilities::new().resources(resources));
    configure(&mut config);
    let mut session = Session::new(ZERO, config);
    let params = format!(
        r#"{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}}}"#
    );
    let initialize =
        format!(r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{params}}}"#);
    ask(&mut session, ZERO, &initialize);
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    ask(&mut session, ZERO, initialized);
    while session.poll_event().is_some() || session.poll_transmit().is_some() {}
    session
}

/// The server says a line.
fn receive(connection: &mut Connection, now: Instant, frame: &str) {
    connection.read_buffer().extend_from_slice(frame.as_bytes());
    connection.read_buffer().extend_from_slice(b"\n");
    connection.handle_read(now);
}

/// The client says a line.
fn ask(session: &mut Session, now: Instant, frame: &str) {
    session.read_buffer().extend_from_slice(frame.as_bytes());
    session.read_buffer().extend_from_slice(b"\n");
    session.handle_read(now);
}

/// Sends everything.
fn sent(connection: &mut Connection) -> Vec<String> {
    let transmits = std::iter::from_fn(|| connection.poll_transmit());
    let texts = transmits.map(|transmit| String::from_utf8(transmit.to_bytes()).expect("UTF-8"));
    texts.collect()
}

/// Sends everything that the server says.
fn answers(session: &mut Session) -> Vec<String> {
    let transmits = std::iter::from_fn(|| session.poll_transmit());
    let texts = transmits.map(|transmit| String::from_utf8(transmit.to_bytes()).expect("UTF-8"));
    texts.collect()
}

/// How calls have ended.
fn outcomes(connection: &mut Connection) -> Vec<Outcome> {
    let events = std::iter::from_fn(|| connection.poll_event());
    let ended = events.filter_map(|event| match event {
        Event::Ended { outcome, .. } => Some(outcome),
        _ => None,
    });
    ended.collect()
}

/// The requests that a handler sees.
fn requests(session: &mut Session) -> Vec<RequestKey> {
    let events = std::iter::from_fn(|| session.poll_event());
    let requests = events.filter_map(|event| match event {
        SessionEvent::Request { request, .. } | SessionEvent::UnknownRequest { request, .. } => {
            Some(request)
        }
        _ => None,
    });
    requests.collect()
}

fn call(connection: &mut Connection, now: Instant) -> Result<CallId, CallError> {
    connection.call(now, CallRequest::new("x", &b""[..]))
}

/// A request of the peer.
fn request(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#)
}

fn ping(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)
}
