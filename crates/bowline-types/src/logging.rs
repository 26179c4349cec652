//! Logging: log messages of a server. Deprecated in 2026-07-28.
//!
//! Up to 2025-11-25 a client sets the minimum level of a session with `logging/setLevel`. Since
//! 2026-07-28 each request states a level in its `_meta`
//! ([`keys::LOG_LEVEL`](crate::meta::keys::LOG_LEVEL)); without it the server sends no log
//! messages.
//!
//! ```
//! use bowline_types::RawJson;
//! use bowline_types::logging::{LoggingLevel, LoggingMessageParams};
//!
//! let message = LoggingMessageParams::new(
//!     LoggingLevel::Warning,
//!     RawJson::from_serialize("disk is nearly full")?,
//! );
//! assert!(message.level.is_at_least(&LoggingLevel::Notice));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::json::RawJson;
use crate::meta::{NotificationMeta, RequestMeta};

wire_choice! {
    /// The severity of a log message, as in syslog (RFC 5424).
    pub enum LoggingLevel {
        /// Debugging details.
        Debug = "debug",
        /// Informational messages.
        Info = "info",
        /// Normal but significant events.
        Notice = "notice",
        /// Warning conditions.
        Warning = "warning",
        /// Error conditions.
        Error = "error",
        /// Critical conditions, such as the failure of a component.
        Critical = "critical",
        /// Immediate action is required.
        Alert = "alert",
        /// The system is unusable.
        Emergency = "emergency",
    }
}

impl LoggingLevel {
    /// Returns `true` if the level is at least as severe as `other`. An unknown level is treated
    /// as the most severe, so that its messages are never filtered out.
    pub fn is_at_least(&self, other: &Self) -> bool {
        self.severity() >= other.severity()
    }

    fn severity(&self) -> u8 {
        match self {
            Self::Debug => 0,
            Self::Info => 1,
            Self::Notice => 2,
            Self::Warning => 3,
            Self::Error => 4,
            Self::Critical => 5,
            Self::Alert => 6,
            Self::Emergency => 7,
            Self::Other(_) => 8,
        }
    }
}

wire_struct! {
    /// The parameters of `logging/setLevel`. Up to 2025-11-25.
    pub struct SetLevelParams [until(V2025_11_25)] {
        /// The minimum level of messages to send.
        req level: LoggingLevel = "level";
        /// Additional metadata.
        meta meta: RequestMeta = "_meta";
    }
}

wire_struct! {
    /// The parameters of `notifications/message`.
    pub struct LoggingMessageParams {
        /// The severity.
        req level: LoggingLevel = "level";
        /// The message: a string or any other JSON value.
        req data: RawJson = "data";
        /// The name of the logger.
        opt logger: String = "logger";
        /// Additional metadata.
        meta meta: NotificationMeta = "_meta";
    }
}
