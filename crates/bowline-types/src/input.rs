//! Input rounds: how a stateless server asks its client something. New in 2026-07-28.
//!
//! A server that needs input to finish `tools/call`, `prompts/get` or `resources/read`
//! ends the request with an [`InputRequiredResult`]: questions under keys of its choice,
//! and a state for itself. The client answers by sending the request again, with a new
//! id, the answers under the same keys and the state exactly as it came.
//!
//! ```
//! use bowline_types::Map;
//! use bowline_types::elicitation::{ElicitFormParams, ElicitResult, FormSchema, PrimitiveSchema};
//! use bowline_types::input::{InputRequest, InputRequiredResult, InputResponse};
//! use bowline_types::tools::CallToolParams;
//!
//! // The server asks,
//! let form = FormSchema::new([("ok", PrimitiveSchema::boolean())]).required(["ok".into()]);
//! let question = InputRequest::from(ElicitFormParams::new("Proceed?", form));
//! let ask = InputRequiredResult::new()
//!     .input_requests([("confirm", question)])
//!     .request_state("opaque");
//!
//! // and the client answers.
//! let answer = ElicitResult::accept([("ok", true)]);
//! let retry = CallToolParams::new("delete")
//!     .input_responses([("confirm", InputResponse::try_from(answer)?)])
//!     .request_state(ask.request_state.unwrap());
//! let confirmed = retry.input_responses.unwrap().get("confirm").unwrap().elicitation()?;
//! assert!(confirmed.is_accepted());
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
    /// A result that asks for input. It has questions, or a state, or both; with a
    /// state alone the client may send the request again at once.
    pub struct InputRequiredResult [since(V2026_07_28)] checked by InputRequiredResult::check, requiring REQUESTS_OR_STATE {
        @required "resultType" = "input_required";
        /// The questions, by keys of the server's choice.
        opt input_requests: Map<InputRequest> = "inputRequests";
        /// What the server wants to have back.
        opt request_state: String = "requestState";
        /// Additional data.
        meta meta: ResultMeta = "_meta";
    }
}

/// Spec, basic/patterns/mrtr, 2026-07-28: a round has questions, or a state, or both.
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
    /// A question to the client.
    pub enum InputRequest decided by method_tag, "`method`" {
        /// Ask the user.
        Elicit(ElicitInput) = "elicitation/create";
        /// Ask the model.
        CreateMessage(CreateMessageInput) = "sampling/createMessage";
        /// Ask for the roots.
        ListRoots(ListRootsInput) = "roots/list";
    }
}

wire_struct! {
    /// A question to the user.
    pub struct ElicitInput {
        @required "method" = "elicitation/create";
        /// The question.
        req params: ElicitParams = "params";
    }
}

wire_struct! {
    /// A question to the model.
    pub struct CreateMessageInput {
        @required "method" = "sampling/createMessage";
        /// The question.
        req params: CreateMessageParams = "params";
    }
}

wire_struct! {
    /// A question for the roots.
    pub struct ListRootsInput {
        @required "method" = "roots/list";
        /// Nothing but `_meta`.
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

/// An answer of the client: a bare result, of the type that the question had.
///
/// Nothing in it tells the type, so it is read as what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputResponse(JsonObject);

impl From<ListRootsParams> for InputRequest {
    fn from(params: ListRootsParams) -> Self {
        ListRootsInput::new().params(params).into()
    }
}

impl InputResponse {
    /// The user's answer.
    pub fn elicitation(&self) -> Result<ElicitResult, DecodeError> {
        Wire::from_json(self.0.as_str())
    }

    /// The model's answer.
    pub fn sampling(&self) -> Result<CreateMessageResult, DecodeError> {
        Wire::from_json(self.0.as_str())
    }

    /// The roots.
    pub fn roots(&self) -> Result<ListRootsResult, DecodeError> {
        Wire::from_json(self.0.as_str())
    }

    /// The answer as it came.
    pub fn as_object(&self) -> &JsonObject {
        &self.0
    }

    /// Answers exist in the stateless era only, so they are said in its words.
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
            /// Fails for what 2026-07-28 can't say, such as a number that is not finite.
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
        // What a peer sent can be shown all the same.
        assert!(empty.to_lossless_json().is_ok());
        assert!(
            empty
                .request_state("")
                .to_json(Revision::V2026_07_28)
                .is_ok()
        );
    }
}
