//! rmcp's client, under load.
//!
//! As lean as its documentation allows: `Peer::call_tool`, which makes one call, and not that
//! of `RunningService`, which clones the parameters for the rounds that may follow.

use std::sync::Arc;

use load::Failure;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ContentBlock, Implementation,
    ProtocolVersion,
};
use rmcp::service::RunningService;
use rmcp::transport::TokioChildProcess;
use rmcp::{Peer, RoleClient, ServiceExt as _};
use serde_json::{Map, Value};
use tokio::process::Command;

const REVISION: ProtocolVersion = ProtocolVersion::V_2025_11_25;

#[derive(Clone)]
struct Rmcp {
    peer: Peer<RoleClient>,
    /// The connection ends with it.
    _service: Arc<RunningService<RoleClient, ClientConfig>>,
}

impl load::Client for Rmcp {
    const NAME: &'static str = "rmcp";

    async fn connect(server: &[String]) -> Result<Self, Failure> {
        let (program, args) = server.split_first().ok_or("no server")?;
        let mut command = Command::new(program);
        command.args(args);
        let info = Implementation::new("load", "0");
        let config = ClientConfig::new(ClientCapabilities::default(), info);
        let config = config.with_protocol_version(REVISION);
        let service = config.serve(TokioChildProcess::new(command)?).await?;
        let revision = service
            .peer_info()
            .map(|info| info.protocol_version.clone());
        assert_eq!(revision, Some(REVISION));
        Ok(Self {
            peer: service.peer().clone(),
            _service: Arc::new(service),
        })
    }

    async fn echo(&self, text: &str) -> Result<String, Failure> {
        let mut arguments = Map::new();
        arguments.insert("text".to_owned(), Value::from(text));
        let params = CallToolRequestParams::new("echo").with_arguments(arguments);
        let result = self.peer.call_tool(params).await?;
        match result.content.into_iter().next() {
            Some(ContentBlock::Text(content)) => Ok(content.text),
            _ => Err("no text".into()),
        }
    }
}

fn main() -> Result<(), Failure> {
    load::main::<Rmcp>()
}
