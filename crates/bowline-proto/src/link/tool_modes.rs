//! What `tools/list` declares about calls of tools: which tools keep state between calls (CN-26),
//! and which run as tasks.

use std::collections::{BTreeMap, BTreeSet};

use bowline_types::tools::{ListToolsResult, TaskSupport, Tool};
use memchr::memmem;

use crate::payload::Payload;

/// The longest name of a tool, and the longest cursor, that is kept.
const MAX_NAME: usize = 1_024;

/// The tools that a server has declared stateful, and those that may or must run as tasks.
///
/// A declaration is the member `mode` of a tool, or of its `_meta`, that is `stateful` or
/// `stateless`. While no tool is declared stateful nothing is different. In 2025-11-25
/// `execution.taskSupport` declares whether a tool runs as a task; without it, it doesn't.
///
/// The declarations of a page count at once. The modes of tools that are not listed are known
/// when a list was read to its end, until the server sends `list_changed`.
#[derive(Debug, Default)]
pub(super) struct ToolModes {
    known: KnownModes,
    /// The list whose beginning was read last.
    partial: Option<PartialList>,
}

/// A list of which the page at this cursor comes next.
#[derive(Debug)]
struct PartialList {
    next: String,
    found: KnownModes,
}

#[derive(Debug, Default)]
struct KnownModes {
    stateful: BTreeSet<Box<str>>,
    /// Set when more tools were declared stateful than are kept.
    has_more_stateful: bool,
    as_task: BTreeMap<Box<str>, TaskSupport>,
    /// What is known of tools that are not in `as_task`.
    unlisted: UnlistedTools,
}

/// What is known of tools that the list does not name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum UnlistedTools {
    #[default]
    Unknown,
    /// They will be known as no tasks when the list was read to its end.
    Forbidden,
    /// They run as no tasks in this session. The server of the next one may be another.
    ForbiddenIn(u64),
}

/// A page of the list of tools, with its place in the list.
pub(super) struct ToolListPage<'p> {
    pub(super) result: &'p Payload,
    /// The cursor of the request. The first page has none.
    pub(super) cursor: Option<String>,
    /// Set when an empty cursor is a cursor (since 2026-07-28).
    pub(super) empty_is_cursor: bool,
}

impl ToolModes {
    /// Applies the declarations of a page of the list of tools.
    pub(super) fn apply_page(&mut self, page: &ToolListPage<'_>, limit: usize, session: u64) {
        // Most servers declare nothing, and a list may be long.
        let text = page.result.as_str().as_bytes();
        let has = |word: &str| memmem::find(text, word.as_bytes()).is_some();
        let next = has("nextCursor").then(|| page.result.peek_tag("nextCursor"));
        let next = next.flatten();
        let next = next.filter(|next| page.empty_is_cursor || !next.is_empty());
        let is_of_interest = !self.known.is_empty() || has("stateful") || has("taskSupport");
        let list = if is_of_interest {
            page.result.decode::<ListToolsResult>().map(Some)
        } else {
            Ok(None)
        };
        let mut found = match (&page.cursor, self.partial.take()) {
            (None, _) => Some(KnownModes {
                unlisted: UnlistedTools::Forbidden,
                ..KnownModes::default()
            }),
            (Some(cursor), Some(reading)) if *cursor == reading.next => Some(reading.found),
            // A page of another list.
            (Some(_), _) => None,
        };
        for known in [Some(&mut self.known), found.as_mut()]
            .into_iter()
            .flatten()
        {
            match &list {
                Ok(Some(list)) => known.apply_list(list, limit),
                Ok(None) => {}
                Err(_) => known.unlisted = UnlistedTools::Unknown,
            }
        }
        match (found, next) {
            (Some(mut found), None) => {
                if found.unlisted == UnlistedTools::Forbidden {
                    found.unlisted = UnlistedTools::ForbiddenIn(session);
                }
                self.known = found;
            }
            (Some(found), Some(next)) if next.len() <= MAX_NAME => {
                self.partial = Some(PartialList { next, found });
            }
            (_, _) => {}
        }
    }

    /// Handles `list_changed`: the server may have tools that were never listed. The modes of the
    /// known ones are the best guess until the tools are listed again.
    pub(super) fn on_list_changed(&mut self) {
        self.known.unlisted = UnlistedTools::Unknown;
        self.partial = None;
    }

    /// Returns the support of a tool for tasks, if it is known in this session.
    pub(super) fn task_support(&self, tool: &str, session: u64) -> Option<TaskSupport> {
        match self.known.as_task.get(tool) {
            Some(support) => Some(support.clone()),
            None => {
                let is_forbidden = self.known.unlisted == UnlistedTools::ForbiddenIn(session);
                is_forbidden.then_some(TaskSupport::Forbidden)
            }
        }
    }

    /// Returns `true` if calls carry the number of the session.
    pub(super) fn is_session_required(&self) -> bool {
        self.known.has_more_stateful || !self.known.stateful.is_empty()
    }

    /// Returns `true` if calls of a tool keep their order.
    pub(super) fn is_stateful(&self, tool: &str) -> bool {
        self.known.stateful.contains(tool)
    }
}

impl KnownModes {
    fn is_empty(&self) -> bool {
        self.stateful.is_empty() && self.as_task.is_empty()
    }

    fn apply_list(&mut self, page: &ListToolsResult, limit: usize) {
        if !page.skipped_items.is_empty() {
            // One of them may run as a task.
            self.unlisted = UnlistedTools::Unknown;
        }
        for tool in &page.tools {
            self.apply_task_support(tool, limit);
            self.apply_mode(tool, limit);
        }
    }

    fn apply_mode(&mut self, tool: &Tool, limit: usize) {
        let in_meta = tool.meta.as_ref().and_then(|meta| meta.get("mode"));
        let beside = tool.extras.get("mode");
        let mode = in_meta.or(beside).map(|mode| mode.as_str());
        self.stateful.remove(&*tool.name);
        if mode == Some("\"stateful\"") {
            if self.stateful.len() < limit && tool.name.len() <= MAX_NAME {
                self.stateful.insert(tool.name.as_str().into());
            } else {
                self.has_more_stateful = true;
            }
        }
    }

    fn apply_task_support(&mut self, tool: &Tool, limit: usize) {
        let execution = tool.execution.as_ref();
        let support = execution.and_then(|execution| execution.task_support.clone());
        self.as_task.remove(&*tool.name);
        match support.unwrap_or(TaskSupport::Forbidden) {
            TaskSupport::Forbidden => {}
            _ if self.as_task.len() >= limit || tool.name.len() > MAX_NAME => {
                self.unlisted = UnlistedTools::Unknown;
            }
            support => {
                self.as_task.insert(tool.name.as_str().into(), support);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#""inputSchema":{"type":"object"}"#;

    /// Applies the page at `cursor`, with a cursor to the `next` one.
    fn learn(modes: &mut ToolModes, cursor: &str, tools: &str, next: &str) {
        learn_within(modes, cursor, tools, next, 9);
    }

    fn learn_within(modes: &mut ToolModes, cursor: &str, tools: &str, next: &str, limit: usize) {
        let next = match next {
            "" => String::new(),
            next => format!(r#","nextCursor":"{next}""#),
        };
        let text = format!(r#"{{"tools":[{tools}]{next}}}"#);
        let result = Payload::from(bowline_types::JsonObject::parse(&text).unwrap());
        let page = ToolListPage {
            result: &result,
            cursor: (!cursor.is_empty()).then(|| cursor.to_owned()),
            empty_is_cursor: false,
        };
        modes.apply_page(&page, limit, 1);
    }

    fn tool(name: &str, support: &str) -> String {
        format!(r#"{{"name":"{name}",{SCHEMA},"execution":{{"taskSupport":"{support}"}}}}"#)
    }

    fn plain(name: &str) -> String {
        format!(r#"{{"name":"{name}",{SCHEMA}}}"#)
    }

    const FORBIDDEN: Option<TaskSupport> = Some(TaskSupport::Forbidden);
    const OPTIONAL: Option<TaskSupport> = Some(TaskSupport::Optional);
    const REQUIRED: Option<TaskSupport> = Some(TaskSupport::Required);

    // proves: FT-12
    #[test]
    fn task_support_is_known_once_the_list_was_read_to_its_end() {
        let mut modes = ToolModes::default();
        learn(&mut modes, "2", &plain("plain"), "");
        assert_eq!(modes.task_support("plain", 1), None, "it has no beginning");
        learn(&mut modes, "", &tool("may", "optional"), "2");
        assert_eq!(modes.task_support("may", 1), OPTIONAL);
        assert_eq!(modes.task_support("plain", 1), None, "there is more");
        let rest = [
            plain("plain"),
            tool("must", "required"),
            tool("no", "forbidden"),
        ];
        learn(&mut modes, "2", &rest.join(","), "");
        assert_eq!(modes.task_support("must", 1), REQUIRED);
        for name in ["plain", "no", "unheard of"] {
            assert_eq!(modes.task_support(name, 1), FORBIDDEN);
        }
        // Another server may have another plain tool.
        assert_eq!(modes.task_support("plain", 2), None);
        assert_eq!(modes.task_support("must", 2), REQUIRED);
    }

    // proves: FT-12
    #[test]
    fn a_page_declares_nothing_about_the_tools_of_other_pages() {
        let mut modes = ToolModes::default();
        learn(&mut modes, "", &tool("may", "optional"), "2");
        learn(&mut modes, "2", &tool("must", "required"), "");
        assert_eq!(modes.task_support("plain", 1), FORBIDDEN);
        learn(&mut modes, "", &plain("may"), "2");
        assert_eq!(modes.task_support("may", 1), FORBIDDEN, "it says so now");
        assert_eq!(modes.task_support("must", 1), REQUIRED);
        // Two lists at once, of which one is given up.
        learn(&mut modes, "", &plain("a"), "2");
        learn(&mut modes, "2", &tool("must", "required"), "3");
        learn(&mut modes, "", &plain("a"), "2");
        learn(&mut modes, "3", &plain("z"), "");
        assert_eq!(modes.task_support("must", 1), REQUIRED);
        // It is gone when a whole list doesn't have it.
        learn(&mut modes, "", &plain("a"), "");
        assert_eq!(modes.task_support("must", 1), FORBIDDEN);
    }

    // proves: CN-26
    #[test]
    fn a_list_that_has_changed_may_have_any_tool() {
        let mut modes = ToolModes::default();
        let stateful = format!(r#"{{"name":"s",{SCHEMA},"mode":"stateful"}}"#);
        let all = [tool("must", "required"), stateful].join(",");
        learn(&mut modes, "", &all, "");
        learn(&mut modes, "", &all, "2");
        modes.on_list_changed();
        assert_eq!(modes.task_support("new", 1), None);
        assert_eq!(modes.task_support("must", 1), REQUIRED, "as far as known");
        assert!(modes.is_session_required() && modes.is_stateful("s"));
        // What was begun before is not the list of now.
        learn(&mut modes, "2", &plain("z"), "");
        assert_eq!(modes.task_support("new", 1), None);
        learn(&mut modes, "", &plain("z"), "");
        assert_eq!(modes.task_support("new", 1), FORBIDDEN);
        assert!(!modes.is_session_required() && !modes.is_stateful("s"));
    }

    #[test]
    fn the_modes_of_a_skipped_tool_are_unknown() {
        let mut modes = ToolModes::default();
        let odd = r#"{"name":"odd","execution":{"taskSupport":"required"}}"#;
        let tools = [odd, &tool("may", "optional")].join(",");
        learn(&mut modes, "", &tools, "");
        assert_eq!(modes.task_support("may", 1), OPTIONAL);
        assert_eq!(modes.task_support("odd", 1), None);
    }

    #[test]
    fn at_the_limit_and_one_past_it() {
        let two = [tool("a", "optional"), tool("b", "required")].join(",");
        let mut modes = ToolModes::default();
        learn_within(&mut modes, "", &two, "", 2);
        assert_eq!(modes.task_support("b", 1), REQUIRED);
        assert_eq!(modes.task_support("c", 1), FORBIDDEN);
        learn_within(&mut modes, "", &two, "", 1);
        assert_eq!(modes.task_support("b", 1), None);
        assert_eq!(modes.task_support("c", 1), None);
        for (length, support) in [(MAX_NAME, REQUIRED), (MAX_NAME + 1, None)] {
            let name = "n".repeat(length);
            learn(&mut modes, "", &tool(&name, "required"), "");
            assert_eq!(modes.task_support(&name, 1), support);
        }
        for (length, support) in [(MAX_NAME, FORBIDDEN), (MAX_NAME + 1, None)] {
            let mut modes = ToolModes::default();
            let cursor = "c".repeat(length);
            learn(&mut modes, "", &plain("a"), &cursor);
            learn(&mut modes, &cursor, &plain("b"), "");
            assert_eq!(modes.task_support("a", 1), support);
        }
    }
}
