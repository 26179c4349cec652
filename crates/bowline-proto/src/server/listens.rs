//! Who listens to which changes, on a server of the stateless era.

use std::collections::BTreeMap;

use bowline_types::capabilities::ServerCapabilities;
use bowline_types::meta::keys;
use bowline_types::subscriptions::SubscriptionFilter;
use bowline_types::{Encoder, Method, RequestId};
use bytes::Bytes;

use crate::requests::RequestKey;

/// Something that changed on a server.
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
    /// The notification that tells of it.
    pub const fn method(&self) -> Method {
        match self {
            Self::Tools => Method::ToolListChanged,
            Self::Prompts => Method::PromptListChanged,
            Self::Resources => Method::ResourceListChanged,
            Self::Resource(_) => Method::ResourceUpdated,
        }
    }
}

/// The open `subscriptions/listen` requests, and what each is told.
#[derive(Debug)]
pub struct Listens {
    open: BTreeMap<RequestKey, (RequestId, SubscriptionFilter)>,
    limit: usize,
    max_uris: usize,
}

/// There are as many as may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyListens;

impl std::fmt::Display for TooManyListens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("too many subscriptions are open")
    }
}

impl std::error::Error for TooManyListens {}

impl Listens {
    /// A table of at most `limit` requests, each of at most `max_uris` resources. A URI is
    /// what a resource costs.
    pub const fn new(limit: usize, max_uris: usize) -> Self {
        Self {
            open: BTreeMap::new(),
            limit,
            max_uris,
        }
    }

    /// Opens a request, and says what it will be told: what it asks for and the server can
    /// do. That is acknowledged first.
    ///
    /// # Errors
    ///
    /// When there are too many, or it asks for too much.
    pub fn open(
        &mut self,
        request: RequestKey,
        id: RequestId,
        asked: SubscriptionFilter,
        server: &ServerCapabilities,
    ) -> Result<SubscriptionFilter, TooManyListens> {
        let uris = asked.resource_subscriptions.as_ref().map_or(0, Vec::len);
        if self.open.len() >= self.limit || uris > self.max_uris {
            return Err(TooManyListens);
        }
        let granted = granted(asked, server);
        self.open.insert(request, (id, granted.clone()));
        Ok(granted)
    }

    /// Closes a request. Whether it was one of these.
    pub fn close(&mut self, request: RequestKey) -> bool {
        self.open.remove(&request).is_some()
    }

    /// The requests that are open.
    pub fn requests(&self) -> impl Iterator<Item = RequestKey> {
        self.open.keys().copied()
    }

    /// How many are open.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether none is open.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Who is to be told of a change, and with which parameters (members without braces).
    pub fn told(&self, change: Change<'_>) -> impl Iterator<Item = (RequestKey, Bytes)> {
        let open = self.open.iter();
        let listening = open.filter(move |(_, (_, filter))| wants(filter, change));
        listening.map(move |(request, (id, _))| (*request, members(id, change)))
    }
}

fn granted(asked: SubscriptionFilter, server: &ServerCapabilities) -> SubscriptionFilter {
    let tools = server.tools.as_ref().and_then(|it| it.list_changed);
    let prompts = server.prompts.as_ref().and_then(|it| it.list_changed);
    let resources = server.resources.as_ref();
    let lists = resources.and_then(|it| it.list_changed);
    let watches = resources.and_then(|it| it.subscribe);
    let both = |asked: Option<bool>, can: Option<bool>| asked.filter(|_| can == Some(true));
    let mut granted = SubscriptionFilter::new();
    granted.tools_list_changed = both(asked.tools_list_changed, tools);
    granted.prompts_list_changed = both(asked.prompts_list_changed, prompts);
    granted.resources_list_changed = both(asked.resources_list_changed, lists);
    granted.resource_subscriptions = asked
        .resource_subscriptions
        .filter(|_| watches == Some(true));
    granted.task_ids = asked.task_ids;
    granted
}

fn wants(filter: &SubscriptionFilter, change: Change<'_>) -> bool {
    match change {
        Change::Tools => filter.tools_list_changed == Some(true),
        Change::Prompts => filter.prompts_list_changed == Some(true),
        Change::Resources => filter.resources_list_changed == Some(true),
        Change::Resource(uri) => {
            let mut uris = filter.resource_subscriptions.iter().flatten();
            uris.any(|wanted| wanted == uri)
        }
    }
}

/// The parameters of a notification, with the id of the subscription that it belongs to.
fn members(id: &RequestId, change: Change<'_>) -> Bytes {
    let mut body = Vec::with_capacity(96);
    let mut encoder = Encoder::lossless(&mut body);
    encoder.key("_meta");
    encoder.begin_object();
    let said = encoder.member(keys::SUBSCRIPTION_ID.name(), id);
    said.expect("every revision can say an id");
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
    use crate::requests::{Admission, RequestLimits, Requests};
    use crate::time::Instant;

    fn keys() -> Vec<RequestKey> {
        let limits = RequestLimits {
            count: 3,
            id_bytes: 9,
        };
        let mut requests = Requests::new(limits, 1);
        let admitted = (0..3).map(|id| requests.admit(Instant::START, id.into(), None, None));
        let key = |admission| match admission {
            Admission::Admitted(key) => key,
            other => panic!("{other:?}"),
        };
        admitted.map(key).collect()
    }

    fn server() -> ServerCapabilities {
        ServerCapabilities::new()
            .tools(ToolsCapability::new().list_changed(true))
            .resources(ResourcesCapability::new().subscribe(true))
    }

    #[test]
    fn what_is_asked_for_and_can_be_done_is_granted() {
        let mut listens = Listens::new(2, 2);
        let asked = SubscriptionFilter::new()
            .tools_list_changed(true)
            .prompts_list_changed(true)
            .resources_list_changed(true)
            .resource_subscriptions(["file:///a".to_owned()]);
        let granted = listens.open(keys()[0], "s".into(), asked, &server());
        let granted = granted.unwrap();
        assert_eq!(granted.tools_list_changed, Some(true));
        assert_eq!(granted.prompts_list_changed, None);
        assert_eq!(granted.resources_list_changed, None);
        assert!(granted.resource_subscriptions.is_some());
        let told = |change| listens.told(change).collect::<Vec<_>>();
        assert!(told(Change::Prompts).is_empty() && told(Change::Resources).is_empty());
        assert!(told(Change::Resource("file:///b")).is_empty());
        let meta = r#""_meta":{"io.modelcontextprotocol/subscriptionId":"s"}"#;
        assert_eq!(told(Change::Tools)[0].1, meta);
        let updated = format!(r#"{meta},"uri":"file:///a""#);
        assert_eq!(told(Change::Resource("file:///a"))[0].1, updated);
        assert_eq!(
            Change::Tools.method().as_str(),
            "notifications/tools/list_changed"
        );
    }

    #[test]
    fn at_the_limits_and_one_past_them() {
        let mut listens = Listens::new(2, 2);
        let uris = |count: usize| {
            let uris: Vec<_> = (0..count)
                .map(|number| format!("file:///{number}"))
                .collect();
            SubscriptionFilter::new().resource_subscriptions(uris)
        };
        let keys = keys();
        let mut open = |at: usize, count| {
            let opened = listens.open(keys[at], 1.into(), uris(count), &server());
            opened.is_ok()
        };
        assert!(open(0, 2));
        assert!(!open(1, 3));
        assert!(open(1, 0));
        assert!(!open(2, 0));
        assert!(listens.close(keys[0]) && !listens.close(keys[0]));
        assert_eq!((listens.len(), listens.is_empty()), (1, false));
    }
}
