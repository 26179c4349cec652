//! Where the servers are, and a client that is connected to one.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bowline::client::{ClientConfig, ServerNotification};
use bowline::transport::ChildProcess;
use bowline::types::common::{Implementation, Role};
use bowline::types::content::ContentBlock;
use bowline::types::elicitation::{ElicitAction, ElicitResult};
use bowline::types::resources::{ReadResourceResult, ResourceContents};
use bowline::types::roots::Root;
use bowline::types::sampling::CreateMessageResult;
use bowline::types::tools::Tool;
use bowline::{Backoff, Client};
use serde::Serialize;
use tokio::sync::mpsc;

use crate::ecosystem::processes::{self, Mark};

/// Longer than anything takes on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Where `scripts/servers` has put something.
fn place(variable: &str) -> PathBuf {
    match env::var_os(variable) {
        Some(place) => place.into(),
        None => panic!("{variable} is not set: scripts/servers runs these tests"),
    }
}

/// A server to be started, by which its processes can be distinguished from all others.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    command: ChildProcess,
    mark: Mark,
}

impl Server {
    /// A server that runs on Node: a program beside the modules.
    pub(crate) fn node(program: &str) -> Self {
        let program = place("BOWLINE_SERVERS_MODULES").join(program);
        Self::new(ChildProcess::new(place("BOWLINE_SERVERS_NODE")).args([program]))
    }

    /// One of the official servers that run on Node.
    pub(crate) fn official(name: &str) -> Self {
        let package = format!("node_modules/@modelcontextprotocol/server-{name}");
        Self::node(&format!("{package}/dist/index.js"))
    }

    /// A program of the official Python SDK 1.x.
    pub(crate) fn python_1(program: &str) -> Self {
        Self::new(ChildProcess::new(
            place("BOWLINE_SERVERS_PYTHON_1").join("bin").join(program),
        ))
    }

    /// A program of the official Python SDK 2.x.
    pub(crate) fn python_2(program: &str) -> Self {
        Self::new(ChildProcess::new(
            place("BOWLINE_SERVERS_PYTHON_2").join("bin").join(program),
        ))
    }

    fn new(command: ChildProcess) -> Self {
        let mark = Mark::new();
        let command = command
            .env(Mark::VARIABLE, mark.value())
            .env("PYTHONDONTWRITEBYTECODE", "1");
        Self { command, mark }
    }

    pub(crate) fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command = self.command.args(args);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command = self.command.env(name, value);
        self
    }

    pub(crate) async fn connect(self, config: ClientConfig) -> Connected {
        let client = Client::connect(self.command, config).await;
        Connected {
            client: client.expect("it connects"),
            mark: self.mark,
        }
    }
}

/// A client whose server runs.
#[derive(Debug)]
pub(crate) struct Connected {
    pub(crate) client: Client,
    pub(crate) mark: Mark,
}

impl Connected {
    /// The whole list of tools, in the order of their names.
    pub(crate) async fn tool_names(&self) -> Vec<String> {
        let tools = self.client.tools().list_all().await.expect("tools");
        let mut names: Vec<_> = tools.into_iter().map(|tool| tool.name).collect();
        names.sort();
        names
    }

    pub(crate) async fn tool(&self, name: &str) -> Tool {
        let tools = self.client.tools().list_all().await.expect("tools");
        let tool = tools.into_iter().find(|tool| tool.name == name);
        tool.expect("it is listed")
    }

    /// What a tool says that succeeds.
    pub(crate) async fn text(&self, tool: &str, arguments: impl Serialize) -> String {
        let result = self.client.tools().call(tool, arguments).await;
        let result = result.expect("an answer");
        assert!(!result.is_failure(), "{}", result.text());
        result.text()
    }

    /// The words of a resource.
    pub(crate) async fn read(&self, uri: &str) -> String {
        let read = self.client.resources().read(uri).await;
        text_of(&read.expect("it can be read"))
    }

    /// The words of a prompt of one message.
    pub(crate) async fn prompt(&self, name: &str, arguments: &[(&str, &str)]) -> String {
        let arguments = arguments.iter().copied();
        let prompt = self.client.prompts().get(name, arguments).await;
        let prompt = prompt.expect("a prompt");
        let [message] = prompt.messages.as_slice() else {
            panic!("one message: {prompt:?}");
        };
        message.content.as_text().expect("a text").to_owned()
    }

    /// Stops the client, and sees that nothing is left of its server.
    pub(crate) async fn stop(self) {
        processes::stop(&self.client, &self.mark).await;
    }
}

pub(crate) fn text_of(read: &ReadResourceResult) -> String {
    let texts = read.contents.iter().map(|contents| match contents {
        ResourceContents::Text(contents) => contents.text.clone(),
        other => panic!("a text: {other:?}"),
    });
    texts.collect()
}

/// A client that tries again soon, and takes a slow server on a busy machine for what it is.
pub(crate) fn config() -> ClientConfig {
    let mut config = ClientConfig::new(Implementation::new("bowline", "1.0"));
    let (first, longest) = (Duration::from_millis(10), Duration::from_millis(100));
    config.backoff(Backoff::new(first, longest));
    config.connect_timeout(Some(LONG));
    config.connection().probe_timeout(LONG);
    config
}

/// A client that can do everything: its person is Ann, its model knows Paris, and it works
/// in one folder.
pub(crate) fn able(folder: &Path) -> ClientConfig {
    let mut config = config();
    config.elicitation(|_| async { Ok(ElicitResult::accept([("name", "Ann")])) });
    config.elicitation_url(|_| async { Ok(ElicitResult::new(ElicitAction::Accept)) });
    config.sampling(|asked| async move {
        let question = asked
            .messages
            .last()
            .map(|message| format!("{:?}", message.content));
        assert!(question.is_some_and(|text| text.contains("France")));
        Ok(CreateMessageResult::new(
            Role::Assistant,
            "Paris",
            "a-model",
        ))
    });
    config.roots([root(folder)]);
    config
}

pub(crate) fn root(folder: &Path) -> Root {
    Root::new(uri(folder)).name("work")
}

pub(crate) fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// Every notification of a method, from the beginning on.
pub(crate) fn hear(config: &ClientConfig, method: &'static str) -> Heard {
    let (sender, heard) = mpsc::unbounded_channel();
    config.router().on_inline(None, move |note| {
        if note.method() == method {
            // The test may have ended.
            let _ = sender.send(note.clone());
        }
    });
    Heard(heard)
}

pub(crate) struct Heard(mpsc::UnboundedReceiver<ServerNotification>);

impl Heard {
    /// The parameters of the next one.
    pub(crate) async fn next(&mut self) -> serde_json::Value {
        let note = tokio::time::timeout(LONG, self.0.recv()).await;
        let note = note.expect("in time").expect("the client is there");
        let params = note.params().map_or("{}", |params| params.as_str());
        serde_json::from_str(params).expect("JSON")
    }
}

/// A folder of its own, which is gone with this.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("bowline-ecosystem-{}-{number}", std::process::id());
        let folder = env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        // Servers say where it really is.
        Self(folder.canonicalize().expect("it is there"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The only block, and that it is what a test wants it to be.
pub(crate) fn only(blocks: &[ContentBlock]) -> &ContentBlock {
    match blocks {
        [block] => block,
        other => panic!("one block: {other:?}"),
    }
}
