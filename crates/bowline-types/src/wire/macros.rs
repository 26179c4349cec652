//! The declarations from which every wire type is made.

/// A set of revisions in the words of a declaration; all of them by default.
macro_rules! revisions {
    () => {
        $crate::revision::Revisions::ALL
    };
    ($revisions:expr) => {{
        #[allow(unused_imports, reason = "a declaration uses some of the words")]
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
