//! Tasks: of 2025-11-25, whose file has them, and of the extension, which has a file of its own.

use std::sync::LazyLock;

use bowline::types::Revision;
use serde_json::Value;

use super::{File, Talk};
use crate::matrix::tap::Line;

/// The file of the extension.
static EXTENSION: LazyLock<File> = LazyLock::new(|| File::read("ext-tasks", Revision::V2026_07_28));

/// What the definitions of a method of the extension begin with.
fn named(method: &str) -> Option<&'static str> {
    match method {
        "tasks/get" => Some("GetTask"),
        "tasks/update" => Some("UpdateTask"),
        "tasks/cancel" => Some("CancelTask"),
        _ => None,
    }
}

impl Talk {
    /// Checks a request of the extension. Returns `true` if it is one.
    pub(super) fn said_of_task(&mut self, line: &Line, method: &str) -> bool {
        let Some(name) = named(method).filter(|_| self.is_stateless()) else {
            return false;
        };
        self.check_in(&EXTENSION, line, &format!("{name}Request"), &line.value);
        let meta = &line.value["params"]["_meta"];
        self.check(line, "RequestMetaObject", meta);
        self.check(line, "JSONRPCMessage", &line.value);
        true
    }

    /// Checks a result that is a task, or about one. Returns `true` if it is one.
    pub(super) fn result_of_task(&mut self, line: &Line, method: &str) -> bool {
        let result = &line.value["result"];
        match (self.is_stateless(), method) {
            (true, "tools/call") if result["resultType"] == "task" => {
                self.check_in(&EXTENSION, line, "CreateTaskResult", result);
                self.is_of_extension(line, result);
            }
            (true, _) if named(method).is_some() => {
                let name = named(method).unwrap_or_default();
                self.check_in(&EXTENSION, line, &format!("{name}Result"), result);
                self.is_of_extension(line, result);
                if let Some(result) = result.get("result") {
                    self.check(line, "CallToolResult", result);
                }
            }
            (false, "tools/call") if result.get("task").is_some() => {
                self.check(line, "CreateTaskResult", result);
            }
            (false, "tasks/result") => {
                self.check(line, "GetTaskPayloadResult", result);
                self.check(line, "CallToolResult", result);
                // TK-9.
                if result["_meta"].get(RELATED).is_none() {
                    self.fault(line, "it doesn't say whose result it is".to_owned());
                }
            }
            (_, _) => return false,
        }
        true
    }

    /// TX-16: nothing of the older generation.
    fn is_of_extension(&mut self, line: &Line, result: &Value) {
        for member in ["ttl", "pollInterval", "requestState", "task"] {
            if result.get(member).is_some() {
                self.fault(line, format!("the extension has no {member}"));
            }
        }
        if line.value.to_string().contains(RELATED) {
            self.fault(line, format!("the extension has no {RELATED}"));
        }
    }

    fn is_stateless(&self) -> bool {
        self.file.revision == Revision::V2026_07_28
    }
}

const RELATED: &str = "io.modelcontextprotocol/related-task";

/// What is not of its generation is found.
#[test]
fn faults_of_tasks_are_found() {
    use crate::matrix::tap::Sender;
    use serde_json::json;

    let task = |more: Value| {
        let mut task = json!({
            "taskId": "t", "status": "working", "createdAt": "c", "lastUpdatedAt": "u",
        });
        let members = more.as_object().expect("an object").clone();
        task.as_object_mut().expect("an object").extend(members);
        task
    };
    let answer = |method: &str, result: Value| {
        let by = |from, value| Line { from, value };
        let asked = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"name": "t"}});
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": result});
        vec![by(Sender::Tap, asked), by(Sender::Server, answer)]
    };
    let check = |revision, mut lines: Vec<Line>, is_fine: bool| {
        // The tap may ask what it likes; its answers are checked all the same.
        let faults = super::faults(revision, &lines);
        let line = lines.pop().map(|line| line.value);
        assert_eq!(faults.is_empty(), is_fine, "{line:?}: {faults:?}");
    };
    let [.., old, new] = Revision::ALL;
    let done = json!({"resultType": "complete", "content": []});
    for (method, result, is_fine) in [
        (
            "tools/call",
            json!({"resultType": "task", "ttlMs": null}),
            true,
        ),
        ("tools/call", json!({"resultType": "task"}), false),
        (
            "tools/call",
            json!({"resultType": "task", "ttlMs": 1, "ttl": 1}),
            false,
        ),
        (
            "prompts/get",
            json!({"resultType": "task", "ttlMs": null}),
            false,
        ),
        (
            "tasks/get",
            json!({"resultType": "complete", "ttlMs": 1}),
            true,
        ),
        (
            "tasks/get",
            json!({"resultType": "task", "ttlMs": 1}),
            false,
        ),
        (
            "tasks/get",
            json!({"resultType": "complete", "ttlMs": 1, "status": "completed"}),
            false,
        ),
        (
            "tasks/get",
            json!({"resultType": "complete", "ttlMs": 1, "status": "completed", "result": done}),
            true,
        ),
        (
            "tasks/get",
            json!({"resultType": "complete", "ttlMs": 1, "status": "completed", "result": {}}),
            false,
        ),
        (
            "tasks/get",
            json!({"resultType": "complete", "ttlMs": 1, "_meta": {RELATED: {"taskId": "t"}}}),
            false,
        ),
    ] {
        check(new, answer(method, task(result)), is_fine);
    }
    check(
        old,
        answer("tools/call", json!({"task": task(json!({"ttl": 1}))})),
        true,
    );
    check(
        old,
        answer("tools/call", json!({"task": task(json!({}))})),
        false,
    );
    let related = json!({"content": [], "_meta": {RELATED: {"taskId": "t"}}});
    check(old, answer("tasks/result", related), true);
    check(old, answer("tasks/result", json!({"content": []})), false);
    check(old, answer("tasks/get", task(json!({"ttl": 1}))), true);
    check(
        old,
        answer("tasks/get", task(json!({"ttl": 1, "result": {}}))),
        false,
    );
}
