//! The beginning of a connection: handshake and discovery.
//!
//! Up to 2025-11-25 a client begins with `initialize`, and both sides learn the revision
//! and the capabilities for the whole session. Since 2026-07-28 each request carries
//! them, and `server/discover` tells what a server can do.
//!
//! ```
//! use bowline_types::capabilities::ClientCapabilities;
//! use bowline_types::common::Implementation;
//! use bowline_types::lifecycle::InitializeParams;
//! use bowline_types::Revision;
//!
//! let hello = InitializeParams::new(
//!     Revision::LATEST_HANDSHAKE.as_str(),
//!     ClientCapabilities::new(),
//!     Implementation::new("example", "1.0"),
//! );
//! assert_eq!(hello.protocol_version, "2025-11-25");
//! ```

use crate::caching::CacheScope;
use crate::capabilities::{ClientCapabilities, ServerCapabilities};
use crate::common::Implementation;
use crate::meta::{RequestMeta, ResultMeta};

wire_struct! {
    /// The parameters of `initialize`. Up to 2025-11-25.
    pub struct InitializeParams [until(V2025_11_25)] {
        /// The revision that the client would like.
        req protocol_version: String = "protocolVersion";
        /// What the client can do.
        req capabilities: ClientCapabilities = "capabilities";
        /// Who the client is.
        req client_info: Implementation = "clientInfo";
        /// Additional data.
        meta meta: RequestMeta = "_meta";
    }
}

wire_struct! {
    /// The result of `initialize`. Up to 2025-11-25.
    pub struct InitializeResult [until(V2025_11_25)] {
        /// The revision that the session speaks.
        req protocol_version: String = "protocolVersion";
        /// What the server can do.
        req capabilities: ServerCapabilities = "capabilities";
        /// Who the server is.
        req server_info: Implementation = "serverInfo";
        /// How to use the server, for the model.
        opt instructions: String = "instructions";
        /// Additional data.
        meta meta: ResultMeta = "_meta";
    }
}

wire_struct! {
    /// The result of `server/discover`. New in 2026-07-28.
    ///
    /// Who the server is stands in `_meta`
    /// ([`keys::SERVER_INFO`](crate::meta::keys::SERVER_INFO)).
    pub struct DiscoverResult [since(V2026_07_28)] {
        @lenient "resultType" = "complete";
        /// The revisions that the server speaks, of either era.
        req supported_versions: Vec<String> = "supportedVersions";
        /// What the server can do.
        req capabilities: ServerCapabilities = "capabilities";
        /// How to use the server, for the model.
        opt instructions: String = "instructions";
        /// How long it may be cached, in milliseconds.
        hint ttl_ms: i64 = "ttlMs", must since(V2026_07_28),
            when crate::caching::is_duration, default "0", shaped &crate::wire::Shape::Natural;
        /// Who may share a cached copy.
        hint cache_scope: CacheScope = "cacheScope", must since(V2026_07_28), default "\"private\"";
        /// Additional data.
        meta meta: ResultMeta = "_meta";
    }
}
