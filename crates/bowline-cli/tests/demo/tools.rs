//! The tools of the demo, called with arguments of each kind.

use bowline::transport::StderrTo;
use bowline_types::Revisions;
use bowline_types::logging::LoggingLevel;
use bowline_types::meta::{RequestMeta, keys};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::support::{
    ERAS, LONG, call, connected, connected_with, demo, params, result, text, value,
};

// proves: SV-1, SV-3
#[tokio::test]
async fn every_tool_is_listed_with_what_a_client_needs() {
    for revision in ERAS {
        let client = connected(revision).await;
        let listed = call(&client, "tools/list", "{}").await;
        let tools = listed["tools"].as_array().unwrap();
        let names: Vec<_> = tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, TOOLS, "a tool without a test");
        for tool in tools {
            for text in ["title", "description"] {
                assert!(
                    tool[text].as_str().is_some_and(|text| !text.is_empty()),
                    "{tool}"
                );
            }
            assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        }
        let image = tools.iter().find(|tool| tool["name"] == "image").unwrap();
        let icon = image["icons"][0]["src"].as_str().unwrap();
        assert!(icon.starts_with("data:image/png;base64,iVBOR"), "{icon}");
        let counts = tools
            .iter()
            .find(|tool| tool["name"] == "count_words")
            .unwrap();
        assert_eq!(counts["outputSchema"]["required"][0], "characters");
        let remove = tools
            .iter()
            .find(|tool| tool["name"] == "note_remove")
            .unwrap();
        assert_eq!(remove["annotations"]["destructiveHint"], true);
        client.stop().await;
    }
}

/// All tools, in the order in which they are listed.
const TOOLS: [&str; 31] = [
    "echo",
    "add",
    "count_words",
    "image",
    "audio",
    "resource_link",
    "embedded_resource",
    "mixed",
    "countdown",
    "brew",
    "log",
    "ask_name",
    "ask_survey",
    "ask_url",
    "ask_model",
    "list_roots",
    "fail",
    "fail_inside",
    "protocol_error",
    "panic",
    "slow",
    "hang",
    "blocking",
    "large",
    "print",
    "increment",
    "counter",
    "note_add",
    "note_remove",
    "plugin_add",
    "plugin_remove",
];

// proves: SV-1, PV-1
#[tokio::test]
async fn simple_tools_work_in_every_revision() {
    for revision in Revisions::ALL.iter() {
        let client = connected(revision).await;
        for (name, arguments, expected) in [
            ("echo", r#"{"text":"héllo\n\u0000"}"#, "héllo\n\0"),
            ("add", r#"{"a":2,"b":3}"#, "5"),
            ("add", r#"{"a":0.5,"b":-1}"#, "-0.5"),
            (
                "count_words",
                r#"{"text":"two words\n"}"#,
                r#"{"characters":10,"words":2,"lines":1}"#,
            ),
            ("slow", r#"{"ms":1}"#, "waited for 1ms"),
            ("blocking", r#"{"ms":1}"#, "blocked for 1ms"),
            (
                "countdown",
                r#"{"from":2,"pause_ms":1}"#,
                "counted down from 2",
            ),
        ] {
            assert_eq!(text(&client, name, arguments).await, expected, "{revision}");
        }
        let large = text(&client, "large", r#"{"bytes":1000000}"#).await;
        assert_eq!(large.len(), 1_000_000);
        client.stop().await;
    }
}

#[tokio::test]
async fn structured_content_comes_beside_its_text() {
    for revision in ERAS {
        let client = connected(revision).await;
        let counts = result(&client, "count_words", r#"{"text":"a b"}"#).await;
        let expected = json!({"characters": 3, "words": 2, "lines": 1});
        assert_eq!(counts["structuredContent"], expected);
        client.stop().await;
    }
}

#[tokio::test]
async fn content_of_every_kind_comes_as_it_is() {
    for revision in ERAS {
        let client = connected(revision).await;
        let mixed = result(&client, "mixed", "{}").await;
        let blocks = mixed["content"].as_array().unwrap();
        let kinds: Vec<_> = blocks
            .iter()
            .map(|block| block["type"].as_str().unwrap())
            .collect();
        let expected = ["text", "image", "audio", "resource_link", "resource"];
        assert_eq!(kinds, expected);
        let singles = ["image", "audio", "resource_link", "embedded_resource"];
        for (name, block) in singles.iter().zip(&blocks[1..]) {
            let single = result(&client, name, "{}").await;
            assert_eq!(&single["content"][0], block, "{name}");
        }
        assert_eq!(blocks[1]["mimeType"], "image/png");
        assert!(blocks[2]["data"].as_str().unwrap().starts_with("UklGR"));
        assert_eq!(blocks[3]["uri"], "demo://knot.png");
        assert_eq!(blocks[4]["resource"]["uri"], "demo://readme");
        client.stop().await;
    }
}

// proves: FT-9
#[tokio::test]
async fn a_countdown_reports_each_step() {
    for revision in ERAS {
        let client = connected(revision).await;
        let params = params("countdown", r#"{"from":4,"pause_ms":1}"#);
        let call = client.call("tools/call", params);
        let mut answer = call.with_progress().send();
        let mut reports = Vec::new();
        while let Some(report) = answer.progress().await {
            assert_eq!(report.total.and_then(|total| total.as_i64()), Some(4));
            reports.push((report.progress.as_i64().unwrap(), report.message.unwrap()));
        }
        let expected = [
            (1, "3 to go"),
            (2, "2 to go"),
            (3, "1 to go"),
            (4, "0 to go"),
        ];
        assert_eq!(
            reports,
            expected.map(|(step, words)| (step, words.to_owned()))
        );
        let result = value(&answer.await.unwrap());
        assert_eq!(result["content"][0]["text"], "counted down from 4");
        client.stop().await;
    }
}

// proves: SV-3
#[tokio::test]
async fn a_cancelled_countdown_stops() {
    for revision in ERAS {
        let client = connected(revision).await;
        let params = params("countdown", r#"{"from":1000,"pause_ms":10}"#);
        let mut answer = client.call("tools/call", params).with_progress().send();
        answer.progress().await.expect("it has begun");
        drop(answer);
        let cancelled = async {
            // The countdown learns of it in its own time.
            while text(&client, "counter", "{}")
                .await
                .contains(r#""cancelled":0"#)
            {}
        };
        timeout(LONG, cancelled).await.expect("it has heard of it");
        client.stop().await;
    }
}

#[tokio::test]
async fn slow_and_blocking_tools_delay_no_other_call() {
    for revision in ERAS {
        let client = connected(revision).await;
        let waiting = ["hang", "slow", "blocking"].map(|name| {
            let params = params(name, r#"{"ms":600000}"#);
            client.call("tools/call", params).send()
        });
        assert_eq!(text(&client, "add", r#"{"a":1,"b":1}"#).await, "2");
        drop(waiting);
        assert_eq!(text(&client, "add", r#"{"a":1,"b":1}"#).await, "2");
        client.stop().await;
    }
}

#[tokio::test]
async fn log_messages_come_where_they_are_wanted() {
    for revision in ERAS {
        let client = connected(revision).await;
        let (sender, mut heard) = mpsc::unbounded_channel();
        client
            .notifications()
            .on("notifications/message", move |notification| {
                let sent = sender.send(value(notification.params().unwrap()));
                async move { sent.unwrap() }
            });
        let is_stateless = revision == ERAS[1];
        if is_stateless {
            let debug = r#"{"level":"debug","text":"unasked"}"#;
            assert_eq!(
                text(&client, "log", debug).await,
                "not sent: this level was not requested"
            );
        } else {
            call(&client, "logging/setLevel", r#"{"level":"warning"}"#).await;
        }
        for (level, expected) in [
            ("info", "not sent: this level was not requested"),
            ("error", "sent"),
        ] {
            let params = params("log", &format!(r#"{{"level":"{level}","text":"knots"}}"#));
            let mut request = client.call("tools/call", params);
            if is_stateless {
                let meta = RequestMeta::new().with(keys::LOG_LEVEL, LoggingLevel::Warning);
                request = request.meta(meta);
            }
            let result = value(&request.await.unwrap());
            assert_eq!(result["content"][0]["text"], expected, "{revision} {level}");
        }
        let message = heard.recv().await.unwrap();
        assert_eq!(
            (&message["level"], &message["data"]),
            (&"error".into(), &"knots".into())
        );
        assert_eq!(message["logger"], "bowline-demo");
        client.stop().await;
    }
}

#[tokio::test]
async fn printed_text_goes_to_stderr() {
    for revision in ERAS {
        let (sender, mut heard) = mpsc::unbounded_channel();
        let child = demo().stderr(StderrTo::Callback(std::sync::Arc::new(move |line| {
            let _ = sender.send(line.to_owned());
        })));
        let client = connected_with(child, revision, |_| {}).await;
        let arguments = r#"{"text":"{\"jsonrpc\":\"2.0\",\"method\":\"stray\"}"}"#;
        let printed = result(&client, "print", arguments).await;
        assert_eq!(printed["content"], json!([]));
        assert_eq!(text(&client, "add", r#"{"a":1,"b":1}"#).await, "2");
        let line = timeout(LONG, heard.recv()).await.unwrap();
        assert_eq!(
            line.as_deref(),
            Some(r#"{"jsonrpc":"2.0","method":"stray"}"#)
        );
        assert_eq!(client.stats().malformed_frames, 0);
        client.stop().await;
    }
}
