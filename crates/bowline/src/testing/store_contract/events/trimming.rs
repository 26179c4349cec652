//! The removal of the oldest events of a stream.

use std::sync::Arc;

use tokio::task::{JoinSet, yield_now};

use super::super::rule::{Checked, Rule};
use super::super::{StoreHarness, WRITERS};
use super::{event, stream};
use crate::server::store::{EventStore, StoreError, StoredEvents, StreamKey};

pub(super) async fn trimming<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: EventStore,
{
    let rule = Rule("events: trimming");
    let (store, ttl) = (harness.open().await, harness.ttl());
    let stream = stream(rule, harness, &store).await?;
    for sequence in 1..=10 {
        let appended = store.append(&stream, event(sequence), ttl).await;
        rule.returns("append", appended, ())?;
    }
    // The third removes nothing: what is gone stays gone.
    for (through, gone) in [(0, 0), (4, 4), (2, 4), (9, 9), (30, 30)] {
        rule.returns("trim", store.trim(&stream, through).await, ())?;
        let read = rule.succeeds("read", store.read(&stream, 0, 100).await)?;
        let found = read.map(|read| (read.removed_through, read.events));
        let expected = Some((gone, (gone + 1..=10).map(event).collect()));
        rule.is(
            &format!("read after trim through {through}"),
            found,
            expected,
        )?;
    }
    Ok(())
}

/// Whenever a reader looks: events that it does not get are events that it is told of.
pub(super) async fn no_silent_gap<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: EventStore,
{
    let rule = Rule("events: removed_through is raised before events are removed");
    let (store, ttl) = (Arc::new(harness.open().await), harness.ttl());
    let stream = stream(rule, harness, &store).await?;
    let newest = u64::from(WRITERS);
    for sequence in 1..=newest {
        let appended = store.append(&stream, event(sequence), ttl).await;
        rule.returns("append", appended, ())?;
    }
    let mut trims = JoinSet::new();
    trims.spawn(trim_all(Arc::clone(&store), stream.clone(), newest));
    loop {
        let is_done = trims.is_empty();
        let read = rule.succeeds("read", store.read(&stream, 0, usize::MAX).await)?;
        let Some(read) = read else {
            return Err(rule.broken("trim removes the stream".to_owned()));
        };
        check_gap(rule, &read, newest)?;
        if is_done {
            return rule.is("events after all trims", read.events, vec![]);
        }
        match trims.try_join_next() {
            Some(Ok(trimmed)) => rule.returns("trim", trimmed, ())?,
            Some(Err(_)) => return Err(rule.broken("trim panics".to_owned())),
            None => yield_now().await,
        }
    }
}

async fn trim_all<S: EventStore>(
    store: Arc<S>,
    stream: StreamKey,
    newest: u64,
) -> Result<(), StoreError> {
    for through in 1..=newest {
        store.trim(&stream, through).await?;
        yield_now().await;
    }
    Ok(())
}

/// Checks that all events after `removed_through` were read.
fn check_gap(rule: Rule, read: &StoredEvents, newest: u64) -> Checked {
    let mut sequences = read.events.iter().map(|event| event.sequence.get());
    let first = sequences.next().unwrap_or(newest + 1);
    if first > read.removed_through + 1 {
        let through = read.removed_through;
        let detail = format!("a read begins with event {first}, but removed_through is {through}");
        return Err(rule.broken(detail));
    }
    let rest = sequences.eq(first + 1..=newest);
    rule.requires(rest, "a read has a gap after its first event")
}
