//! Answers to questions, and why there may be none.

use std::fmt;
use std::sync::Arc;
use std::task::Waker;

use bowline_proto::Payload;
use bowline_types::elicitation::{ElicitParams, ElicitResult};
use bowline_types::input::{InputRequest, InputResponse};
use bowline_types::{DecodeError, ErrorObject, Method, Wire};

use crate::error::{Error, ErrorKind};
use crate::server::tasks::TaskEntry;

/// Checks an answer against the requested form, and fills in defaults. EL-10: a client should have
/// checked it, but is not trusted to have done so. EL-8: a client that omits a field with a default
/// means the default.
pub(super) fn checked_form(
    asked: &ElicitParams,
    mut answer: ElicitResult,
) -> Result<ElicitResult, Error> {
    let ElicitParams::Form(form) = asked else {
        return Ok(answer);
    };
    if !answer.is_accepted() {
        return Ok(answer);
    }
    let content = answer.content.take().unwrap_or_default();
    let filled = form.requested_schema.fill(content);
    filled
        .map(|content| answer.content(content))
        .map_err(|error| {
            let message = format!("invalid form content: {error}");
            Error::new(ErrorKind::InvalidResponse, message.clone())
                .in_operation(Method::Elicit.as_str())
                .caused_by(NoAnswer::Message(message))
        })
}

/// The state of a question when it is asked, in the stateless era.
pub(super) enum QuestionLookup {
    /// Its answer, or the task that asks it.
    Found(StatelessAnswer),
    /// The method allows no questions.
    NotAllowed,
    /// The limit on questions is reached.
    TooMany,
    /// The request ends with it. Holds the wakers of the handler's runners.
    Asked([Option<Waker>; 2]),
}

/// The result of a question in the stateless era.
pub(super) enum StatelessAnswer {
    Answer(Result<Answer, Error>),
    /// It has to be asked through a task.
    Task(Arc<TaskEntry>, Box<InputRequest>),
}

/// An answer of the client.
pub(super) enum Answer {
    Payload(Payload),
    Input(InputResponse),
}

impl Answer {
    pub(super) fn decode<T: Wire>(
        self,
        input: impl FnOnce(&InputResponse) -> Result<T, DecodeError>,
    ) -> Result<T, Error> {
        let read = match self {
            Self::Payload(payload) => payload.decode(),
            Self::Input(answer) => input(&answer),
        };
        read.map_err(|error| Error::new(ErrorKind::InvalidResponse, error.to_string()))
    }
}

/// Why a question has no answer. It is about the client itself, so it may be sent to the client.
#[derive(Clone, Debug)]
pub(in crate::server) enum NoAnswer {
    /// As a message for the model.
    Message(String),
    /// As a protocol error.
    Protocol(Box<ErrorObject>),
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The error whose source this is has the message already.
            Self::Message(_) => f.write_str("this message is sent to the client"),
            Self::Protocol(error) => write!(f, "the error {} is sent to the client", error.code),
        }
    }
}

impl std::error::Error for NoAnswer {}
