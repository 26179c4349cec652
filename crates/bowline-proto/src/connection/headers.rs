//! The headers of a message over HTTP.

use bowline_types::envelope::{Envelope, JsonRpcRequest};
use bowline_types::meta::keys;
use bowline_types::{Method, Revision};

use crate::server::{encode_value, named_by};

/// The headers that the protocol demands of a POST.
///
/// ```
/// use bowline_proto::connection::MessageHeaders;
/// use bowline_types::Revision;
///
/// let frame = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
/// let headers = MessageHeaders::from_frame(frame, Some(Revision::V2025_06_18));
/// let pairs: Vec<_> = headers.iter().collect();
/// assert_eq!(pairs, [("MCP-Protocol-Version", "2025-06-18")]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageHeaders {
    /// `MCP-Protocol-Version`
    pub protocol_version: Option<String>,
    /// `Mcp-Method`
    pub method: Option<String>,
    /// `Mcp-Name`
    pub name: Option<String>,
}

impl MessageHeaders {
    /// Creates the headers of a message. `agreed` is the negotiated revision, if there is one.
    ///
    /// A request of the stateless era names its revision itself. `initialize` has no headers: a
    /// server that doesn't know them must understand it.
    pub fn from_frame(frame: &[u8], agreed: Option<Revision>) -> Self {
        let mut headers = Self {
            protocol_version: agreed.map(String::from),
            ..Self::default()
        };
        let Ok(Envelope::Request(request)) = Envelope::parse(frame) else {
            return headers;
        };
        if request.method == Method::Initialize.as_str() {
            return Self::default();
        }
        if let Some(version) = stateless_version(&request) {
            headers.protocol_version = Some(version);
            headers.name = name_of(&request).map(|name| encode_value(&name).into_owned());
            headers.method = Some(encode_value(&request.method).into_owned());
        }
        headers
    }

    /// Returns the headers that are present.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [
            ("MCP-Protocol-Version", &self.protocol_version),
            ("Mcp-Method", &self.method),
            ("Mcp-Name", &self.name),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }
}

/// Returns the revision that a request of the stateless era names.
fn stateless_version(request: &JsonRpcRequest<'_>) -> Option<String> {
    let meta = request.params?.reader().peek_member("_meta").ok()??;
    let version = meta.reader().peek_tag(keys::PROTOCOL_VERSION.name()).ok()?;
    version.map(|version| version.into_owned())
}

/// Returns the value of `Mcp-Name`.
fn name_of(request: &JsonRpcRequest<'_>) -> Option<String> {
    let member = named_by(&request.method)?;
    let name = request.params?.reader().peek_tag(member).ok()??;
    Some(name.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stateless(method: &str, members: &str) -> MessageHeaders {
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
        let frame = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{members}{meta}}}}}"#
        );
        MessageHeaders::from_frame(frame.as_bytes(), None)
    }

    fn pairs(headers: &MessageHeaders) -> String {
        let pairs: Vec<_> = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        pairs.join("; ")
    }

    #[test]
    fn a_stateless_request_repeats_itself() {
        let version = "MCP-Protocol-Version: 2026-07-28";
        for (method, members, expected) in [
            ("tools/list", "", ""),
            ("tools/call", r#""name":"a b","#, "; Mcp-Name: a b"),
            ("prompts/get", r#""name":"x","#, "; Mcp-Name: x"),
            ("resources/read", r#""uri":"a:b","#, "; Mcp-Name: a:b"),
            ("tasks/get", r#""taskId":"t","#, "; Mcp-Name: t"),
            (
                "tools/call",
                r#""name":"é","#,
                "; Mcp-Name: =?base64?w6k=?=",
            ),
            // Without a name there is none to repeat.
            ("tools/call", "", ""),
        ] {
            let headers = pairs(&stateless(method, members));
            assert_eq!(
                headers,
                format!("{version}; Mcp-Method: {method}{expected}")
            );
        }
    }

    #[test]
    fn the_handshake_era_names_the_revision_once_it_is_agreed() {
        let list = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
        let agreed = Some(Revision::V2025_11_25);
        let version = "MCP-Protocol-Version: 2025-11-25";
        assert_eq!(pairs(&MessageHeaders::from_frame(list, agreed)), version);
        let note = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(pairs(&MessageHeaders::from_frame(note, agreed)), version);
        let initialize = br#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#;
        assert_eq!(pairs(&MessageHeaders::from_frame(initialize, agreed)), "");
        assert_eq!(pairs(&MessageHeaders::from_frame(list, None)), "");
    }
}
