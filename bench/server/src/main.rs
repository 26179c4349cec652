//! A server with the tool `echo`, on stdio and without an MCP library: it answers at once, and
//! favours no client.
//!
//! It speaks 2025-11-25. All that was read together is answered together, and the text of a
//! call is copied as it stands, still escaped.

use std::borrow::Cow;
use std::io::{self, Read as _, Write as _};

use memchr::{memchr_iter, memrchr};
use serde::Deserialize;
use serde_json::value::RawValue;

const CHUNK: usize = 64 * 1024;

fn main() -> io::Result<()> {
    let (mut stdin, mut stdout) = (io::stdin().lock(), io::stdout().lock());
    let (mut input, mut filled) = (vec![0; 2 * CHUNK], 0);
    let mut out = Vec::new();
    loop {
        if input.len() < filled + CHUNK {
            input.resize(2 * filled + CHUNK, 0);
        }
        let read = stdin.read(&mut input[filled..])?;
        if read == 0 {
            return Ok(());
        }
        let fresh = filled..filled + read;
        filled = fresh.end;
        let Some(end) = memrchr(b'\n', &input[fresh.clone()]) else {
            continue;
        };
        let end = fresh.start + end + 1;
        answer_lines(&input[..end], &mut out)?;
        stdout.write_all(&out)?;
        stdout.flush()?;
        out.clear();
        input.copy_within(end..filled, 0);
        filled -= end;
    }
}

fn answer_lines(lines: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let mut start = 0;
    for end in memchr_iter(b'\n', lines) {
        answer(&lines[start..end], out)?;
        start = end + 1;
    }
    Ok(())
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    arguments: Option<Arguments<'a>>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    text: &'a RawValue,
}

fn answer(line: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let request: Request<'_> = serde_json::from_slice(line)?;
    let Some(id) = request.id else {
        return Ok(());
    };
    write!(out, r#"{{"jsonrpc":"2.0","id":{id},"#)?;
    let arguments = request.params.and_then(|params| params.arguments);
    match (&*request.method, arguments) {
        ("initialize", _) => out.extend_from_slice(INITIALIZE),
        ("tools/call", Some(Arguments { text })) => {
            write!(
                out,
                r#""result":{{"content":[{{"type":"text","text":{text}}}]}}"#
            )?;
        }
        ("tools/call", None) => {
            out.extend_from_slice(br#""error":{"code":-32602,"message":"no text"}"#)
        }
        ("ping", _) => out.extend_from_slice(br#""result":{}"#),
        _ => out.extend_from_slice(br#""error":{"code":-32601,"message":"no such method"}"#),
    }
    out.extend_from_slice(b"}\n");
    Ok(())
}

const INITIALIZE: &[u8] = br#""result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"0"}}"#;
