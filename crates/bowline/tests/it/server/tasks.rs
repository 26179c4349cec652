//! Tasks: our client and our server, in both generations.

mod ended_tasks;
mod lifecycle;
mod limits;
mod lost_connections;
mod refusals;
mod task_input;

use std::sync::{Arc, Mutex};

use bowline::client::features::{TaskHandle, TaskOrResult};
use bowline::server::{Principal, RunningServer, Server};
use bowline::transport::memory::{self, Memory};
use bowline::types::common::Implementation;
use bowline::types::{Revision, Revisions};
use bowline::{Client, ClientConfig, Error};
use tokio::sync::watch;
use tokio::task::AbortHandle;

const OLD: Revision = Revision::V2025_11_25;
const NEW: Revision = Revision::V2026_07_28;

/// A server that any number of clients reach, and whose connections can be cut.
struct World {
    running: RunningServer,
    served: Arc<Mutex<Vec<AbortHandle>>>,
}

impl World {
    fn new(server: Server) -> Self {
        Self {
            running: server.build().expect("it can be served"),
            served: Arc::default(),
        }
    }

    async fn client(&self, revision: Revision) -> Client {
        self.client_with(revision, |_| {}).await
    }

    /// A client that a layer has authenticated as this one.
    async fn client_of(&self, revision: Revision, who: &str) -> Client {
        let who = Some(Principal::new(who));
        self.connected(revision, who, |_| {}).await
    }

    async fn client_with(
        &self,
        revision: Revision,
        more: impl FnOnce(&mut ClientConfig),
    ) -> Client {
        self.connected(revision, None, more).await
    }

    async fn connected(
        &self,
        revision: Revision,
        who: Option<Principal>,
        more: impl FnOnce(&mut ClientConfig),
    ) -> Client {
        let mut config = ClientConfig::new(Implementation::new("client", "1"));
        config.connection().revisions(Revisions::only(revision));
        config.tasks();
        more(&mut config);
        let client = Client::connect(self.transport(who), config).await;
        client.expect("they agree")
    }

    fn transport(&self, who: Option<Principal>) -> Memory {
        let (transport, mut acceptor) = memory::pair();
        let (running, served) = (self.running.clone(), Arc::clone(&self.served));
        tokio::spawn(async move {
            while let Some(stream) = acceptor.accept().await {
                let (reader, writer) = tokio::io::split(stream);
                let stream = bowline::transport::Stream::new(reader, writer);
                let serving = match who.clone() {
                    Some(who) => tokio::spawn(running.serve_stream_as(stream, who)),
                    None => tokio::spawn(running.serve_stream(stream)),
                };
                served.lock().expect("ours").push(serving.abort_handle());
            }
        });
        transport
    }

    /// Cuts all connections.
    fn cut(&self) {
        for serving in self.served.lock().expect("ours").drain(..) {
            serving.abort();
        }
    }
}

/// A call that is a task.
async fn started(client: &Client, tool: &str) -> Result<TaskHandle, Error> {
    match client.tools().call(tool, ()).start_task().await? {
        TaskOrResult::Task(handle) => Ok(handle),
        TaskOrResult::Result(result) => panic!("{tool} is no task: {result:?}"),
    }
}

/// The code of an error of the server.
fn code(error: &Error) -> i64 {
    error.server_error().map_or(0, |error| error.code)
}

/// Something that a test lets happen, and sees happening.
#[derive(Clone, Debug)]
struct Gate(Arc<(watch::Sender<bool>, watch::Sender<usize>)>);

impl Gate {
    fn new() -> Self {
        Self(Arc::new((watch::Sender::new(false), watch::Sender::new(0))))
    }

    fn open(&self) {
        self.0.0.send_replace(true);
    }

    /// Waits until it is open. Dropping the future is seen.
    async fn pass(&self) {
        let _left = Left(self.clone());
        let mut is_open = self.0.0.subscribe();
        is_open.wait_for(|is_open| *is_open).await.expect("ours");
    }

    /// Waits until so many have passed or given up.
    async fn left(&self, count: usize) {
        let mut left = self.0.1.subscribe();
        left.wait_for(|left| *left >= count).await.expect("ours");
    }

    fn count(&self) -> usize {
        *self.0.1.borrow()
    }
}

/// Somebody is at the gate.
struct Left(Gate);

impl Drop for Left {
    fn drop(&mut self) {
        self.0.0.1.send_modify(|left| *left += 1);
    }
}
