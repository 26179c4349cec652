//! A client's connection as a sequence of operations: every call ends once, whatever the
//! peer, the user and the clock do.

#![no_main]

use std::collections::BTreeMap;
use std::time::Duration;

use bowline_proto::connection::{Event, StreamEnd};
use bowline_proto::{
    CallId, CallRequest, Carrier, Config, Connection, IdCounter, Instant, Keepalive, Payload,
    RequestKey, Transmit,
};
use bowline_types::common::Implementation;
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((options, operations)) = data.split_first() else {
        return;
    };
    let mut config = Config::new(Implementation::new("fuzz", "0"));
    config
        .limits()
        .max_pending(4)
        .max_tombstones(8)
        .max_peer_requests(3)
        .max_undelivered(2000)
        .misbehavior_budget(20);
    if options & 2 == 2 {
        config.keepalive(Some(Keepalive::new(Duration::from_secs(5), 2)));
    }
    let is_http = options & 1 == 1;
    if is_http {
        config.carrier(Carrier::StreamPerRequest);
    }
    let mut run = Run {
        connection: Connection::new(config, IdCounter::new()),
        is_http,
        now: Instant::START,
        made: Vec::new(),
        ended: BTreeMap::new(),
        requests: Vec::new(),
        last: None,
    };
    run.connection.open(run.now);
    for pair in operations.chunks(2) {
        run.step(pair[0], pair.get(1).copied().unwrap_or(0));
        run.check();
    }
    run.connection.close(run.now);
    run.check();
    for call in &run.made {
        assert_eq!(run.ended.get(call), Some(&1), "{call}");
    }
    assert_eq!(run.connection.pending(), 0);
});

struct Run {
    connection: Connection,
    is_http: bool,
    now: Instant,
    made: Vec<CallId>,
    ended: BTreeMap<CallId, u32>,
    /// Requests of the peer whose handlers are not done, and whether they may be answered.
    requests: Vec<(RequestKey, bool)>,
    last: Option<Transmit>,
}

impl Run {
    fn step(&mut self, operation: u8, argument: u8) {
        match operation % 15 {
            0 => {
                let mut request =
                    CallRequest::new("tools/call", Bytes::from_static(br#""name":"x""#));
                if argument & 1 == 1 {
                    request = request.with_progress();
                }
                if let Ok(call) = self.connection.call(self.now, request) {
                    self.made.push(call);
                }
            }
            1 => {
                if let Some(call) = self.one_of(argument) {
                    self.connection.cancel(self.now, call, "fuzz");
                }
            }
            2 => self.now = self.now + Duration::from_millis(u64::from(argument) * 100),
            3 => {
                while let Some(transmit) = self.connection.poll_transmit() {
                    self.last = Some(transmit);
                    if argument & 1 == 1 {
                        break;
                    }
                }
            }
            4 => self.connection.handle_timeout(self.now),
            5 if argument == 255 => self.connection.handle_lost(self.now, "fuzz"),
            6 if self.is_http => {
                if let Some(call) = self.one_of(argument) {
                    self.connection
                        .handle_stream_end(self.now, call, StreamEnd::Complete);
                }
            }
            7 => self.answer(argument),
            8 => {
                if let Some(transmit) = self.last.take() {
                    self.connection.handle_busy(self.now, transmit);
                }
            }
            9 => {
                if let Ok(call) = self.connection.ping(self.now) {
                    self.made.push(call);
                }
            }
            _ => self.hear(operation, argument),
        }
    }

    fn hear(&mut self, operation: u8, argument: u8) {
        let id = argument % 8;
        let frame = match operation % 13 {
            0 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
            1 => {
                format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"m"}}}}"#)
            }
            2 => format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-03-26","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
            ),
            3 => format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"supportedVersions":["2026-07-28"],"capabilities":{{}}}}}}"#
            ),
            4 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"roots/list"}}"#),
            5 => format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
            ),
            6 => format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":1}}}}"#
            ),
            7 => format!(
                r#"[{{"jsonrpc":"2.0","id":{id},"result":{{}}}},{{"jsonrpc":"2.0","id":{id},"method":"ping"}}]"#
            ),
            8 => format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{}},"error":{{}}}}"#),
            9 => format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32022,"message":"","data":{{"supported":["2025-06-18"],"requested":"x"}}}}}}"#
            ),
            10 => {
                r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1}}"#.into()
            }
            11 => "nonsense".into(),
            _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#),
        };
        if self.is_http {
            let stream = self.one_of(argument / 8);
            self.connection
                .handle_message(self.now, stream, &Bytes::from(frame));
        } else {
            self.connection
                .read_buffer()
                .extend_from_slice(frame.as_bytes());
            self.connection.read_buffer().extend_from_slice(b"\n");
            self.connection.handle_read(self.now);
        }
    }

    fn answer(&mut self, argument: u8) {
        let Some(at) = usize::from(argument >> 1).checked_rem(self.requests.len()) else {
            return;
        };
        let (request, is_open) = self.requests.swap_remove(at);
        if argument & 1 == 1 {
            self.connection.release(self.now, request);
        } else {
            let responded = self.connection.respond(self.now, request, Payload::EMPTY);
            assert_eq!(responded.is_ok(), is_open);
        }
    }

    fn one_of(&self, argument: u8) -> Option<CallId> {
        let at = usize::from(argument).checked_rem(self.made.len())?;
        self.made.get(at).copied()
    }

    fn check(&mut self) {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Ended { call, .. } => {
                    let times = self.ended.entry(call).or_default();
                    *times += 1;
                    assert_eq!(*times, 1, "{call} ended twice");
                    assert!(self.made.contains(&call));
                }
                Event::Request { request, .. } => self.requests.push((request, true)),
                Event::RequestCancelled(request) => {
                    let handled = self.requests.iter_mut().find(|(key, _)| *key == request);
                    let (_, is_open) = handled.expect("a request that is handled");
                    assert!(std::mem::take(is_open));
                }
                Event::Closed(_) => self.requests.iter_mut().for_each(|(_, open)| *open = false),
                _ => {}
            }
        }
        assert_eq!(self.connection.open_handlers(), self.requests.len());
        assert!(self.requests.len() <= 3);
        // Two messages of the handshake and a question may wait beside the calls.
        assert!(self.connection.pending() <= 7 && self.connection.tombstones() <= 8);
        if self.connection.is_closed() {
            assert_eq!(self.connection.pending(), 0);
        }
    }
}
