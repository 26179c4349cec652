//! A link over many connections and with many calls: what a table or a transcript can't show.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bowline_proto::link::{
    Action, AdaptToSession, Backoff, CallKey, Cause, ConnectionId, LinkCall, LinkConfig, LinkError,
    LinkEvent, LinkState, OpenError, SessionTerms, StopOutcome,
};
use bowline_proto::{CallRequest, Config, IdCounter, Instant, Link, Outcome, Timeouts};
use bowline_types::common::Implementation;
use bowline_types::subscriptions::SubscriptionFilter;
use bowline_types::{Revision, Revisions};
use bytes::Bytes;

const SECOND: Duration = Duration::from_secs(1);

fn at(seconds: u32) -> Instant {
    Instant::START + seconds * SECOND
}

fn link(configure: impl FnOnce(&mut Config)) -> (Link, ConnectionId) {
    let mut config = Config::new(Implementation::new("link", "0"));
    config.revisions(Revisions::only(Revision::V2025_11_25));
    configure(&mut config);
    let mut link = Link::new(at(0), LinkConfig::new(config), IdCounter::new());
    let connection_id = opening(&mut link).expect("it is being opened");
    (link, connection_id)
}

/// The transport that is to be opened.
fn opening(link: &mut Link) -> Option<ConnectionId> {
    let actions = std::iter::from_fn(|| link.poll_action());
    let opened = actions.filter_map(|action| match action {
        Action::Open(connection_id) => Some(connection_id),
        _ => None,
    });
    opened.last()
}

/// Opens the transport, and agrees.
fn agree(link: &mut Link, now: Instant, connection_id: ConnectionId) {
    link.handle_opened(now, connection_id);
    let initialize = link.poll_transmit().expect("initialize").to_bytes();
    let initialize: serde_json::Value = serde_json::from_slice(&initialize).expect("JSON");
    let id = &initialize["id"];
    receive(
        link,
        now,
        connection_id,
        &format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
        ),
    );
    assert_eq!(link.state(), LinkState::Ready);
}

fn receive(link: &mut Link, now: Instant, connection_id: ConnectionId, frame: &str) {
    let buffer = link
        .read_buffer(connection_id)
        .expect("the connection is current");
    buffer.extend_from_slice(frame.as_bytes());
    buffer.extend_from_slice(b"\n");
    link.handle_read(now, connection_id);
}

/// Takes all events: how calls ended.
fn ended(link: &mut Link) -> Vec<(CallKey, Outcome)> {
    let events = std::iter::from_fn(|| link.poll_event());
    let ended = events.filter_map(|event| match event {
        LinkEvent::Ended { call, outcome, .. } => Some((call, outcome)),
        _ => None,
    });
    ended.collect()
}

fn sent(link: &mut Link) -> usize {
    std::iter::from_fn(|| link.poll_transmit()).count()
}

fn call(timeout: Duration) -> LinkCall {
    let timeouts = Timeouts::new(timeout, 600 * SECOND);
    LinkCall::new(CallRequest::new("x", &b""[..]).timeouts(timeouts))
}

// proves: CN-4, F-LC-14
#[test]
fn a_server_that_never_lasts_is_asked_less_and_less() {
    let (mut link, mut connection_id) = link(|_| {});
    let mut now = at(0);
    let mut waits = Vec::new();
    for round in 0..12 {
        agree(&mut link, now, connection_id);
        // The eleventh one lasts.
        let lasts = if round == 10 {
            10 * SECOND
        } else {
            SECOND / 100
        };
        now = now + lasts;
        link.handle_lost(now, connection_id, "gone");
        let due = link.next_attempt().expect("it waits");
        waits.push(due.since(now).as_millis());
        now = due;
        link.handle_timeout(now);
        connection_id = opening(&mut link).expect("it is being opened");
        ended(&mut link);
    }
    for (wait, base) in waits.iter().zip([1, 2, 4, 8, 16, 30, 30, 30, 30, 30, 1, 2]) {
        let (least, most) = (base * 800, (base * 1200).min(30_000));
        assert!((least..=most).contains(wait), "{waits:?}");
    }
}

// proves: F-SD-03
#[test]
fn ten_thousand_calls_end_once() {
    for stop in [true, false] {
        let (mut link, connection_id) = link(|config| {
            config.limits().max_pending(10_000).max_queued(10_000);
        });
        agree(&mut link, at(0), connection_id);
        let mut made: Vec<_> = (0..10_000)
            .map(|_| link.call(at(0), call(30 * SECOND)).expect("there is room"))
            .collect();
        assert!(link.call(at(0), call(SECOND)).is_err());
        for _ in 0..5_000 {
            link.poll_transmit().expect("a message");
        }
        if stop {
            assert_eq!(link.stop(at(1)), StopOutcome::Started);
        } else {
            link.handle_lost(at(1), connection_id, "gone");
        }
        let (mut calls, outcomes): (Vec<_>, Vec<_>) = ended(&mut link).into_iter().unzip();
        calls.sort_unstable();
        made.sort_unstable();
        assert_eq!(calls, made);
        let is_right = |outcome: &Outcome| match outcome {
            Outcome::Shutdown => stop,
            Outcome::Lost { .. } => !stop,
            _ => false,
        };
        assert!(outcomes.iter().all(is_right));
        assert_eq!(link.pending(), 0);
    }
}

// proves: CN-6
#[test]
fn a_call_whose_time_was_over_before_it_could_be_made_is_not_made() {
    let (mut link, connection_id) = link(|_| {});
    let waiting = link.call(at(0), call(5 * SECOND).wait_for_ready());
    let waiting = waiting.expect("it may wait");
    // The driver is late: it has not reported that five seconds are over.
    agree(&mut link, at(6), connection_id);
    assert_eq!(sent(&mut link), 1, "only the handshake is concluded");
    let elapsed = 6 * SECOND;
    let timed_out = Outcome::TimedOut { elapsed };
    assert_eq!(ended(&mut link), [(waiting, timed_out)]);
}

// proves: F-LC-01
#[test]
fn waiting_ends_with_the_calls_own_time() {
    let (mut link, connection_id) = link(|_| {});
    let short = link.call(at(0), call(5 * SECOND).wait_for_ready());
    let short = short.expect("it may wait");
    link.handle_open_failed(at(1), connection_id, OpenError::transient("refused"));
    assert!(link.call(at(1), call(SECOND)).is_err());
    while let Some(due) = link.poll_timeout()
        && due < at(5)
    {
        link.handle_timeout(due);
    }
    link.handle_timeout(at(5));
    let elapsed = 5 * SECOND;
    assert_eq!(ended(&mut link), [(short, Outcome::TimedOut { elapsed })]);
}

/// Progress, and handlers of ours, give a call more time; another attempt knows that.
// proves: CN-8, CN-9
#[test]
fn another_attempt_has_the_time_that_was_left() {
    for has_progress in [true, false] {
        let (mut link, connection_id) = link(|_| {});
        agree(&mut link, at(0), connection_id);
        let mut timeouts = Timeouts::new(10 * SECOND, 600 * SECOND);
        timeouts.progress_counts = true;
        let request = CallRequest::new("x", &b""[..]);
        let request = request.with_progress().timeouts(timeouts);
        let made = LinkCall::new(request).wait_for_ready().idempotent();
        let made = link.call(at(0), made).expect("it is ready");
        sent(&mut link);
        if has_progress {
            let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}"#;
            receive(&mut link, at(8), connection_id, progress);
        } else {
            assert!(link.set_call_paused(at(1), made, true));
            assert!(link.set_call_paused(at(9), made, false));
        }
        link.handle_lost(at(12), connection_id, "gone");
        assert_eq!(ended(&mut link), []);
        // At 18 s the ten seconds are over in both cases.
        while let Some(due) = link.poll_timeout()
            && due < at(18)
        {
            link.handle_timeout(due);
        }
        assert_eq!(ended(&mut link), []);
        link.handle_timeout(at(18));
        assert_eq!(ended(&mut link).len(), 1, "progress: {has_progress}");
    }
}

// proves: CN-24
#[test]
fn three_crashes_in_five_seconds_are_survived() {
    let (mut link, _) = link(|_| {});
    for seconds in [0, 1, 2, 5, 6, 7, 10] {
        link.handle_crash(at(seconds));
        assert_eq!(link.state(), LinkState::Starting, "at {seconds} s");
    }
    link.handle_crash(at(10));
    assert_eq!(link.state(), LinkState::Closed);
}

/// The reason and the number of attempts, as the refused caller gets them.
fn failure(link: &Link) -> Option<(String, u32)> {
    let failed = link.last_failure()?;
    Some((failed.cause.to_string(), link.failed_attempts()))
}

// proves: CN-4, CN-6
#[test]
fn the_last_failure_is_known_until_calls_are_served() {
    let (mut link, connection_id) = link(|_| {});
    assert_eq!(failure(&link), None, "nothing has failed yet");
    link.handle_open_failed(at(0), connection_id, OpenError::transient("not there"));
    let reason = "the transport could not be opened: not there";
    assert_eq!(failure(&link), Some((reason.into(), 1)));
    // While it is tried again, too.
    assert!(link.reconnect_now(at(1)));
    let connection_id = opening(&mut link).expect("it is being opened");
    assert_eq!(failure(&link), Some((reason.into(), 1)));
    link.handle_opened(at(1), connection_id);
    assert_eq!(failure(&link), Some((reason.into(), 1)));
    link.handle_end(at(1), connection_id, "exit status: 3");
    let lost = "transport lost: exit status: 3";
    assert_eq!(failure(&link), Some((lost.into(), 2)));
    assert!(link.reconnect_now(at(2)));
    let connection_id = opening(&mut link).expect("it is being opened");
    agree(&mut link, at(2), connection_id);
    assert_eq!(failure(&link), None);
    link.handle_lost(at(3), connection_id, "gone");
    assert_eq!(
        failure(&link).map(|failure| failure.0),
        Some("transport lost: gone".into())
    );
    link.stop(at(3));
    assert_eq!(failure(&link), None, "it was stopped");
    assert!(!link.has_given_up());
    assert_eq!(link.call(at(4), call(SECOND)), Err(LinkError::Shutdown));
}

/// What makes a link give up, the end of the reason, and how many attempts have failed.
type Way<'a> = (&'a dyn Fn(&mut Link, ConnectionId), &'a str, u32);

// proves: CN-4
#[test]
fn a_link_that_gave_up_is_not_taken_for_one_that_was_stopped() {
    let opened_for_good = |link: &mut Link, connection_id| {
        link.handle_open_failed(
            at(0),
            connection_id,
            OpenError::permanent("no such command"),
        );
    };
    let attempts_used_up = |link: &mut Link, connection_id| {
        link.handle_open_failed(at(0), connection_id, OpenError::transient("not there"));
        assert!(link.reconnect_now(at(0)));
        let connection_id = opening(link).expect("it is being opened");
        link.handle_open_failed(
            at(0),
            connection_id,
            OpenError::transient("still not there"),
        );
    };
    let driver_failed = |link: &mut Link, _| link.handle_driver_failed(at(0), "no I/O driver");
    let ways: [Way<'_>; 3] = [
        (&opened_for_good, "no such command", 1),
        (&attempts_used_up, "still not there", 2),
        (&driver_failed, "no I/O driver", 0),
    ];
    for (give_up, words, attempts) in ways {
        let mut config = Config::new(Implementation::new("link", "0"));
        config.revisions(Revisions::only(Revision::V2025_11_25));
        let mut config = LinkConfig::new(config);
        let mut backoff = Backoff::default();
        backoff.max_attempts(Some(2));
        config.backoff(backoff);
        let mut link = Link::new(at(0), config, IdCounter::new());
        let connection_id = opening(&mut link).expect("it is being opened");
        give_up(&mut link, connection_id);
        // A stop afterwards changes nothing.
        assert_eq!(link.stop(at(1)), StopOutcome::AlreadyClosing);
        assert_eq!(
            (link.state(), link.has_given_up()),
            (LinkState::Closed, true)
        );
        let (reason, failed) = failure(&link).expect("it is known");
        assert!(reason.ends_with(words), "{reason}");
        assert_eq!(failed, attempts, "{words}");
        let refused = [
            link.call(at(1), call(SECOND)),
            link.call(at(1), call(SECOND).wait_for_ready()),
            link.ping(at(1)),
        ];
        assert_eq!(refused, [Err(LinkError::GaveUp); 3], "{words}");
        assert_eq!(link.notify("x", Bytes::new()), Err(LinkError::GaveUp));
    }
}

// proves: CN-24
#[test]
fn a_driver_that_can_not_work_closes_the_link_in_every_state() {
    let (mut starting, _) = link(|_| {});
    let (mut waiting, connection_id) = link(|_| {});
    waiting.handle_open_failed(at(0), connection_id, OpenError::transient("not there"));
    let (mut ready, connection_id) = link(|_| {});
    agree(&mut ready, at(0), connection_id);
    let made = ready.call(at(0), call(SECOND)).expect("it is ready");
    assert_eq!(sent(&mut ready), 2, "initialized and the call");
    for link in [&mut starting, &mut waiting, &mut ready] {
        link.handle_driver_failed(at(1), "no I/O driver");
        assert_eq!(
            (link.state(), link.has_given_up()),
            (LinkState::Closed, true)
        );
        let cause = link.last_failure().map(|change| change.cause.clone());
        assert_eq!(cause, Some(Cause::DriverFailed("no I/O driver".into())));
        assert_eq!(link.poll_timeout(), None);
    }
    let [(call, Outcome::Lost { .. })] = &ended(&mut ready)[..] else {
        panic!("the call is lost");
    };
    assert_eq!(*call, made);
    let (mut stopping, connection_id) = link(|_| {});
    agree(&mut stopping, at(0), connection_id);
    stopping.stop(at(1));
    stopping.handle_driver_failed(at(1), "no I/O driver");
    assert_eq!(stopping.state(), LinkState::Closed);
    assert!(!stopping.has_given_up(), "it was stopped before");
}

/// The keys of the server's requests go on when the ids begin anew: an answer that comes late
/// is none to a later request.
// proves: CN-16
#[test]
fn a_request_of_an_earlier_connection_is_not_answered() {
    let mut config = Config::new(Implementation::new("link", "0"));
    config.revisions(Revisions::only(Revision::V2025_11_25));
    let last = IdCounter::starting_at(8_646_911_284_551_262);
    let mut link = Link::new(at(0), LinkConfig::new(config), last);
    let connection_id = opening(&mut link).expect("it is being opened");
    agree(&mut link, at(0), connection_id);
    let ask = r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#;
    receive(&mut link, at(0), connection_id, ask);
    let asked = |link: &mut Link| {
        let events = std::iter::from_fn(|| link.poll_event());
        let requests = events.filter_map(|event| match event {
            LinkEvent::Request { request, .. } => Some(request),
            _ => None,
        });
        requests.last().expect("a request")
    };
    let old = asked(&mut link);
    // The last id, whose call gets no response.
    link.call(at(0), call(SECOND)).expect("there is one id");
    while link.state() != LinkState::Starting {
        let due = link.poll_timeout().expect("something is due");
        link.handle_timeout(due);
    }
    let connection_id = opening(&mut link).expect("it is being opened");
    agree(&mut link, at(40), connection_id);
    receive(&mut link, at(40), connection_id, ask);
    let new = asked(&mut link);
    assert_ne!(old, new);
    let answer = bowline_proto::Payload::EMPTY;
    assert!(link.respond(at(41), old, answer.clone()).is_err());
    assert!(link.respond(at(41), new, answer).is_ok());
}

/// Says a call in the words of its session, and refuses to say it more than `most` times.
#[derive(Debug)]
struct Words {
    adapted: AtomicU32,
    most: u32,
}

impl AdaptToSession for Words {
    fn adapt(&self, terms: &SessionTerms<'_>, request: &mut CallRequest) -> Result<(), String> {
        let adapted = self.adapted.fetch_add(1, Ordering::Relaxed) + 1;
        if adapted > self.most {
            return Err("no words".to_owned());
        }
        let revision = terms.agreement().revision;
        assert_eq!(terms.task_support("x"), None);
        request.set_body(format!("\"adapted\":{adapted},\"in\":\"{revision}\""));
        Ok(())
    }
}

// proves: PV-5
#[test]
fn a_call_that_waits_is_fitted_to_each_session_in_which_it_is_made() {
    let (mut link, connection_id) = link(|_| {});
    let call = |most| {
        let adapted = AtomicU32::new(0);
        let request = CallRequest::new("x", Bytes::from_static(b"\"adapted\":0"));
        let call = LinkCall::new(request).wait_for_ready().idempotent();
        call.with_adapter(Arc::new(Words { adapted, most }))
    };
    let never = link.call(at(0), call(0)).expect("it waits");
    let once = link.call(at(0), call(1)).expect("it waits");
    let twice = link.call(at(0), call(2)).expect("it waits");
    agree(&mut link, at(1), connection_id);
    let sent = |link: &mut Link| -> Vec<String> {
        let all = std::iter::from_fn(|| link.poll_transmit());
        let texts = all.map(|transmit| String::from_utf8_lossy(&transmit.to_bytes()).into_owned());
        texts.filter(|text| text.contains("adapted")).collect()
    };
    let first = sent(&mut link);
    assert_eq!(first.len(), 2, "{first:?}");
    let words = r#""adapted":1,"in":"2025-11-25""#;
    assert!(first.iter().all(|text| text.contains(words)), "{first:?}");
    link.handle_lost(at(2), connection_id, "gone");
    link.reconnect_now(at(2));
    let connection_id = opening(&mut link).expect("it is opened again");
    agree(&mut link, at(3), connection_id);
    let second = sent(&mut link);
    assert_eq!(second.len(), 1, "{second:?}");
    assert!(second[0].contains(r#""adapted":2"#), "{second:?}");
    let ended = std::iter::from_fn(|| link.poll_event()).filter_map(|event| match event {
        LinkEvent::Ended { call, outcome, .. } => Some((call, outcome)),
        _ => None,
    });
    let no_words = || Outcome::Unsupported("no words".to_owned());
    let expected = vec![(never, no_words()), (once, no_words())];
    assert_eq!(ended.collect::<Vec<_>>(), expected);
    assert_eq!(link.pending(), 1, "call {twice} is with the server");
}

/// A server decides how many it refuses at once, and must not decide how deep we go for it.
#[test]
fn subscriptions_that_are_refused_in_part_are_given_up_one_after_the_other() {
    let giving_up = || {
        let (mut link, connection_id) = link(|_| {});
        agree(&mut link, at(0), connection_id);
        while link.poll_transmit().is_some() {}
        const COUNT: usize = 400;
        for number in 0..COUNT {
            let uris = ["a", "b"].map(|name| format!("x:/{number}/{name}"));
            let filter = SubscriptionFilter::new().resource_subscriptions(uris);
            link.subscribe(at(1), filter).expect("there is room");
        }
        let asked: Vec<_> = std::iter::from_fn(|| link.poll_transmit()).collect();
        let refusals = asked.iter().step_by(2).map(|transmit| {
            let asked: serde_json::Value =
                serde_json::from_slice(&transmit.to_bytes()).expect("JSON");
            let id = &asked["id"];
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32002,"message":"no"}}}}"#)
        });
        let refusals: Vec<_> = refusals.collect();
        receive(&mut link, at(2), connection_id, &refusals.join("\n"));
        let events = std::iter::from_fn(|| link.poll_event());
        let ended = events.filter(|event| matches!(event, LinkEvent::SubscriptionEnded { .. }));
        assert_eq!(ended.count(), COUNT);
        let messages =
            std::iter::from_fn(|| link.poll_transmit()).map(|transmit| transmit.to_bytes());
        let messages: Vec<_> = messages.collect();
        let sent = |words: &str| {
            let messages = messages.iter();
            messages
                .filter(|text| String::from_utf8_lossy(text).contains(words))
                .count()
        };
        assert_eq!(sent("notifications/cancelled"), COUNT);
        assert_eq!(sent("resources/unsubscribe"), COUNT);
    };
    let small = std::thread::Builder::new().stack_size(256 << 10);
    small
        .spawn(giving_up)
        .expect("a thread")
        .join()
        .expect("no panic");
}
