//! What is kept of an idle session, and its stable form.

use std::collections::BTreeSet;

use bowline_types::json::{DecodeError, Encoder, Problem, Reader};
use bowline_types::logging::LoggingLevel;
use bowline_types::{Era, Revision};

use crate::calls::IdCounter;
use crate::carryover::Carryover;
use crate::server::event_log::BadRecord;

/// The version of the stable form.
const VERSION: i64 = 1;

/// What is kept of a session of the handshake era while nothing is open in it: over HTTP an idle
/// session is no more than this.
///
/// ```
/// use bowline_proto::server::SessionRecord;
/// use bowline_types::Revision;
///
/// let record = SessionRecord::new(Revision::V2025_06_18);
/// let mut bytes = Vec::new();
/// record.encode(&mut bytes);
/// let text = r#"{"v":1,"revision":"2025-06-18","ready":true,"subscribed":[],"nextCall":1,"nextRequest":1}"#;
/// assert_eq!(bytes, text.as_bytes());
/// assert_eq!(SessionRecord::decode(&bytes), Ok(record));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SessionRecord {
    pub(super) revision: Revision,
    /// `true` once the client has sent `notifications/initialized`.
    pub(super) is_ready: bool,
    pub(super) log_level: Option<LoggingLevel>,
    pub(super) subscribed: BTreeSet<String>,
    /// The ids of our requests go on: a late response must not be taken for that of another one.
    pub(super) next_call: IdCounter,
    pub(super) next_request: u64,
}

impl SessionRecord {
    /// Creates the record of a session that has negotiated this revision, and whose client is ready:
    /// for a server without sessions, where each request stands alone.
    pub fn new(revision: Revision) -> Self {
        Self {
            revision,
            is_ready: true,
            log_level: None,
            subscribed: BTreeSet::new(),
            next_call: IdCounter::new(),
            next_request: 1,
        }
    }

    /// Returns the negotiated protocol revision.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns `true` once the client has sent `notifications/initialized`.
    pub fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// Returns `true` if the client has subscribed to a resource.
    pub fn is_subscribed(&self, uri: &str) -> bool {
        self.subscribed.contains(uri)
    }

    /// Returns `true` if both have the same revision, log level and subscriptions, and the client of
    /// both or of none is ready. They may differ in how many requests there were.
    pub fn has_same_settings(&self, other: &Self) -> bool {
        self.revision == other.revision
            && self.is_ready == other.is_ready
            && self.log_level == other.log_level
            && self.subscribed == other.subscribed
    }

    /// Lets the ids of our requests go on at `first`: where several nodes may serve one session at
    /// the same time, each begins at a random one below 2^52, so that they don't use the same.
    #[must_use]
    pub fn with_first_call(mut self, first: u64) -> Self {
        self.next_call = IdCounter::starting_at(first);
        self
    }

    /// Appends the stable form: JSON on one line, with its version.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut encoder = Encoder::lossless(out);
        encoder.begin_object();
        encoder.key("v");
        encoder.integer(VERSION);
        encoder.key("revision");
        encoder.string(self.revision.as_str());
        encoder.key("ready");
        encoder.boolean(self.is_ready);
        if let Some(level) = &self.log_level {
            encoder.key("logLevel");
            encoder.string(level.as_str());
        }
        encoder.key("subscribed");
        encoder.begin_array();
        for uri in &self.subscribed {
            encoder.separate();
            encoder.string(uri);
        }
        encoder.end_array();
        encoder.key("nextCall");
        encoder.integer(integer(self.next_call.next()));
        encoder.key("nextRequest");
        encoder.integer(integer(self.next_request));
        encoder.end_object();
    }

    /// Decodes the stable form.
    ///
    /// # Errors
    ///
    /// Fails on the form of another version, and on anything else that [`encode`](Self::encode)
    /// does not write. The order of the members is free.
    pub fn decode(bytes: &[u8]) -> Result<Self, BadRecord> {
        let text = std::str::from_utf8(bytes).map_err(|_| BadRecord::Malformed)?;
        let version = Reader::new(text).peek_member("v");
        match version.map_err(|_| BadRecord::Malformed)? {
            Some(version) if version.as_str() == "1" => {}
            Some(_) => return Err(BadRecord::UnknownVersion),
            None => return Err(BadRecord::Malformed),
        }
        let mut members = RecordMembers::default();
        let mut reader = Reader::new(text);
        reader
            .object(|reader, key| members.read(reader, key))
            .and_then(|()| reader.finish())
            .map_err(|_| BadRecord::Malformed)?;
        members.into_record().ok_or(BadRecord::Malformed)
    }

    pub(super) fn carryover(&self) -> Carryover {
        Carryover {
            next_request: self.next_request,
            ..Carryover::from(self.next_call.clone())
        }
    }
}

/// The members of the stable form, as far as they have been read.
#[derive(Default)]
struct RecordMembers {
    version: Option<u64>,
    revision: Option<Revision>,
    is_ready: Option<bool>,
    log_level: Option<LoggingLevel>,
    subscribed: Option<BTreeSet<String>>,
    next_call: Option<u64>,
    next_request: Option<u64>,
}

impl RecordMembers {
    fn read(&mut self, reader: &mut Reader<'_>, key: &str) -> Result<(), DecodeError> {
        match key {
            "v" => fill(&mut self.version, reader, number),
            "revision" => fill(&mut self.revision, reader, |reader| {
                let name = reader.string()?;
                name.parse()
                    .map_err(|_| unexpected(reader, "a revision", &name))
            }),
            "ready" => fill(&mut self.is_ready, reader, Reader::boolean),
            "logLevel" => fill(&mut self.log_level, reader, |reader| {
                Ok(LoggingLevel::from(&*reader.string()?))
            }),
            "subscribed" => fill(&mut self.subscribed, reader, |reader| {
                let mut subscribed = BTreeSet::new();
                reader.array(|reader| {
                    let uri = reader.string()?.into_owned();
                    if subscribed.insert(uri) {
                        Ok(())
                    } else {
                        Err(reader.problem(Problem::Duplicate))
                    }
                })?;
                Ok(subscribed)
            }),
            "nextCall" => fill(&mut self.next_call, reader, number),
            "nextRequest" => fill(&mut self.next_request, reader, number),
            _ => Err(unexpected(reader, "a member of the record", key)),
        }
    }

    /// Returns the record, if no member is missing and all of them can be those of a session.
    fn into_record(self) -> Option<SessionRecord> {
        let revision = self.revision?;
        let (next_call, next_request) = (self.next_call?, self.next_request?);
        if revision.era() != Era::Handshake || next_call == 0 || next_request == 0 {
            return None;
        }
        Some(SessionRecord {
            revision,
            is_ready: self.is_ready?,
            log_level: self.log_level,
            subscribed: self.subscribed?,
            next_call: IdCounter::starting_at(next_call),
            next_request,
        })
    }
}

/// Reads a member that was not there before.
fn fill<'a, T>(
    slot: &mut Option<T>,
    reader: &mut Reader<'a>,
    read: impl FnOnce(&mut Reader<'a>) -> Result<T, DecodeError>,
) -> Result<(), DecodeError> {
    if slot.is_some() {
        return Err(reader.problem(Problem::Duplicate));
    }
    *slot = Some(read(reader)?);
    Ok(())
}

fn number(reader: &mut Reader<'_>) -> Result<u64, DecodeError> {
    let number = reader.integer()?;
    u64::try_from(number).map_err(|_| reader.problem(Problem::OutOfRange("a positive integer")))
}

/// Numbers of requests are counted from 1, and never come near the end of the range.
fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unexpected(reader: &Reader<'_>, expected: &'static str, found: &str) -> DecodeError {
    let found = found.into();
    reader.problem(Problem::Unexpected { expected, found })
}

#[cfg(test)]
mod tests;
