//! The application behind the server: what its handlers share.
//!
//! It knows nothing of the protocol but the features, with which it tells clients what has
//! changed. Everything that a client can make grow has a limit.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bowline::server::ServerFeatures;

/// The state. Handlers get it as `State<Arc<App>>`.
#[derive(Debug)]
pub(super) struct App {
    /// What the server has, to be changed while it runs.
    pub(super) features: ServerFeatures,
    /// What `increment` counts.
    pub(super) counter: AtomicU64,
    /// How many calls of `countdown` were cancelled.
    pub(super) cancelled: AtomicU64,
    /// How many surveys were begun.
    pub(super) surveys: AtomicU64,
    notes: Mutex<BTreeMap<String, String>>,
    plugins: Mutex<u32>,
}

impl App {
    pub(super) fn new(features: ServerFeatures) -> Self {
        Self {
            features,
            counter: AtomicU64::new(0),
            cancelled: AtomicU64::new(0),
            surveys: AtomicU64::new(0),
            notes: Mutex::default(),
            plugins: Mutex::default(),
        }
    }

    /// The notes by their names. Never hold this across an `await`.
    pub(super) fn notes(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        // A handler that panicked while it held the lock left a map that is still good.
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many plugins there are. Held while one is added or removed, so that the number
    /// and the list of tools stay the same thing.
    pub(super) fn plugins(&self) -> MutexGuard<'_, u32> {
        self.plugins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
