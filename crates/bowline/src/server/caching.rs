//! How long clients may keep what they got.

use std::time::Duration;

use bowline_types::caching::CacheScope;
use bowline_types::lifecycle::DiscoverResult;
use bowline_types::prompts::ListPromptsResult;
use bowline_types::resources::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult,
};
use bowline_types::tools::ListToolsResult;

/// How long a client may keep a list or what a resource contains, and who may share it
/// (2026-07-28, server/utilities/caching). Clients of older revisions are told nothing of it.
///
/// A client asks again when the time is over, or when it is told that something has changed, if it
/// listens. Default: nothing is kept.
///
/// ```
/// use std::time::Duration;
/// use bowline::server::{Caching, Server, resource};
///
/// let licence = resource("file:///licence", "licence", || async { "MIT" })
///     .cache(Caching::public(Duration::from_secs(24 * 60 * 60)));
/// let server = Server::new("docs", "1.0.0")
///     .cache_lists(Caching::private(Duration::from_secs(60)))
///     .add_resource(licence);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caching {
    time: Duration,
    is_public: bool,
}

impl Caching {
    /// It is kept for this long, by whoever asked with the same authorization.
    pub const fn private(time: Duration) -> Self {
        Self {
            time,
            is_public: false,
        }
    }

    /// It is kept for this long, and is the same for everybody: whatever stands between the client
    /// and the server may answer with it. This is no access control.
    pub const fn public(time: Duration) -> Self {
        Self {
            time,
            is_public: true,
        }
    }

    fn ttl_ms(self) -> i64 {
        i64::try_from(self.time.as_millis())
            .unwrap_or(i64::MAX)
            .min(LONGEST)
    }

    fn scope(self) -> CacheScope {
        if self.is_public {
            CacheScope::Public
        } else {
            CacheScope::Private
        }
    }
}

impl Default for Caching {
    fn default() -> Self {
        Self::private(Duration::ZERO)
    }
}

/// What every reader of JSON can take for a number: 2^53 - 1.
const LONGEST: i64 = (1 << 53) - 1;

/// A result that may be cached (CH-1).
pub(super) trait Cacheable {
    /// Says so, where whoever made the result has not.
    fn cached(self, caching: Caching) -> Self;
}

macro_rules! cacheable {
    ($($result:ty),* $(,)?) => {$(
        impl Cacheable for $result {
            fn cached(mut self, caching: Caching) -> Self {
                if self.ttl_ms.is_none() && self.cache_scope.is_none() {
                    self.ttl_ms = Some(caching.ttl_ms());
                    self.cache_scope = Some(caching.scope());
                }
                self
            }
        }
    )*};
}

cacheable!(
    DiscoverResult,
    ListPromptsResult,
    ListResourceTemplatesResult,
    ListResourcesResult,
    ListToolsResult,
    ReadResourceResult,
);
