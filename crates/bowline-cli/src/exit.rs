//! The exit codes.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// 0: success.
    Done,
    /// 1: failure, or what was checked is not valid.
    Failed,
    /// 2: usage error.
    Usage,
    /// 3: the server requires authorization, or refused it.
    Authorization,
    /// 4: the server can't be started or reached.
    Unreachable,
    /// 5: the tool reported an error.
    ToolError,
}

impl ExitStatus {
    /// Returns the exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Authorization => 3,
            Self::Unreachable => 4,
            Self::ToolError => 5,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.code())
    }
}
