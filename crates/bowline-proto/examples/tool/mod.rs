//! The tool that the example drivers serve.

use std::error::Error;

use bowline_proto::server::{Session, SessionEvent};
use bowline_proto::{Instant, Payload};
use bowline_types::capabilities::{ServerCapabilities, ToolsCapability};
use bowline_types::lifecycle::DiscoverResult;
use bowline_types::tools::{CallToolParams, CallToolResult};
use bowline_types::{Method, Revision, Revisions, Wire};

pub(crate) type Outcomes<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// What a request is answered with.
pub(crate) fn answer(
    method: Method,
    params: Option<&str>,
    revision: Revision,
) -> Outcomes<Payload> {
    if method == Method::Discover {
        let versions: Vec<String> = Revisions::ALL.iter().map(String::from).collect();
        let result = DiscoverResult::new(versions, capabilities());
        return Ok(Payload::encode(&result, revision)?);
    }
    let call = CallToolParams::from_json(params.unwrap_or("{}"))?;
    let text = format!("{} was called in {revision}", call.name);
    Ok(Payload::encode(&CallToolResult::text(text), revision)?)
}

/// Responds to every request of a session.
pub(crate) fn answer_all(session: &mut Session) -> Outcomes<()> {
    while let Some(event) = session.poll_event() {
        if let SessionEvent::Request {
            request,
            method,
            params,
            context,
        } = event
        {
            let agreed = session.revision().unwrap_or(Revision::LATEST_HANDSHAKE);
            let revision = context.map_or(agreed, |context| context.revision);
            let params = params.as_ref().map(Payload::as_str);
            let result = answer(method, params, revision)?;
            session.respond(Instant::START, request, result)?;
        }
    }
    Ok(())
}

/// What the server can do.
pub(crate) fn capabilities() -> ServerCapabilities {
    ServerCapabilities::new().tools(ToolsCapability::new())
}

/// Returns the text of a tool's result.
pub(crate) fn text_of(result: &Payload) -> Outcomes<String> {
    let result: CallToolResult = result.decode()?;
    let text = result.content.first().and_then(|block| block.as_text());
    Ok(text.unwrap_or("nothing").to_owned())
}
