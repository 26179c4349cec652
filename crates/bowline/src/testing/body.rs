//! What a scripted peer says beside a method: parameters and results.

use bowline_proto::Payload;
use bowline_types::{JsonObject, RawJson, RawJsonRef};

/// Parameters or a result: any JSON text, or nothing.
///
/// It is checked to be JSON, and not whether it makes sense: a peer may answer what it likes.
/// For what is not even JSON there is [`send_raw`](super::Conversation::send_raw).
///
/// ```
/// use bowline::testing::Body;
/// use bowline::types::JsonObject;
///
/// let text = Body::from(r#"{"tools":[]}"#);
/// let built = Body::from(JsonObject::new());
/// let none = Body::from(());
/// # let _ = (text, built, none);
/// ```
#[derive(Clone, Debug)]
pub struct Body(Option<String>);

impl Body {
    /// The text on one line, `None` when there is nothing.
    ///
    /// # Errors
    ///
    /// What is wrong with it, when it is no JSON.
    pub(super) fn check(&self) -> Result<Option<RawJsonRef<'_>>, String> {
        let Some(text) = &self.0 else {
            return Ok(None);
        };
        match RawJsonRef::parse(text) {
            Ok(json) => Ok(Some(json)),
            Err(error) => Err(format!("{error} in {text}")),
        }
    }

    /// The text of a result, which is never absent.
    ///
    /// # Errors
    ///
    /// What is wrong with it, when it is no JSON.
    pub(super) fn value(&self) -> Result<RawJsonRef<'_>, String> {
        match self.check()? {
            Some(json) => Ok(json),
            None => RawJsonRef::parse("{}").map_err(|error| error.to_string()),
        }
    }
}

impl From<()> for Body {
    fn from((): ()) -> Self {
        Self(None)
    }
}

impl From<&str> for Body {
    fn from(text: &str) -> Self {
        Self(Some(text.to_owned()))
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Self(Some(text))
    }
}

impl From<Payload> for Body {
    fn from(payload: Payload) -> Self {
        Self::from(payload.as_str())
    }
}

impl From<JsonObject> for Body {
    fn from(object: JsonObject) -> Self {
        Self::from(object.as_str())
    }
}

impl From<RawJson> for Body {
    fn from(json: RawJson) -> Self {
        Self(Some(json.into_string()))
    }
}
