//! Tasks outlive the connection on which they were created, and the program that created them.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bowline::Payload;
use bowline::client::features::TaskRef;
use bowline::server::{ClientRequest, RequestService, Server, State, tool};
use bowline::types::ErrorObject;
use bowline::types::tools::TaskSupport;
use tower_layer::Layer;
use tower_service::Service;

use super::{Gate, NEW, OLD, World, started};

fn server(gate: &Gate) -> Server {
    let waits = tool("waits", |State(gate): State<Gate>| async move {
        gate.pass().await;
        "done"
    });
    Server::new("tasks", "1")
        .state(gate.clone())
        .add_tool(waits.task_support(TaskSupport::Required))
}

// proves: FT-12, SV-3
#[tokio::test(start_paused = true)]
async fn a_call_that_is_a_task_survives_lost_connections() {
    for revision in [OLD, NEW] {
        let gate = Gate::new();
        let world = World::new(server(&gate));
        let client = world.client(revision).await;
        client.tools().list_all().await.expect("tools");
        let call = tokio::spawn(client.tools().call("waits", ()).send());
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_secs(5)).await;
            world.cut();
        }
        assert_eq!(gate.count(), 0, "the handler runs all the time");
        gate.open();
        let result = call.await.expect("it runs").expect("a result");
        assert_eq!(result.text(), "done");
        assert!(client.session() > 3);
    }
}

// proves: FT-12, SV-3
#[tokio::test(start_paused = true)]
async fn another_program_continues_a_task() {
    for revision in [OLD, NEW] {
        let gate = Gate::new();
        let world = World::new(server(&gate));
        let client = world.client(revision).await;
        let saved = {
            let handle = started(&client, "waits").await.expect("a task");
            handle.task_ref().to_string()
        };
        client.stop().await;
        drop(client);
        world.cut();
        // The program is gone, and its connection too.
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(gate.count(), 0, "the handler runs all the time");

        let client = world.client(revision).await;
        let saved: TaskRef = saved.parse().expect("it was saved");
        let handle = client.tasks().resume(saved);
        gate.open();
        let result = handle.wait().await.expect("a result");
        assert_eq!(result.text(), "done");
    }
}

// proves: FT-12, SV-3
#[tokio::test(start_paused = true)]
async fn a_program_of_the_other_generation_continues_a_task() {
    for (first, second) in [(OLD, NEW), (NEW, OLD)] {
        let gate = Gate::new();
        let world = World::new(server(&gate));
        let client = world.client(first).await;
        let handle = started(&client, "waits").await.expect("a task");
        let other = world.client(second).await;
        let resumed = other.tasks().resume(handle.task_ref().clone());
        let waiting = tokio::spawn(async move { resumed.wait().await });
        tokio::time::sleep(Duration::from_secs(1)).await;
        gate.open();
        let result = waiting.await.expect("it runs").expect("a result");
        assert_eq!(result.text(), "done", "{first} and then {second}");
    }
}

/// Answers late.
#[derive(Clone)]
struct Late(RequestService);

struct Delay;

impl Layer<RequestService> for Delay {
    type Service = Late;

    fn layer(&self, inner: RequestService) -> Late {
        Late(inner)
    }
}

impl Service<ClientRequest> for Late {
    type Response = Payload;
    type Error = ErrorObject;
    type Future = Pin<Box<dyn Future<Output = Result<Payload, ErrorObject>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ErrorObject>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: ClientRequest) -> Self::Future {
        let is_slow = request.params().contains("waits");
        let answer = self.0.call(request);
        Box::pin(async move {
            let answer = answer.await;
            if is_slow {
                tokio::time::sleep(Duration::from_secs(10)).await;
            }
            answer
        })
    }
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn a_task_that_its_client_never_learns_of_does_not_run() {
    for revision in [OLD, NEW] {
        for is_cut in [false, true] {
            let gate = Gate::new();
            let mut tasks = bowline::server::TaskConfig::new();
            tasks.enable_list(true);
            let world = World::new(server(&gate).tasks(tasks).layer(Delay));
            let client = world.client(revision).await;
            let call = client.tools().call("waits", ()).as_task(None);
            let call = tokio::spawn(call.send());
            tokio::time::sleep(Duration::from_secs(5)).await;
            if is_cut {
                world.cut()
            } else {
                call.abort()
            }
            tokio::time::sleep(Duration::from_secs(10)).await;
            gate.open();
            tokio::time::sleep(Duration::from_secs(10)).await;
            assert_eq!(gate.count(), 0, "{revision}, cut: {is_cut}");
            if revision == OLD {
                client.ready().await.expect("it comes again");
                let listed = client.tasks().list_all().await.expect("a list");
                assert_eq!(listed, [], "it is as if there had been none");
            }
        }
    }
}
