//! Giving up a task from elsewhere.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Lets others give up a call that has become a task.
#[derive(Debug, Default)]
pub(in crate::client) struct Canceller {
    is_active: AtomicBool,
    cancelled: Notify,
}

impl Canceller {
    /// Gives up the task. Whether it was followed.
    pub(in crate::client) fn cancel(&self) -> bool {
        // Kept for whoever is about to follow it.
        self.cancelled.notify_one();
        self.is_active.swap(false, Ordering::AcqRel)
    }

    pub(in crate::client) fn set_active(&self, is_active: bool) {
        self.is_active.store(is_active, Ordering::Release);
    }

    pub(in crate::client) async fn cancelled(&self) {
        self.cancelled.notified().await;
    }
}
