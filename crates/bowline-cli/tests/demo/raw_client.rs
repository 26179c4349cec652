//! A client without our library: lines in, lines out.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use std::{fs, thread};

use serde_json::{Value, json};

use crate::support::LONG;

pub(crate) struct RawClient {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl RawClient {
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
        raw.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
        assert_eq!(raw.hear()["id"], 0);
        raw.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        raw
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    /// Sends a request of 2026-07-28.
    pub(crate) fn ask(&mut self, id: u32, method: &str, mut params: Value) {
        params["_meta"] = stateless_meta();
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    pub(crate) fn hear_line(&mut self) -> String {
        self.lines.recv_timeout(LONG).unwrap()
    }

    pub(crate) fn hear(&mut self) -> Value {
        serde_json::from_str(&self.hear_line()).unwrap()
    }

    /// No more is written to it.
    pub(crate) fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// The processor time that it has used, ended or not.
    pub(crate) fn cpu_time(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        // The name in parentheses may contain anything; what follows are numbers.
        let fields: Vec<_> = stat.rsplit(')').next().unwrap().split(' ').collect();
        // utime and stime, in hundredths of a second.
        let ticks = fields[12..14]
            .iter()
            .map(|field| field.parse::<u64>().unwrap());
        Duration::from_millis(ticks.sum::<u64>() * 10)
    }

    /// Waits until it sends nothing more.
    pub(crate) fn silence(&self) -> Vec<String> {
        // The lines are over when stdout is closed.
        self.lines.iter().collect()
    }

    /// Returns what it still sends, and how it ends.
    pub(crate) fn end(mut self) -> (Vec<String>, ExitStatus) {
        (self.silence(), self.child.wait().unwrap())
    }
}

/// The `_meta` of a request of 2026-07-28.
pub(crate) fn stateless_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}
