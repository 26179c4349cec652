//! The bytes of all bodies that are being received, within a limit.
//!
//! Each body has its own limit, but a thousand clients that send half of a large one each would
//! together take the memory of the process.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::config::HttpConfig;

/// The limit of a server.
#[derive(Debug)]
pub(super) struct BodyBudget {
    held: AtomicUsize,
    max: usize,
}

/// The bytes of one body. They are free again when this is dropped.
#[derive(Debug)]
pub(super) struct HeldBytes<'a> {
    budget: &'a BodyBudget,
    bytes: usize,
}

impl BodyBudget {
    /// Creates the budget of a service. There is room for one body at least.
    pub(super) fn of(config: &HttpConfig) -> Self {
        Self::new(config.max_pending_body_bytes.max(config.max_body_bytes))
    }

    fn new(max: usize) -> Self {
        Self {
            held: AtomicUsize::new(0),
            max,
        }
    }

    /// Begins a body, of which nothing is received yet.
    pub(super) fn begin(&self) -> HeldBytes<'_> {
        HeldBytes {
            budget: self,
            bytes: 0,
        }
    }
}

impl HeldBytes<'_> {
    /// Holds `bytes` in all. Returns `false` if there is no room for them.
    pub(super) fn grow_to(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        // Others may be refused while this is above the limit for a moment: the limit holds.
        let before = self.budget.held.fetch_add(more, Ordering::Relaxed);
        self.bytes += more;
        before.saturating_add(more) <= self.budget.max
    }
}

impl Drop for HeldBytes<'_> {
    fn drop(&mut self) {
        self.budget.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: SE-12
    #[test]
    fn all_bodies_together_stay_within_the_limit() {
        let budget = BodyBudget::new(100);
        let mut first = budget.begin();
        assert!(first.grow_to(60));
        let mut second = budget.begin();
        assert!(second.grow_to(40), "at the limit");
        assert!(!second.grow_to(41), "one past it");
        drop(second);
        assert!(first.grow_to(100));
        assert!(!budget.begin().grow_to(1));
        drop(first);
        assert!(budget.begin().grow_to(100));
        assert_eq!(budget.held.load(Ordering::Relaxed), 0);
    }
}
