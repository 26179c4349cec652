//! The delivery of a call: each outcome reports if any of its attempts was sent.

use std::time::Duration;

use bowline_proto::connection::StreamEnd;
use bowline_proto::link::{
    Action, CallKey, ConnectionId, LinkCall, LinkConfig, LinkEvent, LinkState,
};
use bowline_proto::{
    CallId, CallRequest, Carrier, Config, IdCounter, Instant, Link, Payload, Sent, Timeouts,
    Transmit, TransmitKind,
};
use bowline_types::common::Implementation;
use bowline_types::{JsonObject, Revision, Revisions};
use bytes::Bytes;

const SECOND: Duration = Duration::from_secs(1);

/// A link, and the time that it is given.
struct Rig {
    link: Link,
    carrier: Carrier,
    connection_id: ConnectionId,
    now: Instant,
}

impl Rig {
    /// A link that is ready, with nothing to send.
    fn ready(carrier: Carrier, revision: Revision) -> Self {
        let mut rig = Self::starting(carrier, revision);
        rig.agree();
        rig
    }

    /// A link that opens its first transport.
    fn starting(carrier: Carrier, revision: Revision) -> Self {
        let mut config = Config::new(Implementation::new("delivery", "0"));
        config.revisions(Revisions::only(revision)).carrier(carrier);
        let mut link = LinkConfig::new(config);
        link.max_retries(5);
        let now = Instant::START;
        let mut link = Link::new(now, link, IdCounter::new());
        let connection_id = opening(&mut link).expect("it is being opened");
        Self {
            link,
            carrier,
            connection_id,
            now,
        }
    }

    fn agree(&mut self) {
        self.link.handle_opened(self.now, self.connection_id);
        let first = self.take();
        let result = if first.text.contains("initialize") {
            r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#
        } else {
            r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#
        };
        self.answer(first.call, result);
        assert_eq!(self.link.state(), LinkState::Ready);
        while self.link.poll_transmit().is_some() {}
        while self.link.poll_event().is_some() {}
    }

    /// The connection is lost, and the next one is opened and ready.
    fn reconnect(&mut self) {
        self.link.handle_lost(self.now, self.connection_id, "gone");
        self.link.reconnect_now(self.now);
        self.connection_id = opening(&mut self.link).expect("it is opened again");
        self.link.handle_opened(self.now, self.connection_id);
        let first = self.take();
        let result = r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;
        self.answer(first.call, result);
        assert_eq!(self.link.state(), LinkState::Ready);
    }

    fn call(&mut self, settings: impl FnOnce(LinkCall) -> LinkCall) -> CallKey {
        let timeouts = Timeouts::new(5 * SECOND, 60 * SECOND);
        let request = CallRequest::new("tools/call", &b"\"name\":\"pay\""[..]);
        let call = settings(LinkCall::new(request.timeouts(timeouts)));
        self.link.call(self.now, call).expect("it is taken")
    }

    /// The driver takes the next message, which is a call.
    fn take(&mut self) -> Taken {
        loop {
            let transmit = self.link.poll_transmit().expect("a message");
            if let TransmitKind::Call(call) = transmit.kind {
                let text = String::from_utf8_lossy(&transmit.to_bytes()).into_owned();
                return Taken {
                    transmit,
                    call,
                    text,
                };
            }
        }
    }

    fn answer(&mut self, call: CallId, result: &str) {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":{call},"result":{result}}}"#);
        match self.carrier {
            Carrier::SharedStream => {
                let buffer = self
                    .link
                    .read_buffer(self.connection_id)
                    .expect("this connection");
                buffer.extend_from_slice(frame.as_bytes());
                buffer.extend_from_slice(b"\n");
                self.link.handle_read(self.now, self.connection_id);
            }
            _ => {
                let (stream, frame) = (Some(call), Bytes::from(frame));
                self.link
                    .handle_message(self.now, self.connection_id, stream, &frame);
            }
        }
    }

    fn end_stream(&mut self, call: CallId, end: StreamEnd) {
        self.link
            .handle_stream_end(self.now, self.connection_id, call, end);
    }

    /// Lets time pass.
    fn wait(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some(due) = self.link.poll_timeout().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.link.handle_timeout(self.now);
        }
        self.now = until;
    }

    /// How the calls ended, in a word, and whether they were sent.
    fn ended(&mut self) -> Vec<(&'static str, Sent)> {
        let events = std::iter::from_fn(|| self.link.poll_event());
        let ended = events.filter_map(|event| match event {
            LinkEvent::Ended { outcome, sent, .. } => Some((outcome.name(), sent)),
            _ => None,
        });
        ended.collect()
    }
}

/// A call that the driver has taken.
struct Taken {
    transmit: Transmit,
    call: CallId,
    text: String,
}

fn opening(link: &mut Link) -> Option<ConnectionId> {
    let actions = std::iter::from_fn(|| link.poll_action());
    let opened = actions.filter_map(|action| match action {
        Action::Open(connection_id) => Some(connection_id),
        _ => None,
    });
    opened.last()
}

fn pipe() -> Rig {
    Rig::ready(Carrier::SharedStream, Revision::V2025_11_25)
}

// proves: CN-7, CN-6
#[test]
fn a_call_that_never_had_a_connection_was_not_sent() {
    let ways: [fn(&mut Rig, CallKey) -> &'static str; 3] = [
        |rig, _| {
            rig.wait(5 * SECOND);
            "timed_out"
        },
        |rig, call| {
            rig.link.cancel(rig.now, call, "no longer wanted");
            "cancelled"
        },
        |rig, _| {
            rig.link.stop(rig.now);
            "shutdown"
        },
    ];
    for end in ways {
        let mut rig = Rig::starting(Carrier::SharedStream, Revision::V2025_11_25);
        let call = rig.call(LinkCall::wait_for_ready);
        let outcome = end(&mut rig, call);
        assert_eq!(rig.ended(), [(outcome, Sent::No)]);
    }
}

// proves: CN-7
#[test]
fn a_call_counts_as_sent_once_the_driver_has_taken_it() {
    let ways: [fn(&mut Rig, CallKey) -> &'static str; 4] = [
        |rig, _| {
            rig.wait(5 * SECOND);
            "timed_out"
        },
        |rig, call| {
            rig.link.cancel(rig.now, call, "no longer wanted");
            "cancelled"
        },
        |rig, _| {
            rig.link.stop(rig.now);
            "shutdown"
        },
        |rig, _| {
            rig.link.handle_lost(rig.now, rig.connection_id, "gone");
            "lost"
        },
    ];
    for end in ways {
        for sent in [Sent::No, Sent::Maybe] {
            let mut rig = pipe();
            let call = rig.call(|call| call);
            if sent == Sent::Maybe {
                rig.take();
            }
            let outcome = end(&mut rig, call);
            assert_eq!(rig.ended(), [(outcome, sent)]);
        }
    }
}

// proves: CN-7
#[test]
fn a_message_that_the_driver_returns_was_not_sent() {
    let mut rig = pipe();
    rig.call(|call| call);
    let mut busy = 0;
    while rig.link.pending() > 0 {
        let taken = rig.take();
        rig.link
            .handle_busy(rig.now, rig.connection_id, taken.transmit);
        busy += 1;
        rig.wait(SECOND / 10);
    }
    assert!(busy > 1, "it is offered again");
    assert_eq!(rig.ended(), [("backpressure", Sent::No)]);

    // One that waits to be offered again is not sent either.
    let call = rig.call(|call| call);
    let taken = rig.take();
    rig.link
        .handle_busy(rig.now, rig.connection_id, taken.transmit);
    rig.link.cancel(rig.now, call, "no longer wanted");
    assert_eq!(rig.ended(), [("cancelled", Sent::No)]);
}

// proves: CN-7
#[test]
fn the_end_of_a_stream_decides_whether_its_call_was_sent() {
    for (end, sent) in [
        (StreamEnd::NotSent("no route".into()), Sent::No),
        (StreamEnd::Refused(503), Sent::Maybe),
        (StreamEnd::Lost("reset".into()), Sent::Maybe),
        (StreamEnd::Complete, Sent::Maybe),
    ] {
        let mut rig = Rig::ready(Carrier::StreamPerRequest, Revision::V2026_07_28);
        rig.call(|call| call);
        let taken = rig.take();
        rig.end_stream(taken.call, end);
        assert_eq!(rig.ended(), [("lost", sent)]);
    }
}

// proves: CN-7
#[test]
fn one_attempt_that_was_sent_is_enough() {
    let mut rig = pipe();
    let call = rig.call(|call| call.wait_for_ready().idempotent());
    rig.take();
    rig.reconnect();
    // It is in the queue of the second connection, and has never left there.
    assert_eq!(rig.ended(), []);
    rig.link.cancel(rig.now, call, "no longer wanted");
    assert_eq!(rig.ended(), [("cancelled", Sent::Maybe)]);

    let call = rig.call(|call| call.wait_for_ready().idempotent());
    rig.reconnect();
    rig.link.cancel(rig.now, call, "no longer wanted");
    assert_eq!(rig.ended(), [("cancelled", Sent::No)]);

    rig.call(|call| call.wait_for_ready().idempotent());
    rig.take();
    rig.link.handle_lost(rig.now, rig.connection_id, "gone");
    rig.wait(5 * SECOND);
    assert_eq!(rig.ended(), [("timed_out", Sent::Maybe)]);
}

// proves: CN-8, CN-7
#[test]
fn a_round_that_was_answered_was_sent() {
    let asks = r#"{"resultType":"input_required","inputRequests":{},"requestState":"s"}"#;
    for is_given in [false, true] {
        let mut rig = Rig::ready(Carrier::SharedStream, Revision::V2026_07_28);
        let call = rig.call(|call| call);
        let taken = rig.take();
        rig.answer(taken.call, asks);
        if is_given {
            let input = JsonObject::parse("{}")
                .map(Payload::from)
                .expect("an object");
            rig.link
                .provide_input(rig.now, call, &input)
                .expect("it waits");
        }
        rig.link.cancel(rig.now, call, "no longer wanted");
        assert_eq!(rig.ended(), [("cancelled", Sent::Maybe)]);
    }
}

// proves: CN-23
#[test]
fn messages_that_are_still_sent_before_a_stop_are_no_calls() {
    let mut rig = pipe();
    rig.call(|call| call);
    let noted = rig.link.notify("notifications/x", Bytes::new());
    noted.expect("there is room");
    rig.call(|call| call);
    let parting: Vec<_> = std::iter::from_fn(|| rig.link.poll_final_transmit()).collect();
    let kinds: Vec<_> = parting.iter().map(|transmit| transmit.kind).collect();
    assert_eq!(kinds, [TransmitKind::Notification]);
    rig.link.stop(rig.now);
    assert_eq!(rig.ended(), [("shutdown", Sent::No); 2]);
}
