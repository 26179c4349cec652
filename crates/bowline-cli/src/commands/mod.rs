//! The commands, one file each. A command gets its settings and a printer, and answers
//! with an exit status.

mod explain;

pub(crate) use explain::explain;

#[cfg(test)]
pub(crate) use explain::MAX_FRAME;
