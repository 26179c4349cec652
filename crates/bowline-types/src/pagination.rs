//! Pagination: long lists are split into pages.
//!
//! A result with `next_cursor` has a next page, which is requested with that cursor. A cursor is
//! opaque. Since 2026-07-28 the empty string is a valid cursor: only the absence of `next_cursor`
//! ends the list. Servers of earlier revisions may end it with an empty string, so a client that
//! follows cursors has to handle both.
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

use crate::json::{DecodeError, RawJsonRef, shortened};
use crate::meta::RequestMeta;

/// Declares the result of a `list` method: a page of items, cacheable since 2026-07-28.
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
                req $list: $type = $wire, skipping invalid;
                /// The cursor of the next page; absent on the last page.
                opt next_cursor: String = "nextCursor";
                /// How long the result may be cached, in milliseconds.
                hint ttl_ms: i64 = "ttlMs", in since(V2026_07_28), must since(V2026_07_28),
            when crate::caching::is_duration, default "0", shaped &crate::wire::Shape::Natural;
                /// Which clients may share a cached copy.
                hint cache_scope: crate::caching::CacheScope = "cacheScope",
                    in since(V2026_07_28), must since(V2026_07_28), default "\"private\"";
                /// Additional metadata.
                meta meta: crate::meta::ResultMeta = "_meta";
                !skipped_items;
            }
        }
    };
}

wire_struct! {
    /// The parameters of every `list` method.
    pub struct PaginatedParams {
        /// The cursor of the page; the first page if absent.
        opt cursor: String = "cursor";
        /// Additional metadata.
        meta meta: RequestMeta = "_meta", must since(V2026_07_28);
    }
}

/// The items of a page that could not be decoded. They are reported here, so that one invalid item
/// doesn't hide the others.
///
/// ```
/// use bowline_types::Wire;
/// use bowline_types::tools::ListToolsResult;
///
/// let page = r#"{"tools":[{"name":"a"},{"name":"b","inputSchema":{"type":"object"}}]}"#;
/// let page = ListToolsResult::from_json(page)?;
/// assert_eq!(page.tools[0].name, "b");
/// assert_eq!(page.skipped_items.first[0].name.as_deref(), Some("a"));
/// # Ok::<(), bowline_types::DecodeError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SkippedItems {
    /// The number of skipped items.
    pub count: usize,
    /// The first of them, at most ten: a page may consist of invalid items alone.
    pub first: Vec<InvalidItem>,
}

/// A list item that could not be decoded.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InvalidItem {
    /// The name of the item, shortened, if it has one.
    pub name: Option<String>,
    /// The error, with the path to the item in the page.
    pub error: DecodeError,
}

impl SkippedItems {
    /// Returns `true` if no item was skipped.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds the skipped items of another page.
    pub fn append(&mut self, other: Self) {
        self.count += other.count;
        let room = MAX_RECORDED.saturating_sub(self.first.len());
        self.first.extend(other.first.into_iter().take(room));
    }

    pub(crate) fn record(&mut self, item: RawJsonRef<'_>, error: impl FnOnce() -> DecodeError) {
        self.count += 1;
        if self.first.len() < MAX_RECORDED {
            let name = item.reader().peek_tag("name").ok().flatten();
            self.first.push(InvalidItem {
                name: name.map(|name| shortened(&name).into()),
                error: error(),
            });
        }
    }
}

/// The number of skipped items that are recorded individually.
const MAX_RECORDED: usize = 10;
