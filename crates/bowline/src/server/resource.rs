//! Resources, and templates of them.

use std::fmt;
use std::sync::Arc;

use bowline_types::common::{Annotations, Icon};
use bowline_types::resources::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use bowline_types::{ErrorObject, JsonObject, Revision};

use super::context::Context;
use super::extract::{Extract, HandlerFn, Input, Needs, Rejection};
use super::output::ToolError;
use super::service::{INTERNAL_ERROR, INVALID_PARAMS};
use super::template::UriTemplate;
use crate::transport::BoxFuture;

pub(super) type Read = BoxFuture<'static, Result<ReadResourceResult, ErrorObject>>;
type Run = dyn Fn(&str, &str, &Context) -> Result<Read, Rejection> + Send + Sync;

/// Something that a resource may contain: text, bytes, contents of its own, or a `Result` of
/// these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be what a resource contains",
    label = "not something that a resource can contain",
    note = "return text (`String`, `&'static str`), bytes (`Vec<u8>`), `ResourceContents`, a list of them, \
            or a `Result` with a `ToolError`"
)]
pub trait IntoResource {
    /// What the client gets.
    ///
    /// # Errors
    ///
    /// When it can't be read.
    fn into_resource(
        self,
        uri: &str,
        mime_type: Option<&str>,
    ) -> Result<ReadResourceResult, ErrorObject>;
}

impl IntoResource for ReadResourceResult {
    fn into_resource(self, _: &str, _: Option<&str>) -> Result<Self, ErrorObject> {
        Ok(self)
    }
}

impl IntoResource for Vec<ResourceContents> {
    fn into_resource(self, _: &str, _: Option<&str>) -> Result<ReadResourceResult, ErrorObject> {
        Ok(ReadResourceResult::new(self))
    }
}

impl IntoResource for ResourceContents {
    fn into_resource(self, _: &str, _: Option<&str>) -> Result<ReadResourceResult, ErrorObject> {
        Ok(ReadResourceResult::new([self]))
    }
}

impl IntoResource for String {
    fn into_resource(
        self,
        uri: &str,
        mime_type: Option<&str>,
    ) -> Result<ReadResourceResult, ErrorObject> {
        let mut contents = bowline_types::resources::TextResourceContents::new(uri, self);
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
        let blob = super::base64::encode(&self);
        let mut contents = bowline_types::resources::BlobResourceContents::new(uri, blob);
        contents.mime_type = Some(mime_type.unwrap_or("application/octet-stream").to_owned());
        Ok(ReadResourceResult::new([contents.into()]))
    }
}

/// Nothing: there is no such resource. For templates, which match more than there is.
impl<T: IntoResource> IntoResource for Option<T> {
    fn into_resource(
        self,
        uri: &str,
        mime_type: Option<&str>,
    ) -> Result<ReadResourceResult, ErrorObject> {
        match self {
            Some(contents) => contents.into_resource(uri, mime_type),
            // The code is that of the revision; whoever dispatches knows it.
            None => Err(ErrorObject::new(NOT_FOUND, "")),
        }
    }
}

impl<T: IntoResource, E: Into<ToolError>> IntoResource for Result<T, E> {
    fn into_resource(
        self,
        uri: &str,
        mime_type: Option<&str>,
    ) -> Result<ReadResourceResult, ErrorObject> {
        match self {
            Ok(contents) => contents.into_resource(uri, mime_type),
            Err(error) => Err(match error.into().into_result() {
                // A resource has no error that a model sees: its words become those of the
                // protocol's.
                Ok(result) => {
                    let words = result.content.first().and_then(|block| block.as_text());
                    ErrorObject::new(INTERNAL_ERROR, words.unwrap_or("it can't be read"))
                }
                Err(error) => error,
            }),
        }
    }
}

/// Stands for "not found" until the revision is known.
const NOT_FOUND: i64 = i64::MIN;

/// The error for a resource that doesn't exist (RS-4).
pub(super) fn not_found(uri: &str, revision: Revision) -> ErrorObject {
    let code = match revision >= Revision::V2026_07_28 {
        true => INVALID_PARAMS,
        false => -32002,
    };
    let uri: String = uri.chars().take(2048).collect();
    let data: JsonObject = [("uri", uri.as_str())].into_iter().collect();
    ErrorObject::new(code, "there is no such resource").data(data)
}

/// Puts the revision's code in place.
pub(super) fn settle(error: ErrorObject, uri: &str, revision: Revision) -> ErrorObject {
    match error.code {
        NOT_FOUND => not_found(uri, revision),
        _ => error,
    }
}

/// The URI that is read, for a handler that asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uri(pub String);

impl Extract for Uri {
    fn extract(input: &Input<'_>) -> Result<Self, Rejection> {
        Ok(Self(input.uri.unwrap_or_default().to_owned()))
    }

    fn declare(_: &mut Needs) {}
}

/// A resource: what clients see of it, and its handler.
#[derive(Clone)]
pub struct ResourceDef {
    pub(super) resource: Resource,
    pub(super) needs: Arc<Needs>,
    run: Arc<Run>,
}

/// A resource with a handler that reads it.
///
/// ```
/// use bowline::server::{Server, resource};
///
/// let readme = resource("file:///readme", "README", || async { "# Hello" })
///     .description("What this is about")
///     .mime_type("text/markdown");
/// let server = Server::new("docs", "1.0.0").add_resource(readme);
/// ```
pub fn resource<A, H>(uri: impl Into<String>, name: impl Into<String>, handler: H) -> ResourceDef
where
    A: 'static,
    H: HandlerFn<A>,
    H::Output: IntoResource + Send,
{
    ResourceDef {
        resource: Resource::new(uri, name),
        needs: Arc::new(H::needs()),
        run: runner(handler),
    }
}

fn runner<A, H>(handler: H) -> Arc<Run>
where
    A: 'static,
    H: HandlerFn<A>,
    H::Output: IntoResource + Send,
{
    Arc::new(move |uri, arguments, context| {
        let read = handler.run(&Input {
            arguments,
            context,
            uri: Some(uri),
        })?;
        let uri = uri.to_owned();
        Ok(Box::pin(
            async move { read.await.into_resource(&uri, None) },
        ))
    })
}

impl ResourceDef {
    /// What it is, for the model.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.resource.description = Some(description.into());
        self
    }

    /// Its name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.resource.title = Some(title.into());
        self
    }

    /// Its media type.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.resource.mime_type = Some(mime_type.into());
        self
    }

    /// How it may be used.
    #[must_use]
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        self.resource.annotations = Some(annotations);
        self
    }

    /// Icons to show.
    #[must_use]
    pub fn icons(mut self, icons: impl Into<Vec<Icon>>) -> Self {
        self.resource.icons = Some(icons.into());
        self
    }

    /// Its size in bytes, so that a client can tell what reading it costs.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.resource.size = i64::try_from(bytes).ok();
        self
    }

    pub(super) fn read(&self, uri: &str, context: &Context) -> Read {
        started(
            (self.run)(uri, "{}", context),
            self.resource.mime_type.as_deref(),
        )
    }
}

impl fmt::Debug for ResourceDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceDef")
            .field("resource", &self.resource)
            .finish_non_exhaustive()
    }
}

/// Resources whose URIs follow a template (RFC 6570), and the handler that reads them.
#[derive(Clone)]
pub struct TemplateDef {
    pub(super) template: ResourceTemplate,
    pub(super) needs: Arc<Needs>,
    pub(super) pattern: Result<UriTemplate, String>,
    run: Arc<Run>,
}

/// Resources whose URIs follow a template. The handler's arguments are its variables.
///
/// ```
/// use bowline::server::{Server, template};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Note { id: String }
///
/// let notes = template("note:///{id}", "notes", |Note { id }: Note| async move {
///     (id == "1").then(|| "the first note".to_owned())
/// });
/// let server = Server::new("notes", "1.0.0").add_template(notes);
/// ```
pub fn template<A, H>(
    uri_template: impl Into<String>,
    name: impl Into<String>,
    handler: H,
) -> TemplateDef
where
    A: 'static,
    H: HandlerFn<A>,
    H::Output: IntoResource + Send,
{
    let template = ResourceTemplate::new(uri_template, name);
    TemplateDef {
        pattern: UriTemplate::parse(&template.uri_template),
        template,
        needs: Arc::new(H::needs()),
        run: runner(handler),
    }
}

impl TemplateDef {
    /// What they are, for the model.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.template.description = Some(description.into());
        self
    }

    /// Their name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.template.title = Some(title.into());
        self
    }

    /// Their media type, when all have the same.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.template.mime_type = Some(mime_type.into());
        self
    }

    /// How they may be used.
    #[must_use]
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        self.template.annotations = Some(annotations);
        self
    }

    /// Icons to show.
    #[must_use]
    pub fn icons(mut self, icons: impl Into<Vec<Icon>>) -> Self {
        self.template.icons = Some(icons.into());
        self
    }

    /// Reads a resource, if its URI follows the template.
    pub(super) fn read(&self, uri: &str, context: &Context) -> Option<Read> {
        let variables = self.pattern.as_ref().ok()?.matches(uri)?;
        let variables: JsonObject = variables.into_iter().collect();
        let started_run = (self.run)(uri, variables.as_str(), context);
        Some(started(started_run, self.template.mime_type.as_deref()))
    }
}

impl fmt::Debug for TemplateDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TemplateDef")
            .field("template", &self.template)
            .finish_non_exhaustive()
    }
}

/// Runs a handler, and says what kind of thing came out where it didn't.
fn started(run: Result<Read, Rejection>, mime_type: Option<&str>) -> Read {
    let read = match run {
        Ok(read) => read,
        Err(rejection) => {
            let error = match rejection {
                Rejection::Server(error) => error,
                Rejection::Arguments(words) => {
                    ErrorObject::new(INVALID_PARAMS, format!("the URI is wrong: {words}"))
                }
            };
            return Box::pin(std::future::ready(Err(error)));
        }
    };
    let Some(mime_type) = mime_type.map(str::to_owned) else {
        return read;
    };
    Box::pin(async move {
        let mut result = read.await?;
        for contents in &mut result.contents {
            let declared = match contents {
                ResourceContents::Text(text) => &mut text.mime_type,
                ResourceContents::Blob(blob) => &mut blob.mime_type,
                _ => continue,
            };
            *declared = Some(mime_type.clone());
        }
        Ok(result)
    })
}
