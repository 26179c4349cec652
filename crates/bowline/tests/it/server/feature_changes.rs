//! Features that can't be served are refused: when a server is built, and when they are added
//! later.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use bowline::server::{Server, ServerFeatures, prompt, resource, template, tool};
use bowline::types::Revision;
use bowline::{Error, ErrorKind};
use schemars::JsonSchema;
use serde::Deserialize;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::with_default;
use tracing::{Event, Level, Metadata, Subscriber};

use super::support::{call, connected};

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is looked at")]
struct Lists {
    names: Vec<String>,
}

type Add = fn(&ServerFeatures) -> Result<(), Error>;

/// What `build()` and the features say of the same thing.
fn refused(server: Server, add: Add) -> String {
    let built = server.build().expect_err("it is refused");
    let features = Server::new("empty", "1").features();
    let added = add(&features).expect_err("it is refused");
    assert_eq!(built.kind(), ErrorKind::Config, "{built}");
    assert_eq!(added.kind(), ErrorKind::Config, "{added}");
    assert_eq!(built.to_string(), added.to_string());
    added.to_string()
}

// proves: SV-3
#[test]
fn an_invalid_feature_is_the_same_error_when_it_is_added_later() {
    let server = || Server::new("wrong", "1");
    let words = refused(server().tool("number", "", |_: i64| async {}), |features| {
        features.add_tool(tool("number", |_: i64| async {}))
    });
    assert!(
        words.contains("tool number: its arguments are not an object"),
        "{words}"
    );
    let words = refused(
        server().prompt("lists", "", |_: Lists| async { "" }),
        |features| features.add_prompt(prompt("lists", |_: Lists| async { "" })),
    );
    assert!(
        words.contains("prompt lists: argument names is an array"),
        "{words}"
    );
    let words = refused(
        server().template("r:{other}", "r", |_: Lists| async { "" }),
        |features| features.add_template(template("r:{other}", "r", |_: Lists| async { "" })),
    );
    assert!(
        words.contains("template r:{other}: its handler needs \"names\""),
        "{words}"
    );
    let words = refused(
        server().template("{a}{b}", "r", || async { "" }),
        |features| features.add_template(template("{a}{b}", "r", || async { "" })),
    );
    assert!(words.contains("{a}{b}"), "{words}");
    let words = refused(
        server().resource("r:", "r", |_: Lists| async { "" }),
        |features| features.add_resource(resource("r:", "r", |_: Lists| async { "" })),
    );
    assert!(
        words.contains("resource r:: its handler needs \"names\", and a resource has no arguments"),
        "{words}"
    );
}

// proves: SV-3
#[tokio::test]
async fn a_refused_feature_leaves_the_previous_one() {
    let server = Server::new("kept", "1").tool("it", "", || async { "kept" });
    let features = server.features();
    let client = connected(server, Revision::LATEST).await;
    let wrong = features.add_tool(tool("it", |_: i64| async { "replaced" }));
    wrong.expect_err("it is refused");
    let added = features.add_tool(tool("", || async { "unnamed" }));
    added.expect_err("it is refused");
    let listed = call(&client, "tools/list", "{}").await;
    assert_eq!(
        listed["tools"].as_array().map(Vec::len),
        Some(1),
        "{listed}"
    );
    let result = client.tools().call("it", ()).await.expect("it is served");
    assert_eq!(result.text(), "kept");
}

/// Returns the error of the builder for a tool of this name, which the features return as well.
fn refused_name(name: &str) -> Option<String> {
    let built = Server::new("named", "1").tool(name, "", || async {});
    let built = built.build().err().map(|error| error.to_string());
    let features = Server::new("named", "1").features();
    let added = features.add_tool(tool(name, || async {})).err();
    assert_eq!(built, added.map(|error| error.to_string()), "{name:?}");
    built
}

// proves: SV-1
#[test]
fn names_that_are_none_are_refused_with_their_tool_and_the_place() {
    for (name, words) in [
        ("", "tool \"\": its name is empty"),
        (" ", "tool \" \": its name has ' ' at character 1"),
        (
            "my tool",
            "tool \"my tool\": its name has ' ' at character 3",
        ),
        (
            "add\n",
            "tool \"add\\n\": its name has '\\n' at character 4",
        ),
        ("ä\u{a0}b", "its name has '\\u{a0}' at character 2"),
        ("a\0", "its name has '\\0' at character 2"),
        ("a\u{2028}", "its name has '\\u{2028}' at character 2"),
    ] {
        let refused = refused_name(name).expect(name);
        assert!(refused.contains(words), "{refused}");
    }
    for letter in ["a", "ä"] {
        assert_eq!(refused_name(&letter.repeat(128)), None);
        let refused = refused_name(&letter.repeat(129)).expect("it is too long");
        assert!(
            refused.ends_with("its name has 129 characters (the limit is 128)"),
            "{refused}"
        );
    }
    let refused = refused_name(&"a".repeat(100_000)).expect("it is too long");
    assert!(refused.len() < 300, "{}", refused.len());
}

/// Collects the warnings that are logged, each with its fields in one line.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0 += &format!("{field}={value:?} ");
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0 += &format!("{field}={value} ");
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().expect("nothing panicked").push(line.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

// proves: SV-1
#[test]
fn names_that_are_only_unusual_are_served_and_logged() {
    let long = "a".repeat(65);
    for (name, is_logged) in [
        ("get_time", false),
        ("a.b-c_D9", false),
        ("files/read", true),
        ("a,b", true),
        ("größe", true),
        (&long, true),
    ] {
        let warnings = Warnings::default();
        let refused = with_default(warnings.clone(), || refused_name(name));
        assert_eq!(refused, None, "{name}");
        let lines = warnings.0.lock().expect("nothing panicked");
        // The builder logs it, and the features.
        assert_eq!(lines.len(), 2 * usize::from(is_logged), "{lines:?}");
        assert!(lines.iter().all(|line| line.contains(name)), "{lines:?}");
    }
}
