//! A server under load, without a system: a stream that asks as soon as all is answered.

use std::error::Error;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bowline::server::{RunningServer, Server};
use bowline::transport::Stream;
use bowline::types::Era;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

#[derive(Deserialize, JsonSchema)]
struct Echo {
    text: String,
}

/// A server with `echo` and other tools, as many in all as its configuration asks for.
pub(crate) fn echo(tools: usize) -> Result<RunningServer, bowline::Error> {
    let echo = |Echo { text }: Echo| async move { text };
    let mut server = Server::new("echo", "0");
    for number in 1..tools {
        server = server.tool(format!("spare-{number}"), "Is never called", echo);
    }
    server.tool("echo", "Returns its argument", echo).build()
}

/// Calls `echo` so often with 100 bytes, of which so many calls are open at once.
pub(crate) async fn call(
    server: &RunningServer,
    era: Era,
    window: usize,
    calls: usize,
) -> Result<(), Box<dyn Error>> {
    let script = Arc::new(Mutex::new(Script::new(era, window, calls)));
    let ends = (End(Arc::clone(&script)), End(Arc::clone(&script)));
    server.serve_stream(Stream::new(ends.0, ends.1)).await?;
    let script = script.lock().unwrap_or_else(PoisonError::into_inner);
    match (script.left, script.open) {
        (0, 0) => Ok(()),
        (left, open) => Err(format!("{left} are not asked, {open} not answered").into()),
    }
}

/// What the client sends.
struct Script {
    /// The handshake, and a window of calls after it.
    text: Vec<u8>,
    /// What is written next.
    next: Range<usize>,
    /// Lines to come before more is written.
    open: usize,
    calls_at: usize,
    /// Bytes of a call.
    length: usize,
    window: usize,
    left: usize,
}

impl Script {
    fn new(era: Era, window: usize, calls: usize) -> Self {
        let (greeting, meta) = match era {
            Era::Handshake => (GREETING, ""),
            Era::Stateless => ("", META),
        };
        let text: String = "0123456789".repeat(10);
        let call = |id: usize| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{{meta}"arguments":{{"text":"{text}"}},"name":"echo"}}}}"#
            ) + "\n"
        };
        // An id may be used again when its call is answered. All are of one length.
        let lines: Vec<String> = (100..100 + window).map(call).collect();
        Self {
            text: [greeting, &lines.concat()].concat().into_bytes(),
            next: 0..greeting.len(),
            open: usize::from(!greeting.is_empty()),
            calls_at: greeting.len(),
            length: lines.first().map_or(0, String::len),
            window,
            left: calls,
        }
    }

    /// What is written next: nothing is the end, and `None` comes when something has a response.
    fn next_bytes(&mut self, room: usize) -> Option<&[u8]> {
        if self.next.is_empty() {
            if self.open > 0 {
                return None;
            }
            self.open = self.window.min(self.left);
            self.left -= self.open;
            self.next = self.calls_at..self.calls_at + self.open * self.length;
        }
        let start = self.next.start;
        self.next.start += room.min(self.next.len());
        self.text.get(start..self.next.start)
    }
}

const GREETING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"script","version":"0"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
"#;

const META: &str = r#""_meta":{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"script","version":"0"},"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"#;

/// One end of the stream. Nothing wakes the server: it writes, and then reads.
struct End(Arc<Mutex<Script>>);

impl AsyncRead for End {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut script = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match script.next_bytes(buffer.remaining()) {
            None => Poll::Pending,
            Some(bytes) => {
                buffer.put_slice(bytes);
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl AsyncWrite for End {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut script = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = memchr::memchr_iter(b'\n', bytes).count();
        script.open = script.open.saturating_sub(lines);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
