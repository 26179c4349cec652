//! Subscriptions that outlive their connections.

use std::collections::BTreeMap;
use std::fmt;

use bowline_types::resources::SubscribeParams;
use bowline_types::subscriptions::{ListenParams, SubscriptionFilter};
use bowline_types::wire::Members as _;
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

/// What is listened to, and the calls that do it.
#[derive(Debug)]
pub(super) struct Subscription {
    filter: SubscriptionFilter,
    /// How long the server may take to confirm it, if not as long as for any call.
    pub(super) timeouts: Option<Timeouts>,
    /// Its calls in this session: one in the stateless era, one for each resource before, which
    /// is named with it.
    pub(super) calls: Vec<(CallKey, Option<String>)>,
    /// It has been open in an earlier session.
    pub(super) was_open: bool,
    /// It is being opened again, and nobody knows what happened in between.
    pub(super) has_gap: bool,
    /// The user knows that it is open.
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

    /// Returns `true` if one of them is about this resource.
    fn has_uri(&self, uri: &str) -> bool {
        let mut uris = self.entries.values().flat_map(Subscription::uris);
        uris.any(|other| other == uri)
    }
}

impl Subscription {
    /// Returns the calls that open it in a revision, and the resource that each is about.
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

    /// It is not about this resource any more, which the server has refused.
    pub(super) fn remove_uri(&mut self, uri: &str) {
        if let Some(uris) = &mut self.filter.resource_subscriptions {
            uris.retain(|other| other != uri);
        }
    }

    /// Returns the calls that end it; none where giving up its call does, or where another one
    /// still wants the same.
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

/// Members of parameters, in the words that every revision which has them shares.
fn encode_members(write: impl FnOnce(&mut Encoder<'_>) -> bool) -> Bytes {
    let mut body = Vec::new();
    // What can't be said is left out: the server says what it misses.
    if !write(&mut Encoder::lossless(&mut body)) {
        body.clear();
    }
    body.into()
}
