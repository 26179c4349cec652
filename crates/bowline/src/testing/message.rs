//! What a client says.

use crate::RpcResult;
use bowline_proto::Payload;
use bowline_types::envelope::Envelope;
use bowline_types::meta::{RequestMeta, keys};
use bowline_types::{
    DecodeError, ErrorObject, JsonObject, ProgressToken, RawJsonRef, Reader, RequestId, Wire,
};

/// A message of the client.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "JSON-RPC has these, and no client of ours sends a batch"
)]
pub enum ReceivedMessage {
    /// It wants an answer.
    Request(ReceivedRequest),
    /// It wants none.
    Notification(ReceivedNotification),
    /// The answer to a request of the server.
    Answer {
        /// The id of that request.
        id: RequestId,
        /// The answer.
        reply: RpcResult,
    },
}

/// A request of the client.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    id: RequestId,
    method: Box<str>,
    params: Payload,
}

/// A notification of the client.
#[derive(Clone, Debug)]
pub struct ReceivedNotification {
    method: Box<str>,
    params: Payload,
}

impl ReceivedMessage {
    /// Reads a line of the client.
    pub(super) fn read(line: &[u8]) -> Result<Self, String> {
        let envelope = Envelope::parse(line).map_err(|error| error.to_string())?;
        Ok(match envelope {
            Envelope::Request(request) => Self::Request(ReceivedRequest {
                id: request.id,
                method: request.method.into(),
                params: payload(request.params)?,
            }),
            Envelope::Notification(notification) => Self::Notification(ReceivedNotification {
                method: notification.method.into(),
                params: payload(notification.params)?,
            }),
            Envelope::Success(success) => Self::Answer {
                id: success.id,
                reply: Ok(payload(Some(success.result))?),
            },
            Envelope::Failure(failure) => {
                let error = ErrorObject::from_json(failure.error.as_str());
                let error = error.map_err(|error| error.to_string())?;
                let id = failure.id.ok_or("an error about no request")?;
                Self::Answer {
                    id,
                    reply: Err(error),
                }
            }
            Envelope::Batch(_) => return Err("a batch".to_owned()),
        })
    }

    /// What it is, in a few words.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Request(request) => format!("the request {}", request.method),
            Self::Notification(note) => format!("the notification {}", note.method),
            Self::Answer { id, reply: Ok(_) } => format!("a result for {id}"),
            Self::Answer { id, reply: Err(_) } => format!("an error for {id}"),
        }
    }
}

impl ReceivedRequest {
    /// The id, which the answer repeats.
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// The method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The parameters, `{}` when there are none.
    pub fn params(&self) -> &Payload {
        &self.params
    }

    /// Reads the parameters.
    ///
    /// # Errors
    ///
    /// When they are no `T`.
    pub fn decode<T: Wire>(&self) -> Result<T, DecodeError> {
        self.params.decode()
    }

    /// The token under which the client wants to hear of progress.
    pub fn progress_token(&self) -> Option<ProgressToken> {
        let meta = Reader::new(self.params.as_str())
            .peek_member("_meta")
            .ok()??;
        let meta = RequestMeta::from_json(meta.as_str()).ok()?;
        meta.read(keys::PROGRESS_TOKEN).ok()?
    }
}

impl ReceivedNotification {
    /// The method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The parameters, `{}` when there are none.
    pub fn params(&self) -> &Payload {
        &self.params
    }

    /// Reads the parameters.
    ///
    /// # Errors
    ///
    /// When they are no `T`.
    pub fn decode<T: Wire>(&self) -> Result<T, DecodeError> {
        self.params.decode()
    }
}

fn payload(json: Option<RawJsonRef<'_>>) -> Result<Payload, String> {
    let Some(json) = json else {
        return Ok(Payload::EMPTY);
    };
    let object = JsonObject::parse(json.as_str()).map_err(|error| error.to_string())?;
    Ok(Payload::from(object))
}
