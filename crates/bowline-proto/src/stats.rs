//! Counters of what has no other trace.

/// How often something happened that has no other trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Answers to calls that were given up.
    pub late_answers: u64,
    /// Answers to calls that had ended.
    pub stale_answers: u64,
    /// Answers to calls that were never made.
    pub unknown_answers: u64,
    /// Frames that are no message.
    pub malformed_frames: u64,
    /// Messages that are not allowed where they came.
    pub violations: u64,
    /// Cancellations, progress and other notifications of nothing that goes on.
    pub pointless_notifications: u64,
    /// Requests of the peer that were not admitted.
    pub refused_requests: u64,
    /// Notifications of ours that the transport never took.
    pub dropped_notifications: u64,
}
