//! What all results have in common: `resultType` and `_meta`.
//!
//! Since 2026-07-28 every result of a server says of what type it is: `complete`, or
//! `input_required`, or a type of an extension. A result without it is complete, one
//! with an unknown type is invalid.

use std::borrow::Cow;

use crate::json::{DecodeError, Problem, Reader, shortened};
use crate::meta::{NotificationMeta, RequestMeta, ResultMeta};

wire_struct! {
    /// A result that says no more than that it worked.
    pub struct EmptyResult {
        @lenient "resultType" = "complete", in since(V2026_07_28);
        /// Additional data.
        meta meta: ResultMeta = "_meta";
        ..extras;
    }
}

wire_struct! {
    /// A result of any method.
    pub struct AnyResult {
        /// Its type; complete when absent.
        opt result_type: String = "resultType", in since(V2026_07_28),
            must since(V2026_07_28), default "\"complete\"";
        /// Additional data.
        meta meta: ResultMeta = "_meta";
        ..extras;
    }
}

wire_struct! {
    /// Parameters of a request that takes none of its own.
    pub struct RequestParams {
        /// Additional data.
        meta meta: RequestMeta = "_meta", must since(V2026_07_28);
        ..extras;
    }
}

wire_struct! {
    /// Parameters of a notification that has none of its own.
    pub struct NotificationParams {
        /// Additional data.
        meta meta: NotificationMeta = "_meta";
        ..extras;
    }
}

/// The `resultType` of a task handle.
pub(crate) const TASK: &str = "task";

/// Whether the result begins with what only a complete one has, as those of handshake
/// servers do: that saves looking for a `resultType` behind a large payload. One that
/// comes all the same is checked when the result is read.
pub(crate) fn begins_as_complete_result(reader: &Reader<'_>) -> bool {
    ["content", "contents", "messages"]
        .iter()
        .any(|name| reader.begins_with(name))
}

/// The `resultType` of the result that comes next, `None` when it has none.
///
/// `extensions` are the types that the method knows beyond the core ones.
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

/// The name of the variant of a method that is complete or needs input.
pub(crate) fn select_variant<'a>(reader: &mut Reader<'a>) -> Result<Cow<'a, str>, DecodeError> {
    if begins_as_complete_result(reader) {
        return Ok("complete".into());
    }
    Ok(result_type(reader, &[])?.unwrap_or("complete".into()))
}
