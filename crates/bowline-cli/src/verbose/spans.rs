//! The spans of a subscriber: their formatted fields, the current one, and their lifetime.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata};
use tracing_core::span::Current;

use super::Words;

thread_local! {
    /// The spans that this thread has entered, the innermost last.
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// The spans that are open.
#[derive(Default)]
pub(super) struct Spans(Mutex<Table>);

#[derive(Default)]
struct Table {
    open: HashMap<u64, Span>,
    created: u64,
}

struct Span {
    metadata: &'static Metadata<'static>,
    fields: Words,
    parent: Option<u64>,
    /// The number of handles and children.
    references: usize,
}

impl Spans {
    pub(super) fn create(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Words(String::new());
        span.record(&mut fields);
        let parent = match span.parent() {
            Some(parent) => Some(parent.into_u64()),
            None if span.is_contextual() => innermost(),
            None => None,
        };
        let mut table = self.lock();
        if let Some(parent) = parent.and_then(|parent| table.open.get_mut(&parent)) {
            parent.references += 1;
        }
        table.created += 1;
        let number = table.created;
        let span = Span {
            metadata: span.metadata(),
            fields,
            parent,
            references: 1,
        };
        table.open.insert(number, span);
        Id::from_u64(number)
    }

    pub(super) fn record(&self, id: &Id, values: &Record<'_>) {
        if let Some(span) = self.lock().open.get_mut(&id.into_u64()) {
            values.record(&mut span.fields);
        }
    }

    pub(super) fn hold(&self, id: &Id) {
        if let Some(span) = self.lock().open.get_mut(&id.into_u64()) {
            span.references += 1;
        }
    }

    /// Drops a handle. Returns `true` if the span is closed.
    pub(super) fn release(&self, id: &Id) -> bool {
        let mut table = self.lock();
        let is_last = |span: &Span| span.references <= 1;
        let is_closed = table.open.get(&id.into_u64()).is_some_and(is_last);
        let mut next = Some(id.into_u64());
        while let Some(number) = next.take() {
            let Some(span) = table.open.get_mut(&number) else {
                break;
            };
            span.references -= 1;
            if span.references == 0 {
                // It was held by its child.
                next = table.open.remove(&number).and_then(|span| span.parent);
            }
        }
        is_closed
    }

    #[expect(clippy::unused_self, reason = "what a thread has entered is its own")]
    pub(super) fn enter(&self, id: &Id) {
        ENTERED.with_borrow_mut(|entered| entered.push(id.into_u64()));
    }

    #[expect(clippy::unused_self, reason = "as above")]
    pub(super) fn exit(&self, id: &Id) {
        ENTERED.with_borrow_mut(|entered| {
            let last = entered.iter().rposition(|open| *open == id.into_u64());
            last.map(|last| entered.remove(last))
        });
    }

    pub(super) fn current(&self) -> Current {
        let table = self.lock();
        let current = innermost().and_then(|id| Some((id, table.open.get(&id)?)));
        match current {
            Some((id, span)) => Current::new(Id::from_u64(id), span.metadata),
            None => Current::none(),
        }
    }

    /// Returns the fields of all spans that an event is in, from the outermost on.
    pub(super) fn scope_of(&self, event: &Event<'_>) -> String {
        let mut next = match event.parent() {
            Some(parent) => Some(parent.into_u64()),
            None if event.is_contextual() => innermost(),
            None => None,
        };
        let table = self.lock();
        let mut scopes = Vec::new();
        while let Some(span) = next.and_then(|id| table.open.get(&id)) {
            scopes.push(span.fields.0.trim_start());
            next = span.parent;
        }
        scopes.reverse();
        scopes.join(" ")
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn innermost() -> Option<u64> {
    ENTERED.with_borrow(|entered| entered.last().copied())
}
