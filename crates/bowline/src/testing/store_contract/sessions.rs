//! The contract of session stores.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;

use super::rule::{BrokenRule, Checked, Rule};
use super::{StoreHarness, WRITERS, compete, key};
use crate::server::store::{SessionStore, Stamp, StoreError, StoredRecord};

/// Tests a [`SessionStore`].
///
/// # Errors
///
/// Returns the first rule that it breaks.
pub async fn sessions<H>(harness: &H) -> Result<(), BrokenRule>
where
    H: StoreHarness,
    H::Store: SessionStore,
{
    create_if_absent(harness).await?;
    compare_and_set(harness).await?;
    one_winner(harness).await?;
    fencing(harness).await?;
    distinct_fences(harness).await?;
    ttl(harness).await?;
    ttl_renewal(harness).await?;
    removal(harness).await
}

async fn create_if_absent<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: SessionStore,
{
    let rule = Rule("sessions: create if absent");
    let (store, ttl) = (harness.open().await, harness.ttl());
    rule.returns("load of no record", store.load(&key("a")).await, None)?;
    // Any bytes.
    let record: Bytes = (0..=255).collect();
    let created = store.create(&key("a"), record.clone(), ttl).await;
    let stamp = rule.succeeds("create", created)?;
    let stored = StoredRecord { record, stamp };
    let loaded = store.load(&key("a")).await;
    rule.returns("load", loaded, Some(stored.clone()))?;
    let again = store.create(&key("a"), Bytes::from("b"), ttl).await;
    rule.fails(
        "create of a record that exists",
        again,
        StoreError::Conflict,
    )?;
    let loaded = store.load(&key("a")).await;
    rule.returns("load after a refused create", loaded, Some(stored))?;
    let other = store.create(&key("A"), Bytes::new(), ttl).await;
    let stamp = rule.succeeds("create of another, empty record", other)?;
    let record = Bytes::new();
    let expected = Some(StoredRecord { record, stamp });
    rule.returns("load of the other", store.load(&key("A")).await, expected)
}

async fn compare_and_set<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: SessionStore,
{
    let rule = Rule("sessions: compare-and-set");
    let (store, ttl) = (harness.open().await, harness.ttl());
    let created = store.create(&key("a"), Bytes::from("1"), ttl).await;
    let first = rule.succeeds("create", created)?;
    let replaced = store.replace(&key("a"), first, Bytes::from("2"), ttl).await;
    let second = rule.succeeds("replace", replaced)?;
    rule.is("fence after replace", second.fence, first.fence)?;
    let rises = second.version > first.version;
    rule.requires(rises, "replace does not raise the version")?;
    let stale = store.replace(&key("a"), first, Bytes::from("3"), ttl).await;
    rule.fails("replace of a stale version", stale, StoreError::Conflict)?;
    let expected = StoredRecord {
        record: Bytes::from("2"),
        stamp: second,
    };
    let loaded = store.load(&key("a")).await;
    rule.returns("load after a refused replace", loaded, Some(expected))?;
    let missing = store.replace(&key("b"), first, Bytes::new(), ttl).await;
    rule.fails("replace of no record", missing, StoreError::Missing)?;
    rule.returns("load of no record", store.load(&key("b")).await, None)
}

async fn one_winner<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: SessionStore,
{
    let rule = Rule("sessions: one of many writers wins");
    let (store, ttl) = (Arc::new(harness.open().await), harness.ttl());
    let created = compete(|writer| {
        let store = Arc::clone(&store);
        async move {
            let record = Bytes::from(writer.to_string());
            store.create(&key("a"), record, ttl).await
        }
    });
    let stamp = only_winner(rule, "create", created.await)?;
    let replaced = compete(|writer| {
        let store = Arc::clone(&store);
        async move {
            let record = Bytes::from(writer.to_string());
            let replaced = store.replace(&key("a"), stamp, record.clone(), ttl).await;
            replaced.map(|stamp| StoredRecord { record, stamp })
        }
    });
    let winner = only_winner(rule, "replace", replaced.await)?;
    let loaded = store.load(&key("a")).await;
    rule.returns("load after many writers", loaded, Some(winner))
}

/// Returns the only outcome that is a success; all others must be conflicts.
pub(super) fn only_winner<T>(
    rule: Rule,
    operation: &str,
    outcomes: Vec<Result<T, StoreError>>,
) -> Result<T, BrokenRule> {
    let mut winner = None;
    let mut refused = 0;
    for outcome in outcomes {
        match outcome {
            Ok(won) if winner.is_none() => winner = Some(won),
            Ok(_) => return Err(rule.broken(format!("{operation} succeeds for two writers"))),
            Err(StoreError::Conflict) => refused += 1,
            Err(error) => return Err(rule.broken(format!("{operation} fails: {error}"))),
        }
    }
    rule.is("refused writers", refused, WRITERS - 1)?;
    winner.ok_or_else(|| rule.broken(format!("{operation} succeeds for no writer")))
}

async fn fencing<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: SessionStore,
{
    let rule = Rule("sessions: fencing");
    let (store, ttl) = (harness.open().await, harness.ttl());
    let created = store.create(&key("a"), Bytes::from("1"), ttl).await;
    let first = rule.succeeds("create", created)?;
    // Reading takes nothing away.
    rule.succeeds("load", store.load(&key("a")).await)?;
    let replaced = store.replace(&key("a"), first, Bytes::from("2"), ttl).await;
    let first = rule.succeeds("replace after a load", replaced)?;

    let claimed = rule.succeeds("claim", store.claim(&key("a"), ttl).await)?;
    let Some(StoredRecord { record, stamp }) = claimed else {
        return Err(rule.broken("claim finds no record".to_owned()));
    };
    rule.is("the claimed record", record, Bytes::from("2"))?;
    rule.requires(stamp.fence > first.fence, "claim does not raise the fence")?;
    let rises = stamp.version > first.version;
    rule.requires(rises, "claim does not raise the version")?;
    let late = store.replace(&key("a"), first, Bytes::from("3"), ttl).await;
    rule.fails("replace with an old fence", late, StoreError::Fenced)?;
    // The fence alone decides, whatever the version is.
    let mixed = Stamp {
        fence: first.fence,
        ..stamp
    };
    let late = store.replace(&key("a"), mixed, Bytes::from("3"), ttl).await;
    rule.fails("replace with an old fence", late, StoreError::Fenced)?;
    let late = store.touch(&key("a"), first.fence, ttl).await;
    rule.fails("touch with an old fence", late, StoreError::Fenced)?;
    let expected = Some(StoredRecord {
        record: Bytes::from("2"),
        stamp,
    });
    rule.returns("load", store.load(&key("a")).await, expected)?;
    rule.returns("touch", store.touch(&key("a"), stamp.fence, ttl).await, ())?;
    let replaced = store.replace(&key("a"), stamp, Bytes::from("4"), ttl).await;
    rule.succeeds("replace with the new fence", replaced)?;
    let claimed = store.claim(&key("b"), ttl).await;
    rule.returns("claim of no record", claimed, None)
}

async fn distinct_fences<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: SessionStore,
{
    let rule = Rule("sessions: each claim has a fence of its own");
    let (store, ttl) = (Arc::new(harness.open().await), harness.ttl());
    let created = store.create(&key("a"), Bytes::new(), ttl).await;
    let mut fences = BTreeSet::from([rule.succeeds("create", created)?.fence]);
    let claims = compete(|_| {
        let store = Arc::clone(&store);
        async move { store.claim(&key("a"), ttl).await }
    });
    for claimed in claims.await {
        let claimed = rule.succeeds("claim", claimed)?;
        fences.extend(claimed.map(|claimed| claimed.stamp.fence));
    }
    rule.is("fences", fences.len(), usize::from(WRITERS) + 1)?;
    let loaded = rule.succeeds("load", store.load(&key("a")).await)?;
    let kept = loaded.map(|loaded| loaded.stamp.fence);
    rule.is("the fence that is kept", kept, fences.last().copied())
}

async fn ttl<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: SessionStore,
{
    let rule = Rule("sessions: TTL");
    let (store, ttl) = (harness.open().await, harness.ttl());
    let created = store.create(&key("a"), Bytes::from("1"), ttl).await;
    let stamp = rule.succeeds("create", created)?;
    harness.advance(ttl / 2).await;
    let loaded = rule.succeeds("load", store.load(&key("a")).await)?;
    rule.requires(
        loaded.is_some(),
        "the record is gone before its TTL is over",
    )?;
    harness.advance(ttl * 3 / 4).await;
    rule.returns("load after the TTL", store.load(&key("a")).await, None)?;
    let late = store.replace(&key("a"), stamp, Bytes::new(), ttl).await;
    rule.fails("replace after the TTL", late, StoreError::Missing)?;
    let late = store.touch(&key("a"), stamp.fence, ttl).await;
    rule.fails("touch after the TTL", late, StoreError::Missing)?;
    let late = store.claim(&key("a"), ttl).await;
    rule.returns("claim after the TTL", late, None)?;
    rule.returns("remove after the TTL", store.remove(&key("a")).await, false)?;
    let created = store.create(&key("a"), Bytes::from("2"), ttl).await;
    rule.succeeds("create after the TTL", created).map(drop)
}

/// Writes and claims renew a TTL.
async fn ttl_renewal<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: SessionStore,
{
    let rule = Rule("sessions: TTL is renewed");
    let (store, ttl) = (harness.open().await, harness.ttl());
    let names = ["touch", "replace", "claim"];
    let mut stamps = Vec::new();
    for name in names {
        let created = store.create(&key(name), Bytes::new(), ttl).await;
        stamps.push(rule.succeeds("create", created)?);
    }
    harness.advance(ttl / 2).await;
    for (name, stamp) in names.into_iter().zip(stamps) {
        let renewed = match name {
            "touch" => store.touch(&key(name), stamp.fence, ttl).await,
            "replace" => {
                let replaced = store.replace(&key(name), stamp, Bytes::new(), ttl).await;
                replaced.map(drop)
            }
            _ => store.claim(&key(name), ttl).await.map(drop),
        };
        rule.returns(name, renewed, ())?;
    }
    harness.advance(ttl * 3 / 4).await;
    for name in names {
        let loaded = rule.succeeds("load", store.load(&key(name)).await)?;
        rule.requires(loaded.is_some(), &format!("{name} does not renew the TTL"))?;
    }
    harness.advance(ttl / 2).await;
    for name in names {
        let loaded = rule.succeeds("load", store.load(&key(name)).await)?;
        rule.requires(
            loaded.is_none(),
            &format!("{name} renews the TTL for too long"),
        )?;
    }
    Ok(())
}

async fn removal<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: SessionStore,
{
    let rule = Rule("sessions: what was removed stays away");
    let (store, ttl) = (harness.open().await, harness.ttl());
    let created = store.create(&key("a"), Bytes::from("1"), ttl).await;
    let stamp = rule.succeeds("create", created)?;
    rule.returns("remove", store.remove(&key("a")).await, true)?;
    rule.returns("second remove", store.remove(&key("a")).await, false)?;
    let late = store.replace(&key("a"), stamp, Bytes::from("2"), ttl).await;
    rule.fails("replace of a removed record", late, StoreError::Missing)?;
    let late = store.touch(&key("a"), stamp.fence, ttl).await;
    rule.fails("touch of a removed record", late, StoreError::Missing)?;
    let late = store.claim(&key("a"), ttl).await;
    rule.returns("claim of a removed record", late, None)?;
    rule.returns("load", store.load(&key("a")).await, None)
}
