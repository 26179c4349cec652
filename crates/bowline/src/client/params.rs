//! The parameters of a call or a notification.

use std::sync::LazyLock;

use bowline_proto::Payload;
use bowline_types::meta::RequestMeta;
use bowline_types::{JsonObject, RawJsonRef, Revision, Wire};
use bytes::Bytes;
use memchr::memmem::Finder;

use crate::error::{Error, ErrorKind};

/// The parameters of a call or a notification: a JSON object, or none.
///
/// Text or a value that is no JSON object is an error of the call or notification that it is used
/// for.
///
/// ```
/// use bowline::client::Params;
/// use bowline::types::JsonObject;
///
/// let text = Params::from(r#"{"name":"echo","arguments":{"text":"hi"}}"#);
/// let built = Params::from(JsonObject::parse(r#"{"cursor":"2"}"#)?);
/// let value = Params::from(serde_json::json!({"cursor": "2"}));
/// let none = Params::from(());
/// # let _ = (text, built, value, none);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// They are shared, never copied: cloning them is cheap.
#[derive(Clone, Debug)]
pub struct Params(Result<Checked, ParamsError>);

static META: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("_meta"));

/// Why parameters can't be sent, as a message.
#[derive(Clone, Debug)]
enum ParamsError {
    /// They are not a JSON object.
    NotAnObject(String),
    /// The revision lacks something in them.
    NotInRevision(String),
}

/// Parameters that can be sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Checked {
    /// The members, without braces and without `_meta`.
    pub(super) members: Bytes,
    pub(super) meta: Option<RequestMeta>,
    /// The same with `_meta`, where there is one.
    with_meta: Option<Bytes>,
}

impl Params {
    /// Encodes a value of the protocol as a revision has it. What every request of
    /// 2026-07-28 has in `_meta` is added when it is sent.
    ///
    /// ```
    /// use bowline::client::Params;
    /// use bowline::types::{Revision, tools::CallToolParams};
    ///
    /// let params = Params::encode(&CallToolParams::new("echo"), Revision::LATEST);
    /// ```
    pub fn encode<T: Wire>(value: &T, revision: Revision) -> Self {
        match Payload::encode_params(value, revision) {
            Ok(payload) => Self::of_text(payload.into_bytes()),
            Err(error) => Self(Err(ParamsError::NotInRevision(error.to_string()))),
        }
    }

    /// Encodes the members of a value without `_meta`, as a revision has them.
    pub(super) fn members_in<T: Wire>(value: &T, revision: Revision) -> Result<Bytes, String> {
        match Self::encode(value, revision).0 {
            Ok(checked) => Ok(checked.members),
            Err(ParamsError::NotAnObject(message) | ParamsError::NotInRevision(message)) => {
                Err(format!("the parameters: {message}"))
            }
        }
    }

    /// Returns the parameters if they can be sent.
    pub(super) fn check(self) -> Result<Checked, Error> {
        self.0.map_err(|invalid| match invalid {
            // The kind of the error names the parameters.
            ParamsError::NotAnObject(message) => Error::new(ErrorKind::InvalidParams, message),
            ParamsError::NotInRevision(message) => {
                let message = format!("the parameters: {message}");
                Error::new(ErrorKind::CapabilityNotSupported, message)
            }
        })
    }

    /// Creates parameters from the members of a JSON object, none of which is `_meta`.
    pub(super) fn of_members(members: Bytes) -> Self {
        Self(Ok(Checked {
            members,
            ..Checked::default()
        }))
    }

    /// Creates parameters from the text of a valid JSON value.
    fn of_text(bytes: Bytes) -> Self {
        let inner = bytes
            .strip_prefix(b"{")
            .and_then(|rest| rest.strip_suffix(b"}"));
        let Some(inner) = inner else {
            return Self(Err(ParamsError::NotAnObject(not_an_object(&bytes))));
        };
        // Without surrounding space: code that puts a member before them has to know whether there are any.
        let inner = inner.trim_ascii();
        // The connection writes `_meta`, so it must not come twice.
        if META.find(inner).is_some()
            && let Ok(text) = std::str::from_utf8(&bytes)
            && let Ok(object) = JsonObject::parse(text)
            && object.contains_key("_meta")
        {
            return Self::without_meta(object, bytes.slice_ref(inner));
        }
        Self::of_members(bytes.slice_ref(inner))
    }

    fn without_meta(mut object: JsonObject, with_meta: Bytes) -> Self {
        let meta = object.remove("_meta");
        let meta = meta.map(|meta| RequestMeta::from_json(meta.as_str()));
        let rest = Self::of_text(Payload::from(object).into_bytes());
        match (rest.0, meta.transpose()) {
            (Ok(rest), Ok(meta)) => Self(Ok(Checked {
                members: rest.members,
                meta,
                with_meta: Some(with_meta),
            })),
            (Ok(_), Err(error)) => Self(Err(ParamsError::NotAnObject(format!("_meta: {error}")))),
            (Err(invalid), _) => Self(Err(invalid)),
        }
    }
}

/// Returns what is wrong with a JSON value that is not an object.
fn not_an_object(json: &[u8]) -> String {
    let text = std::str::from_utf8(json).unwrap_or_default();
    match RawJsonRef::parse(text) {
        Ok(json) => format!("they must be a JSON object, not {}", json.kind()),
        Err(error) => format!("not valid JSON: {error}"),
    }
}

impl Checked {
    /// Returns the members, with `_meta` among them: what a notification has.
    pub(super) fn with_meta(self) -> Bytes {
        self.with_meta.unwrap_or(self.members)
    }
}

impl From<()> for Params {
    fn from((): ()) -> Self {
        Self(Ok(Checked::default()))
    }
}

impl From<&str> for Params {
    fn from(text: &str) -> Self {
        match RawJsonRef::parse(text) {
            Ok(json) => Self::of_text(Bytes::copy_from_slice(json.as_str().as_bytes())),
            Err(error) => Self(Err(ParamsError::NotAnObject(format!(
                "not valid JSON: {error}"
            )))),
        }
    }
}

impl From<String> for Params {
    fn from(text: String) -> Self {
        match RawJsonRef::parse(&text).map(|json| json.as_str().len() == text.len()) {
            Ok(true) => Self::of_text(Bytes::from(text)),
            Ok(false) => Self::from(text.as_str()),
            Err(error) => Self(Err(ParamsError::NotAnObject(format!(
                "not valid JSON: {error}"
            )))),
        }
    }
}

impl From<serde_json::Value> for Params {
    fn from(value: serde_json::Value) -> Self {
        Self::from(value.to_string())
    }
}

impl From<JsonObject> for Params {
    fn from(object: JsonObject) -> Self {
        Self::of_text(Payload::from(object).into_bytes())
    }
}

impl From<Payload> for Params {
    fn from(payload: Payload) -> Self {
        Self::of_text(payload.into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn members(params: impl Into<Params>) -> String {
        let checked = params.into().check().expect("an object");
        String::from_utf8(checked.members.to_vec()).expect("UTF-8")
    }

    #[test]
    fn members_have_no_braces_and_no_meta() {
        assert_eq!(members(()), "");
        for blank in ["{}", "{ }", "{\n\t\r }", " {} "] {
            assert_eq!(members(blank), "");
            assert_eq!(members(blank.to_owned()), "");
        }
        assert_eq!(members("{ \"a\": 1\n}"), r#""a": 1"#);
        assert_eq!(members(r#" {"a":1} "#), r#""a":1"#);
        assert_eq!(members(r#"{"a":1}"#.to_owned()), r#""a":1"#);
        assert_eq!(members(json!({"a": 1})), r#""a":1"#);
        assert_eq!(members(json!({})), "");
        assert_eq!(members(r#"{"a":"_meta"}"#), r#""a":"_meta""#);
        assert_eq!(members(r#"{"a":{"_meta":{}}}"#), r#""a":{"_meta":{}}"#);
        let both = Params::from(r#"{"_meta":{"x/y":1},"a":2}"#);
        let both = both.check().expect("an object");
        assert_eq!(&*both.members, br#""a":2"#);
        assert!(both.meta.is_some());
        assert_eq!(&*both.with_meta(), br#""_meta":{"x/y":1},"a":2"#);
    }

    // proves: PV-5
    #[test]
    fn parameters_that_a_revision_lacks_are_refused_and_meta_is_added_later() {
        use bowline_types::tools::CallToolParams;
        let call = CallToolParams::new("echo");
        for revision in Revision::ALL {
            assert_eq!(members(Params::encode(&call, revision)), r#""name":"echo""#);
        }
        let state = call.request_state("s");
        assert!(Params::encode(&state, Revision::LATEST).check().is_ok());
        let older = Params::encode(&state, Revision::V2025_11_25);
        let error = older.check().expect_err("there is no state");
        assert_eq!(error.kind(), ErrorKind::CapabilityNotSupported);
        assert!(error.to_string().contains("2026-07-28"), "{error}");
    }

    #[test]
    fn params_that_are_no_object_are_an_error() {
        for (text, message) in [
            ("", "not valid JSON"),
            ("[1]", "they must be a JSON object, not an array"),
            ("{\"a\":}", "not valid JSON"),
            (r#"{"_meta":3}"#, "_meta"),
        ] {
            let error = Params::from(text).check().expect_err(text);
            assert_eq!(error.kind(), ErrorKind::InvalidParams);
            assert!(error.to_string().contains(message), "{error}");
        }
        for value in [json!(null), json!([1]), json!("{}"), json!(3)] {
            let error = Params::from(value).check().expect_err("no object");
            assert_eq!(error.kind(), ErrorKind::InvalidParams);
            assert!(
                error.to_string().contains("must be a JSON object, not "),
                "{error}"
            );
        }
    }
}
