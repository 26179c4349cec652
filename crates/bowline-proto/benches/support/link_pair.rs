//! What a link costs: a change of its state, a loss with many calls, and what it remembers.

use std::time::{Duration, Instant as Clock};

use bowline_proto::link::{
    Action, ConnectionId, LinkCall, LinkConfig, LinkEvent, LinkState, OpenError,
};
use bowline_proto::{CallRequest, Config, IdCounter, Instant, Link, Outcome};
use bowline_types::common::Implementation;
use bowline_types::{Revision, Revisions};
use bytes::Bytes;

use super::table::{Table, Unit};
use super::{MICROSECOND, MILLISECOND, SAMPLES, nanos, once};

/// From one state to the next, and from a loss to the next session.
pub(crate) fn transitions(table: &mut Table) {
    table.heading("a link: transitions");
    let failed = once(Linked::new, |linked| {
        let error = OpenError::transient("refused");
        linked
            .link
            .handle_open_failed(linked.now, linked.connection_id, error);
        assert_eq!(linked.link.state(), LinkState::Backoff);
    });
    let name = "starting to backoff";
    table.hold(name, failed, Unit::Nanos, 100.0 * MICROSECOND);
    let lost = once(Linked::ready, |linked| {
        linked.lose();
        assert_eq!(linked.link.state(), LinkState::Backoff);
    });
    table.hold("ready to backoff", lost, Unit::Nanos, 100.0 * MICROSECOND);
    for (name, waits) in [("end", false), ("are made again", true)] {
        let time = once(
            || {
                let mut linked = Linked::ready();
                linked.hold(1000, waits);
                linked
            },
            |linked| {
                linked.lose();
                linked.wait();
                linked.agree();
                let ended = linked.ended();
                let left = linked.link.pending();
                assert_eq!((ended, left), if waits { (0, 1000) } else { (1000, 0) });
            },
        );
        let name = format!("a loss and the next session, 1000 calls {name}");
        table.hold(&name, time, Unit::Nanos, 10.0 * MILLISECOND);
    }
}

/// A call with ids behind it that were given up: their number must not matter.
pub(crate) fn abandoned(table: &mut Table) {
    table.heading("a call of a link with 100 000 abandoned ids behind it, against none");
    let mut all = [0, 100_000].map(|abandoned| {
        let mut linked = Linked::ready();
        linked.abandon(abandoned);
        (linked, f64::INFINITY)
    });
    // Interleaved, so that a busy moment hits both.
    for _ in 0..SAMPLES {
        for (linked, best) in &mut all {
            let start = Clock::now();
            for _ in 0..200 {
                linked.call();
            }
            *best = best.min(nanos(start.elapsed()) / 200.0);
        }
    }
    let [(_, none), (_, many)] = all;
    table.note("none behind it: time", none, Unit::Nanos);
    table.note("100 000 behind it: time", many, Unit::Nanos);
    table.hold("100 000 behind it: ratio", many / none, Unit::Ratio, 1.2);
}

/// A link, and a server with the least that it must send.
struct Linked {
    link: Link,
    connection_id: ConnectionId,
    now: Instant,
    id: u64,
    body: Bytes,
}

impl Linked {
    fn new() -> Self {
        let mut config = Config::new(Implementation::new("client", "1.0"));
        config.revisions(Revisions::only(Revision::V2025_11_25));
        let now = Instant::START;
        let mut link = Link::new(now, LinkConfig::new(config), IdCounter::new());
        let connection_id = opening(&mut link);
        Self {
            link,
            connection_id,
            now,
            id: 0,
            body: super::body(200),
        }
    }

    fn ready() -> Self {
        let mut linked = Self::new();
        linked.agree();
        linked.ended();
        linked
    }

    fn agree(&mut self) {
        self.link.handle_opened(self.now, self.connection_id);
        self.send();
        let id = self.id;
        self.hear(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
        ));
        assert_eq!(self.link.state(), LinkState::Ready);
        self.send();
    }

    /// Takes and drops all messages. Ids are issued one by one.
    fn send(&mut self) {
        while let Some(transmit) = self.link.poll_transmit() {
            if let bowline_proto::TransmitKind::Call(id) = transmit.kind {
                self.id = id.get();
            }
        }
    }

    fn hear(&mut self, frame: &str) {
        let buffer = self
            .link
            .read_buffer(self.connection_id)
            .expect("this connection");
        buffer.extend_from_slice(frame.as_bytes());
        buffer.extend_from_slice(b"\n");
        self.link.handle_read(self.now, self.connection_id);
    }

    fn lose(&mut self) {
        self.link.handle_lost(self.now, self.connection_id, "gone");
    }

    /// Lets the wait pass.
    fn wait(&mut self) {
        self.now = self.link.next_attempt().expect("it waits");
        self.link.handle_timeout(self.now);
        self.connection_id = opening(&mut self.link);
    }

    fn begin(&mut self, waits: bool) -> bowline_proto::link::CallKey {
        let call = LinkCall::new(CallRequest::new("tools/call", self.body.clone()));
        let call = if waits {
            call.wait_for_ready().idempotent()
        } else {
            call
        };
        self.link.call(self.now, call).expect("it is ready")
    }

    /// Makes calls without a response.
    fn hold(&mut self, calls: usize, wait: bool) {
        for _ in 0..calls {
            self.begin(wait);
            self.send();
        }
    }

    /// Makes calls and gives them up, a thousand a second.
    fn abandon(&mut self, calls: usize) {
        for _ in 0..calls {
            let call = self.begin(false);
            self.send();
            self.link.cancel(self.now, call, "no longer wanted");
            self.send();
            self.ended();
            self.now = self.now + Duration::from_millis(1);
        }
    }

    /// One call and its answer.
    fn call(&mut self) {
        self.begin(false);
        self.send();
        let id = self.id;
        self.hear(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
        match self.link.poll_event() {
            Some(LinkEvent::Ended {
                outcome: Outcome::Result(_),
                ..
            }) => {}
            other => panic!("{other:?}"),
        }
    }

    /// Takes all events: how many calls have ended.
    fn ended(&mut self) -> usize {
        let events = std::iter::from_fn(|| self.link.poll_event());
        let ended = events.filter(|event| matches!(event, LinkEvent::Ended { .. }));
        ended.count()
    }
}

/// The transport that is to be opened.
fn opening(link: &mut Link) -> ConnectionId {
    let actions = std::iter::from_fn(|| link.poll_action());
    let opened = actions.filter_map(|action| match action {
        Action::Open(connection_id) => Some(connection_id),
        _ => None,
    });
    opened.last().expect("it is being opened")
}
