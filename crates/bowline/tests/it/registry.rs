//! Clients by name: one that fails doesn't affect the others.

use std::collections::BTreeMap;
use std::time::Duration;

use bowline::registry::{Registry, RegistryEvent, Watch};
use bowline::testing::{self, Peer};
use bowline::transport::{ChildProcess, OpenError, Stream, Transport};
use bowline::types::common::Implementation;
use bowline::{Client, ClientConfig, ConnectionState, ErrorKind};
use tokio::time::Instant;

type Test = Result<(), Box<dyn std::error::Error>>;

fn config() -> ClientConfig {
    ClientConfig::new(Implementation::new("client", "1"))
}

fn serve(peer: Peer) {
    testing::serve_fn(peer, |_, params| Ok(params.clone()));
}

fn started(registry: &Registry, name: &str) -> Client {
    let (transport, peer) = testing::peer();
    serve(peer);
    registry
        .start(name, transport, config())
        .expect("it is free")
}

/// A server that is never there.
struct Missing;

impl Transport for Missing {
    async fn open(&mut self) -> Result<Stream, OpenError> {
        Err(OpenError::permanent("no such command"))
    }
}

/// A server that is not there now.
struct Away;

impl Transport for Away {
    async fn open(&mut self) -> Result<Stream, OpenError> {
        Err(OpenError::transient("not there"))
    }
}

// proves: RG-1, ER-1
#[tokio::test(start_paused = true)]
async fn an_entry_has_the_reason_why_there_is_no_connection() -> Test {
    let registry = Registry::new();
    let away = registry.start("away", Away, config())?;
    let gone = registry.start("gone", Missing, config())?;
    registry.start("opening", Endless, config())?;
    started(&registry, "there").ready().await?;
    let stopped = started(&registry, "stopped");
    stopped.stop().await;
    gone.ready().await.unwrap_err();
    let mut changes = away.state_changes();
    while away.state() != ConnectionState::Backoff {
        changes.next().await.expect("it goes on");
    }
    let entries = registry.list().into_iter();
    let entries: BTreeMap<_, _> = entries.map(|entry| (entry.name.clone(), entry)).collect();
    for name in ["opening", "there", "stopped"] {
        assert_eq!(entries[name].failure, None, "{name}");
    }
    let failure = entries["away"].failure.clone().expect("it failed");
    assert_eq!(failure.state, entries["away"].state);
    assert!(failure.next_attempt.is_some() && !failure.has_given_up());
    let words = failure.to_string();
    assert!(words.contains("not there; attempt "), "{words}");
    let failure = entries["gone"].failure.clone().expect("it failed");
    assert!(failure.has_given_up() && failure.next_attempt.is_none());
    let words = failure.to_string();
    assert!(words.ends_with("no such command; gave up"), "{words}");
    Ok(())
}

// proves: RG-1, ER-1
#[tokio::test]
async fn an_entry_has_the_stderr_of_its_server() -> Test {
    let registry = Registry::new();
    let server = ChildProcess::new("/bin/sh").args(["-c", "echo no licence >&2; exit 3"]);
    let client = registry.start("files", server, config())?;
    let mut changes = client.state_changes();
    while client.state() != ConnectionState::Backoff {
        changes.next().await.expect("it goes on");
    }
    let entry = registry.list().remove(0);
    let failure = entry.failure.expect("it failed");
    assert_eq!(failure.stderr_tail(), Some("no licence"));
    let status = failure
        .transport_end
        .as_ref()
        .and_then(|transport_end| transport_end.status);
    assert_eq!(status.and_then(|status| status.code()), Some(3));
    assert!(failure.next_attempt.is_some());
    Ok(())
}

/// A server that takes for ever to open.
struct Endless;

impl Transport for Endless {
    async fn open(&mut self) -> Result<Stream, OpenError> {
        std::future::pending().await
    }
}

// proves: RG-1
#[tokio::test(start_paused = true)]
async fn clients_are_started_found_listed_and_stopped_by_name() -> Test {
    let registry = Registry::new();
    for name in ["tools", "files", "mail"] {
        started(&registry, name).ready().await?;
    }
    let client = registry.get("files").expect("it was started");
    client.call("tools/list", ()).await?;
    assert!(registry.get("other").is_none());
    let names: Vec<_> = registry
        .list()
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    assert_eq!(names, ["files", "mail", "tools"]);
    let entry = &registry.clone().list()[0];
    assert_eq!(
        (entry.state, entry.session, entry.pending),
        (ConnectionState::Ready, 1, 0)
    );
    assert_eq!(entry.revision, client.revision());
    assert!(entry.server.is_some());

    assert!(registry.stop("files").await);
    assert!(!registry.stop("files").await);
    assert_eq!(client.state(), ConnectionState::Closed);
    assert_eq!(registry.list().len(), 2);
    assert_eq!(
        registry.get("mail").map(|client| client.state()),
        Some(ConnectionState::Ready)
    );
    assert_eq!(registry.stop_all().await, 2);
    assert!(registry.list().is_empty());
    Ok(())
}

// proves: RG-1
#[tokio::test(start_paused = true)]
async fn a_name_is_taken_until_its_client_is_closed() -> Test {
    let registry = Registry::new();
    let first = started(&registry, "files");
    let (transport, peer) = testing::peer();
    let taken = registry.start("files", transport, config()).unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::Config);
    assert!(taken.to_string().contains(r#""files""#), "{taken}");
    drop(peer);

    first.stop().await;
    assert_eq!(registry.list()[0].state, ConnectionState::Closed);
    let second = started(&registry, "files");
    second.ready().await?;
    assert!(registry.insert("files", first.clone()).is_err());
    registry.insert("old", first)?;
    assert_eq!(registry.list().len(), 2);
    Ok(())
}

// proves: RG-1
#[tokio::test(start_paused = true)]
async fn registries_know_nothing_of_each_other() {
    let (one, other) = (Registry::new(), Registry::new());
    started(&one, "files");
    started(&other, "files");
    assert!(one.stop("files").await);
    assert!(other.get("files").is_some());
}

// proves: RG-1, F-SD-02
#[tokio::test(start_paused = true)]
async fn all_stop_at_once_whatever_they_do() -> Test {
    let registry = Registry::new();
    for number in 0..200 {
        let name = format!("{number}");
        match number % 3 {
            0 => drop(registry.start(name, Endless, config())?),
            1 => drop(registry.start(name, Missing, config())?),
            _ => started(&registry, &name).ready().await?,
        }
    }
    let began = Instant::now();
    assert_eq!(registry.stop_all().await, 200);
    assert!(began.elapsed() <= Duration::from_millis(100));
    assert!(registry.list().is_empty());
    Ok(())
}

// proves: RG-1
#[tokio::test(start_paused = true)]
async fn clients_end_with_the_registry_unless_another_handle_exists() -> Test {
    let registry = Registry::new();
    let kept = started(&registry, "kept");
    let mut lost = started(&registry, "lost").state_changes();
    kept.ready().await?;
    drop(registry);
    let mut last = None;
    while let Some(change) = lost.next().await {
        last = Some(change.to);
    }
    assert_eq!(last, Some(ConnectionState::Closed));
    assert_eq!(kept.state(), ConnectionState::Ready);
    Ok(())
}

/// Collects the state of each client from the events of a watch, until no more come.
async fn reported_states(
    watch: &mut Watch,
    known: &mut BTreeMap<String, ConnectionState>,
) -> usize {
    let mut count = 0;
    while let Ok(Some(change)) = tokio::time::timeout(Duration::from_nanos(1), watch.next()).await {
        count += 1;
        match change {
            RegistryEvent::Started { name, state } => assert!(known.insert(name, state).is_none()),
            RegistryEvent::State { name, transition } => {
                assert!(known.insert(name, transition.to).is_some());
            }
            RegistryEvent::Stopped { name } => assert!(known.remove(&name).is_some()),
            other => panic!("{other}"),
        }
    }
    count
}

// proves: RG-1, CN-2
#[tokio::test(start_paused = true)]
async fn a_watch_reports_every_client() -> Test {
    let registry = Registry::new();
    let mut known = BTreeMap::new();
    started(&registry, "early").ready().await?;
    let mut watch = registry.watch();
    let first = watch.next().await.expect("there is one");
    assert_eq!(
        first,
        RegistryEvent::Started {
            name: "early".into(),
            state: ConnectionState::Ready
        }
    );
    known.insert("early".into(), ConnectionState::Ready);

    let late = started(&registry, "late");
    assert_eq!(
        watch
            .next()
            .await
            .map(|event| event.name().to_owned())
            .as_deref(),
        Some("late")
    );
    known.insert("late".into(), ConnectionState::Starting);
    late.ready().await?;
    reported_states(&mut watch, &mut known).await;
    assert_eq!(known["late"], ConnectionState::Ready);

    let missing = registry.start("missing", Missing, config())?;
    assert!(missing.ready().await.is_err());
    reported_states(&mut watch, &mut known).await;
    assert_eq!(known["missing"], ConnectionState::Closed);

    registry.stop("late").await;
    started(&registry, "missing").ready().await?;
    reported_states(&mut watch, &mut known).await;
    assert!(!known.contains_key("late"));
    assert_eq!(known["missing"], ConnectionState::Ready);

    drop(registry);
    reported_states(&mut watch, &mut known).await;
    assert!(known.is_empty());
    assert_eq!(watch.next().await, None);
    Ok(())
}

// proves: RG-1
#[tokio::test(start_paused = true)]
async fn a_slow_watch_gets_the_latest_states_and_nothing_piles_up() -> Test {
    let registry = Registry::new();
    let mut watch = registry.watch();
    let mut known = BTreeMap::new();
    started(&registry, "steady").ready().await?;
    reported_states(&mut watch, &mut known).await;
    for number in 0..500 {
        let name = format!("{number}");
        started(&registry, &name);
        registry.stop(&name).await;
    }
    let steady = registry.get("steady").expect("it was started");
    registry.stop("steady").await;
    assert_eq!(steady.state(), ConnectionState::Closed);
    started(&registry, "steady").ready().await?;
    let count = reported_states(&mut watch, &mut known).await;
    assert!(count <= 4, "{count} were reported");
    assert_eq!(
        known,
        BTreeMap::from([("steady".to_owned(), ConnectionState::Ready)])
    );
    Ok(())
}

// proves: RG-1
#[tokio::test]
async fn a_watch_is_woken_from_other_threads() {
    let registry = Registry::new();
    let mut watch = registry.watch();
    let starting = registry.clone();
    let (seen, mut to_go_on) = tokio::sync::mpsc::channel::<()>(1);
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            started(&starting, "there");
            to_go_on.recv().await;
            starting.stop("there").await;
        });
    });
    let mut last = None;
    while !matches!(last, Some(RegistryEvent::Stopped { .. })) {
        last = watch.next().await;
        let is_ready = match &last {
            Some(RegistryEvent::Started { state, .. }) => *state == ConnectionState::Ready,
            Some(RegistryEvent::State { transition, .. }) => {
                transition.to == ConnectionState::Ready
            }
            _ => false,
        };
        if is_ready {
            seen.send(()).await.expect("it waits");
        }
    }
    thread.join().expect("no panic");
}
