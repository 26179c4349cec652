//! Prompts.

use bowline_types::Method;
use bowline_types::method::requests;
use bowline_types::prompts::{GetPromptParams, GetPromptResult, ListPromptsResult};
use bowline_types::wire::Map;

use super::completion::CompletionCall;
use super::paginated_list::{self, Pages, WholeList};
use super::typed_call::TypedCall;
use crate::client::Client;

/// The prompts of a server: see [`Client::prompts`].
///
/// ```
/// # async fn example(client: bowline::Client) -> Result<(), bowline::Error> {
/// let look = client.prompts().get("look", ()).await?;
/// let review = client.prompts().get("review", [("language", "Rust")]).await?;
/// for message in &review.messages {
///     println!("{:?}: {:?}", message.role, message.content);
/// }
/// # drop(look);
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

    /// Fetches the first page of the list.
    pub fn list(self) -> TypedCall<'c, ListPromptsResult> {
        paginated_list::page::<requests::ListPrompts>(self.client, None)
    }

    /// Fetches the page of the list that begins at a cursor.
    pub fn list_from(self, cursor: impl Into<String>) -> TypedCall<'c, ListPromptsResult> {
        paginated_list::page::<requests::ListPrompts>(self.client, Some(cursor.into()))
    }

    /// Returns the list as a stream of items, fetched page by page.
    pub fn pages(self) -> Pages<'c, ListPromptsResult> {
        Pages::new::<requests::ListPrompts>(self.client)
    }

    /// Fetches the whole list when it is awaited. Cancel safe.
    ///
    /// # Errors
    ///
    /// When a page can't be fetched, the server repeats a cursor, or the list is [too
    /// large](Pages).
    pub fn list_all(self) -> WholeList<'c, ListPromptsResult> {
        WholeList::new::<requests::ListPrompts>(self.client)
    }

    /// Gets a prompt with its arguments filled in, or `()` for none. Arguments are strings, in
    /// every revision.
    pub fn get<M>(
        self,
        name: impl Into<String>,
        arguments: impl PromptArguments<M>,
    ) -> TypedCall<'c, GetPromptResult> {
        let arguments = arguments.into_texts();
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
    ) -> CompletionCall<'c> {
        CompletionCall::of_prompt(self.client, prompt.into(), argument.into(), typed.into())
    }
}

/// The arguments of a prompt: names and texts, in whatever has pairs of them (an array, a `Vec`,
/// a map), or `()` for none.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be the arguments of a prompt",
    label = "not pairs of a name and a string",
    note = "pass `[(\"name\", \"value\")]`, a map of strings, or `()` for no arguments"
)]
// The parameter makes the implementations disjoint for the compiler.
pub trait PromptArguments<Pair> {
    /// Returns the texts by name.
    #[doc(hidden)]
    fn into_texts(self) -> Map<String>;
}

impl PromptArguments<()> for () {
    fn into_texts(self) -> Map<String> {
        Map::default()
    }
}

impl<I, K, V> PromptArguments<(K, V)> for I
where
    I: IntoIterator<Item = (K, V)>,
    K: Into<String>,
    V: Into<String>,
{
    fn into_texts(self) -> Map<String> {
        let pairs = self.into_iter();
        pairs
            .map(|(key, value)| (key.into(), value.into()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn texts<M>(arguments: impl PromptArguments<M>) -> usize {
        arguments.into_texts().len()
    }

    #[test]
    fn arguments_are_pairs_in_anything_or_none() {
        assert_eq!(texts(()), 0);
        assert_eq!(texts([("a", "b")]), 1);
        assert_eq!(texts([("a", "b".to_owned()), ("c", "d".to_owned())]), 2);
        assert_eq!(texts(vec![("a".to_owned(), "b")]), 1);
        assert_eq!(texts(Some(("a", "b"))), 1);
        assert_eq!(texts(BTreeMap::from([("a", "b")])), 1);
        assert_eq!(texts(["a", "b"].into_iter().map(|text| (text, text))), 2);
    }
}
