//! The stderr of a child: always drained, its end kept.
//!
//! A task drains it for as long as the child runs and may write more, even when the
//! stream is closed: a child that can't write can't end either.
//!
//! `lines` splits the output into lines for the log or a function; `file` copies it to a file in a
//! thread of its own.

mod file;
mod lines;

use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::future::{Future as _, poll_fn};
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStderr;
use tokio::sync::{oneshot, watch};
use tracing::Instrument as _;

use super::reaper::Exit;
use file::Tee;
use lines::Lines;

pub(super) use file::open;

/// Bytes that are kept.
const MAX_TAIL: usize = 64 * 1024;

/// Bytes that an error shows.
const MAX_SHOWN: usize = 2048;

/// Bytes that are read at once.
const CHUNK: usize = 16 * 1024;

/// How long a stderr is drained that another process holds when the child has ended.
const LINGER: Duration = Duration::from_secs(1);

/// Where a child's stderr goes. Its end is kept for errors, unless it is inherited.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum StderrTo {
    /// To the log, line by line: target `bowline::stderr`, level debug.
    #[default]
    Log,
    /// Nowhere.
    Nowhere,
    /// To our own stderr.
    Inherit,
    /// To a function, line by line. What of a line is beyond 8 KiB is cut, and what is not
    /// UTF-8 replaced. It runs on the runtime: it should not block. A panic in it is
    /// contained.
    Callback(Arc<dyn Fn(&str) + Send + Sync>),
    /// To the end of a file, as it is written. A disk that is slower than the child slows it
    /// down; one that stalls for a second loses what is written meanwhile, and the file
    /// notes how many bytes that were.
    File(PathBuf),
}

impl fmt::Debug for StderrTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log => f.write_str("Log"),
            Self::Nowhere => f.write_str("Nowhere"),
            Self::Inherit => f.write_str("Inherit"),
            Self::Callback(_) => f.write_str("Callback(..)"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}

/// The end of the stderr of a child.
#[derive(Clone, Debug)]
pub(super) struct Tail {
    kept: Arc<Mutex<VecDeque<u8>>>,
    /// Closed when there is no more to come.
    over: watch::Receiver<()>,
}

/// The stderr of a child is drained while this is held, and a little longer.
#[derive(Debug)]
pub(super) struct DrainGuard {
    _held: oneshot::Sender<()>,
}

/// Where the output goes besides the tail.
enum Sink {
    Discard,
    Lines(Lines),
    File(Tee),
}

impl Tail {
    /// Returns the tail of a child whose stderr is not captured.
    pub(super) fn silent() -> Self {
        let (_, over) = watch::channel(());
        let kept = Arc::default();
        Self { kept, over }
    }

    /// Drains a child's stderr. Must be called within a runtime.
    pub(super) fn drain_from(
        stderr: std::process::ChildStderr,
        to: &StderrTo,
        file: Option<File>,
        exit: watch::Receiver<Exit>,
    ) -> io::Result<(Self, DrainGuard)> {
        let stderr = ChildStderr::from_std(stderr)?;
        let sink = match (to, file) {
            (_, Some(file)) => Sink::File(Tee::start(file)?),
            (StderrTo::Log, None) => Sink::Lines(Lines::to_log()),
            (StderrTo::Callback(callback), None) => {
                Sink::Lines(Lines::to_callback(Arc::clone(callback)))
            }
            (StderrTo::Nowhere | StderrTo::Inherit | StderrTo::File(_), None) => Sink::Discard,
        };
        let (running, over) = watch::channel(());
        let (_held, guard_dropped) = oneshot::channel();
        let kept = Arc::default();
        let tail = Self { kept, over };
        let drained = tail.clone();
        let draining = async move {
            let mut drained = pin!(drained.drain(stderr, sink));
            let mut drain_deadline = pin!(drain_deadline(exit, guard_dropped));
            poll_fn(|cx| match drained.as_mut().poll(cx) {
                Poll::Ready(()) => Poll::Ready(()),
                Poll::Pending => drain_deadline.as_mut().poll(cx),
            })
            .await;
            drop(running);
        };
        tokio::spawn(draining.in_current_span());
        Ok((tail, DrainGuard { _held }))
    }

    async fn drain(&self, mut stderr: ChildStderr, mut sink: Sink) {
        let mut chunk = vec![0; CHUNK];
        while let Ok(length @ 1..) = stderr.read(&mut chunk).await {
            let bytes = chunk.get(..length).unwrap_or_default();
            self.push(bytes);
            match &mut sink {
                Sink::Discard => {}
                Sink::Lines(lines) => lines.push(bytes),
                Sink::File(tee) => tee.push(bytes).await,
            }
        }
        if let Sink::Lines(lines) = &mut sink {
            lines.finish();
        }
    }

    fn push(&self, bytes: &[u8]) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let excess = (kept.len() + bytes.len()).saturating_sub(MAX_TAIL);
        let excess = excess.min(kept.len());
        kept.drain(..excess);
        kept.extend(bytes);
    }

    /// Waits until there is no more to come. Cancel safe.
    pub(super) async fn finished(&self) {
        let mut over = self.over.clone();
        while over.changed().await.is_ok() {}
    }

    /// Returns what is kept, as it was written.
    pub(super) fn text(&self) -> String {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(kept.make_contiguous());
        last(&text, MAX_TAIL).to_owned()
    }
}

/// Waits until the output is no longer needed: the stream is closed, the child has ended, and
/// processes that it left behind have had their time.
async fn drain_deadline(mut exit: watch::Receiver<Exit>, guard_dropped: oneshot::Receiver<()>) {
    let _ = guard_dropped.await;
    let _ = exit.wait_for(|exit| *exit != Exit::Running).await;
    tokio::time::sleep(LINGER).await;
}

/// Returns the last output as an error shows it: [`lines`] on one line.
pub(super) fn one_line(text: &str) -> String {
    lines(text).replace('\n', " ")
}

/// Returns the last lines of output: short, and without what would confuse a terminal or reorder
/// the text around it.
pub(super) fn lines(text: &str) -> String {
    let text = last(text.trim_end(), MAX_SHOWN).trim_start();
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\n' => shown.push('\n'),
            '\r' => {}
            char if char.is_control() || is_bidirectional(char) => {
                shown.extend(char.escape_default());
            }
            char => shown.push(char),
        }
    }
    last(&shown, MAX_SHOWN).to_owned()
}

fn is_bidirectional(char: char) -> bool {
    matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns the end of a text, whole characters of it.
fn last(text: &str, bytes: usize) -> &str {
    let from = text.ceil_char_boundary(text.len().saturating_sub(bytes));
    text.get(from..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: F-CP-02
    #[test]
    fn shown_lines_are_short_and_harmless() {
        assert_eq!(
            one_line("\u{1b}[31mred\u{7}\r\nnext\u{202e}\n\n"),
            r"\u{1b}[31mred\u{7} next\u{202e}"
        );
        assert_eq!(lines("\none\r\n  two\u{1b}\n"), "one\n  two\\u{1b}");
        let long = "\u{1b}é".repeat(MAX_TAIL);
        assert!(one_line(&long).len() <= MAX_SHOWN);
    }

    // proves: F-CP-01, F-CP-02
    #[test]
    fn the_end_is_kept_and_no_more() {
        let tail = Tail::silent();
        tail.push(&[b'a'; MAX_TAIL]);
        tail.push(b"b");
        assert_eq!(tail.text().len(), MAX_TAIL);
        assert!(tail.text().ends_with("ab"));
        tail.push(&[0xff; MAX_TAIL]);
        let text = tail.text();
        assert!(text.len() <= MAX_TAIL && text.chars().all(|char| char == '\u{fffd}'));
    }
}
