//! Caching: how long and for whom a result stays good. New in 2026-07-28.
//!
//! Lists, `resources/read` and `server/discover` carry `ttlMs` and `cacheScope`. A
//! server that sets neither says "stale at once, private", which is always true:
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
//! // Older revisions have no such hints.
//! assert_eq!(shared.to_json(Revision::V2025_11_25)?.as_str(), r#"{"tools":[]}"#);
//! # Ok::<(), bowline_types::NotInRevision>(())
//! ```

use crate::revision::Revision;

wire_choice! {
    /// Who may share a cached result. It is no access control.
    pub enum CacheScope {
        /// Everybody, whatever their authorization.
        Public = "public",
        /// Only those with the same authorization.
        Private = "private",
    }
}

/// A time that is negative means stale at once, which is said with 0.
pub(crate) fn is_duration(millis: &i64, _: Revision) -> bool {
    *millis >= 0
}
