//! Pagination: long lists come in pages.
//!
//! A result with `next_cursor` has a next page, which is asked for with that cursor.
//! A cursor is opaque, and since 2026-07-28 the empty string is one: only its absence ends the
//! list. Servers before that may mean the end with it, which whoever follows cursors has to know.
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
                req $list: $type = $wire, skipping invalid;
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
                !skipped_items;
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

/// Items of a page that make no sense, and are not among the others: one odd item must not hide
/// them.
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
    /// How many there are.
    pub count: usize,
    /// The first of them, ten at most: a page may be nothing else.
    pub first: Vec<InvalidItem>,
}

/// An item of a list that makes no sense.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InvalidItem {
    /// Its name, shortened, if it has one.
    pub name: Option<String>,
    /// What is wrong with it, and where in the page.
    pub error: DecodeError,
}

impl SkippedItems {
    /// Whether nothing was left out.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds what another page left out.
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

/// Odd items that are told apart.
const MAX_RECORDED: usize = 10;
