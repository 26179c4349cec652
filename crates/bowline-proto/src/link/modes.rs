//! Which tools keep state between calls (CN-26).

use std::collections::BTreeSet;

use bowline_types::tools::ListToolsResult;
use memchr::memmem;

use crate::payload::Payload;

/// The tools that a server has declared stateful.
///
/// A declaration is the member `mode` of a tool, or of its `_meta`, that is `stateful` or
/// `stateless`. While no tool is declared stateful nothing is different.
#[derive(Debug, Default)]
pub(super) struct ToolModes {
    stateful: BTreeSet<Box<str>>,
    is_session_required: bool,
}

impl ToolModes {
    /// Learns from a page of the list of tools. The first page begins anew.
    pub(super) fn learn(&mut self, page: &Payload, is_first: bool, limit: usize) {
        if is_first {
            *self = Self::default();
        }
        // Most servers declare nothing, and a list may be long.
        if memmem::find(page.as_str().as_bytes(), b"stateful").is_none() {
            return;
        }
        let Ok(list) = page.decode::<ListToolsResult>() else {
            return;
        };
        for tool in list.tools {
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
