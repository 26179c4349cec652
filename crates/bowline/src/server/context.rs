//! The context of a request, for its handler.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use bowline_proto::server::RequestContext;
use bowline_proto::{CallError, Payload, RequestKey};
use bowline_types::capabilities::ClientCapabilities;
use bowline_types::common::Implementation;
use bowline_types::logging::{LoggingLevel, LoggingMessageParams};
use bowline_types::meta::{NotificationMeta, RequestMeta, TraceParent, keys};
use bowline_types::progress::ProgressParams;
use bowline_types::tasks::RelatedTask;
use bowline_types::{
    Era, JsonObject, Method, Number, ProgressToken, RawJson, RequestId, Revision, Wire,
};
use tokio::sync::Notify;
use tracing::Span;

use super::client_questions::ClientQuestions;
use super::extract::States;
use super::features::ServerFeatures;
use super::service::MethodName;
use super::session::{SessionCore, SessionShared};
use super::tasks::TaskEntry;
use super::telemetry::{Subject, request_span};
use crate::error::{Error, ErrorKind};
use crate::log_names::entered;

/// The context of a request: what a handler can learn and do while it serves it. Clones share one
/// context.
///
/// It stays valid after the response and when the request is cancelled; notifications are then
/// refused or dropped.
#[derive(Clone)]
pub struct Context(Arc<Inner>);

pub(super) struct Inner {
    pub(super) session: Arc<SessionShared>,
    pub(super) key: RequestKey,
    pub(super) method: MethodName,
    /// The span in which its handler runs.
    span: Span,
    /// The tool, prompt or resource that it names, once its parameters are not kept.
    subject: OnceLock<Option<Subject>>,
    pub(super) revision: Revision,
    /// Its parameters, or [what is kept](Context::drop_large_params) of them.
    params: Mutex<Option<Payload>>,
    /// What a request of the stateless era declares about its client.
    pub(super) stateless: Option<Box<RequestContext>>,
    pub(super) questions: ClientQuestions,
    /// The task that it has become. The task owns the context.
    pub(super) task: OnceLock<Weak<TaskEntry>>,
    extensions: Mutex<States>,
    /// The last progress that was sent.
    progress: Mutex<Option<f64>>,
    is_cancelled: AtomicBool,
    is_shutting_down: AtomicBool,
    /// Notified of a cancellation or shutdown.
    ends: Notify,
    /// How many holders keep the place of the request: the runner of its handler, and a thread of
    /// it.
    holders: AtomicUsize,
}

/// Keeps the place of a request until it is dropped.
pub(super) struct RequestHold(Context);

/// Observes whether the place of a request is held. It holds nothing itself.
#[derive(Debug)]
pub(super) struct HoldStatus(Weak<Inner>);

impl HoldStatus {
    pub(super) fn is_held(&self) -> bool {
        let inner = self.0.upgrade();
        inner.is_some_and(|inner| inner.holders.load(Ordering::Acquire) > 0)
    }
}

impl Drop for RequestHold {
    fn drop(&mut self) {
        self.0.release_hold();
    }
}

impl Context {
    pub(super) fn new(
        session: Arc<SessionShared>,
        key: RequestKey,
        method: MethodName,
        revision: Revision,
        params: Option<Payload>,
        stateless: Option<Box<RequestContext>>,
    ) -> Self {
        Self(Arc::new(Inner {
            span: request_span(&session.span, key, &method, params.as_ref()),
            subject: OnceLock::new(),
            session,
            key,
            method,
            revision,
            params: Mutex::new(params),
            stateless,
            questions: ClientQuestions::default(),
            task: OnceLock::new(),
            extensions: Mutex::default(),
            progress: Mutex::default(),
            is_cancelled: AtomicBool::new(false),
            is_shutting_down: AtomicBool::new(false),
            ends: Notify::new(),
            holders: AtomicUsize::new(1),
        }))
    }

    pub(super) fn inner(&self) -> &Inner {
        &self.0
    }

    /// Returns the span in which its handler runs.
    pub(super) fn span(&self) -> &Span {
        &self.0.span
    }

    /// Returns the tool, prompt or resource that the request names.
    pub(super) fn subject(&self) -> Option<Subject> {
        let of_params = || Subject::of(&self.0.method, self.params().as_ref());
        self.0.subject.get().cloned().unwrap_or_else(of_params)
    }

    pub(super) fn states(&self) -> &States {
        &self.0.session.server.states
    }

    /// Returns the task that the request has become.
    pub(super) fn task(&self) -> Option<Arc<TaskEntry>> {
        self.0.task.get()?.upgrade()
    }

    /// Returns `true` if the request has become a task, which goes on after its response.
    pub fn is_task(&self) -> bool {
        self.0.task.get().is_some()
    }

    /// Returns the number of the request in the log.
    pub(super) fn request_number(&self) -> u64 {
        self.0.key.get()
    }

    /// Returns the protocol revision of the request and its response.
    pub fn revision(&self) -> Revision {
        self.0.revision
    }

    /// Returns the method of the request, as the client has sent it.
    pub fn method(&self) -> &str {
        self.0.method.as_str()
    }

    /// Returns the client's id of the request, until its response is sent.
    pub fn request_id(&self) -> Option<RequestId> {
        let core = self.0.session.lock();
        core.session.request_id(self.0.key).cloned()
    }

    /// Returns the `clientInfo`, which the client declares itself and which proves nothing.
    pub fn client_info(&self) -> Option<Implementation> {
        match &self.0.stateless {
            Some(stateless) => stateless.client_info(),
            None => {
                let client = self.0.session.lock().client.clone();
                client.map(|client| client.info.clone())
            }
        }
    }

    /// Returns the capabilities of the client.
    pub fn client_capabilities(&self) -> ClientCapabilities {
        match &self.0.stateless {
            Some(stateless) => stateless.capabilities.clone(),
            None => {
                let client = self.0.session.lock().client.clone();
                client.map_or_else(ClientCapabilities::new, |client| {
                    client.capabilities.clone()
                })
            }
        }
    }

    /// Returns the parameters of the request.
    pub(super) fn params(&self) -> Option<Payload> {
        let params = self.0.params.lock();
        params.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Drops the parameters except a `_meta` that isn't large: what lasts longer than its request
    /// is not counted by the limits on requests.
    pub(super) fn drop_large_params(&self) {
        let params = self.params();
        self.0
            .subject
            .get_or_init(|| Subject::of(&self.0.method, params.as_ref()));
        let reader = params.as_ref().map(|params| params.as_json().reader());
        let meta = reader.and_then(|reader| reader.peek_member("_meta").ok().flatten());
        let meta = meta.filter(|meta| meta.as_str().len() <= MAX_KEPT_META);
        let little = meta.map(|meta| [("_meta", meta)].into_iter().collect::<JsonObject>());
        let mut params = self.0.params.lock().unwrap_or_else(PoisonError::into_inner);
        *params = little.map(Payload::from);
    }

    /// Returns the `_meta` of the request. For a request that lasts, which is a
    /// [task](Self::is_task) or a subscription, a `_meta` of more than 16 KiB is not kept.
    pub fn meta(&self) -> RequestMeta {
        let params = self.params();
        let params = params.as_ref().map(Payload::as_json);
        let meta = params.and_then(|params| params.reader().peek_member("_meta").ok().flatten());
        let meta = meta.and_then(|meta| RequestMeta::from_json_ref(meta).ok());
        meta.unwrap_or_default()
    }

    /// Returns the span of the caller, when it traces (W3C Trace Context).
    pub fn trace_parent(&self) -> Option<TraceParent> {
        self.meta().trace_parent()
    }

    /// Adds a value to the request, such as the principal: a layer does that, and a handler gets it
    /// with [`extension`](Self::extension) or [`Extension`](super::Extension).
    pub fn insert_extension<T: Send + Sync + 'static>(&self, extension: T) {
        let mut extensions = self.extensions();
        extensions.insert(extension);
    }

    /// Returns a value that was added to the request, by its type.
    pub fn extension<T: Clone + 'static>(&self) -> Option<T> {
        self.extensions().get::<T>().cloned()
    }

    fn extensions(&self) -> MutexGuard<'_, States> {
        let extensions = self.0.extensions.lock();
        extensions.unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the features of the server, to change them and to notify clients of changes.
    pub fn features(&self) -> &ServerFeatures {
        &self.0.session.server.features
    }

    /// Returns `true` if the response will not be sent: the request was cancelled or has timed out,
    /// its client is gone, or the server has ended.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::Acquire)
    }

    /// Waits until the request is cancelled, see [`is_cancelled`](Self::is_cancelled). A handler
    /// that doesn't end within a tenth of a second after that is dropped. Cancel safe.
    pub async fn cancelled(&self) {
        self.wait_until(Self::is_cancelled).await;
    }

    /// Returns `true` if the server shuts down. A response that is returned at once still reaches
    /// the client: handlers are notified a tenth of a second before the
    /// [deadline](crate::server::Server::shutdown_deadline).
    pub fn is_shutting_down(&self) -> bool {
        self.0.is_shutting_down.load(Ordering::Acquire)
    }

    /// Waits until the server shuts down or the request is cancelled: for a handler that can
    /// respond with a partial result. Cancel safe.
    pub async fn shutting_down(&self) {
        self.wait_until(|context| context.is_shutting_down() || context.is_cancelled())
            .await;
    }

    async fn wait_until(&self, is_so: impl Fn(&Self) -> bool) {
        loop {
            let ends = self.0.ends.notified();
            if is_so(self) {
                return;
            }
            ends.await;
        }
    }

    /// Marks the request as cancelled.
    pub(super) fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::Release);
        self.0.ends.notify_waiters();
    }

    /// Marks the server as shutting down: a response can still be sent.
    pub(super) fn shut_down(&self) {
        self.0.is_shutting_down.store(true, Ordering::Release);
        self.0.ends.notify_waiters();
    }

    /// Keeps the place of the request until the hold is dropped, even after its handler is dropped:
    /// a thread goes on until it returns, and the limit is on what runs.
    pub(super) fn hold(&self) -> RequestHold {
        self.0.holders.fetch_add(1, Ordering::Relaxed);
        RequestHold(self.clone())
    }

    /// Returns an observer of the [holds](Self::hold) of the place.
    pub(super) fn hold_status(&self) -> HoldStatus {
        HoldStatus(Arc::downgrade(&self.0))
    }

    /// Ends one hold. The last one frees the place of a request without a response.
    pub(super) fn release_hold(&self) {
        if self.0.holders.fetch_sub(1, Ordering::AcqRel) == 1 {
            let release = |core: &mut SessionCore, now| core.session.release(now, self.0.key);
            self.0.session.with(release);
        }
    }

    /// Sends progress, where the client has asked for it: the progress so far, the total, and a
    /// message. Returns `true` if it was sent: it is not where the client has sent no progress
    /// token, after the response or the cancellation, and while the client doesn't read.
    /// Progress has to increase, so a value that is not above the last one isn't sent either.
    ///
    /// For a [task](Self::is_task) the message becomes its status message; with the extension of
    /// 2026-07-28 progress is only reported that way.
    pub fn progress(
        &self,
        progress: impl Into<Number>,
        total: Option<Number>,
        message: Option<&str>,
    ) -> bool {
        if let (Some(task), Some(message)) = (self.task(), message) {
            task.set_message(message);
        }
        let Some(token) = self.progress_token().filter(|_| self.may_notify()) else {
            return false;
        };
        let progress = progress.into();
        // Held until it is sent: of two concurrent values the higher one must not be overtaken.
        let last = self.0.progress.lock();
        let mut last = last.unwrap_or_else(PoisonError::into_inner);
        let value = progress.as_f64();
        if last.is_some_and(|last| value <= last || value.is_nan()) {
            return false;
        }
        let mut params = ProgressParams::new(token, progress);
        params.total = total;
        params.message = message.map(str::to_owned);
        params.meta = self.related_task_meta();
        let is_sent = self.notify(Method::Progress, &params).is_ok();
        if is_sent {
            *last = Some(value);
        }
        is_sent
    }

    /// Closes the connection of the request's event stream, and lets the client come back for the rest
    /// after `retry`: a long handler need not hold a connection (2025-11-25, basic/transports). What
    /// the handler sends meanwhile is kept, its response too.
    ///
    /// Returns `false`, and does nothing, where the client could not come back: on other transports,
    /// in other revisions, and on a server without resumption
    /// (`HttpConfig::without_resumption`). Call it again to close the
    /// connection on which the client came back.
    ///
    pub fn close_stream(&self, retry: Duration) -> bool {
        self.0.session.close_for_polling(self.0.key, retry)
    }

    fn progress_token(&self) -> Option<ProgressToken> {
        match &self.0.stateless {
            Some(stateless) => stateless.progress_token.clone(),
            None => self.meta().read(keys::PROGRESS_TOKEN).ok()?,
        }
    }

    /// Sends a log message to the client, where it wants messages of this level: all in the
    /// handshake era until it sets a level, and only what the request asks for in the stateless
    /// era. Returns `true` if it was sent.
    pub fn log(&self, level: LoggingLevel, data: impl Into<RawJson>) -> bool {
        if !self.is_log_enabled(&level) {
            return false;
        }
        let mut params = LoggingMessageParams::new(level, data);
        params.logger = self.0.session.server.logger.clone();
        params.meta = self.related_task_meta();
        self.notify(Method::LoggingMessage, &params).is_ok()
    }

    /// Returns `true` if a log message of this level would be sent.
    pub fn is_log_enabled(&self, level: &LoggingLevel) -> bool {
        if !self.0.session.server.has_logging || !self.may_notify() {
            return false;
        }
        match &self.0.stateless {
            Some(stateless) => {
                let least = stateless.log_level.as_ref();
                least.is_some_and(|least| level.is_at_least(least))
            }
            None => self.0.session.lock().session.is_log_level_enabled(level),
        }
    }

    /// Returns `true` if notifications may be sent: none for a task of the extension (TX-16).
    fn may_notify(&self) -> bool {
        !self.is_task() || self.revision().era() == Era::Handshake
    }

    /// Returns the `_meta` that names the task in its notifications (TK-11).
    fn related_task_meta(&self) -> Option<NotificationMeta> {
        let task = self.task()?;
        let related = RelatedTask::new(task.id());
        Some(NotificationMeta::new().with(keys::RELATED_TASK, related))
    }

    /// Sends a notification that belongs to this request.
    pub(super) fn notify<T: Wire>(&self, method: Method, params: &T) -> Result<(), Error> {
        let _entered = entered(self.span());
        let encoded = Payload::encode(params, self.revision());
        let encoded = encoded.map_err(|error| {
            Error::new(ErrorKind::Protocol, error.to_string()).in_operation(method.as_str())
        })?;
        let bytes = encoded.into_bytes();
        let members = bytes.slice(1..bytes.len() - 1);
        let send = |about| {
            let session = &self.0.session;
            session.with(|core, _| core.notify(about, method.as_str(), members))
        };
        // The response to the request of a task is sent, and the token goes on until the task has ended
        // (LC-127).
        let sent = if self.is_task() {
            let task = self.task();
            let sent = task.and_then(|task| task.run_unless_ended(|| send(None)));
            sent.unwrap_or(Err(CallError::RequestClosed))
        } else {
            send(Some(self.0.key))
        };
        sent.map_err(|error| {
            Error::new(ErrorKind::State, error.to_string()).in_operation(method.as_str())
        })
    }
}

/// The largest `_meta` that is kept of a request that lasts.
const MAX_KEPT_META: usize = 16 * 1024;

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("request", &self.0.key.get())
            .field("method", &self.0.method)
            .field("revision", &self.0.revision)
            .finish_non_exhaustive()
    }
}
