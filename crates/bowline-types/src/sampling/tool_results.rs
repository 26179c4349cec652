//! The order of tool calls and their results in a conversation.

use std::collections::BTreeSet;

use super::{CreateMessageParams, SamplingContent, SamplingMessage};
use crate::common::Role;
use crate::json::shortened;

impl CreateMessageParams {
    /// Whether each `tool_use` of the assistant is answered by the user's message after it, once,
    /// and whether results stand alone (client/sampling, since 2025-11-25). A client answers
    /// others with "invalid params".
    ///
    /// # Errors
    ///
    /// When it isn't so, in words.
    pub fn check_turns(&self) -> Result<(), String> {
        let mut open: BTreeSet<&str> = BTreeSet::new();
        for (index, message) in self.messages.iter().enumerate() {
            let wrong = |words: String| Err(format!("message {index} {words}"));
            let (uses, results) = (uses(message), results(message));
            if !results.is_empty() {
                if message.role != Role::User {
                    return wrong("has tool results, which are the user's to give".to_owned());
                }
                if results.len() < message.content.iter().count() {
                    return wrong("has tool results beside other content".to_owned());
                }
            }
            if !uses.is_empty() && message.role != Role::Assistant {
                return wrong("has a tool use, which is the assistant's".to_owned());
            }
            for id in results {
                if !open.remove(id) {
                    let id = shortened(id);
                    return wrong(format!("has a result for `{id}`, which waits for none"));
                }
            }
            if let Some(missing) = open.first() {
                let id = shortened(missing);
                return wrong(format!("has no result for the tool use `{id}`"));
            }
            for id in uses {
                if !open.insert(id) {
                    return wrong(format!("uses tools twice as `{}`", shortened(id)));
                }
            }
        }
        match open.first() {
            None => Ok(()),
            Some(id) => Err(format!("the tool use `{}` has no result", shortened(id))),
        }
    }
}

fn uses(message: &SamplingMessage) -> Vec<&str> {
    let uses = message.content.iter().filter_map(|content| match content {
        SamplingContent::ToolUse(used) => Some(&*used.id),
        _ => None,
    });
    uses.collect()
}

fn results(message: &SamplingMessage) -> Vec<&str> {
    let results = message.content.iter().filter_map(|content| match content {
        SamplingContent::ToolResult(result) => Some(&*result.tool_use_id),
        _ => None,
    });
    results.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Wire;

    fn check(messages: &str) -> Result<(), String> {
        let params = format!(r#"{{"maxTokens":1,"messages":[{messages}]}}"#);
        let params = CreateMessageParams::from_json(&params).expect("params");
        params.check_turns()
    }

    const ASK: &str = r#"{"role":"user","content":{"type":"text","text":"?"}}"#;
    const USE: &str =
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"a","input":{}}]}"#;
    const RESULT: &str =
        r#"{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[]}]}"#;

    #[test]
    fn every_use_is_answered_before_anything_else() {
        assert_eq!(check(ASK), Ok(()));
        assert_eq!(check(&[ASK, USE, RESULT, ASK].join(",")), Ok(()));
        for (messages, reason) in [
            ([ASK, USE].as_slice(), "the tool use `1` has no result"),
            (
                &[USE, ASK, RESULT],
                "message 1 has no result for the tool use `1`",
            ),
            (
                &[ASK, RESULT],
                "message 1 has a result for `1`, which waits for none",
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
                "message 1 has a result for `1`, which waits for none",
            ),
            ([&again, RESULT], "message 0 uses tools twice as `1`"),
            (
                [USE, &by_assistant],
                "message 1 has tool results, which are the user's to give",
            ),
            (
                [&by_user, RESULT],
                "message 0 has a tool use, which is the assistant's",
            ),
        ] {
            assert_eq!(check(&messages.join(",")), Err(reason.to_owned()));
        }
        let beside = RESULT.replace("[{", r#"[{"type":"text","text":"and"},{"#);
        assert_eq!(
            check(&[USE, &beside].join(",")),
            Err("message 1 has tool results beside other content".to_owned())
        );
    }
}
