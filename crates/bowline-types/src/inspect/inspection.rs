//! What an inspection says.

use std::fmt;

use super::is_valid;
use crate::envelope::EnvelopeError;
use crate::id::RequestId;
use crate::json::shortened;
use crate::method::Method;
use crate::revision::{Revision, Revisions};
use crate::wire::{Finding, Severity};

/// What a frame is, and in which revisions it is valid.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Inspection {
    /// What it is.
    pub kind: FrameKind,
    /// What each revision thinks of it, oldest first.
    pub verdicts: Vec<Verdict>,
    /// The messages of a batch, the first [`MAX_PARTS`](super::MAX_PARTS) of them.
    pub parts: Vec<Self>,
}

/// What a frame is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FrameKind {
    /// A request.
    Request {
        /// Its method, shortened.
        method: Box<str>,
        /// Its id.
        id: RequestId,
    },
    /// A notification.
    Notification {
        /// Its method, shortened.
        method: Box<str>,
    },
    /// An answer with a result.
    Result {
        /// The method of its request, when that was seen and known.
        of: Option<Method>,
        /// Its id.
        id: RequestId,
    },
    /// An answer with an error.
    Error {
        /// The method of its request, when that was seen and known.
        of: Option<Method>,
        /// Its id.
        id: Option<RequestId>,
        /// Its code, when it could be read.
        code: Option<i64>,
    },
    /// Several messages.
    Batch {
        /// How many.
        len: usize,
    },
    /// No message at all.
    Invalid {
        /// Why, and where. In a part of a batch the place counts from the beginning of
        /// the part.
        error: EnvelopeError,
    },
}

/// What one revision thinks of a frame.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Verdict {
    /// The revision.
    pub revision: Revision,
    /// What it finds.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// Whether the frame is valid.
    pub fn is_valid(&self) -> bool {
        is_valid(&self.findings)
    }

    /// Why the frame is not valid.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
    }
}

impl Inspection {
    /// The frame in a few words. Names and ids that a peer chose are shortened, not
    /// escaped.
    pub fn summary(&self) -> String {
        self.kind.to_string()
    }

    /// Whether `revision` thinks that it is valid.
    pub fn is_valid_in(&self, revision: Revision) -> bool {
        self.valid_in().contains(revision)
    }

    /// The revisions in which it is valid.
    pub fn valid_in(&self) -> Revisions {
        self.verdicts
            .iter()
            .filter(|verdict| verdict.is_valid())
            .map(|verdict| verdict.revision)
            .collect()
    }

    /// A message, and what each revision finds in it.
    pub(super) fn of_message(kind: FrameKind, findings: impl Fn(Revision) -> Vec<Finding>) -> Self {
        let verdicts = Revision::ALL.into_iter().map(|revision| Verdict {
            revision,
            findings: findings(revision),
        });
        Self {
            kind,
            verdicts: verdicts.collect(),
            parts: Vec::new(),
        }
    }

    pub(super) fn of_invalid_frame(error: EnvelopeError) -> Self {
        Self {
            kind: FrameKind::Invalid { error },
            verdicts: Vec::new(),
            parts: Vec::new(),
        }
    }
}

impl fmt::Display for FrameKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |method: &Option<Method>| match method {
            Some(method) => method.as_str(),
            None => "a request that was not seen",
        };
        let id_of = |id: &RequestId| shortened(&id.to_string());
        match self {
            Self::Request { method, id } => write!(f, "request {method}, id {}", id_of(id)),
            Self::Notification { method } => write!(f, "notification {method}"),
            Self::Result { of: method, id } => {
                write!(f, "result of {}, id {}", of(method), id_of(id))
            }
            Self::Error {
                of: method,
                id,
                code,
            } => {
                f.write_str("error")?;
                if let Some(code) = code {
                    write!(f, " {code}")?;
                }
                match id {
                    Some(id) => write!(f, " of {}, id {}", of(method), id_of(id)),
                    None => f.write_str(" without an id"),
                }
            }
            Self::Batch { len } => write!(f, "batch of {len}"),
            Self::Invalid { error } => {
                write!(f, "not a message: {error}")?;
                match error.id() {
                    Some(id) => write!(f, ", id {}", id_of(id)),
                    None => Ok(()),
                }
            }
        }
    }
}
