//! Ids of cancelled calls, so that their late responses are recognized.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use super::CallId;
use crate::defect::{self, Defect};
use crate::time::Instant;

/// Expired ids are swept together, so that an idle connection is woken once for many.
const SWEEP: Duration = Duration::from_secs(60);

/// Ids of cancelled calls, for the table of the next connection.
#[derive(Debug, Default)]
pub(crate) struct GivenUp(VecDeque<(Instant, CallId)>);

/// The ids of calls that ended without a response, for a limited time.
///
/// All are kept equally long, so they expire in the order in which they were added.
#[derive(Debug)]
pub(super) struct Tombstones {
    ids: BTreeSet<CallId>,
    order: VecDeque<(Instant, CallId)>,
    limit: usize,
    lifetime: Duration,
}

impl Tombstones {
    pub(super) fn new(limit: usize, lifetime: Duration, given_up: GivenUp) -> Self {
        let order = given_up.0;
        Self {
            ids: order.iter().map(|(_, id)| *id).collect(),
            order,
            limit,
            lifetime,
        }
    }

    pub(super) fn into_given_up(self) -> GivenUp {
        GivenUp(self.order)
    }

    /// Remembers an id. Beyond the limit the oldest one is forgotten.
    pub(super) fn insert(&mut self, now: Instant, id: CallId) {
        self.sweep(now);
        if self.limit == 0 || defect::is(Defect::NoTombstone) || !self.ids.insert(id) {
            return;
        }
        self.order.push_back((now + self.lifetime, id));
        if self.order.len() > self.limit
            && let Some((_, oldest)) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
    }

    /// Returns `true` if the id is remembered. An expired one is not, even before it is swept.
    pub(super) fn contains(&mut self, now: Instant, id: CallId) -> bool {
        self.sweep(now);
        self.ids.contains(&id)
    }

    /// Removes expired ids.
    pub(super) fn sweep(&mut self, now: Instant) {
        while let Some(&(until, id)) = self.order.front()
            && until <= now
        {
            self.order.pop_front();
            self.ids.remove(&id);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns when to sweep. Until then an expired id is kept and ignored.
    pub(super) fn next_sweep(&self) -> Option<Instant> {
        self.order.front().map(|(until, _)| *until + SWEEP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(seconds: u32) -> Instant {
        Instant::START + SECOND * seconds
    }

    #[test]
    fn at_the_limit_and_one_past_it() {
        let mut tombstones = Tombstones::new(3, 75 * SECOND, GivenUp::default());
        for id in 1..=3 {
            tombstones.insert(at(0), CallId(id));
        }
        assert!(tombstones.contains(at(0), CallId(1)));
        tombstones.insert(at(0), CallId(4));
        assert!(!tombstones.contains(at(0), CallId(1)));
        assert!((2..=4).all(|id| tombstones.contains(at(0), CallId(id))));
        assert_eq!(tombstones.len(), 3);
    }

    #[test]
    fn tombstones_are_removed_when_they_expire() {
        let mut tombstones = Tombstones::new(10, 75 * SECOND, GivenUp::default());
        tombstones.insert(at(0), CallId(1));
        tombstones.insert(at(10), CallId(2));
        assert_eq!(tombstones.next_sweep(), Some(at(135)));
        assert!(tombstones.contains(at(74), CallId(1)));
        assert!(!tombstones.contains(at(75), CallId(1)));
        assert!(tombstones.contains(at(75), CallId(2)));
        tombstones.sweep(at(85));
        assert_eq!((tombstones.len(), tombstones.next_sweep()), (0, None));
    }

    #[test]
    fn twice_is_once_and_none_is_none() {
        let mut tombstones = Tombstones::new(10, SECOND, GivenUp::default());
        tombstones.insert(at(0), CallId(1));
        tombstones.insert(at(0), CallId(1));
        assert_eq!(tombstones.len(), 1);
        let mut none = Tombstones::new(0, SECOND, GivenUp::default());
        none.insert(at(0), CallId(1));
        assert!(!none.contains(at(0), CallId(1)));
    }
}
