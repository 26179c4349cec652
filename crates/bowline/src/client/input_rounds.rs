//! Input that a server requires before it continues a call (2026-07-28, basic/patterns/mrtr).
//!
//! Its input requests go to the same handlers as requests of the handshake era, one after the
//! other: most of them ask a person.

use std::sync::Arc;

use bowline_proto::Payload;
use bowline_proto::link::CallKey;
use bowline_types::{JsonObject, RawJson, RawJsonRef, Revision};
use tracing::Instrument as _;

use super::server_requests::ServerRequest;
use super::shared::Shared;

/// Answers the input requests of a call. Must be called within a runtime.
pub(super) fn answer_input_requests(shared: &Arc<Shared>, call: CallKey, result: Payload) {
    let weak = Arc::downgrade(shared);
    let handlers = shared.handlers.clone();
    let revision = shared.lock().link.revision().unwrap_or(Revision::LATEST);
    let response = async move {
        let mut responses = Vec::new();
        let mut failure = None;
        for (key, method, params) in input_requests(&result) {
            let request = ServerRequest::new(method, params, revision);
            match handlers.answer_input_request(request).await {
                Ok(reply) => responses.push((key, to_raw_json(&reply))),
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
            // A handler need not wait for anything: this is where the task ends when the
            // call is abandoned.
            tokio::task::yield_now().await;
        }
        let Some(shared) = weak.upgrade() else {
            return;
        };
        shared.with(|core, now| match failure {
            None => {
                let responses: JsonObject = responses.into_iter().collect();
                // The call may have ended meanwhile.
                let _ = core
                    .link
                    .provide_input(now, call, &Payload::from(responses));
            }
            Some(failure) => {
                if let Some(slot) = core.slots.get_mut(call) {
                    slot.failure = Some(failure);
                }
                core.link
                    .cancel(now, call, "no response to the input request");
            }
        });
    };
    let task = tokio::spawn(response.instrument(shared.telemetry.span()));
    if let Some(slot) = shared.lock().slots.get_mut(call) {
        slot.input = Some(task.abort_handle());
    }
}

/// Returns the input requests of a result, with their keys.
pub(super) fn input_requests(result: &Payload) -> Vec<(String, Box<str>, Option<Payload>)> {
    let request = RawJsonRef::parse(result.as_str()).ok();
    let request = request.and_then(|json| json.reader().peek_member("inputRequests").ok()?);
    let members = request.and_then(RawJsonRef::members).into_iter().flatten();
    let input_requests = members.filter_map(|(key, input_request)| {
        let reader = input_request.reader();
        let method = reader.peek_tag("method").ok()??;
        let params = reader.peek_member("params").ok()?;
        let params = params.and_then(|params| JsonObject::parse(params.as_str()).ok());
        let key = key.unescape()?.into_owned();
        Some((key, method.into(), params.map(Payload::from)))
    });
    input_requests.collect()
}

fn to_raw_json(reply: &Payload) -> RawJson {
    RawJson::parse(reply.as_str()).unwrap_or_else(|_| RawJson::null())
}
