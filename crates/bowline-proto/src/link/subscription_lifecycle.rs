//! Opening subscriptions, reopening them in each session, and closing them.

use bowline_types::meta::keys;
use bowline_types::subscriptions::{AcknowledgedParams, SubscriptionFilter};
use bowline_types::{RequestId, Revision};

use super::Link;
use super::calls::{CallKey, CallPhase, LinkCall, Owner};
use super::error::LinkError;
use super::event::LinkEvent;
use super::subscriptions::{Subscription, SubscriptionKey};
use crate::calls::Timeouts;
use crate::commands::CallRequest;
use crate::outcome::Outcome;
use crate::payload::Payload;
use crate::time::Instant;

impl Link {
    /// Keeps a subscription open, in this session and the next ones. In each of them the
    /// server has to confirm it as fast as it has to answer a call; otherwise it ends.
    ///
    /// # Errors
    ///
    /// Fails if the limit on subscriptions is reached, or if the link is stopped.
    pub fn subscribe(
        &mut self,
        now: Instant,
        filter: SubscriptionFilter,
    ) -> Result<SubscriptionKey, LinkError> {
        self.subscribe_with_timeouts(now, filter, None)
    }

    /// As [`subscribe`](Self::subscribe), with a time of its own in which the server has to
    /// confirm it.
    ///
    /// # Errors
    ///
    /// Fails if the limit on subscriptions is reached, or if the link is stopped.
    pub fn subscribe_with_timeouts(
        &mut self,
        now: Instant,
        filter: SubscriptionFilter,
        timeouts: Option<Timeouts>,
    ) -> Result<SubscriptionKey, LinkError> {
        self.observe_time(now);
        self.check_open()?;
        if self.subscriptions.len() >= self.config.max_subscriptions {
            return Err(LinkError::Backpressure);
        }
        let key = self.subscriptions.insert(filter, timeouts);
        if let Some(revision) = self.revision() {
            self.open_subscription(now, key, revision);
        }
        self.offer_waiting_calls(now);
        Ok(key)
    }

    /// Ends a subscription. Returns `true` if there was one.
    pub fn unsubscribe(&mut self, now: Instant, key: SubscriptionKey) -> bool {
        self.observe_time(now);
        let Some(subscription) = self.subscriptions.remove(key) else {
            return false;
        };
        self.release_subscription(now, key, &subscription);
        self.offer_waiting_calls(now);
        true
    }

    /// Cancels the calls of a subscription that has ended, and unsubscribes at the server.
    fn release_subscription(
        &mut self,
        now: Instant,
        key: SubscriptionKey,
        subscription: &Subscription,
    ) {
        for (call, _) in &subscription.calls {
            self.cancel(now, *call, "the subscription has ended");
        }
        if let Some(revision) = self.revision() {
            for request in subscription.closing_calls(revision, &self.subscriptions) {
                self.insert_subscription_call(now, key, request, None);
            }
        }
    }

    /// Releases the subscriptions of which the server has refused a call.
    pub(super) fn release_refused_subscriptions(&mut self, now: Instant) {
        // All at once: releasing one calls this method again, once for each.
        for (key, subscription) in std::mem::take(&mut self.refused_subscriptions) {
            self.release_subscription(now, key, &subscription);
        }
    }

    /// Opens the subscriptions of earlier sessions again.
    pub(super) fn reopen_subscriptions(&mut self, now: Instant, revision: Revision) {
        for key in self.subscriptions.keys() {
            self.open_subscription(now, key, revision);
        }
    }

    fn open_subscription(&mut self, now: Instant, key: SubscriptionKey, revision: Revision) {
        let Some(subscription) = self.subscriptions.get_mut(key) else {
            return;
        };
        subscription.has_gap |= std::mem::replace(&mut subscription.was_open, true);
        let (opening, timeouts) = (subscription.opening_calls(revision), subscription.timeouts);
        let before = std::mem::take(&mut subscription.calls);
        for (call, _) in before {
            // A call for an earlier session that was never sent.
            let waits = |phase| phase == CallPhase::Waiting;
            if self.calls.get(call).is_some_and(|entry| waits(entry.phase)) {
                self.calls.remove(call);
            }
        }
        let calls: Vec<_> = opening
            .into_iter()
            .map(|(uri, request)| {
                (
                    self.insert_subscription_call(now, key, request, timeouts),
                    uri,
                )
            })
            .collect();
        let has_calls = !calls.is_empty();
        if let Some(subscription) = self.subscriptions.get_mut(key) {
            subscription.calls = calls;
        }
        if !has_calls {
            self.announce_open(key, None);
        }
    }

    /// Handles the end of a call of a subscription: with its session, or permanently.
    pub(super) fn subscription_call_ended(
        &mut self,
        call: CallKey,
        key: SubscriptionKey,
        outcome: Outcome,
    ) {
        let is_stateless = self.is_stateless();
        let Some(subscription) = self.subscriptions.get_mut(key) else {
            return;
        };
        let calls = &mut subscription.calls;
        let Some(place) = calls.iter().position(|(other, _)| *other == call) else {
            return;
        };
        let (_, uri) = calls.remove(place);
        let is_last = calls.is_empty();
        match outcome {
            // The subscription is reopened in the next session.
            Outcome::Lost { .. } | Outcome::Shutdown => {}
            // Accepted: in the handshake era there is no further confirmation.
            Outcome::Result(_) if !is_stateless => {
                if is_last {
                    self.announce_open(key, None);
                }
            }
            Outcome::Result(_)
            | Outcome::Error(_)
            | Outcome::TimedOut { .. }
            | Outcome::Unsupported(_)
            | Outcome::Cancelled
            | Outcome::CancelledByServer
            | Outcome::Invalid(_)
            | Outcome::TooLarge { .. }
            | Outcome::Backpressure { .. } => {
                if let (Outcome::Error(_), Some(uri)) = (&outcome, uri) {
                    subscription.remove_uri(&uri);
                }
                if let Some(rest) = self.end_subscription(key, outcome) {
                    self.refused_subscriptions.push((key, rest));
                }
            }
        }
    }

    /// Handles the server's acknowledgement of a subscription of the stateless era.
    pub(super) fn handle_acknowledged(&mut self, now: Instant, params: Option<&Payload>) {
        let params = params.and_then(|params| params.decode::<AcknowledgedParams>().ok());
        let Some(params) = params else {
            return;
        };
        let meta = params.meta;
        let id = meta.and_then(|meta| meta.read(keys::SUBSCRIPTION_ID).ok().flatten());
        let (Some(id), Some(connection)) = (id, &mut self.connection) else {
            return;
        };
        let id: RequestId = id;
        let Some(id) = connection.waiting_call(now, &id) else {
            return;
        };
        let entry = self.calls.by_id(id).and_then(|call| self.calls.get(call));
        if let Some(Owner::Subscription(key)) = entry.map(|entry| entry.owner) {
            connection.confirm_subscription(id);
            self.announce_open(key, Some(params.notifications));
        }
    }

    /// Reports that a subscription is open, or open again: a reader that reads now misses nothing.
    fn announce_open(&mut self, key: SubscriptionKey, honoured: Option<SubscriptionFilter>) {
        let Some(subscription) = self.subscriptions.get_mut(key) else {
            return;
        };
        let has_gap = std::mem::take(&mut subscription.has_gap);
        let honoured = honoured.map(Box::new);
        if !std::mem::replace(&mut subscription.is_announced, true) {
            self.push_event(LinkEvent::SubscriptionOpened {
                subscription: key,
                honoured,
            });
        } else if has_gap {
            self.push_event(LinkEvent::SubscriptionGap {
                subscription: key,
                honoured,
            });
        }
    }

    fn end_subscription(&mut self, key: SubscriptionKey, outcome: Outcome) -> Option<Subscription> {
        let ended = self.subscriptions.remove(key)?;
        self.push_event(LinkEvent::SubscriptionEnded {
            subscription: key,
            outcome,
        });
        Some(ended)
    }

    /// Ends all subscriptions.
    pub(super) fn end_subscriptions(&mut self, outcome: &Outcome) {
        for key in self.subscriptions.keys() {
            self.end_subscription(key, outcome.clone());
        }
    }

    /// Inserts a call for a subscription, which waits until there is room.
    fn insert_subscription_call(
        &mut self,
        now: Instant,
        key: SubscriptionKey,
        mut request: CallRequest,
        timeouts: Option<Timeouts>,
    ) -> CallKey {
        let timeouts = timeouts.unwrap_or(self.config.connection.call_timeouts);
        request.timeouts = Some(timeouts);
        let owner = Owner::Subscription(key);
        let request = LinkCall::new(request);
        let call = self.calls.insert(now, request, owner, timeouts);
        self.calls.wait_unless_issued(call);
        call
    }
}
