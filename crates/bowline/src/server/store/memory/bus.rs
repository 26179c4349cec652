//! Messages between servers of one process.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use bytes::Bytes;

use super::super::bus::{Bus, BusSubscription, Delivery};
use super::super::error::StoreError;
use super::super::key::StoreKey;

/// A [`Bus`] in memory: for tests, and for several servers of one process.
#[derive(Debug)]
pub struct MemoryBus {
    max_subscriptions: usize,
    limits: QueueLimits,
    subscribers: Arc<Mutex<Subscribers>>,
}

#[derive(Debug, Default)]
struct Subscribers {
    topics: BTreeMap<StoreKey, BTreeMap<u64, Arc<Mutex<Queue>>>>,
    count: usize,
    /// The number of the newest subscription.
    last: u64,
}

#[derive(Clone, Copy, Debug)]
struct QueueLimits {
    messages: usize,
    bytes: usize,
}

/// What a subscriber has not read.
#[derive(Debug, Default)]
struct Queue {
    messages: VecDeque<Bytes>,
    bytes: usize,
    /// `true` if messages before these are lost.
    has_lost: bool,
    waker: Option<Waker>,
}

impl MemoryBus {
    /// Creates a bus without subscribers.
    pub fn new() -> Self {
        Self {
            max_subscriptions: 10_000,
            limits: QueueLimits {
                messages: 256,
                bytes: 1024 * 1024,
            },
            subscribers: Arc::default(),
        }
    }

    /// Sets the most subscriptions. Default 10,000; beyond it none is opened.
    #[must_use]
    pub fn max_subscriptions(mut self, count: usize) -> Self {
        self.max_subscriptions = count;
        self
    }

    /// Sets the most messages that wait for one subscriber. Default 256; beyond it the oldest ones
    /// are dropped, and the subscriber learns of it.
    #[must_use]
    pub fn max_messages(mut self, count: usize) -> Self {
        self.limits.messages = count;
        self
    }

    /// Sets the most bytes of messages that wait for one subscriber. Default 1 MiB; beyond it the
    /// oldest ones are dropped, and the subscriber learns of it.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.limits.bytes = bytes;
        self
    }
}

impl Default for MemoryBus {
    fn default() -> Self {
        Self::new()
    }
}

impl Bus for MemoryBus {
    type Subscription = MemorySubscription;

    async fn publish(&self, topic: &StoreKey, message: Bytes) -> Result<(), StoreError> {
        let mut wakers = Vec::new();
        let subscribers = lock(&self.subscribers);
        // All queues under one lock: messages have the same order for all subscribers.
        for queue in subscribers.topics.get(topic).into_iter().flatten() {
            wakers.extend(lock(queue.1).push(message.clone(), self.limits));
        }
        drop(subscribers);
        for waker in wakers {
            waker.wake();
        }
        Ok(())
    }

    async fn subscribe(&self, topic: &StoreKey) -> Result<MemorySubscription, StoreError> {
        let mut subscribers = lock(&self.subscribers);
        if subscribers.count >= self.max_subscriptions {
            return Err(StoreError::Full);
        }
        subscribers.count += 1;
        subscribers.last += 1;
        let number = subscribers.last;
        let queue = Arc::default();
        let of_topic = subscribers.topics.entry(topic.clone()).or_default();
        of_topic.insert(number, Arc::clone(&queue));
        Ok(MemorySubscription {
            subscribers: Arc::clone(&self.subscribers),
            topic: topic.clone(),
            number,
            queue,
        })
    }
}

impl Queue {
    /// Adds a message, in place of older ones if necessary. Returns who waits for it.
    fn push(&mut self, message: Bytes, limits: QueueLimits) -> Option<Waker> {
        self.bytes += message.len();
        self.messages.push_back(message);
        while self.messages.len() > limits.messages || self.bytes > limits.bytes {
            let Some(dropped) = self.messages.pop_front() else {
                break;
            };
            self.bytes -= dropped.len();
            self.has_lost = true;
        }
        self.waker.take()
    }

    fn pop(&mut self) -> Option<Delivery> {
        if std::mem::take(&mut self.has_lost) {
            return Some(Delivery::Lagged);
        }
        let message = self.messages.pop_front()?;
        self.bytes -= message.len();
        Some(Delivery::Message(message))
    }
}

/// A subscription to a topic of a [`MemoryBus`].
#[derive(Debug)]
pub struct MemorySubscription {
    subscribers: Arc<Mutex<Subscribers>>,
    topic: StoreKey,
    number: u64,
    queue: Arc<Mutex<Queue>>,
}

impl BusSubscription for MemorySubscription {
    async fn next(&mut self) -> Result<Delivery, StoreError> {
        let delivery = poll_fn(|cx| {
            let mut queue = lock(&self.queue);
            if let Some(delivery) = queue.pop() {
                return Poll::Ready(delivery);
            }
            queue.waker = Some(cx.waker().clone());
            Poll::Pending
        });
        Ok(delivery.await)
    }
}

impl Drop for MemorySubscription {
    fn drop(&mut self) {
        let mut subscribers = lock(&self.subscribers);
        if let Some(of_topic) = subscribers.topics.get_mut(&self.topic) {
            of_topic.remove(&self.number);
            if of_topic.is_empty() {
                subscribers.topics.remove(&self.topic);
            }
        }
        subscribers.count -= 1;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
