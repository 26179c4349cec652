//! Calls that a server refuses until its user has visited pages (−32042, only in 2025-11-25).
//!
//! The pages go to the handler of URL elicitations, as if the server had asked for them, one
//! after the other. When all were opened, and the server says that they are done or the user
//! does, the call is made again. All of it happens in the future of the call, within its time:
//! dropping the future ends it.

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

use super::call::{OnProgress, place};
use super::config::ClientConfig;
use super::features::Stopper;
use super::notification_router::HandlerId;
use super::pending_call::Answer;
use super::server_requests::ServerRequest;
use super::shared::Shared;
use crate::error::{Error, ErrorKind};
use crate::panics::{CatchPanic, caught};

/// The revision that has such refusals.
const REVISION: Revision = Revision::V2025_11_25;

/// How often a call is made again: one page may lead to another.
const MAX_ROUNDS: usize = 3;

/// Pages that one refusal may name. Nobody opens more.
const MAX_PAGES: usize = 16;

/// The longest time that is waited for pages, where a call has more.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

type Visiting = Pin<Box<dyn Future<Output = bool> + Send>>;
type Visited = Arc<dyn Fn(Vec<ElicitUrlParams>) -> Visiting + Send + Sync>;

/// Whether pages are opened, and who knows when they are done.
#[derive(Clone, Default)]
pub(super) struct Visits {
    pub(super) are_opened: bool,
    visited: Option<Visited>,
}

impl ClientConfig {
    /// Asks whether the user is done with the pages for which a server of 2025-11-25 refused a
    /// call: see [`elicitation_url`](Self::elicitation_url), whose handler has opened them.
    ///
    /// The call is made again when the handler says `true` or the server tells that all are
    /// done, whichever comes first; with `false` it ends with the server's error. Without a
    /// handler the server is waited for, within the call's own time: servers need not tell.
    ///
    /// The handler is dropped when its answer is no longer wanted.
    pub fn pages_visited<F, Fut>(&mut self, handler: F) -> &mut Self
    where
        F: Fn(Vec<ElicitUrlParams>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = bool> + Send + 'static,
    {
        let visited: Visited = Arc::new(move |pages| -> Visiting { Box::pin(handler(pages)) });
        self.handlers.visits.visited = Some(visited);
        self
    }
}

impl Visits {
    /// Whether the user is done with the pages, when they say so.
    async fn visited(&self, pages: Vec<ElicitUrlParams>) -> bool {
        let Some(visited) = &self.visited else {
            return pending().await;
        };
        let answered = match caught(|| visited(pages)) {
            Ok(answering) => CatchPanic::new(answering).await,
            Err(panicked) => Err(panicked),
        };
        answered.unwrap_or_else(|panicked| {
            tracing::error!(panic = panicked.0, "handler of visited URLs panicked");
            false
        })
    }
}

impl fmt::Debug for Visits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visits")
            .field("are_opened", &self.are_opened)
            .finish_non_exhaustive()
    }
}

/// What it takes to make a call again.
#[derive(Debug)]
pub(super) struct Again {
    call: LinkCall,
    is_guarded: bool,
    since: Instant,
    total: Duration,
    stopper: Arc<Stopper>,
}

impl Again {
    /// Of a call that is about to be made, where pages are opened.
    pub(super) fn of(
        shared: &Shared,
        call: &LinkCall,
        is_guarded: bool,
        total: Duration,
    ) -> Option<Box<Self>> {
        shared.handlers.visits.are_opened.then(|| {
            Box::new(Self {
                call: call.clone(),
                is_guarded,
                since: Instant::now(),
                total,
                stopper: Arc::default(),
            })
        })
    }

    pub(super) fn stopper(&self) -> Arc<Stopper> {
        Arc::clone(&self.stopper)
    }

    /// Lets the user visit the pages for which the call was refused, and makes it again.
    pub(super) async fn visit(
        self: Box<Self>,
        shared: Arc<Shared>,
        method: Cow<'static, str>,
        refused: Error,
        on_progress: Option<OnProgress>,
    ) -> Result<Payload, Error> {
        let _followed = Followed::new(self.stopper());
        let mut stopped = pin!(self.stopper.stopped());
        let mut ending = pin!(self.ended(&shared, &method, refused, on_progress));
        poll_fn(|cx| {
            if stopped.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Err(of_outcome(Outcome::Cancelled, &method)));
            }
            ending.as_mut().poll(cx)
        })
        .await
        // Its first attempt was sent, whatever became of the next one.
        .map_err(|error| {
            let is_idempotent = self.call.is_idempotent();
            error.of_call(Sent::Maybe).repeatable(is_idempotent)
        })
    }

    async fn ended(
        &self,
        shared: &Arc<Shared>,
        method: &str,
        mut refused: Error,
        mut on_progress: Option<OnProgress>,
    ) -> Result<Payload, Error> {
        let revision = shared.lock().agreement.as_ref().map(|it| it.revision);
        if revision != Some(REVISION) {
            return Err(refused);
        }
        let until = self.since + self.total.min(LONGEST);
        let mut seen = HashSet::new();
        for _ in 0..MAX_ROUNDS {
            let Some(pages) = new_pages(&refused, &mut seen) else {
                break;
            };
            match timeout_at(until, are_visited(shared, pages)).await {
                Ok(true) => {}
                Ok(false) | Err(_) => break,
            }
            let key = place(shared, method, self.call.clone(), self.is_guarded);
            let key = key.map_err(|error| error.in_operation(method.to_owned()))?;
            let mut answer = Answer::pending(
                Arc::clone(shared),
                key,
                method.to_owned().into(),
                on_progress.take(),
            );
            match timeout_at(until, &mut answer).await {
                Ok(Err(error)) if !error.url_elicitations().is_empty() => refused = error,
                Ok(ended) => return ended,
                Err(_) => {
                    let elapsed = self.since.elapsed();
                    let error = of_outcome(Outcome::TimedOut { elapsed }, method);
                    return Err(shared.with_connection_failure(error));
                }
            }
            on_progress = answer.take_on_progress();
        }
        Err(refused)
    }
}

fn of_outcome(outcome: Outcome, method: &str) -> Error {
    let error = Error::from_outcome(outcome, None, None).err();
    let error = error.unwrap_or_else(|| Error::new(ErrorKind::State, ""));
    error.in_operation(method.to_owned())
}

/// The pages for which a call was refused. `None` when there are too many, or one was visited
/// before: that was no help.
fn new_pages(refused: &Error, seen: &mut HashSet<String>) -> Option<Vec<ElicitUrlParams>> {
    let pages = refused.url_elicitations();
    if pages.is_empty() || pages.len() > MAX_PAGES {
        return None;
    }
    let mut are_new = true;
    for page in &pages {
        let id = page.elicitation_id.as_ref().unwrap_or(&page.url);
        are_new &= seen.insert(id.clone());
    }
    are_new.then_some(pages)
}

/// Whether the user has opened all pages, and is done with them.
async fn are_visited(shared: &Arc<Shared>, pages: Vec<ElicitUrlParams>) -> bool {
    // Listened to first: a page may be done before the next one is opened.
    let completions = Completions::of(shared, &pages);
    for page in &pages {
        if !is_opened(shared, page).await {
            return false;
        }
    }
    let visited = shared.handlers.visits.visited(pages);
    let mut visited = pin!(visited.instrument(shared.telemetry.span()));
    let mut completed = pin!(completions.all());
    poll_fn(|cx| {
        if completed.as_mut().poll(cx).is_ready() {
            return Poll::Ready(true);
        }
        visited.as_mut().poll(cx)
    })
    .await
}

/// Whether the user has opened a page, as if the server had asked for it.
async fn is_opened(shared: &Shared, page: &ElicitUrlParams) -> bool {
    let Ok(params) = Payload::encode(page, REVISION) else {
        return false;
    };
    let asked = ServerRequest::new(Method::Elicit.as_str().into(), Some(params), REVISION);
    let span = shared.telemetry.handler_span(asked.method(), None);
    match shared.handlers.answer(asked).instrument(span).await {
        Ok(reply) => ElicitResult::from_json(reply.as_str()).is_ok_and(|it| it.is_accepted()),
        Err(error) => {
            let _entered = shared.telemetry.enter();
            tracing::debug!(%error, "URL of an elicitation not opened");
            false
        }
    }
}

/// Pages that the server has not yet called done.
struct Completions {
    shared: Arc<Shared>,
    open: Arc<Open>,
    handler: HandlerId,
}

#[derive(Default)]
struct Open {
    ids: Mutex<HashSet<String>>,
    changed: Notify,
}

impl Completions {
    fn of(shared: &Arc<Shared>, pages: &[ElicitUrlParams]) -> Self {
        // The revision demands an id. Nobody can wait for a page without.
        let ids = pages.iter().filter_map(|page| page.elicitation_id.clone());
        let open = Arc::new(Open {
            ids: Mutex::new(ids.collect()),
            changed: Notify::new(),
        });
        let method = Method::ElicitationComplete.as_str();
        let noted = Arc::clone(&open);
        let handler = shared.router.on_inline(Some(method), move |note| {
            // Others are ignored (client/elicitation, 2025-11-25).
            if let Ok(done) = note.decode::<ElicitationCompleteParams>()
                && noted.lock().remove(&done.elicitation_id)
            {
                noted.changed.notify_one();
            }
        });
        Self {
            shared: Arc::clone(shared),
            open,
            handler,
        }
    }

    async fn all(&self) {
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

impl Open {
    fn lock(&self) -> MutexGuard<'_, HashSet<String>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that can be given up while its pages are visited.
struct Followed(Arc<Stopper>);

impl Followed {
    fn new(stopper: Arc<Stopper>) -> Self {
        stopper.set_followed(true);
        Self(stopper)
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.0.set_followed(false);
    }
}
