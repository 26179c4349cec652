//! Lists and contents that need not be fetched again (2026-07-28, server/utilities/caching).
//!
//! A result is kept for the time that its server gives, and forgotten when the server notifies that
//! it has changed or the connection is lost: another server may answer then. What was requested
//! before a change is not kept when it comes after it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_proto::{Instant, Payload};
use bowline_types::resources::ResourceUpdatedParams;
use bowline_types::{Method, RawJsonRef, Revision};

use super::subscription_dispatch::is_same_or_part;

/// The longest time that a result is kept, however long its server allows.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// What is kept of lists and contents.
///
/// By default a result is kept for the time that its server gives, which servers before 2026-07-28
/// don't give, in 16 MiB and 1,000 results at most.
///
/// ```
/// use std::time::Duration;
/// use bowline::ClientConfig;
/// use bowline::client::CachePolicy;
/// use bowline::types::common::Implementation;
///
/// let mut config = ClientConfig::new(Implementation::new("example", "1.0"));
/// config.cache(CachePolicy::new().default_ttl(Duration::from_secs(30)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CachePolicy {
    default_ttl: Duration,
    max_bytes: usize,
    max_results: usize,
}

impl CachePolicy {
    /// Returns the default policy: results are kept as their servers allow.
    pub const fn new() -> Self {
        Self {
            default_ttl: Duration::ZERO,
            max_bytes: 16 << 20,
            max_results: 1_000,
        }
    }

    /// Returns a policy that keeps nothing.
    pub const fn disabled() -> Self {
        let mut disabled = Self::new();
        disabled.max_results = 0;
        disabled
    }

    /// Sets how long a result is kept whose server gives no `ttlMs`. Default: not at all.
    #[must_use]
    pub const fn default_ttl(mut self, time: Duration) -> Self {
        self.default_ttl = time;
        self
    }

    /// Sets how many bytes are kept. Beyond that the oldest results are forgotten.
    #[must_use]
    pub const fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets how many results are kept. Beyond that the oldest are forgotten.
    #[must_use]
    pub const fn max_results(mut self, results: usize) -> Self {
        self.max_results = results;
        self
    }
}

impl Default for CachePolicy {
    fn default() -> Self {
        Self::new()
    }
}

/// The key of a result: the method and everything that decides the result (CH-4).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// A page of a list.
    Page(List, Option<String>),
    /// A resource.
    Contents(String),
}

/// The lists that may be kept (CH-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum List {
    Tools,
    Prompts,
    Resources,
    Templates,
}

/// What changes together.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Tools,
    Prompts,
    Resources,
    Contents,
}

impl Key {
    /// Returns a page of the list that a method has. `None` when it is not to be kept.
    pub(super) fn page(method: Method, cursor: Option<String>) -> Option<Self> {
        let list = match method {
            Method::ListTools => List::Tools,
            Method::ListPrompts => List::Prompts,
            Method::ListResources => List::Resources,
            Method::ListResourceTemplates => List::Templates,
            _ => return None,
        };
        Some(Self::Page(list, cursor))
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Page(List::Tools, _) => Kind::Tools,
            Self::Page(List::Prompts, _) => Kind::Prompts,
            Self::Page(List::Resources | List::Templates, _) => Kind::Resources,
            Self::Contents(_) => Kind::Contents,
        }
    }

    pub(super) fn is_later_page(&self) -> bool {
        matches!(self, Self::Page(_, Some(_)))
    }

    fn len(&self) -> usize {
        match self {
            Self::Page(_, cursor) => cursor.as_ref().map_or(0, String::len),
            Self::Contents(uri) => uri.len(),
        }
    }
}

/// The permission to keep the result of a call that is being sent.
#[derive(Clone, Debug)]
pub(super) struct Ticket {
    pub(super) key: Key,
    generation: u64,
}

#[derive(Debug)]
pub(super) struct Cache {
    policy: CachePolicy,
    kept: Mutex<CacheState>,
}

#[derive(Debug, Default)]
struct CacheState {
    results: HashMap<Key, Entry>,
    /// The keys in the order in which they came, with the number of their entry.
    order: VecDeque<(Key, u64)>,
    bytes: usize,
    next: u64,
    /// How often each kind has changed.
    generations: [u64; 4],
}

#[derive(Debug)]
struct Entry {
    number: u64,
    /// A copy of its own: what came is a part of a larger buffer.
    result: Arc<str>,
    until: Instant,
}

impl Cache {
    pub(super) fn new(policy: CachePolicy) -> Self {
        Self {
            policy,
            kept: Mutex::default(),
        }
    }

    /// Returns the result of a call, if it is kept and fresh.
    pub(super) fn get(&self, key: &Key, now: Instant) -> Option<Arc<str>> {
        let mut kept = self.lock();
        let entry = kept.results.get(key)?;
        if now < entry.until {
            return Some(Arc::clone(&entry.result));
        }
        kept.remove(key);
        None
    }

    /// Returns the permission to keep what is about to be requested. `None` when nothing is kept at
    /// all.
    pub(super) fn ticket(&self, key: Key) -> Option<Ticket> {
        if self.policy.max_results == 0 {
            return None;
        }
        let generation = self.lock().generations[key.kind() as usize];
        Some(Ticket { key, generation })
    }

    /// Keeps a result, which was received at this moment, for the time that its server gives,
    /// unless it has changed meanwhile. Hints of servers of older revisions mean something else, if
    /// anything (MO-1).
    pub(super) fn keep(
        &self,
        ticket: Ticket,
        result: &Payload,
        received_at: Instant,
        revision: Option<Revision>,
    ) {
        let result = result.as_str();
        let has_hints = revision.is_some_and(|revision| revision >= Revision::V2026_07_28);
        let hint = if has_hints { hint(result) } else { None };
        let time = hint.unwrap_or(self.policy.default_ttl);
        let size = result.len() + ticket.key.len();
        if time.is_zero() || size > self.policy.max_bytes {
            return;
        }
        let mut kept = self.lock();
        if kept.generations[ticket.key.kind() as usize] != ticket.generation {
            return;
        }
        kept.insert(ticket.key, result.into(), received_at + time.min(MAX_AGE));
        while kept.results.len() > self.policy.max_results || kept.bytes > self.policy.max_bytes {
            let Some((oldest, number)) = kept.order.pop_front() else {
                break;
            };
            if kept
                .results
                .get(&oldest)
                .is_some_and(|entry| entry.number == number)
            {
                kept.remove(&oldest);
            }
        }
    }

    /// Forgets what has changed according to a notification.
    pub(super) fn handle_notification(&self, method: &str, params: Option<&Payload>) {
        match method.parse() {
            Ok(Method::ToolListChanged) => self.forget(Kind::Tools),
            Ok(Method::PromptListChanged) => self.forget(Kind::Prompts),
            Ok(Method::ResourceListChanged) => self.forget(Kind::Resources),
            Ok(Method::ResourceUpdated) => {
                match params.map(Payload::decode::<ResourceUpdatedParams>) {
                    Some(Ok(params)) => self.forget_contents(&params.uri),
                    _ => self.forget(Kind::Contents),
                }
            }
            _ => {}
        }
    }

    /// Forgets all pages of a list: the server no longer knows one of its cursors (CH-10).
    pub(super) fn forget_list(&self, key: &Key) {
        self.forget(key.kind());
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        let mut kept = self.lock();
        for generation in &mut kept.generations {
            *generation += 1;
        }
        let (results, order) = (
            std::mem::take(&mut kept.results),
            std::mem::take(&mut kept.order),
        );
        kept.bytes = 0;
        drop(kept);
        drop((results, order));
    }

    fn forget(&self, kind: Kind) {
        let mut kept = self.lock();
        kept.generations[kind as usize] += 1;
        if kept.results.is_empty() {
            return;
        }
        let removed: Vec<_> = kept
            .results
            .keys()
            .filter(|key| key.kind() == kind)
            .cloned()
            .collect();
        removed.iter().for_each(|key| kept.remove(key));
    }

    /// Forgets a resource, and those that it is a part of.
    fn forget_contents(&self, uri: &str) {
        let mut kept = self.lock();
        kept.generations[Kind::Contents as usize] += 1;
        if kept.results.is_empty() {
            return;
        }
        // What is kept has bounds, which the server's URI has not.
        let is_affected =
            |key: &&Key| matches!(key, Key::Contents(whole) if is_same_or_part(uri, whole));
        let removed: Vec<_> = kept.results.keys().filter(is_affected).cloned().collect();
        removed.iter().for_each(|key| kept.remove(key));
    }

    fn lock(&self) -> MutexGuard<'_, CacheState> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheState {
    fn insert(&mut self, key: Key, result: Arc<str>, until: Instant) {
        self.remove(&key);
        self.bytes += result.len() + key.len();
        let number = self.next;
        self.next += 1;
        self.order.push_back((key.clone(), number));
        // What was replaced or forgotten is still in the order: no more than there are results.
        if self.order.len() > 2 * self.results.len() + 16 {
            let results = &self.results;
            self.order.retain(|(other, at)| {
                *at == number || results.get(other).is_some_and(|entry| entry.number == *at)
            });
        }
        let entry = Entry {
            number,
            result,
            until,
        };
        self.results.insert(key, entry);
    }

    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.results.remove(key) {
            self.bytes -= entry.result.len() + key.len();
        }
    }
}

/// Returns how long a result may be kept according to its server. An invalid time is none
/// (CH-3).
fn hint(result: &str) -> Option<Duration> {
    let json = RawJsonRef::parse(result).ok()?;
    let millis = json.reader().peek_member("ttlMs").ok()??;
    let millis: i64 = millis.to().ok().unwrap_or(0);
    Some(Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use bowline_types::JsonObject;

    use super::*;

    const NOW: Instant = Instant::START;

    fn page(cursor: Option<&str>) -> Key {
        Key::Page(List::Tools, cursor.map(str::to_owned))
    }

    fn contents(uri: &str) -> Key {
        Key::Contents(uri.to_owned())
    }

    fn result(ttl: &str) -> Payload {
        let text = format!(r#"{{"tools":[],"ttlMs":{ttl}}}"#);
        Payload::from(JsonObject::parse(&text).expect("an object"))
    }

    fn keep(cache: &Cache, key: Key, ttl: &str) {
        let ticket = cache.ticket(key).expect("it may be kept");
        cache.keep(ticket, &result(ttl), NOW, Some(Revision::LATEST));
    }

    fn has(cache: &Cache, key: &Key) -> bool {
        cache.get(key, NOW).is_some()
    }

    fn updated(uri: &str) -> Payload {
        let text = format!(r#"{{"uri":"{uri}"}}"#);
        Payload::from(JsonObject::parse(&text).expect("an object"))
    }

    // proves: MO-1
    #[test]
    fn a_result_is_fresh_for_its_time_and_no_longer() {
        let cache = Cache::new(CachePolicy::new());
        keep(&cache, page(None), "1000");
        assert!(has(&cache, &page(None)));
        let almost = NOW + Duration::from_millis(999);
        assert!(cache.get(&page(None), almost).is_some());
        assert!(
            cache
                .get(&page(None), NOW + Duration::from_secs(1))
                .is_none()
        );
        assert!(!has(&cache, &page(Some("2"))), "another page");
        for nonsense in ["0", "-5", "null", "\"1\"", "1e99"] {
            keep(&cache, page(None), nonsense);
            assert!(!has(&cache, &page(None)), "{nonsense}");
        }
    }

    // proves: MO-1
    #[test]
    fn hints_of_an_older_server_are_ignored() {
        for (policy, until) in [
            (CachePolicy::new(), None),
            (
                CachePolicy::new().default_ttl(Duration::from_secs(1)),
                Some(Duration::from_secs(1)),
            ),
        ] {
            let cache = Cache::new(policy);
            let ticket = cache.ticket(page(None)).expect("it may be kept");
            let older = Some(Revision::V2025_11_25);
            cache.keep(ticket, &result("60000"), NOW, older);
            assert_eq!(has(&cache, &page(None)), until.is_some());
            let later = NOW + until.unwrap_or_default();
            assert!(cache.get(&page(None), later).is_none());
        }
    }

    #[test]
    fn the_policy_applies_where_the_server_gives_no_hint() {
        let plain = Payload::from(JsonObject::parse("{}").expect("an object"));
        for (policy, is_cached) in [
            (CachePolicy::new(), false),
            (CachePolicy::new().default_ttl(Duration::from_secs(1)), true),
        ] {
            let cache = Cache::new(policy);
            let ticket = cache.ticket(page(None)).expect("it may be kept");
            cache.keep(ticket, &plain, NOW, Some(Revision::LATEST));
            assert_eq!(has(&cache, &page(None)), is_cached);
        }
        assert!(
            Cache::new(CachePolicy::disabled())
                .ticket(page(None))
                .is_none()
        );
    }

    #[test]
    fn a_change_takes_what_it_is_about_and_what_is_on_its_way() {
        let cache = Cache::new(CachePolicy::new());
        let early = cache.ticket(page(None)).expect("it may be kept");
        keep(&cache, page(Some("2")), "1000");
        keep(&cache, contents("a:/x"), "1000");
        cache.handle_notification("notifications/tools/list_changed", None);
        assert!(!has(&cache, &page(Some("2"))));
        assert!(has(&cache, &contents("a:/x")));
        cache.keep(early, &result("1000"), NOW, Some(Revision::LATEST));
        assert!(
            !has(&cache, &page(None)),
            "it was asked for before the change"
        );
        cache.handle_notification("notifications/resources/updated", Some(&updated("a:/xy")));
        assert!(has(&cache, &contents("a:/x")));
        cache.handle_notification(
            "notifications/resources/updated",
            Some(&updated("a:/x/y#z")),
        );
        assert!(!has(&cache, &contents("a:/x")), "a part of it has changed");
    }

    // In the square of its length, this would never end.
    #[test]
    fn a_change_of_a_long_uri_takes_no_longer_than_reading_it() {
        let cache = Cache::new(CachePolicy::new());
        let deep = "/".repeat(1 << 22);
        let kept = ["a:/", "a:///", "a:", "a", "b:/"].map(contents);
        kept.iter()
            .for_each(|key| keep(&cache, key.clone(), "1000"));
        let updated = updated(&format!("a:{deep}"));
        cache.handle_notification("notifications/resources/updated", Some(&updated));
        assert_eq!(
            kept.each_ref().map(|key| has(&cache, key)),
            [false, false, false, true, true]
        );
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many_or_they_are_too_large() {
        let few = Cache::new(CachePolicy::new().max_results(2));
        let pages = [page(Some("1")), page(Some("2")), page(Some("3"))];
        pages.iter().for_each(|key| keep(&few, key.clone(), "1000"));
        assert_eq!(
            pages.each_ref().map(|key| has(&few, key)),
            [false, true, true]
        );
        // One that is replaced is young again.
        keep(&few, pages[1].clone(), "1000");
        keep(&few, pages[0].clone(), "1000");
        assert_eq!(
            pages.each_ref().map(|key| has(&few, key)),
            [true, true, false]
        );

        let size = result("1000").as_str().len() + 1;
        let small = Cache::new(CachePolicy::new().max_bytes(2 * size));
        pages
            .iter()
            .for_each(|key| keep(&small, key.clone(), "1000"));
        assert_eq!(
            pages.each_ref().map(|key| has(&small, key)),
            [false, true, true]
        );
        let none = Cache::new(CachePolicy::new().max_bytes(size - 1));
        keep(&none, pages[0].clone(), "1000");
        assert!(!has(&none, &pages[0]));
    }

    #[test]
    fn entries_that_are_replaced_over_and_over_leave_nothing_behind() {
        let cache = Cache::new(CachePolicy::new());
        for _ in 0..10_000 {
            keep(&cache, page(None), "1000");
        }
        let kept = cache.lock();
        assert!(kept.order.len() < 20 && kept.results.len() == 1);
        assert_eq!(kept.bytes, result("1000").as_str().len());
    }
}
