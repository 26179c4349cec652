//! Which schemas are known, and what becomes of those that can't be used.

use super::*;

fn list(tools: &[(&str, usize)]) -> String {
    let tools: Vec<_> = tools
        .iter()
        .map(|(name, size)| {
            let filler = "x".repeat(*size);
            format!(r#"{{"name":"{name}","outputSchema":{{"type":"object","title":"{filler}"}}}}"#)
        })
        .collect();
    format!(r#"{{"tools":[{}]}}"#, tools.join(","))
}

fn known(outputs: &OutputSchemas) -> String {
    let known = outputs.lock();
    assert_eq!(known.order.len(), known.tools.len());
    let sizes: usize = known.tools.values().map(|schema| schema.size).sum();
    assert_eq!(known.bytes, sizes);
    known.order.values().map(|name| &**name).collect()
}

#[test]
fn the_oldest_go_when_there_are_too_many_or_they_are_too_large() {
    let few = OutputSchemas::new(OutputValidation::new().max_tools(2));
    few.learn(&list(&[("a", 0), ("b", 0)]), 0);
    assert_eq!(known(&few), "ab");
    few.learn(&list(&[("c", 0)]), 0);
    assert_eq!(known(&few), "bc");
    // One that is listed again is young again.
    few.learn(&list(&[("b", 0), ("d", 0)]), 0);
    assert_eq!(known(&few), "bd");
    few.learn(r#"{"tools":[{"name":"d"}]}"#, 0);
    assert_eq!(known(&few), "b");

    let frame = r#"a{"type":"object","title":""}"#.len();
    let small = OutputSchemas::new(OutputValidation::new().max_bytes(2 * frame + 10));
    small.learn(&list(&[("a", 5), ("b", 5)]), 0);
    assert_eq!(known(&small), "ab");
    small.learn(&list(&[("a", 5), ("b", 6)]), 0);
    assert_eq!(known(&small), "b");
    small.learn(&list(&[("c", frame + 11)]), 0);
    assert_eq!(known(&small), "b", "one that is too large by itself");
    let off = OutputSchemas::new(OutputValidation::disabled());
    off.learn(&list(&[("a", 0)]), 0);
    assert_eq!(known(&off), "");
}

#[test]
fn a_name_that_a_page_repeats_is_known_once() {
    let outputs = OutputSchemas::new(OutputValidation::new().max_tools(3));
    let page: Vec<_> = (0..30_000)
        .map(|at| (["a", "b", "c"][at % 3], at % 5))
        .collect();
    outputs.learn(&list(&page), 0);
    assert_eq!(known(&outputs), "abc");
    outputs.learn(&list(&[("a", 0), ("a", 0), ("d", 0)]), 0);
    assert_eq!(known(&outputs), "cad");
}

#[test]
fn a_list_that_was_asked_for_before_a_change_is_not_learned() {
    let outputs = OutputSchemas::new(OutputValidation::new());
    let before = outputs.generation();
    outputs.handle_notification("notifications/prompts/list_changed");
    outputs.learn(&list(&[("a", 0)]), before);
    assert_eq!(known(&outputs), "a");
    outputs.handle_notification("notifications/tools/list_changed");
    assert_eq!(known(&outputs), "");
    outputs.learn(&list(&[("a", 0)]), before);
    assert_eq!(known(&outputs), "");
    outputs.learn(&list(&[("a", 0)]), outputs.generation());
    assert_eq!(known(&outputs), "a");
}

#[test]
fn a_tool_whose_schema_was_forgotten_is_noted_once_and_only_so_many() {
    let outputs = OutputSchemas::new(OutputValidation::new().max_tools(2));
    outputs.learn(&list(&[("a", 0), ("b", 0), ("c", 0)]), 0);
    let lost = |outputs: &OutputSchemas| outputs.lock().forgotten.tools.len();
    assert_eq!(lost(&outputs), 1, "one too many");
    outputs.clear();
    assert_eq!(lost(&outputs), 2);
    outputs.learn(&list(&[("a", 0), ("b", 0)]), 1);
    outputs.clear();
    assert_eq!(lost(&outputs), 2, "not more than are known");
    for tool in ["a", "a", "b", "b", "c", "d"] {
        outputs.expected(tool, Some(Revision::LATEST));
    }
    assert_eq!(lost(&outputs), 0);
    // What is listed without a schema has lost none.
    outputs.learn(&list(&[("a", 0)]), 2);
    outputs.clear();
    outputs.learn(r#"{"tools":[{"name":"a"}]}"#, 3);
    assert_eq!(lost(&outputs), 0);
}

#[test]
fn invalid_lists_of_tools_are_not_learned() {
    let outputs = OutputSchemas::new(OutputValidation::new());
    for odd in [
        "{}",
        "[]",
        r#"{"tools":1}"#,
        r#"{"tools":[1]}"#,
        r#"{"tools":[{"outputSchema":{}}]}"#,
        r#"{"tools":[{"name":"a","outputSchema":null}]}"#,
    ] {
        outputs.learn(odd, 0);
        assert_eq!(known(&outputs), "", "{odd}");
    }
    let good = r#"{"name":"a","outputSchema":{"type":"object"}}"#;
    outputs.learn(&format!(r#"{{"tools":[1,{{"name":7}},{good}]}}"#), 0);
    assert_eq!(known(&outputs), "a");
}

// proves: F-HD-14
#[test]
fn a_schema_that_is_too_large_is_not_kept() {
    for policy in [OutputValidation::new(), OutputValidation::new().strict()] {
        let outputs = OutputSchemas::new(policy);
        outputs.learn(&list(&[("a", 1 << 20)]), 0);
        assert!(outputs.lock().bytes < 10);
        let expected = outputs.expected("a", Some(Revision::LATEST));
        let object = bowline_types::RawJson::parse("{}").expect("an object");
        let checked = expected.check_result("a", CallToolResult::structured(object));
        let words = match (policy.is_strict, checked) {
            (false, Ok((_, Some(words)))) => words,
            (true, Err(error)) => error.to_string(),
            (_, other) => panic!("{other:?}"),
        };
        assert!(
            words.contains("the tool's outputSchema can't be used: schema too large"),
            "{words}"
        );
    }
}

/// Warnings that are logged, each on a line.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<String>>);

impl tracing::field::Visit for Warnings {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        let mut lines = self.0.lock().expect("no panic");
        lines.push_str(&format!("{}={value:?}\n", field.name()));
    }
}

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::WARN
    }

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut self.clone());
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
fn a_result_that_is_not_checked_is_warned_of_with_its_tool_and_the_reason() {
    let outputs = OutputSchemas::new(OutputValidation::new());
    let tool = r#"{"name":"a","outputSchema":{"$ref":"http://127.0.0.1:1/x"}}"#;
    outputs.learn(&format!(r#"{{"tools":[{tool}]}}"#), 0);
    let expected = outputs.expected("a", Some(Revision::LATEST));
    let object = bowline_types::RawJson::parse("{}").expect("an object");
    let warnings = Warnings::default();
    let checked = tracing::subscriber::with_default(warnings.clone(), || {
        expected.check_result("a", CallToolResult::structured(object))
    });
    let (_, reason) = checked.expect("a result");
    let lines = warnings.0.lock().expect("no panic").clone();
    assert!(lines.contains("tool=\"a\""), "{lines}");
    let reason = reason.expect("a reason");
    assert!(lines.contains(&reason), "{lines}");
    assert!(reason.contains("external reference"));
}
