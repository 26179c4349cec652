//! Roots: the directories that a client lets a server work in. Deprecated in 2026-07-28.
//!
//! Up to 2025-11-25 the server asks with `roots/list`, since 2026-07-28 with an
//! [input request](crate::input). Roots are advice, not a fence.
//!
//! ```
//! use bowline_types::roots::{ListRootsResult, Root};
//!
//! let roots = ListRootsResult::new([Root::new("file:///home/me/project").name("project")]);
//! assert_eq!(roots.roots[0].name.as_deref(), Some("project"));
//! ```

use crate::meta::{Meta, ResultMeta, ServerRequestMeta};

wire_struct! {
    /// A directory or file.
    pub struct Root {
        /// Where it is: a `file://` URI.
        req uri: String = "uri";
        /// Its name for people.
        opt name: String = "name";
        /// Additional data.
        meta meta: Meta = "_meta", in since(V2025_06_18);
    }
}

wire_struct! {
    /// The parameters of `roots/list`.
    pub struct ListRootsParams {
        /// Additional data.
        meta meta: ServerRequestMeta = "_meta";
        ..extras;
    }
}

wire_struct! {
    /// The result of `roots/list`.
    pub struct ListRootsResult {
        /// The roots.
        req roots: Vec<Root> = "roots";
        /// Additional data.
        meta meta: ResultMeta = "_meta", in until(V2025_11_25);
    }
}
