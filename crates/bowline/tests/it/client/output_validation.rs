//! Results of tools against their output schemas: feature `validate`.

use bowline::client::OutputValidation;
use bowline::client::features::ToolResult;
use bowline::testing::{Conversation, Unexpected};
use bowline::types::Revision;
use bowline::{Client, Error, ErrorKind};

use crate::client::support::{NEW, OLD, Test, able, able_again, all_is_read, config};

const SUM: &str =
    r#"{"type":"object","properties":{"sum":{"type":"integer","maximum":9}},"required":["sum"]}"#;

/// Fetches a list that has one tool with this output schema.
async fn list(client: &Client, server: &mut Conversation, schema: &str) -> Test {
    let listing = client.clone();
    let all = tokio::spawn(async move { listing.tools().list_all().await });
    let request = server.expect("tools/list").await?;
    let tool =
        format!(r#"{{"name":"sum","inputSchema":{{"type":"object"}},"outputSchema":{schema}}}"#);
    let body = format!(r#"{{"resultType":"complete","tools":[{tool}]}}"#);
    server.reply(&request, body.as_str()).await?;
    assert_eq!(all.await??.len(), 1);
    Ok(())
}

/// Calls the tool, which answers so.
async fn call(
    client: &Client,
    server: &mut Conversation,
    rest: &str,
) -> Result<Result<ToolResult, Error>, Unexpected> {
    called(client, server, rest, true).await
}

async fn called(
    client: &Client,
    server: &mut Conversation,
    rest: &str,
    is_checked: bool,
) -> Result<Result<ToolResult, Error>, Unexpected> {
    let calling = client.clone();
    let result = tokio::spawn(async move {
        let call = calling.tools().call("sum", ());
        if is_checked {
            call.await
        } else {
            call.without_output_validation().await
        }
    });
    let request = server.expect("tools/call").await?;
    let content = r#""content":[{"type":"text","text":"done"}]"#;
    let body = format!(r#"{{"resultType":"complete",{content}{rest}}}"#);
    server.reply(&request, body.as_str()).await?;
    Ok(result.await.expect("no panic"))
}

const CHANGED: &str = "notifications/tools/list_changed";
const FITS: &str = r#","structuredContent":{"sum":3}"#;
const WRONG: &str = r#","structuredContent":{"sum":33,"secret":"hunter2"}"#;

#[tokio::test(start_paused = true)]
async fn a_result_that_does_not_fit_is_an_error_that_has_it() -> Test {
    for revision in [Revision::V2025_06_18, OLD, NEW] {
        let (client, mut server, _peer) = able(config(), revision).await?;
        // The schema is not known yet, and no list is fetched for it.
        call(&client, &mut server, WRONG).await??;
        list(&client, &mut server, SUM).await?;
        let fits = call(&client, &mut server, FITS).await??;
        assert_eq!(fits.text(), "done");
        for (rest, words) in [
            (WRONG, "sum: sum: must be at most 9"),
            (r#","structuredContent":{}"#, "sum: sum: is missing"),
            (
                "",
                "sum: structuredContent is missing, but outputSchema requires it",
            ),
        ] {
            let error = call(&client, &mut server, rest).await?;
            let error = error.expect_err(words);
            assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
            let expected = format!("tools/call: the result doesn't match its schema: {words}");
            assert_eq!(error.to_string(), expected);
            assert!(!error.is_recoverable());
            let result = error.tool_result().expect("the result");
            assert_eq!(result.content[0].as_text(), Some("done"));
            called(&client, &mut server, rest, false).await??;
        }
        // A tool that failed owes nothing.
        let failed = call(&client, &mut server, r#","isError":true"#).await??;
        assert!(failed.is_failure());
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_revision_without_structured_results_has_nothing_to_check() -> Test {
    for revision in [Revision::V2024_11_05, Revision::V2025_03_26] {
        let (client, mut server, _peer) = able(config(), revision).await?;
        list(&client, &mut server, SUM).await?;
        call(&client, &mut server, "").await??;
        call(&client, &mut server, WRONG).await??;
    }
    Ok(())
}

// proves: F-HD-14
#[tokio::test(start_paused = true)]
async fn a_result_that_cannot_be_checked_is_returned_with_the_reason() -> Test {
    let mut strict = config();
    strict.output_validation(OutputValidation::new().strict());
    let large = format!(r#"{{"type":"object","title":"{}"}}"#, "x".repeat(1 << 20));
    // One that is no harm until a value comes that makes it one.
    let doubling = r##"{"type":"object","oneOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}"##;
    let nested = (0..60).fold("{}".to_owned(), |value, _| format!(r#"{{"a":{value}}}"#));
    let nested = format!(r#","structuredContent":{nested}"#);
    let long = format!(
        r#","structuredContent":{{"sum":3,"x":"{}"}}"#,
        "x".repeat(4 << 20)
    );
    for (config, is_strict) in [(config(), false), (strict, true)] {
        let (client, mut server, _peer) = able(config, OLD).await?;
        for (schema, rest, words) in [
            (
                r##"{"type":"object","$ref":"http://127.0.0.1:1/x"}"##,
                FITS,
                "external reference http://127.0.0.1:1/x",
            ),
            (
                r##"{"type":"object","$ref":"file:///etc/passwd"}"##,
                FITS,
                "external reference file:///etc/passwd",
            ),
            (
                r##"{"type":"object","allOf":[{"$ref":"#"}]}"##,
                FITS,
                "refers to itself",
            ),
            (
                r#"{"type":"object","$schema":"https://example.com/own"}"#,
                FITS,
                "unsupported $schema",
            ),
            (
                r#"{"type":"object","properties":{"a":{"pattern":"(a)\\1"}}}"#,
                FITS,
                r"unsupported pattern (a)\1",
            ),
            (
                &*large,
                FITS,
                "the tool's outputSchema can't be used: schema too large",
            ),
            (
                doubling,
                &*nested,
                "structuredContent can't be checked: too expensive",
            ),
            (SUM, &*long, "bytes (limit 4194304)"),
        ] {
            list(&client, &mut server, schema).await?;
            let called_so = call(&client, &mut server, rest).await?;
            let reason = match (is_strict, called_so) {
                (false, Ok(result)) => {
                    assert_eq!(result.text(), "done");
                    result.unvalidated_reason().unwrap_or_default().to_owned()
                }
                (true, Err(error)) => {
                    assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
                    assert!(error.tool_result().is_some());
                    error.to_string()
                }
                (_, other) => panic!("{words}: {other:?}"),
            };
            assert!(reason.contains(words), "{reason}");
            let unvalidated = called(&client, &mut server, rest, false).await??;
            assert_eq!(unvalidated.unvalidated_reason(), None, "validation is off");
            // That there is nothing is seen without a schema.
            let error = call(&client, &mut server, "").await?.expect_err(words);
            assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
        }
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_schema_as_zod_generates_it_is_checked() -> Test {
    let (client, mut server, _peer) = able(config(), NEW).await?;
    let mail = r#"{"type":"object","properties":{"mail":{"type":"string","pattern":"^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$"}},"required":["mail"]}"#;
    list(&client, &mut server, mail).await?;
    let fits = r#","structuredContent":{"mail":"a.b@example.com"}"#;
    let fits = call(&client, &mut server, fits).await??;
    assert_eq!(fits.unvalidated_reason(), None);
    let wrong = r#","structuredContent":{"mail":"a..b@example.com"}"#;
    let error = call(&client, &mut server, wrong).await?;
    let error = error.expect_err("it doesn't fit");
    assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
    assert!(error.to_string().contains("mail: must match"), "{error}");
    // What can be checked is, beside a pattern that can't.
    let partly = r#"{"type":"object","properties":{"a":{"pattern":"(a)\\1"},"sum":{"maximum":9}}}"#;
    list(&client, &mut server, partly).await?;
    let error = call(&client, &mut server, WRONG).await?;
    let error = error.expect_err("it doesn't fit");
    assert!(error.to_string().contains("must be at most 9"), "{error}");
    Ok(())
}

// Later calls are made with the new list, and not held to the old one.
#[tokio::test(start_paused = true)]
async fn listed_schemas_are_forgotten_with_a_change_and_with_the_connection() -> Test {
    let (client, mut server, mut peer) = able(config(), OLD).await?;
    list(&client, &mut server, SUM).await?;
    server.notify(CHANGED, ()).await?;
    all_is_read(&client, &mut server).await?;
    call(&client, &mut server, WRONG).await??;

    list(&client, &mut server, SUM).await?;
    assert!(call(&client, &mut server, WRONG).await?.is_err());
    drop(server);
    let mut server = able_again(&client, &mut peer, OLD).await?;
    call(&client, &mut server, WRONG).await??;
    // A tool that has a schema no longer.
    list(&client, &mut server, SUM).await?;
    list(&client, &mut server, "null").await?;
    call(&client, &mut server, WRONG).await??;
    Ok(())
}

// proves: FT-1
#[tokio::test(start_paused = true)]
async fn no_server_can_switch_the_check_off_for_a_result_it_is_about_to_send() -> Test {
    for revision in [OLD, NEW] {
        // The server notifies that its tools have changed.
        let (client, mut server, _peer) = able(config(), revision).await?;
        list(&client, &mut server, SUM).await?;
        let answer = client.tools().call("sum", ()).send();
        let request = server.expect("tools/call").await?;
        server.notify(CHANGED, ()).await?;
        all_is_read(&client, &mut server).await?;
        server.reply(&request, wrong()).await?;
        let error = answer.await.expect_err("it doesn't fit");
        assert_eq!(error.kind(), ErrorKind::SchemaMismatch);

        // It hangs up before the result was read.
        list(&client, &mut server, SUM).await?;
        let answer = client.tools().call("sum", ()).send();
        let request = server.expect("tools/call").await?;
        server.reply(&request, wrong()).await?;
        all_is_read(&client, &mut server).await?;
        let mut changes = client.state_changes();
        server.hang_up();
        changes.next().await;
        let error = answer.await.expect_err("it doesn't fit");
        assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
    }
    Ok(())
}

fn wrong() -> String {
    format!(r#"{{"resultType":"complete","content":[]{WRONG}}}"#)
}

#[tokio::test(start_paused = true)]
async fn a_client_may_check_nothing() -> Test {
    let mut config = config();
    config.output_validation(OutputValidation::disabled());
    let (client, mut server, _peer) = able(config, OLD).await?;
    list(&client, &mut server, SUM).await?;
    call(&client, &mut server, WRONG).await??;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_started_as_a_task_and_is_done_at_once_is_checked_too() -> Test {
    let (client, mut server, _peer) = able(config(), OLD).await?;
    list(&client, &mut server, SUM).await?;
    let calling = client.clone();
    let started = tokio::spawn(async move { calling.tools().call("sum", ()).start_task().await });
    let request = server.expect("tools/call").await?;
    server.reply(&request, r#"{"content":[]}"#).await?;
    let error = started.await?.expect_err("it doesn't fit");
    assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
    Ok(())
}
