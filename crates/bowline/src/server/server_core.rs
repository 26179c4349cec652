//! The state that all sessions of a server share: its service, settings, features and tasks.

use std::sync::Arc;
use std::time::Duration;

use bowline_proto::Payload;
use bowline_proto::server::SessionConfig;
use bowline_types::capabilities::ServerCapabilities;
use bowline_types::common::Implementation;
use bowline_types::meta::{ResultMeta, keys};
use bowline_types::{Method, Revision, Wire};

use super::extract::States;
use super::features::ServerFeatures;
use super::principal::Principal;
use super::round_state_seal::RoundSeal;
use super::service::{MethodName, Service};
use super::session_set::SessionSet;
use super::tasks::TaskStore;
use super::telemetry::notification_span;
use super::used_round_states::UsedRoundStates;
use crate::log_names::shortened;

pub(super) type OnNotification = dyn Fn(Method, Option<&Payload>) + Send + Sync;

/// Returns the current capabilities of a server.
pub(super) type Capabilities = Box<dyn Fn() -> ServerCapabilities + Send + Sync>;

/// A built server, as its sessions share it.
pub(super) struct ServerCore {
    /// Its name, for log events.
    pub(super) name: Box<str>,
    pub(super) service: Service,
    pub(super) states: States,
    pub(super) seal: RoundSeal,
    /// Which round states were used, where each may be used once.
    pub(super) used_round_states: Option<Box<dyn UsedRoundStates>>,
    /// The most questions of one request, in all its rounds.
    pub(super) max_input_requests: usize,
    pub(super) has_logging: bool,
    pub(super) logger: Option<String>,
    /// The server information in results of the stateless era, as an encoded member.
    pub(super) meta: Arc<str>,
    pub(super) shutdown_deadline: Option<Duration>,
    pub(super) config: SessionConfig,
    pub(super) handshake_timeout: Duration,
    pub(super) frame_timeout: Duration,
    pub(super) capabilities: Capabilities,
    pub(super) on_notification: Option<Box<OnNotification>>,
    /// A [`Handler`](super::Handler), which receives notifications too. Layers don't see them.
    pub(super) raw_notification_handler: Option<Service>,
    pub(super) max_sessions: usize,
    pub(super) max_blocking: usize,
    pub(super) sessions: SessionSet,
    pub(super) features: ServerFeatures,
    pub(super) tasks: Arc<TaskStore>,
    /// Refused requests over HTTP, of all services and listeners.
    #[cfg(feature = "http-server")]
    pub(super) http_counters: Arc<super::http::HttpCounters>,
}

/// The origin of a client's stream.
#[derive(Debug)]
pub(super) enum Origin {
    /// A single stream, such as stdio, which the client owns. With its principal, if that is known.
    Stream(Option<Principal>),
    /// A listener, which has a limit on clients.
    Listener,
}

impl Origin {
    pub(super) fn principal(self) -> Option<Principal> {
        match self {
            Self::Stream(principal) => principal,
            Self::Listener => None,
        }
    }
}

impl ServerCore {
    pub(super) fn capabilities(&self) -> ServerCapabilities {
        (self.capabilities)()
    }

    /// Returns the configuration of a session that begins now.
    pub(super) fn session_config(&self, origin: &Origin) -> SessionConfig {
        let mut config = self.config.clone();
        match origin {
            Origin::Stream(_) => config.handshake_timeout(self.handshake_timeout, true),
            Origin::Listener => config
                .handshake_timeout(self.handshake_timeout, false)
                .frame_timeout(Some(self.frame_timeout)),
        };
        config.capabilities(self.capabilities());
        config
    }

    /// Returns `true` if there is a handler for notifications of clients.
    pub(super) fn handles_notifications(&self) -> bool {
        self.on_notification.is_some() || self.raw_notification_handler.is_some()
    }

    /// Dispatches a notification of a client.
    pub(super) fn dispatch_notification(&self, method: &MethodName, params: Option<&Payload>) {
        let _entered = notification_span(method).entered();
        // Called separately: one that panics doesn't hide the notification from the other.
        if let (Some(on_notification), Some(known)) = (&self.on_notification, method.known()) {
            call_handler(method, || on_notification(known, params));
        }
        if let Some(handler) = &self.raw_notification_handler {
            call_handler(method, || {
                handler.0.handle_notification(method.as_str(), params)
            });
        }
    }
}

/// Calls a notification handler, and logs its panic.
fn call_handler(method: &MethodName, handler: impl FnOnce()) {
    if let Err(panicked) = crate::panics::caught(handler) {
        let method = &*shortened(method.as_str());
        tracing::error!(method, panic = panicked.0, "notification handler panicked");
    }
}

impl std::fmt::Debug for ServerCore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerCore").finish_non_exhaustive()
    }
}

/// Returns the server information to add to a result (LC-49): the member `ours`, or nothing where
/// the result has a `_meta` of its own, into which it is inserted.
pub(super) fn add_server_info<'m>(meta: &mut Option<ResultMeta>, ours: Option<&'m str>) -> &'m str {
    let (Some(meta), Some(ours)) = (meta, ours) else {
        return ours.unwrap_or_default();
    };
    let ours = ours.strip_prefix(META).unwrap_or_default();
    for (key, value) in ResultMeta::from_json(ours).unwrap_or_default().iter() {
        let key = key.unescape().unwrap_or_default();
        if meta.get(&key).is_none() {
            meta.insert(&key, value);
        }
    }
    ""
}

/// How a member `_meta` begins.
const META: &str = "\"_meta\":";

/// Returns the server information in each result of the stateless era (LC-49), without what may be
/// long, such as icons. That is returned by [`server/discover`](discover_meta).
pub(super) fn result_meta(info: &Implementation) -> Arc<str> {
    let mut short = Implementation::new(&*info.name, &*info.version);
    short.title.clone_from(&info.title);
    discover_meta(&short)
}

/// Returns the full server information as a member that is encoded once. Empty when it can't be
/// encoded.
pub(super) fn discover_meta(info: &Implementation) -> Arc<str> {
    let meta = ResultMeta::new().with(keys::SERVER_INFO, info.clone());
    match Payload::encode(&meta, Revision::LATEST) {
        Ok(meta) => format!("{META}{}", meta.as_str()).into(),
        Err(error) => {
            tracing::error!(%error, "server info can't be encoded");
            Arc::default()
        }
    }
}
