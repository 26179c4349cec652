//! Handlers, and the extraction of their arguments.
//!
//! A handler is an async function whose parameter types declare what it needs: typed arguments of
//! the call, the [`Context`], shared [`State`] and so on ([`Extract`] lists them), in any order.

use std::any::{Any, TypeId, type_name};
use std::borrow::Cow;
use std::fmt::Display;
use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;

use bowline_types::{ErrorObject, JsonObject};
use schemars::JsonSchema;
use schemars::transform::{RecursiveTransform, Transform as _};
use serde::de::DeserializeOwned;

use super::context::Context;
use super::string_arguments::{self, StringArguments};
use super::validation::ToolValidators;

/// An argument of a handler: see [`HandlerFn`]. A handler may have these arguments:
///
/// | argument | what it is |
/// |---|---|
/// | a type of your own | the arguments of the call: at most one, with `#[derive(Deserialize, JsonSchema)]` |
/// | [`Context`] | the request, and what can be done for it |
/// | [`State<T>`](State) | what all handlers share |
/// | [`Extension<T>`](Extension) | what a layer has added to the request |
/// | [`Principal`](super::Principal) | the authenticated identity, where a layer or the transport has set one |
/// | [`Uri`](super::Uri) | the resource that is read, for resources and templates |
///
/// Not to be implemented outside of this crate. For other data of the request let a
/// [layer](super::Server::layer) add an [`Extension`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be an argument of a handler",
    label = "not an extractor",
    note = "arguments of a call need `#[derive(serde::Deserialize, schemars::JsonSchema)]` and must be `Send`",
    note = "a handler may also have parameters of the types `Context`, `State<T>`, `Extension<T>`, `Principal`, and `Uri` for resources"
)]
pub trait Extract: Sized + Send + 'static {
    /// Extracts the value from a call.
    #[doc(hidden)]
    fn extract(input: &HandlerInput<'_>) -> Result<Self, Rejection>;

    /// Declares what it needs, before there is a call.
    #[doc(hidden)]
    fn declare(needs: &mut HandlerRequirements);
}

/// The input of a handler.
#[doc(hidden)]
#[derive(Debug)]
pub struct HandlerInput<'a> {
    pub(super) arguments: Arguments<'a>,
    pub(super) context: &'a Context,
    /// The resource that is read.
    pub(super) uri: Option<&'a str>,
    /// Validators of the arguments, applied after decoding.
    pub(super) checks: Option<&'a ToolValidators>,
}

impl HandlerInput<'_> {
    /// Checks arguments that were decoded: errors of decoding are clearer, so they come first.
    fn check(&self) -> Result<(), Rejection> {
        match (self.checks, self.arguments) {
            (Some(checks), Arguments::Json(text)) => checks.check_arguments(text),
            _ => Ok(()),
        }
    }
}

/// The arguments of a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arguments<'a> {
    /// An object, as JSON.
    Json(&'a str),
    /// Strings, which are parsed into what the handler takes.
    Strings(StringArguments<'a>),
}

/// The reason why a handler can't be run.
#[doc(hidden)]
#[derive(Debug)]
#[non_exhaustive]
pub enum Rejection {
    /// The arguments are invalid. The message names the field.
    Arguments(String),
    /// The server is misconfigured, or refuses the request.
    Server(ErrorObject),
}

impl From<ErrorObject> for Rejection {
    fn from(error: ErrorObject) -> Self {
        Self::Server(error)
    }
}

/// What a handler needs, known before there is a call.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct HandlerRequirements {
    /// The schema of its arguments, and how many argument types it has.
    pub(super) schema: Option<schemars::Schema>,
    pub(super) arguments: usize,
    pub(super) states: Vec<(TypeId, &'static str)>,
}

/// Typed arguments.
// Errors of the compiler show the trait's own message, which names what to derive.
#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Extract for T {
    fn extract(input: &HandlerInput<'_>) -> Result<Self, Rejection> {
        match input.arguments {
            Arguments::Json(text) => {
                serde_json::from_str(text).map_err(|_| arguments_error::<T>(text))
            }
            Arguments::Strings(strings) => {
                T::deserialize(string_arguments::StringArgumentsReader(strings))
                    .map_err(|_| string_arguments_error::<T>(strings))
            }
        }
    }

    fn declare(needs: &mut HandlerRequirements) {
        needs.arguments += 1;
        needs.schema = Some(schemars::schema_for!(T));
    }
}

/// Decodes again what could not be decoded, to find the path of the error (SV-5).
#[cold]
fn arguments_error<T: DeserializeOwned>(arguments: &str) -> Rejection {
    let mut reader = serde_json::Deserializer::from_str(arguments);
    rejection_of(serde_path_to_error::deserialize::<_, T>(&mut reader))
}

/// Decodes strings again, to find the path of the error.
#[cold]
fn string_arguments_error<T: DeserializeOwned>(strings: StringArguments<'_>) -> Rejection {
    rejection_of(serde_path_to_error::deserialize::<_, T>(
        string_arguments::StringArgumentsReader(strings),
    ))
}

fn rejection_of<T, E: Display>(read: Result<T, serde_path_to_error::Error<E>>) -> Rejection {
    Rejection::Arguments(match read {
        Ok(_) => "not a single JSON object".to_owned(),
        Err(error) => {
            let path = error.path().to_string();
            let message = error.inner().to_string();
            // The client has an object, not this text, so a position in it is useless.
            let message = message
                .rsplit_once(" at line ")
                .map_or(&*message, |(reason, _)| reason);
            match path.as_str() {
                "." => truncate_middle(message).into_owned(),
                path => format!("{}: {}", truncate_middle(path), truncate_middle(message)),
            }
        }
    })
}

/// The most bytes of an error message that are sent.
const MAX_ERROR_TEXT: usize = 512;

/// Truncates the middle of a long message: it quotes what a client sent, and at its end names what
/// is expected instead.
fn truncate_middle(message: &str) -> Cow<'_, str> {
    if message.len() <= MAX_ERROR_TEXT {
        return message.into();
    }
    let begin = &message[..message.floor_char_boundary(MAX_ERROR_TEXT / 2)];
    let end = &message[message.ceil_char_boundary(message.len() - MAX_ERROR_TEXT / 4)..];
    format!("{begin} … {end}").into()
}

impl Extract for Context {
    fn extract(input: &HandlerInput<'_>) -> Result<Self, Rejection> {
        Ok(input.context.clone())
    }

    fn declare(_: &mut HandlerRequirements) {}
}

/// State that all handlers share, given with [`Server::state`](super::Server::state).
///
/// ```
/// use bowline::server::{Server, State};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// let server = Server::new("counter", "1.0.0")
///     .state(Arc::new(AtomicU64::new(0)))
///     .tool("next", "Counts", |State(count): State<Arc<AtomicU64>>| async move {
///         count.fetch_add(1, Ordering::Relaxed)
///     });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct State<T>(pub T);

impl<T> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone + Send + Sync + 'static> Extract for State<T> {
    fn extract(input: &HandlerInput<'_>) -> Result<Self, Rejection> {
        let state = input.context.states().get::<T>();
        state.cloned().map(Self).ok_or_else(|| {
            let type_name = type_name::<T>();
            tracing::error!(type_name, "no state of this type is set: see Server::state");
            Rejection::Server(ErrorObject::internal_error("the server is misconfigured"))
        })
    }

    fn declare(needs: &mut HandlerRequirements) {
        needs.states.push((TypeId::of::<T>(), type_name::<T>()));
    }
}

/// A value that a layer has added to the request with [`Context::insert_extension`], for instance
/// the language of the user. Without it the handler is not run, and the client gets an error.
///
/// ```
/// use bowline::server::{Extension, ClientRequest, Server};
///
/// #[derive(Clone)]
/// struct Language(String);
///
/// // In a layer:
/// fn note_language(request: &ClientRequest) {
///     let meta = request.context().meta();
///     let language = meta.get("com.example/language").and_then(|value| value.to().ok());
///     let language = language.unwrap_or_else(|| "en".to_owned());
///     request.context().insert_extension(Language(language));
/// }
///
/// // In a handler:
/// async fn greet(Extension(language): Extension<Language>) -> &'static str {
///     match &*language.0 {
///         "de" => "guten Tag",
///         _ => "hello",
///     }
/// }
/// let server = Server::new("greeter", "1.0.0").tool("greet", "Greets", greet);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Extension<T>(pub T);

impl<T: Clone + Send + Sync + 'static> Extract for Extension<T> {
    fn extract(input: &HandlerInput<'_>) -> Result<Self, Rejection> {
        let extension = input.context.extension::<T>();
        extension.map(Self).ok_or_else(|| {
            let type_name = type_name::<T>();
            tracing::error!(type_name, "no extension of this type is set on the request");
            Rejection::Server(ErrorObject::internal_error("the server is misconfigured"))
        })
    }

    fn declare(_: &mut HandlerRequirements) {}
}

/// Values by their type. There are few, and each request over HTTP has one: for these a list is
/// cheaper than a table, and the first one needs no list.
#[derive(Clone, Debug, Default)]
pub(super) struct States {
    first: Option<AnyState>,
    more: Vec<AnyState>,
}

#[derive(Clone, Debug)]
struct AnyState {
    id: TypeId,
    value: Arc<dyn Any + Send + Sync>,
}

impl States {
    pub(super) fn insert<T: Send + Sync + 'static>(&mut self, state: T) {
        let state = AnyState {
            id: TypeId::of::<T>(),
            value: Arc::new(state),
        };
        let mut known = self.first.iter_mut().chain(&mut self.more);
        if let Some(known) = known.find(|known| known.id == state.id) {
            *known = state;
        } else if self.first.is_none() {
            self.first = Some(state);
        } else {
            self.more.push(state);
        }
    }

    pub(super) fn get<T: 'static>(&self) -> Option<&T> {
        self.find(TypeId::of::<T>())?.value.downcast_ref()
    }

    pub(super) fn has(&self, id: TypeId) -> bool {
        self.find(id).is_some()
    }

    fn find(&self, id: TypeId) -> Option<&AnyState> {
        let mut known = self.first.iter().chain(&self.more);
        known.find(|known| known.id == id)
    }
}

/// An async function that serves calls, with up to six arguments, each of which is an [`Extract`].
///
/// Calls are served concurrently, also those of one client, and are started in the order of
/// arrival. Each runs until it first waits before the next one is started, unless it blocks its
/// thread and the runtime has another: see [`ToolDef::blocking`](super::ToolDef::blocking).
///
/// ```
/// use bowline::server::{Context, HandlerFn};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Add { a: i64, b: i64 }
///
/// fn is_handler<A>(_: impl HandlerFn<A>) {}
/// is_handler(|| async { "hello" });
/// is_handler(|Add { a, b }: Add| async move { a + b });
/// is_handler(|add: Add, cx: Context| async move { add.a });
/// ```
#[diagnostic::on_unimplemented(
    message = "this is not a handler",
    label = "not an async function whose parameters are extractors",
    note = "a handler is a closure or function that is `Clone + Send + Sync + 'static`, returns a `Send` future, \
            and has up to six arguments: `Context`, `State<T>`, `Extension<T>`, `Principal`, `Uri` for resources, \
            and at most one type of your own with `#[derive(serde::Deserialize, schemars::JsonSchema)]`"
)]
pub trait HandlerFn<Arguments>: Clone + Send + Sync + 'static {
    /// The type of its result.
    type Output;

    /// Calls the function.
    #[doc(hidden)]
    fn call(
        &self,
        arguments: Arguments,
    ) -> impl Future<Output = Self::Output> + Send + use<Self, Arguments>;

    /// Extracts the arguments, and calls the function.
    #[doc(hidden)]
    fn run(
        &self,
        input: &HandlerInput<'_>,
    ) -> Result<impl Future<Output = Self::Output> + Send + use<Self, Arguments>, Rejection>
    where
        Arguments: HandlerArguments,
    {
        let arguments = Arguments::extract(input)?;
        input.check()?;
        Ok(self.call(arguments))
    }

    /// Returns what it needs.
    #[doc(hidden)]
    fn needs() -> HandlerRequirements
    where
        Arguments: HandlerArguments,
    {
        let mut needs = HandlerRequirements::default();
        Arguments::declare(&mut needs);
        needs
    }
}

/// All arguments of a [handler](HandlerFn): up to six, each of which is an [`Extract`].
// `HandlerFn` has no bound on this: otherwise the compiler could not name the argument that is
// wrong, only report that there is no handler.
pub trait HandlerArguments: Sized + 'static {
    /// Extracts the arguments from a call.
    #[doc(hidden)]
    fn extract(input: &HandlerInput<'_>) -> Result<Self, Rejection>;

    /// Declares what they need, before there is a call.
    #[doc(hidden)]
    fn declare(needs: &mut HandlerRequirements);
}

macro_rules! handlers {
    ($($argument:ident),*) => {
        impl<$($argument: Extract),*> HandlerArguments for ($($argument,)*) {
            #[allow(unused_variables, clippy::unused_unit, reason = "a handler may need nothing")]
            fn extract(input: &HandlerInput<'_>) -> Result<Self, Rejection> {
                Ok(($($argument::extract(input)?,)*))
            }

            #[allow(unused_variables, reason = "as above")]
            fn declare(needs: &mut HandlerRequirements) {
                $($argument::declare(needs);)*
            }
        }

        impl<F, Fut, $($argument),*> HandlerFn<($($argument,)*)> for F
        where
            F: Fn($($argument),*) -> Fut + Clone + Send + Sync + 'static,
            Fut: Future + Send + 'static,
        {
            type Output = Fut::Output;

            #[allow(non_snake_case, reason = "each value has the name of its type")]
            fn call(
                &self,
                ($($argument,)*): ($($argument,)*),
            ) -> impl Future<Output = Self::Output> + Send + use<F, Fut, $($argument),*> {
                self($($argument),*)
            }
        }
    };
}

handlers!();
handlers!(A);
handlers!(A, B);
handlers!(A, B, C);
handlers!(A, B, C, D);
handlers!(A, B, C, D, E);
handlers!(A, B, C, D, E, G);

/// Returns the schema of a handler's arguments, as a client gets it. A tool is only called with an
/// object, so a type that may be an object or something else (an enum, any value) is an object
/// here.
pub(super) fn arguments_schema(mut schema: schemars::Schema) -> Option<JsonObject> {
    let may_be_object = match schema.get("type") {
        None => schema.as_bool() != Some(false),
        Some(serde_json::Value::Array(types)) => types.iter().any(|name| name == "object"),
        Some(_) => false,
    };
    if may_be_object {
        // `type` comes first, for readers.
        let mut object = serde_json::Map::new();
        object.insert("type".to_owned(), "object".into());
        let rest = schema.ensure_object();
        rest.remove("type");
        object.append(rest);
        schema = object.into();
    }
    schema_text(schema)
}

/// Returns a schema as a client gets it.
pub(super) fn schema_text(mut schema: schemars::Schema) -> Option<JsonObject> {
    RecursiveTransform(remove_number_format).transform(&mut schema);
    let mut value = schema.to_value();
    let object = value.as_object_mut()?;
    // 2020-12 is the default of the protocol, and the name of a Rust type is no information for
    // clients.
    object.remove("$schema");
    object.remove("title");
    JsonObject::parse(&value.to_string()).ok()
}

/// Removes number formats: JSON Schema 2020-12 has none, and validators complain about `uint64`.
fn remove_number_format(schema: &mut schemars::Schema) {
    let format = schema.get("format").and_then(|format| format.as_str());
    if format.is_some_and(|format| NUMBER_FORMATS.contains(&format)) {
        schema.remove("format");
    }
}

/// The formats that schemars writes for Rust's numbers.
const NUMBER_FORMATS: [&str; 14] = [
    "int8", "int16", "int32", "int64", "int128", "int", "uint8", "uint16", "uint32", "uint64",
    "uint128", "uint", "float", "double",
];
