//! Refusals that depend on more than the message: a missing capability, an unknown session; and
//! the HTTP status of a handler's error.

use bowline_types::capabilities::{ClientCapabilities, ElicitationCapability, SamplingCapability};
use bowline_types::error::{MissingCapabilityData, codes};
use bowline_types::{ErrorCode, ErrorObject, JsonObject, RequestId, Revision, Wire};

use super::route::{Refusal, StatelessRequest, refusal};

impl Refusal {
    /// Creates the refusal for a missing client capability: 400 and −32021. `required` holds all
    /// capabilities that the request needs.
    pub fn missing_capability(id: &RequestId, required: ClientCapabilities) -> Self {
        let kind = ErrorCode::MissingRequiredClientCapability;
        let message = "the client lacks a capability that the request needs";
        let mut refusal = refusal(id, kind, message.into());
        // Encoded for the revision, so that it can be copied into a request.
        let data = MissingCapabilityData::new(required).to_json(Revision::LATEST);
        refusal.error.data = data.ok();
        refusal
    }

    /// Creates the refusal for an unknown or expired session: 404, on which a client begins a new
    /// one. `id` is that of the request, if the message is one.
    pub fn unknown_session(id: Option<RequestId>) -> Self {
        Self::handshake_error(
            404,
            id,
            "unknown or expired session (begin a new one with initialize)",
        )
    }

    /// Creates a refusal in the handshake era, which has no code for it but that of JSON-RPC. A
    /// code of the stateless era would indicate this era to a client of both.
    pub(super) fn handshake_error(
        status: u16,
        id: Option<RequestId>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            status,
            id,
            error: ErrorObject::invalid_request(message),
        }
    }
}

impl StatelessRequest<'_> {
    /// Checks that the client has what is needed to serve the request.
    ///
    /// Extensions and experimental features count by their names; the settings in them are
    /// not compared.
    ///
    /// # Errors
    ///
    /// [`Refusal::missing_capability`], when something isn't declared on this very request.
    pub fn require(&self, required: &ClientCapabilities) -> Result<(), Refusal> {
        if covers(&self.context.capabilities, required) {
            return Ok(());
        }
        Err(Refusal::missing_capability(&self.id, required.clone()))
    }
}

/// Returns the HTTP status of an error response.
///
/// An error is as good a response as a result, so it is 200, but for a limit that is reached now
/// (`data.reason` is `busy`): that is 503 in both eras. In the stateless era a capability that the
/// client lacks (−32021) is 400, and an unknown method (−32601) 404, also from a handler. A refusal
/// before a handler has its status in [`Refusal::status`].
pub fn error_status(error: &ErrorObject, is_stateless: bool) -> u16 {
    let is_busy = || {
        let data = error.data.as_ref().map(|data| data.as_ref().reader());
        let reason = data.and_then(|data| data.peek_tag("reason").ok()?);
        reason.is_some_and(|reason| reason == "busy")
    };
    if error.code == codes::INTERNAL_ERROR && is_busy() {
        return 503;
    }
    if !is_stateless {
        return 200;
    }
    match error.error_code(Revision::LATEST) {
        Some(ErrorCode::MissingRequiredClientCapability) => 400,
        Some(ErrorCode::MethodNotFound) => 404,
        _ => 200,
    }
}

/// Returns `true` if a client that declares `declared` has all of `required`.
fn covers(declared: &ClientCapabilities, required: &ClientCapabilities) -> bool {
    let named = |declared: &Option<JsonObject>, required: &Option<JsonObject>| {
        let none = JsonObject::new();
        has_names(
            declared.as_ref().unwrap_or(&none),
            required.as_ref().unwrap_or(&none),
        )
    };
    has_names(&declared.extras, &required.extras)
        && named(&declared.experimental, &required.experimental)
        && named(&declared.extensions, &required.extensions)
        && has(&declared.roots, &required.roots, |_, _| true)
        && has(&declared.sampling, &required.sampling, samples)
        && has(&declared.elicitation, &required.elicitation, elicits)
        && has(&declared.tasks, &required.tasks, |_, _| true)
}

/// Returns `true` if `declared` covers `required`. A capability that is not required may be absent.
fn has<T>(declared: &Option<T>, required: &Option<T>, covers: impl Fn(&T, &T) -> bool) -> bool {
    match (declared, required) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(declared), Some(required)) => covers(declared, required),
    }
}

fn samples(declared: &SamplingCapability, required: &SamplingCapability) -> bool {
    has(&declared.context, &required.context, |_, _| true)
        && has(&declared.tools, &required.tools, |_, _| true)
        && has_names(&declared.extras, &required.extras)
}

/// Compares elicitation capabilities. Elicitation without a mode means forms, on both sides.
fn elicits(declared: &ElicitationCapability, required: &ElicitationCapability) -> bool {
    (declared.has_form() || !required.has_form())
        && (declared.has_url() || !required.has_url())
        && has_names(&declared.extras, &required.extras)
}

fn has_names(declared: &JsonObject, required: &JsonObject) -> bool {
    required.iter().all(|(name, _)| {
        name.unescape()
            .is_some_and(|name| declared.contains_key(&name))
    })
}

#[cfg(test)]
mod tests;
