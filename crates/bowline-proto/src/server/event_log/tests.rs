//! Tests of the event log: ids and records, the table of the document, limits, and random runs.

mod document;
mod ids;
mod limits;
mod properties;
mod resumption;

use bytes::Bytes;

use super::*;

fn at(seconds: u64) -> Instant {
    Instant::START + Duration::from_secs(seconds)
}

fn stream(number: u64) -> StreamId {
    StreamId::new(number)
}

fn id(text: &str) -> EventId {
    text.parse().unwrap()
}

fn message(text: &str) -> EventData {
    EventData::Message(Bytes::copy_from_slice(text.as_bytes()))
}

fn response(text: &str) -> EventData {
    EventData::FinalResponse(Bytes::copy_from_slice(text.as_bytes()))
}

/// A log that keeps that many events, and as many bytes of messages.
fn log_of(events: usize, bytes: usize) -> EventLog {
    EventLog::new(EventLogConfig {
        events,
        bytes,
        ..EventLogConfig::default()
    })
}

fn log() -> EventLog {
    EventLog::new(EventLogConfig::default())
}

/// Reads all that can be read: the ids and data of the events, and what ends them.
fn read_all(log: &mut EventLog, reader: &EventReader) -> String {
    let mut out = Vec::new();
    loop {
        match log.poll_read(Instant::START, reader) {
            Read::Event(event) => {
                let data = String::from_utf8_lossy(event.data.as_bytes()).into_owned();
                out.push(format!("{}={data}", event.id));
            }
            end => {
                out.push(format!("{end:?}"));
                return out.join(" ");
            }
        }
    }
}
