//! Completion of arguments while they are being typed.

use std::fmt;
use std::future::IntoFuture;

use bowline_types::Method;
use bowline_types::completion::{
    CompleteParams, CompleteResult, CompletionArgument, CompletionContext, PromptReference,
    Reference, ResourceTemplateReference,
};

use super::typed_call::{PendingTypedCall, TypedCall};
use crate::client::{Client, Params};
use crate::error::Error;

/// A completion that has not been requested yet. Await it to send the request.
///
/// ```
/// # async fn example(client: bowline::Client) -> Result<(), bowline::Error> {
/// let cities = client
///     .prompts()
///     .complete("weather", "city", "Ro")
///     .context_argument("country", "Netherlands")
///     .await?;
/// println!("{}", cities.completion.values.join(", "));
/// # Ok(())
/// # }
/// ```
#[must_use = "a call does nothing unless it is awaited"]
#[derive(Clone)]
pub struct CompletionCall<'c> {
    client: &'c Client,
    params: CompleteParams,
}

impl<'c> CompletionCall<'c> {
    pub(super) fn of_prompt(
        client: &'c Client,
        prompt: String,
        argument: String,
        typed: String,
    ) -> Self {
        let prompt = Reference::Prompt(PromptReference::new(prompt));
        let params = CompleteParams::new(prompt, CompletionArgument::new(argument, typed));
        Self { client, params }
    }

    pub(super) fn of_template(
        client: &'c Client,
        template: String,
        variable: String,
        typed: String,
    ) -> Self {
        let template = Reference::Resource(ResourceTemplateReference::new(template));
        let params = CompleteParams::new(template, CompletionArgument::new(variable, typed));
        Self { client, params }
    }

    /// Adds an argument that already has a value: one of `context.arguments`. It is not sent to
    /// servers before 2025-06-18.
    pub fn context_argument(
        mut self,
        argument: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        let context = self
            .params
            .context
            .get_or_insert_with(CompletionContext::new);
        let arguments = context.arguments.get_or_insert_default();
        arguments.insert(argument.into(), value.into());
        self
    }

    /// Returns the call of the completion, to set its timeout or whether it is retried.
    pub fn into_call(self) -> TypedCall<'c, CompleteResult> {
        let mut call = self.client.call(Method::Complete.as_str(), ());
        // Revisions before 2025-06-18 have no context.
        call.set_params_encoder(move |terms| {
            Params::members_in(&self.params, terms.agreement().revision)
        });
        TypedCall::new(call)
    }
}

impl IntoFuture for CompletionCall<'_> {
    type Output = Result<CompleteResult, Error>;
    type IntoFuture = PendingTypedCall<CompleteResult>;

    /// Sends the request. Dropping the future cancels it.
    fn into_future(self) -> Self::IntoFuture {
        self.into_call().into_future()
    }
}

impl fmt::Debug for CompletionCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompletionCall")
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}
