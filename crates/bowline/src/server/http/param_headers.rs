//! Arguments of a call that its request repeats as headers `Mcp-Param-…`, since intermediaries may
//! route by them. [`bowline_proto::server::ParamHeaders`] has the rules; here they are applied to
//! the tools of the server.

use ::http::HeaderMap;
use bowline_types::method::Method;

use super::mcp_headers::NO_TEXT;
use super::refusal::HttpRefusal;
use crate::server::features::ServerFeatures;
use crate::server::session::PostMessage;
use crate::server::tool::CallParams;

/// Checks the headers of a call of a tool whose schema has `x-mcp-header`.
///
/// Calls of other tools, and those that are refused later anyway, pass.
pub(super) fn check_param_headers(
    features: &ServerFeatures,
    message: &PostMessage<'_>,
    headers: &HeaderMap,
) -> Result<(), HttpRefusal> {
    let PostMessage::Stateless(request) = message else {
        return Ok(());
    };
    if request.method != Method::CallTool {
        return Ok(());
    }
    let contents = features.contents();
    if !contents.has_param_headers() {
        return Ok(());
    }
    let Ok(call) = CallParams::parse(request.params) else {
        return Ok(());
    };
    let (Some(tool), Some(arguments)) = (contents.tools.get(&call.name), call.arguments_json())
    else {
        return Ok(());
    };
    let headers = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap_or(NO_TEXT)));
    let checked = tool.param_headers().check(arguments, headers);
    checked.map_err(|mismatch| mismatch.refusal(&request.id).into())
}
