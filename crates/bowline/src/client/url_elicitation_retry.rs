//! Calls that a server refuses until URL elicitations are done (−32042, only in 2025-11-25).
//!
//! The elicitations go to the handler of URL elicitations, as if the server had requested them, one
//! after the other. When all were accepted, and the server notifies that they are complete or the
//! user confirms it, the call is made again. All of it happens in the future of the call, within
//! its time: dropping the future ends it.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use bowline_proto::link::LinkCall;
use bowline_proto::{Outcome, Payload, Sent};
use bowline_types::elicitation::{ElicitResult, ElicitUrlParams, ElicitationCompleteParams};
use bowline_types::{Method, Revision, Wire as _};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument as _;

use super::call::{OnProgress, place_call};
use super::config::ClientConfig;
use super::features::Canceller;
use super::notification_router::HandlerId;
use super::pending_call::PendingCall;
use super::server_requests::ServerRequest;
use super::shared::Shared;
use crate::error::{Error, ErrorKind};
use crate::panics::{CatchPanic, caught};

/// The revision that has such refusals.
const REVISION: Revision = Revision::V2025_11_25;

/// How often a call is made again: one elicitation may lead to another.
const MAX_ROUNDS: usize = 3;

/// The limit on the elicitations of one refusal. No user opens more.
const MAX_ELICITATIONS: usize = 16;

/// The longest wait for elicitations, where a call has more time.
const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

type ConfirmationFuture = Pin<Box<dyn Future<Output = bool> + Send>>;
type ConfirmationHandler = Arc<dyn Fn(Vec<ElicitUrlParams>) -> ConfirmationFuture + Send + Sync>;

/// The policy for required URL elicitations: refuse them, or the handler that confirms their end.
#[derive(Clone, Default)]
pub(super) struct UrlRetryPolicy {
    pub(super) is_enabled: bool,
    confirmed: Option<ConfirmationHandler>,
}

impl ClientConfig {
    /// Sets a handler that returns whether the user has finished the URL elicitations for which a
    /// server of 2025-11-25 refused a call: see [`elicitation_url`](Self::elicitation_url), whose
    /// handler has opened them.
    ///
    /// The call is made again when the handler returns `true` or the server notifies that all are
    /// complete, whichever comes first; with `false` it ends with the server's error. Without a
    /// handler the notification is waited for, within the call's own time: servers need not send
    /// it.
    ///
    /// The handler is dropped when its result is no longer needed.
    pub fn on_url_elicitation_required<F, Fut>(&mut self, handler: F) -> &mut Self
    where
        F: Fn(Vec<ElicitUrlParams>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = bool> + Send + 'static,
    {
        let confirmed: ConfirmationHandler =
            Arc::new(move |elicitations| -> ConfirmationFuture { Box::pin(handler(elicitations)) });
        self.handlers.url_retry.confirmed = Some(confirmed);
        self
    }
}

impl UrlRetryPolicy {
    /// Returns `true` when the user confirms that the elicitations are done.
    async fn confirmed(&self, elicitations: Vec<ElicitUrlParams>) -> bool {
        let Some(confirmed) = &self.confirmed else {
            return pending().await;
        };
        let outcome = match caught(|| confirmed(elicitations)) {
            Ok(response) => CatchPanic::new(response).await,
            Err(panicked) => Err(panicked),
        };
        outcome.unwrap_or_else(|panicked| {
            tracing::error!(
                panic = panicked.0,
                "handler of required URL elicitations panicked"
            );
            false
        })
    }
}

impl fmt::Debug for UrlRetryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UrlRetryPolicy")
            .field("is_enabled", &self.is_enabled)
            .finish_non_exhaustive()
    }
}

/// What is needed to retry a call.
#[derive(Debug)]
pub(super) struct RetryPlan {
    call: LinkCall,
    checks_capability: bool,
    since: Instant,
    total: Duration,
    canceller: Arc<Canceller>,
}

impl RetryPlan {
    /// Returns the plan for a call that is about to be made, where URL elicitations are handled.
    pub(super) fn for_call(
        shared: &Shared,
        call: &LinkCall,
        checks_capability: bool,
        total: Duration,
    ) -> Option<Box<Self>> {
        shared.handlers.url_retry.is_enabled.then(|| {
            Box::new(Self {
                call: call.clone(),
                checks_capability,
                since: Instant::now(),
                total,
                canceller: Arc::default(),
            })
        })
    }

    pub(super) fn canceller(&self) -> Arc<Canceller> {
        Arc::clone(&self.canceller)
    }

    /// Runs the URL elicitations for which the call was refused, and makes it again.
    pub(super) async fn run(
        self: Box<Self>,
        shared: Arc<Shared>,
        method: Cow<'static, str>,
        refused: Error,
        on_progress: Option<OnProgress>,
    ) -> Result<Payload, Error> {
        let _active = ActiveGuard::new(self.canceller());
        let mut cancelled = pin!(self.canceller.cancelled());
        let mut ending = pin!(self.retry_until_done(&shared, &method, refused, on_progress));
        poll_fn(|cx| {
            if cancelled.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Err(outcome_error(Outcome::Cancelled, &method)));
            }
            ending.as_mut().poll(cx)
        })
        .await
        // Its first attempt was sent, whatever became of the next one.
        .map_err(|error| {
            let is_idempotent = self.call.is_idempotent();
            error.with_sent(Sent::Maybe).with_repeatable(is_idempotent)
        })
    }

    async fn retry_until_done(
        &self,
        shared: &Arc<Shared>,
        method: &str,
        mut refused: Error,
        mut on_progress: Option<OnProgress>,
    ) -> Result<Payload, Error> {
        let revision = shared
            .lock()
            .agreement
            .as_ref()
            .map(|agreement| agreement.revision);
        if revision != Some(REVISION) {
            return Err(refused);
        }
        let until = self.since + self.total.min(MAX_WAIT);
        let mut seen = HashSet::new();
        for _ in 0..MAX_ROUNDS {
            let Some(elicitations) = new_elicitations(&refused, &mut seen) else {
                break;
            };
            match timeout_at(until, complete_elicitations(shared, elicitations)).await {
                Ok(true) => {}
                Ok(false) | Err(_) => break,
            }
            let key = place_call(shared, method, self.call.clone(), self.checks_capability);
            let key = key.map_err(|error| error.in_operation(method.to_owned()))?;
            let mut call = PendingCall::new(
                Arc::clone(shared),
                key,
                method.to_owned().into(),
                on_progress.take(),
            );
            match timeout_at(until, &mut call).await {
                Ok(Err(error)) if !error.url_elicitations().is_empty() => refused = error,
                Ok(ended) => return ended,
                Err(_) => {
                    let elapsed = self.since.elapsed();
                    let error = outcome_error(Outcome::TimedOut { elapsed }, method);
                    return Err(shared.with_connection_failure(error));
                }
            }
            on_progress = call.take_on_progress();
        }
        Err(refused)
    }
}

fn outcome_error(outcome: Outcome, method: &str) -> Error {
    let error = Error::from_outcome(outcome, None, None).err();
    let error = error.unwrap_or_else(|| Error::new(ErrorKind::State, ""));
    error.in_operation(method.to_owned())
}

/// Returns the elicitations for which a call was refused. `None` when there are too many, or one
/// was done before, which did not help.
fn new_elicitations(refused: &Error, seen: &mut HashSet<String>) -> Option<Vec<ElicitUrlParams>> {
    let elicitations = refused.url_elicitations();
    if elicitations.is_empty() || elicitations.len() > MAX_ELICITATIONS {
        return None;
    }
    let mut are_new = true;
    for elicitation in &elicitations {
        let id = elicitation
            .elicitation_id
            .as_ref()
            .unwrap_or(&elicitation.url);
        are_new &= seen.insert(id.clone());
    }
    are_new.then_some(elicitations)
}

/// Returns `true` if the user has accepted all elicitations, and they are complete.
async fn complete_elicitations(shared: &Arc<Shared>, elicitations: Vec<ElicitUrlParams>) -> bool {
    // Registered first: one may be complete before the next one is opened.
    let completions = Completions::new(shared, &elicitations);
    for elicitation in &elicitations {
        if !is_accepted_by_user(shared, elicitation).await {
            return false;
        }
    }
    let confirmed = shared.handlers.url_retry.confirmed(elicitations);
    let mut confirmed = pin!(confirmed.instrument(shared.telemetry.span()));
    let mut completed = pin!(completions.wait_for_all());
    poll_fn(|cx| {
        if completed.as_mut().poll(cx).is_ready() {
            return Poll::Ready(true);
        }
        confirmed.as_mut().poll(cx)
    })
    .await
}

/// Returns `true` if the user has accepted an elicitation, as if the server had requested it.
async fn is_accepted_by_user(shared: &Shared, elicitation: &ElicitUrlParams) -> bool {
    let Ok(params) = Payload::encode(elicitation, REVISION) else {
        return false;
    };
    let request = ServerRequest::new(Method::Elicit.as_str().into(), Some(params), REVISION);
    let span = shared.telemetry.handler_span(request.method(), None);
    match shared.handlers.respond(request).instrument(span).await {
        Ok(reply) => {
            ElicitResult::from_json(reply.as_str()).is_ok_and(|result| result.is_accepted())
        }
        Err(error) => {
            let _entered = shared.telemetry.enter();
            tracing::debug!(%error, "URL elicitation failed: the call is not repeated");
            false
        }
    }
}

/// The elicitations of which the server has not yet notified that they are complete.
struct Completions {
    shared: Arc<Shared>,
    open: Arc<OpenElicitations>,
    handler: HandlerId,
}

#[derive(Default)]
struct OpenElicitations {
    ids: Mutex<HashSet<String>>,
    changed: Notify,
}

impl Completions {
    fn new(shared: &Arc<Shared>, elicitations: &[ElicitUrlParams]) -> Self {
        // The revision requires an id. An elicitation without one can't be waited for.
        let ids = elicitations
            .iter()
            .filter_map(|elicitation| elicitation.elicitation_id.clone());
        let open = Arc::new(OpenElicitations {
            ids: Mutex::new(ids.collect()),
            changed: Notify::new(),
        });
        let method = Method::ElicitationComplete.as_str();
        let waiting = Arc::clone(&open);
        let handler = shared.router.on_inline(Some(method), move |note| {
            // Others are ignored (client/elicitation, 2025-11-25).
            if let Ok(done) = note.decode::<ElicitationCompleteParams>()
                && waiting.lock().remove(&done.elicitation_id)
            {
                waiting.changed.notify_one();
            }
        });
        Self {
            shared: Arc::clone(shared),
            open,
            handler,
        }
    }

    async fn wait_for_all(&self) {
        while !self.open.lock().is_empty() {
            self.open.changed.notified().await;
        }
    }
}

impl Drop for Completions {
    fn drop(&mut self) {
        self.shared.router.remove(self.handler);
    }
}

impl OpenElicitations {
    fn lock(&self) -> MutexGuard<'_, HashSet<String>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Marks a call as cancellable while its elicitations run.
struct ActiveGuard(Arc<Canceller>);

impl ActiveGuard {
    fn new(canceller: Arc<Canceller>) -> Self {
        canceller.set_active(true);
        Self(canceller)
    }
}

impl Drop for ActiveGuard {
    fn drop(&mut self) {
        self.0.set_active(false);
    }
}
