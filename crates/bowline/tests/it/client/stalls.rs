//! Clients that could not run for a while: their process was stopped, or their runtime was busy.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bowline::transport::Stream;
use bowline::{Client, ErrorKind};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::advance;

use crate::client::support::{NEW, OLD, Test, Trap, config, connected, wrapped};
use crate::client::transport_faults::DawdlingReader;

/// Longer than any deadline.
const STALL: Duration = Duration::from_secs(3600);

const NOTE: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n";

/// How many of them are more than is read at once.
const BACKLOG: usize = 300;

// proves: CN-8
#[tokio::test(start_paused = true)]
async fn answers_that_came_during_a_stall_are_read_before_calls_time_out() -> Test {
    for revision in [OLD, NEW] {
        let (client, mut server, _peer) = connected(revision).await?;
        let answered = client.call("tools/list", ()).send();
        let unanswered = client.call("prompts/list", ()).send();
        let request = server.expect("tools/list").await?;
        server.expect("prompts/list").await?;
        // Nothing here yields to the client.
        server.send_raw(NOTE.repeat(BACKLOG)).await?;
        let body = r#"{"resultType":"complete","tools":[]}"#;
        server.reply(&request, body).await?;
        advance(STALL).await;
        answered.await?;
        let error = unanswered.await.expect_err("it has no answer");
        assert_eq!(error.kind(), ErrorKind::Timeout, "{revision}");
    }
    Ok(())
}

// proves: CN-8
#[tokio::test(start_paused = true)]
async fn an_answer_whose_readiness_is_reported_after_the_stall_is_read() -> Test {
    let dawdles = Trap::default();
    let of_reader = dawdles.clone();
    let (transport, mut streams) = wrapped(move |reader, writer| {
        Stream::new(DawdlingReader::new(reader, of_reader.clone()), writer)
    });
    let client = Client::start(transport, config());
    let mut server = streams.accept(OLD).await?;
    client.ready().await?;
    let answered = client.call("tools/list", ()).send();
    let request = server.expect("tools/list").await?;
    dawdles.set();
    server.reply(&request, r#"{"tools":[]}"#).await?;
    advance(STALL).await;
    answered.await?;
    Ok(())
}

/// A reader that has something to read whenever it is asked, from when its trap is set.
struct FloodingReader<R> {
    reader: R,
    floods: Trap,
    reads: Arc<AtomicUsize>,
}

impl<R: AsyncRead + Unpin> AsyncRead for FloodingReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.floods.is_set() {
            return Pin::new(&mut self.reader).poll_read(cx, buffer);
        }
        // It ends some time, so that the test does.
        if self.reads.fetch_add(1, Ordering::SeqCst) < 10_000 {
            buffer.put_slice(NOTE.as_bytes());
        }
        Poll::Ready(Ok(()))
    }
}

// proves: CN-8
#[tokio::test(start_paused = true)]
async fn a_server_that_floods_does_not_hold_off_a_deadline() -> Test {
    let (floods, reads) = (Trap::default(), Arc::new(AtomicUsize::new(0)));
    let (of_reader, counted) = (floods.clone(), Arc::clone(&reads));
    let (transport, mut streams) = wrapped(move |reader, writer| {
        let (floods, reads) = (of_reader.clone(), Arc::clone(&counted));
        let reader = FloodingReader {
            reader,
            floods,
            reads,
        };
        Stream::new(reader, writer)
    });
    let client = Client::start(transport, config());
    let mut server = streams.accept(OLD).await?;
    client.ready().await?;
    let call = client.call("tools/list", ()).send();
    server.expect("tools/list").await?;
    floods.set();
    // It wakes the reader.
    server.notify("notifications/x", ()).await?;
    advance(STALL).await;
    let error = call.await.expect_err("it has no answer");
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    let reads = reads.load(Ordering::SeqCst);
    assert!((1..=300).contains(&reads), "{reads}");
    Ok(())
}

#[cfg(target_os = "linux")]
mod stopped {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::process::{Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
    use serde_json::{Value, json};

    use crate::programs::example;

    /// What the client gives its call.
    const TIMEOUT: Duration = Duration::from_secs(2);

    /// A server of one client.
    struct Server {
        reader: BufReader<UnixStream>,
        writer: UnixStream,
    }

    impl Server {
        fn new(stream: UnixStream) -> Self {
            let reader = BufReader::new(stream.try_clone().expect("a descriptor"));
            let writer = stream;
            Self { reader, writer }
        }

        fn write(&mut self, message: &Value) {
            self.write_lines(&format!("{message}\n"));
        }

        /// Writes all at once: many small writes fill a socket, and the client may be stopped.
        fn write_lines(&mut self, lines: &str) {
            let written = self.writer.write_all(lines.as_bytes());
            written.expect("the client is there");
        }

        /// Answers a handshake, and waits for the call. Returns its id.
        fn until_called(&mut self) -> Value {
            loop {
                let mut line = String::new();
                self.reader.read_line(&mut line).expect("it is text");
                let message: Value = serde_json::from_str(&line).expect("it is JSON");
                let id = &message["id"];
                match message["method"].as_str() {
                    Some("tools/call") => return id.clone(),
                    Some("initialize") => self.write(&json!({
                        "jsonrpc": "2.0", "id": id, "result": {
                            "protocolVersion": "2025-11-25",
                            "capabilities": {"tools": {}},
                            "serverInfo": {"name": "test", "version": "1"},
                        }
                    })),
                    _ if id.is_null() => {}
                    _ => self.write(&json!({
                        "jsonrpc": "2.0", "id": id,
                        "error": {"code": -32601, "message": "no such method"},
                    })),
                }
            }
        }
    }

    // proves: CN-8
    #[test]
    fn a_client_whose_process_was_stopped_takes_the_answer_that_came_meanwhile() {
        let program = example("calling_client");
        let folder = std::env::temp_dir().join(format!("bowline-stalls-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        for (threads, backlog) in [("1", 0), ("1", super::BACKLOG), ("2", 0)] {
            let socket = folder.join(format!("{threads}-{backlog}.sock"));
            let listener = UnixListener::bind(&socket).expect("a socket");
            let mut command = Command::new(&program);
            command.arg(&socket).arg(threads).stdout(Stdio::piped());
            let child = command.spawn().expect("it runs");
            let mut server = Server::new(listener.accept().expect("it connects").0);
            let id = server.until_called();
            let called = Instant::now();
            let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            kill_process(pid.expect("an id"), Signal::STOP).expect("it runs");
            let stopped = waitpid(pid, WaitOptions::UNTRACED).expect("it is our child");
            assert!(stopped.is_some_and(|(_, status)| status.stopped()));
            server.write_lines(&super::NOTE.repeat(backlog));
            let result = json!({"content": [{"type": "text", "text": "in time"}]});
            server.write(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
            // The deadline is on the clock of another process: it has passed for certain when
            // this has.
            thread::sleep(TIMEOUT.saturating_sub(called.elapsed()));
            kill_process(pid.expect("an id"), Signal::CONT).expect("it is stopped");
            let output = child.wait_with_output().expect("it ends");
            let words = String::from_utf8_lossy(&output.stdout);
            assert_eq!(
                words.trim(),
                "in time",
                "{threads} threads, {backlog} before it"
            );
        }
        std::fs::remove_dir_all(folder).expect("it is there");
    }
}
