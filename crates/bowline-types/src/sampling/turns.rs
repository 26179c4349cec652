//! The order of tool calls and their results in a conversation.

use std::collections::BTreeSet;

use super::{CreateMessageParams, SamplingContent, SamplingMessage};
use crate::json::shortened;

impl CreateMessageParams {
    /// Whether each `tool_use` is answered by the message after it, and whether results stand
    /// alone (client/sampling, since 2025-11-25). A client answers others with "invalid
    /// params".
    ///
    /// # Errors
    ///
    /// When it isn't so, in words.
    pub fn check_turns(&self) -> Result<(), String> {
        let mut open: BTreeSet<&str> = BTreeSet::new();
        for (index, message) in self.messages.iter().enumerate() {
            let results = results(message);
            let has_others = message.content.iter().count() > results.len();
            if !results.is_empty() && has_others {
                return Err(format!(
                    "message {index} has tool results beside other content"
                ));
            }
            if let Some(missing) = open.iter().find(|id| !results.contains(*id)) {
                let id = shortened(missing);
                return Err(format!(
                    "message {index} has no result for the tool use `{id}`"
                ));
            }
            if let Some(extra) = results.iter().find(|id| !open.contains(*id)) {
                let id = shortened(extra);
                return Err(format!(
                    "message {index} has a result for `{id}`, which nobody used"
                ));
            }
            open = uses(message);
        }
        match open.first() {
            None => Ok(()),
            Some(id) => Err(format!("the tool use `{}` has no result", shortened(id))),
        }
    }
}

fn uses(message: &SamplingMessage) -> BTreeSet<&str> {
    let uses = message.content.iter().filter_map(|content| match content {
        SamplingContent::ToolUse(used) => Some(&*used.id),
        _ => None,
    });
    uses.collect()
}

fn results(message: &SamplingMessage) -> BTreeSet<&str> {
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
                "message 1 has a result for `1`, which nobody used",
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
