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

/// Declares the result of a `list` method: a page of something that may be cached.
macro_rules! list_result {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident $([$revisions:expr])? {
            $(#[$list_attribute:meta])*
            $list:ident: $type:ty = $wire:literal;
        }
    ) => {
        wire_struct! {
            $(#[$attribute])*
            pub struct $name $([$revisions])? {
                @lenient "resultType" = "complete", in since(V2026_07_28);
                $(#[$list_attribute])*
                req $list: $type = $wire;
                /// Where the next page begins; the last page has none.
                opt next_cursor: String = "nextCursor";
                /// How long it may be cached, in milliseconds.
                hint ttl_ms: i64 = "ttlMs", in since(V2026_07_28), must since(V2026_07_28),
            when crate::caching::is_duration, default "0", shaped &crate::wire::Shape::Natural;
                /// Who may share a cached copy.
                hint cache_scope: crate::caching::CacheScope = "cacheScope",
                    in since(V2026_07_28), must since(V2026_07_28), default "\"private\"";
                /// Additional data.
                meta meta: crate::meta::ResultMeta = "_meta";
            }
        }
    };
}

wire_struct! {
    /// The parameters of every `list` method.
    pub struct PaginatedParams {
        /// Where the page begins; the first page when absent.
        opt cursor: String = "cursor";
        /// Additional data.
        meta meta: RequestMeta = "_meta", must since(V2026_07_28);
    }
}
