//! Resources, and resource templates. `contents` converts what their handlers return.

mod contents;

use std::fmt;
use std::sync::Arc;

use bowline_types::ErrorObject;
use bowline_types::common::{Annotations, Icon};
use bowline_types::meta::Meta;
use bowline_types::resources::{ReadResourceResult, Resource, ResourceTemplate};

pub use self::contents::IntoResource;
pub(super) use self::contents::resolve_not_found;
use super::caching::{Cacheable as _, Caching};
use super::context::Context;
use super::extract::{
    Arguments, Extract, HandlerArguments, HandlerFn, HandlerInput, HandlerRequirements, Rejection,
};
use super::string_arguments::{self, StringArguments};
use super::template::UriTemplate;
use crate::transport::BoxFuture;

pub(super) type ReadFuture = BoxFuture<'static, Result<ReadResourceResult, ErrorObject>>;
type Run = dyn Fn(ReadInput<'_>, &Context) -> Result<ReadFuture, Rejection> + Send + Sync;

/// The input of a read: the URI, and settings of the resource or template.
#[derive(Clone, Copy)]
struct ReadInput<'a> {
    uri: &'a str,
    variables: StringArguments<'a>,
    mime_type: Option<&'a str>,
    caching: Caching,
}

/// The URI that is read, as an argument of a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uri(pub String);

impl Extract for Uri {
    fn extract(input: &HandlerInput<'_>) -> Result<Self, Rejection> {
        Ok(Self(input.uri.unwrap_or_default().to_owned()))
    }

    fn declare(_: &mut HandlerRequirements) {}
}

/// The definition of a resource: what clients see of it, and its handler.
#[derive(Clone)]
pub struct ResourceDef {
    pub(super) resource: Resource,
    /// Why it can't be served.
    pub(super) problem: Option<String>,
    caching: Caching,
    pub(super) needs: Arc<HandlerRequirements>,
    run: Arc<Run>,
}

/// Creates a resource with a handler that reads it.
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
    A: HandlerArguments,
    H: HandlerFn<A>,
    H::Output: IntoResource + Send,
{
    let (resource, needs) = (Resource::new(uri, name), H::needs());
    let needed = needs
        .schema
        .as_ref()
        .and_then(|schema| required_of(schema).next());
    let problem = needed.map(|needed| {
        let uri = &resource.uri;
        format!("resource {uri}: its handler needs {needed:?}, and a resource has no arguments")
    });
    ResourceDef {
        resource,
        problem,
        caching: Caching::default(),
        needs: Arc::new(needs),
        run: runner(handler),
    }
}

fn runner<A, H>(handler: H) -> Arc<Run>
where
    A: HandlerArguments,
    H: HandlerFn<A>,
    H::Output: IntoResource + Send,
{
    Arc::new(move |input, context| {
        context.begin_rounds()?;
        let read = handler.run(&HandlerInput {
            arguments: Arguments::Strings(input.variables),
            context,
            uri: Some(input.uri),
            checks: None,
        })?;
        let (of, uri) = (context.clone(), input.uri.to_owned());
        let (mime_type, caching) = (input.mime_type.map(str::to_owned), input.caching);
        Ok(Box::pin(async move {
            let read = read.await;
            let result = read.into_resource_of(&of, &uri, mime_type.as_deref())?;
            Ok(result.cached(caching))
        }))
    })
}

impl ResourceDef {
    /// Sets the description for the model.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.resource.description = Some(description.into());
        self
    }

    /// Sets the name that is shown to users.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.resource.title = Some(title.into());
        self
    }

    /// Sets the media type, for contents without one.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.resource.mime_type = Some(mime_type.into());
        self
    }

    /// Sets annotations: the audience, the priority.
    #[must_use]
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        self.resource.annotations = Some(annotations);
        self
    }

    /// Sets icons to show.
    #[must_use]
    pub fn icons(mut self, icons: impl Into<Vec<Icon>>) -> Self {
        self.resource.icons = Some(icons.into());
        self
    }

    /// Sets the size in bytes, so that a client can estimate the cost of reading it.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.resource.size = i64::try_from(bytes).ok();
        self
    }

    /// Sets how long clients may keep the contents. Default: not at all. A handler that
    /// returns a [`ReadResourceResult`] may set its own caching.
    #[must_use]
    pub fn cache(mut self, caching: Caching) -> Self {
        self.caching = caching;
        self
    }

    /// Sets the `_meta`.
    #[must_use]
    pub fn meta(mut self, meta: Meta) -> Self {
        self.resource.meta = Some(meta);
        self
    }

    pub(super) fn read(&self, uri: &str, context: &Context) -> ReadFuture {
        let input = ReadInput {
            uri,
            variables: &[],
            mime_type: self.resource.mime_type.as_deref(),
            caching: self.caching,
        };
        into_future((self.run)(input, context))
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
///
/// A URI that is read is matched against the template, which gives the variables:
///
/// | expression | URI | variables |
/// |---|---|---|
/// | `{a}`, `{a,b}` | `1`, `1,2` | nothing that separates the parts of a URI, unless it is encoded |
/// | `{+a}`, `{+a,b}` | `x/1`, `x/1,2` | anything; no comma where there are several |
/// | `{#a}`, `{#a,b}` | `#x/1`, `#x/1,2` | the same |
/// | `{.a,b}` | `.1.2` | as `{a}` |
/// | `{/a,b}` | `/1/2` | as `{a}` |
/// | `{;a,b}` | `;a=1;b=2` | as `{a}`, in this order |
/// | `{?a,b}`, `{&a,b}` | `?a=1&b=2` | in any order, and each may be missing |
/// | `{a:3}` | `abc` | at most 3 characters, with every operator |
/// | `{/a*}` | `/1/2/3` | a list, as one text with its slashes: `1/2/3` |
/// | `{a*}`, `{+a*}`, `{#a*}`, `{.a*}` | `1,2,3` | a list, as one text with its commas or dots |
///
/// Values are decoded (`%20`). All but those of a query have to be there, and not to be empty.
/// Where there are several ways, each variable, from the first on, is as short as it can be.
/// Names have letters, digits, `_`, dots between them, and `-`, which the RFC doesn't have.
///
/// What is refused when the server is built: variables side by side (`{a}{b}`), a list beside
/// other names (`{/a*,b}`), names that are repeated (`{?a*}`, `{;a*}`), a variable that comes
/// twice, anything but a fragment behind a query, and names with `%`.
///
/// A template fits when the handler can take its variables as well: where one is a number and the
/// URI has none there, the next template is tried. The first one that fits wins, in the order in
/// which they were added; one that is added in place of another keeps its place. A resource of
/// exactly this URI comes before all of them, and where nothing fits there is no such resource.
///
/// A text that may contain slashes may also contain `..`: a handler that opens files has to
/// look at it.
#[derive(Clone)]
pub struct TemplateDef {
    pub(super) template: ResourceTemplate,
    caching: Caching,
    pub(super) needs: Arc<HandlerRequirements>,
    pub(super) pattern: Result<UriTemplate, String>,
    run: Arc<Run>,
}

/// Resources whose URIs follow a template. The handler's arguments are its variables: texts,
/// or what can be read from one, such as a number. [`TemplateDef`] has what a template may be.
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
    A: HandlerArguments,
    H: HandlerFn<A>,
    H::Output: IntoResource + Send,
{
    let template = ResourceTemplate::new(uri_template, name);
    let mut needs = H::needs();
    let schema = needs.schema.take();
    let mut pattern = UriTemplate::parse(&template.uri_template);
    if let (Ok(variables), Some(schema)) = (&pattern, &schema)
        && let Some(problem) = problem_of(&template.uri_template, variables, schema)
    {
        pattern = Err(problem);
    }
    TemplateDef {
        pattern,
        template,
        caching: Caching::default(),
        needs: Arc::new(needs),
        run: runner(handler),
    }
}

/// Returns why a handler can't be run with the variables of a template.
fn problem_of(
    template: &str,
    variables: &UriTemplate,
    schema: &schemars::Schema,
) -> Option<String> {
    let mut required = required_of(schema);
    let missing = required.find(|wanted| !variables.names().any(|name| name == *wanted));
    let missing = missing.map(|missing| {
        format!(
            "template {template}: its handler needs {missing:?}, which is not one of its variables"
        )
    });
    missing
        .or_else(|| string_arguments::schema_problem(schema, format_args!("template {template}")))
}

/// Returns the properties that a schema requires.
fn required_of(schema: &schemars::Schema) -> impl Iterator<Item = &str> {
    let required = schema
        .get("required")
        .and_then(|required| required.as_array());
    let required = required.into_iter().flatten();
    required.filter_map(|name| name.as_str())
}

impl TemplateDef {
    /// Sets the description for the model.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.template.description = Some(description.into());
        self
    }

    /// Sets the name that is shown to users.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.template.title = Some(title.into());
        self
    }

    /// Sets the media type, for contents without one.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.template.mime_type = Some(mime_type.into());
        self
    }

    /// Sets annotations: the audience, the priority.
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

    /// Sets how long clients may cache the contents, as [`ResourceDef::cache`].
    #[must_use]
    pub fn cache(mut self, caching: Caching) -> Self {
        self.caching = caching;
        self
    }

    /// Sets additional data for clients.
    #[must_use]
    pub fn meta(mut self, meta: Meta) -> Self {
        self.template.meta = Some(meta);
        self
    }

    /// Reads a resource, if its URI matches the template and its variables can be parsed into the
    /// handler's type.
    pub(super) fn read(&self, uri: &str, context: &Context) -> Option<ReadFuture> {
        let variables = self.pattern.as_ref().ok()?.matches(uri)?;
        let input = ReadInput {
            uri,
            variables: &variables,
            mime_type: self.template.mime_type.as_deref(),
            caching: self.caching,
        };
        match (self.run)(input, context) {
            Err(Rejection::Arguments(message)) => {
                self.log_skipped_template(&message, context);
                None
            }
            run => Some(into_future(run)),
        }
    }

    fn log_skipped_template(&self, message: &str, context: &Context) {
        // The rest of the message quotes what the client sent.
        let variable = message
            .split_once(": ")
            .map_or("", |(variable, _)| variable);
        tracing::debug!(
            template = %self.template.uri_template,
            variable,
            request = context.request_number(),
            "resource template skipped: a variable doesn't have the type that the handler expects"
        );
    }
}

impl fmt::Debug for TemplateDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TemplateDef")
            .field("template", &self.template)
            .finish_non_exhaustive()
    }
}

/// Returns the running handler, or the error why it doesn't run.
fn into_future(run: Result<ReadFuture, Rejection>) -> ReadFuture {
    let error = match run {
        Ok(read) => return read,
        Err(Rejection::Server(error)) => error,
        Err(Rejection::Arguments(message)) => {
            ErrorObject::invalid_params(format!("invalid URI: {message}"))
        }
    };
    Box::pin(std::future::ready(Err(error)))
}
