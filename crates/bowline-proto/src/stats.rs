//! Counters of dropped and malformed messages.
/// Counters of dropped and malformed messages, and of violations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Responses to cancelled calls.
    pub late_answers: u64,
    /// Responses to calls that had ended.
    pub stale_answers: u64,
    /// Responses to calls that were never made.
    pub unknown_answers: u64,
    /// Malformed frames.
    pub malformed_frames: u64,
    /// Messages that the protocol forbids in their state.
    pub violations: u64,
    /// Cancellations, progress and other notifications that refer to nothing.
    pub pointless_notifications: u64,
    /// Requests of the peer that were not admitted.
    pub refused_requests: u64,
    /// Our notifications that the transport never took.
    pub dropped_notifications: u64,
    /// Our responses whose streams never took them.
    pub dropped_answers: u64,
}

impl Stats {
    /// Returns the sums of both.
    #[must_use]
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            late_answers: self.late_answers + other.late_answers,
            stale_answers: self.stale_answers + other.stale_answers,
            unknown_answers: self.unknown_answers + other.unknown_answers,
            malformed_frames: self.malformed_frames + other.malformed_frames,
            violations: self.violations + other.violations,
            pointless_notifications: self.pointless_notifications + other.pointless_notifications,
            refused_requests: self.refused_requests + other.refused_requests,
            dropped_notifications: self.dropped_notifications + other.dropped_notifications,
            dropped_answers: self.dropped_answers + other.dropped_answers,
        }
    }
}
