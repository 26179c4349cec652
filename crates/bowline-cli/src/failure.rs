//! Errors with a hint and an exit code.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use crate::exit::ExitStatus;

/// An error, what to do about it if that is known, and the exit status of the command.
#[derive(Debug)]
pub(crate) struct Failure {
    error: anyhow::Error,
    hint: Option<Cow<'static, str>>,
    /// The last lines that the server wrote to stderr.
    stderr_tail: Option<String>,
    status: ExitStatus,
}

/// Returns `error` with a hint.
pub(crate) fn hinted(error: anyhow::Error, hint: impl Into<Cow<'static, str>>) -> anyhow::Error {
    Failure::new(ExitStatus::Failed, error).hint(hint).into()
}

/// Returns `error` as a usage error, with a hint.
pub(crate) fn usage(error: anyhow::Error, hint: impl Into<Cow<'static, str>>) -> anyhow::Error {
    Failure::new(ExitStatus::Usage, error).hint(hint).into()
}

/// Returns the message of `error` with its causes, on one line. A cause that is part of the message
/// already is left out.
pub(crate) fn message_with_causes(error: &anyhow::Error) -> String {
    let mut words = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !words.contains(&cause) {
            words.extend([": ", &cause]);
        }
    }
    words
}

/// Formats the last lines of stderr as the end of an error message.
pub(crate) fn stderr_suffix(stderr_tail: &str) -> String {
    format!("; stderr: {}", stderr_tail.replace('\n', " "))
}

impl Failure {
    /// Creates a failure that ends the command with `status`.
    pub(crate) fn new(status: ExitStatus, error: anyhow::Error) -> Self {
        Self {
            error,
            hint: None,
            stderr_tail: None,
            status,
        }
    }

    /// Sets the last lines that the server wrote to stderr. The error message has them on one line.
    pub(crate) fn stderr_tail(mut self, lines: Option<String>) -> Self {
        self.stderr_tail = lines;
        self
    }

    /// Sets the hint.
    pub(crate) fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the hint of `error`, if it has one.
    pub(crate) fn hint_of(error: &anyhow::Error) -> Option<&str> {
        error.downcast_ref::<Self>()?.hint.as_deref()
    }

    /// Returns the last lines that the server wrote to stderr before `error`.
    pub(crate) fn stderr_tail_of(error: &anyhow::Error) -> Option<&str> {
        let failure = error.downcast_ref::<Self>()?;
        let own = failure.stderr_tail.as_deref();
        own.or_else(|| Self::stderr_tail_of(&failure.error))
    }

    /// Returns the inner error of `error`, if it is an `E`.
    pub(crate) fn inner_of<E: Error + Send + Sync + 'static>(error: &anyhow::Error) -> Option<&E> {
        // A failure may wrap another one to give a better hint.
        let inner = &error.downcast_ref::<Self>()?.error;
        inner.downcast_ref().or_else(|| Self::inner_of(inner))
    }

    /// Returns the exit status for `error`.
    pub(crate) fn status_of(error: &anyhow::Error) -> ExitStatus {
        let failure = error.downcast_ref::<Self>();
        failure.map_or(ExitStatus::Failed, |failure| failure.status)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn hint_and_status_survive_a_context() {
        let error = usage(anyhow!("the cause"), "what to do").context("what happened");
        assert_eq!(format!("{error:#}"), "what happened: the cause");
        assert_eq!(Failure::hint_of(&error), Some("what to do"));
        assert_eq!(Failure::status_of(&error), ExitStatus::Usage);
    }

    #[test]
    fn repeated_causes_are_left_out() {
        let error = anyhow!("expected a string").context("tools[0]: expected a string (byte 20)");
        assert_eq!(
            message_with_causes(&error),
            "tools[0]: expected a string (byte 20)"
        );
        let error = anyhow!("the cause").context("the cause").context("what");
        assert_eq!(message_with_causes(&error), "what: the cause");
        assert_eq!(message_with_causes(&hinted(error, "x")), "what: the cause");
    }

    #[test]
    fn inner_errors_are_found() {
        let cause = std::io::Error::other("x");
        let error = hinted(cause.into(), "y");
        assert!(Failure::inner_of::<std::io::Error>(&error).is_some());
        assert!(Failure::inner_of::<fmt::Error>(&error).is_none());
        let error = hinted(error, "z");
        assert!(Failure::inner_of::<std::io::Error>(&error).is_some());
        assert!(Failure::inner_of::<std::io::Error>(&anyhow!("x")).is_none());
    }

    #[test]
    fn an_error_without_a_status_is_a_failure() {
        let error = anyhow!("x");
        assert_eq!(Failure::hint_of(&error), None);
        assert_eq!(Failure::status_of(&error), ExitStatus::Failed);
        assert_eq!(Failure::status_of(&hinted(error, "y")), ExitStatus::Failed);
    }
}
