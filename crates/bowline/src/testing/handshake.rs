//! How a scripted server agrees on a revision.

use bowline_proto::Payload;
use bowline_types::capabilities::ServerCapabilities;
use bowline_types::common::Implementation;
use bowline_types::lifecycle::{DiscoverResult, InitializeResult};
use bowline_types::meta::{ResultMeta, keys};
use bowline_types::{Era, ErrorObject, NotInRevision, Revision};

use super::conversation::Conversation;
use super::message::{ReceivedMessage, ReceivedRequest};
use super::unexpected::Unexpected;

/// What a scripted server says about itself when a client connects.
///
/// A [`Revision`] is one with no capabilities. See
/// [`Conversation::handshake`].
#[derive(Clone, Debug)]
pub struct Handshake {
    revision: Revision,
    capabilities: ServerCapabilities,
    server_info: Implementation,
    instructions: Option<String>,
}

impl Handshake {
    /// A server that speaks this revision, and no other.
    pub fn new(revision: Revision) -> Self {
        Self {
            revision,
            capabilities: ServerCapabilities::new(),
            server_info: Implementation::new("scripted", "1"),
            instructions: None,
        }
    }

    /// What it can do. Default: nothing.
    pub fn capabilities(&mut self, capabilities: ServerCapabilities) -> &mut Self {
        self.capabilities = capabilities;
        self
    }

    /// Who it is. Default: `scripted`, version 1.
    pub fn server_info(&mut self, server_info: Implementation) -> &mut Self {
        self.server_info = server_info;
        self
    }

    /// How to use it. Default: it doesn't say.
    pub fn instructions(&mut self, instructions: impl Into<String>) -> &mut Self {
        self.instructions = Some(instructions.into());
        self
    }

    pub(super) async fn answer(
        self,
        server: &mut Conversation,
    ) -> Result<ReceivedRequest, Unexpected> {
        match self.revision.era() {
            Era::Stateless => {
                let request = server.expect("server/discover").await?;
                let versions = vec![self.revision.to_string()];
                self.discovered(server, &request, versions).await?;
                Ok(request)
            }
            Era::Handshake => {
                let request = self.initialize(server).await?;
                self.initialized(server, &request, self.revision).await?;
                server
                    .expect_notification("notifications/initialized")
                    .await?;
                Ok(request)
            }
        }
    }

    /// The `initialize` of a client, which may have tried the other era before.
    async fn initialize(&self, server: &mut Conversation) -> Result<ReceivedRequest, Unexpected> {
        let request = match server.next().await? {
            ReceivedMessage::Request(request) if request.method() == "server/discover" => {
                let error = ErrorObject::method_not_found("method not found");
                server.reply_error(&request, &error).await?;
                return server.expect("initialize").await;
            }
            ReceivedMessage::Request(request) => request,
            ReceivedMessage::Notification(_) | ReceivedMessage::Answer { .. } => {
                return Err(server.unexpected("the request initialize", "no request came"));
            }
        };
        match request.method() {
            "initialize" => Ok(request),
            other => {
                let instead = format!("the request {other} came");
                Err(server.unexpected("the request initialize", instead))
            }
        }
    }

    pub(super) async fn discovered(
        &self,
        server: &mut Conversation,
        request: &ReceivedRequest,
        versions: Vec<String>,
    ) -> Result<(), Unexpected> {
        let meta = ResultMeta::new().with(keys::SERVER_INFO, self.server_info.clone());
        let mut result = DiscoverResult::new(versions, self.capabilities.clone());
        result.meta = Some(meta);
        result.instructions.clone_from(&self.instructions);
        let said = Payload::encode(&result, Revision::LATEST);
        reply(server, request, said).await
    }

    pub(super) async fn initialized(
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
        let said = Payload::encode(&result, revision);
        reply(server, request, said).await
    }
}

async fn reply(
    server: &mut Conversation,
    request: &ReceivedRequest,
    said: Result<Payload, NotInRevision>,
) -> Result<(), Unexpected> {
    match said {
        Ok(result) => server.reply(request, result).await,
        Err(error) => Err(server.unexpected("a handshake that can be said", error.to_string())),
    }
}

impl From<Revision> for Handshake {
    fn from(revision: Revision) -> Self {
        Self::new(revision)
    }
}
