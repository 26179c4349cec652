//! A tap on the wire between a client and a server: it keeps every line of both directions,
//! and can send lines of its own to the server.

use std::sync::{Arc, Mutex, PoisonError};

use bowline::server::RunningServer;
use bowline::transport::Stream;
use bowline::transport::memory::Acceptor;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader, duplex, split};
use tokio::sync::{mpsc, watch};

/// The sender of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    Client,
    Server,
    /// The test itself, in the client's place: it may break the protocol.
    Tap,
}

/// A line, as it went over the wire.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) from: Sender,
    pub(crate) value: Value,
}

/// What goes over the wire. Clones are the same tap.
#[derive(Clone, Debug)]
pub(crate) struct Tap(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    lines: Mutex<Vec<Line>>,
    /// Counts lines and ends.
    changes: watch::Sender<usize>,
    ended: Mutex<usize>,
    inject: mpsc::UnboundedSender<String>,
}

/// Ids of requests of the tap begin so; their answers don't reach the client.
pub(crate) const OURS: &str = "tap-";

impl Tap {
    /// Serves the first stream that a client opens, with the tap in between.
    pub(crate) fn serve(mut acceptor: Acceptor, server: RunningServer) -> Self {
        let (inject, injected) = mpsc::unbounded_channel();
        let tap = Self(Arc::new(Inner {
            lines: Mutex::default(),
            changes: watch::Sender::new(0),
            ended: Mutex::new(0),
            inject,
        }));
        let kept = tap.clone();
        tokio::spawn(async move {
            let stream = acceptor.accept().await.expect("a client connects");
            let (from_client, to_client) = split(stream);
            let (ours, theirs) = duplex(64 * 1024);
            let (from_server, to_server) = split(ours);
            let (reader, writer) = split(theirs);
            tokio::spawn(server.serve_stream(Stream::new(reader, writer)));
            tokio::spawn(kept.clone().relay_client(from_client, to_server, injected));
            tokio::spawn(kept.relay_server(from_server, to_client));
        });
        tap
    }

    async fn relay_client(
        self,
        from: impl AsyncRead + Unpin,
        mut to: impl tokio::io::AsyncWrite + Unpin,
        mut injected: mpsc::UnboundedReceiver<String>,
    ) {
        let mut lines = BufReader::new(from).lines();
        loop {
            let (by, line) = tokio::select! {
                line = lines.next_line() => match line {
                    Ok(Some(line)) => (Sender::Client, line),
                    _ => break,
                },
                Some(line) = injected.recv() => (Sender::Tap, line),
            };
            self.record(by, &line);
            if to.write_all(format!("{line}\n").as_bytes()).await.is_err() {
                break;
            }
        }
        // The server may already be gone.
        let _ = to.shutdown().await;
        self.end();
    }

    async fn relay_server(
        self,
        from: impl AsyncRead + Unpin,
        mut to: impl tokio::io::AsyncWrite + Unpin,
    ) {
        let mut lines = BufReader::new(from).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let value = self.record(Sender::Server, &line);
            // The answers to a batch of ours are one array.
            let answer = value.get(0).unwrap_or(&value);
            let id = answer["id"].as_str();
            if id.is_some_and(|id| id.starts_with(OURS)) {
                continue;
            }
            // A client that is gone has still been answered.
            let _ = to.write_all(format!("{line}\n").as_bytes()).await;
        }
        let _ = to.shutdown().await;
        self.end();
    }

    fn record(&self, from: Sender, line: &str) -> Value {
        let value: Value = serde_json::from_str(line).unwrap_or(Value::Null);
        let mut lines = self.0.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(Line {
            from,
            value: value.clone(),
        });
        drop(lines);
        self.0.changes.send_modify(|count| *count += 1);
        value
    }

    fn end(&self) {
        *self.0.ended.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.changes.send_modify(|count| *count += 1);
    }

    /// Everything so far.
    pub(crate) fn lines(&self) -> Vec<Line> {
        let lines = self.0.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.clone()
    }

    /// The messages of the server so far that match.
    pub(crate) fn server_messages(&self, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut lines = self.lines();
        lines.retain(|line| line.from == Sender::Server && fits(&line.value));
        lines.into_iter().map(|line| line.value).collect()
    }

    /// The first message of the server that matches, now or later.
    pub(crate) async fn wait_for_message(&self, fits: impl Fn(&Value) -> bool) -> Value {
        let mut changes = self.0.changes.subscribe();
        loop {
            changes.mark_unchanged();
            if let Some(first) = self.server_messages(&fits).into_iter().next() {
                return first;
            }
            changes.changed().await.expect("the tap is ours");
        }
    }

    /// The first notification of the server of a method.
    pub(crate) async fn notification(&self, method: &str) -> Value {
        self.wait_for_message(|line| line["method"] == method).await
    }

    /// The messages of the client so far with a method.
    pub(crate) fn client_messages(&self, method: &str) -> Vec<Value> {
        let mut lines = self.lines();
        lines.retain(|line| line.from == Sender::Client && line.value["method"] == method);
        lines.into_iter().map(|line| line.value).collect()
    }

    /// Says a line to the server.
    pub(crate) fn inject(&self, line: &Value) {
        self.0.inject.send(line.to_string()).expect("it is served");
    }

    /// Says a request to the server, whose id begins with [`OURS`], and waits for its answer.
    pub(crate) async fn ask(&self, request: &Value) -> Value {
        self.inject(request);
        self.answer(&request["id"]).await
    }

    /// The answer to a request of an id.
    pub(crate) async fn answer(&self, id: &Value) -> Value {
        self.wait_for_message(|line| line["id"] == *id && line.get("method").is_none())
            .await
    }

    /// Waits until no more messages can be sent.
    pub(crate) async fn ended(&self) {
        let mut changes = self.0.changes.subscribe();
        while *self.0.ended.lock().unwrap_or_else(PoisonError::into_inner) < 2 {
            changes.changed().await.expect("the tap is ours");
        }
    }
}
