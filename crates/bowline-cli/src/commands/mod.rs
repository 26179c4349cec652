//! The commands, one file each. A command gets its settings and a printer, and answers
//! with an exit status.

mod explain;
mod serve;

pub(crate) use explain::explain;
pub(crate) use serve::serve;

#[cfg(test)]
pub(crate) use explain::MAX_FRAME;
