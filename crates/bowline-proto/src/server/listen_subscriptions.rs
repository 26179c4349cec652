//! The open `subscriptions/listen` requests of a server of the stateless era.

use std::collections::{BTreeMap, BTreeSet};

use bowline_types::capabilities::ServerCapabilities;
use bowline_types::meta::keys;
use bowline_types::subscriptions::SubscriptionFilter;
use bowline_types::{Encoder, Method, RequestId};
use bytes::Bytes;

use crate::requests::RequestKey;

/// A change on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change<'a> {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// The resource of this URI.
    Resource(&'a str),
}

impl Change<'_> {
    /// Returns the method of its notification.
    pub const fn method(&self) -> Method {
        match self {
            Self::Tools => Method::ToolListChanged,
            Self::Prompts => Method::PromptListChanged,
            Self::Resources => Method::ResourceListChanged,
            Self::Resource(_) => Method::ResourceUpdated,
        }
    }
}

/// The open `subscriptions/listen` requests, and their filters.
#[derive(Debug)]
pub struct ListenSubscriptions {
    open: BTreeMap<RequestKey, Listen>,
    limits: ListenLimits,
    uri_bytes: usize,
}

/// The limits of a table of subscriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListenLimits {
    /// Subscriptions that are open at once. Default 64.
    pub count: usize,
    /// Resources of one subscription. Default 1000.
    pub uris: usize,
    /// Bytes of the URIs of all of them, which is what they cost. Default 1 MiB.
    pub uri_bytes: usize,
}

impl Default for ListenLimits {
    fn default() -> Self {
        Self {
            count: 64,
            uris: 1000,
            uri_bytes: 1024 * 1024,
        }
    }
}

/// A subscription.
#[derive(Debug)]
struct Listen {
    id: RequestId,
    /// Without the resources.
    filter: SubscriptionFilter,
    uris: BTreeSet<String>,
}

impl Listen {
    fn uri_bytes(&self) -> usize {
        self.uris.iter().map(String::len).sum()
    }

    fn includes(&self, change: Change<'_>) -> bool {
        match change {
            Change::Tools => self.filter.tools_list_changed == Some(true),
            Change::Prompts => self.filter.prompts_list_changed == Some(true),
            Change::Resources => self.filter.resources_list_changed == Some(true),
            Change::Resource(uri) => self.uris.contains(uri),
        }
    }
}

/// Why a subscription was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListenError {
    /// The limit on subscriptions is reached.
    TooMany,
    /// The limit on resources is exceeded.
    TooManyResources,
}

impl std::fmt::Display for ListenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TooMany => "too many subscriptions are open",
            Self::TooManyResources => "a subscription has too many resources",
        })
    }
}

impl std::error::Error for ListenError {}

impl ListenSubscriptions {
    /// Creates an empty table.
    pub const fn new(limits: ListenLimits) -> Self {
        Self {
            open: BTreeMap::new(),
            limits,
            uri_bytes: 0,
        }
    }

    /// Opens a subscription. Returns the filter that the server honours, which is to be
    /// acknowledged first: the part of the request that the server has capabilities for.
    ///
    /// # Errors
    ///
    /// Fails if there are too many subscriptions, or too many resources in this one.
    pub fn open(
        &mut self,
        request: RequestKey,
        id: RequestId,
        asked: SubscriptionFilter,
        server: &ServerCapabilities,
    ) -> Result<SubscriptionFilter, ListenError> {
        let uris = asked.resource_subscriptions.as_ref().map_or(0, Vec::len);
        if uris > self.limits.uris {
            return Err(ListenError::TooManyResources);
        }
        if self.open.len() >= self.limits.count {
            return Err(ListenError::TooMany);
        }
        let granted = granted(asked, server);
        let mut filter = granted.clone();
        let uris = filter.resource_subscriptions.take().unwrap_or_default();
        let uris = uris.into_iter().collect();
        let listen = Listen { id, filter, uris };
        let uri_bytes = listen.uri_bytes();
        if uri_bytes > self.limits.uri_bytes {
            return Err(ListenError::TooManyResources);
        }
        if self.uri_bytes + uri_bytes > self.limits.uri_bytes {
            return Err(ListenError::TooMany);
        }
        self.uri_bytes += uri_bytes;
        self.open.insert(request, listen);
        Ok(granted)
    }

    /// Closes a request. Returns `true` if it was one of these.
    pub fn close(&mut self, request: RequestKey) -> bool {
        let closed = self.open.remove(&request);
        self.uri_bytes -= closed.as_ref().map_or(0, Listen::uri_bytes);
        closed.is_some()
    }

    /// Returns `true` if a request is one of these.
    pub fn contains(&self, request: RequestKey) -> bool {
        self.open.contains_key(&request)
    }

    /// Returns the requests that are open.
    pub fn requests(&self) -> impl Iterator<Item = RequestKey> {
        self.open.keys().copied()
    }

    /// Returns how many are open.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Returns `true` if none is open.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns `true` if a subscription includes a change.
    pub fn includes(&self, change: Change<'_>) -> bool {
        self.open.values().any(|listen| listen.includes(change))
    }

    /// Returns the subscriptions that include a change, with the parameters of the notification
    /// (members without braces).
    pub fn notifications_for(
        &self,
        change: Change<'_>,
    ) -> impl Iterator<Item = (RequestKey, Bytes)> {
        let open = self.open.iter();
        let listening = open.filter(move |(_, listen)| listen.includes(change));
        listening.map(move |(request, listen)| (*request, members(&listen.id, change)))
    }
}

fn granted(asked: SubscriptionFilter, server: &ServerCapabilities) -> SubscriptionFilter {
    let tools = server.tools.as_ref().and_then(|tools| tools.list_changed);
    let prompts = server
        .prompts
        .as_ref()
        .and_then(|prompts| prompts.list_changed);
    let resources = server.resources.as_ref();
    let lists = resources.and_then(|resources| resources.list_changed);
    let watches = resources.and_then(|resources| resources.subscribe);
    let both = |asked: Option<bool>, can: Option<bool>| asked.filter(|_| can == Some(true));
    let mut granted = SubscriptionFilter::new();
    granted.tools_list_changed = both(asked.tools_list_changed, tools);
    granted.prompts_list_changed = both(asked.prompts_list_changed, prompts);
    granted.resources_list_changed = both(asked.resources_list_changed, lists);
    granted.resource_subscriptions = asked
        .resource_subscriptions
        .filter(|_| watches == Some(true));
    // There are no notifications of tasks: clients poll (2026-07-28, tasks: it is optional).
    granted
}

/// Returns the parameters of a notification, with the id of the subscription that it belongs to.
fn members(id: &RequestId, change: Change<'_>) -> Bytes {
    let mut body = Vec::with_capacity(96);
    let mut encoder = Encoder::lossless(&mut body);
    encoder.key("_meta");
    encoder.begin_object();
    let encoded = encoder.member(keys::SUBSCRIPTION_ID.name(), id);
    encoded.expect("every revision has ids");
    encoder.end_object();
    if let Change::Resource(uri) = change {
        encoder.key("uri");
        encoder.string(uri);
    }
    body.into()
}

#[cfg(test)]
mod tests {
    use bowline_types::capabilities::{ResourcesCapability, ToolsCapability};

    use super::*;
    use crate::requests::{Admission, Arrival, RequestLimits, Requests};
    use crate::time::Instant;

    fn keys() -> Vec<RequestKey> {
        let limits = RequestLimits {
            count: 3,
            bytes: 9,
            subscriptions: 0,
            id_bytes: 9,
        };
        let mut requests = Requests::new(limits, 1);
        let admitted =
            (0..3).map(|id| requests.admit(Instant::START, id.into(), Arrival::default()));
        let key = |admission| match admission {
            Admission::Admitted(key) => key,
            other => panic!("{other:?}"),
        };
        admitted.map(key).collect()
    }

    fn limits() -> ListenLimits {
        ListenLimits {
            count: 2,
            uris: 2,
            uri_bytes: 20,
        }
    }

    fn server() -> ServerCapabilities {
        ServerCapabilities::new()
            .tools(ToolsCapability::new().list_changed(true))
            .resources(ResourcesCapability::new().subscribe(true))
    }

    #[test]
    fn requested_notifications_that_the_server_declares_are_granted() {
        let mut listens = ListenSubscriptions::new(limits());
        let asked = SubscriptionFilter::new()
            .tools_list_changed(true)
            .prompts_list_changed(true)
            .resources_list_changed(true)
            .resource_subscriptions(["file:///a".to_owned()])
            .task_ids(["t".to_owned()]);
        let granted = listens.open(keys()[0], "s".into(), asked, &server());
        let granted = granted.unwrap();
        assert_eq!(granted.tools_list_changed, Some(true));
        assert_eq!(granted.prompts_list_changed, None);
        assert_eq!(granted.resources_list_changed, None);
        assert!(granted.resource_subscriptions.is_some());
        assert_eq!(granted.task_ids, None);
        let notified = |change| listens.notifications_for(change).collect::<Vec<_>>();
        assert!(notified(Change::Prompts).is_empty() && notified(Change::Resources).is_empty());
        assert!(notified(Change::Resource("file:///b")).is_empty());
        assert!(listens.includes(Change::Tools) && listens.includes(Change::Resource("file:///a")));
        assert!(
            !listens.includes(Change::Prompts) && !listens.includes(Change::Resource("file:///b"))
        );
        let meta = r#""_meta":{"io.modelcontextprotocol/subscriptionId":"s"}"#;
        assert_eq!(notified(Change::Tools)[0].1, meta);
        let updated = format!(r#"{meta},"uri":"file:///a""#);
        assert_eq!(notified(Change::Resource("file:///a"))[0].1, updated);
        assert_eq!(
            Change::Tools.method().as_str(),
            "notifications/tools/list_changed"
        );
    }

    #[test]
    fn at_the_limits_and_one_past_them() {
        let mut listens = ListenSubscriptions::new(limits());
        let uris = |count: usize| {
            let uris: Vec<_> = (0..count)
                .map(|number| format!("file:///{number}"))
                .collect();
            SubscriptionFilter::new().resource_subscriptions(uris)
        };
        let keys = keys();
        let mut open = |at: usize, count| {
            let opened = listens.open(keys[at], 1.into(), uris(count), &server());
            opened.err()
        };
        assert_eq!(open(0, 2), None);
        assert_eq!(open(1, 3), Some(ListenError::TooManyResources));
        assert_eq!(open(1, 0), None);
        assert_eq!(open(2, 0), Some(ListenError::TooMany));
        assert!(listens.close(keys[0]) && !listens.close(keys[0]));
        assert_eq!((listens.len(), listens.is_empty()), (1, false));
    }

    #[test]
    fn at_the_limit_of_bytes_and_one_past_it() {
        let mut listens = ListenSubscriptions::new(limits());
        let keys = keys();
        let mut open = |at: usize, uris: &[&str]| {
            let uris: Vec<String> = uris.iter().map(ToString::to_string).collect();
            let asked = SubscriptionFilter::new().resource_subscriptions(uris);
            let opened = listens.open(keys[at], 1.into(), asked, &server());
            opened.is_ok()
        };
        // Twice the same costs once.
        assert!(open(0, &["0123456789", "0123456789"]));
        assert!(!open(1, &["0123456789", "x"]));
        assert!(open(1, &["0123456789"]));
        assert!(listens.close(keys[0]));
        let mut again = |bytes: usize| {
            let asked = SubscriptionFilter::new().resource_subscriptions(["y".repeat(bytes)]);
            listens.open(keys[2], 1.into(), asked, &server()).is_ok()
        };
        assert!(!again(11) && again(10));
    }
}
