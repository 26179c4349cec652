//! Routing a message on a server, from the message alone.
//!
//! The order of the checks is that of the specification: envelope, era, header against `_meta`,
//! required members of `_meta`, revision, headers against the message, method. Capabilities and
//! parameters are checked later, for the handler.

mod meta;

use std::borrow::Cow;

use bowline_types::capabilities::ClientCapabilities;
use bowline_types::common::Implementation;
use bowline_types::envelope::{Envelope, EnvelopeError, JsonRpcRequest, MessageKind, SeenParams};
use bowline_types::error::{UnsupportedVersionData, codes};
use bowline_types::logging::LoggingLevel;
use bowline_types::meta::keys;
use bowline_types::{
    DecodeError, Era, ErrorCode, ErrorObject, Method, ProgressToken, RawJsonRef, RequestId,
    Revision, Revisions, Wire,
};

use meta::{MetaEntries, decoded};

use super::headers::{Headers, RepeatedHeader, meaning};

/// The configuration of routing.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RouterConfig {
    /// The revisions that it serves.
    pub revisions: Revisions,
    /// `true` if methods that the protocol doesn't have are forwarded. They are refused otherwise.
    pub forward_unknown_methods: bool,
}

impl RouterConfig {
    /// Creates the configuration of a server with these revisions.
    pub const fn new(revisions: Revisions) -> Self {
        Self {
            revisions,
            forward_unknown_methods: false,
        }
    }

    fn has_handshake(&self) -> bool {
        let dated = self.revisions.intersection(Era::Handshake.revisions());
        !dated.is_empty()
    }
}

/// What to do with a message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Routed<'a> {
    /// Serve the request, which carries all that is needed.
    Stateless(StatelessRequest<'a>),
    /// Serve the request, which carries all that is needed and has a method that the protocol
    /// doesn't have. Only with [`RouterConfig::forward_unknown_methods`].
    Unknown(UnknownRequest<'a>),
    /// Pass the message to its session: any other message. If no revision of the handshake era is
    /// served it is a notification or a response, which is dropped; over HTTP
    /// [`route_handshake_request`](super::route_handshake_request) returns the status.
    Session(Envelope<'a>),
    /// Refuse the message.
    Refused(Box<Refusal>),
}

/// A request of the stateless era.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StatelessRequest<'a> {
    /// Its id.
    pub id: RequestId,
    /// Its method, which a client of this revision may send.
    pub method: Method,
    /// Its parameters.
    pub params: RawJsonRef<'a>,
    /// The members of the parameters that the envelope pass has found.
    pub seen: SeenParams<'a>,
    /// Its `_meta`.
    pub context: Box<RequestContext>,
}

/// A request of the stateless era with a method that the protocol doesn't have.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UnknownRequest<'a> {
    /// Its id.
    pub id: RequestId,
    /// Its method.
    pub method: Cow<'a, str>,
    /// Its parameters.
    pub params: RawJsonRef<'a>,
    /// Its `_meta`.
    pub context: Box<RequestContext>,
}

/// The `_meta` of a request of the stateless era: all that a server may know of its client.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RequestContext {
    /// The revision of the request.
    pub revision: Revision,
    /// The capabilities of its client.
    pub capabilities: ClientCapabilities,
    /// The level of the log messages that it requests.
    pub log_level: Option<LoggingLevel>,
    /// The token of its progress notifications.
    pub progress_token: Option<ProgressToken>,
    /// The name and version of its client, decoded on demand.
    client_info: Option<Box<str>>,
}

impl RequestContext {
    /// Returns the name and version of the client, if it declares them. They decide nothing, so a
    /// malformed value is ignored.
    pub fn client_info(&self) -> Option<Implementation> {
        Implementation::from_json(self.client_info.as_deref()?).ok()
    }
}

/// The refusal of a message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Refusal {
    /// The HTTP status, on a carrier that has one.
    pub status: u16,
    /// The id, if it was read and is the sender's own.
    pub id: Option<RequestId>,
    /// The error.
    pub error: ErrorObject,
}

/// Returns what to do with a frame. `headers` are those of its HTTP request; a byte stream has
/// none.
pub fn route<'a>(
    config: &RouterConfig,
    frame: &'a [u8],
    headers: Option<&Headers<'_>>,
) -> Routed<'a> {
    match Envelope::parse(frame) {
        Ok(envelope) => route_message(config, envelope, headers),
        Err(error) => Routed::Refused(Box::new(malformed(&error))),
    }
}

/// Returns what to do with a message.
pub(super) fn route_message<'a>(
    config: &RouterConfig,
    envelope: Envelope<'a>,
    headers: Option<&Headers<'_>>,
) -> Routed<'a> {
    let request = match envelope {
        Envelope::Request(request) => request,
        Envelope::Batch(_) if !config.has_handshake() => {
            let message = "batches are not supported by the revisions of this server";
            let refusal = Refusal::handshake_error(400, None, message);
            return Routed::Refused(Box::new(refusal));
        }
        // Spec, basic/transports, 2026-07-28: a notification is only accepted or not.
        other => return Routed::Session(other),
    };
    let routed = Router { config, headers }.request(request);
    routed.unwrap_or_else(|refusal| Routed::Refused(Box::new(refusal)))
}

struct Router<'c, 'h> {
    config: &'c RouterConfig,
    headers: Option<&'h Headers<'h>>,
}

impl Router<'_, '_> {
    fn request<'a>(&self, request: JsonRpcRequest<'a>) -> Result<Routed<'a>, Refusal> {
        let refuse = |kind, message: Cow<'static, str>| refusal(&request.id, kind, message);
        let meta = MetaEntries::of(&request)
            .map_err(|error| refuse(ErrorCode::InvalidParams, in_meta(error).into()))?;
        if !self.is_stateless(&request, meta.version.is_some()) {
            return if self.config.has_handshake() {
                Ok(Routed::Session(Envelope::Request(request)))
            } else {
                Err(self.out_of_era(&request))
            };
        }
        let version = meta.version.and_then(|version| version.to_text().ok());
        let Some(version) = version else {
            return Err(missing_version(&request.id));
        };
        self.version_header(&version)
            .map_err(|message| refuse(ErrorCode::HeaderMismatch, message))?;
        let capabilities = required(&meta, &request.id)?;
        let revision = self
            .revision(&version)
            .ok_or_else(|| self.unsupported(&request.id, &version))?;
        self.other_headers(&request)
            .map_err(|message| refuse(ErrorCode::HeaderMismatch, message))?;
        let method = match request.method.parse::<Method>() {
            Ok(method) if method.is_request() && method.from_client().contains(revision) => {
                Some(method)
            }
            Err(_) if self.config.forward_unknown_methods => None,
            Ok(_) | Err(_) => {
                let message = format!(
                    "servers have no method {:?} in {revision}",
                    shown(&request.method)
                );
                return Err(refuse(ErrorCode::MethodNotFound, message.into()));
            }
        };
        let optional = |error: DecodeError| refuse(ErrorCode::InvalidParams, in_meta(error).into());
        let context = RequestContext {
            client_info: meta.client_info.map(|info| info.as_str().into()),
            log_level: log_level(&meta, &request.id)?,
            progress_token: decoded(keys::PROGRESS_TOKEN, meta.progress_token).map_err(optional)?,
            revision,
            capabilities,
        };
        let (id, context) = (request.id, Box::new(context));
        let params = request.params.unwrap_or(RawJsonRef::EMPTY_OBJECT);
        Ok(match method {
            Some(method) => Routed::Stateless(StatelessRequest {
                id,
                method,
                params,
                seen: request.seen,
                context,
            }),
            None => Routed::Unknown(UnknownRequest {
                id,
                method: request.method,
                params,
                context,
            }),
        })
    }

    /// Returns `true` if the message shows the stateless era: its `_meta`, a header that names such
    /// a revision, or the method that only this era has.
    fn is_stateless(&self, request: &JsonRpcRequest<'_>, has_version: bool) -> bool {
        let header = self.headers.and_then(|headers| headers.protocol_version);
        let named = header.and_then(|name| name.parse::<Revision>().ok());
        has_version
            || request.method == Method::Discover.as_str()
            || named.is_some_and(|revision| revision.era() == Era::Stateless)
    }

    /// Checks that the header repeats the revision of `_meta`.
    fn version_header(&self, version: &str) -> Result<(), Cow<'static, str>> {
        let Some(headers) = self.headers else {
            return Ok(());
        };
        // A session's id is not looked at in this era.
        if let Some(repeated) = headers.repeated.first_of(&[
            RepeatedHeader::ProtocolVersion,
            RepeatedHeader::Method,
            RepeatedHeader::Name,
        ]) {
            return Err(format!("the header {} was sent more than once", repeated.name()).into());
        }
        match headers.protocol_version {
            Some(header) if header == version => Ok(()),
            Some(_) => Err(
                "the header MCP-Protocol-Version and params._meta name different revisions".into(),
            ),
            None => Err("the header MCP-Protocol-Version is missing".into()),
        }
    }

    /// Checks that the other headers repeat the method and the name.
    fn other_headers(&self, request: &JsonRpcRequest<'_>) -> Result<(), Cow<'static, str>> {
        let Some(headers) = self.headers else {
            return Ok(());
        };
        match headers.method {
            Some(method) if method == request.method => {}
            Some(_) => {
                return Err("the header Mcp-Method and the message name different methods".into());
            }
            None => return Err("the header Mcp-Method is missing".into()),
        }
        let Some(member) = named_by(&request.method) else {
            return Ok(());
        };
        // No member stands twice: the envelope pass has refused that.
        let name = match member {
            "name" => request.seen.name,
            _ => request
                .params
                .and_then(|params| params.members()?.find(|(key, _)| key.is(member)))
                .map(|(_, name)| name),
        };
        let name = name.and_then(|name| name.to_text().ok());
        let Some(name) = name else {
            // Without the member the parameters are invalid, which the handler reports.
            return Ok(());
        };
        let Some(header) = headers.name else {
            return Err("the header Mcp-Name is missing".into());
        };
        match meaning(header) {
            Some(header) if header == name => Ok(()),
            Some(_) => Err(format!("the header Mcp-Name and params.{member} differ").into()),
            None => Err("the header Mcp-Name can't be decoded".into()),
        }
    }

    fn revision(&self, version: &str) -> Option<Revision> {
        let revision = version.parse::<Revision>().ok()?;
        let stateless = self
            .config
            .revisions
            .intersection(Era::Stateless.revisions());
        stateless.contains(revision).then_some(revision)
    }

    /// Returns the refusal of a request that shows no era, where the handshake is not served.
    fn out_of_era(&self, request: &JsonRpcRequest<'_>) -> Refusal {
        let is_initialize = request.method == Method::Initialize.as_str();
        if self.headers.is_none() && !is_initialize {
            return missing_version(&request.id);
        }
        let asked = request
            .params
            .and_then(|params| params.reader().peek_tag("protocolVersion").ok()?);
        // 2026-07-28, basic/versioning: any error to an `initialize` names what is supported.
        let mut refused = self.unsupported(&request.id, &asked.unwrap_or_default());
        if self.headers.is_some() {
            // Basic/transports: over HTTP it lacks headers that this era demands.
            let message = format!(
                "initialize is not supported: send requests of {} with its headers",
                Revision::LATEST
            );
            let mismatch = refusal(&request.id, ErrorCode::HeaderMismatch, message.into());
            refused.error.code = mismatch.error.code;
            refused.error.message = mismatch.error.message;
        }
        refused
    }

    fn unsupported(&self, id: &RequestId, version: &str) -> Refusal {
        let supported: Vec<String> = self
            .config
            .revisions
            .iter()
            .map(|revision| revision.to_string())
            .collect();
        let data = UnsupportedVersionData::new(supported, shown(version));
        let mut refusal = refusal(
            id,
            ErrorCode::UnsupportedProtocolVersion,
            format!("unsupported protocol version {:?}", shown(version)).into(),
        );
        refusal.error.data = data.to_json(Revision::LATEST).ok();
        refusal
    }
}

/// Returns the refusal of a request whose `_meta` names no revision.
fn missing_version(id: &RequestId) -> Refusal {
    let name = keys::PROTOCOL_VERSION.name();
    let message = format!("params._meta must have a string {name}");
    refusal(id, ErrorCode::InvalidParams, message.into())
}

/// Returns the capabilities, which every stateless request must have.
fn required(meta: &MetaEntries<'_>, id: &RequestId) -> Result<ClientCapabilities, Refusal> {
    let name = keys::CLIENT_CAPABILITIES.name();
    match decoded(keys::CLIENT_CAPABILITIES, meta.capabilities) {
        Ok(Some(capabilities)) => Ok(capabilities),
        Ok(None) => {
            let message = format!("params._meta must have {name}");
            Err(refusal(id, ErrorCode::InvalidParams, message.into()))
        }
        Err(error) => {
            let message = in_meta(error);
            Err(refusal(id, ErrorCode::InvalidParams, message.into()))
        }
    }
}

/// Returns the log level of a request: an unknown one is an invalid parameter, as it is for
/// `logging/setLevel` (LG-3).
fn log_level(meta: &MetaEntries<'_>, id: &RequestId) -> Result<Option<LoggingLevel>, Refusal> {
    let refuse = |message: String| refusal(id, ErrorCode::InvalidParams, message.into());
    let level = decoded(keys::LOG_LEVEL, meta.log_level);
    match level.map_err(|error| refuse(in_meta(error)))? {
        Some(LoggingLevel::Other(level)) => {
            let (name, level) = (keys::LOG_LEVEL.name(), shown(&level));
            let message = format!("params._meta.{name}: {level:?} is not a known log level");
            Err(refuse(message))
        }
        level => Ok(level),
    }
}

/// Returns the message of an error in `_meta`.
fn in_meta(error: DecodeError) -> String {
    error.under_key("_meta").under_key("params").to_string()
}

/// Returns the member of the parameters that `Mcp-Name` repeats.
pub(crate) fn named_by(method: &str) -> Option<&'static str> {
    match method.parse().ok()? {
        Method::CallTool | Method::GetPrompt => Some("name"),
        Method::ReadResource => Some("uri"),
        Method::GetTask | Method::UpdateTask | Method::CancelTask => Some("taskId"),
        _ => None,
    }
}

/// Returns the refusal of a frame that is no message. A response has the receiver's id, which is not
/// repeated.
fn malformed(error: &EnvelopeError) -> Refusal {
    let id = match error.message_kind() {
        MessageKind::Request | MessageKind::Unknown => error.id().cloned(),
        MessageKind::Response | MessageKind::Notification => None,
    };
    let code = error
        .error_code()
        .code(Revision::LATEST)
        .unwrap_or(codes::INVALID_REQUEST);
    Refusal {
        status: 400,
        id,
        error: ErrorObject::new(code, error.to_string()),
    }
}

/// Returns the status and the code of a refusal, by its kind.
pub(super) fn refusal(id: &RequestId, kind: ErrorCode, message: Cow<'static, str>) -> Refusal {
    let status = match kind {
        ErrorCode::MethodNotFound => 404,
        _ => 400,
    };
    let code = kind
        .code(Revision::LATEST)
        .unwrap_or(codes::INVALID_REQUEST);
    Refusal {
        status,
        id: Some(id.clone()),
        error: ErrorObject::new(code, message),
    }
}

/// Returns the part of a client's text that an error repeats.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(64).collect()
}

#[cfg(test)]
mod tests;
