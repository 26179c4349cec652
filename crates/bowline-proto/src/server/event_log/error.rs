//! Why events can't be appended or replayed.

use std::fmt;

use super::event_id::{BadEventId, EventId};
use crate::outbox::StreamId;
use crate::server::Refusal;

/// Why a stream was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenStreamError {
    /// The number was used before, so its ids would be ambiguous.
    NotNew,
    /// The limit on streams is reached, and none of them has ended.
    TooManyStreams,
}

impl fmt::Display for OpenStreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotNew => "the number of the event stream was used before",
            Self::TooManyStreams => "too many event streams are open in this session",
        })
    }
}

impl std::error::Error for OpenStreamError {}

/// Why an event was not appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AppendError {
    /// There is no such stream, or it was forgotten after its end.
    UnknownStream,
    /// The stream has ended.
    Ended,
    /// The stream has 2⁶⁴ − 1 events.
    NumbersExhausted,
}

impl fmt::Display for AppendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownStream => "unknown event stream",
            Self::Ended => "the event stream has ended",
            Self::NumbersExhausted => "the event stream has used all event ids",
        })
    }
}

impl std::error::Error for AppendError {}

/// Why a stream can't be resumed after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplayError {
    /// The text is no event id.
    Malformed(BadEventId),
    /// The session has no such stream, or it ended long ago: the id may be that of another session.
    UnknownStream(StreamId),
    /// The id is newer than all that were issued on its stream.
    NotIssued {
        /// The newest id.
        newest: Option<EventId>,
    },
    /// Events after the id were removed at a limit on events or bytes.
    Evicted {
        /// The oldest event that is still kept.
        first_available: Option<EventId>,
    },
    /// Events after the id were removed since they were too old.
    Expired {
        /// The oldest event that is still kept.
        first_available: Option<EventId>,
    },
}

impl ReplayError {
    /// Returns the HTTP status: always 400.
    ///
    /// A 404 would end more than the stream: on a request with a session id it means that the
    /// session is unknown, and the client begins a new one.
    pub const fn status(&self) -> u16 {
        400
    }

    /// Returns the answer to the request that wanted to resume: a JSON-RPC error without an id.
    pub fn refusal(&self) -> Refusal {
        Refusal::handshake_error(self.status(), None, self.to_string())
    }
}

impl From<BadEventId> for ReplayError {
    fn from(bad: BadEventId) -> Self {
        Self::Malformed(bad)
    }
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot resume from Last-Event-ID: ")?;
        match self {
            Self::Malformed(bad) => write!(f, "it {bad}"),
            Self::UnknownStream(stream) => {
                let stream = stream.get();
                write!(
                    f,
                    "this session has no stream {stream}, or it ended long ago"
                )
            }
            Self::NotIssued { newest } => {
                f.write_str("it was never issued")?;
                write_known(f, "newest", *newest)
            }
            Self::Evicted { first_available } => {
                f.write_str("later events were evicted at a limit of the event log")?;
                write_known(f, "first available", *first_available)
            }
            Self::Expired { first_available } => {
                f.write_str("later events have expired")?;
                write_known(f, "first available", *first_available)
            }
        }
    }
}

impl std::error::Error for ReplayError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Malformed(bad) => Some(bad),
            Self::UnknownStream(_)
            | Self::NotIssued { .. }
            | Self::Evicted { .. }
            | Self::Expired { .. } => None,
        }
    }
}

fn write_known(f: &mut fmt::Formatter<'_>, what: &str, id: Option<EventId>) -> fmt::Result {
    match id {
        Some(id) => write!(f, " ({what}: {id})"),
        None => write!(f, " ({what}: none)"),
    }
}
