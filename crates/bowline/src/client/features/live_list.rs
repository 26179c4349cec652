//! Lists that are fetched again when they change.

use std::fmt;
use std::time::Duration;

use bowline_types::method::{RequestMethod, requests};
use bowline_types::prompts::ListPromptsResult;
use bowline_types::resources::ListResourcesResult;
use bowline_types::subscriptions::SubscriptionFilter;
use bowline_types::tools::ListToolsResult;
use tokio::time::Instant;

use super::paginated_list::{ListPage, Pages};
use super::{Prompts, Resources, Tools};
use crate::client::{Client, Subscription};
use crate::error::{Error, ErrorKind};

/// The shortest time between two fetches: a server may notify of changes as fast as it likes.
const PAUSE: Duration = Duration::from_millis(500);

/// A list that is fetched again whenever its server notifies that it has changed, and after every
/// reconnect, twice a second at most.
///
/// ```
/// # async fn example(client: bowline::Client) -> Result<(), bowline::Error> {
/// let mut tools = client.tools().live_list().await?;
/// loop {
///     println!("{} tools", tools.items().len());
///     tools.changed().await?;
/// }
/// # }
/// ```
pub struct LiveList<P: ListPage> {
    client: Client,
    subscription: Subscription,
    fetch: fn(&Client) -> Pages<'_, P>,
    items: Vec<P::Item>,
    fetched: Instant,
    /// There was a change since.
    is_stale: bool,
}

impl<P: ListPage> LiveList<P> {
    async fn begin(
        client: &Client,
        filter: SubscriptionFilter,
        fetch: fn(&Client) -> Pages<'_, P>,
    ) -> Result<Self, Error> {
        // Subscribed first: a change in between is seen. The cache is bypassed: no notification
        // was sent of a change before that, so that a cached page may be stale.
        let subscription = client.subscribe(filter).await?;
        let items = fetch(client).bypass_cache().collect().await?;
        Ok(Self {
            client: client.clone(),
            subscription,
            fetch,
            items,
            fetched: Instant::now(),
            is_stale: false,
        })
    }

    /// Returns the list as it was fetched last.
    pub fn items(&self) -> &[P::Item] {
        &self.items
    }

    /// Waits for a change, and fetches the list again.
    ///
    /// Cancel safe: a change that was noticed is not forgotten.
    ///
    /// # Errors
    ///
    /// When the list can't be fetched, in which case the next call tries again, and when the
    /// server has ended the subscription or the client is stopped.
    pub async fn changed(&mut self) -> Result<(), Error> {
        if !self.is_stale {
            if self.subscription.next().await.is_none() {
                let over = || Error::new(ErrorKind::State, "the subscription has ended");
                let end = self.subscription.end();
                return Err(end.and_then(Result::err).unwrap_or_else(over));
            }
            self.is_stale = true;
        }
        tokio::time::sleep_until(self.fetched + PAUSE).await;
        // Changes up to here are seen by what is fetched now.
        self.subscription.clear_pending();
        self.fetched = Instant::now();
        self.items = (self.fetch)(&self.client).bypass_cache().collect().await?;
        self.is_stale = false;
        Ok(())
    }
}

impl<P: ListPage> fmt::Debug for LiveList<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveList")
            .field("items", &self.items.len())
            .field("is_stale", &self.is_stale)
            .finish_non_exhaustive()
    }
}

fn pages<R: RequestMethod>(client: &Client) -> Pages<'_, R::Result>
where
    R::Result: ListPage,
{
    Pages::new::<R>(client)
}

impl Tools<'_> {
    /// Fetches the list, and keeps it up to date: see [`LiveList`]. Cancel safe.
    ///
    /// # Errors
    ///
    /// When there is no connection, the server doesn't notify of changes or doesn't confirm the
    /// subscription in time, or the list can't be fetched.
    pub async fn live_list(self) -> Result<LiveList<ListToolsResult>, Error> {
        let filter = SubscriptionFilter::new().tools_list_changed(true);
        LiveList::begin(self.client(), filter, pages::<requests::ListTools>).await
    }
}

impl Prompts<'_> {
    /// Fetches the list, and keeps it up to date: see [`LiveList`]. Cancel safe.
    ///
    /// # Errors
    ///
    /// When there is no connection, the server doesn't notify of changes or doesn't confirm the
    /// subscription in time, or the list can't be fetched.
    pub async fn live_list(self) -> Result<LiveList<ListPromptsResult>, Error> {
        let filter = SubscriptionFilter::new().prompts_list_changed(true);
        LiveList::begin(self.client(), filter, pages::<requests::ListPrompts>).await
    }
}

impl Resources<'_> {
    /// Fetches the list, and keeps it up to date: see [`LiveList`]. Cancel safe.
    ///
    /// # Errors
    ///
    /// When there is no connection, the server doesn't notify of changes or doesn't confirm the
    /// subscription in time, or the list can't be fetched.
    pub async fn live_list(self) -> Result<LiveList<ListResourcesResult>, Error> {
        let filter = SubscriptionFilter::new().resources_list_changed(true);
        LiveList::begin(self.client(), filter, pages::<requests::ListResources>).await
    }
}
