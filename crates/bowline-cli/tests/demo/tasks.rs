//! Work that becomes a task, through the process of the demo.

use std::time::Duration;

use bowline::client::features::TaskOrResult;
use bowline::transport::StderrTo;
use bowline_types::Revisions;
use bowline_types::tasks::TaskStatus;
use serde_json::json;

use crate::support::{ERAS, connected_with, demo};

// proves: SV-3, FT-12
#[tokio::test]
async fn coffee_is_brewed_in_every_revision() {
    for revision in Revisions::ALL.iter() {
        let child = demo().stderr(StderrTo::Nowhere);
        let client = connected_with(child, revision, |config| {
            config.tasks();
        })
        .await;
        // Longer than a second, so that it becomes a task where the server decides.
        let coffee = client.tools().call("brew", json!({"step_ms": 400})).await;
        assert_eq!(coffee.unwrap().text(), "a cup of coffee", "{revision}");
        client.stop().await;
    }
}

// proves: SV-3, FT-12
#[tokio::test]
async fn a_task_is_looked_at_and_cancelled() {
    for revision in ERAS {
        let child = demo().stderr(StderrTo::Nowhere);
        let client = connected_with(child, revision, |config| {
            config.tasks();
        })
        .await;
        let call = client.tools().call("brew", json!({"step_ms": 60_000}));
        let call = call.timeout(Duration::from_secs(30));
        let TaskOrResult::Task(task) = call.start_task().await.unwrap() else {
            panic!("it takes three minutes");
        };
        let found = loop {
            let found = task.get().await.unwrap().task;
            if found.status_message.is_some() || revision == ERAS[1] {
                break found;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(found.status, TaskStatus::Working);
        task.cancel().await.unwrap();
        assert!(task.wait().await.is_err());
        client.stop().await;
    }
}
