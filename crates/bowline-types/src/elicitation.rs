//! Elicitation: a server requests input from the user. New in 2025-06-18.
//!
//! In form mode the user fills in a flat form, described by a small subset of JSON Schema. In URL
//! mode (since 2025-11-25) the user opens a URL, for data that must not pass through the client:
//! passwords, payments, authorization.
//!
//! `schema` has the fields of a form, `form_validation` checks its content.
//!
//! ```
//! use bowline_types::elicitation::{ElicitFormParams, ElicitResult, FormSchema, PrimitiveSchema};
//!
//! let form = FormSchema::new([
//!     ("name", PrimitiveSchema::string()),
//!     ("colour", PrimitiveSchema::one_of(["red", "green"])),
//! ])
//! .required(["name".into()]);
//! let ask = ElicitFormParams::new("Who are you?", form);
//!
//! let answer = ElicitResult::accept([("name", "Ada"), ("colour", "green")]);
//! assert!(answer.is_accepted());
//! # let _ = ask;
//! ```

mod form_validation;
mod schema;

use std::borrow::Cow;

use crate::json::{DecodeError, Kind, Number, Reader};
use crate::meta::{ResultMeta, ServerRequestMeta};
use crate::tasks::TaskMetadata;
use crate::wire::Map;

pub use form_validation::FormError;
pub use schema::{
    BooleanSchema, EnumItems, EnumOption, LegacyTitledEnumSchema, NumberSchema, NumberType,
    PrimitiveSchema, StringFormat, StringSchema, TitledEnumItems, TitledMultiSelectEnumSchema,
    TitledSingleSelectEnumSchema, UntitledMultiSelectEnumSchema, UntitledSingleSelectEnumSchema,
};

wire_union! {
    /// The parameters of `elicitation/create`.
    pub enum ElicitParams decided by mode_tag, "`mode`, which is `form` when absent" {
        /// Form mode: the user fills in a form.
        Form(ElicitFormParams) = "form", in since(V2025_06_18);
        /// URL mode: the user opens a URL.
        Url(ElicitUrlParams) = "url", in since(V2025_11_25);
    }
}

wire_choice! {
    /// The explicit mode of a form elicitation.
    pub enum FormMode {
        /// Form mode.
        Form = "form",
    }
}

wire_struct! {
    /// The parameters of a form elicitation. Not for secrets.
    pub struct ElicitFormParams [since(V2025_06_18)] {
        /// The mode. Absence means form mode, too.
        opt mode: FormMode = "mode", in since(V2025_11_25);
        /// The message for the user.
        req message: String = "message";
        /// The schema of the form.
        req requested_schema: FormSchema = "requestedSchema";
        /// Requests a task in place of the result.
        opt task: TaskMetadata = "task", in only(V2025_11_25), or error;
        /// Additional metadata.
        meta meta: ServerRequestMeta = "_meta", in until(V2025_11_25);
    }
}

wire_struct! {
    /// The schema of a form: a flat object of primitive fields.
    pub struct FormSchema [since(V2025_06_18)] {
        @required "type" = "object";
        /// The JSON Schema dialect.
        opt schema: String = "$schema", in since(V2025_11_25);
        /// The fields, in display order.
        req properties: Map<PrimitiveSchema> = "properties";
        /// The names of the required fields.
        opt required: Vec<String> = "required";
    }
}

wire_struct! {
    /// The parameters of a URL elicitation. New in 2025-11-25.
    pub struct ElicitUrlParams [since(V2025_11_25)] {
        @required "mode" = "url";
        /// The message for the user.
        req message: String = "message";
        /// The URL to open.
        req url: String = "url";
        /// The id for `notifications/elicitation/complete`. Required in 2025-11-25, and only
        /// there.
        opt elicitation_id: String = "elicitationId", in only(V2025_11_25), must only(V2025_11_25);
        /// Requests a task in place of the result.
        opt task: TaskMetadata = "task", in only(V2025_11_25), or error;
        /// Additional metadata.
        meta meta: ServerRequestMeta = "_meta", in until(V2025_11_25);
    }
}

wire_struct! {
    /// The result of `elicitation/create`.
    pub struct ElicitResult [since(V2025_06_18)] {
        /// The action of the user.
        req action: ElicitAction = "action";
        /// The content of the form; absent in URL mode.
        opt content: Map<ElicitValue> = "content";
        /// Additional metadata.
        meta meta: ResultMeta = "_meta", in until(V2025_11_25);
    }
}

impl ElicitResult {
    /// Creates an accepting result with the content of the form.
    pub fn accept(content: impl Into<Map<ElicitValue>>) -> Self {
        Self::new(ElicitAction::Accept).content(content)
    }

    /// Creates a declining result.
    pub fn decline() -> Self {
        Self::new(ElicitAction::Decline)
    }

    /// Creates a cancelling result.
    pub fn cancel() -> Self {
        Self::new(ElicitAction::Cancel)
    }

    /// Returns `true` if the user has submitted the form, or agreed to open the URL. What the user
    /// entered is in `content`: a form that asks for "yes" or "no" can be submitted with "no".
    pub fn is_accepted(&self) -> bool {
        self.action == ElicitAction::Accept
    }
}

wire_choice! {
    /// The action of the user on an elicitation.
    pub enum ElicitAction {
        /// The user accepted. In URL mode this means consent to open the URL, not completion.
        Accept = "accept",
        /// The user declined.
        Decline = "decline",
        /// The user dismissed the request without a decision.
        Cancel = "cancel",
    }
}

wire_union! {
    /// The value of a form field.
    pub enum ElicitValue decided by value_kind, "its JSON type", keeps invalid {
        /// A string, or a single choice.
        String(String) = "string";
        /// A number.
        Number(Number) = "number";
        /// A boolean.
        Boolean(bool) = "boolean";
        /// Multiple choices.
        Strings(Vec<String>) = "strings", in since(V2025_11_25);
    }
}

impl From<&str> for ElicitValue {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<i32> for ElicitValue {
    fn from(integer: i32) -> Self {
        Self::Number(integer.into())
    }
}

impl From<i64> for ElicitValue {
    fn from(integer: i64) -> Self {
        Self::Number(integer.into())
    }
}

impl From<f64> for ElicitValue {
    fn from(number: f64) -> Self {
        Self::Number(number.into())
    }
}

wire_struct! {
    /// The parameters of `notifications/elicitation/complete`. Only in 2025-11-25.
    pub struct ElicitationCompleteParams [only(V2025_11_25)] {
        /// The id of the completed elicitation.
        req elicitation_id: String = "elicitationId";
    }
}

fn mode_tag<'a>(reader: &mut Reader<'a>) -> Result<Cow<'a, str>, DecodeError> {
    // Spec, client/elicitation, 2025-11-25: without a mode it is form mode.
    Ok(reader.peek_tag("mode")?.unwrap_or("form".into()))
}

fn value_kind(reader: &mut Reader<'_>) -> Result<Cow<'static, str>, DecodeError> {
    Ok(match reader.kind()? {
        Kind::String => "string",
        Kind::Number => "number",
        Kind::Boolean => "boolean",
        Kind::Array => "strings",
        Kind::Object | Kind::Null => "",
    }
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Revision, Wire};

    #[test]
    fn form_mode_is_the_default_and_url_mode_is_explicit() {
        let form = r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#;
        let params = ElicitParams::from_json(form).unwrap();
        assert!(matches!(&params, ElicitParams::Form(form) if form.mode.is_none()));
        assert_eq!(params.to_json(Revision::LATEST).unwrap().as_str(), form);
        let page = r#"{"mode":"url","message":"m","url":"https://example.com"}"#;
        let params = ElicitParams::from_json(page).unwrap();
        assert_eq!(
            params.to_json(Revision::V2026_07_28).unwrap().as_str(),
            page
        );
        // 2025-11-25 requires an id, 2025-06-18 has no URL elicitation.
        assert!(params.to_json(Revision::V2025_11_25).is_err());
        assert!(params.to_json(Revision::V2025_06_18).is_err());
        let other = ElicitParams::from_json(r#"{"mode":"voice"}"#).unwrap();
        assert!(matches!(other, ElicitParams::Other(_)));
    }

    #[test]
    fn values_keep_their_types() {
        let text =
            r#"{"action":"accept","content":{"a":1,"b":1.0,"c":"1","d":true,"e":["x"],"f":null}}"#;
        let result = ElicitResult::from_json(text).unwrap();
        assert_eq!(
            result.to_json(Revision::V2025_11_25).unwrap().as_str(),
            text
        );
        let error = result.to_json(Revision::V2025_06_18).unwrap_err();
        assert_eq!(error.path(), "content.e");
    }
}
