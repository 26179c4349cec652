//! The table of the peer's requests: those with running handlers, and those that are open.
//!
//! A handler names a request by its key, not by the peer's id: the peer may use an id again
//! as soon as it has cancelled, and a late handler must not answer the wrong request. A request
//! that was cancelled or timed out can't be answered any more, but keeps its place until its
//! handler is done, so that the limit counts running handlers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use bowline_types::{Method, RequestId};

use crate::batches::ReplyTo;
use crate::defect::{self, Defect};
use crate::monotonic_table::MonotonicTable;
use crate::time::Instant;

/// A request of the peer that is being handled. Keys are never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestKey(u64);

impl RequestKey {
    /// Returns the key as a number, as in telemetry.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for RequestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The limits of a table of requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestLimits {
    /// Handlers that run.
    pub(crate) count: usize,
    /// Bytes of their requests' parameters.
    pub(crate) bytes: usize,
    /// Subscriptions, which have no handler.
    pub(crate) subscriptions: usize,
    /// Bytes of their requests' ids.
    pub(crate) id_bytes: usize,
}

/// A request that has arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrival {
    /// The destination of its response.
    pub(crate) to: ReplyTo,
    /// How long its handler may take.
    pub(crate) timeout: Option<Duration>,
    /// Bytes of its parameters, where they are kept.
    pub(crate) bytes: usize,
    /// Set for a subscription, which has no handler.
    pub(crate) is_subscription: bool,
    /// For telemetry: see [`request_method`](crate::trace::request_method).
    pub(crate) method: Option<Method>,
}

/// A request of the peer.
#[derive(Debug)]
pub(crate) struct PeerRequest {
    pub(crate) id: RequestId,
    /// The destination of its response.
    pub(crate) to: ReplyTo,
    pub(crate) started: Instant,
    /// `true` if it is of the stateless era, in which the peer receives no requests.
    pub(crate) is_stateless: bool,
    /// For telemetry.
    pub(crate) method: Option<Method>,
    deadline: Option<Instant>,
    bytes: usize,
    is_subscription: bool,
    is_open: bool,
}

/// The admission of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Admitted(RequestKey),
    /// Another request with the same id is open.
    Duplicate,
    /// The limit on handled requests is reached.
    Busy,
    /// Its id alone exceeds the limit on all ids.
    IdTooLong,
}

#[derive(Debug)]
pub(crate) struct Requests {
    limits: RequestLimits,
    handled: MonotonicTable<RequestKey, PeerRequest>,
    /// The open requests: those that may be answered.
    open: Open,
    deadlines: BTreeSet<(Instant, RequestKey)>,
    next: u64,
    bytes: usize,
    subscriptions: usize,
    id_bytes: usize,
}

impl Requests {
    /// Creates a table whose keys begin with `first`.
    pub(crate) fn new(limits: RequestLimits, first: u64) -> Self {
        Self {
            limits,
            handled: MonotonicTable::new(),
            open: Open::default(),
            deadlines: BTreeSet::new(),
            next: first,
            bytes: 0,
            subscriptions: 0,
            id_bytes: 0,
        }
    }

    /// Admits a request if there is room for it.
    pub(crate) fn admit(&mut self, now: Instant, id: RequestId, arrival: Arrival) -> Admission {
        let size = size_of_id(&id);
        if self.open.get(&id).is_some() {
            return Admission::Duplicate;
        }
        if size > self.limits.id_bytes {
            return Admission::IdTooLong;
        }
        if !self.has_room(size, arrival) && !defect::is(Defect::UnboundedRequests) {
            return Admission::Busy;
        }
        let key = RequestKey(self.next);
        self.next += 1;
        self.id_bytes += size;
        self.bytes += arrival.bytes;
        self.subscriptions += usize::from(arrival.is_subscription);
        let deadline = arrival.timeout.map(|timeout| now + timeout);
        self.deadlines
            .extend(deadline.map(|deadline| (deadline, key)));
        self.open.insert(&id, key);
        let request = PeerRequest {
            id,
            to: arrival.to,
            started: now,
            is_stateless: false,
            method: arrival.method,
            deadline,
            bytes: arrival.bytes,
            is_subscription: arrival.is_subscription,
            is_open: true,
        };
        self.handled.insert(key, request);
        Admission::Admitted(key)
    }

    /// Returns `true` if another request fits. A single one always does: frames have a limit of
    /// their own.
    fn has_room(&self, id_bytes: usize, arrival: Arrival) -> bool {
        let limits = &self.limits;
        let has_place = if arrival.is_subscription {
            // Cancelled ones are counted until they are released.
            let all = self.handled.len();
            self.subscriptions < limits.subscriptions && all < limits.count + limits.subscriptions
        } else {
            self.handled.len() - self.subscriptions < limits.count
        };
        has_place
            && self.id_bytes + id_bytes <= limits.id_bytes
            && (self.bytes == 0 || self.bytes + arrival.bytes <= limits.bytes)
    }

    /// Removes a request whose handler has finished. Returns it if it may be answered.
    pub(crate) fn finish(&mut self, key: RequestKey) -> Option<PeerRequest> {
        let request = self.handled.remove(key)?;
        self.id_bytes -= size_of_id(&request.id);
        self.bytes -= request.bytes;
        self.subscriptions -= usize::from(request.is_subscription);
        self.close(key, &request);
        request.is_open.then_some(request)
    }

    /// Marks a request as one of the stateless era.
    pub(crate) fn set_stateless(&mut self, key: RequestKey) {
        if let Some(request) = self.handled.get_mut(key) {
            request.is_stateless = true;
        }
    }

    /// Returns an open request.
    pub(crate) fn get(&self, key: RequestKey) -> Option<&PeerRequest> {
        self.handled.get(key).filter(|request| request.is_open)
    }

    /// Returns the open request of this id.
    pub(crate) fn find(&self, id: &RequestId) -> Option<&PeerRequest> {
        self.get(self.open.get(id)?)
    }

    /// Cancels the request of this id. Returns its key if it was open.
    pub(crate) fn cancel(&mut self, id: &RequestId) -> Option<RequestKey> {
        let key = self.open.get(id)?;
        self.give_up(key);
        Some(key)
    }

    /// Closes a request without a response. It stays in the table until its handler is done.
    pub(crate) fn give_up(&mut self, key: RequestKey) {
        let Some(mut request) = self.handled.remove(key) else {
            return;
        };
        self.close(key, &request);
        request.is_open = false;
        // A subscription has no handler that would have to be done first.
        self.subscriptions -= usize::from(std::mem::take(&mut request.is_subscription));
        self.handled.insert(key, request);
    }

    /// Returns a request whose handler has taken too long.
    pub(crate) fn overdue(&self, now: Instant) -> Option<RequestKey> {
        let &(deadline, key) = self.deadlines.first()?;
        (deadline <= now).then_some(key)
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Closes all requests. Returns those that were open, oldest first, with their methods and
    /// starting times.
    pub(crate) fn give_up_all(&mut self) -> Vec<(RequestKey, Option<Method>, Instant)> {
        self.open = Open::default();
        self.deadlines.clear();
        let open = self.handled.iter_mut().filter_map(|(key, request)| {
            let was_open = std::mem::take(&mut request.is_open);
            was_open.then_some((key, request.method, request.started))
        });
        open.collect()
    }

    /// Returns the open requests, oldest first.
    pub(crate) fn open_keys(&self) -> impl Iterator<Item = RequestKey> {
        let handled = self.handled.iter();
        handled.filter_map(|(key, request)| request.is_open.then_some(key))
    }

    /// Returns the key of the next request, as a number.
    pub(crate) fn next_key(&self) -> u64 {
        self.next
    }

    /// Returns the number of requests that may be answered.
    pub(crate) fn open(&self) -> usize {
        self.open.len()
    }

    /// Returns the number of requests whose handlers are not done.
    pub(crate) fn len(&self) -> usize {
        self.handled.len()
    }

    /// Removes a request from the open ones and from the deadlines.
    fn close(&mut self, key: RequestKey, request: &PeerRequest) {
        if request.is_open {
            self.open.remove(&request.id);
        }
        if let Some(deadline) = request.deadline {
            self.deadlines.remove(&(deadline, key));
        }
    }
}

/// Requests by their ids. Most peers count upwards.
#[derive(Debug, Default)]
struct Open {
    counted: MonotonicTable<i64, RequestKey>,
    other: BTreeMap<RequestId, RequestKey>,
}

impl Open {
    fn insert(&mut self, id: &RequestId, key: RequestKey) {
        match id.as_i64() {
            Some(number) => self.counted.insert(number, key),
            None => self.other.insert(id.clone(), key),
        };
    }

    fn get(&self, id: &RequestId) -> Option<RequestKey> {
        match id.as_i64() {
            Some(number) => self.counted.get(number).copied(),
            None => self.other.get(id).copied(),
        }
    }

    fn remove(&mut self, id: &RequestId) {
        match id.as_i64() {
            Some(number) => self.counted.remove(number),
            None => self.other.remove(id),
        };
    }

    fn len(&self) -> usize {
        self.counted.len() + self.other.len()
    }
}

/// Returns the number of bytes that an id holds beside its entry.
fn size_of_id(id: &RequestId) -> usize {
    id.text_len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn requests() -> Requests {
        let limits = RequestLimits {
            count: 2,
            bytes: 100,
            subscriptions: 1,
            id_bytes: 8,
        };
        Requests::new(limits, 1)
    }

    fn admit(requests: &mut Requests, id: impl Into<RequestId>) -> Admission {
        requests.admit(Instant::START, id.into(), Arrival::default())
    }

    fn within(timeout: Duration) -> Arrival {
        Arrival {
            timeout: Some(timeout),
            ..Arrival::default()
        }
    }

    fn key(admission: Admission) -> RequestKey {
        match admission {
            Admission::Admitted(key) => key,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn at_the_limits_and_one_past_them() {
        let mut by_count = requests();
        let first = key(admit(&mut by_count, 1));
        key(admit(&mut by_count, 2));
        assert_eq!(admit(&mut by_count, 3), Admission::Busy);
        assert!(by_count.finish(first).is_some());
        key(admit(&mut by_count, 3));

        let mut by_bytes = requests();
        assert_eq!(admit(&mut by_bytes, "123456789"), Admission::IdTooLong);
        let first = key(admit(&mut by_bytes, "12345678"));
        assert_eq!(admit(&mut by_bytes, "1"), Admission::Busy);
        by_bytes.finish(first);
        key(admit(&mut by_bytes, "1"));
    }

    // proves: F-CA-07
    #[test]
    fn a_cancelled_request_has_no_answer_and_keeps_its_place() {
        let mut requests = requests();
        let cancelled = key(admit(&mut requests, 1));
        assert_eq!(requests.cancel(&1.into()), Some(cancelled));
        assert_eq!(requests.cancel(&1.into()), None);
        assert!(requests.get(cancelled).is_none());
        assert_eq!((requests.open(), requests.len()), (0, 1));
        // The id is free again, the place is not.
        let again = key(admit(&mut requests, 1));
        assert_eq!(admit(&mut requests, 2), Admission::Busy);
        assert!(requests.finish(cancelled).is_none());
        key(admit(&mut requests, 2));
        // The late handler did nothing to the one that came after it.
        assert!(requests.finish(again).is_some());
        assert!(requests.finish(again).is_none());
    }

    #[test]
    fn one_id_is_one_request() {
        let mut requests = requests();
        key(admit(&mut requests, 1));
        assert_eq!(admit(&mut requests, 1), Admission::Duplicate);
        key(admit(&mut requests, "1"));
    }

    #[test]
    fn deadlines_come_in_their_order() {
        let mut requests = requests();
        let late = requests.admit(Instant::START, 1.into(), within(2 * SECOND));
        let soon = requests.admit(Instant::START, 2.into(), within(SECOND));
        let (late, soon) = (key(late), key(soon));
        assert_eq!(requests.next_deadline(), Some(Instant::START + SECOND));
        assert_eq!(requests.overdue(Instant::START), None);
        assert_eq!(requests.overdue(Instant::START + 3 * SECOND), Some(soon));
        requests.give_up(soon);
        assert_eq!(requests.overdue(Instant::START + 3 * SECOND), Some(late));
        assert!(requests.finish(late).is_some());
        assert_eq!(requests.next_deadline(), None);
    }
}
