//! Random runs: appends, reads, cuts at any event, resumption, eviction and expiry.
//!
//! A model knows all events of each stream. A client receives a part of what was sent to it before
//! its connection is cut, and resumes from the last id that it has. It must get each event once
//! and in order, or an explicit error where events are gone.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Open,
    Append {
        stream: usize,
        kind: u8,
        size: usize,
    },
    Read {
        stream: usize,
        count: usize,
    },
    /// The connection is lost with that many events that had been written to it.
    Cut {
        stream: usize,
        lost: usize,
    },
    /// Another connection resumes, whether or not the first one has ended.
    Resume {
        stream: usize,
        lost: usize,
    },
    CloseStream {
        stream: usize,
    },
    End {
        stream: usize,
    },
    Wait {
        seconds: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let stream = || 0..4_usize;
    prop_oneof![
        1 => Just(Step::Open),
        8 => (stream(), 0..16_u8, 0..300_usize)
            .prop_map(|(stream, kind, size)| Step::Append { stream, kind, size }),
        6 => (stream(), 1..5_usize).prop_map(|(stream, count)| Step::Read { stream, count }),
        3 => (stream(), 0..4_usize).prop_map(|(stream, lost)| Step::Cut { stream, lost }),
        4 => (stream(), 0..4_usize).prop_map(|(stream, lost)| Step::Resume { stream, lost }),
        1 => stream().prop_map(|stream| Step::CloseStream { stream }),
        1 => stream().prop_map(|stream| Step::End { stream }),
        1 => (1..200_u64).prop_map(|seconds| Step::Wait { seconds }),
    ]
}

fn config() -> impl Strategy<Value = EventLogConfig> {
    (1..12_usize, 200..3000_usize, 500..4000_usize, 1..5_usize).prop_map(
        |(events, bytes, unread_bytes, streams)| EventLogConfig {
            events,
            bytes,
            unread_bytes,
            streams,
            ..EventLogConfig::default()
        },
    )
}

/// A stream as its client and its handler know it.
#[derive(Debug, Default)]
struct Model {
    issued: Vec<EventRecord>,
    received: usize,
    /// Received, or written to a connection that is not yet lost.
    written: usize,
    reader: Option<EventReader>,
    is_ended: bool,
    /// Events are gone, which the client knows: it has given up.
    has_gap: bool,
}

struct World {
    log: EventLog,
    now: Instant,
    next: u64,
    models: BTreeMap<u64, Model>,
    slots: [u64; 4],
}

type Checked = Result<(), String>;

fn check(holds: bool, what: &str) -> Checked {
    if holds { Ok(()) } else { Err(what.into()) }
}

impl World {
    fn apply(&mut self, step: &Step) -> Checked {
        match *step {
            Step::Open => self.open()?,
            Step::Append { stream, kind, size } => self.append(stream, kind, size)?,
            Step::Read { stream, count } => {
                for _ in 0..count {
                    self.read(stream)?;
                }
            }
            Step::Cut { stream, lost } => {
                let (log, now) = (&mut self.log, self.now);
                if let Some(model) = self.models.get_mut(&self.slots[stream]) {
                    model.lose(lost);
                    if let Some(reader) = model.reader.take() {
                        log.detach(now, reader);
                    }
                }
            }
            Step::Resume { stream, lost } => self.resume(stream, lost)?,
            Step::CloseStream { stream } => self.close(stream)?,
            Step::End { stream } => {
                let number = self.slots[stream];
                let ended = self.log.end(self.now, StreamId::new(number)).is_ok();
                if let Some(model) = self.models.get_mut(&number) {
                    model.is_ended |= ended;
                }
            }
            Step::Wait { seconds } => self.now = self.now + Duration::from_secs(seconds),
        }
        self.check_limits()
    }

    fn open(&mut self) -> Checked {
        let number = self.next;
        let Ok(reader) = self.log.open(self.now, stream(number)) else {
            return check(
                self.log.streams.len() == self.log.config.streams,
                "refused early",
            );
        };
        self.next += 1;
        let model = Model {
            reader: Some(reader),
            ..Model::default()
        };
        self.models.insert(number, model);
        self.slots[(number % 4) as usize] = number;
        Ok(())
    }

    fn append(&mut self, slot: usize, kind: u8, size: usize) -> Checked {
        let number = self.slots[slot];
        let Some(model) = self.models.get_mut(&number) else {
            return Ok(());
        };
        let text = format!("{number}/{}/{}", model.issued.len(), "x".repeat(size));
        let data = match kind {
            0 => response(&text),
            1 => EventData::Priming,
            _ => message(&text),
        };
        let appended = self.log.append(self.now, stream(number), data.clone());
        if model.is_ended {
            return check(appended.is_err(), "appended after the end");
        }
        let id = appended.map_err(|error| error.to_string())?;
        check(id.stream() == stream(number), "id of another stream")?;
        check(
            id.sequence() == model.issued.len() as u64 + 1,
            "id not the next one",
        )?;
        model.is_ended = kind == 0;
        model.issued.push(EventRecord::new(id, data));
        Ok(())
    }

    fn read(&mut self, slot: usize) -> Checked {
        let number = self.slots[slot];
        let Some(model) = self.models.get_mut(&number) else {
            return Ok(());
        };
        let Some(reader) = &model.reader else {
            return Ok(());
        };
        let all_written = model.written == model.issued.len();
        match self.log.poll_read(self.now, reader) {
            Read::Event(event) => {
                let expected = model.issued.get(model.written);
                check(expected == Some(&event), "not the next event of the stream")?;
                model.written += 1;
                return Ok(());
            }
            Read::Pending => return check(all_written && !model.is_ended, "an event is held back"),
            Read::Ended => check(all_written && model.is_ended, "ended before all was read")?,
            Read::Polling { .. } => {}
            Read::Lagged | Read::Displaced => {
                let gone = self.log.head(stream(number)).is_none();
                check(
                    !all_written || gone,
                    "a reader without arrears was given up",
                )?;
            }
        }
        model.reader = None;
        Ok(())
    }

    fn resume(&mut self, slot: usize, lost: usize) -> Checked {
        let number = self.slots[slot];
        let Some(model) = self.models.get_mut(&number) else {
            return Ok(());
        };
        model.lose(lost);
        let Some(last) = model
            .received
            .checked_sub(1)
            .map(|last| model.issued[last].id)
        else {
            return Ok(());
        };
        let resumed = self.log.replay(self.now, last);
        let head = self.log.head(stream(number));
        let first = head.map(|head| head.removed_through as usize);
        match resumed {
            Ok(replay) => {
                check(!model.has_gap, "a gap was closed silently")?;
                check(
                    first.is_some_and(|first| first <= model.received),
                    "a silent gap",
                )?;
                check(replay.displaced == model.reader.is_some(), "displaced")?;
                let waiting = (model.issued.len() - model.received) as u64;
                check(replay.waiting == waiting, "waiting events")?;
                model.reader = Some(replay.reader);
                model.written = model.received;
            }
            Err(ReplayError::UnknownStream(_)) => {
                check(
                    first.is_none() && model.is_ended,
                    "a stream was forgotten early",
                )?;
                model.has_gap = true;
            }
            Err(ReplayError::Evicted { .. } | ReplayError::Expired { .. }) => {
                check(first.is_some_and(|first| first > model.received), "no gap")?;
                model.has_gap = true;
            }
            Err(other) => return Err(other.to_string()),
        }
        if model.has_gap {
            // The client gives up, and with it a connection that was still open.
            model.written = model.received;
            if let Some(reader) = model.reader.take() {
                self.log.detach(self.now, reader);
            }
        }
        Ok(())
    }

    fn close(&mut self, slot: usize) -> Checked {
        let number = self.slots[slot];
        let closed = self
            .log
            .close_stream(self.now, stream(number), Duration::from_secs(1));
        if let Some(model) = self.models.get_mut(&number)
            && closed.is_ok()
            && model.issued.is_empty()
        {
            let id = EventId::new(stream(number), NonZeroU64::MIN);
            model.issued.push(EventRecord::new(id, EventData::Priming));
        }
        Ok(())
    }

    fn check_limits(&self) -> Checked {
        let (kept, config) = (&self.log.kept, &self.log.config);
        check(kept.waiting() <= config.events, "too many events")?;
        check(kept.waiting_bytes() <= config.bytes, "too many bytes")?;
        check(
            kept.unread_bytes() <= config.unread_bytes,
            "too many unread bytes",
        )?;
        check(self.log.streams.len() <= config.streams, "too many streams")?;
        let orders = self.log.streams.values().map(|stream| stream.orders.len());
        check(
            orders.sum::<usize>() == kept.len(),
            "an event without a stream",
        )
    }

    /// Lets every client come back and read to the end.
    fn finish(&mut self) -> Checked {
        for slot in 0..4 {
            for _ in 0..3 {
                self.resume(slot, 0)?;
                for _ in 0..200 {
                    self.read(slot)?;
                }
            }
            let Some(model) = self.models.get(&self.slots[slot]) else {
                continue;
            };
            let has_id = model.received > 0;
            let has_all = model.written == model.issued.len();
            check(
                !has_id || has_all || model.has_gap,
                "an event was lost silently",
            )?;
        }
        // Nothing is left behind.
        self.now = self.now + Duration::from_secs(600);
        self.log.handle_timeout(self.now);
        check(
            self.log.is_empty() && self.log.bytes() == 0,
            "kept beyond its age",
        )?;
        let ended = self.models.iter().filter(|(_, model)| model.is_ended);
        let mut ended = ended.filter(|(number, _)| self.log.head(stream(**number)).is_some());
        check(ended.next().is_none(), "an ended stream was not forgotten")
    }
}

impl Model {
    /// The last events that were written did not arrive.
    fn lose(&mut self, lost: usize) {
        let arrived = self.written.saturating_sub(lost);
        self.received = self.received.max(arrived);
    }
}

fn run(config: EventLogConfig, steps: &[Step]) -> Checked {
    let mut world = World {
        log: EventLog::new(config),
        now: Instant::START,
        next: 0,
        models: BTreeMap::new(),
        slots: [0; 4],
    };
    world.open()?;
    world.open()?;
    for step in steps {
        world.apply(step)?;
    }
    world.finish()
}

/// Runs that many random worlds. Returns what is wrong in the smallest one that fails.
fn find_violation(cases: u32) -> Option<String> {
    let mut runner = TestRunner::new_with_rng(
        Config {
            failure_persistence: None,
            ..Config::with_cases(cases)
        },
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    let found = runner.run(&(config(), vec(step(), 0..120)), |(config, steps)| {
        run(config, &steps).map_err(TestCaseError::fail)
    });
    found.err().map(|error| error.to_string())
}

// proves: F-SE-10, F-SE-11, F-SE-12, F-SE-13, F-RD-14
#[test]
fn each_event_comes_once_and_in_order_or_its_loss_is_reported() {
    let found = find_violation(2000);
    assert_eq!(found, None, "{}", found.as_deref().unwrap_or_default());
}

#[cfg(feature = "defects")]
#[test]
fn every_defect_of_the_log_is_found() {
    for defect in Defect::EVENT_LOG {
        defect::set(Some(*defect));
        let found = find_violation(2000);
        defect::set(None);
        let found = found.unwrap_or_default();
        assert!(
            found.contains("not the next event"),
            "{}: {found}",
            defect.name()
        );
    }
}
