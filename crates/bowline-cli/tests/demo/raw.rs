//! The demo without a client of ours: lines in, lines out.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use serde_json::{Value, json};

use crate::support::LONG;

pub(crate) struct Raw {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Raw {
    pub(crate) fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bowline"))
            .args(["serve", "demo"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines() {
                if sender.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            stdin,
            lines,
        }
    }

    /// The demo, after the handshake of 2025-11-25.
    pub(crate) fn initialized() -> Self {
        let mut raw = Self::start();
        let client = json!({"name": "raw", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        raw.say(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
        assert_eq!(raw.hear()["id"], 0);
        raw.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        raw
    }

    pub(crate) fn say(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    /// Says a request of 2026-07-28.
    pub(crate) fn ask(&mut self, id: u32, method: &str, mut params: Value) {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    pub(crate) fn hear_line(&mut self) -> String {
        self.lines.recv_timeout(LONG).unwrap()
    }

    pub(crate) fn hear(&mut self) -> Value {
        serde_json::from_str(&self.hear_line()).unwrap()
    }

    /// No more is said to it.
    pub(crate) fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// What it still has to say, and how it ends.
    pub(crate) fn end(mut self) -> (Vec<String>, ExitStatus) {
        // The lines are over when stdout is closed.
        let rest = self.lines.iter().collect();
        (rest, self.child.wait().unwrap())
    }
}
