//! What several tests of the envelope use.

pub(crate) mod frames;
pub(crate) mod oracle;
pub(crate) mod outcome;
