//! The contract of stores of used states.

use std::sync::Arc;

use super::rule::{BrokenRule, Checked, Rule};
use super::{StoreHarness, WRITERS, compete, key};
use crate::server::store::UsedStateStore;

/// Tests a [`UsedStateStore`].
///
/// # Errors
///
/// Returns the first rule that it breaks.
pub async fn used_states<H>(harness: &H) -> Result<(), BrokenRule>
where
    H: StoreHarness,
    H::Store: UsedStateStore,
{
    once(harness).await?;
    ttl(harness).await
}

async fn once<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: UsedStateStore,
{
    let rule = Rule("used states: a state is used once");
    let (store, ttl) = (Arc::new(harness.open().await), harness.ttl());
    let outcomes = compete(|_| {
        let store = Arc::clone(&store);
        async move { store.consume(&key("a"), ttl).await }
    });
    let (mut winners, mut losers) = (0, 0);
    for outcome in outcomes.await {
        if rule.succeeds("consume", outcome)? {
            winners += 1;
        } else {
            losers += 1;
        }
    }
    rule.is("winners and losers", (winners, losers), (1, WRITERS - 1))?;
    rule.returns(
        "consume of a used state",
        store.consume(&key("a"), ttl).await,
        false,
    )?;
    rule.returns(
        "consume of another",
        store.consume(&key("b"), ttl).await,
        true,
    )
}

async fn ttl<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: UsedStateStore,
{
    let rule = Rule("used states: TTL");
    let (store, ttl) = (harness.open().await, harness.ttl());
    rule.returns("consume", store.consume(&key("a"), ttl).await, true)?;
    harness.advance(ttl * 3 / 4).await;
    // A refused use renews nothing.
    let early = store.consume(&key("a"), ttl).await;
    rule.returns("consume before the TTL is over", early, false)?;
    harness.advance(ttl / 2).await;
    let late = store.consume(&key("a"), ttl).await;
    rule.returns("consume after the TTL", late, true)
}
