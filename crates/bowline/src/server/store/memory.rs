//! Stores in the memory of this process, within limits: the default, and the reference for others.
//!
//! Time is that of the runtime. A store is one that several servers share when each of them has a
//! clone of its `Arc`.
//!
//! Files: `records` keeps values by key until they expire, which all stores but the bus are built
//! on; the others are one store each.

mod bus;
mod events;
mod records;
mod sessions;
mod tasks;
mod used_states;

pub use bus::{MemoryBus, MemorySubscription};
pub use events::MemoryEvents;
pub use sessions::MemorySessions;
pub use tasks::MemoryTasks;
pub use used_states::MemoryUsedStates;

#[cfg(test)]
mod tests;
