//! The events that a log keeps, in their order of age and of eviction.

use std::collections::{BTreeMap, BTreeSet};

use super::config::EventLogConfig;
use super::record::EventRecord;
use crate::time::Instant;

/// Why an event is kept, which decides when it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// It was appended while a client was connected that will read it: it goes when it is read.
    Unread,
    /// As before, and it is a final response.
    UnreadResponse,
    /// A final response that was not fetched: it goes last.
    Response,
    /// For a client that comes back: the oldest goes first.
    History,
    /// As before, but larger than all that may be kept: it goes at once.
    Oversize,
}

/// The place of an event among all of the session, by age.
pub(super) type Order = u64;

/// The events that a log keeps.
#[derive(Debug, Default)]
pub(super) struct KeptEvents {
    events: BTreeMap<Order, Kept>,
    unread: ClassIndex,
    unread_responses: ClassIndex,
    responses: ClassIndex,
    history: ClassIndex,
    oversize: ClassIndex,
    next: Order,
}

#[derive(Debug)]
pub(super) struct Kept {
    pub(super) record: EventRecord,
    pub(super) at: Instant,
    class: Class,
}

/// The events of a class.
#[derive(Debug, Default)]
struct ClassIndex {
    orders: BTreeSet<Order>,
    bytes: usize,
}

impl Kept {
    fn cost(&self) -> usize {
        cost(&self.record)
    }
}

impl KeptEvents {
    /// Adds an event that is the newest.
    pub(super) fn push(&mut self, at: Instant, record: EventRecord, class: Class) -> Order {
        let order = self.next;
        self.next += 1;
        let kept = Kept { record, at, class };
        self.index(class).insert(order, kept.cost());
        self.events.insert(order, kept);
        order
    }

    pub(super) fn remove(&mut self, order: Order) -> Option<Kept> {
        let kept = self.events.remove(&order)?;
        self.index(kept.class).remove(order, kept.cost());
        Some(kept)
    }

    pub(super) fn set_class(&mut self, order: Order, class: Class) {
        let Some(kept) = self.events.get_mut(&order) else {
            return;
        };
        let (before, cost) = (std::mem::replace(&mut kept.class, class), kept.cost());
        if before != class {
            self.index(before).remove(order, cost);
            self.index(class).insert(order, cost);
        }
    }

    pub(super) fn get(&self, order: Order) -> Option<&Kept> {
        self.events.get(&order)
    }

    /// Returns the oldest event.
    pub(super) fn oldest(&self) -> Option<(Order, Instant)> {
        let (order, kept) = self.events.first_key_value()?;
        Some((*order, kept.at))
    }

    /// Returns the oldest event of a class.
    pub(super) fn oldest_of(&self, class: Class) -> Option<Order> {
        let index = match class {
            Class::Unread => &self.unread,
            Class::UnreadResponse => &self.unread_responses,
            Class::Response => &self.responses,
            Class::History => &self.history,
            Class::Oversize => &self.oversize,
        };
        index.orders.first().copied()
    }

    /// Returns the oldest event that a connection will read.
    pub(super) fn oldest_unread(&self) -> Option<Order> {
        let unread = self.oldest_of(Class::Unread).into_iter();
        unread.chain(self.oldest_of(Class::UnreadResponse)).min()
    }

    /// Returns the bytes of all events that connections will read.
    pub(super) fn unread_bytes(&self) -> usize {
        self.unread.bytes + self.unread_responses.bytes
    }

    /// Returns the bytes of those that are no final responses.
    pub(super) fn unread_message_bytes(&self) -> usize {
        self.unread.bytes
    }

    /// Returns the bytes of all events that no connection will read.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.history.bytes + self.responses.bytes + self.oversize.bytes
    }

    /// Returns the number of events that no connection will read.
    pub(super) fn waiting(&self) -> usize {
        self.events.len() - self.unread.orders.len() - self.unread_responses.orders.len()
    }

    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    const fn index(&mut self, class: Class) -> &mut ClassIndex {
        match class {
            Class::Unread => &mut self.unread,
            Class::UnreadResponse => &mut self.unread_responses,
            Class::Response => &mut self.responses,
            Class::History => &mut self.history,
            Class::Oversize => &mut self.oversize,
        }
    }
}

impl ClassIndex {
    fn insert(&mut self, order: Order, cost: usize) {
        self.orders.insert(order);
        self.bytes += cost;
    }

    fn remove(&mut self, order: Order, cost: usize) {
        self.orders.remove(&order);
        self.bytes -= cost;
    }
}

/// Returns what it costs to keep an event.
pub(super) fn cost(record: &EventRecord) -> usize {
    record.data.as_bytes().len() + EventLogConfig::EVENT_OVERHEAD
}
