//! Handlers of sampling, elicitation and roots, which also declare the capability.
//!
//! A handler serves requests of the handshake era and input requests of the stateless era alike,
//! and its capability is declared. A handler is dropped when the server no longer needs its
//! result.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bowline_types::capabilities::{ElicitationCapability, RootsCapability, SamplingCapability};
use bowline_types::elicitation::{
    ElicitFormParams, ElicitParams, ElicitResult, ElicitUrlParams, FormSchema,
};
use bowline_types::method::requests;
use bowline_types::roots::{ListRootsResult, Root};
use bowline_types::sampling::{CreateMessageParams, CreateMessageResult};
use bowline_types::{ErrorObject, JsonObject};

use super::config::ClientConfig;
use super::server_requests::Refusal;
use crate::error::{Error, ErrorKind};

/// Returns the refusal of a request that the server must not send, since it was not declared.
fn not_declared(what: &str) -> Refusal {
    let message = format!("this client has not declared {what}");
    Refusal::NotDeclared(ErrorObject::invalid_params(message))
}

type HandlerFuture<T> = Pin<Box<dyn Future<Output = Result<T, ErrorObject>> + Send>>;
type Handler<P, T> = Arc<dyn Fn(P) -> HandlerFuture<T> + Send + Sync>;

/// The handlers of elicitations: forms, and URLs to open.
#[derive(Clone, Default)]
pub(super) struct ElicitationHandlers {
    form: Option<Handler<ElicitFormParams, ElicitResult>>,
    url: Option<Handler<ElicitUrlParams, ElicitResult>>,
}

/// Handlers of requests of the server. Each also declares its capability.
impl ClientConfig {
    /// Handles sampling requests of the server. The handler decides what the model sees, and asks
    /// the user for approval where that is called for.
    ///
    /// A request with tools is refused: see [`sampling_with_tools`](Self::sampling_with_tools).
    ///
    /// ```
    /// use bowline::ClientConfig;
    /// use bowline::types::common::{Implementation, Role};
    /// use bowline::types::sampling::CreateMessageResult;
    ///
    /// let mut config = ClientConfig::new(Implementation::new("example", "1.0"));
    /// config.sampling(|asked| async move {
    ///     let words = format!("{} messages were sent", asked.messages.len());
    ///     Ok(CreateMessageResult::new(Role::Assistant, &*words, "a-model"))
    /// });
    /// ```
    pub fn sampling<F, Fut>(&mut self, handler: F) -> &mut Self
    where
        F: Fn(CreateMessageParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<CreateMessageResult, ErrorObject>> + Send + 'static,
    {
        let declared = self.connection().capabilities_mut();
        declared
            .sampling
            .get_or_insert_with(SamplingCapability::new);
        self.register_sampling_handler(move |request| {
            // SM-2: a server must not, and a client that has not declared them must refuse.
            let has_tools = request.tools.is_some() || request.tool_choice.is_some();
            if has_tools {
                Err(not_declared("sampling with tools"))
            } else {
                Ok(handler(request))
            }
        })
    }

    /// Handles sampling requests of the server that may include tools for the model. New in
    /// 2025-11-25.
    pub fn sampling_with_tools<F, Fut>(&mut self, handler: F) -> &mut Self
    where
        F: Fn(CreateMessageParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<CreateMessageResult, ErrorObject>> + Send + 'static,
    {
        let declared = self.connection().capabilities_mut();
        let sampling = declared
            .sampling
            .get_or_insert_with(SamplingCapability::new);
        sampling.tools.get_or_insert_default();
        self.register_sampling_handler(move |request| Ok(handler(request)))
    }

    fn register_sampling_handler<F, Fut>(&mut self, handler: F) -> &mut Self
    where
        F: Fn(CreateMessageParams) -> Result<Fut, Refusal> + Send + Sync + 'static,
        Fut: Future<Output = Result<CreateMessageResult, ErrorObject>> + Send + 'static,
    {
        self.handlers
            .add_typed::<requests::CreateMessage, _, _, _>(move |request| {
                // SM-8: tool use and tool results have an order, also for a client that has not
                // declared tools.
                let checked = request.check_tool_results();
                let checked =
                    checked.map_err(|message| ErrorObject::invalid_params(message).into());
                let response = checked.and_then(|()| handler(request));
                async move { response?.await.map_err(Refusal::from) }
            });
        self
    }

    /// Handles form elicitations of the server: the user fills in a form.
    ///
    /// Fields that are left out get their defaults. A result that doesn't fit the form is an
    /// error of the handler: see [`FormSchema::fill`] and [`PrimitiveSchema::check`], with
    /// which it can be checked while it is typed.
    ///
    /// [`FormSchema::fill`]: bowline_types::elicitation::FormSchema::fill
    /// [`PrimitiveSchema::check`]: bowline_types::elicitation::PrimitiveSchema::check
    ///
    /// ```
    /// use bowline::ClientConfig;
    /// use bowline::types::common::Implementation;
    /// use bowline::types::elicitation::ElicitResult;
    ///
    /// let mut config = ClientConfig::new(Implementation::new("example", "1.0"));
    /// config.elicitation(|form| async move {
    ///     println!("{}", form.message);
    ///     Ok(ElicitResult::accept([("name", "Ada")]))
    /// });
    /// ```
    pub fn elicitation<F, Fut>(&mut self, handler: F) -> &mut Self
    where
        F: Fn(ElicitFormParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<ElicitResult, ErrorObject>> + Send + 'static,
    {
        let elicitation = self.elicitation_capability_mut();
        elicitation.form.get_or_insert_with(JsonObject::new);
        self.elicitations.form = Some(Arc::new(move |form| {
            let schema = form.requested_schema.clone();
            let response = handler(form);
            Box::pin(async move { fill_form(response.await?, &schema) })
        }));
        self.register_elicitation_handlers()
    }

    /// Handles URL elicitations of the server: the user opens a URL. New in 2025-11-25. Accepting
    /// one means that the URL is opened, not that the user has finished there.
    ///
    /// A server of 2025-11-25 may also refuse a call until URL elicitations are done (−32042). The
    /// same handler runs for each of them. When all are accepted, and the server notifies that they
    /// are complete or the user [confirms it](Self::on_url_elicitation_required), the call is made again, within
    /// its own time and three times at most. Otherwise it ends with the server's error, which
    /// [lists](Error::url_elicitations) the elicitations.
    pub fn elicitation_url<F, Fut>(&mut self, handler: F) -> &mut Self
    where
        F: Fn(ElicitUrlParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<ElicitResult, ErrorObject>> + Send + 'static,
    {
        let elicitation = self.elicitation_capability_mut();
        elicitation.url.get_or_insert_with(JsonObject::new);
        self.handlers.url_retry.is_enabled = true;
        self.elicitations.url = Some(Arc::new(move |elicitation| {
            let response = handler(elicitation);
            // EL-9: the result of a URL elicitation has no content.
            Box::pin(async move { Ok(without_content(response.await?)) })
        }));
        self.register_elicitation_handlers()
    }

    /// Sets the roots, which declare to the server where it may work. They can be
    /// [changed](super::features::Roots::set) later; a client that has none yet declares them
    /// with an empty list. A root without a `file://` URI is left out, with a warning.
    pub fn roots(&mut self, roots: impl IntoIterator<Item = Root>) -> &mut Self {
        let (roots, invalid): (Vec<_>, Vec<_>) = roots.into_iter().partition(is_file);
        for root in invalid {
            tracing::warn!(uri = root.uri, "root left out: not a `file://` URI");
        }
        let declared = self.connection().capabilities_mut();
        let capability = declared.roots.get_or_insert_with(RootsCapability::new);
        capability.list_changed = Some(true);
        self.handlers.set_roots(RootList::new(roots));
        self
    }

    fn elicitation_capability_mut(&mut self) -> &mut ElicitationCapability {
        let declared = self.connection().capabilities_mut();
        declared
            .elicitation
            .get_or_insert_with(ElicitationCapability::new)
    }

    fn register_elicitation_handlers(&mut self) -> &mut Self {
        let ElicitationHandlers { form, url } = self.elicitations.clone();
        self.handlers
            .add_typed::<requests::Elicit, _, _, _>(move |request| {
                let response = match (request, &form, &url) {
                    (ElicitParams::Form(request), Some(form), _) => Some(form(request)),
                    (ElicitParams::Url(request), _, Some(url)) => Some(url(request)),
                    _ => None,
                };
                async move {
                    match response {
                        Some(response) => response.await.map_err(Refusal::from),
                        // EL-2.
                        None => Err(not_declared("this mode of elicitation")),
                    }
                }
            });
        self
    }
}

/// Returns the result of a form elicitation with defaults filled in and checked against its schema
/// (EL-8, EL-9, EL-10).
fn fill_form(mut result: ElicitResult, schema: &FormSchema) -> Result<ElicitResult, ErrorObject> {
    if !result.is_accepted() {
        return Ok(without_content(result));
    }
    let content = result.content.take().unwrap_or_default();
    match schema.fill(content) {
        Ok(content) => Ok(result.content(content)),
        Err(error) => {
            // The message names a field, not its value.
            tracing::error!(%error, "result of the elicitation handler doesn't match the requested schema");
            Err(ErrorObject::internal_error(error.to_string()))
        }
    }
}

fn without_content(mut result: ElicitResult) -> ElicitResult {
    result.content = None;
    result
}

impl fmt::Debug for ElicitationHandlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ElicitationHandlers")
            .field("form", &self.form.is_some())
            .field("url", &self.url.is_some())
            .finish()
    }
}

/// Roots that can change. Clones are the same list.
#[derive(Clone, Debug, Default)]
pub(super) struct RootList(Arc<Mutex<Arc<[Root]>>>);

impl RootList {
    fn new(roots: Vec<Root>) -> Self {
        Self(Arc::new(Mutex::new(roots.into())))
    }

    pub(super) fn get(&self) -> Arc<[Root]> {
        Arc::clone(&self.lock())
    }

    /// Replaces them all, or none.
    pub(super) fn set(&self, roots: Vec<Root>) -> Result<(), Error> {
        if let Some(invalid) = roots.iter().find(|root| !is_file(root)) {
            let uri: String = invalid.uri.chars().take(100).collect();
            let message = format!("root {uri:?} is not a `file://` URI");
            return Err(Error::new(ErrorKind::Config, message));
        }
        *self.lock() = roots.into();
        Ok(())
    }

    /// Returns another list with the same roots.
    pub(super) fn copy(&self) -> Self {
        Self::new(self.get().to_vec())
    }

    pub(super) fn result(&self) -> ListRootsResult {
        ListRootsResult::new(self.get().to_vec())
    }

    fn lock(&self) -> MutexGuard<'_, Arc<[Root]>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// RT-1: roots are `file://` URIs, in all revisions.
fn is_file(root: &Root) -> bool {
    root.uri.starts_with("file://")
}
