//! The application behind the server: the state that its handlers share.
//!
//! It knows nothing of the protocol except the features, through which clients are notified of
//! changes. Everything that a client can grow has a limit.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bowline::server::ServerFeatures;

/// The state. Handlers get it as `State<Arc<App>>`.
#[derive(Debug)]
pub(super) struct App {
    /// The features of the server, which change while it runs.
    pub(super) features: ServerFeatures,
    /// The counter of `increment`.
    pub(super) counter: AtomicU64,
    /// The number of cancelled calls of `countdown`.
    pub(super) cancelled: AtomicU64,
    /// The number of surveys.
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

    /// Returns the notes by name. Must not be held across an `await`.
    pub(super) fn notes(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        // A handler that panicked while it held the lock left a valid map.
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of plugins. The lock is held while one is added or removed, so that the
    /// number agrees with the list of tools.
    pub(super) fn plugins(&self) -> MutexGuard<'_, u32> {
        self.plugins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
