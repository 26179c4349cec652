//! Bowline's client, under load.

use bowline::client::Params;
use bowline::transport::ChildProcess;
use bowline::types::common::Implementation;
use bowline::types::content::ContentBlock;
use bowline::types::tools::{CallToolParams, CallToolResult};
use bowline::types::{Json, JsonObject, Revision, Revisions};
use bowline::{Client, Config};
use load::Failure;

const REVISION: Revision = Revision::V2025_11_25;

#[derive(Clone)]
struct Bowline(Client);

impl load::Client for Bowline {
    const NAME: &'static str = "bowline";

    async fn connect(server: &[String]) -> Result<Self, Failure> {
        let (program, args) = server.split_first().ok_or("no server")?;
        let mut config = Config::new(Implementation::new("load", "0"));
        config.revisions(Revisions::only(REVISION));
        let client = Client::connect(ChildProcess::new(program).args(args), config).await?;
        let revision = client.agreement().ok_or("nothing agreed")?.revision;
        assert_eq!(revision, REVISION);
        Ok(Self(client))
    }

    async fn echo(&self, text: &str) -> Result<String, Failure> {
        let arguments: JsonObject = [("text", Json::from(text))].into_iter().collect();
        let params = CallToolParams::new("echo").arguments(arguments);
        let params = Params::encode(&params, REVISION);
        let result = self.0.call("tools/call", params).await?;
        let result: CallToolResult = result.decode()?;
        match result.content.into_iter().next() {
            Some(ContentBlock::Text(content)) => Ok(content.text),
            _ => Err("no text".into()),
        }
    }
}

fn main() -> Result<(), Failure> {
    load::main::<Bowline>()
}
