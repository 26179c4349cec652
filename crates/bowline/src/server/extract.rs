//! What a handler gets, and what a handler is.
//!
//! A handler is an async function whose arguments say what it needs: typed arguments of the
//! call, the [`Context`], shared [`State`], in any order. What each of them is comes from its
//! type.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;

use bowline_types::{ErrorObject, JsonObject};
use schemars::JsonSchema;
use schemars::transform::{RecursiveTransform, Transform as _};
use serde::de::DeserializeOwned;

use super::context::Context;

/// An argument of a handler: see [`HandlerFn`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be an argument of a handler",
    label = "not something that a handler can ask for",
    note = "arguments of a call need `#[derive(serde::Deserialize, schemars::JsonSchema)]` and must be `Send`",
    note = "besides them a handler may ask for `Context` and `State<T>`"
)]
pub trait Extract: Sized + Send + 'static {
    /// Takes it from a call.
    #[doc(hidden)]
    fn extract(input: &Input<'_>) -> Result<Self, Rejection>;

    /// Tells what it needs, before there is a call.
    #[doc(hidden)]
    fn declare(needs: &mut Needs);
}

/// What a call brings.
#[doc(hidden)]
#[derive(Debug)]
pub struct Input<'a> {
    /// The arguments, as JSON.
    pub(super) arguments: &'a str,
    pub(super) context: &'a Context,
    /// The resource that is read.
    pub(super) uri: Option<&'a str>,
}

/// Why a handler can't be run.
#[doc(hidden)]
#[derive(Debug)]
#[non_exhaustive]
pub enum Rejection {
    /// The arguments are wrong, in words that name the field.
    Arguments(String),
    /// The server is wrong.
    Server(ErrorObject),
}

/// What a handler needs.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Needs {
    /// The schema of its arguments, and how many of them there are.
    pub(super) schema: Option<schemars::Schema>,
    pub(super) arguments: usize,
    pub(super) states: Vec<(TypeId, &'static str)>,
}

/// Typed arguments.
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Extract for T {
    fn extract(input: &Input<'_>) -> Result<Self, Rejection> {
        serde_json::from_str(input.arguments).map_err(|_| wrong::<T>(input.arguments))
    }

    fn declare(needs: &mut Needs) {
        needs.arguments += 1;
        needs.schema = Some(schemars::schema_for!(T));
    }
}

/// Reads again what could not be read, to tell where it is wrong (SV-5).
#[cold]
fn wrong<T: DeserializeOwned>(arguments: &str) -> Rejection {
    let mut reader = serde_json::Deserializer::from_str(arguments);
    let read: Result<T, _> = serde_path_to_error::deserialize(&mut reader);
    Rejection::Arguments(match read {
        Ok(_) => "they are not one JSON object".to_owned(),
        Err(error) => {
            let path = error.path().to_string();
            let words = error.inner().to_string();
            // The place in the text is of no use to whoever made it from an object.
            let words = words.rsplit_once(" at line ").map_or(&*words, |(it, _)| it);
            match path.as_str() {
                "." => words.to_owned(),
                path => format!("{path}: {words}"),
            }
        }
    })
}

impl Extract for Context {
    fn extract(input: &Input<'_>) -> Result<Self, Rejection> {
        Ok(input.context.clone())
    }

    fn declare(_: &mut Needs) {}
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
    fn extract(input: &Input<'_>) -> Result<Self, Rejection> {
        let state = input.context.states().get::<T>();
        state.cloned().map(Self).ok_or_else(|| {
            let words = format!("no state of type {}", type_name::<T>());
            tracing::error!("{words}");
            Rejection::Server(ErrorObject::new(-32603, "the server is set up wrongly"))
        })
    }

    fn declare(needs: &mut Needs) {
        needs.states.push((TypeId::of::<T>(), type_name::<T>()));
    }
}

/// Something that a layer has added to the request with
/// [`Context::insert_extension`]: who makes it, for instance.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extension<T>(pub T);

impl<T: Clone + Send + Sync + 'static> Extract for Extension<T> {
    fn extract(input: &Input<'_>) -> Result<Self, Rejection> {
        let extension = input.context.extension::<T>();
        extension.map(Self).ok_or_else(|| {
            let words = format!("no extension of type {}", type_name::<T>());
            tracing::error!("{words}");
            Rejection::Server(ErrorObject::new(-32603, "the server is set up wrongly"))
        })
    }

    fn declare(_: &mut Needs) {}
}

/// The states, by type.
#[derive(Clone, Debug, Default)]
pub(super) struct States(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl States {
    pub(super) fn insert<T: Send + Sync + 'static>(&mut self, state: T) {
        self.0.insert(TypeId::of::<T>(), Arc::new(state));
    }

    pub(super) fn get<T: 'static>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref()
    }

    pub(super) fn has(&self, id: TypeId) -> bool {
        self.0.contains_key(&id)
    }
}

/// An async function that serves calls: up to six arguments, each of which is
/// [something to ask for](Extract).
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
    message = "this is no handler",
    label = "not an async function of arguments that a handler can ask for",
    note = "a handler is a closure or function that is `Clone + Send + Sync + 'static`, returns a `Send` future, \
            and has up to six arguments: `Context`, `State<T>`, and at most one type of your own with \
            `#[derive(serde::Deserialize, schemars::JsonSchema)]`"
)]
pub trait HandlerFn<Arguments>: Clone + Send + Sync + 'static {
    /// What it returns.
    type Output;

    /// Runs it.
    #[doc(hidden)]
    fn run(
        &self,
        input: &Input<'_>,
    ) -> Result<impl Future<Output = Self::Output> + Send + use<Self, Arguments>, Rejection>;

    /// Tells what it needs.
    #[doc(hidden)]
    fn needs() -> Needs;
}

macro_rules! handlers {
    ($($argument:ident),*) => {
        impl<F, Fut, $($argument),*> HandlerFn<($($argument,)*)> for F
        where
            F: Fn($($argument),*) -> Fut + Clone + Send + Sync + 'static,
            Fut: Future + Send + 'static,
            $($argument: Extract,)*
        {
            type Output = Fut::Output;

            #[allow(unused_variables, reason = "one without arguments has no use for input")]
            fn run(
                &self,
                input: &Input<'_>,
            ) -> Result<impl Future<Output = Self::Output> + Send + use<F, Fut, $($argument),*>, Rejection>
            {
                Ok(self($($argument::extract(input)?),*))
            }

            fn needs() -> Needs {
                #[allow(unused_mut, reason = "as above")]
                let mut needs = Needs::default();
                $($argument::declare(&mut needs);)*
                needs
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

/// The schema of a handler's arguments or of its result, as a client gets it.
pub(super) fn schema_text(mut schema: schemars::Schema) -> Option<JsonObject> {
    RecursiveTransform(forget_format_of_number).transform(&mut schema);
    let mut value = schema.to_value();
    let object = value.as_object_mut()?;
    // 2020-12 is what the protocol takes for granted, and the name of a Rust type is
    // nobody's business.
    object.remove("$schema");
    object.remove("title");
    JsonObject::parse(&value.to_string()).ok()
}

/// JSON Schema 2020-12 has no formats of numbers, and validators complain about `uint64`.
fn forget_format_of_number(schema: &mut schemars::Schema) {
    let format = schema.get("format").and_then(|it| it.as_str());
    if format.is_some_and(|format| FORMATS_OF_NUMBERS.contains(&format)) {
        schema.remove("format");
    }
}

/// What schemars says of Rust's numbers.
const FORMATS_OF_NUMBERS: [&str; 14] = [
    "int8", "int16", "int32", "int64", "int128", "int", "uint8", "uint16", "uint32", "uint64",
    "uint128", "uint", "float", "double",
];
