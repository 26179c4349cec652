//! Messages that the scripted server receives.

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
    reason = "JSON-RPC has these, and the client sends no batches"
)]
pub enum ReceivedMessage {
    /// A request, which expects a response.
    Request(ReceivedRequest),
    /// A notification.
    Notification(ReceivedNotification),
    /// The response to a request of the server.
    Response {
        /// The id of the request.
        id: RequestId,
        /// The result, or the error.
        result: RpcResult,
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
    /// Parses a line of the client.
    pub(super) fn read(line: &[u8]) -> Result<Self, String> {
        let envelope = Envelope::parse(line).map_err(|error| error.to_string())?;
        Ok(match envelope {
            Envelope::Request(request) => Self::Request(ReceivedRequest {
                id: request.id,
                method: request.method.into(),
                params: params_payload(request.params)?,
            }),
            Envelope::Notification(notification) => Self::Notification(ReceivedNotification {
                method: notification.method.into(),
                params: params_payload(notification.params)?,
            }),
            Envelope::Success(success) => Self::Response {
                id: success.id,
                result: Ok(params_payload(Some(success.result))?),
            },
            Envelope::Failure(failure) => {
                let error = ErrorObject::from_json(failure.error.as_str());
                let error = error.map_err(|error| error.to_string())?;
                let id = failure.id.ok_or("an error response without an id")?;
                Self::Response {
                    id,
                    result: Err(error),
                }
            }
            Envelope::Batch(_) => return Err("a batch".to_owned()),
        })
    }

    /// Returns a short description.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Request(request) => format!("the request {}", request.method),
            Self::Notification(notification) => format!("the notification {}", notification.method),
            Self::Response { id, result: Ok(_) } => format!("a result for {id}"),
            Self::Response { id, result: Err(_) } => format!("an error for {id}"),
        }
    }
}

impl ReceivedRequest {
    /// Returns the id, which the response repeats.
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// Returns the method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Returns the parameters, or `{}` if there are none.
    pub fn params(&self) -> &Payload {
        &self.params
    }

    /// Decodes the parameters.
    ///
    /// # Errors
    ///
    /// If the parameters aren't a valid `T`.
    pub fn decode<T: Wire>(&self) -> Result<T, DecodeError> {
        self.params.decode()
    }

    /// Returns the progress token, if the client requests progress notifications.
    pub fn progress_token(&self) -> Option<ProgressToken> {
        let meta = Reader::new(self.params.as_str())
            .peek_member("_meta")
            .ok()??;
        let meta = RequestMeta::from_json(meta.as_str()).ok()?;
        meta.read(keys::PROGRESS_TOKEN).ok()?
    }
}

impl ReceivedNotification {
    /// Returns the method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Returns the parameters, or `{}` if there are none.
    pub fn params(&self) -> &Payload {
        &self.params
    }

    /// Decodes the parameters.
    ///
    /// # Errors
    ///
    /// If the parameters aren't a valid `T`.
    pub fn decode<T: Wire>(&self) -> Result<T, DecodeError> {
        self.params.decode()
    }
}

fn params_payload(json: Option<RawJsonRef<'_>>) -> Result<Payload, String> {
    let Some(json) = json else {
        return Ok(Payload::EMPTY);
    };
    let object = JsonObject::parse(json.as_str()).map_err(|error| error.to_string())?;
    Ok(Payload::from(object))
}
