//! Lists that are fetched in pages.

use std::collections::HashSet;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::time::Duration;
use std::vec;

use bowline_proto::Sent;
use bowline_types::error::codes;
use bowline_types::method::RequestMethod;
use bowline_types::pagination::{PaginatedParams, SkippedItems};
use bowline_types::prompts::{ListPromptsResult, Prompt};
use bowline_types::resources::{
    ListResourceTemplatesResult, ListResourcesResult, Resource, ResourceTemplate,
};
use bowline_types::tasks::{ListTasksResult, Task};
use bowline_types::tools::{ListToolsResult, Tool};
use bowline_types::{Method, Revision, Wire};
use tokio::time::{Instant, timeout_at};

use super::typed_call::TypedCall;
use crate::client::cache::Key;
use crate::client::{Client, Params};
use crate::error::{Error, ErrorKind};

/// The default limit on the pages of one list: a server may invent cursors for ever.
const MAX_PAGES: usize = 1_000;

/// Default limit on the items of one list.
const MAX_ITEMS: usize = 100_000;

/// Default limit on the bytes of a list that is fetched as a whole, as its server sends it.
const MAX_BYTES: usize = 64 << 20;

/// The options of a list, which are set before it is fetched.
macro_rules! list_options {
    ($($options:ident).+) => {
        /// Sets how long the whole list may take, from its first page on. Each page has the time of
        /// [a call](crate::Config::call_timeouts) in any case.
        pub fn timeout(mut self, timeout: Duration) -> Self {
            self.$($options).+.timeout = Some(timeout);
            self
        }

        /// Waits for a connection before it begins, instead of failing at once.
        pub fn wait_for_ready(mut self) -> Self {
            self.$($options).+.waits_for_ready = true;
            self
        }

        /// Sends the requests to the server even if the [cache](crate::client::CachePolicy) has
        /// fresh pages.
        pub fn bypass_cache(mut self) -> Self {
            self.$($options).+.bypasses_cache = true;
            self
        }

        /// Sets how large the whole list may be, as the server sends it, when it is fetched as one.
        /// Default 64 MiB.
        pub fn max_bytes(mut self, bytes: usize) -> Self {
            self.$($options).+.max_bytes = bytes;
            self
        }

        /// Limits the number of items of the list. Default 100,000. A list that has more ends
        /// with an error of kind [`OversizedFrame`](ErrorKind::OversizedFrame).
        pub fn max_items(mut self, items: usize) -> Self {
            self.$($options).+.max_items = items;
            self
        }

        /// Limits the number of pages of the list. Default 1,000. A list that has more ends
        /// with an error of kind [`OversizedFrame`](ErrorKind::OversizedFrame). The first page
        /// is fetched whatever the limit is.
        pub fn max_pages(mut self, pages: usize) -> Self {
            self.$($options).+.max_pages = pages;
            self
        }
    };
}

/// A page of a list.
pub trait ListPage: Wire + Send {
    /// What is listed.
    type Item: Send;

    /// Returns the items of the page, and where the next one begins.
    fn into_parts(self) -> (Vec<Self::Item>, Option<String>);

    /// Returns the items that were left out of the page because they are invalid.
    fn take_skipped_items(&mut self) -> SkippedItems {
        SkippedItems::default()
    }
}

macro_rules! list_pages {
    ($($page:ty: $items:ident of $item:ty $(, $skipped_items:ident)?;)+) => {
        $(impl ListPage for $page {
            type Item = $item;

            fn into_parts(self) -> (Vec<$item>, Option<String>) {
                (self.$items, self.next_cursor)
            }

            $(fn take_skipped_items(&mut self) -> SkippedItems {
                std::mem::take(&mut self.$skipped_items)
            })?
        })+
    };
}

list_pages! {
    ListToolsResult: tools of Tool, skipped_items;
    ListTasksResult: tasks of Task;
    ListPromptsResult: prompts of Prompt, skipped_items;
    ListResourcesResult: resources of Resource, skipped_items;
    ListResourceTemplatesResult: resource_templates of ResourceTemplate, skipped_items;
}

/// Returns a page of a list, from its beginning or from a cursor.
pub(super) fn page<'c, R: RequestMethod>(
    client: &'c Client,
    cursor: Option<String>,
) -> TypedCall<'c, R::Result> {
    let method = R::METHOD.as_str();
    let params = match &cursor {
        None => Params::from(()),
        Some(cursor) => client.encode(&PaginatedParams::new().cursor(cursor)),
    };
    TypedCall::new(client.call(method, params)).cached_as(Key::page(R::METHOD, cursor))
}

/// A list that is fetched page by page while it is gone through.
///
/// It ends with an error, once, when the server repeats a cursor, since it would not end
/// otherwise, and when it has more [pages](Self::max_pages) or [items](Self::max_items) than are
/// allowed: 1,000 and 100,000 by default. It does so too when the connection was lost
/// since the page before, since cursors end with it, and when the server no longer knows the
/// cursor of a page that was [kept](crate::client::CachePolicy): what was handed out can't be
/// taken back, and the next attempt begins anew. [`collect`](Self::collect) does that itself,
/// once.
///
/// ```
/// # async fn example(client: bowline::Client) -> Result<(), bowline::Error> {
/// let mut tools = client.tools().pages();
/// while let Some(tool) = tools.next().await {
///     println!("{}", tool?.name);
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "pages are fetched only when they are requested with `next`"]
pub struct Pages<'c, P: ListPage> {
    client: &'c Client,
    method: Method,
    fetch: fn(&'c Client, Option<String>) -> TypedCall<'c, P>,
    items: vec::IntoIter<P::Item>,
    next: Next,
    /// Digests of the cursors that were followed. They are a server's: kept short.
    seen: HashSet<u64>,
    digest: RandomState,
    count: usize,
    /// Bytes of the pages, as they came.
    bytes: usize,
    /// The session that the pages are of (PG-2: what a cursor means ends with it).
    session: u64,
    /// A page was kept, and the server may have forgotten where it leads.
    used_cache: bool,
    /// If a request for a page was sent.
    sent: Sent,
    has_restarted: bool,
    options: ListOptions,
    skipped_items: SkippedItems,
}

/// How a list is fetched.
#[derive(Clone, Copy, Debug)]
struct ListOptions {
    bypasses_cache: bool,
    waits_for_ready: bool,
    timeout: Option<Duration>,
    /// When the time is over, once it has begun.
    until: Option<Instant>,
    max_bytes: usize,
    max_items: usize,
    max_pages: usize,
}

/// Where the next page is.
enum Next {
    First,
    At(String),
    End,
}

impl<'c, P: ListPage> Pages<'c, P> {
    pub(super) fn new<R: RequestMethod<Result = P>>(client: &'c Client) -> Self {
        Self {
            client,
            method: R::METHOD,
            fetch: page::<R>,
            items: Vec::new().into_iter(),
            next: Next::First,
            seen: HashSet::new(),
            digest: RandomState::new(),
            count: 0,
            bytes: 0,
            session: 0,
            used_cache: false,
            sent: Sent::No,
            has_restarted: false,
            options: ListOptions {
                bypasses_cache: false,
                waits_for_ready: false,
                timeout: None,
                until: None,
                max_bytes: MAX_BYTES,
                max_items: MAX_ITEMS,
                max_pages: MAX_PAGES,
            },
            skipped_items: SkippedItems::default(),
        }
    }

    list_options!(options);

    /// Returns the items that were left out of the pages so far because they are invalid: one
    /// invalid item doesn't hide the others.
    pub fn skipped_items(&self) -> &SkippedItems {
        &self.skipped_items
    }

    /// Returns the next item. `None` at the end, and after an error.
    ///
    /// Cancel safe: a page that was asked for is asked for again.
    pub async fn next(&mut self) -> Option<Result<P::Item, Error>> {
        loop {
            if let Some(item) = self.items.next() {
                return Some(Ok(item));
            }
            match self.next_page().await? {
                Ok(items) => self.items = items.into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Returns the next page as a whole. `None` at the end, and after an error. Cancel safe.
    pub async fn next_page(&mut self) -> Option<Result<Vec<P::Item>, Error>> {
        let cursor = match &self.next {
            Next::First => None,
            Next::At(cursor) => Some(cursor.clone()),
            Next::End => return None,
        };
        let page = match self.until() {
            Some(until) => match timeout_at(until, self.fetch_page(cursor)).await {
                Ok(page) => page,
                Err(_) => Err(self.timed_out()),
            },
            None => self.fetch_page(cursor).await,
        };
        let page = page.and_then(|page| self.accept_page(page));
        if page.is_err() {
            self.next = Next::End;
        }
        Some(page)
    }

    /// Returns the page at a cursor.
    async fn fetch_page(&mut self, cursor: Option<String>) -> Result<P, Error> {
        if cursor.is_none() {
            if self.options.waits_for_ready {
                let ready = self.client.ready().await;
                ready.map_err(|error| self.in_list(error))?;
            }
            self.session = self.client.session();
        } else if self.client.session() != self.session {
            return Err(self.connection_lost());
        }
        // It doesn't wait for a connection: a cursor is of this one.
        let call = (self.fetch)(self.client, cursor);
        let call = if self.options.bypasses_cache || self.has_restarted {
            call.bypass_cache()
        } else {
            call
        };
        let mut call = call.send();
        self.used_cache |= call.is_cached();
        let before = self.sent;
        if !call.is_cached() {
            // The future may be dropped here, with the request under way.
            self.sent = Sent::Maybe;
        }
        let page = (&mut call).await;
        if let Err(error) = &page
            && error.may_have_run() == Some(false)
        {
            self.sent = before;
        }
        self.bytes += call.size();
        page
    }

    /// Returns the deadline of the list. Its time begins with its first page.
    fn until(&mut self) -> Option<Instant> {
        let ListOptions { timeout, until, .. } = &mut self.options;
        if until.is_none() {
            *until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        }
        *until
    }

    /// Returns all items that are left, in one list. If no page was taken before, it is fetched
    /// anew, once, when its cursors are no longer good. Invalid items are not among them.
    ///
    /// Cancel safe: it only reads, and dropping the future cancels what was asked for.
    ///
    /// # Errors
    ///
    /// When a page can't be fetched, the server repeats a cursor, or the list is larger than
    /// [`max_bytes`](Self::max_bytes), [`max_items`](Self::max_items) or
    /// [`max_pages`](Self::max_pages): part of a list is not returned as if it were all.
    pub async fn collect(self) -> Result<Vec<P::Item>, Error> {
        Ok(self.collect_all().await?.0)
    }

    /// Returns the same list, and [the items that were left out](Self::skipped_items). Cancel safe.
    ///
    /// # Errors
    ///
    /// As for [`collect`](Self::collect).
    pub async fn collect_all(mut self) -> Result<(Vec<P::Item>, SkippedItems), Error> {
        let is_whole = matches!(self.next, Next::First);
        let mut all: Vec<P::Item> = std::mem::take(&mut self.items).collect();
        while let Some(page) = self.next_page().await {
            match page {
                Ok(_) if self.bytes > self.options.max_bytes => return Err(self.too_many_bytes()),
                Ok(items) => all.extend(items),
                Err(error) if is_whole && self.can_restart(&error) => {
                    all.clear();
                    self = self.restart();
                }
                Err(error) => return Err(error),
            }
        }
        Ok((all, self.skipped_items))
    }

    /// Returns `true` if a new attempt from the first page may succeed: the server refuses a cursor
    /// that may be older than what it has (CH-10), or the connection was lost in between.
    fn can_restart(&self, error: &Error) -> bool {
        if self.has_restarted {
            return false;
        }
        let code = error.server_error().map(|error| error.code);
        match error.kind() {
            // There may be another connection already, or it is waited for.
            ErrorKind::TransportDown | ErrorKind::Unavailable => {
                self.options.waits_for_ready || self.client.session() != self.session
            }
            _ => self.used_cache && code == Some(codes::INVALID_PARAMS),
        }
    }

    /// Begins again at the first page, without cached pages. This is done once.
    fn restart(self) -> Self {
        Self {
            items: Vec::new().into_iter(),
            next: Next::First,
            seen: HashSet::new(),
            count: 0,
            bytes: 0,
            used_cache: false,
            has_restarted: true,
            skipped_items: SkippedItems::default(),
            ..self
        }
    }

    /// Takes the items of a page, and its cursor.
    fn accept_page(&mut self, mut page: P) -> Result<Vec<P::Item>, Error> {
        self.skipped_items.append(page.take_skipped_items());
        let (items, cursor) = page.into_parts();
        self.count += items.len();
        let (max_items, max_pages) = (self.options.max_items, self.options.max_pages);
        if self.count > max_items {
            return Err(self.over_limit(max_items, "items", "max_items"));
        }
        self.next = match cursor.filter(|cursor| self.is_cursor(cursor)) {
            None => Next::End,
            Some(cursor) => {
                if !self.seen.insert(self.digest.hash_one(&cursor)) {
                    return Err(self.repeated_cursor());
                }
                if self.seen.len() >= max_pages {
                    return Err(self.over_limit(max_pages, "pages", "max_pages"));
                }
                Next::At(cursor)
            }
        };
        Ok(items)
    }

    /// Returns `true` if a string is a cursor. An empty one is since 2026-07-28 only (PG-3);
    /// earlier servers end a list with it.
    fn is_cursor(&self, cursor: &str) -> bool {
        let revision = self.client.revision();
        !cursor.is_empty() || revision.is_none_or(|revision| revision >= Revision::V2026_07_28)
    }

    fn connection_lost(&self) -> Error {
        let message = "between two pages of the list (fetch it again from its first page)";
        self.in_list(Error::new(ErrorKind::TransportDown, message))
    }

    fn timed_out(&self) -> Error {
        let message = match self.options.timeout {
            Some(timeout) => format!("after {timeout:?}, with {} items received", self.count),
            None => String::new(),
        };
        self.in_list(Error::new(ErrorKind::Timeout, message))
    }

    fn too_many_bytes(&self) -> Error {
        let most = self.options.max_bytes;
        let message = format!(
            "the list has more than {most} bytes \
             (fetch it page by page, or raise the limit with `max_bytes`)"
        );
        self.in_list(Error::new(ErrorKind::OversizedFrame, message))
    }

    /// Returns the error of a list that exceeds a limit, which can be raised: it is not the
    /// server's fault.
    fn over_limit(&self, limit: usize, unit: &str, setting: &str) -> Error {
        let message =
            format!("the list has more than {limit} {unit} (raise the limit with `{setting}`)");
        self.in_list(Error::new(ErrorKind::OversizedFrame, message))
    }

    fn repeated_cursor(&self) -> Error {
        let message = "the list does not end: the server repeated a pagination cursor";
        self.in_list(Error::new(ErrorKind::Protocol, message))
    }

    /// Adds the method of the list, and whether it was sent, to an error.
    fn in_list(&self, error: Error) -> Error {
        error
            .with_sent(self.sent)
            .in_operation(self.method.as_str())
    }
}

/// A whole list that has not been fetched yet. Await it to fetch it; see [`Pages::collect`].
#[must_use = "a list is not fetched unless it is awaited"]
pub struct WholeList<'c, P: ListPage> {
    pages: Pages<'c, P>,
}

impl<'c, P: ListPage> WholeList<'c, P> {
    pub(super) fn new<R: RequestMethod<Result = P>>(client: &'c Client) -> Self {
        let pages = Pages::new::<R>(client);
        Self { pages }
    }

    list_options!(pages.options);
}

impl<'c, P: ListPage + 'c> IntoFuture for WholeList<'c, P> {
    type Output = Result<Vec<P::Item>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'c>>;

    /// Fetches the list. Cancel safe.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.pages.collect())
    }
}

impl<P: ListPage> fmt::Debug for WholeList<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WholeList").field(&self.pages).finish()
    }
}

impl<P: ListPage> fmt::Debug for Pages<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages")
            .field("method", &self.method)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}
