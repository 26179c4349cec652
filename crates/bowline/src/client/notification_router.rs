//! Notifications of the server, and their handlers.
//!
//! The connection never waits for a handler. Most run one after the other in a task of their
//! own, which exists only while there is something to do; what comes faster than they work
//! waits in a bounded [queue](queue). Handlers that must see a notification before anything
//! else happens are run inline, by the connection itself, and have to be quick.

mod queue;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bowline_proto::Payload;
use bowline_types::method;
use bowline_types::{DecodeError, Wire};
use tracing::{Instrument as _, Span};

use super::telemetry::Telemetry;
use crate::log_names::shortened;
use crate::panics::{CatchPanic, caught};
use queue::Queue;

type HandlerFuture = Pin<Box<dyn Future<Output = ()> + Send>>;
type QueuedHandler = dyn Fn(Arc<ServerNotification>) -> HandlerFuture + Send + Sync;
type InlineHandler = dyn Fn(&ServerNotification) + Send + Sync;

/// A notification of the server.
#[derive(Clone, Debug)]
pub struct ServerNotification {
    method: Box<str>,
    params: Option<Payload>,
    missed: u64,
    /// Where its handlers run.
    span: Span,
}

impl ServerNotification {
    /// Returns the method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Returns the parameters.
    pub fn params(&self) -> Option<&Payload> {
        self.params.as_ref()
    }

    /// Returns how many notifications were dropped just before this one, because handlers were too
    /// slow for them.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Reads the parameters.
    ///
    /// # Errors
    ///
    /// When they are no `T`.
    pub fn decode<T: Wire>(&self) -> Result<T, DecodeError> {
        T::from_json(self.params.as_ref().map_or("{}", Payload::as_str))
    }
}

/// Handlers of notifications. Clones are the same router.
///
/// Handlers may be added and removed at any time. Each sees notifications in the order in
/// which they came; all that want one see it in the order in which they were added, one
/// after the other. A panic in one is logged, and the others still run.
///
/// When handlers are slower than the server, `list_changed` of one kind and `updated` of one
/// resource wait once, however often they came; of the others the oldest are dropped beyond
/// a limit, and the next one [has their number](ServerNotification::missed).
///
/// ```
/// use bowline::client::Router;
/// use bowline::types::method::notifications;
///
/// let router = Router::default();
/// let id = router.on("notifications/message", |note| async move {
///     println!("{}", note.params().map_or("", |params| params.as_str()));
/// });
/// router.on_typed::<notifications::LoggingMessage, _, _>(|message| async move {
///     println!("{:?}", message.level);
/// });
/// assert!(router.remove(id));
/// ```
#[derive(Clone, Default)]
pub struct Router(Arc<Inner>);

#[derive(Default)]
struct Inner {
    table: Mutex<Table>,
    queue: Mutex<Queue>,
}

/// The handlers. The list is replaced when it changes, so that it can be gone through
/// without the lock.
#[derive(Clone, Default)]
struct Table {
    entries: Arc<[Entry]>,
    next: u64,
}

#[derive(Clone)]
struct Entry {
    id: HandlerId,
    /// `None` for all methods.
    method: Option<Box<str>>,
    kind: HandlerKind,
}

#[derive(Clone)]
enum HandlerKind {
    Queued(Arc<QueuedHandler>),
    Inline(Arc<InlineHandler>),
}

impl Entry {
    fn wants(&self, method: &str) -> bool {
        self.method.as_deref().is_none_or(|wanted| wanted == method)
    }
}

/// A handler, to remove it by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HandlerId(u64);

impl Router {
    /// Adds a handler for a method.
    pub fn on<F, Fut>(&self, method: impl Into<Box<str>>, handler: F) -> HandlerId
    where
        F: Fn(Arc<ServerNotification>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.add(Some(method.into()), queued(handler))
    }

    /// Adds a handler for all methods.
    pub fn on_any<F, Fut>(&self, handler: F) -> HandlerId
    where
        F: Fn(Arc<ServerNotification>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.add(None, queued(handler))
    }

    /// Adds a handler for a notification of the protocol. One whose parameters can't be read
    /// is logged, and not delivered.
    pub fn on_typed<N, F, Fut>(&self, handler: F) -> HandlerId
    where
        N: method::NotificationMethod,
        N::Params: Send,
        F: Fn(N::Params) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let run: Arc<QueuedHandler> =
            Arc::new(move |note: Arc<ServerNotification>| -> HandlerFuture {
                match note.decode::<N::Params>() {
                    Ok(params) => Box::pin(handler(params)),
                    Err(error) => {
                        tracing::warn!(
                            method = &*shortened(&note.method), %error,
                            "parameters of a notification can't be decoded"
                        );
                        Box::pin(std::future::ready(()))
                    }
                }
            });
        self.add(Some(N::METHOD.as_str().into()), HandlerKind::Queued(run))
    }

    /// Adds a handler that the connection itself runs, before anything that came later:
    /// the connection waits for it. `None` wants all methods.
    pub fn on_inline<F>(&self, method: Option<&str>, handler: F) -> HandlerId
    where
        F: Fn(&ServerNotification) + Send + Sync + 'static,
    {
        self.add(
            method.map(Box::from),
            HandlerKind::Inline(Arc::new(handler)),
        )
    }

    /// Removes a handler. Returns `true` if it was there. One that runs goes on to its end.
    pub fn remove(&self, id: HandlerId) -> bool {
        let mut table = self.table();
        let kept: Arc<[Entry]> = table
            .entries
            .iter()
            .filter(|entry| entry.id != id)
            .cloned()
            .collect();
        let was_there = kept.len() < table.entries.len();
        let before = std::mem::replace(&mut table.entries, kept);
        drop(table);
        // What a handler holds is dropped without the lock: it may be a client.
        drop(before);
        was_there
    }

    /// Limits what waits for handlers: notifications, and bytes of their parameters. Default
    /// 1,000 and 16 MiB.
    pub fn limit(&self, notifications: usize, bytes: usize) {
        self.queue().limit(notifications, bytes);
    }

    /// Returns the number of notifications that were dropped because handlers were too slow.
    pub fn dropped(&self) -> u64 {
        self.queue().dropped()
    }

    /// Returns another router with the same handlers and limits.
    pub(super) fn copy(&self) -> Self {
        let table = self.table().clone();
        let queue = self.queue().with_same_limits();
        Self(Arc::new(Inner {
            table: Mutex::new(table),
            queue: Mutex::new(queue),
        }))
    }

    fn add(&self, method: Option<Box<str>>, kind: HandlerKind) -> HandlerId {
        let mut table = self.table();
        let id = HandlerId(table.next);
        table.next += 1;
        let entry = Entry { id, method, kind };
        table.entries = table.entries.iter().cloned().chain([entry]).collect();
        id
    }

    /// Dispatches a notification: inline handlers at once, the others through the queue. Must be
    /// called within a runtime.
    pub(super) fn dispatch(
        &self,
        telemetry: &Telemetry,
        method: Box<str>,
        params: Option<Payload>,
    ) {
        let entries = Arc::clone(&self.table().entries);
        if entries.is_empty() {
            return;
        }
        let note = ServerNotification {
            span: telemetry.handler_span(&method, None),
            method,
            params,
            missed: 0,
        };
        let mut needs_queue = false;
        for entry in entries.iter().filter(|entry| entry.wants(&note.method)) {
            match &entry.kind {
                HandlerKind::Queued(_) => needs_queue = true,
                HandlerKind::Inline(handler) => {
                    let _entered = note.span.enter();
                    if let Err(panicked) = caught(|| handler(&note)) {
                        log_panic(&note.method, &panicked.0);
                    }
                }
            }
        }
        if needs_queue && self.queue().push(note) {
            // The runner exists from here: a runtime that has ended drops it before it has run.
            let runner = QueueRunner {
                router: self.clone(),
                is_done: false,
            };
            tokio::spawn(run_queued_handlers(runner));
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let handlers = self.table().entries.len();
        f.debug_struct("Router")
            .field("handlers", &handlers)
            .finish_non_exhaustive()
    }
}

fn queued<F, Fut>(handler: F) -> HandlerKind
where
    F: Fn(Arc<ServerNotification>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    HandlerKind::Queued(Arc::new(move |note| Box::pin(handler(note))))
}

/// Runs handlers until nothing waits.
async fn run_queued_handlers(mut runner: QueueRunner) {
    while let Some(note) = runner.next() {
        let span = note.span.clone();
        runner.router.run_handlers(note).instrument(span).await;
    }
}

impl Router {
    /// Runs the handlers of a notification, one after the other.
    async fn run_handlers(&self, note: ServerNotification) {
        let note = Arc::new(note);
        let entries = Arc::clone(&self.table().entries);
        for entry in entries.iter().filter(|entry| entry.wants(&note.method)) {
            let HandlerKind::Queued(handler) = &entry.kind else {
                continue;
            };
            // The handler may have been removed while others ran.
            if !self.has_handler(entry.id) {
                continue;
            }
            let handling = match caught(|| handler(Arc::clone(&note))) {
                Ok(handling) => CatchPanic::new(handling).await,
                Err(panicked) => Err(panicked),
            };
            if let Err(panicked) = handling {
                log_panic(&note.method, &panicked.0);
            }
        }
    }

    fn has_handler(&self, id: HandlerId) -> bool {
        self.table().entries.iter().any(|entry| entry.id == id)
    }
}

/// The one task that runs queued handlers. When its runtime ends with work left, the next
/// notification starts another one.
struct QueueRunner {
    router: Router,
    is_done: bool,
}

impl QueueRunner {
    fn next(&mut self) -> Option<ServerNotification> {
        let next = self.router.queue().pop();
        self.is_done = next.is_none();
        next
    }
}

impl Drop for QueueRunner {
    fn drop(&mut self) {
        if !self.is_done {
            self.router.queue().set_idle();
        }
    }
}

fn log_panic(method: &str, message: &str) {
    let method = &*shortened(method);
    tracing::error!(method, panic = message, "notification handler panicked");
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().expect("a runtime")
    }

    #[test]
    fn a_runtime_that_ends_before_handlers_run_does_not_block_the_next_one() {
        let router = Router::default();
        let telemetry = Telemetry::new(None, "memory");
        let (sender, mut seen) = mpsc::unbounded_channel();
        router.on_any(move |note| {
            sender.send(note.method().to_owned()).expect("it is seen");
            async {}
        });
        runtime().block_on(async { router.dispatch(&telemetry, "first".into(), None) });
        assert!(seen.try_recv().is_err(), "there was no time to run it");
        let second = runtime().block_on(async {
            router.dispatch(&telemetry, "second".into(), None);
            let soon = std::time::Duration::from_secs(30);
            let both = async { (seen.recv().await, seen.recv().await) };
            tokio::time::timeout(soon, both).await.expect("in time")
        });
        assert_eq!(second, (Some("first".into()), Some("second".into())));
    }
}
