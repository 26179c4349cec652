//! Refused task requests, and the declared task capabilities.

use bowline::server::{Server, TaskConfig, tool};
use bowline::types::capabilities::ClientCapabilities;
use bowline::types::tasks::EXTENSION;
use bowline::types::tools::TaskSupport;
use bowline::{Client, Error};
use serde_json::{Value, json};

use super::{NEW, OLD, World, code, started};

fn server(tasks: &TaskConfig) -> Server {
    Server::new("tasks", "1")
        .tasks(tasks.clone())
        .add_tool(tool("must", || async { "done" }).task_support(TaskSupport::Required))
        .add_tool(tool("may", || async { "done" }).task_support(TaskSupport::Optional))
        .add_tool(tool("plain", || async { "done" }))
}

async fn call(client: &Client, method: &'static str, params: Value) -> Result<Value, Error> {
    let answer = client.call(method, params.to_string()).await?;
    Ok(serde_json::from_str(answer.as_str()).expect("JSON"))
}

async fn refusal(client: &Client, method: &'static str, params: Value) -> i64 {
    code(&call(client, method, params).await.expect_err(method))
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn without_the_extension_the_error_names_it() {
    let world = World::new(server(&TaskConfig::new()));
    let able = world.client(NEW).await;
    let handle = started(&able, "must").await.expect("a task");
    let unable = world
        .client_with(NEW, |config| {
            config.connection().capabilities(ClientCapabilities::new());
        })
        .await;
    let id = handle.id();
    // TX-3, TX-13.
    for (method, params) in [
        ("tools/call", json!({"name": "must"})),
        ("tasks/get", json!({"taskId": id})),
        ("tasks/cancel", json!({"taskId": id})),
        ("tasks/update", json!({"taskId": id, "inputResponses": {}})),
    ] {
        let error = call(&unable, method, params).await.expect_err(method);
        let refusal = error.server_error().expect("an error of the server");
        assert_eq!(refusal.code, -32021, "{error}");
        let data = refusal.data.as_ref().expect("what is needed").as_str();
        let needed =
            format!(r#"{{"requiredCapabilities":{{"extensions":{{"{EXTENSION}":{{}}}}}}}}"#);
        assert_eq!(data, needed);
    }
    // What need not be a task is none.
    let may = call(&unable, "tools/call", json!({"name": "may"})).await;
    assert_eq!(may.expect("a result")["resultType"], "complete");
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn tools_are_called_as_they_demand() {
    let world = World::new(server(&TaskConfig::new()));
    let client = world.client(OLD).await;
    // TK-3.
    assert_eq!(
        refusal(&client, "tools/call", json!({"name": "must"})).await,
        -32601
    );
    let plain = json!({"name": "plain", "task": {}});
    assert_eq!(refusal(&client, "tools/call", plain.clone()).await, -32601);
    for wrong in [json!(5), json!({"ttl": "long"})] {
        let params = json!({"name": "may", "task": wrong});
        assert_eq!(refusal(&client, "tools/call", params).await, -32602);
    }
    let task = call(&client, "tools/call", json!({"name": "may", "task": {}})).await;
    assert_eq!(task.expect("a task")["task"]["status"], "working");
    let null = call(&client, "tools/call", json!({"name": "may", "task": null})).await;
    assert_eq!(null.expect("a result")["content"][0]["text"], "done");

    // TK-4: a server without tasks, and TX-1: the other generation.
    let without = World::new(Server::new("plain", "1").tool("plain", "", || async { "done" }));
    for client in [without.client(OLD).await, world.client(NEW).await] {
        let result = call(&client, "tools/call", plain.clone()).await;
        assert_eq!(result.expect("a result")["content"][0]["text"], "done");
    }
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn each_generation_is_declared_in_its_own_revision() {
    let mut listed = TaskConfig::new();
    listed.enable_list(true);
    for (config, list) in [(TaskConfig::new(), false), (listed, true)] {
        let world = World::new(server(&config));
        let old = world
            .client(OLD)
            .await
            .capabilities()
            .expect("declared capabilities");
        let tasks = old.tasks.as_ref().expect("tasks");
        assert!(tasks.cancel.is_some() && tasks.requests.is_some());
        assert_eq!(tasks.list.is_some(), list);
        assert!(!old.has_extension(EXTENSION));
        let new = world
            .client(NEW)
            .await
            .capabilities()
            .expect("declared capabilities");
        assert!(new.tasks.is_none() && new.has_extension(EXTENSION));
    }
    let without = World::new(Server::new("plain", "1").tool("plain", "", || async { "done" }));
    for revision in [OLD, NEW] {
        let client = without.client(revision).await;
        let has = client.capabilities().expect("declared capabilities");
        assert!(has.tasks.is_none() && !has.has_extension(EXTENSION));
        assert_eq!(
            refusal(&client, "tasks/get", json!({"taskId": "x"})).await,
            -32601
        );
    }
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn unknown_task_ids_are_refused() {
    for revision in [OLD, NEW] {
        let world = World::new(server(&TaskConfig::new()));
        let client = world.client(revision).await;
        let mut methods = vec!["tasks/get", "tasks/cancel"];
        methods.push(if revision == OLD {
            "tasks/result"
        } else {
            "tasks/update"
        });
        for method in methods {
            for id in ["", "x", &"9".repeat(100_000)] {
                let params = json!({"taskId": id, "inputResponses": {}});
                assert_eq!(refusal(&client, method, params).await, -32602, "{method}");
            }
            let params = json!({"inputResponses": {}});
            assert_eq!(refusal(&client, method, params).await, -32602, "{method}");
        }
    }
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn tasks_list_is_served_where_it_was_declared() {
    let world = World::new(server(&TaskConfig::new()));
    let client = world.client(OLD).await;
    assert_eq!(refusal(&client, "tasks/list", json!({})).await, -32601);

    let mut config = TaskConfig::new();
    config.enable_list(true);
    let world = World::new(server(&config).page_size(2));
    let client = world.client(OLD).await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        let handle = started(&client, "must").await.expect("a task");
        ids.push(handle.id().to_owned());
    }
    // TK-16: also for another client.
    let other = world.client(OLD).await;
    let listed = other.tasks().list_all().await.expect("a list");
    let listed: Vec<_> = listed.into_iter().map(|task| task.task_id).collect();
    assert_eq!(listed, ids);
    // TK-12.
    let odd = json!({"cursor": "odd"});
    assert_eq!(refusal(&client, "tasks/list", odd).await, -32602);
}

// proves: SV-3, SE-27
#[tokio::test(start_paused = true)]
async fn the_tasks_of_a_principal_are_hidden_from_others() {
    let mut config = TaskConfig::new();
    config.enable_list(true).max_ended_per_client(2);
    for revision in [OLD, NEW] {
        let world = World::new(server(&config));
        let (alice, again) = (
            world.client_of(revision, "alice").await,
            world.client_of(revision, "alice").await,
        );
        let handle = started(&alice, "must").await.expect("a task");
        let others = [
            world.client_of(revision, "bob").await,
            world.client(revision).await,
        ];
        for other in others {
            let foreign = other.tasks().resume(handle.task_ref().clone());
            // TK-14, TX-20: it is as if there were none.
            assert_eq!(code(&foreign.get().await.unwrap_err()), -32602);
            assert_eq!(code(&foreign.cancel().await.unwrap_err()), -32602);
            assert_eq!(code(&foreign.wait().await.unwrap_err()), -32602);
            if revision == OLD {
                let listed = other.tasks().list_all().await.expect("a list");
                assert_eq!(listed, []);
            } else {
                let answers = bowline::types::Map::new();
                let updated = other.tasks().update(handle.id(), answers).await;
                assert_eq!(code(&updated.unwrap_err()), -32602);
            }
            let own = started(&other, "must").await.expect("a task");
            let stolen = alice.tasks().resume(own.task_ref().clone());
            assert_eq!(code(&stolen.get().await.unwrap_err()), -32602);
        }
        // On another connection it is the same one, and keeps as many tasks.
        let resumed = again.tasks().resume(handle.task_ref().clone());
        assert_eq!(resumed.wait().await.expect("a result").text(), "done");
        for client in [&again, &alice] {
            let handle = started(client, "must").await.expect("a task");
            handle.wait().await.expect("a result");
        }
        assert_eq!(code(&resumed.get().await.unwrap_err()), -32602);
        if revision == OLD {
            let listed = alice.tasks().list_all().await.expect("a list");
            assert_eq!(listed.len(), 2);
        }
    }
}
