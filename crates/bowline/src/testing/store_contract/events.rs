//! The contract of event stores.

mod trimming;

use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::sync::Arc;

use bytes::Bytes;

use super::rule::{BrokenRule, Checked, Rule};
use super::sessions::only_winner;
use super::{StoreHarness, WRITERS, compete, key};
use crate::server::store::{EventStore, StoreError, StoredEvent, StreamId, StreamKey};

/// Tests an [`EventStore`].
///
/// # Errors
///
/// Returns the first rule that it breaks.
pub async fn events<H>(harness: &H) -> Result<(), BrokenRule>
where
    H: StoreHarness,
    H::Store: EventStore,
{
    stream_numbers(harness).await?;
    rising_sequences(harness).await?;
    one_writer(harness).await?;
    reading(harness).await?;
    heads(harness).await?;
    trimming::trimming(harness).await?;
    trimming::no_silent_gap(harness).await?;
    ttl(harness).await?;
    removal(harness).await
}

/// Returns the event of a sequence.
fn event(sequence: u64) -> StoredEvent {
    // The suite has no sequence 0.
    let sequence = NonZeroU64::new(sequence).unwrap_or(NonZeroU64::MIN);
    StoredEvent::new(sequence, Bytes::from(format!("event {sequence}\n\0")))
}

/// Creates a stream of a log.
async fn stream<H>(rule: Rule, harness: &H, store: &H::Store) -> Result<StreamKey, BrokenRule>
where
    H: StoreHarness,
    H::Store: EventStore,
{
    let created = store.create_stream(&key("log"), harness.ttl()).await;
    let number = rule.succeeds("create_stream", created)?;
    Ok(StreamKey::new(key("log"), number))
}

async fn stream_numbers<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: EventStore,
{
    let rule = Rule("events: each stream of a log has a number of its own");
    let (store, ttl) = (Arc::new(harness.open().await), harness.ttl());
    let created = compete(|_| {
        let store = Arc::clone(&store);
        async move { store.create_stream(&key("log"), ttl).await }
    });
    let mut numbers = BTreeSet::new();
    for created in created.await {
        numbers.insert(rule.succeeds("create_stream", created)?);
    }
    rule.is("numbers", numbers.len(), usize::from(WRITERS))?;
    for number in numbers.clone() {
        let stream = StreamKey::new(key("log"), number);
        let removed = store.remove_stream(&stream).await;
        rule.returns("remove_stream", removed, true)?;
    }
    let next = rule.succeeds("create_stream", store.create_stream(&key("log"), ttl).await)?;
    let is_new = numbers.insert(next);
    rule.requires(is_new, "the number of a removed stream is used again")
}

async fn rising_sequences<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: EventStore,
{
    let rule = Rule("events: sequences rise");
    let (store, ttl) = (harness.open().await, harness.ttl());
    let stream = stream(rule, harness, &store).await?;
    for sequence in [1, 2, 5] {
        let appended = store.append(&stream, event(sequence), ttl).await;
        rule.returns("append", appended, ())?;
    }
    for sequence in [5, 4, 3, 1] {
        let appended = store.append(&stream, event(sequence), ttl).await;
        let operation = format!("append of {sequence} after 5");
        rule.fails(&operation, appended, StoreError::Conflict)?;
    }
    rule.returns("append", store.append(&stream, event(6), ttl).await, ())?;
    // Whether or not they are still kept.
    rule.returns("trim", store.trim(&stream, 6).await, ())?;
    let appended = store.append(&stream, event(6), ttl).await;
    rule.fails(
        "append of a removed sequence",
        appended,
        StoreError::Conflict,
    )?;
    rule.returns("append", store.append(&stream, event(7), ttl).await, ())?;
    let read = rule.succeeds("read", store.read(&stream, 0, 10).await)?;
    let events = read.map(|read| read.events);
    rule.is("events", events, Some(vec![event(7)]))
}

async fn one_writer<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: EventStore,
{
    let rule = Rule("events: a sequence is appended once");
    let (store, ttl) = (Arc::new(harness.open().await), harness.ttl());
    let stream = stream(rule, harness, &store).await?;
    let appended = compete(|writer| {
        let (store, stream) = (Arc::clone(&store), stream.clone());
        async move {
            let record = Bytes::from(writer.to_string());
            let event = StoredEvent::new(NonZeroU64::MIN, record);
            let appended = store.append(&stream, event.clone(), ttl).await;
            appended.map(|()| event)
        }
    });
    let winner = only_winner(rule, "append", appended.await)?;
    let read = rule.succeeds("read", store.read(&stream, 0, 10).await)?;
    let events = read.map(|read| read.events);
    rule.is("events", events, Some(vec![winner]))
}

async fn reading<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: EventStore,
{
    let rule = Rule("events: a read has the events after an id, in order");
    let (store, ttl) = (harness.open().await, harness.ttl());
    let stream = stream(rule, harness, &store).await?;
    let missing = StreamKey::new(key("log"), StreamId::new(u64::MAX));
    rule.returns("read of no stream", store.read(&missing, 0, 10).await, None)?;
    for sequence in 1..=12 {
        let appended = store.append(&stream, event(sequence), ttl).await;
        rule.returns("append", appended, ())?;
    }
    for (after, limit, expected) in [
        (0, 100, 1..=12),
        (0, 12, 1..=12),
        (0, 1, 1..=1),
        (4, 3, 5..=7),
        // As text, 9 would be larger than 10.
        (9, 100, 10..=12),
        (11, 100, 12..=12),
    ] {
        let read = rule.succeeds("read", store.read(&stream, after, limit).await)?;
        let found = read.map(|read| (read.removed_through, read.events));
        let expected = Some((0, expected.map(event).collect()));
        let what = format!("read of {limit} events after {after}");
        rule.is(&what, found, expected)?;
    }
    for after in [12, 13, u64::MAX] {
        let read = rule.succeeds("read", store.read(&stream, after, 10).await)?;
        let what = format!("read after {after}, the newest is 12");
        rule.is(&what, read.map(|read| read.events), Some(vec![]))?;
    }
    Ok(())
}

async fn heads<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: EventStore,
{
    let rule = Rule("events: a stream has a head");
    let (store, ttl) = (harness.open().await, harness.ttl());
    let stream = stream(rule, harness, &store).await?;
    let head: Bytes = (0..=255).collect();
    for head in [Bytes::from("1"), head] {
        let written = store.write_head(&stream, head.clone(), ttl).await;
        rule.returns("write_head", written, ())?;
        let read = rule.succeeds("read", store.read(&stream, 0, 1).await)?;
        rule.is("the head", read.map(|read| read.head), Some(head))?;
    }
    let before = rule.succeeds("read", store.read(&stream, 0, 1).await)?;
    rule.returns("append", store.append(&stream, event(1), ttl).await, ())?;
    let after = rule.succeeds("read", store.read(&stream, 0, 1).await)?;
    let heads = [before, after].map(|read| read.map(|read| read.head));
    rule.requires(heads[0] == heads[1], "append changes the head")?;
    let missing = StreamKey::new(key("other log"), stream.stream);
    let written = store.write_head(&missing, Bytes::new(), ttl).await;
    rule.fails("write_head of no stream", written, StoreError::Missing)?;
    let appended = store.append(&missing, event(1), ttl).await;
    rule.fails("append to no stream", appended, StoreError::Missing)?;
    let trimmed = store.trim(&missing, 1).await;
    rule.fails("trim of no stream", trimmed, StoreError::Missing)?;
    rule.returns("read of no stream", store.read(&missing, 0, 1).await, None)
}

async fn ttl<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: EventStore,
{
    let rule = Rule("events: TTL");
    let (store, ttl) = (harness.open().await, harness.ttl());
    let silent = stream(rule, harness, &store).await?;
    let appended = stream(rule, harness, &store).await?;
    let headed = stream(rule, harness, &store).await?;
    harness.advance(ttl / 2).await;
    // Reading renews nothing.
    let read = rule.succeeds("read", store.read(&silent, 0, 1).await)?;
    rule.requires(read.is_some(), "a stream is gone before its TTL is over")?;
    rule.returns("append", store.append(&appended, event(1), ttl).await, ())?;
    let written = store.write_head(&headed, Bytes::new(), ttl).await;
    rule.returns("write_head", written, ())?;
    harness.advance(ttl * 3 / 4).await;
    let read = store.read(&silent, 0, 1).await;
    rule.returns("read after the TTL", read, None)?;
    let late = store.append(&silent, event(1), ttl).await;
    rule.fails("append after the TTL", late, StoreError::Missing)?;
    for (operation, renewed) in [("append", &appended), ("write_head", &headed)] {
        let read = rule.succeeds("read", store.read(renewed, 0, 1).await)?;
        let what = format!("{operation} does not renew the TTL");
        rule.requires(read.is_some(), &what)?;
    }
    // The counter of a log is kept as long as any of its streams.
    let new = stream(rule, harness, &store).await?;
    let is_new = ![silent, appended.clone(), headed.clone()].contains(&new);
    rule.requires(is_new, "the number of an expired stream is used again")?;
    harness.advance(ttl / 2).await;
    for expired in [&appended, &headed] {
        let read = store.read(expired, 0, 1).await;
        rule.returns("read after the renewed TTL", read, None)?;
    }
    Ok(())
}

async fn removal<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: EventStore,
{
    let rule = Rule("events: what was removed stays away");
    let (store, ttl) = (harness.open().await, harness.ttl());
    let first = stream(rule, harness, &store).await?;
    let second = stream(rule, harness, &store).await?;
    let third = stream(rule, harness, &store).await?;
    let created = store.create_stream(&key("other log"), ttl).await;
    let other = rule.succeeds("create_stream", created)?;
    let other = StreamKey::new(key("other log"), other);
    for stream in [&first, &second, &third, &other] {
        rule.returns("append", store.append(stream, event(1), ttl).await, ())?;
    }
    rule.returns("remove_stream", store.remove_stream(&first).await, true)?;
    let again = store.remove_stream(&first).await;
    rule.returns("second remove_stream", again, false)?;
    let read = rule.succeeds("read", store.read(&second, 0, 1).await)?;
    rule.requires(read.is_some(), "remove_stream removes another stream")?;
    rule.returns("remove_log", store.remove_log(&key("log")).await, ())?;
    for removed in [&first, &second, &third] {
        let read = store.read(removed, 0, 1).await;
        rule.returns("read of a removed stream", read, None)?;
        let late = store.append(removed, event(2), ttl).await;
        rule.fails("append to a removed stream", late, StoreError::Missing)?;
        let late = store.write_head(removed, Bytes::new(), ttl).await;
        rule.fails("write_head of a removed stream", late, StoreError::Missing)?;
    }
    let read = rule.succeeds("read", store.read(&other, 0, 1).await)?;
    let events = read.map(|read| read.events);
    rule.is("events of another log", events, Some(vec![event(1)]))
}
