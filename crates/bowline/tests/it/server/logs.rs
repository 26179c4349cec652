//! Errors that are hidden from a client are logged with its request.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use bowline::server::{Json, Server};
use bowline::types::Revision;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use super::support::{connected, tool as called};

/// The errors that are logged, a line each.
#[derive(Clone, Default)]
struct Errors(Arc<Mutex<Vec<String>>>);

impl Errors {
    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push_str(&format!("{}={value:?} ", field.name()));
    }
}

impl Subscriber for Errors {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::ERROR
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.lines().push(line.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

async fn loads() -> anyhow::Result<String> {
    let cause = std::io::Error::other("the disk is full");
    Err(cause).context("the notes can't be loaded")
}

// proves: ER-4
#[tokio::test]
async fn a_failure_is_logged_with_its_causes_and_its_request() {
    let errors = Errors::default();
    let _guard = tracing::subscriber::set_default(errors.clone());
    let server = Server::new("failing", "1")
        .tool("loads", "", loads)
        .tool("odd", "", || async { Json(f64::NAN) })
        .resource("r:", "r", loads)
        .prompt("p", "", loads);
    let client = connected(server, Revision::V2025_11_25).await;
    assert_eq!(called(&client, "loads", "{}").await, "the tool failed");
    for (method, params) in [
        ("resources/read", r#"{"uri":"r:"}"#),
        ("prompts/get", r#"{"name":"p"}"#),
        ("tools/call", r#"{"name":"odd","arguments":{}}"#),
    ] {
        let error = client.call(method, params).await.expect_err(method);
        assert!(!error.to_string().contains("disk"), "{error}");
    }
    let lines = errors.lines();
    assert_eq!(lines.len(), 4, "{lines:#?}");
    for line in &lines[..3] {
        let causes = "error=the notes can't be loaded: the disk is full ";
        assert!(line.contains(causes), "{line}");
    }
    assert!(
        lines[3].contains("NaN is not a JSON number"),
        "{}",
        lines[3]
    );
    let number = |line: &String| {
        let (_, behind) = line.split_once("request=")?;
        behind.split(' ').next()?.parse::<u64>().ok()
    };
    let numbers: Vec<_> = lines.iter().filter_map(number).collect();
    assert_eq!(numbers.len(), 4, "{lines:#?}");
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
}
