//! The contract of task stores.

use std::sync::Arc;

use bytes::Bytes;

use super::rule::{BrokenRule, Checked, Rule};
use super::sessions::only_winner;
use super::{StoreHarness, compete, key};
use crate::server::store::{StoreError, StoreKey, StoredTask, TaskStore};

/// Tests a [`TaskStore`].
///
/// # Errors
///
/// Returns the first rule that it breaks.
pub async fn tasks<H>(harness: &H) -> Result<(), BrokenRule>
where
    H: StoreHarness,
    H::Store: TaskStore,
{
    create_if_absent(harness).await?;
    compare_and_set(harness).await?;
    one_winner(harness).await?;
    list(harness).await?;
    ttl(harness).await?;
    removal(harness).await
}

async fn create_if_absent<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: TaskStore,
{
    let rule = Rule("tasks: create if absent");
    let (store, ttl) = (harness.open().await, harness.ttl());
    rule.returns("load of no task", store.load(&key("a")).await, None)?;
    let record: Bytes = (0..=255).collect();
    let owner = key("owner");
    let created = store.create(&owner, &key("a"), record.clone(), ttl).await;
    let version = rule.succeeds("create", created)?;
    for owner in ["owner", "other"] {
        let again = store
            .create(&key(owner), &key("a"), Bytes::new(), ttl)
            .await;
        rule.fails("create of a task that exists", again, StoreError::Conflict)?;
    }
    let loaded = rule.succeeds("load", store.load(&key("a")).await)?;
    let Some(loaded) = loaded else {
        return Err(rule.broken("load finds no task".to_owned()));
    };
    let expected = StoredTask::new(key("a"), loaded.position, record, version);
    rule.is("the loaded task", loaded, expected)
}

async fn compare_and_set<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: TaskStore,
{
    let rule = Rule("tasks: compare-and-set");
    let (store, ttl) = (harness.open().await, harness.ttl());
    let owner = key("owner");
    let created = store.create(&owner, &key("a"), Bytes::from("1"), ttl).await;
    let first = rule.succeeds("create", created)?;
    let replaced = store.replace(&key("a"), first, Bytes::from("2"), ttl).await;
    let second = rule.succeeds("replace", replaced)?;
    rule.requires(second > first, "replace does not raise the version")?;
    let stale = store.replace(&key("a"), first, Bytes::from("3"), ttl).await;
    rule.fails("replace of a stale version", stale, StoreError::Conflict)?;
    let loaded = rule.succeeds("load", store.load(&key("a")).await)?;
    let kept = loaded.map(|task| (task.record, task.version));
    rule.is("the kept task", kept, Some((Bytes::from("2"), second)))?;
    let missing = store.replace(&key("b"), first, Bytes::new(), ttl).await;
    rule.fails("replace of no task", missing, StoreError::Missing)?;
    rule.returns("load of no task", store.load(&key("b")).await, None)
}

async fn one_winner<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: TaskStore,
{
    let rule = Rule("tasks: one of many writers wins");
    let (store, ttl) = (Arc::new(harness.open().await), harness.ttl());
    let created = compete(|writer| {
        let store = Arc::clone(&store);
        async move {
            let record = Bytes::from(writer.to_string());
            store.create(&key("owner"), &key("a"), record, ttl).await
        }
    });
    let version = only_winner(rule, "create", created.await)?;
    let replaced = compete(|writer| {
        let store = Arc::clone(&store);
        async move {
            let record = Bytes::from(writer.to_string());
            let replaced = store.replace(&key("a"), version, record.clone(), ttl).await;
            replaced.map(|version| (record, version))
        }
    });
    let winner = only_winner(rule, "replace", replaced.await)?;
    let loaded = rule.succeeds("load", store.load(&key("a")).await)?;
    let kept = loaded.map(|task| (task.record, task.version));
    rule.is("the kept task", kept, Some(winner))
}

async fn list<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: TaskStore,
{
    let rule = Rule("tasks: a list has the tasks of its owner, in their order");
    let (store, ttl) = (harness.open().await, harness.ttl());
    let owner = key("owner");
    rule.returns(
        "list of nothing",
        store.list(&owner, None, 10).await,
        vec![],
    )?;
    // Not in the order of their keys.
    let names = ["d", "a", "e", "c", "b"];
    for name in names {
        for (owner, task) in [
            (&owner, key(name)),
            (&key("other"), key(&format!("other {name}"))),
        ] {
            let record = Bytes::from(name);
            let created = store.create(owner, &task, record, ttl).await;
            rule.succeeds("create", created)?;
        }
    }
    let all = rule.succeeds("list", store.list(&owner, None, 10).await)?;
    rule.is("the list", keys(&all), names.map(key).to_vec())?;
    for task in &all {
        let loaded = store.load(&task.task).await;
        rule.returns("load of a listed task", loaded, Some(task.clone()))?;
    }
    let start = rule.succeeds("list", store.list(&owner, None, 2).await)?;
    rule.is("the first two", keys(&start), vec![key("d"), key("a")])?;
    let after = start.last().map(|task| task.position);
    // A page goes on where the last one ended, though its last task is gone.
    rule.returns("remove", store.remove(&key("a")).await, true)?;
    let rest = rule.succeeds("list", store.list(&owner, after, 10).await)?;
    let expected = ["e", "c", "b"].map(key).to_vec();
    rule.is("the list after a removed task", keys(&rest), expected)?;
    let end = rest.last().map(|task| task.position);
    rule.returns(
        "list after the end",
        store.list(&owner, end, 10).await,
        vec![],
    )?;
    let others = rule.succeeds("list", store.list(&key("other"), None, 10).await)?;
    rule.is("tasks of the other owner", others.len(), names.len())
}

fn keys(tasks: &[StoredTask]) -> Vec<StoreKey> {
    tasks.iter().map(|task| task.task.clone()).collect()
}

async fn ttl<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: TaskStore,
{
    let rule = Rule("tasks: TTL");
    let (store, ttl) = (harness.open().await, harness.ttl());
    let owner = key("owner");
    let created = store.create(&owner, &key("a"), Bytes::new(), ttl).await;
    let gone = rule.succeeds("create", created)?;
    let created = store.create(&owner, &key("b"), Bytes::new(), ttl).await;
    let kept = rule.succeeds("create", created)?;
    harness.advance(ttl / 2).await;
    // Reading renews nothing.
    let loaded = rule.succeeds("load", store.load(&key("a")).await)?;
    rule.requires(loaded.is_some(), "the task is gone before its TTL is over")?;
    let listed = rule.succeeds("list", store.list(&owner, None, 10).await)?;
    rule.is("the list before the TTL is over", listed.len(), 2)?;
    let replaced = store.replace(&key("b"), kept, Bytes::new(), ttl).await;
    rule.succeeds("replace", replaced)?;
    harness.advance(ttl * 3 / 4).await;
    rule.returns("load after the TTL", store.load(&key("a")).await, None)?;
    let late = store.replace(&key("a"), gone, Bytes::new(), ttl).await;
    rule.fails("replace after the TTL", late, StoreError::Missing)?;
    let listed = rule.succeeds("list", store.list(&owner, None, 10).await)?;
    rule.is("the list after the TTL", keys(&listed), vec![key("b")])?;
    harness.advance(ttl / 2).await;
    let listed = store.list(&owner, None, 10).await;
    rule.returns("the list after all TTLs", listed, vec![])
}

async fn removal<H>(harness: &H) -> Checked
where
    H: StoreHarness,
    H::Store: TaskStore,
{
    let rule = Rule("tasks: what was removed stays away");
    let (store, ttl) = (harness.open().await, harness.ttl());
    let owner = key("owner");
    let created = store.create(&owner, &key("a"), Bytes::new(), ttl).await;
    let version = rule.succeeds("create", created)?;
    rule.returns("remove", store.remove(&key("a")).await, true)?;
    rule.returns("second remove", store.remove(&key("a")).await, false)?;
    let late = store.replace(&key("a"), version, Bytes::new(), ttl).await;
    rule.fails("replace of a removed task", late, StoreError::Missing)?;
    rule.returns("load", store.load(&key("a")).await, None)?;
    rule.returns("list", store.list(&owner, None, 10).await, vec![])
}
