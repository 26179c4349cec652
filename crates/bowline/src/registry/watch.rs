//! Changes of the members of a registry, as a stream.
//!
//! There is neither a task nor a queue: a watch holds one future for each member, which is
//! polled only when that member has changed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Wake, Waker};

use bowline_proto::link::{LinkState, Transition};

use super::{Inner, Member, Name};
use crate::client::StateChanges;

/// Changes of the clients of a registry, as a stream.
///
/// It reports the latest state, not every change: a slow reader gets the last change of each
/// client, and that one client has replaced another, but not what came and went in between.
/// So it holds one entry for each client that it has reported. For every change of one client see
/// [`Client::state_changes`](crate::Client::state_changes).
pub struct Watch {
    registry: Weak<Inner>,
    pending: Arc<PendingEvents>,
    known: BTreeMap<Name, Known>,
    /// Members that may have an event.
    dirty: VecDeque<Name>,
}

/// A change of a client of a registry.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RegistryEvent {
    /// A client of this name was added.
    Started {
        /// Its name.
        name: String,
        /// Its state.
        state: LinkState,
    },
    /// Its state has changed.
    State {
        /// Its name.
        name: String,
        /// The last change, with its reason.
        transition: Transition,
    },
    /// It is no longer in the registry.
    Stopped {
        /// Its name.
        name: String,
    },
}

impl RegistryEvent {
    /// Returns the name of the client.
    pub fn name(&self) -> &str {
        match self {
            Self::Started { name, .. } | Self::State { name, .. } | Self::Stopped { name } => name,
        }
    }
}

impl fmt::Display for RegistryEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started { name, state } => write!(f, "{name}: started, {state}"),
            Self::State { name, transition } => write!(f, "{name}: {transition}"),
            Self::Stopped { name } => write!(f, "{name}: stopped"),
        }
    }
}

/// A member that was reported.
struct Known {
    number: u64,
    next: Next,
    waker: Waker,
}

type Next = Pin<Box<dyn Future<Output = (StateChanges, Option<Transition>)> + Send>>;

impl Watch {
    pub(super) fn new(registry: Weak<Inner>, pending: Arc<PendingEvents>) -> Self {
        pending.mark_all();
        Self {
            registry,
            pending,
            known: BTreeMap::new(),
            dirty: VecDeque::new(),
        }
    }

    /// Returns the next change. `None` when the registry was dropped and no event is left. Cancel
    /// safe.
    pub async fn next(&mut self) -> Option<RegistryEvent> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Option<RegistryEvent>> {
        loop {
            while let Some(name) = self.dirty.front().cloned() {
                match self.next_event_of(&name) {
                    // There may be more events of the same member.
                    Some(change) => return Poll::Ready(Some(change)),
                    None => self.dirty.pop_front(),
                };
            }
            if self.known.is_empty() && self.registry.strong_count() == 0 {
                return Poll::Ready(None);
            }
            let Some(pending) = self.pending.take(cx) else {
                return Poll::Pending;
            };
            let mut names = pending.names;
            if pending.is_all {
                names.extend(self.known.keys().cloned());
                let registry = self.registry.upgrade();
                names.extend(registry.into_iter().flat_map(|registry| registry.names()));
            }
            self.dirty.extend(names);
        }
    }

    /// Returns the next event of a name, if there is one.
    fn next_event_of(&mut self, name: &Name) -> Option<RegistryEvent> {
        let registry = self.registry.upgrade();
        let member = registry.and_then(|registry| registry.lock().members.get(name).cloned());
        let known = self.known.get_mut(name);
        match (member, known) {
            (None, None) => None,
            (Some(member), None) => {
                let (known, state) = Known::new(&member, name, &self.pending);
                self.known.insert(Arc::clone(name), known);
                let name = name.to_string();
                Some(RegistryEvent::Started { name, state })
            }
            (Some(member), Some(known)) if member.number == known.number => {
                let transition = known.last_change()?;
                let name = name.to_string();
                Some(RegistryEvent::State { name, transition })
            }
            (None | Some(_), Some(_)) => {
                self.known.remove(name);
                let name = name.to_string();
                Some(RegistryEvent::Stopped { name })
            }
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Watch");
        debug.field("known", &self.known.keys());
        debug.finish_non_exhaustive()
    }
}

impl Known {
    fn new(member: &Member, name: &Name, pending: &Arc<PendingEvents>) -> (Self, LinkState) {
        // Changes before the state: one in between is reported twice, not never.
        let next = next_change(member.client.state_changes());
        let state = member.client.state();
        let waker = MemberWaker {
            name: Arc::clone(name),
            pending: Arc::downgrade(pending),
        };
        let known = Self {
            number: member.number,
            next,
            waker: Waker::from(Arc::new(waker)),
        };
        (known, state)
    }

    /// Returns the last change since the previous call. When there is none, the waker is registered
    /// for the next one.
    fn last_change(&mut self) -> Option<Transition> {
        let mut last = None;
        let mut cx = Context::from_waker(&self.waker);
        while let Poll::Ready((changes, change)) = self.next.as_mut().poll(&mut cx) {
            let is_over = change.is_none();
            last = change.or(last);
            self.next = if is_over {
                Box::pin(std::future::pending())
            } else {
                next_change(changes)
            };
        }
        last
    }
}

fn next_change(mut changes: StateChanges) -> Next {
    Box::pin(async move {
        let change = changes.next().await;
        (changes, change)
    })
}

/// The members that a watch has to poll.
#[derive(Debug, Default)]
pub(super) struct PendingEvents(Mutex<Pending>);

#[derive(Debug, Default)]
struct Pending {
    /// Members whose state has changed: those that are known, at most.
    names: BTreeSet<Name>,
    /// Members have come or gone.
    is_all: bool,
    task: Option<Waker>,
}

impl PendingEvents {
    pub(super) fn mark_all(&self) {
        let mut pending = self.lock();
        pending.is_all = true;
        wake(pending);
    }

    fn mark(&self, name: &Name) {
        let mut pending = self.lock();
        pending.names.insert(Arc::clone(name));
        wake(pending);
    }

    /// Takes the members to poll. When there are none, the task is woken later.
    fn take(&self, cx: &Context<'_>) -> Option<Pending> {
        let mut pending = self.lock();
        if pending.names.is_empty() && !pending.is_all {
            pending.task = Some(cx.waker().clone());
            return None;
        }
        Some(std::mem::take(&mut *pending))
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake(mut pending: MutexGuard<'_, Pending>) {
    let task = pending.task.take();
    drop(pending);
    if let Some(task) = task {
        task.wake();
    }
}

/// Marks a member when its state has changed.
struct MemberWaker {
    name: Name,
    pending: Weak<PendingEvents>,
}

impl Wake for MemberWaker {
    fn wake(self: Arc<Self>) {
        if let Some(pending) = self.pending.upgrade() {
            pending.mark(&self.name);
        }
    }
}
