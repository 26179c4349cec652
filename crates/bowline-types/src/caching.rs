//! Caching: how long a result stays valid, and for which clients. New in 2026-07-28.
//!
//! Lists, `resources/read` and `server/discover` carry `ttlMs` and `cacheScope`. The defaults are
//! "immediately stale" and "private", which are always safe:
//!
//! ```
//! use bowline_types::caching::CacheScope;
//! use bowline_types::tools::ListToolsResult;
//! use bowline_types::{Revision, Wire};
//!
//! let careful = ListToolsResult::new([]);
//! let json = careful.to_json(Revision::V2026_07_28)?.to_string();
//! assert!(json.contains(r#""ttlMs":0,"cacheScope":"private""#));
//!
//! let shared = ListToolsResult::new([]).ttl_ms(60_000).cache_scope(CacheScope::Public);
//! // Earlier revisions have no such hints.
//! assert_eq!(shared.to_json(Revision::V2025_11_25)?.as_str(), r#"{"tools":[]}"#);
//! # Ok::<(), bowline_types::NotInRevision>(())
//! ```

use crate::revision::Revision;

wire_choice! {
    /// Which clients may share a cached result. Not a means of access control.
    pub enum CacheScope {
        /// All clients, whatever their authorization.
        Public = "public",
        /// Only clients with the same authorization.
        Private = "private",
    }
}

/// Returns `true` for a valid duration. A negative one means "immediately stale", which is written
/// as 0.
pub(crate) fn is_duration(millis: &i64, _: Revision) -> bool {
    *millis >= 0
}
