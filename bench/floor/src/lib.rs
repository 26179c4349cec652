//! Answers to calls of the tool `echo` with typed JSON, and no MCP library.

use std::borrow::Cow;
use std::io::{self, Write as _};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    params: Option<Params>,
}

#[derive(Deserialize)]
struct Params {
    arguments: Option<Arguments>,
}

#[derive(Deserialize)]
struct Arguments {
    text: String,
}

#[derive(Serialize)]
struct Response<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: CallResult,
}

#[derive(Serialize)]
struct CallResult {
    content: [Content; 1],
}

#[derive(Serialize)]
struct Content {
    r#type: &'static str,
    text: String,
}

/// What was answered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Nothing: it was a notification.
    None,
    /// A handshake.
    Initialized,
    Other,
}

/// Answers a message.
pub fn answer(message: &[u8], out: &mut Vec<u8>) -> io::Result<Answer> {
    let request: Request<'_> = serde_json::from_slice(message)?;
    let Some(id) = request.id else {
        return Ok(Answer::None);
    };
    let arguments = request.params.and_then(|params| params.arguments);
    match (&*request.method, arguments) {
        ("initialize", _) => {
            write!(
                out,
                r#"{{"jsonrpc":"2.0","id":{id},"result":{INITIALIZE}}}"#
            )?;
        }
        ("server/discover", _) => {
            write!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":{DISCOVER}}}"#)?;
        }
        (_, Some(Arguments { text })) => {
            let r#type = "text";
            let result = CallResult {
                content: [Content { r#type, text }],
            };
            let jsonrpc = "2.0";
            serde_json::to_writer(
                &mut *out,
                &Response {
                    jsonrpc,
                    id,
                    result,
                },
            )?;
        }
        (_, None) => {
            write!(out, r#"{{"jsonrpc":"2.0","id":{id},"error":{NO_TEXT}}}"#)?;
        }
    }
    Ok(match &*request.method {
        "initialize" => Answer::Initialized,
        _ => Answer::Other,
    })
}

const INITIALIZE: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"floor","version":"0"}}"#;
const DISCOVER: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"floor","version":"0"}}"#;
const NO_TEXT: &str = r#"{"code":-32602,"message":"no text"}"#;
