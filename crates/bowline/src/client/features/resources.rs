//! Resources and their templates.

use bowline_types::Method;
use bowline_types::method::requests;
use bowline_types::resources::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceParams, ReadResourceResult,
};
use bowline_types::subscriptions::SubscriptionFilter;

use super::completion::CompletionCall;
use super::paginated_list::{self, Pages, WholeList};
use super::typed_call::TypedCall;
use crate::client::cache::Key;
use crate::client::{Client, SubscribeCall};

/// The resources of a server: see [`Client::resources`].
///
/// ```
/// # async fn example(client: bowline::Client) -> Result<(), bowline::Error> {
/// let mut changes = client.resources().subscribe("file:///notes").await?;
/// loop {
///     let notes = client.resources().read("file:///notes").await?;
///     println!("{:?}", notes.contents);
///     if changes.next().await.is_none() {
///         break;
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Resources<'c> {
    client: &'c Client,
}

impl<'c> Resources<'c> {
    pub(super) fn new(client: &'c Client) -> Self {
        Self { client }
    }

    pub(super) fn client(self) -> &'c Client {
        self.client
    }

    /// Fetches the first page of the list.
    pub fn list(self) -> TypedCall<'c, ListResourcesResult> {
        paginated_list::page::<requests::ListResources>(self.client, None)
    }

    /// Fetches the page of the list that begins at a cursor.
    pub fn list_from(self, cursor: impl Into<String>) -> TypedCall<'c, ListResourcesResult> {
        paginated_list::page::<requests::ListResources>(self.client, Some(cursor.into()))
    }

    /// Returns the list as a stream of items, fetched page by page.
    pub fn pages(self) -> Pages<'c, ListResourcesResult> {
        Pages::new::<requests::ListResources>(self.client)
    }

    /// Fetches the whole list when it is awaited. Cancel safe.
    ///
    /// # Errors
    ///
    /// When a page can't be fetched, the server repeats a cursor, or the list is [too
    /// large](Pages).
    pub fn list_all(self) -> WholeList<'c, ListResourcesResult> {
        WholeList::new::<requests::ListResources>(self.client)
    }

    /// Fetches the first page of the templates.
    pub fn templates(self) -> TypedCall<'c, ListResourceTemplatesResult> {
        paginated_list::page::<requests::ListResourceTemplates>(self.client, None)
    }

    /// Fetches the page of templates that begins at a cursor.
    pub fn templates_from(
        self,
        cursor: impl Into<String>,
    ) -> TypedCall<'c, ListResourceTemplatesResult> {
        paginated_list::page::<requests::ListResourceTemplates>(self.client, Some(cursor.into()))
    }

    /// Returns the templates as a stream of items, fetched page by page.
    pub fn template_pages(self) -> Pages<'c, ListResourceTemplatesResult> {
        Pages::new::<requests::ListResourceTemplates>(self.client)
    }

    /// Fetches all templates when they are awaited. Cancel safe.
    ///
    /// # Errors
    ///
    /// When a page can't be fetched, the server repeats a cursor, or the list is [too
    /// large](Pages).
    pub fn templates_all(self) -> WholeList<'c, ListResourceTemplatesResult> {
        WholeList::new::<requests::ListResourceTemplates>(self.client)
    }

    /// Reads a resource.
    pub fn read(self, uri: impl Into<String>) -> TypedCall<'c, ReadResourceResult> {
        let uri = uri.into();
        let params = self.client.encode(&ReadResourceParams::new(&*uri));
        let call = self.client.call(Method::ReadResource.as_str(), params);
        TypedCall::new(call).cached_as(Some(Key::Contents(uri)))
    }

    /// Subscribes to a resource, across connections: see [`Subscription`](crate::client::Subscription).
    /// Await it to begin.
    pub fn subscribe(self, uri: impl Into<String>) -> SubscribeCall<'c> {
        let filter = SubscriptionFilter::new().resource_subscriptions([uri.into()]);
        self.client.subscribe(filter)
    }

    /// Completes a variable of a template while it is being typed.
    pub fn complete(
        self,
        template: impl Into<String>,
        variable: impl Into<String>,
        typed: impl Into<String>,
    ) -> CompletionCall<'c> {
        CompletionCall::of_template(self.client, template.into(), variable.into(), typed.into())
    }
}
