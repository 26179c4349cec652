//! What goes, and when: limits and expiry.

use super::EventLog;
use super::kept_events::{Class, Order};
use super::record::{EventData, Removal};
use super::stream::Stream;
use crate::defect::{self, Defect};
use crate::outbox::StreamId;
use crate::time::Instant;

impl EventLog {
    /// Removes what is too old. Every method that takes the time does so, too.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.now = self.now.max(now);
        while let Some((order, at)) = self.kept.oldest()
            && at + self.config.age <= self.now
            && !defect::is(Defect::EndlessEvents)
        {
            self.remove_through(order, Removal::Expired);
        }
        while let Some(stream) = self.first_ended()
            && self.forgotten_at(stream) <= self.now
        {
            self.ended.pop_first();
            self.forget(stream);
        }
    }

    /// Returns when [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let expiry = self.kept.oldest().map(|(_, at)| at + self.config.age);
        let forgotten = self.first_ended().map(|stream| self.forgotten_at(stream));
        expiry.into_iter().chain(forgotten).min()
    }

    /// Gives up connections that read too slowly, and removes events beyond the limits.
    pub(super) fn enforce_limits(&mut self) {
        while self.kept.unread_bytes() > self.config.unread_bytes
            && let Some(order) = self.kept.oldest_unread()
            && self.give_up_reader(order)
        {}
        while let Some(order) = self.kept.oldest_of(Class::Oversize) {
            self.remove_through(order, Removal::Evicted);
        }
        while self.kept.waiting() > self.config.events
            || self.kept.waiting_bytes() > self.config.bytes
        {
            let history = self.kept.oldest_of(Class::History);
            let Some(order) = history.or_else(|| self.kept.oldest_of(Class::Response)) else {
                return;
            };
            self.remove_through(order, Removal::Evicted);
        }
    }

    /// Removes about this many bytes: events for clients that are not connected, the oldest first,
    /// and then gives up the connection that has waited longest. For a limit on several logs: what the
    /// configuration calls unshared stays.
    pub fn shed(&mut self, now: Instant, bytes: usize) {
        self.handle_timeout(now);
        let target = self.cost().saturating_sub(bytes);
        self.forget_empty(target);
        while self.cost() > target {
            let waiting = self.kept.oldest_of(Class::History);
            let waiting = waiting.or_else(|| self.kept.oldest_of(Class::Response));
            if let Some(order) = waiting
                && self.has_to_shed()
            {
                self.remove_through(order, Removal::Evicted);
                continue;
            }
            let unread = self.kept.oldest_unread();
            if self.kept.unread_message_bytes() <= self.config.unshared_unread_bytes
                || !unread.is_some_and(|order| self.give_up_reader(order))
            {
                break;
            }
        }
        self.forget_empty(target);
    }

    /// Returns `true` if more is kept for clients that are not connected than is unshared.
    fn has_to_shed(&self) -> bool {
        self.kept.waiting_bytes() + self.stream_cost() > self.config.unshared_bytes
    }

    /// Forgets streams that have ended and of which no event is kept, those that ended first, while the
    /// log costs more than `target` and more than what is unshared.
    fn forget_empty(&mut self, target: usize) {
        let is_empty = |stream: &Stream| stream.orders.is_empty() && stream.reader.is_none();
        let ended = self.ended.iter();
        let empty = ended.filter(|(_, stream)| self.streams.get(stream).is_some_and(is_empty));
        let empty: Vec<(Order, StreamId)> = empty.map(|(order, id)| (*order, *id)).collect();
        for (order, stream) in empty {
            if self.cost() <= target || !self.has_to_shed() {
                return;
            }
            self.ended.remove(&order);
            self.forget(stream);
        }
    }

    /// Forgets a stream that has ended and that no connection reads: the first one without events,
    /// or else the first one. Returns `false` if there is none.
    pub(super) fn forget_one(&mut self) -> bool {
        let mut oldest = None;
        for (order, stream) in &self.ended {
            let Some(ended) = self.streams.get(stream) else {
                continue;
            };
            if ended.reader.is_some() {
                continue;
            }
            oldest = oldest.or(Some((*order, *stream)));
            if ended.orders.is_empty() {
                oldest = Some((*order, *stream));
                break;
            }
        }
        let Some((order, stream)) = oldest else {
            return false;
        };
        self.ended.remove(&order);
        self.forget(stream);
        true
    }

    /// Decides anew why each event of a stream is kept, after a change of its reader.
    pub(super) fn reclassify(&mut self, stream: StreamId) {
        let Some(stream) = self.streams.get(&stream) else {
            return;
        };
        for order in &stream.orders {
            if let Some(kept) = self.kept.get(*order) {
                let class = stream.class_of(&kept.record, &self.config);
                self.kept.set_class(*order, class);
            }
        }
    }

    /// Gives up the reader of the stream of an event. Returns `false` if there is none.
    fn give_up_reader(&mut self, order: Order) -> bool {
        let Some(kept) = self.kept.get(order) else {
            return false;
        };
        let stream = kept.record.id.stream();
        let reader = self.streams.get_mut(&stream);
        let Some(reader) = reader.and_then(|stream| stream.reader.as_mut()) else {
            return false;
        };
        reader.is_lagging = true;
        self.stats.lagged += 1;
        self.reclassify(stream);
        true
    }

    /// Removes an event and those before it on its stream, since none can be resumed from any more
    /// without a gap.
    fn remove_through(&mut self, order: Order, removal: Removal) {
        let Some(kept) = self.kept.get(order) else {
            return;
        };
        let id = kept.record.id.stream();
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        while stream.orders.front().is_some_and(|front| *front <= order) {
            let Some(removed) = stream.orders.pop_front() else {
                return;
            };
            stream.head.removed_through += 1;
            stream.head.removal = Some(removal);
            let Some(removed) = self.kept.remove(removed) else {
                continue;
            };
            let is_response = matches!(removed.record.data, EventData::FinalResponse(_));
            let lost_responses = u64::from(is_response && !stream.is_response_fetched);
            match removal {
                Removal::Evicted => {
                    self.stats.evicted += 1;
                    self.stats.evicted_responses += lost_responses;
                }
                Removal::Expired => {
                    self.stats.expired += 1;
                    self.stats.expired_responses += lost_responses;
                }
            }
        }
    }

    /// Removes a stream with its events.
    fn forget(&mut self, stream: StreamId) {
        let last = self.streams.get(&stream);
        if let Some(order) = last.and_then(|stream| stream.orders.back().copied()) {
            self.remove_through(order, Removal::Evicted);
        }
        self.streams.remove(&stream);
        self.forgotten_through = self.forgotten_through.max(Some(stream));
    }

    fn first_ended(&self) -> Option<StreamId> {
        self.ended.first_key_value().map(|(_, stream)| *stream)
    }

    fn forgotten_at(&self, stream: StreamId) -> Instant {
        let ended_at = self.streams.get(&stream).map(|stream| stream.ended_at);
        let ended_at = ended_at.unwrap_or(Instant::START);
        ended_at + self.config.age.saturating_mul(2)
    }
}
