//! The macros that declare the types of the protocol.
//!
//! `structs` declares objects, `choices` enumerations of strings, `unions` values of several types.

/// A set of revisions in a declaration; all revisions by default.
macro_rules! revisions {
    () => {
        $crate::revision::Revisions::ALL
    };
    ($revisions:expr) => {{
        #[allow(unused_imports, reason = "a declaration uses some of the names")]
        use $crate::revision::terms::*;
        $revisions
    }};
}

#[macro_use]
mod choices;
#[macro_use]
mod structs;
#[macro_use]
mod unions;
