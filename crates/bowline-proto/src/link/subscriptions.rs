//! Subscriptions that outlive their connections.

use std::collections::BTreeMap;
use std::fmt;

use bowline_types::resources::SubscribeParams;
use bowline_types::subscriptions::{ListenParams, SubscriptionFilter};
use bowline_types::wire::EncodeMembers as _;
use bowline_types::{Encoder, Era, Method, Revision};
use bytes::Bytes;

use crate::calls::Timeouts;
use crate::commands::CallRequest;

use super::calls::CallKey;

/// A subscription of the user. Keys are never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubscriptionKey(u64);

impl fmt::Display for SubscriptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The filter of a subscription, and its calls.
#[derive(Debug)]
pub(super) struct Subscription {
    filter: SubscriptionFilter,
    /// How long the server may take to confirm it, if not the time of any call.
    pub(super) timeouts: Option<Timeouts>,
    /// The calls of this session: one in the stateless era, and one for each resource, with its
    /// URI, in the handshake era.
    pub(super) calls: Vec<(CallKey, Option<String>)>,
    /// Set when the subscription was open in an earlier session.
    pub(super) was_open: bool,
    /// Set while the subscription is reopened: changes in between are not known.
    pub(super) has_gap: bool,
    /// Set when the user was notified that the subscription is open.
    pub(super) is_announced: bool,
}

#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    entries: BTreeMap<SubscriptionKey, Subscription>,
    next: u64,
}

impl Subscriptions {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn insert(
        &mut self,
        filter: SubscriptionFilter,
        timeouts: Option<Timeouts>,
    ) -> SubscriptionKey {
        self.next += 1;
        let key = SubscriptionKey(self.next);
        let subscription = Subscription {
            filter,
            timeouts,
            calls: Vec::new(),
            was_open: false,
            has_gap: false,
            is_announced: false,
        };
        self.entries.insert(key, subscription);
        key
    }

    pub(super) fn remove(&mut self, key: SubscriptionKey) -> Option<Subscription> {
        self.entries.remove(&key)
    }

    pub(super) fn get_mut(&mut self, key: SubscriptionKey) -> Option<&mut Subscription> {
        self.entries.get_mut(&key)
    }

    pub(super) fn keys(&self) -> Vec<SubscriptionKey> {
        self.entries.keys().copied().collect()
    }

    /// Returns `true` if a subscription has this resource.
    fn has_uri(&self, uri: &str) -> bool {
        let mut uris = self.entries.values().flat_map(Subscription::uris);
        uris.any(|other| other == uri)
    }
}

impl Subscription {
    /// Returns the calls that open the subscription in a revision, each with its resource.
    pub(super) fn opening_calls(&self, revision: Revision) -> Vec<(Option<String>, CallRequest)> {
        match revision.era() {
            Era::Stateless => {
                let params = ListenParams::new(self.filter.clone());
                let body = encode_members(|encoder| params.encode_members(encoder, false).is_ok());
                vec![(None, CallRequest::new(Method::Listen.as_str(), body))]
            }
            Era::Handshake => {
                let named =
                    |uri: &String| (Some(uri.clone()), resource_call(Method::Subscribe, uri));
                self.uris().map(named).collect()
            }
        }
    }

    /// Removes a resource that the server has refused.
    pub(super) fn remove_uri(&mut self, uri: &str) {
        if let Some(uris) = &mut self.filter.resource_subscriptions {
            uris.retain(|other| other != uri);
        }
    }

    /// Returns the calls that close the subscription: none if cancelling its call is enough, or if
    /// another subscription has the same resource.
    pub(super) fn closing_calls(
        &self,
        revision: Revision,
        others: &Subscriptions,
    ) -> Vec<CallRequest> {
        match revision.era() {
            Era::Stateless => Vec::new(),
            Era::Handshake => {
                let uris = self.uris().filter(|uri| !others.has_uri(uri));
                uris.map(|uri| resource_call(Method::Unsubscribe, uri))
                    .collect()
            }
        }
    }

    fn uris(&self) -> impl Iterator<Item = &String> {
        self.filter.resource_subscriptions.iter().flatten()
    }
}

fn resource_call(method: Method, uri: &str) -> CallRequest {
    let params = SubscribeParams::new(uri);
    let body = encode_members(|encoder| params.encode_members(encoder, false).is_ok());
    CallRequest::new(method.as_str(), body)
}

/// Encodes members of parameters that are the same in every revision which has them.
fn encode_members(write: impl FnOnce(&mut Encoder<'_>) -> bool) -> Bytes {
    let mut body = Vec::new();
    // A value that can't be encoded is left out: the server reports what is missing.
    if !write(&mut Encoder::lossless(&mut body)) {
        body.clear();
    }
    body.into()
}
