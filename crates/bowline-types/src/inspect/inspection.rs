//! The result of an inspection.

use std::fmt;

use super::is_valid;
use crate::envelope::EnvelopeError;
use crate::id::RequestId;
use crate::json::shortened;
use crate::method::Method;
use crate::revision::{Revision, Revisions};
use crate::wire::{Finding, Severity};

/// The kind of a frame, and the revisions in which it is valid.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Inspection {
    /// The kind of the frame.
    pub kind: FrameKind,
    /// The verdict of each revision, oldest first.
    pub verdicts: Vec<Verdict>,
    /// The messages of a batch, at most [`MAX_PARTS`](super::MAX_PARTS).
    pub parts: Vec<Self>,
}

/// The kind of a frame.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FrameKind {
    /// A request.
    Request {
        /// The method, shortened.
        method: Box<str>,
        /// The id.
        id: RequestId,
    },
    /// A notification.
    Notification {
        /// The method, shortened.
        method: Box<str>,
    },
    /// A response with a result.
    Result {
        /// The method of the request, if the request was seen and its method is known.
        of: Option<Method>,
        /// The id.
        id: RequestId,
    },
    /// A response with an error.
    Error {
        /// The method of the request, if the request was seen and its method is known.
        of: Option<Method>,
        /// The id.
        id: Option<RequestId>,
        /// The error code, if it could be read.
        code: Option<i64>,
    },
    /// A batch of messages.
    Batch {
        /// The number of messages.
        len: usize,
    },
    /// Not a message.
    Invalid {
        /// The reason, with its offset. In a part of a batch the offset counts from the beginning
        /// of the part.
        error: EnvelopeError,
    },
}

/// The verdict of one revision on a frame.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Verdict {
    /// The revision.
    pub revision: Revision,
    /// The findings.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// Returns `true` if the frame is valid.
    pub fn is_valid(&self) -> bool {
        is_valid(&self.findings)
    }

    /// Returns the findings that make the frame invalid.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
    }
}

impl Inspection {
    /// Returns a short description. Names and ids that a peer chose are shortened, but not
    /// escaped.
    pub fn summary(&self) -> String {
        self.kind.to_string()
    }

    /// Returns `true` if the frame is valid in `revision`.
    pub fn is_valid_in(&self, revision: Revision) -> bool {
        self.valid_in().contains(revision)
    }

    /// Returns the revisions in which the frame is valid.
    pub fn valid_in(&self) -> Revisions {
        self.verdicts
            .iter()
            .filter(|verdict| verdict.is_valid())
            .map(|verdict| verdict.revision)
            .collect()
    }

    /// Creates the inspection of a message from the findings of each revision.
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
            None => "an unknown request",
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
