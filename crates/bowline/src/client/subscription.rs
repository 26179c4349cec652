//! Subscriptions to changes, which last across connections.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bowline_proto::link::SubscriptionKey;
use bowline_proto::{Agreement, Outcome, Timeouts};
use bowline_types::subscriptions::SubscriptionFilter;
use bowline_types::tasks::EXTENSION;
use bowline_types::{Era, Method};
use tokio::time::timeout;

use super::Client;
use super::features::{TASKS_EXTENSION, not_declared_message, tasks_not_enabled_message};
use super::shared::Shared;
use super::subscription_dispatch::{SubscriptionChannel, SubscriptionEnd};
use crate::error::{Error, ErrorKind};

/// Something that has changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SubscriptionEvent {
    /// Anything may have changed: the connection was lost and is there again, or more changed
    /// than could be kept. What was read before has to be read again.
    Unknown,
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// This resource, or a part of the one that is watched.
    Resource(String),
    /// The task of this id, of those that are watched. Servers need not notify of it: see
    /// [`TaskHandle::wait`](crate::client::features::TaskHandle::wait).
    Task(String),
}

/// A subscription to changes: see [`Client::subscribe`].
///
/// It outlives connections: it is opened again in the next one, and then returns
/// [`SubscriptionEvent::Unknown`] once. Several changes of the same kind that wait are one event.
/// A server that doesn't confirm it again [in time](SubscribeCall::timeout) ends it with an
/// error of kind [`Timeout`](ErrorKind::Timeout). Dropping it ends it.
#[derive(Debug)]
pub struct Subscription {
    shared: Arc<Shared>,
    key: SubscriptionKey,
    channel: Arc<SubscriptionChannel>,
}

impl Client {
    /// Subscribes to changes. Await it to do so, until the server has confirmed it.
    ///
    /// In the stateless era this is `subscriptions/listen`; before, each resource is subscribed
    /// to, and changes of lists come by themselves.
    pub fn subscribe(&self, filter: SubscriptionFilter) -> SubscribeCall<'_> {
        SubscribeCall {
            client: self,
            filter,
            timeout: None,
            wait_for_ready: false,
        }
    }

    /// Opens a subscription. The server has to confirm it in time, in every connection.
    fn open_subscription(
        &self,
        filter: SubscriptionFilter,
        timeouts: Timeouts,
    ) -> Result<Subscription, Error> {
        let shared = &self.shared;
        let channel = Arc::new(SubscriptionChannel::new(
            filter.clone(),
            shared.change_limits,
        ));
        let key = shared.with(|core, now| {
            let serving = core.link.check_connected();
            serving.map_err(|error| core.refusal(now, error))?;
            if let Some(agreement) = &core.agreement {
                check_filter(&filter, agreement, core.declares_tasks)?;
            }
            let key = core
                .link
                .subscribe_with_timeouts(now, filter, Some(timeouts));
            let key = key.map_err(|error| core.refusal(now, error))?;
            // Before the driver can deliver an update of it.
            shared.subscriptions.add(key, Arc::clone(&channel));
            Ok::<_, Error>(key)
        })?;
        Ok(Subscription {
            shared: Arc::clone(shared),
            key,
            channel,
        })
    }
}

/// A subscription that has not been opened yet: see [`Client::subscribe`]. Await it to open it.
///
/// # Errors
///
/// When the server has declared none of it, refuses, or doesn't confirm it in time; when there
/// is no connection.
///
/// ```
/// # use bowline::types::subscriptions::SubscriptionFilter;
/// # async fn example(client: bowline::Client) -> Result<(), bowline::Error> {
/// let filter = SubscriptionFilter::new().tools_list_changed(true);
/// let mut changes = client.subscribe(filter).wait_for_ready().await?;
/// while let Some(change) = changes.next().await {
///     println!("{change:?}");
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "a subscription is not opened unless it is awaited"]
#[derive(Clone, Debug)]
pub struct SubscribeCall<'c> {
    client: &'c Client,
    filter: SubscriptionFilter,
    timeout: Option<Duration>,
    wait_for_ready: bool,
}

impl SubscribeCall<'_> {
    /// Sets how long the server may take to confirm it, now and in every later connection. Default:
    /// as [configured](crate::Config::call_timeouts) for calls, 30 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Waits for a connection, within the same time, instead of failing at once.
    pub fn wait_for_ready(mut self) -> Self {
        self.wait_for_ready = true;
        self
    }

    async fn open(self) -> Result<Subscription, Error> {
        let shared = &self.client.shared;
        // A client that is stopped connects no more.
        shared.check_open()?;
        let mut timeouts = shared.call_timeouts;
        timeouts.idle = self.timeout.unwrap_or(timeouts.idle);
        timeouts.total = timeouts.total.max(timeouts.idle);
        // The connection may be lost before it is confirmed, and not come back.
        let limit = timeouts.idle;
        match timeout(limit, self.open_when_ready(timeouts)).await {
            Ok(opened) => opened,
            Err(_) => {
                let message =
                    format!("the server did not acknowledge the subscription within {limit:?}");
                let error = Error::new(ErrorKind::Timeout, message);
                Err(shared.with_connection_failure(error))
            }
        }
    }

    async fn open_when_ready(self, timeouts: Timeouts) -> Result<Subscription, Error> {
        if self.wait_for_ready {
            self.client.ready().await?;
        }
        let subscription = self.client.open_subscription(self.filter, timeouts)?;
        subscription.wait_until_open().await?;
        Ok(subscription)
    }
}

impl<'c> IntoFuture for SubscribeCall<'c> {
    type Output = Result<Subscription, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'c>>;

    /// Opens it, and waits until the server has confirmed it. Cancel safe: dropping the future
    /// ends the subscription.
    fn into_future(self) -> Self::IntoFuture {
        let operation = Method::Listen.as_str();
        Box::pin(async move {
            let opened = self.open().await;
            opened.map_err(|error| error.in_operation(operation))
        })
    }
}

impl Subscription {
    /// Returns the next change. `None` when the subscription has ended: see [`end`](Self::end).
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<SubscriptionEvent> {
        loop {
            let mut notified = std::pin::pin!(self.channel.wake.notified());
            notified.as_mut().enable();
            {
                let mut state = self.channel.lock();
                if let Some(change) = state.pop() {
                    return Some(change);
                }
                if state.end.is_some() {
                    return None;
                }
            }
            notified.await;
        }
    }

    /// Forgets changes that wait.
    pub(super) fn clear_pending(&self) {
        self.channel.lock().clear();
    }

    /// Returns the part of the filter that the server has acknowledged, in this connection or the
    /// last one. It may be another part in the next one.
    pub fn acknowledged_filter(&self) -> SubscriptionFilter {
        self.channel.lock().acknowledged.clone()
    }

    /// Returns how it has ended, if it has. `Ok` when the server ended it. A server that
    /// accepts no part of it any more, in a later connection, ends it with an error.
    pub fn end(&self) -> Option<Result<(), Error>> {
        let end = self.channel.lock().end.clone()?;
        Some(self.end_result(end))
    }

    /// Returns what its end means for its user.
    fn end_result(&self, end: SubscriptionEnd) -> Result<(), Error> {
        match end {
            // It has ended with the client, which knows why.
            SubscriptionEnd::Outcome(Outcome::Shutdown | Outcome::Lost { .. })
                if let Err(error) = self.shared.check_open() =>
            {
                Err(error)
            }
            SubscriptionEnd::Outcome(outcome) => {
                Error::from_outcome(outcome, None, None).map(|_| ())
            }
            SubscriptionEnd::NothingAcknowledged => Err(Error::new(
                ErrorKind::CapabilityNotSupported,
                "the server accepted no part of the subscription",
            )),
        }
    }

    /// Waits until it is open.
    async fn wait_until_open(&self) -> Result<(), Error> {
        loop {
            let mut notified = std::pin::pin!(self.channel.wake.notified());
            notified.as_mut().enable();
            {
                let state = self.channel.lock();
                if let Some(end) = &state.end {
                    let over = || {
                        Error::new(
                            ErrorKind::Protocol,
                            "the server ended the subscription immediately",
                        )
                    };
                    return Err(self
                        .end_result(end.clone())
                        .map_or_else(|error| error, |()| over()));
                }
                if state.is_open {
                    return Ok(());
                }
            }
            notified.await;
        }
    }
}

/// Refuses what the server has not declared, or we have not where both sides must (TX-15).
fn check_filter(
    filter: &SubscriptionFilter,
    agreement: &Agreement,
    declares_tasks: bool,
) -> Result<(), Error> {
    let has = &agreement.capabilities;
    let resources = has.resources.as_ref();
    let wants = |list: Option<bool>| list == Some(true);
    let watches = filter.resource_subscriptions.as_deref().unwrap_or_default();
    let wants_tasks = filter.task_ids.as_ref().is_some_and(|ids| !ids.is_empty());
    let checks = [
        (
            wants(filter.tools_list_changed),
            has.tools.as_ref().and_then(|tools| tools.list_changed),
            "tools.listChanged",
        ),
        (
            wants(filter.prompts_list_changed),
            has.prompts
                .as_ref()
                .and_then(|prompts| prompts.list_changed),
            "prompts.listChanged",
        ),
        (
            wants(filter.resources_list_changed),
            resources.and_then(|resources| resources.list_changed),
            "resources.listChanged",
        ),
        (
            !watches.is_empty(),
            resources.and_then(|resources| resources.subscribe),
            "resources.subscribe",
        ),
        (
            wants_tasks,
            Some(agreement.revision.era() == Era::Stateless && has.has_extension(EXTENSION)),
            TASKS_EXTENSION,
        ),
    ];
    let missing = checks
        .iter()
        .find(|(is_wanted, has, _)| *is_wanted && *has != Some(true));
    let message = match missing {
        Some((.., name)) => not_declared_message(name, agreement.revision),
        None if wants_tasks && !declares_tasks => tasks_not_enabled_message(),
        None => return Ok(()),
    };
    Err(Error::new(ErrorKind::CapabilityNotSupported, message))
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.shared.subscriptions.remove(self.key);
        self.shared
            .with(|core, now| core.link.unsubscribe(now, self.key));
    }
}
