//! Sampling by a server that has a model.

use bowline_types::Method;
use bowline_types::sampling::{CreateMessageParams, CreateMessageResult};

use super::typed_call::TypedCall;
use crate::client::Client;

/// The model of a server: see [`Client::sampling`].
///
/// In MCP it is the server that asks the client's model
/// ([`ClientConfig::sampling`](crate::ClientConfig::sampling)). This is the other way round,
/// which no revision has: for servers that declare the capability `sampling`.
#[derive(Clone, Copy, Debug)]
pub struct Sampling<'c> {
    client: &'c Client,
}

impl<'c> Sampling<'c> {
    pub(super) fn new(client: &'c Client) -> Self {
        Self { client }
    }

    /// Asks the server's model. A server that has not declared `sampling` is not asked, which is
    /// an error of kind [`CapabilityNotSupported`](crate::ErrorKind::CapabilityNotSupported).
    pub fn create_message(
        self,
        params: &CreateMessageParams,
    ) -> TypedCall<'c, CreateMessageResult> {
        let params = self.client.encode(params);
        TypedCall::new(self.client.call(Method::CreateMessage.as_str(), params))
    }
}
