//! Caching of lists and resources by clients.

use std::time::Duration;

use bowline_types::caching::CacheScope;
use bowline_types::lifecycle::DiscoverResult;
use bowline_types::prompts::ListPromptsResult;
use bowline_types::resources::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult,
};
use bowline_types::skills::{GetSkillResult, ListSkillsResult};
use bowline_types::tools::ListToolsResult;

/// How long a client may cache a list or the contents of a resource, and whether the cache may be
/// shared (2026-07-28, server/utilities/caching). Clients of older revisions don't get it.
///
/// A client fetches it again when the time is over, or when it is notified of a change, if it has
/// subscribed. Default: nothing is cached.
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
    /// Allows caching for this long, for requests with the same authorization.
    pub const fn private(time: Duration) -> Self {
        Self {
            time,
            is_public: false,
        }
    }

    /// Allows caching for this long, and sharing between all clients: proxies between client and
    /// server may answer from their cache. This is no access control.
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

/// The largest integer that every JSON parser supports: 2^53 - 1.
const LONGEST: i64 = (1 << 53) - 1;

/// A result that may be cached (CH-1).
pub(super) trait Cacheable {
    /// Sets the caching, unless the result has it already.
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
    GetSkillResult,
    ListPromptsResult,
    ListResourceTemplatesResult,
    ListResourcesResult,
    ListSkillsResult,
    ListToolsResult,
    ReadResourceResult,
);
