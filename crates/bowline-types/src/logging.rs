//! Logging: a server's messages for the people who run it. Deprecated in 2026-07-28.
//!
//! Up to 2025-11-25 a client sets the level of a session with `logging/setLevel`; since
//! 2026-07-28 each request asks for a level in its `_meta`
//! ([`keys::LOG_LEVEL`](crate::meta::keys::LOG_LEVEL)) or gets no messages.
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
    /// How serious a message is, as in syslog (RFC 5424).
    pub enum LoggingLevel {
        /// Details for developers.
        Debug = "debug",
        /// What is going on.
        Info = "info",
        /// Normal but worth a look.
        Notice = "notice",
        /// Something may go wrong.
        Warning = "warning",
        /// Something went wrong.
        Error = "error",
        /// A part has failed.
        Critical = "critical",
        /// Somebody must act at once.
        Alert = "alert",
        /// Nothing works.
        Emergency = "emergency",
    }
}

impl LoggingLevel {
    /// Whether it is as serious as `other` or more. A level that isn't known is at least
    /// as serious as any, so that it is never filtered away.
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
        /// Send messages of this level and above.
        req level: LoggingLevel = "level";
        /// Additional data.
        meta meta: RequestMeta = "_meta";
    }
}

wire_struct! {
    /// The parameters of `notifications/message`.
    pub struct LoggingMessageParams {
        /// How serious it is.
        req level: LoggingLevel = "level";
        /// The message: a text or any other value.
        req data: RawJson = "data";
        /// The part of the server that speaks.
        opt logger: String = "logger";
        /// Additional data.
        meta meta: NotificationMeta = "_meta";
    }
}
