//! Connections by name.
//!
//! A [`Registry`] starts clients, finds them, lists them and stops them. It is a value like
//! any other: a process may have as many as it likes, and none is global. Its clients
//! don't block it: a server that never responds, or crashes all the time, is one entry.
//!
//! ```
//! use bowline::registry::{RegistryEvent, Registry};
//! use bowline::testing;
//! use bowline::types::common::Implementation;
//! use bowline::{ClientConfig, ErrorKind};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! # let (transport, _peer) = testing::peer();
//! # let (another, _peer) = testing::peer();
//! let registry = Registry::new();
//! let config = ClientConfig::new(Implementation::new("example", "1.0"));
//! let files = registry.start("files", transport, config.clone())?;
//! let taken = registry.start("files", another, config).unwrap_err();
//! assert_eq!(taken.kind(), ErrorKind::Config);
//!
//! files.ready().await?;
//! for entry in registry.list() {
//!     println!("{}: {}", entry.name, entry.state);
//! }
//! let mut changes = registry.watch();
//! tokio::spawn(async move {
//!     while let Some(change) = changes.next().await {
//!         println!("{change}");
//!     }
//! });
//! registry.stop_all().await;
//! # Ok(())
//! # }
//! ```

mod watch;

use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;
use std::time::Duration;

use bowline_proto::link::LinkState;
use bowline_types::Revision;
use bowline_types::common::Implementation;
use tokio::time::timeout;

use crate::client::{Client, ClientConfig};
use crate::connection_failure::ConnectionFailure;
use crate::error::{Error, ErrorKind};
use crate::transport::Transport;
use watch::PendingEvents;

pub use watch::{RegistryEvent, Watch};

/// How long stopping all may take: each stops within its drain of 50 ms, all at once.
const STOP_TIMEOUT: Duration = Duration::from_millis(100);

type Name = Arc<str>;
type StopFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Clients by name. Clones are the same registry.
///
/// It holds its clients: they stay connected while it, or a clone of the client elsewhere,
/// is there.
#[derive(Clone, Default)]
pub struct Registry(Arc<Inner>);

#[derive(Default)]
struct Inner(Mutex<Table>);

#[derive(Default)]
struct Table {
    members: BTreeMap<Name, Member>,
    /// The number of the next member.
    next: u64,
    watches: Vec<Weak<PendingEvents>>,
}

/// A client under a name. Another one under the same name has another number.
#[derive(Clone)]
struct Member {
    number: u64,
    client: Client,
}

/// A client of a registry, at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// The state of its connection.
    pub state: LinkState,
    /// How many sessions it has had.
    pub session: u64,
    /// Calls that have not ended.
    pub pending: usize,
    /// The revision that was agreed in the latest handshake.
    pub revision: Option<Revision>,
    /// The name and version of the server, as it last sent them.
    pub server: Option<Implementation>,
    /// Why there is no connection: what failed last, what the server wrote, and when it is tried
    /// again or that the client has given up. `None` while there is a connection, before anything
    /// has failed, and once the client was stopped.
    pub failure: Option<ConnectionFailure>,
}

impl Registry {
    /// Creates a registry without clients.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a client under a name, and returns at once: it begins to connect, as
    /// [`Client::start`] does.
    ///
    /// # Errors
    ///
    /// Of kind [`Config`](ErrorKind::Config) when the name is taken. That of a client that is
    /// closed is not.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime, as [`Client::start`].
    pub fn start(
        &self,
        name: impl Into<String>,
        transport: impl Transport,
        config: impl Into<ClientConfig>,
    ) -> Result<Client, Error> {
        let (name, mut config) = (name.into(), config.into());
        config.name(&*name);
        self.add(name, || Client::start(transport, config))
    }

    /// Adds a client that was started elsewhere.
    ///
    /// # Errors
    ///
    /// As for [`start`](Self::start).
    pub fn insert(&self, name: impl Into<String>, client: Client) -> Result<(), Error> {
        let name = name.into();
        let named = client.clone();
        self.add(name.clone(), || client)?;
        named.name_in_events(&name);
        Ok(())
    }

    /// Returns the client of this name.
    pub fn get(&self, name: &str) -> Option<Client> {
        let table = self.0.lock();
        Some(table.members.get(name)?.client.clone())
    }

    /// Returns all clients, sorted by name, also those that have closed by themselves.
    pub fn list(&self) -> Vec<Entry> {
        // Each has a lock of its own: none is taken under that of the table.
        let members = self.0.lock().members.clone();
        let entries = members.iter().map(|(name, member)| {
            let agreement = member.client.agreement();
            let (state, failure) = member.client.state_and_failure();
            Entry {
                name: name.to_string(),
                state,
                session: member.client.session(),
                pending: member.client.pending(),
                revision: agreement.as_ref().map(|agreement| agreement.revision),
                server: agreement.and_then(|agreement| agreement.server_info.clone()),
                failure,
            }
        });
        entries.collect()
    }

    /// Stops a client and removes it; the name is free then. Returns `true` if there was one.
    ///
    /// Takes as long as [`Client::stop`], about 50 ms at most. Cancel safe: the client is
    /// stopped all the same, and stays in the list as closed.
    pub async fn stop(&self, name: &str) -> bool {
        let member = self.0.lock().members.get(name).cloned();
        let Some(member) = member else {
            return false;
        };
        member.client.stop().await;
        self.0.remove(&[(Name::from(name), member.number)]);
        true
    }

    /// Stops all clients that are there now, at once, and removes them. Returns how many there
    /// were.
    ///
    /// Takes about 100 ms at most, however many there are and whatever they do. Cancel safe:
    /// they are stopped all the same, and stay in the list as closed.
    pub async fn stop_all(&self) -> usize {
        let members = self.0.lock().members.clone();
        let mut stopping: Vec<StopFuture> = Vec::with_capacity(members.len());
        let mut stopped = Vec::with_capacity(members.len());
        let clients: Vec<_> = members
            .values()
            .map(|member| member.client.clone())
            .collect();
        for (name, Member { number, client }) in members {
            stopping.push(Box::pin(async move {
                client.stop().await;
            }));
            stopped.push((name, number));
        }
        let all = async {
            // All begin; then the order in which they are waited for doesn't matter.
            poll_fn(|cx| {
                stopping.retain_mut(|stop| stop.as_mut().poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
            for stop in stopping {
                stop.await;
            }
        };
        if timeout(STOP_TIMEOUT, all).await.is_err() {
            let stopping = clients
                .iter()
                .filter(|client| client.state() != LinkState::Closed);
            stopping.for_each(Client::warn_of_slow_stop);
        }
        self.0.remove(&stopped);
        stopped.len()
    }

    /// Returns a stream of the changes of clients from now on. It begins with those that exist.
    pub fn watch(&self) -> Watch {
        let pending = Arc::new(PendingEvents::default());
        let mut table = self.0.lock();
        table.watches.retain(|watch| watch.strong_count() > 0);
        table.watches.push(Arc::downgrade(&pending));
        Watch::new(Arc::downgrade(&self.0), pending)
    }

    fn add(&self, name: String, client: impl FnOnce() -> Client) -> Result<Client, Error> {
        let mut table = self.0.lock();
        let earlier = table.members.get(&*name);
        if earlier.is_some_and(|member| member.client.state() != LinkState::Closed) {
            drop(table);
            let message = format!("a client named {name:?} already exists");
            return Err(Error::new(ErrorKind::Config, message).in_operation("registry"));
        }
        let client = client();
        let member = Member {
            number: table.next,
            client: client.clone(),
        };
        table.next += 1;
        let earlier = table.members.insert(Name::from(name), member);
        let watches = table.watches.clone();
        drop(table);
        // Its last handle may be this one: it is dropped without the lock.
        drop(earlier);
        notify_watches(&watches);
        Ok(client)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members = self.0.lock().members.clone();
        let members = members
            .iter()
            .map(|(name, member)| (name, member.client.state()));
        f.debug_map().entries(members).finish()
    }
}

impl Inner {
    /// Returns the table. Nothing in it is half done when a panic leaves it.
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn names(&self) -> Vec<Name> {
        self.lock().members.keys().cloned().collect()
    }

    /// Removes members, unless others have their names by now.
    fn remove(&self, members: &[(Name, u64)]) {
        let mut removed = Vec::with_capacity(members.len());
        let mut table = self.lock();
        for (name, number) in members {
            let is_same = table.members.get(name).map(|member| member.number) == Some(*number);
            if is_same {
                removed.extend(table.members.remove(name));
            }
        }
        let watches = table.watches.clone();
        drop(table);
        drop(removed);
        notify_watches(&watches);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        notify_watches(&std::mem::take(&mut self.lock().watches));
    }
}

/// Notifies all watches that members were added or removed.
fn notify_watches(watches: &[Weak<PendingEvents>]) {
    for watch in watches.iter().filter_map(Weak::upgrade) {
        watch.mark_all();
    }
}
