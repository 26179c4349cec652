//! Lines of a stderr, for the log or a function.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Bytes of a line. The rest is cut: output without line breaks is one line.
const MAX_LINE: usize = 8 * 1024;

type Callback = Arc<dyn Fn(&str) + Send + Sync>;

/// Splits chunks into lines.
pub(super) struct Lines {
    line: Vec<u8>,
    to: Option<Callback>,
}

impl Lines {
    pub(super) fn to_log() -> Self {
        let line = Vec::new();
        Self { line, to: None }
    }

    pub(super) fn to_callback(callback: Callback) -> Self {
        let line = Vec::new();
        let to = Some(callback);
        Self { line, to }
    }

    /// Passes on the lines that are complete.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let mut parts = bytes.split(|byte| *byte == b'\n');
        // What is before the first line break continues a line, what is after one ends it.
        self.append(parts.next().unwrap_or_default());
        for part in parts {
            self.emit_line();
            self.append(part);
        }
    }

    /// Passes on what is left.
    pub(super) fn finish(&mut self) {
        if !self.line.is_empty() {
            self.emit_line();
        }
    }

    fn append(&mut self, part: &[u8]) {
        let room = MAX_LINE.saturating_sub(self.line.len());
        let part = part.get(..room).unwrap_or(part);
        self.line.extend_from_slice(part);
    }

    fn emit_line(&mut self) {
        let text = String::from_utf8_lossy(&self.line);
        let text = text.strip_suffix('\r').unwrap_or(&text);
        match &self.to {
            None => tracing::debug!(
                target: "bowline::stderr", line = %text.escape_debug(),
                "server wrote a line to stderr"
            ),
            Some(callback) => {
                // A panic was logged by the panic handler; the next line is still passed on.
                let _ = catch_unwind(AssertUnwindSafe(|| callback(text)));
            }
        }
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn lines(chunks: &[&[u8]]) -> Vec<String> {
        let lines_seen = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&lines_seen);
        let mut lines = Lines::to_callback(Arc::new(move |line: &str| {
            seen.lock().unwrap().push(line.to_owned());
            assert!(!line.contains("panic"), "contained");
        }));
        for chunk in chunks {
            lines.push(chunk);
        }
        lines.finish();
        let lines_seen = lines_seen.lock().unwrap_or_else(|error| error.into_inner());
        lines_seen.clone()
    }

    #[test]
    fn chunks_become_lines() {
        assert_eq!(lines(&[b"a", b"b\r\n\nc\nd"]), ["ab", "", "c", "d"]);
        assert_eq!(lines(&[b"a\n"]), ["a"]);
        assert!(lines(&[]).is_empty());
    }

    // proves: F-CP-02
    #[test]
    fn a_line_is_bounded_and_valid() {
        let lines_seen = lines(&[&[b'x'; MAX_LINE], b"y\n\xffz\n"]);
        assert_eq!(lines_seen, ["x".repeat(MAX_LINE).as_str(), "\u{fffd}z"]);
    }

    #[test]
    fn a_panic_is_contained() {
        let lines_seen = std::panic::catch_unwind(|| lines(&[b"before\npanic\nafter\n"]));
        assert_eq!(lines_seen.expect("contained"), ["before", "panic", "after"]);
    }
}
