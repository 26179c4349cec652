//! Tools as text.

use bowline_types::tools::{TaskSupport, Tool, ToolAnnotations};
use serde::Serialize;
use serde_json::Value;

use crate::paragraph::{self, row};
use crate::printer::{Printer, Tone};
use crate::signature::signature;

/// Prints a tool in a few lines.
pub(super) fn brief(tool: &Tool, printer: &mut Printer) -> anyhow::Result<()> {
    printer.line(0, Tone::Heading, &signature_of(tool))?;
    let about = tool.description.as_ref().or(tool.title.as_ref());
    match about {
        Some(about) => paragraph::opening(printer, 2, about),
        None => Ok(()),
    }
}

/// Prints all details of a tool.
pub(super) fn full(tool: &Tool, printer: &mut Printer) -> anyhow::Result<()> {
    printer.line(0, Tone::Heading, &signature_of(tool))?;
    if let Some(description) = &tool.description {
        paragraph::indented(printer, 2, description)?;
    }
    printer.line(0, Tone::Plain, "")?;
    let annotated = tool.annotations.as_ref();
    let title = tool.title.as_ref();
    let title = title.or_else(|| annotated.and_then(|annotations| annotations.title.as_ref()));
    if let Some(title) = title {
        row(printer, "title", title)?;
    }
    let claims = annotated.map_or_else(String::new, claims);
    if !claims.is_empty() {
        row(printer, "annotations", &claims)?;
    }
    let execution = tool.execution.as_ref();
    match execution.and_then(|execution| execution.task_support.as_ref()) {
        Some(TaskSupport::Optional) => row(printer, "task", "optional")?,
        Some(TaskSupport::Required) => row(printer, "task", "required")?,
        _ => {}
    }
    schema("input schema", &tool.input_schema, printer)?;
    match &tool.output_schema {
        Some(output) => schema("output schema", output, printer),
        None => Ok(()),
    }
}

fn signature_of(tool: &Tool) -> String {
    let input = value(&tool.input_schema);
    let output = tool.output_schema.as_ref().map(value);
    signature(&tool.name, &input, output.as_ref())
}

/// Returns the annotations that the server sent. Defaults of the specification are not shown.
fn claims(annotations: &ToolAnnotations) -> String {
    let mut claims = Vec::new();
    match (annotations.read_only_hint, annotations.destructive_hint) {
        (Some(true), _) => claims.push("read-only"),
        (_, Some(true)) => claims.push("destructive"),
        (_, Some(false)) => claims.push("not destructive"),
        (Some(false), None) => claims.push("not read-only"),
        (None, None) => {}
    }
    match annotations.idempotent_hint {
        Some(true) => claims.push("idempotent"),
        Some(false) => claims.push("not idempotent"),
        None => {}
    }
    match annotations.open_world_hint {
        Some(true) => claims.push("open world"),
        Some(false) => claims.push("closed world"),
        None => {}
    }
    claims.join(", ")
}

fn schema(label: &str, schema: &impl Serialize, printer: &mut Printer) -> anyhow::Result<()> {
    row(printer, label, "")?;
    let pretty = serde_json::to_string_pretty(schema)?;
    for line in pretty.lines() {
        printer.line(1, Tone::Plain, line)?;
    }
    Ok(())
}

/// Returns a schema as a value. The schema of a server is always valid JSON.
fn value(schema: &impl Serialize) -> Value {
    serde_json::to_value(schema).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_annotations_of_the_server_are_shown() {
        let none = ToolAnnotations::new();
        assert_eq!(claims(&none), "");
        let reader = none.clone().read_only_hint(true).destructive_hint(true);
        assert_eq!(claims(&reader), "read-only");
        let writer = none.clone().read_only_hint(false).idempotent_hint(false);
        assert_eq!(claims(&writer), "not read-only, not idempotent");
        let killer = none.clone().destructive_hint(true).open_world_hint(true);
        assert_eq!(claims(&killer), "destructive, open world");
        let adder = none.destructive_hint(false).idempotent_hint(true);
        assert_eq!(claims(&adder), "not destructive, idempotent");
    }
}
