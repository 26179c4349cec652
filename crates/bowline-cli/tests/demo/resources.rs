//! Resources, templates, prompts and completion.

use serde_json::json;

use crate::support::{ERAS, call, connected, names, read, result, text};

// proves: SV-3
#[tokio::test]
async fn resources_are_listed_and_read() {
    for revision in ERAS {
        let client = connected(revision).await;
        let listed = names(&client, "resources/list", "resources").await;
        assert_eq!(listed, ["readme", "knot.png", "broken", "counter"]);
        let templates = call(&client, "resources/templates/list", "{}").await;
        let note = &templates["resourceTemplates"][0];
        assert_eq!(note["uriTemplate"], "note:///{name}");
        assert_eq!(
            note["annotations"]["audience"],
            json!(["user", "assistant"])
        );
        assert!(note["icons"].is_array());
        let readme = call(&client, "resources/read", r#"{"uri":"demo://readme"}"#).await;
        assert_eq!(readme["contents"][0]["mimeType"], "text/markdown");
        let picture = call(&client, "resources/read", r#"{"uri":"demo://knot.png"}"#).await;
        let image = result(&client, "image", "{}").await;
        assert_eq!(picture["contents"][0]["blob"], image["content"][0]["data"]);
        let book = read(&client, "demo://books/melville/typee").await;
        assert_eq!(book, "typee by melville, 1846");
        client.stop().await;
    }
}

// proves: SV-3
#[tokio::test]
async fn notes_are_kept_listed_read_and_forgotten() {
    for revision in ERAS {
        let client = connected(revision).await;
        let note = r#"{"name":"knots","text":"learn them"}"#;
        assert_eq!(
            text(&client, "note_add", note).await,
            "stored as note:///knots"
        );
        let listed = names(&client, "resources/list", "resources").await;
        assert!(listed.contains(&"knots".to_owned()), "{listed:?}");
        assert_eq!(read(&client, "note:///knots").await, "learn them");
        let prompt = r#"{"name":"summarize","arguments":{"name":"knots"}}"#;
        let prompt = call(&client, "prompts/get", prompt).await;
        assert_eq!(
            prompt["messages"][1]["content"]["resource"]["text"],
            "learn them"
        );
        let removed = text(&client, "note_remove", r#"{"name":"knots"}"#).await;
        assert_eq!(removed, "removed knots");
        let listed = names(&client, "resources/list", "resources").await;
        assert!(!listed.contains(&"knots".to_owned()), "{listed:?}");
        client.stop().await;
    }
}

#[tokio::test]
async fn many_notes_come_in_pages() {
    let client = connected(ERAS[0]).await;
    for number in 0..120 {
        text(
            &client,
            "note_add",
            &format!(r#"{{"name":"n{number}","text":""}}"#),
        )
        .await;
    }
    let mut seen = Vec::new();
    let mut params = "{}".to_owned();
    loop {
        let page = call(&client, "resources/list", &params).await;
        let resources = page["resources"].as_array().unwrap().iter();
        seen.extend(resources.map(|resource| resource["name"].as_str().unwrap().to_owned()));
        let Some(next) = page["nextCursor"].as_str() else {
            break;
        };
        params = format!(r#"{{"cursor":"{next}"}}"#);
    }
    assert_eq!((seen.len(), seen.last().unwrap().as_str()), (124, "n119"));
}

#[tokio::test]
async fn prompts_are_listed_and_made() {
    for revision in ERAS {
        let client = connected(revision).await;
        let listed = call(&client, "prompts/list", "{}").await;
        let greet = &listed["prompts"][1];
        assert_eq!(
            (&greet["name"], &greet["title"]),
            (&"greet".into(), &"Greeting".into())
        );
        let arguments = json!([
            {"name": "name", "description": "The name to greet.", "required": true},
            {"name": "style", "description": "The style: formal, friendly or nautical.", "required": false},
        ]);
        assert_eq!(greet["arguments"], arguments);
        for (params, at, expected) in [
            (
                r#"{"name":"greet","arguments":{"name":"Ada"}}"#,
                0,
                "Write a friendly greeting for Ada.",
            ),
            (
                r#"{"name":"greet","arguments":{"name":"Ada","style":"formal"}}"#,
                0,
                "Write a formal greeting for Ada.",
            ),
            (
                r#"{"name":"discuss","arguments":{"author":"conrad","title":"youth"}}"#,
                0,
                r#"What is "youth" by "conrad" about?"#,
            ),
            (r#"{"name":"look"}"#, 2, "It looks like a knot."),
        ] {
            let prompt = call(&client, "prompts/get", params).await;
            assert_eq!(prompt["messages"][at]["content"]["text"], expected);
            assert!(prompt["description"].is_string());
        }
        client.stop().await;
    }
}

// proves: SV-3
#[tokio::test]
async fn arguments_are_completed_in_their_context() {
    for revision in ERAS {
        let client = connected(revision).await;
        text(&client, "note_add", r#"{"name":"knots","text":""}"#).await;
        let books = json!({"type": "ref/resource", "uri": "demo://books/{author}/{title}"});
        let notes = json!({"type": "ref/resource", "uri": "note:///{name}"});
        let prompt = |name: &str| json!({"type": "ref/prompt", "name": name});
        for (reference, argument, typed, known, expected) in [
            (
                &books,
                "author",
                "",
                json!({}),
                json!(["ashley", "conrad", "melville"]),
            ),
            (
                &books,
                "title",
                "ty",
                json!({}),
                json!(["typhoon", "typee"]),
            ),
            (
                &books,
                "title",
                "ty",
                json!({"author": "conrad"}),
                json!(["typhoon"]),
            ),
            (
                &prompt("discuss"),
                "title",
                "",
                json!({"author": "ashley"}),
                json!(["knots"]),
            ),
            (
                &prompt("greet"),
                "style",
                "f",
                json!({}),
                json!(["formal", "friendly"]),
            ),
            (&prompt("greet"), "name", "a", json!({}), json!([])),
            (
                &prompt("summarize"),
                "name",
                "kn",
                json!({}),
                json!(["knots"]),
            ),
            (&notes, "name", "", json!({}), json!(["knots"])),
        ] {
            let params = json!({
                "ref": reference,
                "argument": {"name": argument, "value": typed},
                "context": {"arguments": known},
            });
            let completed = call(&client, "completion/complete", &params.to_string()).await;
            assert_eq!(completed["completion"]["values"], expected, "{params}");
        }
        client.stop().await;
    }
}
