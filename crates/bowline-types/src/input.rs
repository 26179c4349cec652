//! Input rounds: a server of the stateless era requests input from its client. New in 2026-07-28.
//!
//! A server that needs input to complete `tools/call`, `prompts/get` or `resources/read` ends the
//! request with an [`InputRequiredResult`]: input requests under keys of its choice, and a request
//! state. The client sends the request again, with a new id, an input response under each key, and
//! the request state unchanged.
//!
//! ```
//! use bowline_types::Map;
//! use bowline_types::elicitation::{
//!     ElicitFormParams, ElicitResult, ElicitValue, FormSchema, PrimitiveSchema,
//! };
//! use bowline_types::input::{InputRequest, InputRequiredResult, InputResponse};
//! use bowline_types::tools::CallToolParams;
//!
//! // The server requests input,
//! let form = FormSchema::new([("ok", PrimitiveSchema::boolean())]).required(["ok".into()]);
//! let question = InputRequest::from(ElicitFormParams::new("Proceed?", form));
//! let ask = InputRequiredResult::new()
//!     .input_requests([("confirm", question)])
//!     .request_state("opaque");
//!
//! // and the client responds.
//! let answer = ElicitResult::accept([("ok", true)]);
//! let retry = CallToolParams::new("delete")
//!     .input_responses([("confirm", InputResponse::try_from(answer)?)])
//!     .request_state(ask.request_state.unwrap());
//! let confirmed = retry.input_responses.unwrap().get("confirm").unwrap().elicitation()?;
//! // A form can be submitted with "no" in its field.
//! assert!(confirmed.is_accepted());
//! assert_eq!(confirmed.content.unwrap().get("ok"), Some(&ElicitValue::Boolean(true)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::borrow::Cow;

use crate::elicitation::{ElicitFormParams, ElicitParams, ElicitResult, ElicitUrlParams};
use crate::json::{DecodeError, Encoder, JsonObject, NotInRevision, Reader, Reason};
use crate::meta::ResultMeta;
use crate::revision::{Revision, Revisions};
use crate::roots::{ListRootsParams, ListRootsResult};
use crate::sampling::{CreateMessageParams, CreateMessageResult};
use crate::wire::{Condition, Decode, Encode, Map, Shape, Union, Variant, Wire};

wire_struct! {
    /// A result that requests input. It has input requests, a request state, or both. With a
    /// request state alone the client may retry at once.
    pub struct InputRequiredResult [since(V2026_07_28)] checked by InputRequiredResult::check, requiring REQUESTS_OR_STATE {
        @required "resultType" = "input_required";
        /// The input requests, by keys of the server's choice.
        opt input_requests: Map<InputRequest> = "inputRequests";
        /// State that the client returns with the retry.
        opt request_state: String = "requestState";
        /// Additional metadata.
        meta meta: ResultMeta = "_meta";
    }
}

/// Spec, basic/patterns/mrtr, 2026-07-28: a round has input requests, a request state, or both.
const REQUESTS_OR_STATE: [Condition; 1] = [Condition {
    member: "resultType",
    is: "input_required",
    requires: &["inputRequests", "requestState"],
    revisions: Revisions::ALL,
}];

impl InputRequiredResult {
    fn check(&self, encoder: &Encoder<'_>) -> Result<(), NotInRevision> {
        let has_one = self.input_requests.is_some() || self.request_state.is_some();
        if has_one || encoder.revision().is_none() {
            return Ok(());
        }
        Err(encoder.not_in_revision(Reason::Missing("inputRequests or requestState")))
    }
}

wire_union! {
    /// An input request to the client.
    pub enum InputRequest decided by method_tag, "`method`" {
        /// Requests input from the user.
        Elicit(ElicitInput) = "elicitation/create";
        /// Requests a message from the model.
        CreateMessage(CreateMessageInput) = "sampling/createMessage";
        /// Requests the roots.
        ListRoots(ListRootsInput) = "roots/list";
    }
}

wire_struct! {
    /// A request for input from the user.
    pub struct ElicitInput {
        @required "method" = "elicitation/create";
        /// The parameters of the elicitation.
        req params: ElicitParams = "params";
    }
}

wire_struct! {
    /// A request for a message from the model.
    pub struct CreateMessageInput {
        @required "method" = "sampling/createMessage";
        /// The parameters of the sampling request.
        req params: CreateMessageParams = "params";
    }
}

wire_struct! {
    /// A request for the roots.
    pub struct ListRootsInput {
        @required "method" = "roots/list";
        /// Only `_meta`.
        opt params: ListRootsParams = "params";
    }
}

macro_rules! input_request_from {
    ($($params:ident => $input:ident),+) => {
        $(impl From<$params> for InputRequest {
            fn from(params: $params) -> Self {
                $input::new(params).into()
            }
        })+
    };
}

input_request_from! {
    ElicitParams => ElicitInput,
    ElicitFormParams => ElicitInput,
    ElicitUrlParams => ElicitInput,
    CreateMessageParams => CreateMessageInput
}

/// The client's response to an input request: a bare result, without a tag.
///
/// It is decoded as the result type of the input request that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputResponse(JsonObject);

impl From<ListRootsParams> for InputRequest {
    fn from(params: ListRootsParams) -> Self {
        ListRootsInput::new().params(params).into()
    }
}

impl InputResponse {
    /// Decodes the response to an elicitation.
    pub fn elicitation(&self) -> Result<ElicitResult, DecodeError> {
        Wire::from_json(self.0.as_str())
    }

    /// Decodes the response to a sampling request.
    pub fn sampling(&self) -> Result<CreateMessageResult, DecodeError> {
        Wire::from_json(self.0.as_str())
    }

    /// Decodes the response to a request for the roots.
    pub fn roots(&self) -> Result<ListRootsResult, DecodeError> {
        Wire::from_json(self.0.as_str())
    }

    /// Returns the response as a JSON object.
    pub fn as_object(&self) -> &JsonObject {
        &self.0
    }

    /// Input responses exist in the stateless era only, so its encoding applies.
    fn new(result: &impl Wire) -> Result<Self, NotInRevision> {
        let json = result.to_json(Revision::V2026_07_28)?;
        Ok(Self(json.try_into().unwrap_or_default()))
    }
}

impl From<JsonObject> for InputResponse {
    fn from(result: JsonObject) -> Self {
        Self(result)
    }
}

macro_rules! input_response_from {
    ($($result:ident),+) => {
        $(
            /// Fails for values that 2026-07-28 can't represent, such as a number that is not
            /// finite.
            impl TryFrom<$result> for InputResponse {
                type Error = NotInRevision;

                fn try_from(result: $result) -> Result<Self, NotInRevision> {
                    Self::new(&result)
                }
            }
        )+
    };
}

input_response_from!(ElicitResult, CreateMessageResult, ListRootsResult);

impl Decode for InputResponse {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        JsonObject::decode(reader).map(Self)
    }
}

impl Encode for InputResponse {
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), NotInRevision> {
        self.0.encode(encoder)
    }
}

impl Wire for InputResponse {
    const SHAPE: &'static Shape = &Shape::Union(&Union {
        name: "InputResponse",
        decided_by: "the presence of `action`, `model` or `roots`",
        variants: &[
            Variant {
                name: "action",
                revisions: Revisions::ALL,
                shape: ElicitResult::SHAPE,
            },
            Variant {
                name: "model",
                revisions: Revisions::ALL,
                shape: CreateMessageResult::SHAPE,
            },
            Variant {
                name: "roots",
                revisions: Revisions::ALL,
                shape: ListRootsResult::SHAPE,
            },
        ],
        select: |json| {
            let reader = json.reader();
            ["action", "model", "roots"]
                .iter()
                .position(|name| matches!(reader.peek_member(name), Ok(Some(_))))
        },
    });
}

crate::wire::serde_through_json!(InputResponse);

fn method_tag<'a>(reader: &mut Reader<'a>) -> Result<Cow<'a, str>, DecodeError> {
    Ok(reader.peek_tag("method")?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_required_result_has_requests_or_a_state() {
        let empty = InputRequiredResult::new();
        let error = empty.to_json(Revision::V2026_07_28).unwrap_err();
        assert!(error.to_string().contains("inputRequests or requestState"));
        // What a peer sent can still be shown.
        assert!(empty.to_lossless_json().is_ok());
        assert!(
            empty
                .request_state("")
                .to_json(Revision::V2026_07_28)
                .is_ok()
        );
    }
}
