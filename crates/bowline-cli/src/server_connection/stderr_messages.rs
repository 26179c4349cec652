//! What is said on stderr while something else goes on, and perhaps a bar is drawn there.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use crate::escape;
use crate::printer;
use crate::progress::Progress;
use crate::redact;
use crate::settings::Format;

/// Says things beside a bar. Clones do the same.
#[derive(Clone, Debug)]
pub(super) struct StderrMessages {
    format: Format,
    bar: Arc<Mutex<Option<Progress>>>,
}

impl StderrMessages {
    /// For whoever reads the talk of the command.
    pub(super) fn new(format: Format) -> Self {
        Self {
            format,
            bar: Arc::default(),
        }
    }

    /// What is drawn from now on.
    pub(super) fn set_progress(&self, bar: Option<Progress>) {
        *self.bar.lock().unwrap_or_else(PoisonError::into_inner) = bar;
    }

    /// Leaves the terminal to a question, or takes it back.
    pub(super) fn pause_progress(&self, is_prompting: bool) {
        let bar = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
        match &*bar {
            Some(bar) if is_prompting => bar.pause(),
            Some(bar) => bar.resume(),
            None => {}
        }
    }

    /// Who it is said to.
    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// Says a line to a person; programs are not told.
    pub(super) fn write_text(&self, text: &str) {
        if self.format == Format::Text {
            self.write(&redact::without_secrets(text));
        }
    }

    /// Says a line to a program.
    pub(super) fn write_json(&self, value: &impl Serialize) {
        // What is said so can always be put into JSON.
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
