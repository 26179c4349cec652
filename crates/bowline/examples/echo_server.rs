//! A server on stdin and stdout that answers a call with its own parameters.
//!
//! It is what the tests of the child process start. The name of a tool can be a wish:
//! `die` makes it exit, with words on stderr; `half` makes it answer by half and be killed;
//! `hang` makes it silent, `freeze` stops it, and `pid` asks for its process id.

use std::error::Error;
use std::io::{Read, Write, stderr, stdin, stdout};
use std::process::Command;

use bowline_proto::server::{Session, SessionConfig, SessionEvent};
use bowline_proto::{Instant, Payload};
use bowline_types::capabilities::{ServerCapabilities, ToolsCapability};
use bowline_types::common::Implementation;
use bowline_types::lifecycle::DiscoverResult;
use bowline_types::tools::CallToolResult;
use bowline_types::{Method, Revision, Revisions};

fn main() -> Result<(), Box<dyn Error>> {
    let capabilities = ServerCapabilities::new().tools(ToolsCapability::new());
    let mut config = SessionConfig::new(Implementation::new("echo", "1.0"));
    config.capabilities(capabilities.clone());
    let mut session = Session::new(Instant::START, config);
    let (mut input, mut output) = (stdin().lock(), stdout().lock());
    let mut chunk = vec![0; 64 * 1024];
    loop {
        match input.read(&mut chunk)? {
            0 => return Ok(()),
            length => session.read_buffer().extend_from_slice(&chunk[..length]),
        }
        session.handle_read(Instant::START);
        while let Some(event) = session.poll_event() {
            let SessionEvent::Request {
                request,
                method,
                params,
                ..
            } = event
            else {
                continue;
            };
            let params = params.unwrap_or(Payload::EMPTY);
            let wishes = |name| params.as_str().contains(&format!(r#""name":"{name}""#));
            let result = match method {
                Method::Discover => {
                    let versions: Vec<String> = Revisions::ALL.iter().map(String::from).collect();
                    let result = DiscoverResult::new(versions, capabilities.clone());
                    Payload::encode(&result, Revision::LATEST)?
                }
                _ if wishes("die") => {
                    writeln!(stderr(), "I was asked to die")?;
                    std::process::exit(7);
                }
                _ if wishes("half") => {
                    output.write_all(br#"{"jsonrpc":"2.0","id":"#)?;
                    output.flush()?;
                    signal_myself("-KILL")?;
                    continue;
                }
                _ if wishes("freeze") => {
                    signal_myself("-STOP")?;
                    continue;
                }
                _ if wishes("hang") => continue,
                _ if wishes("pid") => {
                    let result = CallToolResult::text(std::process::id().to_string());
                    Payload::encode(&result, Revision::LATEST)?
                }
                _ => params,
            };
            session.respond(Instant::START, request, result)?;
        }
        while let Some(transmit) = session.poll_transmit() {
            output.write_all(&transmit.to_bytes())?;
        }
        output.flush()?;
    }
}

fn signal_myself(signal: &str) -> std::io::Result<()> {
    let pid = std::process::id().to_string();
    Command::new("kill").args([signal, &pid]).status()?;
    Ok(())
}
