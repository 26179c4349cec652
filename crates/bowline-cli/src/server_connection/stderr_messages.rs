//! Lines on stderr while a progress bar may be drawn there.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use crate::escape;
use crate::printer;
use crate::progress::Progress;
use crate::redact;
use crate::settings::Format;

/// Writes lines above a progress bar. Clones share the bar.
#[derive(Clone, Debug)]
pub(super) struct StderrMessages {
    format: Format,
    bar: Arc<Mutex<Option<Progress>>>,
}

impl StderrMessages {
    /// Creates a writer without a bar.
    pub(super) fn new(format: Format) -> Self {
        Self {
            format,
            bar: Arc::default(),
        }
    }

    /// Sets the bar that is drawn from now on.
    pub(super) fn set_progress(&self, bar: Option<Progress>) {
        *self.bar.lock().unwrap_or_else(PoisonError::into_inner) = bar;
    }

    /// Pauses the bar while a prompt uses the terminal, and resumes it afterwards.
    pub(super) fn pause_progress(&self, is_prompting: bool) {
        let bar = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
        match &*bar {
            Some(bar) if is_prompting => bar.pause(),
            Some(bar) => bar.resume(),
            None => {}
        }
    }

    /// Returns the format of messages.
    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// Writes a line of text, unless messages are JSON.
    pub(super) fn write_text(&self, text: &str) {
        if self.format == Format::Text {
            self.write(&redact::without_secrets(text));
        }
    }

    /// Writes a JSON object as a line.
    pub(super) fn write_json(&self, value: &impl Serialize) {
        // These values can always be serialized.
        if let Ok(json) = serde_json::to_string(value) {
            let json = redact::json_without_secrets(&json);
            self.write(&escape::in_json(&json));
        }
    }

    fn write(&self, line: &str) {
        let bar = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
        match &*bar {
            Some(bar) => bar.beside(|| printer::aside(line)),
            None => printer::aside(line),
        }
    }
}
