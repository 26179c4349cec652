//! The handshake of a scripted server.

use bowline_proto::Payload;
use bowline_types::capabilities::ServerCapabilities;
use bowline_types::common::Implementation;
use bowline_types::lifecycle::{DiscoverResult, InitializeResult};
use bowline_types::meta::{ResultMeta, keys};
use bowline_types::{Era, ErrorObject, NotInRevision, Revision};

use super::conversation::Conversation;
use super::message::{ReceivedMessage, ReceivedRequest};
use super::unexpected::Unexpected;

/// The response of a scripted server to the handshake or the discovery of a client.
///
/// Converted from a [`Revision`], it declares no capabilities. See [`Conversation::handshake`].
#[derive(Clone, Debug)]
pub struct Handshake {
    revision: Revision,
    capabilities: ServerCapabilities,
    server_info: Implementation,
    instructions: Option<String>,
}

impl Handshake {
    /// Creates the handshake of a server that supports this revision only.
    pub fn new(revision: Revision) -> Self {
        Self {
            revision,
            capabilities: ServerCapabilities::new(),
            server_info: Implementation::new("scripted", "1"),
            instructions: None,
        }
    }

    /// Sets the capabilities. Default: none.
    pub fn capabilities(&mut self, capabilities: ServerCapabilities) -> &mut Self {
        self.capabilities = capabilities;
        self
    }

    /// Sets the name and version. Default: `scripted`, version 1.
    pub fn server_info(&mut self, server_info: Implementation) -> &mut Self {
        self.server_info = server_info;
        self
    }

    /// Sets the instructions. Default: none.
    pub fn instructions(&mut self, instructions: impl Into<String>) -> &mut Self {
        self.instructions = Some(instructions.into());
        self
    }

    pub(super) async fn run(
        self,
        server: &mut Conversation,
    ) -> Result<ReceivedRequest, Unexpected> {
        match self.revision.era() {
            Era::Stateless => {
                let request = server.expect("server/discover").await?;
                let versions = vec![self.revision.to_string()];
                self.answer_discover(server, &request, versions).await?;
                Ok(request)
            }
            Era::Handshake => {
                let request = self.expect_initialize(server).await?;
                self.answer_initialize(server, &request, self.revision)
                    .await?;
                server
                    .expect_notification("notifications/initialized")
                    .await?;
                Ok(request)
            }
        }
    }

    /// Expects the `initialize` of a client, which may try the stateless era before.
    async fn expect_initialize(
        &self,
        server: &mut Conversation,
    ) -> Result<ReceivedRequest, Unexpected> {
        let request = match server.next().await? {
            ReceivedMessage::Request(request) if request.method() == "server/discover" => {
                let error = ErrorObject::method_not_found("method not found");
                server.reply_error(&request, &error).await?;
                return server.expect("initialize").await;
            }
            ReceivedMessage::Request(request) => request,
            ReceivedMessage::Notification(_) | ReceivedMessage::Response { .. } => {
                return Err(server.unexpected("the request initialize", "received no request"));
            }
        };
        match request.method() {
            "initialize" => Ok(request),
            other => {
                let actual = format!("received the request {other}");
                Err(server.unexpected("the request initialize", actual))
            }
        }
    }

    pub(super) async fn answer_discover(
        &self,
        server: &mut Conversation,
        request: &ReceivedRequest,
        versions: Vec<String>,
    ) -> Result<(), Unexpected> {
        let meta = ResultMeta::new().with(keys::SERVER_INFO, self.server_info.clone());
        let mut result = DiscoverResult::new(versions, self.capabilities.clone());
        result.meta = Some(meta);
        result.instructions.clone_from(&self.instructions);
        let payload = Payload::encode(&result, Revision::LATEST);
        reply(server, request, payload).await
    }

    pub(super) async fn answer_initialize(
        &self,
        server: &mut Conversation,
        request: &ReceivedRequest,
        revision: Revision,
    ) -> Result<(), Unexpected> {
        let mut result = InitializeResult::new(
            revision.to_string(),
            self.capabilities.clone(),
            self.server_info.clone(),
        );
        result.instructions.clone_from(&self.instructions);
        let payload = Payload::encode(&result, revision);
        reply(server, request, payload).await
    }
}

async fn reply(
    server: &mut Conversation,
    request: &ReceivedRequest,
    payload: Result<Payload, NotInRevision>,
) -> Result<(), Unexpected> {
    match payload {
        Ok(result) => server.reply(request, result).await,
        Err(error) => {
            Err(server.unexpected("a handshake that the revision supports", error.to_string()))
        }
    }
}

impl From<Revision> for Handshake {
    fn from(revision: Revision) -> Self {
        Self::new(revision)
    }
}
