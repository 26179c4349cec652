//! Routing an HTTP request of the handshake era, from its method, its headers and its message
//! alone.
//!
//! [`route`](super::route) forwards messages of sessions. A byte stream has one session; over HTTP
//! [`route_handshake_request`] finds the session of the request, or returns the status of its
//! refusal. The driver checks that the session exists ([`Refusal::unknown_session`]). Revisions
//! are those with Streamable HTTP, 2025-03-26 to 2025-11-25; a session may have negotiated
//! 2024-11-05 nevertheless.

use bowline_types::envelope::Envelope;
use bowline_types::{Era, ErrorCode, Method, RequestId, Revision, Revisions};

use super::headers::{Headers, RepeatedHeader};
use super::route::{Refusal, shown};
use super::session_id::SessionId;

/// The configuration of the handshake era over HTTP.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HandshakeHttpConfig {
    /// All revisions that the server serves, of either era.
    pub revisions: Revisions,
    /// `true` if `initialize` opens a session with an id. Without them no request needs an id and
    /// none is looked at.
    pub has_sessions: bool,
}

impl HandshakeHttpConfig {
    /// Creates the configuration of a server with these revisions and with sessions.
    pub const fn new(revisions: Revisions) -> Self {
        Self {
            revisions,
            has_sessions: true,
        }
    }

    /// Disables sessions.
    #[must_use]
    pub const fn without_sessions(self) -> Self {
        Self {
            has_sessions: false,
            ..self
        }
    }
}

/// An HTTP request, by its method. Any other method is answered with 405.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum HandshakeHttpRequest<'m, 'a> {
    /// `POST`, with the message that [`route`](super::route()) hands on.
    Post(&'m Envelope<'a>),
    /// `GET`
    Get,
    /// `DELETE`
    Delete,
}

/// What to do with a request of the handshake era.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandshakeRoute {
    /// Open a session, and pass it the message, which is `initialize`. The HTTP response with the
    /// result carries the id of the new session.
    OpenSession,
    /// Pass the message to the session, and answer with its responses: as JSON or as a stream.
    Respond(RequestSession),
    /// Pass the message to the session, and answer 202 without a body: it is no request.
    Accept(RequestSession),
    /// Answer with a stream of the server's own messages, or 405 if it sends none.
    OpenStream(RequestSession),
    /// End the session.
    EndSession(SessionId),
    /// Answer 202 without a body, and do nothing: a notification of the stateless era, which
    /// gives it no meaning over HTTP.
    Ignore,
}

/// The session that a request belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestSession {
    /// Its id. `None` where the server has no sessions.
    pub id: Option<SessionId>,
    /// The revision that the header names, or else 2025-03-26. It may differ from the one
    /// that the session has negotiated, which is the one to use.
    pub revision: Revision,
}

/// Returns what to do with a request of the handshake era.
///
/// # Errors
///
/// Returns the refusal for a header that is missing, repeated or wrong, for a batch with
/// `initialize` in it, or for a method that this server doesn't offer.
pub fn route_handshake_request(
    config: &HandshakeHttpConfig,
    request: HandshakeHttpRequest<'_, '_>,
    headers: &Headers<'_>,
) -> Result<HandshakeRoute, Refusal> {
    let visitor = Visitor {
        config,
        headers,
        id: own_id(request),
    };
    if visitor.is_stateless() {
        return visitor.stateless(request);
    }
    if is_initialize(request) {
        visitor.proposed_version()?;
        return Ok(HandshakeRoute::OpenSession);
    }
    if has_initialize(request) {
        // 2025-03-26, basic/lifecycle: `initialize` must not be part of a batch.
        return Err(visitor.refuse("initialize can't be part of a batch"));
    }
    let revision = visitor.version()?;
    let id = if config.has_sessions {
        Some(visitor.session()?)
    } else {
        None
    };
    match (request, id) {
        (HandshakeHttpRequest::Post(message), id) => {
            let session = RequestSession { id, revision };
            Ok(if expects_response(message) {
                HandshakeRoute::Respond(session)
            } else {
                HandshakeRoute::Accept(session)
            })
        }
        (HandshakeHttpRequest::Get, id) => {
            Ok(HandshakeRoute::OpenStream(RequestSession { id, revision }))
        }
        (HandshakeHttpRequest::Delete, Some(id)) => Ok(HandshakeRoute::EndSession(id)),
        (HandshakeHttpRequest::Delete, None) => {
            Err(visitor.not_offered("this server has no sessions"))
        }
    }
}

/// A request that is being routed.
struct Visitor<'c, 'h> {
    config: &'c HandshakeHttpConfig,
    headers: &'h Headers<'h>,
    /// The id of the message, where it is a request.
    id: Option<RequestId>,
}

impl Visitor<'_, '_> {
    /// Returns `true` if the request is none of the handshake era: the server doesn't have that, or
    /// the header names a revision of the other one that is served.
    fn is_stateless(&self) -> bool {
        let served = self.config.revisions;
        let named = self.named_version().ok().flatten().and_then(revision);
        served.intersection(Era::Handshake.revisions()).is_empty()
            || named.is_some_and(|named| named.era() == Era::Stateless && served.contains(named))
    }

    /// Returns what is left of the stateless era when its requests are served: it has neither
    /// streams to `GET` nor sessions to `DELETE`, and no responses of clients.
    fn stateless(&self, request: HandshakeHttpRequest<'_, '_>) -> Result<HandshakeRoute, Refusal> {
        match request {
            HandshakeHttpRequest::Post(Envelope::Notification(_)) => Ok(HandshakeRoute::Ignore),
            HandshakeHttpRequest::Post(_) => {
                Err(self.refuse("only requests and notifications are accepted"))
            }
            HandshakeHttpRequest::Get | HandshakeHttpRequest::Delete => {
                Err(self.not_offered("only POST is supported"))
            }
        }
    }

    /// Checks the header of an `initialize`. It may be absent, since the message proposes a
    /// revision; but it must name a revision of the handshake era.
    fn proposed_version(&self) -> Result<(), Refusal> {
        match self.named_version()? {
            None => Ok(()),
            Some(name) => match revision(name) {
                Some(revision) if revision.era() == Era::Handshake => Ok(()),
                Some(_) | None => Err(self.unsupported(name)),
            },
        }
    }

    /// Returns the revision of any other request.
    fn version(&self) -> Result<Revision, Refusal> {
        let served = self
            .config
            .revisions
            .intersection(Era::Handshake.revisions());
        let Some(name) = self.named_version()? else {
            // 2025-06-18, basic/transports: without the header it is 2025-03-26, which had
            // none. 2026-07-28 lets only servers assume so that serve such clients.
            let assumed = Revision::V2025_03_26;
            return if served.contains(assumed) {
                Ok(assumed)
            } else {
                Err(self.missing_version())
            };
        };
        // It need not be the one that was agreed on: clients are known to send another.
        revision(name)
            .filter(|revision| served.contains(*revision))
            .ok_or_else(|| self.unsupported(name))
    }

    fn named_version(&self) -> Result<Option<&str>, Refusal> {
        self.once(RepeatedHeader::ProtocolVersion)?;
        Ok(self.headers.protocol_version)
    }

    fn session(&self) -> Result<SessionId, Refusal> {
        self.once(RepeatedHeader::SessionId)?;
        let Some(text) = self.headers.session_id else {
            return Err(self.refuse(
                "the header Mcp-Session-Id is missing (the response to initialize has it)",
            ));
        };
        // The id may be a secret: the error does not repeat it.
        SessionId::new(text).map_err(|bad| self.refuse(format!("the header Mcp-Session-Id {bad}")))
    }

    fn once(&self, header: RepeatedHeader) -> Result<(), Refusal> {
        if self.headers.repeated.contains(header) {
            Err(self.refuse(format!(
                "the header {} was sent more than once",
                header.name()
            )))
        } else {
            Ok(())
        }
    }

    fn unsupported(&self, name: &str) -> Refusal {
        let served = self.config.revisions;
        self.refuse(format!(
            "unsupported MCP-Protocol-Version {:?} (supported: {served})",
            shown(name)
        ))
    }

    fn missing_version(&self) -> Refusal {
        let mut refusal = self.refuse("the header MCP-Protocol-Version is missing");
        let code = ErrorCode::HeaderMismatch.code(Revision::LATEST);
        refusal.error.code = code.unwrap_or(refusal.error.code);
        refusal
    }

    fn refuse(&self, message: impl Into<String>) -> Refusal {
        Refusal::handshake_error(400, self.id.clone(), message)
    }

    fn not_offered(&self, message: &str) -> Refusal {
        Refusal::handshake_error(405, None, message)
    }
}

/// Returns the id of the request, for the response. The id of a response is our own.
fn own_id(request: HandshakeHttpRequest<'_, '_>) -> Option<RequestId> {
    match request {
        HandshakeHttpRequest::Post(Envelope::Request(request)) => Some(request.id.clone()),
        HandshakeHttpRequest::Post(_)
        | HandshakeHttpRequest::Get
        | HandshakeHttpRequest::Delete => None,
    }
}

fn is_initialize(request: HandshakeHttpRequest<'_, '_>) -> bool {
    matches!(
        request,
        HandshakeHttpRequest::Post(Envelope::Request(request)) if request.method == Method::Initialize.as_str()
    )
}

fn has_initialize(request: HandshakeHttpRequest<'_, '_>) -> bool {
    let HandshakeHttpRequest::Post(Envelope::Batch(batch)) = request else {
        return false;
    };
    batch.messages().any(|part| match part {
        Ok(Envelope::Request(request)) => request.method == Method::Initialize.as_str(),
        Ok(_) | Err(_) => false,
    })
}

/// Returns `true` if a message, or one of a batch, is answered. So is a part that is no message.
fn expects_response(message: &Envelope<'_>) -> bool {
    match message {
        Envelope::Request(_) => true,
        Envelope::Notification(_) | Envelope::Success(_) | Envelope::Failure(_) => false,
        Envelope::Batch(batch) => batch
            .messages()
            .any(|part| matches!(part, Ok(Envelope::Request(_)) | Err(_))),
    }
}

fn revision(name: &str) -> Option<Revision> {
    name.parse().ok()
}

#[cfg(test)]
mod tests;
