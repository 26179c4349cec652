//! What is emitted is what docs/telemetry.md says, and no data of a peer or a user.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_proto::codec::{FrameLimits, Oversize};
use bowline_proto::link::{Action, LinkConfig, OpenError};
use bowline_proto::server::{Session, SessionConfig, SessionEvent};
use bowline_proto::{
    CallRequest, Config, Connection, IdCounter, Instant, Keepalive, Link, Payload, connection,
};
use bowline_types::common::Implementation;
use bowline_types::{ErrorObject, Revision, Revisions};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// What a peer and a user say, wherever they can.
const CANARY: &str = "canary";

/// An event as the table has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    name: String,
    target: String,
    level: String,
    fields: BTreeMap<String, String>,
}

#[derive(Clone, Default)]
struct Collected(Arc<Mutex<Vec<Row>>>);

impl Collected {
    fn rows(&self) -> MutexGuard<'_, Vec<Row>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().into(), format!("{value:?}"));
    }
}

impl Subscriber for Collected {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("bowline")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(BTreeMap::new());
        event.record(&mut fields);
        self.rows().push(Row {
            name: event.metadata().name().into(),
            target: event.metadata().target().into(),
            level: event.metadata().level().as_str().to_lowercase(),
            fields: fields.0,
        });
    }
}

fn collect(run: impl FnOnce()) -> Vec<Row> {
    let collected = Collected::default();
    tracing::subscriber::with_default(collected.clone(), run);
    collected.rows().clone()
}

fn at(seconds: u64) -> Instant {
    Instant::START + Duration::from_secs(seconds)
}

fn receive(connection: &mut Connection, now: Instant, frame: &str) {
    let buffer = connection.read_buffer();
    buffer.extend_from_slice(frame.as_bytes());
    buffer.extend_from_slice(b"\n");
    connection.handle_read(now);
    while connection.poll_transmit().is_some() {}
}

/// A client that goes through much of what can happen.
fn eventful_client() {
    let mut config = Config::new(Implementation::new(CANARY, CANARY));
    config.revisions(Revisions::only(Revision::V2025_11_25));
    config.keepalive(Some(Keepalive::new(Duration::from_secs(50), 1)));
    config.limits().max_peer_requests(1).max_queued(1);
    let mut frames = FrameLimits::default();
    (frames.frame, frames.oversize) = (400, Oversize::Skip);
    config.limits().frames(frames);
    // The next call but one is the first at 80 % of the range.
    let counter = IdCounter::starting_at(((1 << 53) - 1) / 100 * 80 - 2);
    let mut client = Connection::new(config, counter);
    client.open(at(0));
    let transmit = client.poll_transmit().expect("the handshake");
    client.handle_busy(at(0), transmit);
    client.handle_timeout(at(1));
    let first = ((1_u64 << 53) - 1) / 100 * 80 - 2;
    receive(
        &mut client,
        at(1),
        &format!(
            r#"{{"jsonrpc":"2.0","id":{first},"result":{{"protocolVersion":"2025-11-25","capabilities":{{}},"serverInfo":{{"name":"canary","version":"1"}}}}}}"#
        ),
    );
    for answer in [
        r#""result":{"canary":1}"#,
        r#""error":{"code":-32099,"message":"canary","data":"canary"}"#,
        r#""error":"canary""#,
    ] {
        let call = client
            .call(at(1), CallRequest::new("canary", r#""canary":1"#))
            .expect("a call");
        let frame = format!(r#"{{"jsonrpc":"2.0","id":{call},{answer}}}"#);
        receive(&mut client, at(1), &frame);
        receive(&mut client, at(1), &frame);
    }
    let call = client.call(at(1), CallRequest::new("tools/call", r#""name":"canary""#));
    assert!(client.notify("canary", r#""canary":1"#).is_err());
    client.cancel(at(1), call.expect("a call"), CANARY);
    for frame in [
        "canary",
        r#"{"jsonrpc":"2.0","id":"canary","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"canary","method":"initialize2","params":{"canary":1}}"#,
        r#"{"jsonrpc":"2.0","id":"canary","method":"roots/list"}"#,
        r#"{"jsonrpc":"2.0","id":"another canary","method":"roots/list"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"canary"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/canary"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"canary"}}"#,
        r#"[{"jsonrpc":"2.0","method":"canary"}]"#,
        &CANARY.repeat(100),
    ] {
        receive(&mut client, at(1), frame);
    }
    while let Some(event) = client.poll_event() {
        if let connection::Event::Request { request, .. } = event {
            let error = ErrorObject::new(-32000, CANARY);
            client
                .respond_error(at(2), request, &error)
                .expect("it is open");
        }
    }
    while client.poll_transmit().is_some() {}
    client.handle_timeout(at(60));
    client.handle_lost(at(61), CANARY);
}

/// A server that goes through the rest.
fn eventful_server() {
    let mut config = SessionConfig::new(Implementation::new("server", "1"));
    config.handler_timeout(Some(Duration::from_secs(10)));
    config.limits().max_undelivered(1);
    let mut server = Session::new(at(0), config);
    for frame in [
        r#"{"jsonrpc":"2.0","id":"canary","method":"initialize","params":{"protocolVersion":"canary","capabilities":{},"clientInfo":{"name":"canary","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":"canary","method":"tools/call","params":{"name":"canary"}}"#,
        r#"{"jsonrpc":"2.0","id":"late","method":"tools/call","params":{"name":"canary"}}"#,
        r#"{"jsonrpc":"2.0","id":"cancelled","method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"cancelled","reason":"canary"}}"#,
        r#"{"jsonrpc":"2.0","id":"x","method":"canary/canary"}"#,
    ] {
        let buffer = server.read_buffer();
        buffer.extend_from_slice(frame.as_bytes());
        buffer.extend_from_slice(b"\n");
        server.handle_read(at(1));
    }
    let mut is_first = true;
    while let Some(event) = server.poll_event() {
        if let SessionEvent::Request { request, .. } = event
            && std::mem::take(&mut is_first)
        {
            server
                .respond(at(2), request, Payload::EMPTY)
                .expect("it is open");
        }
    }
    server.handle_timeout(at(30));
    let buffer = server.read_buffer();
    buffer.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":\"open\",\"method\":\"tools/list\"}\n");
    server.handle_read(at(30));
    server.close(at(31));
}

/// A link that is opened and stopped.
fn eventful_link() {
    let config = LinkConfig::new(Config::new(Implementation::new(CANARY, CANARY)));
    let mut link = Link::new(at(0), config, IdCounter::new());
    let Some(Action::Open(connection_id)) = link.poll_action() else {
        panic!("a link begins with its transport");
    };
    link.handle_open_failed(at(1), connection_id, OpenError::transient(CANARY));
    link.stop(at(2));
}

/// Everything that happens here.
fn eventful() {
    eventful_client();
    eventful_server();
    eventful_link();
}

/// A row of the table of the core's events.
struct Documented {
    target: String,
    level: String,
    message: String,
    /// The fields that are always there.
    always: BTreeSet<String>,
    fields: BTreeSet<String>,
}

/// The rows of the table of the core's events, by name.
fn documented() -> BTreeMap<String, Documented> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/telemetry.md");
    let text = std::fs::read_to_string(path).expect("the document");
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let rows = rows.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    // The first cell is the event's name, which has a dot in it.
    let rows = rows.filter(|cells| cells[1].contains('.') && cells.len() == 7);
    rows.map(|cells| {
        let plain = |cell: &str| cell.trim_matches('`').to_owned();
        let fields = cells[5].split(", ");
        let always = fields.clone().filter(|field| !field.ends_with('?'));
        let row = Documented {
            target: plain(cells[3]),
            level: cells[2].to_owned(),
            message: cells[4].to_owned(),
            always: always.map(plain).collect(),
            fields: fields
                .map(|field| plain(field.trim_end_matches('?')))
                .collect(),
        };
        (plain(cells[1]), row)
    })
    .collect()
}

// proves: TE-1
#[test]
fn emitted_events_are_those_that_are_documented() {
    let rows = collect(eventful);
    let documented = documented();
    for row in &rows {
        let documented = documented
            .get(&row.name)
            .unwrap_or_else(|| panic!("{row:?} is not in the table"));
        assert_eq!(row.target, documented.target, "{row:?}");
        assert_eq!(row.level, documented.level, "{row:?}");
        let mut fields = row.fields.clone();
        let message = fields.remove("message");
        assert_eq!(message.as_ref(), Some(&documented.message), "{row:?}");
        let fields: BTreeSet<_> = fields.into_keys().collect();
        assert!(
            fields.is_superset(&documented.always) && fields.is_subset(&documented.fields),
            "{row:?}"
        );
    }
    let seen: BTreeSet<_> = rows.iter().map(|row| row.name.clone()).collect();
    let all: BTreeSet<_> = documented.into_keys().collect();
    assert_eq!(seen, all, "every event of the table occurs in this test");
}

#[test]
fn telemetry_holds_no_content_of_messages() {
    let rows = collect(eventful);
    for row in &rows {
        assert!(
            !row.fields.values().any(|value| value.contains(CANARY)),
            "{row:?}"
        );
    }
}

/// A request that starts ends once, in one of two ways, and both events name its method.
#[test]
fn each_request_that_starts_stops() {
    let rows = collect(eventful);
    let mut open = BTreeMap::new();
    for row in &rows {
        let field = |name: &str| row.fields.get(name).cloned().unwrap_or_default();
        let request = (field("side"), field("direction"), field("request"));
        match &*row.name {
            "request.start" => {
                let earlier = open.insert(request, field("method"));
                assert_eq!(earlier, None, "{row:?}");
            }
            "request.stop" | "request.exception" => {
                assert_eq!(open.remove(&request), Some(field("method")), "{row:?}");
            }
            _ => {}
        }
    }
    assert_eq!(open, BTreeMap::new());
}

#[test]
fn a_flood_of_malformed_frames_is_logged_with_backoff() {
    let rows = collect(|| {
        let config = Config::new(Implementation::new("client", "1"));
        let mut client = Connection::new(config, IdCounter::new());
        client.open(at(0));
        for _ in 0..1000 {
            receive(&mut client, at(1), "nonsense");
        }
    });
    let events = rows.iter().filter(|row| row.name == "frame.malformed");
    assert_eq!(events.count(), 10);
}
