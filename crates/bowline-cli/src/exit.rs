//! Exit codes: how a command tells a script what became of it.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// 0: done, and all is well.
    Done,
    /// 1: failed, or what was asked about is not well.
    Failed,
    /// 2: the command line makes no sense.
    Usage,
    /// 3: the server wants somebody to sign in, or says no to who has.
    Authorization,
    /// 4: the server can't be started or reached.
    Unreachable,
    /// 5: the tool answered, with an error.
    ToolError,
}

impl ExitStatus {
    /// The number that the shell sees.
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
