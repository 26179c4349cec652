//! The steps of the demo as data. Serialized they are the output of `--json`, which `bowline demo
//! --help` documents; [`text`](super::text) formats them for a reader.

use std::time::Duration;

use bowline::{Error, ErrorKind};
use bowline_types::Revision;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::connect::execution_hint;
use crate::durations;
use crate::timeline::{self, Timeline};

/// A part of the demo that has happened.
#[derive(Debug, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub(super) enum Step {
    /// The server was started, and a revision negotiated.
    Connect {
        process: u32,
        server: Server,
        #[serde(serialize_with = "name")]
        revision: Revision,
        capabilities: Value,
        #[serde(rename = "took_ms", serialize_with = "millis")]
        took: Duration,
    },
    /// The tools were listed.
    Tools {
        names: Vec<String>,
        #[serde(rename = "took_ms", serialize_with = "millis")]
        took: Duration,
    },
    /// A tool was called.
    Call(Call),
    /// A resource was read.
    Read {
        uri: String,
        text: String,
        #[serde(rename = "took_ms", serialize_with = "millis")]
        took: Duration,
    },
    /// The server was killed.
    Kill {
        process: u32,
        signal: &'static str,
        tool: &'static str,
        /// The last reported progress of the call.
        progress: String,
        #[serde(rename = "at_ms", serialize_with = "millis")]
        at: Duration,
    },
    /// The connection recovered.
    Recover { process: u32, changes: Vec<Change> },
    /// The timeline of the demo.
    #[serde(serialize_with = "timeline_json")]
    Timeline(Timeline),
}

/// The implementation info of the server.
#[derive(Debug, Serialize)]
pub(super) struct Server {
    pub(super) name: String,
    pub(super) version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<String>,
}

/// A call that has ended.
#[derive(Debug, Serialize)]
pub(super) struct Call {
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
    #[serde(rename = "from_ms", serialize_with = "millis")]
    pub(super) from: Duration,
    #[serde(rename = "to_ms", serialize_with = "millis")]
    pub(super) to: Duration,
    /// The number of progress notifications.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reports: Option<u32>,
    #[serde(flatten)]
    pub(super) outcome: Outcome,
}

/// The outcome of a call.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub(super) enum Outcome {
    /// The tool succeeded.
    Answered { text: String },
    /// The tool reported an error.
    ToolError { text: String },
    /// The connection was lost before the response.
    Lost(CallFailure),
    /// The call failed for another reason.
    Failed(CallFailure),
}

/// The error of a call without a result.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CallFailure {
    pub(super) error: String,
    pub(super) kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) may_have_run: Option<bool>,
    /// The hint about its execution.
    #[serde(skip)]
    pub(super) executed: Option<&'static str>,
}

/// A change of the connection state.
#[derive(Debug, Serialize)]
pub(super) struct Change {
    #[serde(rename = "at_ms", serialize_with = "millis")]
    pub(super) at: Duration,
    pub(super) from: &'static str,
    pub(super) to: &'static str,
    pub(super) cause: String,
}

impl From<Call> for Step {
    fn from(call: Call) -> Self {
        Self::Call(call)
    }
}

impl Outcome {
    /// Returns the outcome of a call that failed with `error`.
    pub(super) fn without_answer(error: &Error) -> Self {
        let failure = CallFailure {
            error: error.to_string(),
            kind: format!("{:?}", error.kind()),
            may_have_run: error.may_have_run(),
            executed: execution_hint(error),
        };
        match error.kind() {
            ErrorKind::TransportDown => Self::Lost(failure),
            _ => Self::Failed(failure),
        }
    }

    /// Returns the outcome as a word.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Answered { .. } => "answered",
            Self::ToolError { .. } => "tool error",
            Self::Lost(_) => "lost",
            Self::Failed(_) => "failed",
        }
    }

    /// Returns `true` if the server responded, even with a tool error.
    pub(super) fn is_answered(&self) -> bool {
        match self {
            Self::Answered { .. } | Self::ToolError { .. } => true,
            Self::Lost(_) | Self::Failed(_) => false,
        }
    }
}

fn name<S: Serializer>(revision: &Revision, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(revision.as_str())
}

fn millis<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(durations::millis(*time))
}

fn timeline_json<S: Serializer>(timeline: &Timeline, serializer: S) -> Result<S::Ok, S::Error> {
    TimelineJson::from(timeline).serialize(serializer)
}

/// A timeline as JSON.
#[derive(Serialize)]
struct TimelineJson<'a> {
    states: Vec<StateSpanJson>,
    calls: Vec<CallJson<'a>>,
}

#[derive(Serialize)]
struct StateSpanJson {
    state: &'static str,
    from_ms: f64,
    to_ms: f64,
}

#[derive(Serialize)]
struct CallJson<'a> {
    name: &'a str,
    from_ms: f64,
    to_ms: f64,
    outcome: String,
}

impl<'a> From<&'a Timeline> for TimelineJson<'a> {
    fn from(timeline: &'a Timeline) -> Self {
        let stretch = |span: &timeline::StateSpan| StateSpanJson {
            state: span.state.as_str(),
            from_ms: durations::millis(span.from),
            to_ms: durations::millis(span.to),
        };
        let called = |call: &'a timeline::Call| CallJson {
            name: &call.name,
            from_ms: durations::millis(call.from),
            to_ms: durations::millis(call.to),
            outcome: call.outcome.replace(' ', "_"),
        };
        Self {
            states: timeline.states.iter().map(stretch).collect(),
            calls: timeline.calls.iter().map(called).collect(),
        }
    }
}
