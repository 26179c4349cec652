//! Stores: what the nodes of one server share.
//!
//! A server on one machine keeps all of this in its own memory. When clients may reach any of several
//! nodes, state travels, not the request: a node that needs the state of a session, an event or a
//! task reads it from a store, and a plain call is never forwarded to another node. Each kind of
//! state has a trait of its own, so that a deployment may choose where it is kept:
//!
//! - [`SessionStore`]: idle sessions of the handshake era, as records.
//! - [`EventStore`]: events of streams that can be resumed. The node that runs the handler numbers
//!   them.
//! - [`TaskStore`]: the state and the result of each task.
//! - [`UsedStateStore`]: request states that may be used once.
//! - [`Bus`]: wake-ups and live messages between nodes, which may be lost.
//!
//! # Writing a store
//!
//! A store keeps bytes that it need not understand, under [keys](StoreKey) that are safe in any
//! system. All operations are async and can fail with a [`StoreError`]. A store
//! needs no timeouts: [`SharedSessionStore`] and its siblings put a deadline on each operation and
//! drop its future then, so every operation must be *cancel safe*: dropped at any point it has
//! happened or not, but never in part.
//!
//! - **Compare-and-set.** A write names the [`Stamp`] or [`Version`] that it replaces. Of several
//!   writers exactly one succeeds, and the others get [`StoreError::Conflict`].
//! - **Fencing.** A node [claims](SessionStore::claim) a session before it serves it. From then on
//!   the writes of the node that had it before fail with [`StoreError::Fenced`], even if that node
//!   was only slow, and it stops.
//! - **Time.** The caller chooses how long a record is kept (its *TTL*); the clock that measures it is the
//!   store's. Clocks of nodes are never compared.
//!
//! `testing::store_contract` tests a store against all that its trait promises. The stores in
//! memory ([`MemorySessions`] and so on) pass it; several servers of one process can share them.
//!
//! Files: `key`, `stamp` and `error` are what the traits have in common; `sessions`, `events`,
//! `tasks`, `used_states` and `bus` are the traits; `shared` makes one type of all stores of a
//! trait, with deadlines; `memory` has the stores in memory.

mod bus;
mod error;
mod events;
mod key;
mod memory;
mod sessions;
mod shared;
mod stamp;
mod tasks;
mod used_states;

pub use bus::{Bus, BusSubscription, Delivery};
pub use error::StoreError;
pub use events::{EventStore, StoredEvent, StoredEvents, StreamKey};
pub use key::{BadStoreKey, StoreKey};
pub use memory::{
    MemoryBus, MemoryEvents, MemorySessions, MemorySubscription, MemoryTasks, MemoryUsedStates,
};
pub use sessions::SessionStore;
pub use shared::{
    SharedBus, SharedEventStore, SharedSessionStore, SharedSubscription, SharedTaskStore,
    SharedUsedStateStore,
};
pub use stamp::{Fence, Stamp, StoredRecord, Version};
pub use tasks::{StoredTask, TaskPosition, TaskStore};
pub use used_states::UsedStateStore;

#[doc(no_inline)]
pub use bowline_proto::StreamId;
