//! Changes of state, as a stream.

use std::sync::Arc;

use bowline_proto::link::{LinkState, Transition};
use tokio::sync::watch;

use super::shared::Shared;

/// Every change of state, in order, from the creation of the stream on.
///
/// It holds nothing: changes are read from the client's history of 64. A reader that is further
/// behind than that skips the oldest, and [`missed`](Self::missed) counts them.
///
/// ```
/// # async fn example(client: bowline::Client) {
/// let mut changes = client.state_changes();
/// while let Some(change) = changes.next().await {
///     println!("{} -> {}: {}", change.from, change.to, change.cause);
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct StateChanges {
    shared: Arc<Shared>,
    changes: watch::Receiver<LinkState>,
    /// The number of changes that were returned or missed.
    seen: u64,
    missed: u64,
}

impl StateChanges {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        let changes = shared.state.subscribe();
        Self {
            changes,
            seen: shared.lock().link.transitions(),
            missed: 0,
            shared: Arc::clone(shared),
        }
    }

    /// Returns the next change. `None` when the client is closed and no change is left. Cancel
    /// safe.
    pub async fn next(&mut self) -> Option<Transition> {
        loop {
            // Before looking, so that a change in between is not lost.
            self.changes.mark_unchanged();
            {
                let core = self.shared.lock();
                let history = core.link.history();
                let oldest = core.link.transitions().saturating_sub(history.len() as u64);
                self.missed += oldest.saturating_sub(self.seen);
                self.seen = self.seen.max(oldest);
                let ahead = usize::try_from(self.seen - oldest).unwrap_or(usize::MAX);
                if let Some(transition) = core.link.history().nth(ahead) {
                    self.seen += 1;
                    return Some(transition.clone());
                }
                if core.link.state() == LinkState::Closed {
                    return None;
                }
            }
            self.changes.changed().await.ok()?;
        }
    }

    /// Returns the number of changes that left the history before they were read.
    pub fn missed(&self) -> u64 {
        self.missed
    }
}
