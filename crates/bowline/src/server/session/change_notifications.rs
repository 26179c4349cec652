//! Changes that the client is to be told of.
//!
//! A change waits here at most once, however often it happened, and what is told of one list
//! is told at most ten times a second: a client reads the list again each time.

use std::collections::BTreeSet;
use std::time::Duration;

use bowline_proto::Instant;
use bowline_proto::server::Change;
use bowline_types::json::Encoder;
use bytes::Bytes;

use super::SessionCore;

/// How often a client is told of changes at most.
const MIN_INTERVAL: Duration = Duration::from_millis(100);

/// Resources whose changes wait to be told before it is looked which of them are still
/// wanted. What a client watches at a time is bounded, but not how often it changes that.
const MAX_UPDATED: usize = 1000;

/// What has changed.
#[derive(Debug, Default)]
pub(super) struct PendingChanges {
    tools: bool,
    prompts: bool,
    resources: bool,
    updated: BTreeSet<String>,
    /// How many there may be before it is looked which of them are still wanted.
    prune_at: usize,
    /// Nothing is told before.
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
            _ => tracing::error!("unknown change ignored"),
        }
    }

    fn is_empty(&self) -> bool {
        !(self.tools || self.prompts || self.resources) && self.updated.is_empty()
    }

    /// When the next change is told.
    pub(super) fn due(&self) -> Option<Instant> {
        if self.is_empty() {
            None
        } else {
            Some(self.not_before.unwrap_or(Instant::START))
        }
    }
}

impl SessionCore {
    /// Whether the client wants to know of a change.
    pub(super) fn wants_change(&self, change: Change<'_>) -> bool {
        self.notifies_without_listen(change) || self.listens.wants(change)
    }

    /// Something has changed that the client wants to know.
    pub(super) fn record_change(&mut self, change: Change<'_>) {
        if self.changes.updated.len() >= self.changes.prune_at.max(MAX_UPDATED) {
            let mut updated = std::mem::take(&mut self.changes.updated);
            updated.retain(|uri| self.wants_change(Change::Resource(uri)));
            self.changes.prune_at = 2 * updated.len();
            self.changes.updated = updated;
        }
        self.changes.record(change);
    }

    /// Whether the client is told of a change without a subscription of the stateless era.
    fn notifies_without_listen(&self, change: Change<'_>) -> bool {
        match change {
            Change::Resource(uri) => self.session.watches(uri),
            _ => self.session.declares(change),
        }
    }

    /// Tells the client what has changed, if it is time. Whether something was told.
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
        for (request, body) in self.listens.told(change) {
            is_unsent |= self.session.notify(Some(request), method, body).is_err();
        }
        if is_unsent {
            // There is no room now. Being told twice does no harm.
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
