//! A client and a server of one revision, with a tap in between.

use std::sync::{Arc, Mutex, PoisonError};

use bowline::server::{RunningServer, Server, ServerFeatures};
use bowline::transport::memory;
use bowline::types::common::{Implementation, Role};
use bowline::types::elicitation::{ElicitAction, ElicitResult};
use bowline::types::roots::Root;
use bowline::types::sampling::CreateMessageResult;
use bowline::types::{Revision, Revisions};
use bowline::{Client, ClientConfig, Error, ErrorKind};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::server::server;
use super::tap::Tap;

/// What came of a feature in a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It does what it is for.
    Works,
    /// What the revision lacks is replaced by text.
    Words,
    /// What the revision lacks is left out, and the rest works.
    Absent,
    /// It is refused on our side, before anything is sent.
    Unsupported,
    /// The peer refuses it with this code.
    Refused(i64),
    /// Something else, in words.
    Other(String),
}

impl Outcome {
    /// How a call was refused.
    pub(crate) fn refused(error: &Error) -> Self {
        match (error.kind(), error.server_error()) {
            (ErrorKind::JsonRpc, Some(error)) => Self::Refused(error.code),
            (ErrorKind::CapabilityNotSupported, _) => Self::Unsupported,
            _ => Self::Other(error.to_string()),
        }
    }

    /// Works, or is absent.
    pub(crate) fn present(is_there: bool) -> Self {
        if is_there { Self::Works } else { Self::Absent }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Works => f.pad("works"),
            Self::Words => f.pad("words"),
            Self::Absent => f.pad("absent"),
            Self::Unsupported => f.pad("unsupported"),
            Self::Refused(code) => f.pad(&code.to_string()),
            Self::Other(words) => f.pad(words),
        }
    }
}

/// A cell of the matrix: a revision, and the taps of the worlds that were made for it.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) revision: Revision,
    taps: Arc<Mutex<Vec<Tap>>>,
}

impl Cell {
    pub(crate) fn new(revision: Revision) -> Self {
        Self {
            revision,
            taps: Arc::default(),
        }
    }

    pub(crate) fn is_stateless(&self) -> bool {
        self.revision == Revision::V2026_07_28
    }

    fn keep(&self, tap: Tap) {
        let mut taps = self.taps.lock().unwrap_or_else(PoisonError::into_inner);
        taps.push(tap);
    }

    pub(crate) fn taps(&self) -> Vec<Tap> {
        let taps = self.taps.lock().unwrap_or_else(PoisonError::into_inner);
        taps.clone()
    }

    /// The server with everything, and a client that can do everything.
    pub(crate) async fn world(&self) -> World {
        self.world_of(server()).await
    }

    /// Another server.
    pub(crate) async fn world_of(&self, server: Server) -> World {
        self.world_with(server, |_| {}).await
    }

    /// Another server, and more settings of the client.
    pub(crate) async fn world_with(
        &self,
        server: Server,
        more: impl FnOnce(&mut ClientConfig),
    ) -> World {
        let (transport, acceptor) = memory::pair();
        let features = server.features();
        let running = server.build().expect("it can be served");
        let tap = Tap::serve(acceptor, running.clone());
        self.keep(tap.clone());
        let (sender, notes) = mpsc::unbounded_channel();
        let mut config = able_client();
        config
            .connection()
            .revisions(Revisions::only(self.revision));
        config.router().on_inline(None, move |note| {
            let params = note.params().map_or("{}", |params| params.as_str());
            let params = serde_json::from_str(params).expect("JSON");
            // The test may have ended.
            let _ = sender.send((note.method().to_owned(), params));
        });
        more(&mut config);
        let client = Client::connect(transport, config).await;
        World {
            revision: self.revision,
            client: client.expect("they agree"),
            tap,
            features,
            running,
            notes,
        }
    }
}

/// A client and a server that have agreed.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) revision: Revision,
    pub(crate) client: Client,
    pub(crate) tap: Tap,
    pub(crate) features: ServerFeatures,
    pub(crate) running: RunningServer,
    notes: mpsc::UnboundedReceiver<(String, Value)>,
}

impl World {
    /// Calls a method.
    pub(crate) async fn call(&self, method: &'static str, params: Value) -> Result<Value, Outcome> {
        let answer = self.client.call(method, params.to_string()).await;
        let answer = answer.map_err(|error| Outcome::refused(&error))?;
        Ok(serde_json::from_str(answer.as_str()).expect("JSON"))
    }

    /// Calls a tool.
    pub(crate) async fn tool(&self, name: &str, arguments: Value) -> Result<Value, Outcome> {
        let params = json!({"name": name, "arguments": arguments});
        self.call("tools/call", params).await
    }

    /// Calls a tool that returns text.
    pub(crate) async fn text(&self, name: &str, arguments: Value) -> Result<String, Outcome> {
        let result = self.tool(name, arguments).await?;
        let text = result["content"][0]["text"].as_str();
        Ok(text.expect("it is text").to_owned())
    }

    /// A tool, as it is listed.
    pub(crate) async fn listed(&self, name: &str) -> Result<Value, Outcome> {
        let listed = self.call("tools/list", json!({})).await?;
        let mut tools = listed["tools"].as_array().expect("tools").iter();
        let tool = tools.find(|tool| tool["name"] == name);
        Ok(tool.expect("it is there").clone())
    }

    /// The next notification of a method that the client hands out.
    pub(crate) async fn next_notification(&mut self, method: &str) -> Value {
        loop {
            let (of, params) = self.notes.recv().await.expect("the client is there");
            if of == method {
                return params;
            }
        }
    }

    /// Returns when everything that was sent before has arrived.
    pub(crate) async fn wait_until_idle(&self) {
        let echoed = self.text("echo", json!({"text": "done"})).await;
        assert_eq!(echoed, Ok("done".to_owned()));
    }

    /// How many notifications of a method went over the wire.
    pub(crate) fn count_notifications(&self, method: &str) -> usize {
        self.tap
            .server_messages(|line| line["method"] == method)
            .len()
    }

    /// The parameters of a request of the tap, with the `_meta` of the stateless era.
    pub(crate) fn params(&self, more: Value) -> Value {
        let mut params = more;
        if self.revision == Revision::V2026_07_28 {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.revision.as_str(),
                "io.modelcontextprotocol/clientCapabilities": {
                    "elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}
                },
            });
        }
        params
    }

    /// What the server answers to a request that the client would not send.
    pub(crate) async fn raw(&self, method: &str, params: Value) -> Outcome {
        static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let id = format!("{}{number}", super::tap::OURS);
        let params = self.params(params);
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let answer = self.tap.ask(&request).await;
        match answer["error"]["code"].as_i64() {
            Some(code) => Outcome::Refused(code),
            None => Outcome::Works,
        }
    }
}

/// A client that can do everything: its person is Ann, its model knows Paris.
fn able_client() -> ClientConfig {
    let mut config = ClientConfig::new(Implementation::new("client", "1").title("The client"));
    config.elicitation(|_| async { Ok(ElicitResult::accept([("name", "Ann")])) });
    config.elicitation_url(|_| async { Ok(ElicitResult::new(ElicitAction::Accept)) });
    config.sampling_with_tools(|_| async {
        let message = CreateMessageResult::new(Role::Assistant, "Paris", "a-model");
        Ok(message.stop_reason("endTurn"))
    });
    config.tasks();
    config.roots([Root::new("file:///work").name("work")]);
    config
}
