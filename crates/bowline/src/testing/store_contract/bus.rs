//! The contract of buses.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;

use super::rule::{BrokenRule, Checked, Rule};
use super::{StoreHarness, key};
use crate::server::store::{Bus, BusSubscription, Delivery};

/// Tests a [`Bus`]. Its harness is not asked to let time pass.
///
/// # Errors
///
/// Returns the first rule that it breaks.
pub async fn bus<H>(harness: &H) -> Result<(), BrokenRule>
where
    H: StoreHarness,
    H::Store: Bus,
{
    order(harness).await?;
    topics(harness).await?;
    subscriptions(harness).await?;
    cancel_safety(harness).await?;
    lag(harness).await
}

/// How long a message may take. Waited for only when a rule is broken.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many messages a slow subscriber does not read, of [`FLOOD_BYTES`] each.
const FLOOD: u32 = 10_000;
const FLOOD_BYTES: usize = 1024;

/// Waits for the next delivery. `None` if there is none.
async fn next<S: BusSubscription>(
    rule: Rule,
    subscription: &mut S,
) -> Result<Option<Delivery>, BrokenRule> {
    match timeout(PATIENCE, subscription.next()).await {
        Ok(delivery) => rule.succeeds("next", delivery).map(Some),
        Err(_) => Ok(None),
    }
}

async fn expect<S: BusSubscription>(rule: Rule, subscription: &mut S, text: &str) -> Checked {
    let delivery = next(rule, subscription).await?;
    let expected = Delivery::Message(Bytes::from(text.to_owned()));
    rule.is("delivery", delivery, Some(expected))
}

async fn publish<B: Bus>(rule: Rule, bus: &B, topic: &str, text: &str) -> Checked {
    let message = Bytes::from(text.to_owned());
    rule.returns("publish", bus.publish(&key(topic), message).await, ())
}

async fn order<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: Bus,
{
    let rule = Rule("bus: all subscribers get all messages in order");
    let bus = harness.open().await;
    publish(rule, &bus, "a", "before anybody subscribes").await?;
    let mut first = rule.succeeds("subscribe", bus.subscribe(&key("a")).await)?;
    let mut second = rule.succeeds("subscribe", bus.subscribe(&key("a")).await)?;
    for number in 0..20 {
        publish(rule, &bus, "a", &number.to_string()).await?;
    }
    for number in 0..20 {
        expect(rule, &mut first, &number.to_string()).await?;
    }
    for number in 0..20 {
        expect(rule, &mut second, &number.to_string()).await?;
    }
    let bytes: Bytes = (0..=255).collect();
    let published = bus.publish(&key("a"), bytes.clone()).await;
    rule.returns("publish", published, ())?;
    let delivery = next(rule, &mut first).await?;
    rule.is("delivery", delivery, Some(Delivery::Message(bytes)))
}

async fn topics<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: Bus,
{
    let rule = Rule("bus: a topic has its own messages");
    let bus = harness.open().await;
    let mut first = rule.succeeds("subscribe", bus.subscribe(&key("a")).await)?;
    let mut second = rule.succeeds("subscribe", bus.subscribe(&key("b")).await)?;
    for (topic, text) in [("b", "1"), ("c", "2"), ("a", "3"), ("b", "4")] {
        publish(rule, &bus, topic, text).await?;
    }
    expect(rule, &mut first, "3").await?;
    expect(rule, &mut second, "1").await?;
    expect(rule, &mut second, "4").await
}

/// A subscription begins and ends without a trace.
async fn subscriptions<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: Bus,
{
    let rule = Rule("bus: a subscription has what is published while it is open");
    let bus = harness.open().await;
    let mut first = rule.succeeds("subscribe", bus.subscribe(&key("a")).await)?;
    let second = rule.succeeds("subscribe", bus.subscribe(&key("a")).await)?;
    publish(rule, &bus, "a", "1").await?;
    drop(second);
    publish(rule, &bus, "a", "2").await?;
    let mut third = rule.succeeds("subscribe", bus.subscribe(&key("a")).await)?;
    publish(rule, &bus, "a", "3").await?;
    for text in ["1", "2", "3"] {
        expect(rule, &mut first, text).await?;
    }
    expect(rule, &mut third, "3").await
}

async fn cancel_safety<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: Bus,
{
    let rule = Rule("bus: waiting can be cancelled");
    let bus = harness.open().await;
    let mut subscription = rule.succeeds("subscribe", bus.subscribe(&key("a")).await)?;
    // The first is dropped before there is a message, and many others whenever there may be one.
    poll_next_once(&mut subscription).await;
    publish(rule, &bus, "a", "1").await?;
    for _ in 0..10_000 {
        match poll_next_once(&mut subscription).await {
            Some(delivery) => {
                let expected = Delivery::Message(Bytes::from("1"));
                return rule.is("delivery", delivery, expected);
            }
            None => tokio::task::yield_now().await,
        }
    }
    // A bus whose wait needs several polls in a row must not have lost it.
    expect(rule, &mut subscription, "1").await
}

/// Polls a wait once and drops it.
async fn poll_next_once<S: BusSubscription>(subscription: &mut S) -> Option<Delivery> {
    let mut waiting = pin!(subscription.next());
    poll_fn(|cx| match waiting.as_mut().poll(cx) {
        Poll::Ready(Ok(delivery)) => Poll::Ready(Some(delivery)),
        Poll::Ready(Err(_)) | Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// A subscriber that is too slow learns of it, exactly where messages are missing.
async fn lag<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: Bus,
{
    let rule = Rule("bus: a slow subscriber learns what it has missed");
    let bus = harness.open().await;
    let mut subscription = rule.succeeds("subscribe", bus.subscribe(&key("a")).await)?;
    for number in 1..=FLOOD {
        let mut message = number.to_be_bytes().to_vec();
        message.resize(FLOOD_BYTES, 0);
        let published = bus.publish(&key("a"), Bytes::from(message)).await;
        rule.returns("publish", published, ())?;
    }
    let (mut last, mut has_lagged) = (0, false);
    while last < FLOOD
        && let Some(delivery) = next(rule, &mut subscription).await?
    {
        let Delivery::Message(message) = delivery else {
            has_lagged = true;
            continue;
        };
        let number = message
            .first_chunk()
            .map_or(0, |bytes| u32::from_be_bytes(*bytes));
        rule.requires(number > last, "a message is delivered late or twice")?;
        let is_told = number == last + 1 || has_lagged;
        let gap = format!(
            "messages {} to {} are dropped silently",
            last + 1,
            number - 1
        );
        rule.requires(is_told, &gap)?;
        (last, has_lagged) = (number, false);
    }
    let is_told = last == FLOOD || has_lagged;
    rule.requires(is_told, "the last messages are dropped silently")?;
    // It goes on after that.
    publish(rule, &bus, "a", "later").await?;
    expect(rule, &mut subscription, "later").await
}
