//! Parameters and results that a scripted server sends.

use bowline_proto::Payload;
use bowline_types::{JsonObject, RawJson, RawJsonRef};

/// Parameters or a result: any JSON text, or none.
///
/// Only its JSON syntax is checked, since a test may need invalid parameters. Invalid JSON is sent
/// with [`send_raw`](super::Conversation::send_raw).
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
    /// Returns the JSON, or `None` if there is none.
    ///
    /// # Errors
    ///
    /// If the text isn't valid JSON.
    pub(super) fn check(&self) -> Result<Option<RawJsonRef<'_>>, String> {
        let Some(text) = &self.0 else {
            return Ok(None);
        };
        match RawJsonRef::parse(text) {
            Ok(json) => Ok(Some(json)),
            Err(error) => Err(format!("{error} in {text}")),
        }
    }

    /// Returns the JSON of a result, which is never absent.
    ///
    /// # Errors
    ///
    /// If the text isn't valid JSON.
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
