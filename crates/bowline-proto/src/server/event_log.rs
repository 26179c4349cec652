//! The events of the streams of a session, kept so that a client can resume after a cut.
//!
//! Sessions of the handshake era over HTTP: each POST with an answer as an event stream, and each
//! GET, is a stream. The [`EventLog`] numbers what is sent on it and keeps it within limits; a
//! connection reads from it with an [`EventReader`]. After a cut the client names the last id that
//! it has, and [`EventLog::replay`] returns a reader of what came after it: first what was missed,
//! then what is new, with nothing left out and nothing twice. Where events are gone it is an error
//! that says so. The table is in docs/state-machine.md, "The server: streams and resumption".
//!
//! - `event_id`: the ids. `record`: events and streams as bytes, for stores of several nodes.
//! - `stream`: one stream and its reader. `kept_events`: the events of all streams, by age.
//! - `retention`: limits and expiry. `config`: the limits and counters. `error`: the errors.
//!
//! The log decides and keeps; waking a connection after an append is up to the driver.

mod config;
mod error;
mod event_id;
mod kept_events;
mod record;
mod retention;
mod stream;

pub use config::{EventLogConfig, EventLogStats};
pub use error::{AppendError, OpenStreamError, ReplayError};
pub use event_id::{BadEventId, EventId, EventIdText};
pub use record::{BadRecord, EventData, EventRecord, Removal, StreamHead, StreamPhase};

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::time::Duration;

use crate::defect::{self, Defect};
use crate::outbox::StreamId;
use crate::time::Instant;

use kept_events::{KeptEvents, Order};
use stream::{Attached, Stream};

/// The events of all streams of one session.
///
/// Events of other sessions are never in it, so an id of another session can't reach them. Numbers
/// of streams are chosen by the driver; when they begin somewhere at random in each session, an id
/// of another session is refused as unknown.
///
/// ```
/// use bowline_proto::Instant;
/// use bowline_proto::StreamId;
/// use bowline_proto::server::{EventData, EventLog, EventLogConfig, Read};
///
/// let now = Instant::START;
/// let mut log = EventLog::new(EventLogConfig::default());
/// let mut reader = log.open(now, StreamId::new(7))?;
/// let first = log.append(now, reader.stream(), EventData::Message("{}".into()))?;
/// let Read::Event(event) = log.poll_read(now, &reader) else { panic!("an event") };
/// assert_eq!(event.id, first);
///
/// // The connection is cut; the handler goes on.
/// let stream = reader.stream();
/// log.detach(now, reader);
/// let second = log.append(now, stream, EventData::FinalResponse("{}".into()))?;
/// reader = log.replay(now, first)?.reader;
/// let Read::Event(event) = log.poll_read(now, &reader) else { panic!("an event") };
/// assert_eq!(event.id, second);
/// assert_eq!(log.poll_read(now, &reader), Read::Ended);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EventLog {
    config: EventLogConfig,
    streams: BTreeMap<StreamId, Stream>,
    kept: KeptEvents,
    /// The streams that have ended, in this order.
    ended: BTreeMap<Order, StreamId>,
    next_end: Order,
    next_reader: u64,
    /// The highest number of a stream that was forgotten.
    forgotten_through: Option<StreamId>,
    /// The latest time that was passed in: time does not go back.
    now: Instant,
    stats: EventLogStats,
}

/// The right of one connection to read a stream. Give it back with [`EventLog::detach`].
#[derive(Debug)]
pub struct EventReader {
    stream: StreamId,
    key: u64,
}

impl EventReader {
    /// Returns the stream.
    pub const fn stream(&self) -> StreamId {
        self.stream
    }
}

/// A stream that is resumed.
#[derive(Debug)]
#[non_exhaustive]
pub struct Replay {
    /// Reads what followed the client's id, and then what is new.
    pub reader: EventReader,
    /// The id that the client named. A priming event at the beginning of the connection must
    /// repeat it: with a newer one a second cut would lose the events between them.
    pub position: EventId,
    /// How many events wait.
    pub waiting: u64,
    /// Another connection was reading the stream: wake it, so that it ends.
    pub displaced: bool,
}

/// A stream that is continued without the id of an event.
#[derive(Debug)]
#[non_exhaustive]
pub struct Continued {
    /// Reads what no connection has read yet, and then what is new.
    pub reader: EventReader,
    /// The newest event that was read, or removed. A priming event at the beginning of the
    /// connection repeats it. `None` if the connection begins with the first event of the stream.
    pub position: Option<EventId>,
    /// Another connection was reading the stream: wake it, so that it ends.
    pub displaced: bool,
}

/// What a connection is to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Read {
    /// Send this event.
    Event(EventRecord),
    /// Wait: nothing is to be sent.
    Pending,
    /// Send `retry` ([`write_retry`](crate::codec::write_retry)) and close the connection: the
    /// client polls. The reader is detached.
    Polling {
        /// When the client should come back.
        retry: Duration,
    },
    /// Close the connection: all has been sent. The reader is detached.
    Ended,
    /// Close the connection: it has read too slowly, or not for too long. The client may resume;
    /// that fails if events are gone. The reader is detached.
    Lagged,
    /// Close the connection: another one has taken over the stream, or the reader was detached.
    Displaced,
}

impl EventLog {
    /// Creates an empty log.
    pub fn new(config: EventLogConfig) -> Self {
        Self {
            config,
            streams: BTreeMap::new(),
            kept: KeptEvents::default(),
            ended: BTreeMap::new(),
            next_end: 0,
            next_reader: 0,
            forgotten_through: None,
            now: Instant::START,
            stats: EventLogStats::default(),
        }
    }

    /// Opens a stream, and returns the reader of the connection that it was opened for.
    ///
    /// A number must be used once in a session; what several nodes use comes from a common
    /// counter.
    ///
    /// # Errors
    ///
    /// Fails if the number is in use, or not above all numbers that were forgotten, or if there
    /// are too many streams.
    pub fn open(&mut self, now: Instant, stream: StreamId) -> Result<EventReader, OpenStreamError> {
        self.handle_timeout(now);
        let was_forgotten = self.forgotten_through.is_some_and(|last| stream <= last);
        if was_forgotten || self.streams.contains_key(&stream) {
            return Err(OpenStreamError::NotNew);
        }
        if self.streams.len() >= self.config.streams && !self.forget_one() {
            return Err(OpenStreamError::TooManyStreams);
        }
        let mut opened = Stream::new(stream);
        let (reader, attached) = self.new_reader(stream, 0, 0);
        opened.reader = Some(attached);
        self.streams.insert(stream, opened);
        Ok(reader)
    }

    /// Appends an event to a stream and returns its id. After a final response the stream has
    /// ended.
    ///
    /// A message must be a [`Bytes`](bytes::Bytes) of its own: a slice keeps all of its buffer in
    /// memory.
    ///
    /// # Errors
    ///
    /// Fails if the stream is not open. The log is unchanged.
    pub fn append(
        &mut self,
        now: Instant,
        stream: StreamId,
        data: EventData,
    ) -> Result<EventId, AppendError> {
        self.handle_timeout(now);
        let config = self.config;
        let stream = if defect::is(Defect::WrongStream) {
            let newest = self.streams.last_key_value();
            newest.map_or(stream, |(newest, _)| *newest)
        } else {
            stream
        };
        let open = open_stream(&mut self.streams, stream)?;
        let issued = open.head.issued.checked_add(1).and_then(NonZeroU64::new);
        let issued = issued.ok_or(AppendError::NumbersExhausted)?;
        let is_final = matches!(data, EventData::FinalResponse(_));
        if defect::is(Defect::DroppedAnswer) && is_final && open.reader.is_none() {
            self.set_ended(stream);
            return Ok(EventId::new(stream, issued));
        }
        let id = EventId::new(stream, issued);
        let record = EventRecord::new(id, data);
        open.head.issued = issued.get();
        let class = open.class_of(&record, &config);
        let order = self.kept.push(self.now, record, class);
        open.orders.push_back(order);
        if is_final {
            self.set_ended(stream);
        }
        self.enforce_limits();
        Ok(id)
    }

    /// Ends a stream without a final response: its request was cancelled, or the session is over.
    ///
    /// # Errors
    ///
    /// Fails if the stream is not open.
    pub fn end(&mut self, now: Instant, stream: StreamId) -> Result<(), AppendError> {
        self.handle_timeout(now);
        open_stream(&mut self.streams, stream)?;
        self.set_ended(stream);
        Ok(())
    }

    /// Ends the connection of a stream, and not the stream: once its reader has read all events
    /// up to here, it returns [`Read::Polling`]. Later events wait until the client resumes. A
    /// stream without any event gets a priming event first, without which the client could not.
    ///
    /// # Errors
    ///
    /// Fails if the stream is not open.
    pub fn close_stream(
        &mut self,
        now: Instant,
        stream: StreamId,
        retry: Duration,
    ) -> Result<(), AppendError> {
        self.handle_timeout(now);
        if open_stream(&mut self.streams, stream)?.head.issued == 0 {
            self.append(now, stream, EventData::Priming)?;
        }
        let open = open_stream(&mut self.streams, stream)?;
        let last = open.head.issued;
        match &mut open.reader {
            Some(reader) => {
                reader.closing.get_or_insert((last, retry));
            }
            None => open.head.phase = StreamPhase::Polling,
        }
        Ok(())
    }

    /// Resumes a stream after an event: everything after it is read again, and nothing of another
    /// stream. A connection that still reads the stream is displaced. The events stay, so that the
    /// same id can be resumed from again.
    ///
    /// # Errors
    ///
    /// Fails if the id was never issued, or if an event after it is no longer kept. The log is
    /// unchanged, and a connection goes on reading.
    pub fn replay(&mut self, now: Instant, last: EventId) -> Result<Replay, ReplayError> {
        self.handle_timeout(now);
        let stream = last.stream();
        let unknown = ReplayError::UnknownStream(stream);
        let resumed = self.streams.get(&stream).ok_or(unknown)?;
        let mut cursor = last.sequence();
        if defect::is(Defect::SwallowedGap) {
            cursor = cursor.max(resumed.head.removed_through);
        } else {
            resumed.head.check(last)?;
        }
        let mut position = last;
        if defect::is(Defect::NewerPriming) {
            position = resumed.head.newest().unwrap_or(last);
        }
        let waiting = resumed.head.issued.saturating_sub(cursor);
        cursor -= u64::from(defect::is(Defect::NamedReplay));
        let backlog = resumed.backlog();
        let (reader, attached) = self.new_reader(stream, cursor, backlog);
        let displaced = self.set_reader(stream, Some(attached)).is_some();
        self.stats.displaced += u64::from(displaced);
        Ok(Replay {
            reader,
            position,
            waiting,
            displaced,
        })
    }

    /// Continues a stream for a connection that names no event: it reads what no connection has read
    /// yet. Events that were removed meanwhile are left out. A connection that still reads the stream
    /// is displaced.
    ///
    /// # Errors
    ///
    /// Fails if the stream is not open. The log is unchanged.
    pub fn continue_stream(
        &mut self,
        now: Instant,
        stream: StreamId,
    ) -> Result<Continued, AppendError> {
        self.handle_timeout(now);
        let continued = open_stream(&mut self.streams, stream)?;
        let mut cursor = continued.read_through.max(continued.head.removed_through);
        if defect::is(Defect::SkippedUnread) {
            cursor = continued.head.issued;
        }
        let backlog = continued.backlog();
        let (reader, attached) = self.new_reader(stream, cursor, backlog);
        let displaced = self.set_reader(stream, Some(attached)).is_some();
        self.stats.displaced += u64::from(displaced);
        let position = NonZeroU64::new(cursor).map(|sequence| EventId::new(stream, sequence));
        Ok(Continued {
            reader,
            position,
            displaced,
        })
    }

    /// Restores a stream from its head, after the session was no more than a record. Its events are
    /// gone. A stream that has ended stays forgotten.
    ///
    /// # Errors
    ///
    /// Fails if the number is in use, or not above all numbers that were forgotten.
    pub fn restore(&mut self, head: StreamHead) -> Result<(), OpenStreamError> {
        let was_forgotten = self
            .forgotten_through
            .is_some_and(|last| head.stream <= last);
        if was_forgotten || self.streams.contains_key(&head.stream) {
            return Err(OpenStreamError::NotNew);
        }
        if head.phase == StreamPhase::Ended {
            self.forgotten_through = Some(head.stream);
        } else {
            self.streams.insert(head.stream, Stream::restored(head));
        }
        Ok(())
    }

    /// Returns what the connection of a reader is to do next.
    pub fn poll_read(&mut self, now: Instant, reader: &EventReader) -> Read {
        self.handle_timeout(now);
        let Some(stream) = self.streams.get_mut(&reader.stream) else {
            return Read::Displaced;
        };
        let Some(attached) = stream.attached(reader.key).cloned() else {
            return Read::Displaced;
        };
        let end = if attached.is_lagging || attached.cursor < stream.head.removed_through {
            Read::Lagged
        } else if let Some((last, retry)) = attached.closing
            && last <= attached.cursor
        {
            Read::Polling { retry }
        } else if attached.cursor < stream.head.issued {
            return self.read_event(reader.stream, attached.cursor);
        } else if stream.head.phase == StreamPhase::Ended {
            Read::Ended
        } else {
            return Read::Pending;
        };
        if matches!(end, Read::Polling { .. }) && stream.head.phase == StreamPhase::Open {
            stream.head.phase = StreamPhase::Polling;
        }
        self.set_reader(reader.stream, None);
        end
    }

    /// Ends a reader: its connection was closed or lost. Does nothing if it was displaced.
    pub fn detach(&mut self, now: Instant, reader: EventReader) {
        self.handle_timeout(now);
        let stream = self.streams.get(&reader.stream);
        if stream.is_some_and(|stream| stream.attached(reader.key).is_some()) {
            self.set_reader(reader.stream, None);
        }
    }

    /// Returns what is known of a stream, for a store. `None` if there is no such stream, or if it
    /// was forgotten after its end.
    pub fn head(&self, stream: StreamId) -> Option<StreamHead> {
        Some(self.streams.get(&stream)?.head)
    }

    /// Returns `true` if a connection reads the stream.
    pub fn has_reader(&self, stream: StreamId) -> bool {
        let stream = self.streams.get(&stream);
        stream.is_some_and(|stream| stream.reader.is_some())
    }

    /// Returns the number of events that are kept, with those that connections will read.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Returns `true` if no event is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes that are kept, with those that connections will read.
    pub fn bytes(&self) -> usize {
        self.kept.waiting_bytes() + self.kept.unread_bytes()
    }

    /// Returns what the log costs: the bytes that are kept, and those of streams that are remembered.
    pub fn cost(&self) -> usize {
        self.bytes() + self.stream_cost()
    }

    fn stream_cost(&self) -> usize {
        self.streams.len() * EventLogConfig::STREAM_OVERHEAD
    }

    /// Returns the counters.
    pub const fn stats(&self) -> EventLogStats {
        self.stats
    }

    /// Returns the event after the cursor, and moves the cursor of the stream's reader.
    fn read_event(&mut self, stream: StreamId, cursor: u64) -> Read {
        let config = self.config;
        let Some(reading) = self.streams.get_mut(&stream) else {
            return Read::Pending;
        };
        let order = reading.order_after(cursor);
        let Some((order, kept)) = order.and_then(|order| Some((order, self.kept.get(order)?)))
        else {
            return Read::Pending;
        };
        let mut record = kept.record.clone();
        if matches!(record.data, EventData::FinalResponse(_)) {
            reading.is_response_fetched = true;
        }
        reading.read_through = reading.read_through.max(record.id.sequence());
        if let Some(reader) = &mut reading.reader {
            let is_repeated = defect::is(Defect::RepeatedReplay) && reader.is_first_replayed();
            reader.has_read = true;
            reader.cursor += u64::from(!is_repeated);
        }
        self.kept
            .set_class(order, reading.class_of(&record, &config));
        if defect::is(Defect::ForeignReplay)
            && let Some(oldest) = self
                .kept
                .oldest()
                .and_then(|(order, _)| self.kept.get(order))
        {
            record = oldest.record.clone();
        }
        self.enforce_limits();
        Read::Event(record)
    }

    fn new_reader(
        &mut self,
        stream: StreamId,
        cursor: u64,
        backlog: u64,
    ) -> (EventReader, Attached) {
        let key = self.next_reader;
        self.next_reader += 1;
        let attached = Attached::new(key, cursor, backlog);
        (EventReader { stream, key }, attached)
    }

    /// Replaces the reader of a stream. Returns the previous one.
    fn set_reader(&mut self, stream: StreamId, reader: Option<Attached>) -> Option<Attached> {
        let changed = self.streams.get_mut(&stream)?;
        if reader.is_some() && changed.head.phase == StreamPhase::Polling {
            changed.head.phase = StreamPhase::Open;
        }
        let previous = std::mem::replace(&mut changed.reader, reader);
        self.reclassify(stream);
        self.enforce_limits();
        previous
    }

    fn set_ended(&mut self, stream: StreamId) {
        let order = self.next_end;
        if let Some(ended) = self.streams.get_mut(&stream) {
            ended.head.phase = StreamPhase::Ended;
            ended.ended_at = self.now;
            self.ended.insert(order, stream);
            self.next_end += 1;
        }
    }
}

fn open_stream(
    streams: &mut BTreeMap<StreamId, Stream>,
    stream: StreamId,
) -> Result<&mut Stream, AppendError> {
    let stream = streams.get_mut(&stream).ok_or(AppendError::UnknownStream)?;
    match stream.head.phase {
        StreamPhase::Open | StreamPhase::Polling => Ok(stream),
        StreamPhase::Ended => Err(AppendError::Ended),
    }
}

#[cfg(test)]
mod tests;
