//! A subscriber that collects events, each with the spans that it is in.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_core::span::Current;

/// An event as a subscriber sees it.
#[derive(Clone, Debug)]
pub(crate) struct Logged {
    pub(crate) level: Level,
    pub(crate) target: String,
    pub(crate) message: Option<String>,
    pub(crate) fields: BTreeMap<String, String>,
    /// Outermost first.
    pub(crate) spans: Vec<Scope>,
}

/// A span.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) fields: BTreeMap<String, String>,
}

impl Logged {
    pub(crate) fn message(&self) -> &str {
        self.message.as_deref().unwrap_or_default()
    }

    /// A field of the event, or of the innermost span that has it.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let own = self.fields.get(name);
        let scopes = self.spans.iter().rev();
        let outer = || scopes.clone().find_map(|scope| scope.fields.get(name));
        own.or_else(outer).map(String::as_str)
    }

    /// A field of the innermost span that has it.
    pub(crate) fn of_span(&self, name: &str) -> Option<&str> {
        let mut scopes = self.spans.iter().rev();
        scopes
            .find_map(|scope| scope.fields.get(name))
            .map(String::as_str)
    }
}

/// Collects what is emitted up to a level. Clones collect the same: one that is the default of
/// another thread adds that thread's events.
#[derive(Clone)]
pub(crate) struct Collected {
    level: Level,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    spans: HashMap<u64, Spanned>,
    entered: HashMap<ThreadId, Vec<u64>>,
    events: Vec<Logged>,
}

impl Collected {
    pub(crate) fn up_to(level: Level) -> Self {
        let kept = Arc::default();
        Self { level, kept }
    }

    /// Those of Bowline.
    pub(crate) fn events(&self) -> Vec<Logged> {
        let kept = self.kept();
        let ours =
            |event: &&Logged| event.target == "bowline" || event.target.starts_with("bowline::");
        kept.events.iter().filter(ours).cloned().collect()
    }

    /// Those of everybody.
    pub(crate) fn all_events(&self) -> Vec<Logged> {
        self.kept().events.clone()
    }

    /// The messages of Bowline's events of one level.
    pub(crate) fn messages(&self, level: Level) -> Vec<String> {
        let events = self.events().into_iter();
        let events = events.filter(|event| event.level == level);
        events.map(|event| event.message().to_owned()).collect()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Spanned {
    metadata: &'static Metadata<'static>,
    scope: Scope,
    parent: Option<u64>,
}

impl Kept {
    fn current(&self) -> Option<u64> {
        self.entered.get(&thread::current().id())?.last().copied()
    }

    fn scopes(&self, innermost: Option<u64>) -> Vec<Scope> {
        let mut scopes = Vec::new();
        let mut next = innermost;
        while let Some(span) = next.and_then(|id| self.spans.get(&id)) {
            scopes.push(span.scope.clone());
            next = span.parent;
        }
        scopes.reverse();
        scopes
    }
}

struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().into(), format!("{value:?}"));
    }
}

impl Subscriber for Collected {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields(BTreeMap::new());
        span.record(&mut fields);
        let scope = Scope { fields: fields.0 };
        let mut kept = self.kept();
        let parent = match span.parent() {
            Some(parent) => Some(parent.into_u64()),
            None if span.is_contextual() => kept.current(),
            None => None,
        };
        let id = kept.spans.len() as u64 + 1;
        let metadata = span.metadata();
        let span = Spanned {
            metadata,
            scope,
            parent,
        };
        kept.spans.insert(id, span);
        Id::from_u64(id)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        let mut kept = self.kept();
        let Some(span) = kept.spans.get_mut(&id.into_u64()) else {
            return;
        };
        let mut fields = Fields(std::mem::take(&mut span.scope.fields));
        values.record(&mut fields);
        span.scope.fields = fields.0;
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(BTreeMap::new());
        event.record(&mut fields);
        let mut kept = self.kept();
        let span = match event.parent() {
            Some(parent) => Some(parent.into_u64()),
            None if event.is_contextual() => kept.current(),
            None => None,
        };
        let spans = kept.scopes(span);
        kept.events.push(Logged {
            level: *event.metadata().level(),
            target: event.metadata().target().into(),
            message: fields.0.remove("message"),
            fields: fields.0,
            spans,
        });
    }

    fn enter(&self, id: &Id) {
        let mut kept = self.kept();
        let entered = kept.entered.entry(thread::current().id()).or_default();
        entered.push(id.into_u64());
    }

    fn exit(&self, id: &Id) {
        let mut kept = self.kept();
        let entered = kept.entered.entry(thread::current().id()).or_default();
        if let Some(last) = entered.iter().rposition(|span| *span == id.into_u64()) {
            entered.remove(last);
        }
    }

    fn current_span(&self) -> Current {
        let kept = self.kept();
        let current = kept.current();
        let span = current.and_then(|id| Some((id, kept.spans.get(&id)?)));
        match span {
            Some((id, span)) => Current::new(Id::from_u64(id), span.metadata),
            None => Current::none(),
        }
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
}
