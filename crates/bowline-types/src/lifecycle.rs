//! The beginning of a connection: handshake and discovery.
//!
//! Up to 2025-11-25 a client opens with `initialize`, and both sides learn the revision and the
//! capabilities of the session. Since 2026-07-28 each request carries them, and `server/discover`
//! returns the capabilities of the server.
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
        /// The revision that the client requests.
        req protocol_version: String = "protocolVersion";
        /// The capabilities of the client.
        req capabilities: ClientCapabilities = "capabilities";
        /// The name and version of the client.
        req client_info: Implementation = "clientInfo";
        /// Additional metadata.
        meta meta: RequestMeta = "_meta";
    }
}

wire_struct! {
    /// The result of `initialize`. Up to 2025-11-25.
    pub struct InitializeResult [until(V2025_11_25)] {
        /// The revision of the session.
        req protocol_version: String = "protocolVersion";
        /// The capabilities of the server.
        req capabilities: ServerCapabilities = "capabilities";
        /// The name and version of the server.
        req server_info: Implementation = "serverInfo";
        /// Instructions for the model on how to use the server.
        opt instructions: String = "instructions";
        /// Additional metadata.
        meta meta: ResultMeta = "_meta";
    }
}

wire_struct! {
    /// The result of `server/discover`. New in 2026-07-28.
    ///
    /// The name and version of the server are in `_meta`
    /// ([`keys::SERVER_INFO`](crate::meta::keys::SERVER_INFO)).
    pub struct DiscoverResult [since(V2026_07_28)] {
        @lenient "resultType" = "complete";
        /// The revisions that the server supports, of both eras.
        req supported_versions: Vec<String> = "supportedVersions";
        /// The capabilities of the server.
        req capabilities: ServerCapabilities = "capabilities";
        /// Instructions for the model on how to use the server.
        opt instructions: String = "instructions";
        /// How long the result may be cached, in milliseconds.
        hint ttl_ms: i64 = "ttlMs", must since(V2026_07_28),
            when crate::caching::is_duration, default "0", shaped &crate::wire::Shape::Natural;
        /// Which clients may share a cached copy.
        hint cache_scope: CacheScope = "cacheScope", must since(V2026_07_28), default "\"private\"";
        /// Additional metadata.
        meta meta: ResultMeta = "_meta";
    }
}
