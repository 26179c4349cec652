//! Pagination: long lists come in pages.
//!
//! A result with `next_cursor` has a next page, which is asked for with that cursor.
//! A cursor is opaque, and the empty string is one: only its absence ends the list.
//!
//! ```
//! use bowline_types::pagination::PaginatedParams;
//! use bowline_types::tools::ListToolsResult;
//!
//! fn next_page(result: &ListToolsResult) -> Option<PaginatedParams> {
//!     let cursor = result.next_cursor.clone()?;
//!     Some(PaginatedParams::new().cursor(cursor))
//! }
//! assert!(next_page(&ListToolsResult::new([]).next_cursor("")).is_some());
//! assert!(next_page(&ListToolsResult::new([])).is_none());
//! ```

use crate::meta::RequestMeta;

wire_struct! {
    /// The parameters of every `list` method.
    pub struct PaginatedParams {
        /// Where the page begins; the first page when absent.
        opt cursor: String = "cursor";
        /// Additional data.
        meta meta: RequestMeta = "_meta", must since(V2026_07_28);
    }
}
