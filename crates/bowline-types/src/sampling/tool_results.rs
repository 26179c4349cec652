//! The order of `tool_use` and `tool_result` blocks in a conversation.

use std::collections::BTreeSet;

use super::{CreateMessageParams, SamplingContent, SamplingMessage};
use crate::common::Role;
use crate::json::shortened;

impl CreateMessageParams {
    /// Checks the order of tool uses and tool results in the conversation.
    ///
    /// Each `tool_use` of the assistant has exactly one `tool_result` in the user message after
    /// it, and a message with tool results has no other content (client/sampling, since
    /// 2025-11-25). A client answers a request that breaks the rule with "invalid params".
    ///
    /// # Errors
    ///
    /// Returns a description of the first violation.
    pub fn check_tool_results(&self) -> Result<(), String> {
        let mut open: BTreeSet<&str> = BTreeSet::new();
        for (index, message) in self.messages.iter().enumerate() {
            let violation = |problem: String| Err(format!("message {index} {problem}"));
            let (uses, results) = (tool_uses(message), tool_results(message));
            if !results.is_empty() {
                if message.role != Role::User {
                    return violation("has tool results but is not a user message".to_owned());
                }
                if results.len() < message.content.iter().count() {
                    return violation("mixes tool results with other content".to_owned());
                }
            }
            if !uses.is_empty() && message.role != Role::Assistant {
                return violation("has a tool use but is not an assistant message".to_owned());
            }
            for id in results {
                if !open.remove(id) {
                    let id = shortened(id);
                    return violation(format!("has a result for unknown tool use `{id}`"));
                }
            }
            if let Some(missing) = open.first() {
                let id = shortened(missing);
                return violation(format!("has no result for tool use `{id}`"));
            }
            for id in uses {
                if !open.insert(id) {
                    let id = shortened(id);
                    return violation(format!("has two tool uses with the id `{id}`"));
                }
            }
        }
        match open.first() {
            None => Ok(()),
            Some(id) => Err(format!("tool use `{}` has no result", shortened(id))),
        }
    }
}

fn tool_uses(message: &SamplingMessage) -> Vec<&str> {
    let ids = message.content.iter().filter_map(|content| match content {
        SamplingContent::ToolUse(tool_use) => Some(&*tool_use.id),
        _ => None,
    });
    ids.collect()
}

fn tool_results(message: &SamplingMessage) -> Vec<&str> {
    let ids = message.content.iter().filter_map(|content| match content {
        SamplingContent::ToolResult(result) => Some(&*result.tool_use_id),
        _ => None,
    });
    ids.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Wire;

    fn check(messages: &str) -> Result<(), String> {
        let params = format!(r#"{{"maxTokens":1,"messages":[{messages}]}}"#);
        let params = CreateMessageParams::from_json(&params).expect("params");
        params.check_tool_results()
    }

    const ASK: &str = r#"{"role":"user","content":{"type":"text","text":"?"}}"#;
    const USE: &str =
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"a","input":{}}]}"#;
    const RESULT: &str =
        r#"{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[]}]}"#;

    #[test]
    fn every_tool_use_has_its_result_in_the_next_message() {
        assert_eq!(check(ASK), Ok(()));
        assert_eq!(check(&[ASK, USE, RESULT, ASK].join(",")), Ok(()));
        for (messages, reason) in [
            ([ASK, USE].as_slice(), "tool use `1` has no result"),
            (
                &[USE, ASK, RESULT],
                "message 1 has no result for tool use `1`",
            ),
            (
                &[ASK, RESULT],
                "message 1 has a result for unknown tool use `1`",
            ),
        ] {
            assert_eq!(check(&messages.join(",")), Err(reason.to_owned()));
        }
        let twice = RESULT.replace(
            "[]}]",
            r#"[]},{"type":"tool_result","toolUseId":"1","content":[]}]"#,
        );
        let again = USE.replace(
            "{}}]",
            r#"{}},{"type":"tool_use","id":"1","name":"b","input":{}}]"#,
        );
        let (by_user, by_assistant) = (
            USE.replace("assistant", "user"),
            RESULT.replace("user", "assistant"),
        );
        for (messages, reason) in [
            (
                [USE, &twice],
                "message 1 has a result for unknown tool use `1`",
            ),
            (
                [&again, RESULT],
                "message 0 has two tool uses with the id `1`",
            ),
            (
                [USE, &by_assistant],
                "message 1 has tool results but is not a user message",
            ),
            (
                [&by_user, RESULT],
                "message 0 has a tool use but is not an assistant message",
            ),
        ] {
            assert_eq!(check(&messages.join(",")), Err(reason.to_owned()));
        }
        let beside = RESULT.replace("[{", r#"[{"type":"text","text":"and"},{"#);
        assert_eq!(
            check(&[USE, &beside].join(",")),
            Err("message 1 mixes tool results with other content".to_owned())
        );
    }
}
