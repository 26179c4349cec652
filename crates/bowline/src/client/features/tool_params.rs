//! The parameters of a tool call, encoded once, into the bytes that are sent.

use bowline_types::tasks::TaskMetadata;
use bowline_types::{Encoder, RawJsonRef, Revision};
use bytes::Bytes;
use serde::Serialize;

use crate::client::Params;
use crate::error::{Error, ErrorKind};

/// What most calls fit into.
const ROOM: usize = 256;

/// A tool and its arguments, as members of the parameters.
#[derive(Debug)]
pub(super) struct EncodedToolParams(Result<Vec<u8>, String>);

impl Default for EncodedToolParams {
    /// Returns empty parameters, in place of those that were taken.
    fn default() -> Self {
        Self(Ok(Vec::new()))
    }
}

impl EncodedToolParams {
    /// Encodes them. The encoding is the same in every revision.
    pub(super) fn new(tool: &str, arguments: &impl Serialize) -> Self {
        let mut members = Vec::with_capacity(ROOM);
        let mut encoder = Encoder::lossless(&mut members);
        encoder.key("name");
        encoder.string(tool);
        let without = members.len();
        let mut encoder = Encoder::lossless(&mut members);
        encoder.key("arguments");
        let written = match encoder.serialized(arguments) {
            Ok(written) => written,
            Err(error) => return Self(Err(unencodable(&error))),
        };
        match written.first() {
            Some(b'{') => {}
            _ if written == b"null" => members.truncate(without),
            _ => return Self(Err(not_an_object(written))),
        }
        Self(Ok(members))
    }

    /// Returns the parameters, with the task that is asked for in this revision.
    ///
    /// # Errors
    ///
    /// When the arguments can't be sent, or the revision has no tasks that are asked for.
    pub(super) fn params(
        self,
        tool: &str,
        task: Option<(&TaskMetadata, Revision)>,
    ) -> Result<Params, Error> {
        let invalid = |why| {
            let message = format!("the arguments of tool {tool:?} {why}");
            Error::new(ErrorKind::InvalidParams, message)
        };
        let mut members = self.0.map_err(invalid)?;
        if let Some((task, revision)) = task {
            let added = add_task(&mut members, task, revision);
            added.map_err(|message| Error::new(ErrorKind::CapabilityNotSupported, message))?;
        }
        Ok(Params::of_members(members.into()))
    }
}

/// Returns members of parameters, and the task that is asked for in this revision. Why there is
/// none in it, if so.
pub(super) fn with_task(
    members: &[u8],
    task: &TaskMetadata,
    revision: Revision,
) -> Result<Bytes, String> {
    let mut members = members.to_vec();
    add_task(&mut members, task, revision)?;
    Ok(members.into())
}

fn add_task(members: &mut Vec<u8>, task: &TaskMetadata, revision: Revision) -> Result<(), String> {
    let written = Encoder::new(members, revision).member("task", task);
    written.map_err(|error| format!("the parameters: {error}"))
}

/// Returns what is wrong with arguments that are no object.
fn not_an_object(written: &[u8]) -> String {
    let text = std::str::from_utf8(written).unwrap_or_default();
    match RawJsonRef::parse(text) {
        Ok(json) => format!("must be a JSON object, not {}", json.kind()),
        Err(error) => unencodable(&error),
    }
}

fn unencodable(error: &dyn std::fmt::Display) -> String {
    format!("can't be written as JSON: {error}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn encode(arguments: impl Serialize, task: Option<Revision>) -> Result<String, Error> {
        let wanted = TaskMetadata::new().ttl(5);
        let task = task.map(|revision| (&wanted, revision));
        let params = EncodedToolParams::new("a\"b", &arguments).params("a\"b", task)?;
        let members = params.check()?.members;
        Ok(String::from_utf8(members.to_vec()).expect("UTF-8"))
    }

    #[test]
    fn arguments_are_members_of_the_parameters() {
        let some = encode(json!({"_meta": 1}), None).expect("an object");
        assert_eq!(some, r#""name":"a\"b","arguments":{"_meta":1}"#);
        for none in [json!(null), json!(Option::<u8>::None)] {
            let none = encode(none, None).expect("none are fine");
            assert_eq!(none, r#""name":"a\"b""#);
        }
        let none = encode((), Some(Revision::V2025_11_25)).expect("none are fine");
        assert_eq!(none, r#""name":"a\"b","task":{"ttl":5}"#);
        let error = encode((), Some(Revision::V2025_06_18)).expect_err("no tasks");
        assert_eq!(error.kind(), ErrorKind::CapabilityNotSupported);
    }

    #[test]
    fn arguments_that_are_no_object_are_refused() {
        for (arguments, message) in [
            (json!([1]), "must be a JSON object, not an array"),
            (json!("{"), "must be a JSON object, not a string"),
            (json!(1), "must be a JSON object, not a number"),
        ] {
            let error = encode(arguments, None).expect_err("no object");
            assert_eq!(error.kind(), ErrorKind::InvalidParams);
            assert!(error.to_string().contains(message), "{error}");
        }
        let error = encode([("x", f64::NAN)], None).expect_err("no number");
        assert!(error.to_string().contains("not a JSON number"), "{error}");
    }
}
