//! Batches of 2025-03-26 against a model: an array of answers leaves when the last request of its
//! batch is completed, once, with an answer for each request that was not cancelled.

use std::collections::BTreeSet;
use std::time::Duration;

use bowline_proto::codec::FrameLimits;
use bowline_proto::server::{Session, SessionConfig, SessionEvent};
use bowline_proto::{Instant, Payload, RequestKey};
use bowline_types::common::Implementation;
use bowline_types::envelope::Envelope;
use bowline_types::{ErrorObject, JsonObject, RawJson};
use proptest::prelude::*;

const FRAME: usize = 2000;
const TIMEOUT: Duration = Duration::from_secs(7);

#[derive(Clone, Debug)]
enum Step {
    /// A batch of these.
    Batch(Vec<Part>),
    /// The answer of one of the handlers, of so many bytes.
    Respond {
        handler: usize,
        bytes: usize,
    },
    RespondError {
        handler: usize,
        bytes: usize,
    },
    /// No answer.
    Release {
        handler: usize,
    },
    Cancel {
        handler: usize,
    },
    /// Seconds pass.
    Wait(u64),
    RefuseOpen,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    Call,
    Ping,
    Notification,
    NoMessage,
    Answer,
}

fn step() -> impl Strategy<Value = Step> {
    let part = prop_oneof![
        4 => Just(Part::Call),
        2 => Just(Part::Ping),
        1 => Just(Part::Notification),
        1 => Just(Part::NoMessage),
        1 => Just(Part::Answer),
    ];
    let handler = 0..8_usize;
    let bytes = prop_oneof![0..50_usize, 0..FRAME + 100];
    prop_oneof![
        4 => prop::collection::vec(part, 1..6).prop_map(Step::Batch),
        4 => (handler.clone(), bytes.clone())
            .prop_map(|(handler, bytes)| Step::Respond { handler, bytes }),
        1 => (handler.clone(), bytes).prop_map(|(handler, bytes)| Step::RespondError { handler, bytes }),
        1 => handler.clone().prop_map(|handler| Step::Release { handler }),
        2 => handler.prop_map(|handler| Step::Cancel { handler }),
        1 => (0..9_u64).prop_map(Step::Wait),
        1 => Just(Step::RefuseOpen),
    ]
}

/// What is known of a batch.
#[derive(Debug, Default)]
struct Expected {
    /// Ids that will be answered, and of those the ones that are not completed.
    answered: BTreeSet<i64>,
    open: BTreeSet<i64>,
    /// Answers without an id.
    without_id: usize,
    has_left: bool,
}

struct World {
    session: Session,
    now: Instant,
    next: i64,
    batches: Vec<Expected>,
    /// Handlers that are not done.
    handlers: Vec<(RequestKey, i64)>,
}

impl World {
    fn new() -> Self {
        let mut config = SessionConfig::new(Implementation::new("server", "1"));
        config.handler_timeout(Some(TIMEOUT));
        let mut frames = FrameLimits::default();
        frames.frame = FRAME;
        config.limits().frames(frames);
        let mut world = Self {
            session: Session::new(Instant::START, config),
            now: Instant::START,
            next: 1,
            batches: Vec::new(),
            handlers: Vec::new(),
        };
        world.receive(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#);
        world.receive(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        while world.session.poll_transmit().is_some() || world.session.poll_event().is_some() {}
        world
    }

    fn receive(&mut self, frame: &str) {
        self.session
            .read_buffer()
            .extend_from_slice(frame.as_bytes());
        self.session.read_buffer().extend_from_slice(b"\n");
        self.session.handle_read(self.now);
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::Batch(ref parts) => self.batch(parts),
            Step::Respond { handler, bytes } => self.with(handler, |session, now, request| {
                let member = ("x", RawJson::from("y".repeat(bytes)));
                let result: JsonObject = [member].into_iter().collect();
                let _ = session.respond(now, request, Payload::from(result));
            }),
            Step::RespondError { handler, bytes } => self.with(handler, |session, now, request| {
                let error = ErrorObject::new(1, "y".repeat(bytes));
                let _ = session.respond_error(now, request, &error);
            }),
            Step::Release { handler } => {
                self.with(handler, |session, now, request| {
                    session.release(now, request)
                });
            }
            Step::Cancel { handler } => {
                let Some(&(_, id)) = self.handlers.get(handler) else {
                    return;
                };
                if self.is_open(id) {
                    let batch = self
                        .batches
                        .iter_mut()
                        .find(|batch| batch.open.contains(&id));
                    batch.expect("it is open").answered.remove(&id);
                    self.complete(id);
                }
                self.receive(&format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
                ));
            }
            Step::Wait(seconds) => {
                self.now = self.now + Duration::from_secs(seconds);
                self.session.handle_timeout(self.now);
            }
            Step::RefuseOpen => self.session.refuse_open_requests(self.now),
        }
    }

    fn batch(&mut self, parts: &[Part]) {
        let mut expected = Expected::default();
        let texts = parts.iter().map(|part| {
            let id = self.next;
            self.next += 1;
            match part {
                Part::Call | Part::Ping => {
                    expected.answered.insert(id);
                    expected.open.insert(id);
                    let method = if matches!(part, Part::Call) {
                        "tools/list"
                    } else {
                        "ping"
                    };
                    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#)
                }
                Part::Notification => {
                    r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#.into()
                }
                Part::NoMessage => {
                    expected.without_id += 1;
                    "1".into()
                }
                Part::Answer => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
            }
        });
        let texts: Vec<String> = texts.collect();
        self.batches.push(expected);
        self.receive(&format!("[{}]", texts.join(",")));
    }

    /// Ends a handler.
    fn with(&mut self, handler: usize, end: impl FnOnce(&mut Session, Instant, RequestKey)) {
        if handler < self.handlers.len() {
            let (request, _) = self.handlers.remove(handler);
            end(&mut self.session, self.now, request);
        }
    }

    fn is_open(&self, id: i64) -> bool {
        self.batches.iter().any(|batch| batch.open.contains(&id))
    }

    fn complete(&mut self, id: i64) {
        for batch in &mut self.batches {
            batch.open.remove(&id);
        }
    }

    /// Takes what happened and what is sent, and compares.
    fn check(&mut self) {
        while let Some(event) = self.session.poll_event() {
            match event {
                SessionEvent::Request { request, .. } => {
                    let id = self.session.request_id(request);
                    let id = id.and_then(|id| id.as_i64()).expect("it is open");
                    self.handlers.push((request, id));
                }
                // The session has completed it by itself.
                SessionEvent::RequestTimedOut(request)
                | SessionEvent::RequestCancelled(request) => {
                    let handler = self.handlers.iter().find(|(key, _)| *key == request);
                    let (_, id) = *handler.expect("a handler that is not done");
                    self.complete(id);
                }
                _ => {}
            }
        }
        while let Some(transmit) = self.session.poll_transmit() {
            let frame = transmit.to_bytes();
            let frame = frame.strip_suffix(b"\n").expect("a line");
            assert!(frame.len() <= FRAME, "{} bytes", frame.len());
            let Ok(Envelope::Batch(array)) = Envelope::parse(frame) else {
                panic!("{}", frame.escape_ascii());
            };
            let mut ids = BTreeSet::new();
            let mut without_id = 0;
            for part in array.messages() {
                let id = match part.expect("a message") {
                    Envelope::Success(success) => Some(success.id),
                    Envelope::Failure(failure) => failure.id,
                    other => panic!("{other:?}"),
                };
                match id.and_then(|id| id.as_i64()) {
                    Some(id) => assert!(ids.insert(id), "{id} is answered twice"),
                    None => without_id += 1,
                }
            }
            let left = self.batches.iter_mut().find(|batch| {
                !batch.has_left && batch.answered == ids && batch.without_id == without_id
            });
            let batch = left.expect("a batch of these answers");
            batch.has_left = true;
            batch.open.clear();
        }
        // What was answered has left, and what has not is waited for.
        for batch in self.batches.iter().filter(|batch| !batch.has_left) {
            let is_silent = batch.answered.is_empty() && batch.without_id == 0;
            let is_handled = |id: &i64| self.handlers.iter().any(|(_, other)| other == id);
            let is_waited_for = batch.open.iter().any(is_handled);
            assert!(is_silent || is_waited_for, "{batch:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn arrays_leave_once_and_in_full(steps in prop::collection::vec(step(), 0..40)) {
        let mut world = World::new();
        for step in &steps {
            world.run(step);
            world.check();
        }
        // At its end a session owes nothing.
        world.session.refuse_open_requests(world.now);
        prop_assert_eq!(world.session.open_requests(), 0);
        world.check();
        world.session.close(world.now);
        prop_assert_eq!(world.session.poll_transmit(), None);
    }
}

/// The property says little where nothing is taken.
#[test]
fn batches_with_small_answers_are_all_served() {
    let mut world = World::new();
    for bytes in 0..100 {
        world.run(&Step::Batch(vec![Part::Call, Part::Ping, Part::Call]));
        world.check();
        assert_eq!(world.handlers.len(), 2);
        world.run(&Step::Respond { handler: 0, bytes });
        world.check();
        world.run(&Step::RespondError { handler: 0, bytes });
        world.check();
        assert!(world.batches.last().is_some_and(|batch| batch.has_left));
    }
}
