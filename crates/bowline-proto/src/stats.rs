//! Counters of dropped and malformed messages.
/// Counters of dropped and malformed messages, and of violations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Responses to cancelled calls.
    pub late_responses: u64,
    /// Responses to calls that had ended.
    pub stale_responses: u64,
    /// Responses to calls that were never made.
    pub unknown_responses: u64,
    /// Malformed frames.
    pub malformed_frames: u64,
    /// Messages that the protocol forbids in their state.
    pub violations: u64,
    /// Cancellations, progress and other notifications that refer to nothing.
    pub unmatched_notifications: u64,
    /// Requests of the peer that were not admitted.
    pub refused_requests: u64,
    /// Our notifications that the transport never took.
    pub dropped_notifications: u64,
    /// Our responses whose streams never took them.
    pub dropped_responses: u64,
}

impl Stats {
    /// Returns the sums of both.
    #[must_use]
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            late_responses: self.late_responses + other.late_responses,
            stale_responses: self.stale_responses + other.stale_responses,
            unknown_responses: self.unknown_responses + other.unknown_responses,
            malformed_frames: self.malformed_frames + other.malformed_frames,
            violations: self.violations + other.violations,
            unmatched_notifications: self.unmatched_notifications + other.unmatched_notifications,
            refused_requests: self.refused_requests + other.refused_requests,
            dropped_notifications: self.dropped_notifications + other.dropped_notifications,
            dropped_responses: self.dropped_responses + other.dropped_responses,
        }
    }
}
