//! The requests, and the checks of their responses.

use std::borrow::Cow;
use std::io::Write as _;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::Failure;

/// The messages of one client.
pub(crate) struct Messages {
    revision: String,
    is_stateless: bool,
    text: String,
    /// A call, behind its id.
    tail: Vec<u8>,
    next_id: u64,
}

impl Messages {
    pub(crate) fn new(revision: &str, bytes: usize) -> Result<Self, Failure> {
        let is_stateless = match revision {
            "2025-11-25" => false,
            "2026-07-28" => true,
            _ => return Err(format!("no revision {revision}").into()),
        };
        let text = text(bytes);
        let mut params = json!({ "name": "echo", "arguments": { "text": text } });
        if is_stateless {
            params["_meta"] = meta(revision);
        }
        let tail = format!(r#","method":"tools/call","params":{params}}}"#);
        Ok(Self {
            revision: revision.to_owned(),
            is_stateless,
            text,
            tail: tail.into_bytes(),
            next_id: 0,
        })
    }

    pub(crate) fn revision(&self) -> &str {
        &self.revision
    }

    pub(crate) fn is_stateless(&self) -> bool {
        self.is_stateless
    }

    /// The id of the next call.
    pub(crate) fn next_id(&self) -> u64 {
        self.next_id
    }

    /// `initialize`, or `server/discover` where there is no handshake.
    pub(crate) fn first(&mut self, out: &mut Vec<u8>) {
        let (method, params) = match self.is_stateless {
            true => ("server/discover", json!({ "_meta": meta(&self.revision) })),
            false => {
                let params = json!({
                    "protocolVersion": self.revision,
                    "capabilities": {},
                    "clientInfo": { "name": "generator", "version": "0" },
                });
                ("initialize", params)
            }
        };
        let id = self.next_id;
        self.next_id += 1;
        let first = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        out.extend(first.to_string().into_bytes());
    }

    /// What follows the answer to that.
    pub(crate) fn second(&self) -> Option<&'static [u8]> {
        let second: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        (!self.is_stateless).then_some(second)
    }

    pub(crate) fn call(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        // A vector takes everything.
        let _ = write!(out, "{}", self.next_id);
        out.extend_from_slice(&self.tail);
        self.next_id += 1;
    }

    /// Returns `true` if a response is what was sent, and nothing else.
    pub(crate) fn check(&self, reply: &Reply<'_>) -> Result<(), Failure> {
        let result = reply.result.ok_or_else(|| reply.unexpected())?;
        let result: CallResult<'_> = serde_json::from_str(result.get())?;
        let is_said = match &result.content[..] {
            [content] => content.r#type == "text" && content.text == self.text,
            _ => false,
        };
        if !is_said || result.is_error {
            return Err(reply.unexpected());
        }
        Ok(())
    }

    /// Returns `true` if a response can be what was sent.
    pub(crate) fn check_length(&self, reply: &Reply<'_>) -> Result<(), Failure> {
        match reply.result {
            Some(result) if result.get().len() > self.text.len() => Ok(()),
            _ => Err(reply.unexpected()),
        }
    }
}

/// A message of a server. Without a result and an error it is something of its own.
#[derive(Deserialize)]
pub(crate) struct Reply<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct CallResult<'a> {
    #[serde(borrow)]
    content: Vec<Content<'a>>,
    #[serde(default, rename = "isError")]
    is_error: bool,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

impl<'a> Reply<'a> {
    pub(crate) fn read(line: &'a [u8]) -> Result<Self, Failure> {
        serde_json::from_slice(line).map_err(|error| {
            let line = String::from_utf8_lossy(line);
            format!("{error}: {line}").into()
        })
    }

    pub(crate) fn is_result(&self) -> bool {
        self.result.is_some()
    }

    /// What it answers.
    pub(crate) fn id(&self) -> Option<u64> {
        self.id
            .filter(|_| self.result.is_some() || self.error.is_some())
    }

    fn unexpected(&self) -> Failure {
        let found = self.result.or(self.error).map_or("nothing", RawValue::get);
        format!("not what was sent: {found}").into()
    }
}

/// What each request has of its client where there is no handshake.
fn meta(revision: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientInfo": { "name": "generator", "version": "0" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// Prose without anything to escape.
fn text(bytes: usize) -> String {
    let words = "The quick brown fox jumps over the lazy dog 0123456789 ";
    words.chars().cycle().take(bytes).collect()
}
