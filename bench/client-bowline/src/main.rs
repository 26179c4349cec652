//! Bowline's client, under load.

use bowline::transport::ChildProcess;
use bowline::types::common::Implementation;
use bowline::types::content::ContentBlock;
use bowline::types::tools::CallToolResult;
use bowline::types::{Revision, Revisions};
use bowline::{Client, Config};
use load::Failure;
use serde::Serialize;

const REVISION: Revision = Revision::V2025_11_25;

#[derive(Serialize)]
struct Echo<'a> {
    text: &'a str,
}

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
        let result = self.0.tools().call("echo", &Echo { text }).await?;
        let result = CallToolResult::from(result);
        match result.content.into_iter().next() {
            Some(ContentBlock::Text(content)) => Ok(content.text),
            _ => Err("no text".into()),
        }
    }
}

fn main() -> Result<(), Failure> {
    load::main::<Bowline>()
}
