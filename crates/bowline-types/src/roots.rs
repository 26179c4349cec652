//! Roots: the directories that a server may work in. Deprecated in 2026-07-28.
//!
//! Up to 2025-11-25 the server requests them with `roots/list`, since 2026-07-28 with an [input
//! request](crate::input). Roots are advisory: they don't restrict access.
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
        /// The location: a `file://` URI.
        req uri: String = "uri";
        /// The display name.
        opt name: String = "name";
        /// Additional metadata.
        meta meta: Meta = "_meta", in since(V2025_06_18);
    }
}

wire_struct! {
    /// The parameters of `roots/list`.
    pub struct ListRootsParams {
        /// Additional metadata.
        meta meta: ServerRequestMeta = "_meta";
        ..extras;
    }
}

wire_struct! {
    /// The result of `roots/list`.
    pub struct ListRootsResult {
        /// The roots.
        req roots: Vec<Root> = "roots";
        /// Additional metadata.
        meta meta: ResultMeta = "_meta", in until(V2025_11_25);
    }
}
