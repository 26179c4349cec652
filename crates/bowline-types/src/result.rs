//! The common members of results: `resultType` and `_meta`.
//!
//! Since 2026-07-28 each result of a server states its type: `complete`, `input_required`, or a
//! type of an extension. A result without `resultType` is complete; a result with an unknown type
//! is invalid.

use std::borrow::Cow;

use crate::json::{DecodeError, Problem, Reader, shortened};
use crate::meta::{NotificationMeta, RequestMeta, ResultMeta};

wire_struct! {
    /// A result without members of its own.
    pub struct EmptyResult {
        @lenient "resultType" = "complete", in since(V2026_07_28);
        /// Additional metadata.
        meta meta: ResultMeta = "_meta";
        ..extras;
    }
}

wire_struct! {
    /// A result of any method.
    pub struct AnyResult {
        /// The type of the result; complete if absent.
        opt result_type: String = "resultType", in since(V2026_07_28),
            must since(V2026_07_28), default "\"complete\"";
        /// Additional metadata.
        meta meta: ResultMeta = "_meta";
        ..extras;
    }
}

wire_struct! {
    /// The parameters of a request without parameters of its own.
    pub struct RequestParams {
        /// Additional metadata.
        meta meta: RequestMeta = "_meta", must since(V2026_07_28);
        ..extras;
    }
}

wire_struct! {
    /// The parameters of a notification without parameters of its own.
    pub struct NotificationParams {
        /// Additional metadata.
        meta meta: NotificationMeta = "_meta";
        ..extras;
    }
}

/// The `resultType` of a task handle.
pub(crate) const TASK: &str = "task";

/// Returns `true` if the first member is one that only complete results have, as in results of
/// handshake servers. This saves a search for `resultType` behind a large payload. A `resultType`
/// that follows is checked when the result is decoded.
pub(crate) fn begins_as_complete_result(reader: &Reader<'_>) -> bool {
    ["content", "contents", "messages"]
        .iter()
        .any(|name| reader.begins_with(name))
}

/// Returns the `resultType` of the next result, or `None` if it has none.
///
/// `extensions` are the types that the method allows besides the core ones.
pub(crate) fn result_type<'a>(
    reader: &Reader<'a>,
    extensions: &[&str],
) -> Result<Option<Cow<'a, str>>, DecodeError> {
    let Some(found) = reader.peek_tag("resultType")? else {
        return Ok(None);
    };
    if matches!(&*found, "complete" | "input_required") || extensions.contains(&&*found) {
        return Ok(Some(found));
    }
    let problem = Problem::Unexpected {
        expected: "a known result type",
        found: shortened(&found),
    };
    Err(reader.problem(problem).under_key("resultType"))
}

/// Selects the response variant of a method whose result is complete or requires input.
pub(crate) fn select_variant<'a>(reader: &mut Reader<'a>) -> Result<Cow<'a, str>, DecodeError> {
    if begins_as_complete_result(reader) {
        return Ok("complete".into());
    }
    Ok(result_type(reader, &[])?.unwrap_or("complete".into()))
}
