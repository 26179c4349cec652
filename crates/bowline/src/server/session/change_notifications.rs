//! Change notifications to the client (`notifications/…/list_changed`,
//! `notifications/resources/updated`).
//!
//! A change is queued at most once, however often it happened, and the notifications of one list
//! are sent at most ten times a second: a client reads the list again each time.

use std::collections::BTreeSet;
use std::time::Duration;

use bowline_proto::Instant;
use bowline_proto::server::Change;
use bowline_types::json::Encoder;
use bytes::Bytes;

use super::SessionCore;

/// The least time between two notifications of the same list.
const MIN_INTERVAL: Duration = Duration::from_millis(100);

/// How many updated resources are queued before those that are not subscribed any more are pruned.
/// The subscriptions of a client at a time are bounded, but not how often it changes them.
const MAX_UPDATED: usize = 1000;

/// The changes for which a notification is due.
#[derive(Debug, Default)]
pub(super) struct PendingChanges {
    tools: bool,
    prompts: bool,
    resources: bool,
    updated: BTreeSet<String>,
    /// How many updated resources there may be before they are pruned.
    prune_at: usize,
    /// No notification is sent before this time.
    not_before: Option<Instant>,
}

impl PendingChanges {
    fn record(&mut self, change: Change<'_>) {
        match change {
            Change::Tools => self.tools = true,
            Change::Prompts => self.prompts = true,
            Change::Resources => self.resources = true,
            Change::Resource(uri) => {
                self.updated.insert(uri.to_owned());
            }
            _ => tracing::error!("unknown kind of change ignored"),
        }
    }

    fn is_empty(&self) -> bool {
        !(self.tools || self.prompts || self.resources) && self.updated.is_empty()
    }

    /// Returns when the next notification is due.
    pub(super) fn due(&self) -> Option<Instant> {
        if self.is_empty() {
            None
        } else {
            Some(self.not_before.unwrap_or(Instant::START))
        }
    }
}

impl SessionCore {
    /// Returns `true` if the client has subscribed to a change.
    pub(super) fn wants_change(&self, change: Change<'_>) -> bool {
        self.notifies_without_listen(change) || self.listens.includes(change)
    }

    /// Queues a change that the client has subscribed to.
    pub(super) fn record_change(&mut self, change: Change<'_>) {
        if self.changes.updated.len() >= self.changes.prune_at.max(MAX_UPDATED) {
            let mut updated = std::mem::take(&mut self.changes.updated);
            updated.retain(|uri| self.wants_change(Change::Resource(uri)));
            self.changes.prune_at = 2 * updated.len();
            self.changes.updated = updated;
        }
        self.changes.record(change);
    }

    /// Returns `true` if the client is notified of a change without a `subscriptions/listen` of the
    /// stateless era.
    fn notifies_without_listen(&self, change: Change<'_>) -> bool {
        match change {
            Change::Resource(uri) => self.session.is_subscribed(uri),
            _ => self.session.has_declared(change),
        }
    }

    /// Sends the notifications that are due. Returns `true` if there were some.
    pub(super) fn send_due_changes(&mut self, now: Instant) -> bool {
        if self.changes.due().is_none_or(|due| due > now) {
            return false;
        }
        let changes = std::mem::take(&mut self.changes);
        self.changes.not_before = Some(now + MIN_INTERVAL);
        let lists = [
            (changes.tools, Change::Tools),
            (changes.prompts, Change::Prompts),
            (changes.resources, Change::Resources),
        ];
        for (has_changed, change) in lists {
            if has_changed {
                self.send_change(change);
            }
        }
        for uri in &changes.updated {
            self.send_change(Change::Resource(uri));
        }
        true
    }

    fn send_change(&mut self, change: Change<'_>) {
        let method = change.method().as_str();
        let mut is_unsent = false;
        if self.notifies_without_listen(change) {
            let body = match change {
                Change::Resource(uri) => uri_member(uri),
                _ => Bytes::new(),
            };
            is_unsent |= self.session.notify(None, method, body).is_err();
        }
        for (request, body) in self.listens.notifications_for(change) {
            is_unsent |= self.session.notify(Some(request), method, body).is_err();
        }
        if is_unsent {
            // The send queue is full. A second notification does no harm.
            self.changes.record(change);
        }
    }
}

fn uri_member(uri: &str) -> Bytes {
    let mut body = Vec::with_capacity(uri.len() + 8);
    let mut encoder = Encoder::lossless(&mut body);
    encoder.key("uri");
    encoder.string(uri);
    body.into()
}
