//! What all sessions of a server share.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use bowline_proto::Payload;
use bowline_proto::server::{Change, SessionConfig};
use bowline_types::capabilities::ServerCapabilities;
use bowline_types::common::Implementation;
use bowline_types::meta::{ResultMeta, keys};
use bowline_types::{Method, Revision, Wire};

use tokio::sync::watch;

use super::extract::States;
use super::seal::RoundSeal;
use super::service::Service;
use super::session::Shared;

pub(super) type OnNotification = dyn Fn(Method, Option<&Payload>) + Send + Sync;

/// Tells what a server can do now.
pub(super) type Capabilities = Box<dyn Fn() -> ServerCapabilities + Send + Sync>;

/// A server, as its sessions have it.
pub(super) struct ServerCore {
    pub(super) service: Service,
    pub(super) states: States,
    pub(super) seal: RoundSeal,
    pub(super) has_logging: bool,
    pub(super) logger: Option<String>,
    /// What results of the stateless era say of the server, as a member.
    pub(super) meta: Arc<str>,
    pub(super) shutdown_deadline: Option<Duration>,
    pub(super) config: SessionConfig,
    pub(super) capabilities: Capabilities,
    pub(super) on_notification: Option<Box<OnNotification>>,
    pub(super) max_sessions: usize,
    /// Nobody is accepted any more.
    pub(super) is_ending: watch::Sender<bool>,
    pub(super) sessions: Sessions,
}

impl ServerCore {
    pub(super) fn capabilities(&self) -> ServerCapabilities {
        (self.capabilities)()
    }

    /// The configuration of a session that begins now.
    pub(super) fn session_config(&self) -> SessionConfig {
        let mut config = self.config.clone();
        config.capabilities(self.capabilities());
        config
    }

    pub(super) fn join(&self, session: &Arc<Shared>) {
        self.sessions.join(session);
    }

    /// A client has notified us.
    pub(super) fn notified(&self, method: Method, params: Option<&Payload>) {
        if let Some(on_notification) = &self.on_notification
            && let Err(panicked) = crate::panics::caught(|| on_notification(method, params))
        {
            let method = method.as_str();
            tracing::error!(
                method,
                panic = panicked.0,
                "a notification handler panicked"
            );
        }
    }
}

impl std::fmt::Debug for ServerCore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerCore").finish_non_exhaustive()
    }
}

/// The sessions that there are. Clones are the same ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Sessions(Arc<Mutex<Vec<Weak<Shared>>>>);

impl Sessions {
    fn join(&self, session: &Arc<Shared>) {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|session| session.strong_count() > 0);
        sessions.push(Arc::downgrade(session));
    }

    /// All that have not ended.
    pub(super) fn all(&self) -> Vec<Arc<Shared>> {
        let sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.iter().filter_map(Weak::upgrade).collect()
    }

    /// Something has changed that clients may want to know.
    pub(super) fn changed(&self, change: Change<'_>) {
        for session in self.all() {
            session.with(|core, _| core.changes.note(change));
        }
    }
}

/// What is to be added to a result so that it has the server's name (LC-49): the member
/// `ours`, or nothing where a handler has a `_meta` of its own, into which the name goes.
pub(super) fn named<'m>(meta: &mut Option<ResultMeta>, ours: Option<&'m str>) -> &'m str {
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

/// What each result of the stateless era says of the server (LC-49), as a member that is
/// encoded once for all. It is empty when it can't be said.
pub(super) fn result_meta(info: &Implementation) -> Arc<str> {
    let meta = ResultMeta::new().with(keys::SERVER_INFO, info.clone());
    match Payload::encode(&meta, Revision::LATEST) {
        Ok(meta) => format!("{META}{}", meta.as_str()).into(),
        Err(error) => {
            tracing::error!(%error, "the server can't introduce itself");
            Arc::default()
        }
    }
}
