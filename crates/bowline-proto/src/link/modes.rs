//! What a list of tools says about calling them: which keep state between calls (CN-26), and
//! which run as tasks.

use std::collections::{BTreeMap, BTreeSet};

use bowline_types::tools::{ListToolsResult, TaskSupport, Tool};
use memchr::memmem;

use crate::payload::Payload;

/// The tools that a server has declared stateful, and those that may or must run as tasks.
///
/// A declaration is the member `mode` of a tool, or of its `_meta`, that is `stateful` or
/// `stateless`. While no tool is declared stateful nothing is different. In 2025-11-25
/// `execution.taskSupport` says whether a tool runs as a task; without it, it doesn't.
#[derive(Debug, Default)]
pub(super) struct ToolModes {
    stateful: BTreeSet<Box<str>>,
    is_session_required: bool,
    as_task: BTreeMap<Box<str>, TaskSupport>,
    /// What is known of tools that are not in it.
    others: Others,
}

/// Whether the list was read to its end, so that what it doesn't name runs as no task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Others {
    #[default]
    Unknown,
    Reading,
    /// In this session. The server of the next one may be another.
    Forbidden(u64),
}

impl ToolModes {
    /// Learns from a page of the list of tools. The first page begins anew.
    pub(super) fn learn(&mut self, page: &Payload, is_first: bool, limit: usize, session: u64) {
        if is_first {
            *self = Self::default();
            self.others = Others::Reading;
        }
        // Most servers declare nothing, and a list may be long.
        let text = page.as_str().as_bytes();
        let says = |word: &str| memmem::find(text, word.as_bytes()).is_some();
        let is_last = !says("nextCursor");
        if says("stateful") || says("taskSupport") {
            let Ok(list) = page.decode::<ListToolsResult>() else {
                self.others = Others::Unknown;
                return;
            };
            if !list.left_out.is_empty() {
                // One of them may be a task's.
                self.others = Others::Unknown;
            }
            for tool in list.tools {
                self.learn_task(&tool, limit);
                self.learn_mode(tool, limit);
            }
        }
        if is_last && self.others == Others::Reading {
            self.others = Others::Forbidden(session);
        }
    }

    fn learn_mode(&mut self, tool: Tool, limit: usize) {
        let in_meta = tool.meta.as_ref().and_then(|meta| meta.get("mode"));
        let beside = tool.extras.get("mode");
        let mode = in_meta.or(beside).map(|mode| mode.as_str());
        if mode == Some("\"stateful\"") {
            self.is_session_required = true;
            if self.stateful.len() < limit {
                self.stateful.insert(tool.name.into());
            }
        }
    }

    fn learn_task(&mut self, tool: &Tool, limit: usize) {
        let execution = tool.execution.as_ref();
        let support = execution.and_then(|execution| execution.task_support.clone());
        match support.unwrap_or(TaskSupport::Forbidden) {
            TaskSupport::Forbidden => {}
            _ if self.as_task.len() >= limit => self.others = Others::Unknown,
            support => {
                self.as_task.insert(tool.name.as_str().into(), support);
            }
        }
    }

    /// Whether calls of a tool may or must ask for a task, as far as is known in this session.
    pub(super) fn task_support(&self, tool: &str, session: u64) -> Option<TaskSupport> {
        match self.as_task.get(tool) {
            Some(support) => Some(support.clone()),
            None => (self.others == Others::Forbidden(session)).then_some(TaskSupport::Forbidden),
        }
    }

    /// Whether calls carry the number of the session.
    pub(super) fn is_session_required(&self) -> bool {
        self.is_session_required
    }

    /// Whether calls of a tool keep their order.
    pub(super) fn is_stateful(&self, tool: &str) -> bool {
        self.stateful.contains(tool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#""inputSchema":{"type":"object"}"#;

    fn page(tools: &str, next: bool) -> Payload {
        let next = if next { r#","nextCursor":"2""# } else { "" };
        let text = format!(r#"{{"tools":[{tools}]{next}}}"#);
        Payload::from(bowline_types::JsonObject::parse(&text).unwrap())
    }

    fn tool(name: &str, support: &str) -> String {
        format!(r#"{{"name":"{name}",{SCHEMA},"execution":{{"taskSupport":"{support}"}}}}"#)
    }

    // proves: FT-12
    #[test]
    fn what_runs_as_a_task_is_known_once_the_list_was_read_to_its_end() {
        let mut modes = ToolModes::default();
        let plain = format!(r#"{{"name":"plain",{SCHEMA}}}"#);
        modes.learn(&page(&plain, false), false, 9, 1);
        assert_eq!(modes.task_support("plain", 1), None, "it has no beginning");
        modes.learn(&page(&tool("may", "optional"), true), true, 9, 1);
        assert_eq!(modes.task_support("may", 1), Some(TaskSupport::Optional));
        assert_eq!(modes.task_support("plain", 1), None, "there is more");
        let rest = [plain, tool("must", "required"), tool("no", "forbidden")];
        modes.learn(&page(&rest.join(","), false), false, 9, 1);
        assert_eq!(modes.task_support("must", 1), Some(TaskSupport::Required));
        for name in ["plain", "no", "unheard of"] {
            assert_eq!(modes.task_support(name, 1), Some(TaskSupport::Forbidden));
        }
        // Another server may have another plain tool.
        assert_eq!(modes.task_support("plain", 2), None);
        assert_eq!(modes.task_support("must", 2), Some(TaskSupport::Required));
    }

    #[test]
    fn nothing_is_known_of_a_tool_that_was_left_out() {
        let mut modes = ToolModes::default();
        let odd = r#"{"name":"odd","execution":{"taskSupport":"required"}}"#;
        let tools = [odd, &tool("may", "optional")].join(",");
        modes.learn(&page(&tools, false), true, 9, 1);
        assert_eq!(modes.task_support("may", 1), Some(TaskSupport::Optional));
        assert_eq!(modes.task_support("odd", 1), None);
    }

    #[test]
    fn at_the_limit_and_one_past_it() {
        let two = [tool("a", "optional"), tool("b", "required")].join(",");
        let mut modes = ToolModes::default();
        modes.learn(&page(&two, false), true, 2, 1);
        assert_eq!(modes.task_support("b", 1), Some(TaskSupport::Required));
        assert_eq!(modes.task_support("c", 1), Some(TaskSupport::Forbidden));
        modes.learn(&page(&two, false), true, 1, 1);
        assert_eq!(modes.task_support("b", 1), None);
        assert_eq!(modes.task_support("c", 1), None);
    }
}
