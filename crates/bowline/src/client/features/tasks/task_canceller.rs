//! Cancels a task, or a call that is being retried, from another handle.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Cancels a call that has become a task, or that waits for a URL elicitation.
#[derive(Debug, Default)]
pub(in crate::client) struct Canceller {
    is_active: AtomicBool,
    cancelled: Notify,
}

impl Canceller {
    /// Cancels the task. Returns `true` if a caller was waiting for it.
    pub(in crate::client) fn cancel(&self) -> bool {
        // The permit is kept for a caller that is about to wait for it.
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
