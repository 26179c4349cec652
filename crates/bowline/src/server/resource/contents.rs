//! Conversion of a handler's result into the contents of a resource.

use bowline_types::base64;
use bowline_types::resources::{
    BlobResourceContents, ReadResourceResult, ResourceContents, TextResourceContents,
};
use bowline_types::{ErrorObject, Revision};

use crate::server::context::Context;
use crate::server::output::IntoToolError;

/// A type that the handler of a resource may return: a string, bytes, contents, or a `Result` of
/// these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be the contents of a resource",
    label = "not a result type of resources",
    note = "return text (`String`, `&'static str`), bytes (`Vec<u8>`), `ResourceContents`, a list of contents, \
            or a `Result` with a `ToolError`"
)]
pub trait IntoResource {
    /// Converts it into what the client gets, with the media type of the resource where the
    /// contents have none.
    ///
    /// # Errors
    ///
    /// When the resource can't be read.
    fn into_resource(
        self,
        uri: &str,
        mime_type: Option<&str>,
    ) -> Result<ReadResourceResult, ErrorObject>;

    /// Converts it for a request, which log events about hidden errors name.
    #[doc(hidden)]
    fn into_resource_of(
        self,
        of: &Context,
        uri: &str,
        mime_type: Option<&str>,
    ) -> Result<ReadResourceResult, ErrorObject>
    where
        Self: Sized,
    {
        let _ = of;
        self.into_resource(uri, mime_type)
    }
}

/// Contents with a media type of their own keep it.
impl IntoResource for ReadResourceResult {
    fn into_resource(mut self, _: &str, mime_type: Option<&str>) -> Result<Self, ErrorObject> {
        for part in &mut self.contents {
            let own = match part {
                ResourceContents::Text(text) => &mut text.mime_type,
                ResourceContents::Blob(blob) => &mut blob.mime_type,
                _ => continue,
            };
            if own.is_none() {
                *own = mime_type.map(str::to_owned);
            }
        }
        Ok(self)
    }
}

impl IntoResource for Vec<ResourceContents> {
    fn into_resource(
        self,
        uri: &str,
        mime_type: Option<&str>,
    ) -> Result<ReadResourceResult, ErrorObject> {
        ReadResourceResult::new(self).into_resource(uri, mime_type)
    }
}

impl IntoResource for ResourceContents {
    fn into_resource(
        self,
        uri: &str,
        mime_type: Option<&str>,
    ) -> Result<ReadResourceResult, ErrorObject> {
        vec![self].into_resource(uri, mime_type)
    }
}

impl IntoResource for String {
    fn into_resource(
        self,
        uri: &str,
        mime_type: Option<&str>,
    ) -> Result<ReadResourceResult, ErrorObject> {
        let mut contents = TextResourceContents::new(uri, self);
        contents.mime_type = Some(mime_type.unwrap_or("text/plain").to_owned());
        Ok(ReadResourceResult::new([contents.into()]))
    }
}

impl IntoResource for &'static str {
    fn into_resource(
        self,
        uri: &str,
        mime_type: Option<&str>,
    ) -> Result<ReadResourceResult, ErrorObject> {
        self.to_owned().into_resource(uri, mime_type)
    }
}

/// Bytes: the client gets them as base64.
impl IntoResource for Vec<u8> {
    fn into_resource(
        self,
        uri: &str,
        mime_type: Option<&str>,
    ) -> Result<ReadResourceResult, ErrorObject> {
        let blob = base64::encode(&self);
        let mut contents = BlobResourceContents::new(uri, blob);
        contents.mime_type = Some(mime_type.unwrap_or("application/octet-stream").to_owned());
        Ok(ReadResourceResult::new([contents.into()]))
    }
}

/// `None` means that there is no such resource: for templates, which match more URIs than there are
/// resources.
impl<T: IntoResource> IntoResource for Option<T> {
    fn into_resource(
        self,
        uri: &str,
        mime_type: Option<&str>,
    ) -> Result<ReadResourceResult, ErrorObject> {
        match self {
            Some(contents) => contents.into_resource(uri, mime_type),
            // The error code depends on the revision, which the dispatcher knows.
            None => Err(ErrorObject::new(NOT_FOUND, "")),
        }
    }

    fn into_resource_of(
        self,
        of: &Context,
        uri: &str,
        mime_type: Option<&str>,
    ) -> Result<ReadResourceResult, ErrorObject> {
        match self {
            Some(contents) => contents.into_resource_of(of, uri, mime_type),
            None => None::<T>.into_resource(uri, mime_type),
        }
    }
}

impl<T: IntoResource, E: IntoToolError> IntoResource for Result<T, E> {
    fn into_resource(
        self,
        uri: &str,
        mime_type: Option<&str>,
    ) -> Result<ReadResourceResult, ErrorObject> {
        self.map_err(|error| error.into_tool_error().into_error(None))?
            .into_resource(uri, mime_type)
    }

    fn into_resource_of(
        self,
        of: &Context,
        uri: &str,
        mime_type: Option<&str>,
    ) -> Result<ReadResourceResult, ErrorObject> {
        self.map_err(|error| error.into_tool_error().into_error(Some(of)))?
            .into_resource_of(of, uri, mime_type)
    }
}

/// Stands for "not found" until the revision is known.
const NOT_FOUND: i64 = i64::MIN;

/// Replaces it with the error of the revision.
pub(in super::super) fn resolve_not_found(
    error: ErrorObject,
    uri: &str,
    revision: Revision,
) -> ErrorObject {
    match error.code {
        // RS-4.
        NOT_FOUND => ErrorObject::resource_not_found(uri, revision),
        _ => error,
    }
}
