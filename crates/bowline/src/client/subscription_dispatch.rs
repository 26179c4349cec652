//! The open subscriptions, and their pending changes, which the driver delivers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bowline_proto::link::SubscriptionKey;
use bowline_proto::{Outcome, Payload};
use bowline_types::resources::ResourceUpdatedParams;
use bowline_types::subscriptions::SubscriptionFilter;
use bowline_types::{JsonObject, Method};
use tokio::sync::Notify;

use super::subscription::SubscriptionEvent;

/// The limits of what waits for one subscription. Beyond them only `Unknown` is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChangeLimits {
    pub(super) changes: usize,
    pub(super) bytes: usize,
}

impl Default for ChangeLimits {
    fn default() -> Self {
        Self {
            changes: 1_000,
            bytes: 1 << 20,
        }
    }
}

/// What is shared between a subscription and the driver.
pub(super) struct SubscriptionChannel {
    filter: SubscriptionFilter,
    limits: ChangeLimits,
    state: Mutex<ChannelState>,
    pub(super) wake: Notify,
}

pub(super) struct ChannelState {
    changes: BTreeSet<SubscriptionEvent>,
    /// Bytes of their URIs and ids.
    bytes: usize,
    /// What the server honours now, or did in the last connection.
    pub(super) acknowledged: SubscriptionFilter,
    pub(super) is_open: bool,
    pub(super) end: Option<SubscriptionEnd>,
}

/// How a subscription has ended.
#[derive(Clone, Debug)]
pub(super) enum SubscriptionEnd {
    Outcome(Outcome),
    /// The server honours nothing of it: it might as well have refused.
    NothingAcknowledged,
}

impl ChannelState {
    pub(super) fn pop(&mut self) -> Option<SubscriptionEvent> {
        let change = self.changes.pop_first()?;
        self.bytes -= byte_len(&change);
        Some(change)
    }

    pub(super) fn clear(&mut self) {
        self.changes.clear();
        self.bytes = 0;
    }

    fn add(&mut self, change: SubscriptionEvent, limits: ChangeLimits) {
        if self.changes.contains(&change) {
            return;
        }
        let bytes = self.bytes.saturating_add(byte_len(&change));
        if self.changes.len() >= limits.changes.max(1) || bytes > limits.bytes {
            self.clear();
            self.changes.insert(SubscriptionEvent::Unknown);
        } else {
            self.changes.insert(change);
            self.bytes = bytes;
        }
    }
}

fn byte_len(change: &SubscriptionEvent) -> usize {
    match change {
        SubscriptionEvent::Resource(name) | SubscriptionEvent::Task(name) => name.len(),
        SubscriptionEvent::Unknown
        | SubscriptionEvent::Tools
        | SubscriptionEvent::Prompts
        | SubscriptionEvent::Resources => 0,
    }
}

impl SubscriptionChannel {
    pub(super) fn new(filter: SubscriptionFilter, limits: ChangeLimits) -> Self {
        let state = ChannelState {
            changes: BTreeSet::new(),
            bytes: 0,
            acknowledged: filter.clone(),
            is_open: false,
            end: None,
        };
        Self {
            filter,
            limits,
            state: Mutex::new(state),
            wake: Notify::new(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, ChannelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wants(&self, change: &SubscriptionEvent) -> bool {
        let wants = |list: Option<bool>| list == Some(true);
        match change {
            SubscriptionEvent::Unknown => true,
            SubscriptionEvent::Tools => wants(self.filter.tools_list_changed),
            SubscriptionEvent::Prompts => wants(self.filter.prompts_list_changed),
            SubscriptionEvent::Resources => wants(self.filter.resources_list_changed),
            SubscriptionEvent::Resource(uri) => {
                let mut channel = self.filter.resource_subscriptions.iter().flatten();
                channel.any(|channel| is_same_or_part(uri, channel))
            }
            SubscriptionEvent::Task(id) => self
                .filter
                .task_ids
                .iter()
                .flatten()
                .any(|watched| watched == id),
        }
    }

    fn add(&self, change: SubscriptionEvent) {
        self.lock().add(change, self.limits);
        self.wake.notify_waiters();
    }

    /// Returns the part of the filter that the handshake era has: no tasks, and no unknown members.
    fn handshake_era_filter(&self) -> SubscriptionFilter {
        let mut filter = self.filter.clone();
        filter.task_ids = None;
        filter.extras = JsonObject::new();
        filter
    }

    /// Marks it as open, with what the server honours of it: in the handshake era, in which each
    /// part is confirmed, all that the era has. Returns `true` if that is anything.
    fn open(&self, acknowledged: Option<Box<SubscriptionFilter>>) -> bool {
        let mut state = self.lock();
        let is_all = acknowledged.is_none();
        let acknowledged =
            acknowledged.map_or_else(|| self.handshake_era_filter(), |acknowledged| *acknowledged);
        let has_any = has_any(&acknowledged) || (is_all && acknowledged == self.filter);
        state.acknowledged = acknowledged;
        state.is_open = true;
        if !has_any {
            state
                .end
                .get_or_insert(SubscriptionEnd::NothingAcknowledged);
        }
        has_any
    }
}

impl fmt::Debug for SubscriptionChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubscriptionChannel")
            .field("filter", &self.filter)
            .field("waiting", &self.lock().changes.len())
            .finish_non_exhaustive()
    }
}

fn has_any(acknowledged: &SubscriptionFilter) -> bool {
    let any = |list: &Option<Vec<String>>| list.as_ref().is_some_and(|list| !list.is_empty());
    acknowledged.tools_list_changed == Some(true)
        || acknowledged.prompts_list_changed == Some(true)
        || acknowledged.resources_list_changed == Some(true)
        || any(&acknowledged.resource_subscriptions)
        || any(&acknowledged.task_ids)
        || !acknowledged.extras.is_empty()
}

/// Returns `true` if a resource is another one that is watched or kept, or a part of it: a server
/// may notify of parts (server/resources, all revisions).
pub(super) fn is_same_or_part(uri: &str, whole: &str) -> bool {
    let Some(rest) = uri.strip_prefix(whole) else {
        return false;
    };
    let marks = ['/', '#', '?'];
    rest.is_empty() || whole.ends_with(marks) || rest.starts_with(marks)
}

/// Returns the task that a notification is about.
fn task_id(params: &Payload) -> Option<String> {
    let id = params.as_json().reader().peek_tag("taskId").ok()??;
    Some(id.into_owned())
}

/// An update of the state of a subscription.
#[derive(Debug)]
pub(super) enum SubscriptionUpdate {
    /// It is open, and this of it is acknowledged.
    Open(Option<Box<SubscriptionFilter>>),
    /// It is open again, after something may have been missed.
    Gap(Option<Box<SubscriptionFilter>>),
    Ended(Outcome),
}

/// All open subscriptions.
#[derive(Debug, Default)]
pub(super) struct SubscriptionDispatch(Mutex<BTreeMap<SubscriptionKey, Arc<SubscriptionChannel>>>);

impl SubscriptionDispatch {
    pub(super) fn add(&self, key: SubscriptionKey, channel: Arc<SubscriptionChannel>) {
        self.lock().insert(key, channel);
    }

    pub(super) fn remove(&self, key: SubscriptionKey) {
        self.lock().remove(&key);
    }

    /// Delivers an update to a subscription. Returns `true` if there is still a reason to keep it.
    pub(super) fn handle_update(&self, key: SubscriptionKey, event: SubscriptionUpdate) -> bool {
        let channel = self.lock().get(&key).cloned();
        let Some(channel) = channel else {
            return true;
        };
        let is_wanted = match event {
            SubscriptionUpdate::Gap(acknowledged) => {
                channel.add(SubscriptionEvent::Unknown);
                channel.open(acknowledged)
            }
            SubscriptionUpdate::Open(acknowledged) => channel.open(acknowledged),
            SubscriptionUpdate::Ended(outcome) => {
                channel
                    .lock()
                    .end
                    .get_or_insert(SubscriptionEnd::Outcome(outcome));
                true
            }
        };
        channel.wake.notify_waiters();
        is_wanted
    }

    /// Adds the change of a notification to the subscriptions that want it.
    pub(super) fn dispatch(&self, method: &str, params: Option<&Payload>) {
        let subscriptions = self.lock();
        if subscriptions.is_empty() {
            return;
        }
        let change = match method.parse() {
            Ok(Method::ToolListChanged) => SubscriptionEvent::Tools,
            Ok(Method::PromptListChanged) => SubscriptionEvent::Prompts,
            Ok(Method::ResourceListChanged) => SubscriptionEvent::Resources,
            Ok(Method::ResourceUpdated) => {
                let read = params.map(Payload::decode::<ResourceUpdatedParams>);
                match read {
                    Some(Ok(params)) => SubscriptionEvent::Resource(params.uri),
                    _ => return,
                }
            }
            Ok(Method::Tasks) => match params.and_then(task_id) {
                Some(id) => SubscriptionEvent::Task(id),
                None => return,
            },
            _ => return,
        };
        for channel in subscriptions
            .values()
            .filter(|channel| channel.wants(&change))
        {
            channel.add(change.clone());
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SubscriptionKey, Arc<SubscriptionChannel>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_resource_belong_to_it() {
        for (uri, channel, belongs) in [
            ("file:///a", "file:///a", true),
            ("file:///a/b", "file:///a", true),
            ("file:///a/b", "file:///a/", true),
            ("file:///a#1", "file:///a", true),
            ("file:///a?b=1", "file:///a?", true),
            ("file:///ab", "file:///a", false),
            ("file:///b", "file:///a", false),
        ] {
            assert_eq!(is_same_or_part(uri, channel), belongs, "{uri} of {channel}");
        }
    }

    fn channel(limits: ChangeLimits) -> SubscriptionChannel {
        let filter = SubscriptionFilter::new().resource_subscriptions(["x:/".to_owned()]);
        SubscriptionChannel::new(filter, limits)
    }

    fn waiting(channel: &SubscriptionChannel) -> Vec<SubscriptionEvent> {
        channel.lock().changes.iter().cloned().collect()
    }

    // proves: F-BP-05
    #[test]
    fn beyond_the_limit_only_unknown_is_kept() {
        let limits = ChangeLimits::default();
        let channel = channel(limits);
        let change = |number: usize| SubscriptionEvent::Resource(format!("x:/{number}"));
        for number in 0..limits.changes {
            channel.add(change(number));
            channel.add(change(number));
        }
        assert_eq!(waiting(&channel).len(), limits.changes);
        channel.add(change(limits.changes));
        assert_eq!(waiting(&channel), [SubscriptionEvent::Unknown]);
    }

    // proves: F-BP-05
    #[test]
    fn long_uris_are_not_kept_beyond_the_limit_either() {
        let (changes, bytes) = (10, 30);
        let channel = channel(ChangeLimits { changes, bytes });
        let change =
            |name: &str| SubscriptionEvent::Resource(format!("x:/{name}-{}", "-".repeat(5)));
        for name in ["a", "b", "c", "a", "b", "c"] {
            channel.add(change(name));
        }
        assert_eq!(waiting(&channel).len(), 3, "30 bytes");
        assert_eq!(channel.lock().pop(), Some(change("a")));
        channel.add(change("d"));
        assert_eq!(waiting(&channel), ["b", "c", "d"].map(change));
        channel.add(SubscriptionEvent::Resource(String::from("x")));
        assert_eq!(waiting(&channel), [SubscriptionEvent::Unknown]);
        assert_eq!(channel.lock().bytes, 0);
        // Changes after that are delivered again.
        channel.add(change("a"));
        assert_eq!(waiting(&channel), [SubscriptionEvent::Unknown, change("a")]);
        channel.lock().clear();
        channel.add(SubscriptionEvent::Resource("x".repeat(31)));
        assert_eq!(
            waiting(&channel),
            [SubscriptionEvent::Unknown],
            "one alone is too long"
        );
    }
}
