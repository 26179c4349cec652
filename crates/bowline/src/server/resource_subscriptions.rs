//! Subscriptions to resources that a [`Handler`] has accepted.
//!
//! The protocol session knows which resources a client has subscribed to; this remembers which
//! handler accepted each subscription, so that the handler is notified once when it ends, whatever
//! the cause.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use bowline_proto::RequestKey;
use bowline_proto::server::ListenSubscriptions;
use bowline_types::resources::SubscribeParams;
use bowline_types::{ErrorObject, Method};

use super::context::Context;
use super::handler::{Handler, HandlerService};
use super::service::{ClientRequest, listen_params, method_not_found};
use super::session::{SessionCore, SessionShared};
use crate::log_names::{entered, shortened};
use crate::panics::caught;

/// The subscriptions that a handler has accepted for a session. The session's own limits bound
/// them.
#[derive(Debug, Default)]
pub(super) struct HandlerSubscriptions {
    /// Subscriptions of the handshake era, by URI.
    subscribed_uris: BTreeMap<String, HandlerSubscription>,
    /// Requests that begin or end a subscription, by URI, in the order of arrival: the first is
    /// served, and the others wait. The limits on requests bound them.
    queues: BTreeMap<String, VecDeque<QueuedRequest>>,
    /// Subscriptions of the stateless era, by the open `subscriptions/listen`.
    listens: BTreeMap<RequestKey, Vec<HandlerSubscription>>,
}

impl HandlerSubscriptions {
    /// Returns `true` if there are none.
    #[cfg(feature = "http-server")]
    pub(super) fn is_empty(&self) -> bool {
        self.subscribed_uris.is_empty() && self.queues.is_empty() && self.listens.is_empty()
    }

    /// Takes the subscriptions whose `subscriptions/listen` has ended. Drop them without a lock.
    pub(super) fn take_ended(
        &mut self,
        open: &ListenSubscriptions,
    ) -> Vec<Vec<HandlerSubscription>> {
        if self.listens.len() <= open.len() {
            return Vec::new();
        }
        let ended = self.listens.keys().filter(|key| !open.contains(**key));
        let ended: Vec<RequestKey> = ended.copied().collect();
        let taken = ended.iter().filter_map(|key| self.listens.remove(key));
        taken.collect()
    }
}

/// A request in the queue of its resource.
#[derive(Debug)]
struct QueuedRequest {
    request: RequestKey,
    waker: Option<Waker>,
}

/// The place of a `resources/subscribe` or `resources/unsubscribe` in the queue of its resource. A
/// handler may take its time, and the client's last request has to win in the end. Dropping this
/// lets the next request go on.
pub(super) struct QueuePlace {
    session: Arc<SessionShared>,
    request: RequestKey,
    uri: String,
}

impl QueuePlace {
    /// Queues a request, if it is one of these.
    pub(super) fn enqueue(request: &ClientRequest) -> Option<Self> {
        let method = request.known_method();
        if !matches!(method, Some(Method::Subscribe | Method::Unsubscribe)) {
            return None;
        }
        // A request that can't be decoded is refused in any order.
        let uri = request.decode::<SubscribeParams>().ok()?.uri;
        let inner = request.context.inner();
        let queue = QueuedRequest {
            request: inner.key,
            waker: None,
        };
        let mut core = inner.session.lock();
        let queues = &mut core.subscriptions.queues;
        queues.entry(uri.clone()).or_default().push_back(queue);
        Some(Self {
            session: Arc::clone(&inner.session),
            request: inner.key,
            uri,
        })
    }

    /// Waits until earlier requests for the resource are done. Cancel safe.
    pub(super) async fn wait(&self) {
        poll_fn(|cx| self.poll(cx)).await;
    }

    fn poll(&self, cx: &TaskContext<'_>) -> Poll<()> {
        let mut core = self.session.lock();
        let Some(queue) = core.subscriptions.queues.get_mut(&self.uri) else {
            return Poll::Ready(());
        };
        let place = queue
            .iter()
            .position(|queued| queued.request == self.request);
        match place.and_then(|place| queue.get_mut(place).filter(|_| place > 0)) {
            Some(waiting) => {
                waiting.waker = Some(cx.waker().clone());
                Poll::Pending
            }
            None => Poll::Ready(()),
        }
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        let next = {
            let mut core = self.session.lock();
            let queues = &mut core.subscriptions.queues;
            let Some(queue) = queues.get_mut(&self.uri) else {
                return;
            };
            queue.retain(|queued| queued.request != self.request);
            let next = queue.front_mut().and_then(|queued| queued.waker.take());
            if queue.is_empty() {
                queues.remove(&self.uri);
            }
            next
        };
        if let Some(next) = next {
            next.wake();
        }
    }
}

/// A subscription that a handler has accepted. Dropping this calls [`Handler::on_unsubscribe`]. That
/// is the user's code, so no lock may be held.
pub(super) struct HandlerSubscription {
    handler: Arc<dyn UnsubscribeHook>,
    uri: String,
    context: Context,
}

/// Calls a handler at the end of a subscription.
trait UnsubscribeHook: Send + Sync {
    fn on_unsubscribe(&self, uri: &str, context: &Context);
}

impl<H: Handler> UnsubscribeHook for HandlerService<H> {
    fn on_unsubscribe(&self, uri: &str, context: &Context) {
        self.handler.on_unsubscribe(uri, context);
    }
}

impl Drop for HandlerSubscription {
    fn drop(&mut self) {
        let _entered = entered(self.context.span());
        if let Err(panicked) = caught(|| self.handler.on_unsubscribe(&self.uri, &self.context)) {
            let panic = panicked.0;
            let resource = &*shortened(&self.uri);
            tracing::error!(
                resource,
                panic,
                "handler panicked at the end of a subscription"
            );
        }
    }
}

impl fmt::Debug for HandlerSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subscribed").field(&self.uri).finish()
    }
}

impl<H: Handler> HandlerService<H> {
    /// Serves `resources/subscribe`, when its [place](QueuePlace) is the first.
    pub(super) async fn subscribe(
        self: &Arc<Self>,
        request: &ClientRequest,
    ) -> Result<(), ErrorObject> {
        let inner = request.context.inner();
        let uri = self.subscription_uri(request)?;
        let is_known = inner
            .session
            .lock()
            .subscriptions
            .subscribed_uris
            .contains_key(&uri);
        if is_known {
            return apply_to_session(request);
        }
        let subscribed = self
            .subscribe_through_handler(&uri, &request.context)
            .await?;
        let (applied, _over) = inner.session.with(|core, _| {
            if core.session.request_id(inner.key).is_none() {
                // The client never knows of the subscription: the request was cancelled, or the
                // client is gone.
                return (Ok(()), Some(subscribed));
            }
            let applied = apply_locked(core, request);
            let over = match applied {
                Ok(()) => core.subscriptions.subscribed_uris.insert(uri, subscribed),
                Err(_) => Some(subscribed),
            };
            (applied, over)
        });
        applied
    }

    /// Serves `resources/unsubscribe`, when its [place](QueuePlace) is the first.
    pub(super) fn unsubscribe(&self, request: &ClientRequest) -> Result<(), ErrorObject> {
        let uri = self.subscription_uri(request)?;
        let session = &request.context.inner().session;
        let (applied, _over) = session.with(|core, _| {
            let applied = apply_locked(core, request);
            (applied, core.subscriptions.subscribed_uris.remove(&uri))
        });
        applied
    }

    fn subscription_uri(&self, request: &ClientRequest) -> Result<String, ErrorObject> {
        if !self.supports_subscribe() {
            return Err(method_not_found(request.method()));
        }
        let params: SubscribeParams = request.decode()?;
        Ok(params.uri)
    }

    fn supports_subscribe(&self) -> bool {
        let resources = self.handler.capabilities().resources;
        resources.is_some_and(|resources| resources.subscribe == Some(true))
    }

    /// Serves `subscriptions/listen`. Resources that the handler refuses are left out of what is
    /// honoured (2026-07-28, basic/patterns/subscriptions).
    pub(super) async fn listen(
        self: &Arc<Self>,
        request: &ClientRequest,
    ) -> Result<(), ErrorObject> {
        let mut params = listen_params(request)?;
        let inner = request.context.inner();
        let most = inner.session.server.config.listen_limits().uris;
        let uris = params.notifications.resource_subscriptions.as_mut();
        let uris = uris.filter(|uris| uris.len() <= most && self.supports_subscribe());
        let mut subscriptions = Vec::new();
        if let Some(uris) = uris {
            let asked: BTreeSet<String> = uris.drain(..).collect();
            for uri in asked {
                if let Ok(subscribed) = self.subscribe_through_handler(&uri, &request.context).await
                {
                    subscriptions.push(subscribed);
                    uris.push(uri);
                }
            }
        }
        let capabilities = inner.session.server.capabilities();
        let (opened, _over) = inner.session.with(|core, _| {
            let opened = core.open_listen(inner.key, params, &capabilities);
            let over = match opened {
                Ok(()) => core.subscriptions.listens.insert(inner.key, subscriptions),
                Err(_) => Some(subscriptions),
            };
            (opened, over)
        });
        opened
    }

    /// Asks the handler to accept a subscription.
    async fn subscribe_through_handler(
        self: &Arc<Self>,
        uri: &str,
        context: &Context,
    ) -> Result<HandlerSubscription, ErrorObject> {
        self.handler.on_subscribe(uri, context).await?;
        context.drop_large_params();
        Ok(HandlerSubscription {
            handler: Arc::clone(self) as Arc<dyn UnsubscribeHook>,
            uri: uri.to_owned(),
            context: context.clone(),
        })
    }
}

/// Applies a request to the session, as for every server.
pub(super) fn apply_to_session(request: &ClientRequest) -> Result<(), ErrorObject> {
    let session = &request.context.inner().session;
    session.with(|core, _| apply_locked(core, request))
}

fn apply_locked(core: &mut SessionCore, request: &ClientRequest) -> Result<(), ErrorObject> {
    debug_assert!(
        request.known_method() != Some(Method::Listen),
        "subscriptions/listen is opened by SessionCore::open_listen"
    );
    let unknown = || method_not_found(request.method());
    let method = request.known_method().ok_or_else(unknown)?;
    core.session.apply_session_request(method, request.params())
}
