//! Properties of links and connections that must hold for any order of what happens.

use std::collections::BTreeMap;
use std::time::Duration;

use bowline_proto::connection::Event;
use bowline_proto::link::{Backoff, Cause, LinkConfig, LinkEvent, LinkState as State, OpenError};
use bowline_proto::{
    CallId, CallRequest, Config, Connection, IdCounter, Instant, Link, Outcome, Timeouts,
    TransmitKind,
};
use bowline_types::common::Implementation;
use bowline_types::{Revision, Revisions};
use proptest::collection::vec;
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);
const TOMBSTONES: usize = 20;

fn config() -> Config {
    let mut config = Config::new(Implementation::new("properties", "0"));
    config.revisions(Revisions::only(Revision::V2025_11_25));
    config.limits().max_tombstones(TOMBSTONES);
    config
}

fn ready() -> Connection {
    let mut connection = Connection::new(config(), IdCounter::new());
    connection.open(Instant::START);
    while connection.poll_transmit().is_some() {}
    let result = r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;
    let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
    receive(&mut connection, Instant::START, &answer);
    while connection.poll_transmit().is_some() || connection.poll_event().is_some() {}
    assert!(connection.is_ready());
    connection
}

fn receive(connection: &mut Connection, now: Instant, frame: &str) {
    connection.read_buffer().extend_from_slice(frame.as_bytes());
    connection.read_buffer().extend_from_slice(b"\n");
    connection.handle_read(now);
}

fn answer_to(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"echo":{id}}}}}"#)
}

fn call(connection: &mut Connection, now: Instant) -> CallId {
    let timeouts = Timeouts::new(5 * SECOND, 60 * SECOND);
    let request = CallRequest::new("tools/call", &b""[..]).timeouts(timeouts);
    connection.call(now, request).expect("there is room")
}

fn ends(connection: &mut Connection) -> Vec<(CallId, Outcome)> {
    let mut ends = Vec::new();
    while let Some(event) = connection.poll_event() {
        if let Event::Ended { call, outcome, .. } = event {
            ends.push((call, outcome));
        }
    }
    ends
}

/// An answer on its way: to which call, when, and how often.
fn answers() -> impl Strategy<Value = Vec<(u64, u64, u8)>> {
    vec((0_u64..60, 0_u64..100, 1_u8..4), 0..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    // proves: CN-7, F-JR-01, F-JR-02, F-JR-03
    #[test]
    fn each_request_receives_exactly_one_terminal_outcome(
        count in 1_usize..=50,
        answers in answers(),
    ) {
        let mut connection = ready();
        let calls: Vec<_> = (0..count).map(|_| call(&mut connection, Instant::START)).collect();
        while connection.poll_transmit().is_some() {}
        let mut on_the_way: Vec<_> = answers
            .iter()
            .flat_map(|(to, at, times)| (0..*times).map(move |copy| (at + u64::from(copy), *to)))
            .collect();
        on_the_way.sort_unstable();
        let mut ended = BTreeMap::<CallId, u32>::new();
        for (at, to) in on_the_way {
            let now = Instant::START + Duration::from_millis(at);
            // Ids begin at 2 here; beyond the last one they are of nothing.
            receive(&mut connection, now, &answer_to(to + 1));
            for (call, outcome) in ends(&mut connection) {
                prop_assert!(matches!(outcome, Outcome::Result(_)));
                *ended.entry(call).or_default() += 1;
            }
        }
        connection.handle_timeout(Instant::START + 5 * SECOND);
        for (call, outcome) in ends(&mut connection) {
            prop_assert_eq!(outcome.name(), "timed_out");
            *ended.entry(call).or_default() += 1;
        }
        prop_assert_eq!(ended.len(), calls.len());
        prop_assert!(calls.iter().all(|call| ended.get(call) == Some(&1)));
    }

    // proves: CN-12, CN-27
    #[test]
    fn tables_and_timers_are_empty_when_all_is_over(
        count in 1_usize..=50,
        answered in vec(any::<bool>(), 50),
    ) {
        let mut connection = ready();
        let calls: Vec<_> = (0..count).map(|_| call(&mut connection, Instant::START)).collect();
        while connection.poll_transmit().is_some() {}
        for (call, is_answered) in calls.iter().zip(answered) {
            if is_answered {
                receive(&mut connection, Instant::START, &answer_to(call.get()));
            }
        }
        connection.handle_timeout(Instant::START + 5 * SECOND);
        prop_assert_eq!(ends(&mut connection).len(), count);
        prop_assert_eq!(connection.pending(), 0);
        prop_assert!(connection.tombstones() <= TOMBSTONES);
        while let Some(at) = connection.poll_timeout() {
            // Nothing but the sweep is left: 75 s, and 60 s for company.
            prop_assert!(at <= Instant::START + 5 * SECOND + 135 * SECOND);
            connection.handle_timeout(at);
        }
        prop_assert_eq!(connection.tombstones(), 0);
    }

    // proves: CN-10, F-CA-03
    #[test]
    fn cancelling_often_equals_cancelling_once(
        before in 0_usize..=1,
        cancels in 1_usize..=10,
        late in vec(0_usize..=10, 0..4),
    ) {
        let mut connection = ready();
        let made = call(&mut connection, Instant::START);
        while connection.poll_transmit().is_some() {}
        if before == 1 {
            receive(&mut connection, Instant::START, &answer_to(made.get()));
        }
        let mut first = 0;
        for turn in 0..cancels {
            first += usize::from(connection.cancel(Instant::START, made, "enough"));
            for _ in late.iter().filter(|at| **at == turn) {
                receive(&mut connection, Instant::START, &answer_to(made.get()));
            }
        }
        prop_assert_eq!(ends(&mut connection).len(), 1);
        prop_assert_eq!(first, 1 - before);
        let mut sent = 0;
        while let Some(transmit) = connection.poll_transmit() {
            sent += usize::from(transmit.kind == TransmitKind::Notification);
        }
        prop_assert_eq!(sent, 1 - before);
        prop_assert_eq!(connection.pending(), 0);
    }

    // proves: CN-1, CN-4
    #[test]
    fn backoff_is_left_only_by_a_handshake_or_a_stop(steps in vec(0_u8..8, 1..60)) {
        let mut config = LinkConfig::new(config());
        config.backoff(Backoff::fast());
        let mut link = Link::new(Instant::START, config, IdCounter::new());
        let mut now = Instant::START;
        let mut connection_id = None;
        let mut state = State::Starting;
        for step in steps {
            while let Some(action) = link.poll_action() {
                if let bowline_proto::link::Action::Open(opened) = action {
                    connection_id = Some(opened);
                }
            }
            let Some(connection_id) = connection_id else { continue };
            match step {
                0 => link.handle_opened(now, connection_id),
                1 => link.handle_open_failed(now, connection_id, OpenError::transient("no")),
                2 => link.handle_eof(now, connection_id),
                3 => drop(link.reconnect_now(now)),
                4 => link.handle_lost(now, connection_id, "gone"),
                5 => {
                    now = now + SECOND;
                    link.handle_timeout(now);
                }
                6 => link.handle_crash(now),
                _ => now = now + SECOND,
            }
            while let Some(event) = link.poll_event() {
                let LinkEvent::State(transition) = event else { continue };
                prop_assert_eq!(transition.from, state);
                state = transition.to;
                if transition.from == State::Backoff {
                    prop_assert!(matches!(state, State::Starting | State::Closed));
                    let is_known = matches!(
                        transition.cause,
                        Cause::BackoffElapsed | Cause::ReconnectRequested | Cause::DriverCrash | Cause::TooManyCrashes
                    );
                    prop_assert!(is_known, "{transition}");
                }
                // Nothing is ready that was not agreed, and here nothing is.
                prop_assert!(state != State::Ready);
            }
        }
    }

    // At this level a handler is who takes the events: one that fails takes none of those
    // after it away.
    #[test]
    fn a_burst_of_notifications_comes_in_order(
        count in 1_u64..200,
        chunks in vec(1_usize..500, 1..20),
        failing in vec(any::<bool>(), 200),
    ) {
        let mut connection = ready();
        let burst: String = (0..count)
            .map(|n| {
                let params = format!(r#"{{"level":"info","data":{n}}}"#);
                format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{params}}}\n")
            })
            .collect();
        let mut rest = burst.as_bytes();
        let mut sizes = chunks.iter().cycle();
        let mut stream_input = 0;
        while !rest.is_empty() {
            let size = sizes.next().copied().unwrap_or(1).min(rest.len());
            let (chunk, behind) = rest.split_at(size);
            rest = behind;
            connection.read_buffer().extend_from_slice(chunk);
            connection.handle_read(Instant::START);
            while let Some(event) = connection.poll_event() {
                let Event::Notification { params, .. } = event else {
                    panic!("{event:?}");
                };
                let text = params.expect("it has some");
                let expected = format!("\"data\":{stream_input}}}");
                prop_assert!(text.as_str().ends_with(&expected), "{} {expected}", text.as_str());
                stream_input += 1;
                // A handler that panics takes nothing of the connection with it.
                if failing.get(stream_input).copied().unwrap_or(false) {
                    let failed = std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new(())));
                    prop_assert!(failed.is_err());
                    break;
                }
            }
        }
        while let Some(Event::Notification { .. }) = connection.poll_event() {
            stream_input += 1;
        }
        prop_assert_eq!(stream_input as u64, count);
    }
}
