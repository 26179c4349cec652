//! The spans of a server's events, and the events about its handlers.
//!
//! There is one span for each session: it carries the server's name, the session's number and,
//! once it is known, the client's name. Within it each request that is handled has one of its
//! own, in which its handler runs, wherever it does. Without a subscriber neither costs more
//! than a look at a flag. The table of all events is in docs/telemetry.md.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bowline_proto::{Payload, RequestKey};
use bowline_types::common::Implementation;
use bowline_types::{Method, Revision};
use tracing::field::Empty;
use tracing::{Span, error, error_span, info, info_span, warn};

use super::context::Context;
use super::service::MethodName;
use crate::log_names::shortened;

/// Creates the span of a session. It has the level of errors, so that no event that is wanted
/// is without it; and no parent, since what has begun it may be over before it.
pub(super) fn session_span(server: &str) -> Span {
    static SESSIONS: AtomicU64 = AtomicU64::new(1);
    // Counted also without a subscriber: sessions that are observed later have numbers of their
    // own.
    let session = SESSIONS.fetch_add(1, Ordering::Relaxed);
    error_span!(
        target: "bowline::server", parent: None, "server",
        server = &*shortened(server), session, client = Empty
    )
}

/// Creates the span of a listener.
pub(super) fn listener_span(server: &str) -> Span {
    error_span!(
        target: "bowline::server", parent: None, "listener",
        server = &*shortened(server)
    )
}

/// Creates the span of a request, for its handler. It has the level of information, since
/// there is one for each request; where that is not wanted it is the one of the session.
pub(super) fn request_span(
    session: &Span,
    key: RequestKey,
    method: &MethodName,
    params: Option<&Payload>,
) -> Span {
    let span = info_span!(
        target: "bowline::request", parent: session, "request",
        method = &*shortened(method.as_str()), request = key.get(),
        tool = Empty, prompt = Empty, resource = Empty
    );
    if span.is_disabled() {
        return session.clone();
    }
    if let Some(subject) = Subject::of(method, params) {
        span.record(subject.field(), subject.name());
    }
    span
}

/// Creates the span of a notification, for its handler.
pub(super) fn notification_span(method: &MethodName) -> Span {
    info_span!(
        target: "bowline::notification", "notification",
        method = &*shortened(method.as_str())
    )
}

/// What a request is about, by the name that its client gives it.
#[derive(Clone, Debug)]
pub(super) enum Subject {
    Tool(String),
    Prompt(String),
    Resource(String),
}

impl Subject {
    pub(super) fn of(method: &MethodName, params: Option<&Payload>) -> Option<Self> {
        let (key, subject): (_, fn(String) -> Self) = match method.known()? {
            Method::CallTool => ("name", Self::Tool),
            Method::GetPrompt => ("name", Self::Prompt),
            Method::ReadResource | Method::Subscribe | Method::Unsubscribe => {
                ("uri", Self::Resource)
            }
            _ => return None,
        };
        let name = params?.as_json().reader().peek_member(key).ok()??;
        Some(subject(shortened(&name.to_text().ok()?)))
    }

    fn field(&self) -> &'static str {
        match self {
            Self::Tool(_) => "tool",
            Self::Prompt(_) => "prompt",
            Self::Resource(_) => "resource",
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Tool(name) | Self::Prompt(name) | Self::Resource(name) => name,
        }
    }
}

/// The fields of an event about a handler. They are in the span of its request as well, which
/// is not there when only warnings are wanted.
struct Fields {
    request: Option<u64>,
    method: Option<String>,
    subject: Option<Subject>,
}

impl Fields {
    fn of(context: Option<&Context>) -> Self {
        Self {
            request: context.map(Context::request_number),
            method: context.map(|context| shortened(context.method())),
            subject: context.and_then(Context::subject),
        }
    }

    fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }

    /// Returns the name of the subject if this is its field.
    fn subject(&self, field: &str) -> Option<&str> {
        let subject = self.subject.as_ref();
        subject
            .filter(|subject| subject.field() == field)
            .map(Subject::name)
    }
}

/// Emits an event about a handler.
macro_rules! about_handler {
    ($level:ident, $context:expr, [$($field:tt)*], $message:literal) => {{
        let of = Fields::of($context);
        $level!(
            request = of.request, method = of.method(), tool = of.subject("tool"),
            prompt = of.subject("prompt"), resource = of.subject("resource"),
            $($field)* $message
        );
    }};
}

/// A handler has returned an error whose words are not for the client (ER-4).
pub(super) fn handler_failed(context: Option<&Context>, error: &dyn fmt::Display) {
    about_handler!(error, context, [error = %error,], "handler failed");
}

pub(super) fn handler_panicked(context: &Context, panic: &str) {
    about_handler!(error, Some(context), [panic,], "handler panicked");
}

/// Reports a handler that has blocked its thread for too long.
pub(super) fn handler_blocked(context: &Context, blocked: Duration) {
    let (context, blocked_ms) = (Some(context), millis(blocked));
    about_handler!(
        warn,
        context,
        [blocked_ms,],
        "handler blocked its thread: see ToolDef::blocking"
    );
}

/// Reports a handler that is blocking its thread.
pub(super) fn handler_is_blocking(context: &Context, blocked: Duration) {
    let (context, blocked_ms) = (Some(context), millis(blocked));
    about_handler!(
        warn,
        context,
        [blocked_ms,],
        "handler is blocking its thread: see ToolDef::blocking"
    );
}

/// The same for a handler of notifications, or of the end of a subscription.
pub(super) fn notification_handler_is_blocking(method: &MethodName, blocked: Duration) {
    warn!(
        method = &*shortened(method.as_str()),
        blocked_ms = millis(blocked),
        "notification handler is blocking its connection"
    );
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn layer_failed(context: &Context, error: &dyn fmt::Display) {
    about_handler!(error, Some(context), [error = %error,], "middleware layer failed");
}

pub(super) fn result_not_encoded(context: Option<&Context>, error: &dyn fmt::Display) {
    about_handler!(error, context, [error = %error,], "result can't be encoded");
}

#[cfg(feature = "validate")]
pub(super) fn result_does_not_match(context: &Context, reason: &str) {
    let context = Some(context);
    about_handler!(
        error,
        context,
        [reason,],
        "result doesn't match the outputSchema of the tool"
    );
}

/// What an operator reads about a client at level info. It is emitted without the session's
/// lock: a subscriber may send it to a client.
#[derive(Debug)]
pub(super) enum Notice {
    /// The client has introduced itself.
    Connected {
        client: Option<Implementation>,
        revision: Revision,
    },
    Ended {
        reason: &'static str,
    },
    /// Responses were cut, as their clients don't read them.
    #[cfg(feature = "http-server")]
    ResponsesCut(super::http::CutResponses),
}

impl Notice {
    /// Emits the event.
    pub(super) fn emit(self, session: &Span) {
        match self {
            Self::Connected { client, revision } => connected(session, client.as_ref(), revision),
            Self::Ended { reason } => info!(reason, "session ended"),
            #[cfg(feature = "http-server")]
            Self::ResponsesCut(cut) => cut.log(),
        }
    }
}

fn connected(session: &Span, client: Option<&Implementation>, revision: Revision) {
    let name = client.map(|client| shortened(&client.name));
    if let Some(name) = &name {
        session.record("client", &**name);
    }
    info!(
        client_name = name.as_deref(),
        client_version = client.map(|client| shortened(&client.version)).as_deref(),
        revision = revision.as_str(),
        "client connected"
    );
}
