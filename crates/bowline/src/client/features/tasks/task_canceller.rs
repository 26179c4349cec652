//! Giving up a task from elsewhere.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Lets others give up a call that has become a task.
#[derive(Debug, Default)]
pub(in crate::client) struct Stopper {
    is_followed: AtomicBool,
    stopped: Notify,
}

impl Stopper {
    /// Gives up the task. Whether it was followed.
    pub(in crate::client) fn stop(&self) -> bool {
        // Kept for whoever is about to follow it.
        self.stopped.notify_one();
        self.is_followed.swap(false, Ordering::AcqRel)
    }

    pub(in crate::client) fn set_followed(&self, is_followed: bool) {
        self.is_followed.store(is_followed, Ordering::Release);
    }

    pub(in crate::client) async fn stopped(&self) {
        self.stopped.notified().await;
    }
}
