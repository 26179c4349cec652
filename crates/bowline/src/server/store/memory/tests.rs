//! Each limit, at its value and one past it.

use std::num::NonZeroU64;
use std::time::Duration;

use bytes::Bytes;

use super::*;
use crate::server::store::{
    Bus as _, BusSubscription as _, Delivery, EventStore as _, SessionStore as _, StoreError,
    StoreKey, StoredEvent, StoredEvents, StreamId, StreamKey, TaskStore as _, UsedStateStore as _,
};

const TTL: Duration = Duration::from_secs(60);

fn key(name: &str) -> StoreKey {
    StoreKey::new(name).unwrap()
}

fn bytes(count: usize) -> Bytes {
    vec![7; count].into()
}

#[tokio::test(start_paused = true)]
async fn sessions_are_limited() {
    let store = MemorySessions::new().max_sessions(2);
    store.create(&key("a"), bytes(1), TTL).await.unwrap();
    let stamp = store.create(&key("b"), bytes(1), TTL * 2).await.unwrap();
    let refused = store.create(&key("c"), bytes(1), TTL).await;
    assert_eq!(refused, Err(StoreError::Full));
    // One that exists can be written.
    let replaced = store.replace(&key("b"), stamp, bytes(9), TTL * 2).await;
    assert!(replaced.is_ok());
    // One that has expired takes no room.
    tokio::time::advance(TTL).await;
    assert!(store.create(&key("c"), bytes(1), TTL).await.is_ok());
    let refused = store.create(&key("d"), bytes(1), TTL).await;
    assert_eq!(refused, Err(StoreError::Full));
}

#[tokio::test(start_paused = true)]
async fn bytes_of_sessions_are_limited() {
    let store = MemorySessions::new().max_bytes(10);
    let stamp = store.create(&key("a"), bytes(4), TTL).await.unwrap();
    store.create(&key("b"), bytes(4), TTL).await.unwrap();
    let refused = store.replace(&key("a"), stamp, bytes(7), TTL).await;
    assert_eq!(refused, Err(StoreError::Full));
    let kept = store.load(&key("a")).await.unwrap().unwrap();
    assert_eq!((kept.record.len(), kept.stamp), (4, stamp));
    let stamp = store
        .replace(&key("a"), stamp, bytes(6), TTL)
        .await
        .unwrap();
    let refused = store.create(&key("c"), bytes(1), TTL).await;
    assert_eq!(refused, Err(StoreError::Full));
    store
        .replace(&key("a"), stamp, bytes(5), TTL)
        .await
        .unwrap();
    assert!(store.create(&key("c"), bytes(1), TTL).await.is_ok());
    assert!(store.remove(&key("b")).await.unwrap());
    assert!(store.create(&key("d"), bytes(4), TTL).await.is_ok());
    let refused = store.create(&key("e"), bytes(1), TTL).await;
    assert_eq!(refused, Err(StoreError::Full));
}

#[tokio::test(start_paused = true)]
async fn tasks_are_limited() {
    let owner = key("owner");
    let store = MemoryTasks::new().max_tasks(2).max_bytes(10);
    let version = store
        .create(&owner, &key("a"), bytes(4), TTL)
        .await
        .unwrap();
    store
        .create(&owner, &key("b"), bytes(4), TTL)
        .await
        .unwrap();
    let refused = store.create(&owner, &key("c"), bytes(0), TTL).await;
    assert_eq!(refused, Err(StoreError::Full));
    assert_eq!(store.list(&owner, None, 9).await.unwrap().len(), 2);
    let refused = store.replace(&key("a"), version, bytes(7), TTL).await;
    assert_eq!(refused, Err(StoreError::Full));
    let kept = store.load(&key("a")).await.unwrap().unwrap();
    assert_eq!((kept.record.len(), kept.version), (4, version));
    let replaced = store.replace(&key("a"), version, bytes(6), TTL).await;
    assert!(replaced.is_ok());
    assert!(store.remove(&key("b")).await.unwrap());
    let refused = store.create(&owner, &key("c"), bytes(5), TTL).await;
    assert_eq!(refused, Err(StoreError::Full));
    let created = store.create(&owner, &key("c"), bytes(4), TTL).await;
    assert!(created.is_ok());
}

#[tokio::test(start_paused = true)]
async fn used_states_are_limited_and_not_forgotten_for_want_of_room() {
    let store = MemoryUsedStates::new().max_states(2);
    assert_eq!(store.consume(&key("a"), TTL).await, Ok(true));
    assert_eq!(store.consume(&key("b"), TTL * 2).await, Ok(true));
    assert_eq!(store.consume(&key("c"), TTL).await, Err(StoreError::Full));
    assert_eq!(store.consume(&key("a"), TTL).await, Ok(false));
    tokio::time::advance(TTL).await;
    assert_eq!(store.consume(&key("c"), TTL).await, Ok(true));
    assert_eq!(store.consume(&key("d"), TTL).await, Err(StoreError::Full));
}

fn event(sequence: u64, count: usize) -> StoredEvent {
    StoredEvent::new(NonZeroU64::new(sequence).unwrap(), bytes(count))
}

async fn read(store: &MemoryEvents, stream: &StreamKey) -> (u64, Vec<u64>) {
    let StoredEvents {
        removed_through,
        events,
        ..
    } = store.read(stream, 0, 100).await.unwrap().unwrap();
    let events = events.iter().map(|event| event.sequence.get());
    (removed_through, events.collect())
}

#[tokio::test(start_paused = true)]
async fn streams_and_events_are_limited() {
    let store = MemoryEvents::new().max_streams(2).max_events(2);
    let first = store.create_stream(&key("a"), TTL).await.unwrap();
    store.create_stream(&key("a"), TTL).await.unwrap();
    let refused = store.create_stream(&key("a"), TTL).await;
    assert_eq!(refused, Err(StoreError::Full));
    let first = StreamKey::new(key("a"), first);
    for sequence in [1, 2] {
        store.append(&first, event(sequence, 1), TTL).await.unwrap();
    }
    assert_eq!(read(&store, &first).await, (0, vec![1, 2]));
    store.append(&first, event(3, 1), TTL).await.unwrap();
    assert_eq!(read(&store, &first).await, (1, vec![2, 3]));
    assert!(store.remove_stream(&first).await.unwrap());
    // The refused stream has used a number.
    let next = store.create_stream(&key("a"), TTL).await;
    assert_eq!(next, Ok(StreamId::new(4)));
}

#[tokio::test(start_paused = true)]
async fn bytes_of_events_are_limited() {
    let store = MemoryEvents::new().max_bytes(2 * (64 + 10));
    let mut streams = Vec::new();
    for log in ["a", "b"] {
        let stream = store.create_stream(&key(log), TTL).await.unwrap();
        streams.push(StreamKey::new(key(log), stream));
    }
    let [first, second] = &streams[..] else {
        panic!("two streams");
    };
    for sequence in [1, 2] {
        store.append(first, event(sequence, 10), TTL).await.unwrap();
    }
    assert_eq!(read(&store, first).await, (0, vec![1, 2]));
    store.append(first, event(3, 1), TTL).await.unwrap();
    assert_eq!(read(&store, first).await, (1, vec![2, 3]));
    // Another stream pays for its own events, which are lost at once, and says so.
    store.append(second, event(1, 10), TTL).await.unwrap();
    assert_eq!(read(&store, second).await, (1, vec![]));
    let refused = store.write_head(second, bytes(10), TTL).await;
    assert_eq!(refused, Err(StoreError::Full));
    store.write_head(second, bytes(9), TTL).await.unwrap();
    let refused = store.write_head(second, bytes(10), TTL).await;
    assert_eq!(refused, Err(StoreError::Full));
    let kept = store.read(second, 0, 1).await.unwrap().unwrap();
    assert_eq!(kept.head, bytes(9));
    assert!(store.remove_stream(first).await.unwrap());
    store.append(second, event(2, 10), TTL).await.unwrap();
    assert_eq!(read(&store, second).await, (1, vec![2]));
}

#[tokio::test]
async fn subscriptions_are_limited() {
    let bus = MemoryBus::new().max_subscriptions(2);
    let _first = bus.subscribe(&key("a")).await.unwrap();
    let second = bus.subscribe(&key("b")).await.unwrap();
    let refused = bus.subscribe(&key("a")).await.map(drop);
    assert_eq!(refused, Err(StoreError::Full));
    drop(second);
    assert!(bus.subscribe(&key("a")).await.is_ok());
}

#[tokio::test]
async fn unread_messages_are_limited() {
    let count = MemoryBus::new().max_messages(2);
    let size = MemoryBus::new().max_bytes(10);
    for (bus, lengths) in [(count, [1, 1, 1]), (size, [5, 5, 1])] {
        let mut subscription = bus.subscribe(&key("a")).await.unwrap();
        for length in &lengths[..2] {
            bus.publish(&key("a"), bytes(*length)).await.unwrap();
        }
        for length in &lengths[..2] {
            let expected = Delivery::Message(bytes(*length));
            assert_eq!(subscription.next().await, Ok(expected));
        }
        for length in lengths {
            bus.publish(&key("a"), bytes(length)).await.unwrap();
        }
        assert_eq!(subscription.next().await, Ok(Delivery::Lagged));
        for length in &lengths[1..] {
            let expected = Delivery::Message(bytes(*length));
            assert_eq!(subscription.next().await, Ok(expected));
        }
    }
}
