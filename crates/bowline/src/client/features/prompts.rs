//! Prompts.

use bowline_types::Method;
use bowline_types::method::requests;
use bowline_types::prompts::{GetPromptParams, GetPromptResult, ListPromptsResult};
use bowline_types::wire::Map;

use super::completion::Completing;
use super::pages::{self, Pages, WholeList};
use super::typed::TypedCall;
use crate::client::Client;

/// The prompts of a server: see [`Client::prompts`].
///
/// ```
/// # async fn example(client: bowline::Client) -> Result<(), bowline::Error> {
/// let review = client.prompts().get("review", [("language", "Rust")]).await?;
/// for message in &review.messages {
///     println!("{:?}: {:?}", message.role, message.content);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Prompts<'c> {
    client: &'c Client,
}

impl<'c> Prompts<'c> {
    pub(super) fn new(client: &'c Client) -> Self {
        Self { client }
    }

    pub(super) fn client(self) -> &'c Client {
        self.client
    }

    /// The first page of the list.
    pub fn list(self) -> TypedCall<'c, ListPromptsResult> {
        pages::page::<requests::ListPrompts>(self.client, None)
    }

    /// The page that begins at a cursor.
    pub fn list_from(self, cursor: impl Into<String>) -> TypedCall<'c, ListPromptsResult> {
        pages::page::<requests::ListPrompts>(self.client, Some(cursor.into()))
    }

    /// The list, fetched while it is gone through.
    pub fn pages(self) -> Pages<'c, ListPromptsResult> {
        Pages::new::<requests::ListPrompts>(self.client)
    }

    /// The whole list, when it is awaited. Cancel safe.
    ///
    /// # Errors
    ///
    /// When a page can't be fetched, or the list is too large or [has no end](Pages).
    pub fn list_all(self) -> WholeList<'c, ListPromptsResult> {
        WholeList::new::<requests::ListPrompts>(self.client)
    }

    /// A prompt with its arguments filled in. Arguments are texts, in every revision.
    pub fn get<K, V>(
        self,
        name: impl Into<String>,
        arguments: impl IntoIterator<Item = (K, V)>,
    ) -> TypedCall<'c, GetPromptResult>
    where
        K: Into<String>,
        V: Into<String>,
    {
        let arguments: Map<String> = arguments
            .into_iter()
            .map(|(key, value)| (key.into(), value.into()))
            .collect();
        let mut params = GetPromptParams::new(name);
        params.arguments = (!arguments.is_empty()).then_some(arguments);
        let params = self.client.encode(&params);
        TypedCall::new(self.client.call(Method::GetPrompt.as_str(), params))
    }

    /// Completes an argument of a prompt while it is being typed.
    pub fn complete(
        self,
        prompt: impl Into<String>,
        argument: impl Into<String>,
        typed: impl Into<String>,
    ) -> Completing<'c> {
        Completing::of_prompt(self.client, prompt.into(), argument.into(), typed.into())
    }
}
