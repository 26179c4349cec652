//! Writing messages: each function appends one frame, without a line end.

use crate::error::ErrorObject;
use crate::id::RequestId;
use crate::json::{Encoder, NotInRevision, RawJsonRef, Reason};
use crate::method::{Method, NotificationMethod, RequestMethod};
use crate::revision::Revision;
use crate::wire::{Encode, Wire};

/// Appends a request.
///
/// # Errors
///
/// Fails if `revision` doesn't have the method, or if the parameters can't be encoded for it.
/// Then `out` is unchanged.
///
/// ```
/// use bowline_types::method::requests::CallTool;
/// use bowline_types::tools::CallToolParams;
/// use bowline_types::{Revision, envelope};
///
/// let mut out = Vec::new();
/// let params = CallToolParams::new("now");
/// envelope::write_request::<CallTool>(&mut out, &1.into(), &params, Revision::V2025_06_18)?;
/// assert_eq!(out, br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"now"}}"#);
/// # Ok::<(), bowline_types::NotInRevision>(())
/// ```
pub fn write_request<R: RequestMethod>(
    out: &mut Vec<u8>,
    id: &RequestId,
    params: &R::Params,
    revision: Revision,
) -> Result<(), NotInRevision> {
    undoing(out, |out| {
        write_method(out, Some(id), R::METHOD, params, revision)
    })
}

/// Appends a notification.
///
/// # Errors
///
/// As [`write_request`].
pub fn write_notification<N: NotificationMethod>(
    out: &mut Vec<u8>,
    params: &N::Params,
    revision: Revision,
) -> Result<(), NotInRevision> {
    undoing(out, |out| {
        write_method(out, None, N::METHOD, params, revision)
    })
}

/// Appends a response with a result.
///
/// # Errors
///
/// Fails if the result can't be encoded for `revision`. Then `out` is unchanged.
pub fn write_result<T: Wire>(
    out: &mut Vec<u8>,
    id: &RequestId,
    result: &T,
    revision: Revision,
) -> Result<(), NotInRevision> {
    undoing(out, |out| {
        begin(out, Some(id));
        let mut encoder = Encoder::new(out, revision);
        encoder.member("result", result)?;
        encoder.end_object();
        Ok(())
    })
}

/// Appends a response with an error. Without an id it means that the id of the request
/// could not be read.
pub fn write_error(out: &mut Vec<u8>, id: Option<&RequestId>, error: &ErrorObject) {
    begin(out, id);
    let mut encoder = Encoder::lossless(out);
    encoder.quoted_key("\"error\":");
    // Its members are the same in every revision, and none is a number that isn't finite.
    error
        .encode(&mut encoder)
        .expect("an error object is sayable");
    encoder.end_object();
}

/// Appends a request of any method with any parameters.
pub fn write_raw_request(
    out: &mut Vec<u8>,
    id: &RequestId,
    method: &str,
    params: Option<RawJsonRef<'_>>,
) {
    write_raw(out, Some(id), method, params);
}

/// Appends a notification of any method with any parameters.
pub fn write_raw_notification(out: &mut Vec<u8>, method: &str, params: Option<RawJsonRef<'_>>) {
    write_raw(out, None, method, params);
}

/// Appends a response with any result.
pub fn write_raw_result(out: &mut Vec<u8>, id: &RequestId, result: RawJsonRef<'_>) {
    begin(out, Some(id));
    let mut encoder = Encoder::lossless(out);
    encoder.quoted_key("\"result\":");
    encoder.raw(result);
    encoder.end_object();
}

fn write_method(
    out: &mut Vec<u8>,
    id: Option<&RequestId>,
    method: Method,
    params: &impl Encode,
    revision: Revision,
) -> Result<(), NotInRevision> {
    begin(out, id);
    let before_params = {
        let mut encoder = Encoder::new(out, revision);
        if !method.revisions().contains(revision) {
            return Err(encoder.not_in_revision(Reason::NotInRevision {
                what: method.as_str(),
                known_in: method.revisions(),
            }));
        }
        encoder.quoted_key("\"method\":");
        encoder.string(method.as_str());
        out.len()
    };
    let mut encoder = Encoder::new(out, revision);
    encoder.member("params", params)?;
    // Empty parameters are left out where the revision allows it.
    let says_nothing = out.ends_with(b",\"params\":{}");
    if says_nothing && !method.params_required().contains(revision) {
        out.truncate(before_params);
    }
    out.push(b'}');
    Ok(())
}

fn write_raw(
    out: &mut Vec<u8>,
    id: Option<&RequestId>,
    method: &str,
    params: Option<RawJsonRef<'_>>,
) {
    begin(out, id);
    let mut encoder = Encoder::lossless(out);
    encoder.quoted_key("\"method\":");
    encoder.string(method);
    if let Some(params) = params {
        encoder.quoted_key("\"params\":");
        encoder.raw(params);
    }
    encoder.end_object();
}

/// Opens the message and writes what all have.
fn begin(out: &mut Vec<u8>, id: Option<&RequestId>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
    if let Some(id) = id {
        let mut encoder = Encoder::lossless(out);
        encoder.quoted_key("\"id\":");
        id.encode(&mut encoder).expect("an id is sayable");
    }
}

fn undoing(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), NotInRevision>,
) -> Result<(), NotInRevision> {
    let start = out.len();
    let outcome = write(out);
    if outcome.is_err() {
        out.truncate(start);
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::{notifications, requests};
    use crate::pagination::PaginatedParams;
    use crate::result::{EmptyResult, NotificationParams, RequestParams};
    use crate::tools::CallToolParams;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = b"before ".to_vec();
        write(&mut out);
        String::from_utf8(out.split_off(7)).unwrap()
    }

    #[test]
    fn parameters_that_say_nothing_are_left_out_where_allowed() {
        let revision = Revision::V2025_11_25;
        let list = written(|out| {
            let params = PaginatedParams::new();
            write_request::<requests::ListTools>(out, &"a".into(), &params, revision).unwrap();
        });
        assert_eq!(list, r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#);
        let changed = written(|out| {
            let params = NotificationParams::new();
            write_notification::<notifications::ToolListChanged>(out, &params, revision).unwrap();
        });
        assert_eq!(
            changed,
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#
        );
    }

    // proves: PV-5
    #[test]
    fn a_member_that_a_revision_lacks_is_refused_and_nothing_is_written() {
        let mut out = b"before".to_vec();
        let ping = write_request::<requests::Ping>(
            &mut out,
            &1.into(),
            &RequestParams::new(),
            Revision::V2026_07_28,
        );
        assert_eq!(
            ping.unwrap_err().to_string(),
            "can't be encoded for 2026-07-28: ping exists in 2024-11-05, 2025-03-26, 2025-06-18, \
             2025-11-25 only"
        );
        let call = write_request::<requests::CallTool>(
            &mut out,
            &1.into(),
            &CallToolParams::new("x"),
            Revision::V2026_07_28,
        );
        assert_eq!(call.unwrap_err().path(), "params");
        assert_eq!(out, b"before");
    }

    #[test]
    fn answers_and_raw_messages() {
        let id = RequestId::from(7);
        assert_eq!(
            written(
                |out| write_result(out, &id, &EmptyResult::new(), Revision::V2025_11_25).unwrap()
            ),
            r#"{"jsonrpc":"2.0","id":7,"result":{}}"#
        );
        assert_eq!(
            written(|out| write_error(out, None, &ErrorObject::new(-32700, "bad"))),
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"bad"}}"#
        );
        let params = RawJsonRef::parse("{\"a\":1}").unwrap();
        assert_eq!(
            written(|out| write_raw_request(out, &id, "x/y", Some(params))),
            r#"{"jsonrpc":"2.0","id":7,"method":"x/y","params":{"a":1}}"#
        );
        assert_eq!(
            written(|out| write_raw_notification(out, "x", None)),
            r#"{"jsonrpc":"2.0","method":"x"}"#
        );
        assert_eq!(
            written(|out| write_raw_result(out, &id, params)),
            r#"{"jsonrpc":"2.0","id":7,"result":{"a":1}}"#
        );
    }
}
