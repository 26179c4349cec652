//! Every event has a message, and says by its spans which server, session, tool and request it
//! is about.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context as _;
use bowline::registry::Registry;
use bowline::server::{Context, Server, tool};
use bowline::testing::{self, Conversation, Peer};
use bowline::types::Revision;
use bowline::types::common::Implementation;
use bowline::types::tools::TaskSupport;
use bowline::{Backoff, Client, ClientConfig};
use tracing::Level;

use crate::event_collector::{Collected, Logged};
use crate::server::support::{connected, tool as called};

type Test = Result<(), Box<dyn std::error::Error>>;

const OLD: Revision = Revision::V2025_11_25;

/// A client that tries again at once.
fn config() -> ClientConfig {
    let mut config = ClientConfig::new(Implementation::new("client", "1"));
    let (first, longest) = (Duration::from_millis(10), Duration::from_millis(10));
    config.backoff(Backoff::new(first, longest));
    config
}

fn all_have_a_message(events: &[Logged]) {
    for event in events {
        assert!(!event.message().is_empty(), "{event:?}");
    }
}

/// The next connection of a client, with its handshake done.
async fn accepted(
    client: &Client,
    peer: &mut Peer,
) -> Result<Conversation, Box<dyn std::error::Error>> {
    let mut server = peer.accept().await?;
    server.handshake(OLD).await?;
    client.ready().await?;
    Ok(server)
}

// proves: TE-1
#[tokio::test(start_paused = true)]
async fn the_events_of_three_servers_can_be_distinguished() -> Test {
    let collected = Collected::up_to(Level::TRACE);
    let _guard = tracing::subscriber::set_default(collected.clone());
    let registry = Registry::new();
    let names = ["files", "mail", "time"];
    let mut servers = Vec::new();
    for name in names {
        let (transport, mut peer) = testing::peer();
        let client = match name {
            // One that gets its name later.
            "time" => Client::start(transport, config()),
            _ => registry.start(name, transport, config())?,
        };
        if name == "time" {
            registry.insert(name, client.clone())?;
        }
        client.notifications().on_any(|_| async {
            tracing::info!("a handler of the user's");
        });
        let server = accepted(&client, &mut peer).await?;
        servers.push((client, peer, server));
    }
    for (number, (client, _, server)) in servers.iter_mut().enumerate() {
        // As many requests as say whose they are.
        for _ in 0..=number {
            let answer = client.call("test/any", ()).send();
            let request = server.expect("test/any").await?;
            server.send_raw("nonsense\n").await?;
            server.notify("notifications/message", "{}").await?;
            server.reply(&request, "{}").await?;
            answer.await?;
        }
    }
    // Another session of one of them.
    let (client, peer, server) = servers.remove(1);
    server.hang_up();
    let mut peer = peer;
    let server = accepted(&client, &mut peer).await?;
    registry.stop_all().await;
    drop((server, servers));

    let events = collected.events();
    all_have_a_message(&events);
    for event in &events {
        let server = event.of_span("server").unwrap_or_default();
        assert!(names.contains(&server), "{event:?}");
        assert_eq!(event.of_span("transport"), Some("memory"), "{event:?}");
        let session = event.of_span("session");
        let is_second = session == Some("2") && server == "mail";
        assert!(session == Some("1") || is_second, "{event:?}");
    }
    for (number, name) in names.iter().enumerate() {
        let events = collected.all_events().into_iter();
        let of_server = |event: &Logged| event.of_span("server") == Some(name);
        let events: Vec<_> = events.filter(of_server).collect();
        let count = |message: &str, method: &str| {
            let is_it = |event: &&Logged| {
                event.message() == message && event.field("method") == Some(method)
            };
            events.iter().filter(is_it).count()
        };
        for message in ["request started", "request finished"] {
            assert_eq!(count(message, "(other)"), number + 1, "{message} of {name}");
        }
        let handled = count("a handler of the user's", "notifications/message");
        assert_eq!(handled, number + 1, "{name}");
        let is_new = |event: &Logged| event.of_span("session") == Some("2");
        assert_eq!(events.iter().any(is_new), *name == "mail");
    }
    Ok(())
}

// proves: TE-1
#[tokio::test(start_paused = true)]
async fn the_level_info_has_a_loss_and_a_recovery_in_order() -> Test {
    let collected = Collected::up_to(Level::INFO);
    let _guard = tracing::subscriber::set_default(collected.clone());
    let registry = Registry::new();
    let (transport, mut peer) = testing::peer();
    let client = registry.start("files", transport, config())?;
    accepted(&client, &mut peer).await?.hang_up();
    let _server = accepted(&client, &mut peer).await?;
    client.stop().await;
    assert_eq!(
        collected.messages(Level::INFO),
        [
            "connected to the server",
            "connection to the server lost",
            "next connection attempt scheduled",
            "connected to the server",
            "client stopped",
        ]
    );
    let events = collected.events();
    let shown = |event: &Logged, name: &str| event.field(name).unwrap_or_default().to_owned();
    assert_eq!(shown(&events[0], "server_name"), "scripted");
    assert_eq!(shown(&events[0], "server_version"), "1");
    assert_eq!(shown(&events[0], "revision"), OLD.as_str());
    assert_eq!(shown(&events[1], "reason"), "transport lost");
    let delay: u64 = shown(&events[2], "delay_ms").parse()?;
    assert!((5..=15).contains(&delay), "{delay} ms");
    let sessions = events.iter().map(|event| shown(event, "session"));
    assert_eq!(sessions.collect::<Vec<_>>(), ["1", "1", "1", "2", "2"]);
    Ok(())
}

// proves: TE-1, ER-4
#[tokio::test]
async fn a_handler_that_fails_or_panics_names_what_it_serves() {
    async fn fails() -> anyhow::Result<String> {
        let cause = std::io::Error::other("the disk is full");
        Err(cause).context("the notes can't be loaded")
    }
    async fn panics() -> String {
        panic!("on purpose")
    }
    // Of warnings and errors alone: there is no span of a request then.
    for level in [Level::WARN, Level::INFO] {
        let collected = Collected::up_to(level);
        let _guard = tracing::subscriber::set_default(collected.clone());
        let server = Server::new("notes-server", "1")
            .tool("load", "", fails)
            .tool("crash", "", panics)
            .add_tool(tool("crash_later", panics).task_support(TaskSupport::Optional))
            .resource("note:1", "r", fails)
            .prompt("summarize", "", fails);
        let client = connected(server, OLD).await;
        assert_eq!(called(&client, "load", "{}").await, "the tool failed");
        let task = r#"{"name":"crash_later","arguments":{},"task":{}}"#;
        client.call("tools/call", task).await.expect("a task");
        for (method, params) in [
            ("tools/call", r#"{"name":"crash","arguments":{}}"#),
            ("resources/read", r#"{"uri":"note:1"}"#),
            ("prompts/get", r#"{"name":"summarize"}"#),
        ] {
            client.call(method, params).await.expect_err(method);
        }
        client.stop().await;
        let mut expected = vec![
            ("handler failed", "tool", "load"),
            ("handler panicked", "tool", "crash"),
            ("handler panicked", "tool", "crash_later"),
            ("handler failed", "resource", "note:1"),
            ("handler failed", "prompt", "summarize"),
        ];
        let events = collected.events();
        for event in events
            .iter()
            .filter(|candidate| candidate.level == Level::ERROR)
        {
            let is_it = |(message, field, name): &(&str, &str, &str)| {
                event.message() == *message
                    && event.fields.get(*field).map(String::as_str) == Some(*name)
            };
            let found = expected.iter().position(is_it);
            expected.remove(found.unwrap_or_else(|| panic!("{event:?}")));
            assert!(event.fields.contains_key("request"), "{event:?}");
            assert_eq!(event.of_span("server"), Some("notes-server"));
            assert_eq!(event.of_span("client"), Some("client"));
            assert!(event.of_span("session").is_some(), "{event:?}");
        }
        assert!(expected.is_empty(), "{expected:?}");
        all_have_a_message(&events);
    }
}

// proves: TE-1
#[tokio::test]
async fn events_of_a_handler_are_in_the_span_of_its_request() {
    let collected = Collected::up_to(Level::INFO);
    let _guard = tracing::subscriber::set_default(collected.clone());
    let of_thread = collected.clone();
    let server = Server::new("notes-server", "1")
        .tool("in_place", "", || async {
            tracing::info!("in place");
            ""
        })
        .tool("in_a_task", "", || async {
            tokio::task::yield_now().await;
            tracing::info!("in a task");
            ""
        })
        .add_tool(
            tool("on_a_thread", move || {
                let of_thread = of_thread.clone();
                async move {
                    // The default of a test is that of its own thread.
                    let _guard = tracing::subscriber::set_default(of_thread);
                    tracing::info!("on a thread");
                    ""
                }
            })
            .blocking(),
        )
        .add_tool(
            tool("as_a_task", || async {
                tokio::task::yield_now().await;
                tracing::info!("as a task of the protocol");
                ""
            })
            .task_support(TaskSupport::Optional),
        );
    let client = connected(server, OLD).await;
    for name in ["in_place", "in_a_task", "on_a_thread"] {
        called(&client, name, "{}").await;
    }
    let task = r#"{"name":"as_a_task","arguments":{},"task":{}}"#;
    let begun = client.call("tools/call", task).await.expect("a task");
    let begun: serde_json::Value = serde_json::from_str(begun.as_str()).expect("JSON");
    let id = begun["task"]["taskId"].as_str().expect("an id");
    let result = client.call("tasks/result", format!(r#"{{"taskId":"{id}"}}"#));
    result.await.expect("its result");

    let events = collected.all_events().into_iter();
    let events: Vec<_> = events
        .filter(|event| event.target.starts_with("it::telemetry"))
        .collect();
    let tools = events
        .iter()
        .map(|event| (event.message(), event.of_span("tool")));
    assert_eq!(
        tools.collect::<Vec<_>>(),
        [
            ("in place", Some("in_place")),
            ("in a task", Some("in_a_task")),
            ("on a thread", Some("on_a_thread")),
            ("as a task of the protocol", Some("as_a_task")),
        ]
    );
    let mut requests = Vec::new();
    for event in &events {
        assert_eq!(event.of_span("server"), Some("notes-server"), "{event:?}");
        assert_eq!(event.of_span("client"), Some("client"), "{event:?}");
        assert_eq!(event.of_span("method"), Some("tools/call"), "{event:?}");
        assert!(event.of_span("session").is_some(), "{event:?}");
        requests.push(event.of_span("request"));
    }
    requests.dedup();
    assert_eq!(requests.len(), 4, "{requests:?}");
}

// proves: TE-1
#[tokio::test]
async fn the_level_info_has_the_clients_of_a_server() {
    for revision in [OLD, Revision::V2026_07_28] {
        let collected = Collected::up_to(Level::INFO);
        let _guard = tracing::subscriber::set_default(collected.clone());
        let server = Server::new("notes-server", "1").tool("greet", "", || async { "hello" });
        let running = server.build().expect("it can be served");
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reader, writer) = tokio::io::split(theirs);
        let stream = bowline::transport::Stream::new(reader, writer);
        let serving = tokio::spawn(running.serve_stream(stream));
        let (reader, writer) = tokio::io::split(ours);
        let transport = bowline::transport::single_stream(reader, writer);
        let mut config = config();
        let revisions = bowline::types::Revisions::only(revision);
        config.connection().revisions(revisions);
        let client = Client::connect(transport, config).await.expect("it serves");
        for _ in 0..3 {
            called(&client, "greet", "{}").await;
        }
        client.stop().await;
        serving.await.expect("no panic").expect("it ended well");
        let events = collected.events().into_iter();
        let of_server = |event: &Logged| event.of_span("client") == Some("client");
        let events: Vec<_> = events.filter(of_server).collect();
        let messages = events.iter().map(Logged::message);
        assert_eq!(
            messages.collect::<Vec<_>>(),
            ["client connected", "session ended"],
            "{revision}"
        );
        let connected = &events[0];
        assert_eq!(connected.field("client_version"), Some("1"));
        assert_eq!(connected.field("revision"), Some(revision.as_str()));
        assert_eq!(events[1].field("reason"), Some("client disconnected"));
    }
}

#[cfg(target_os = "linux")]
mod processes {
    use bowline::transport::ChildProcess;

    use super::*;

    // proves: TE-1
    #[tokio::test]
    async fn the_level_info_has_why_a_command_is_given_up() {
        let collected = Collected::up_to(Level::DEBUG);
        let _guard = tracing::subscriber::set_default(collected.clone());
        let registry = Registry::new();
        let script = "echo canary >&2; exit 3";
        let server = ChildProcess::new("/bin/sh").args(["-c", script, "canary"]);
        let mut config = config();
        let mut backoff = Backoff::new(Duration::from_millis(1), Duration::from_millis(1));
        backoff.max_attempts(Some(2));
        config.backoff(backoff);
        // Without the probe, of which a server may die once more.
        let revisions = bowline::types::Revisions::only(OLD);
        config.connection().revisions(revisions);
        let client = registry.start("files", server, config).expect("it is free");
        client.ready().await.expect_err("it ends at once");
        assert_eq!(
            collected.messages(Level::INFO),
            [
                "server process started",
                "connection attempt failed",
                "next connection attempt scheduled",
                "server process started",
                "connection attempt failed",
                "client gave up",
            ]
        );

        let events = collected.events();
        all_have_a_message(&events);
        let of = |message: &str| {
            let found = events.iter().find(|event| event.message() == message);
            found.unwrap_or_else(|| panic!("no {message}"))
        };
        let started = of("server process started");
        assert_eq!(started.field("command"), Some("/bin/sh"));
        assert!(started.field("pid").is_some());
        let failed = of("connection attempt failed");
        let reason = failed.field("reason").unwrap_or_default();
        assert_eq!(reason, "transport lost (exit status: 3)");
        let gave_up = of("client gave up");
        assert_eq!(gave_up.field("reason"), Some("attempts exhausted"));
        let line = of("server wrote a line to stderr");
        assert_eq!(line.field("line"), Some("canary"));
        for event in &events {
            assert_eq!(event.of_span("server"), Some("files"), "{event:?}");
            assert_eq!(event.of_span("transport"), Some("/bin/sh"), "{event:?}");
            // What it says, and its arguments, are nothing for a log (TE-1).
            let is_line = event.message() == line.message();
            assert!(is_line || !format!("{event:?}").contains("canary"));
        }
    }

    // proves: TE-1
    #[tokio::test]
    async fn a_command_that_is_not_there_is_given_up_with_the_reason() {
        let collected = Collected::up_to(Level::INFO);
        let _guard = tracing::subscriber::set_default(collected.clone());
        let server = ChildProcess::new("/no/such/command");
        let client = Client::start(server, config().name("files"));
        client.ready().await.expect_err("it isn't there");
        assert_eq!(collected.messages(Level::INFO), ["client gave up"]);
        let reason = collected.events()[0].field("reason").map(str::to_owned);
        let reason = reason.unwrap_or_default();
        assert!(reason.contains("/no/such/command"), "{reason}");
    }
}

/// A subscriber that looks at a session whenever something is emitted at level info, as one
/// that sends it to a client does.
struct Looking {
    context: Arc<Mutex<Option<Context>>>,
    seen: Arc<AtomicUsize>,
}

impl tracing::Subscriber for Looking {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO && metadata.target().starts_with("bowline::server")
    }

    fn event(&self, event: &tracing::Event<'_>) {
        let context = self.context.lock().expect("no panic").clone();
        if let Some(context) = context.filter(|_| *event.metadata().level() == Level::INFO) {
            // It takes the lock of the session.
            let _ = context.request_id();
            self.seen.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn a_subscriber_may_use_the_session_that_info_is_about() {
    let (done, is_done) = std::sync::mpsc::channel();
    // On a thread of its own, so that a deadlock fails.
    std::thread::spawn(move || {
        let seen = Arc::new(AtomicUsize::new(0));
        let context = Arc::new(Mutex::new(None));
        let _guard = tracing::subscriber::set_default(Looking {
            context: Arc::clone(&context),
            seen: Arc::clone(&seen),
        });
        let server = Server::new("notes-server", "1").tool("keep", "", move |cx: Context| {
            *context.lock().expect("no panic") = Some(cx);
            async { "" }
        });
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let client = connected(server, OLD).await;
            called(&client, "keep", "{}").await;
            client.stop().await;
        });
        // The session ends with its runtime at the latest.
        drop(runtime);
        done.send(seen.load(Ordering::Relaxed))
            .expect("the test listens");
    });
    let seen = is_done.recv_timeout(Duration::from_secs(60));
    assert_eq!(seen.expect("no lock is waited for without end"), 1);
}
