//! What a child says on stderr: always drained, its end kept.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStderr;

use super::StderrTo;

/// Bytes that are kept.
const KEPT: usize = 64 * 1024;

/// Bytes of a line that go to the log.
const LINE: usize = 1024;

/// Bytes that an error shows.
const SHOWN: usize = 2048;

/// The end of what a child said.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl Tail {
    /// Drains a child's stderr for as long as it is open.
    pub(super) fn follow(stderr: std::process::ChildStderr, to: StderrTo) -> io::Result<Self> {
        let mut stderr = ChildStderr::from_std(stderr)?;
        let tail = Self::default();
        let kept = tail.clone();
        tokio::spawn(async move {
            let mut chunk = vec![0; 8 * 1024];
            let mut line = Vec::new();
            while let Ok(length @ 1..) = stderr.read(&mut chunk).await {
                let said = chunk.get(..length).unwrap_or_default();
                kept.push(said);
                if to == StderrTo::Log {
                    log(said, &mut line);
                }
            }
        });
        Ok(tail)
    }

    fn push(&self, said: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(said);
        let excess = kept.len().saturating_sub(KEPT);
        kept.drain(..excess);
    }

    /// The last words, without what would confuse a terminal.
    pub(super) fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let from = kept.len().saturating_sub(SHOWN);
        let bytes: Vec<u8> = kept.iter().skip(from).copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let shown = text.trim().chars();
        let shown = shown.map(|char| match char {
            '\n' => ' ',
            char if char.is_control() => '\u{fffd}',
            char => char,
        });
        shown.collect()
    }
}

/// Logs the lines that are complete. What is too long for one is cut.
fn log(said: &[u8], line: &mut Vec<u8>) {
    for byte in said {
        match byte {
            b'\n' => {
                let text = String::from_utf8_lossy(line);
                tracing::debug!(target: "bowline::stderr", line = %text.escape_debug());
                line.clear();
            }
            byte if line.len() < LINE => line.push(*byte),
            _ => {}
        }
    }
}
