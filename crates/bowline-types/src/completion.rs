//! Completion: suggestions for the arguments of prompts and resource templates.
//!
//! ```
//! use bowline_types::completion::{CompleteParams, CompleteResult, Completion, PromptReference};
//!
//! let ask = CompleteParams::new(PromptReference::new("review"), ("language", "ru"));
//! let answer = CompleteResult::new(Completion::ranked(["rust", "ruby"]));
//! assert_eq!(answer.completion.values, ["rust", "ruby"]);
//! ```

use crate::content::type_tag;
use crate::json::{Encoder, NotInRevision, Reason};
use crate::meta::{RequestMeta, ResultMeta};
use crate::wire::{Map, Shape};

/// The maximum number of values in a result.
pub const MAX_VALUES: usize = 100;

wire_struct! {
    /// The parameters of `completion/complete`.
    pub struct CompleteParams {
        /// The prompt or resource template whose argument is completed.
        req reference: Reference = "ref";
        /// The argument to complete.
        req argument: CompletionArgument = "argument";
        /// The arguments that are already known.
        opt context: CompletionContext = "context", in since(V2025_06_18);
        /// Additional metadata.
        meta meta: RequestMeta = "_meta", must since(V2026_07_28);
    }
}

wire_union! {
    /// The prompt or resource template whose argument is completed.
    pub enum Reference decided by type_tag, "`type`" {
        /// A prompt.
        Prompt(PromptReference) = "ref/prompt";
        /// A resource template.
        Resource(ResourceTemplateReference) = "ref/resource";
    }
}

wire_struct! {
    /// A reference to a prompt, by name.
    pub struct PromptReference {
        @required "type" = "ref/prompt";
        /// The name of the prompt.
        req name: String = "name";
        /// The display name.
        opt title: String = "title", in since(V2025_06_18);
    }
}

wire_struct! {
    /// A reference to a resource or resource template. Called `ResourceReference` before
    /// 2025-06-18.
    pub struct ResourceTemplateReference {
        @required "type" = "ref/resource";
        /// The URI, or the URI template.
        req uri: String = "uri";
    }
}

wire_struct! {
    /// The argument to complete, with its current input.
    pub struct CompletionArgument {
        /// The name of the argument.
        req name: String = "name";
        /// The current input.
        req value: String = "value";
    }
}

impl From<(&str, &str)> for CompletionArgument {
    fn from((name, value): (&str, &str)) -> Self {
        Self::new(name, value)
    }
}

wire_struct! {
    /// The context of a completion. New in 2025-06-18.
    pub struct CompletionContext [since(V2025_06_18)] {
        /// The arguments that already have values.
        opt arguments: Map<String> = "arguments";
    }
}

wire_struct! {
    /// The result of `completion/complete`.
    pub struct CompleteResult {
        @lenient "resultType" = "complete", in since(V2026_07_28);
        /// The suggestions.
        req completion: Completion = "completion";
        /// Additional metadata.
        meta meta: ResultMeta = "_meta";
    }
}

wire_struct! {
    /// Suggestions, best first.
    pub struct Completion checked by Completion::check {
        /// The suggestions, at most [`MAX_VALUES`].
        req values: Vec<String> = "values", shaped &Shape::UpTo(MAX_VALUES, &Shape::String);
        /// The total number of suggestions, if known.
        hint total: i64 = "total";
        /// `true` if there are more suggestions.
        opt has_more: bool = "hasMore";
    }
}

impl Completion {
    /// Creates the completion from all suggestions, best first. Suggestions beyond [`MAX_VALUES`]
    /// are omitted; `total` and `hasMore` show it.
    pub fn ranked<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        let mut values: Vec<String> = values.into_iter().map(Into::into).collect();
        let total = values.len();
        values.truncate(MAX_VALUES);
        Self::new(values)
            .total(i64::try_from(total).unwrap_or(i64::MAX))
            .has_more(total > MAX_VALUES)
    }

    // Spec, server/utilities/completion, all revisions: at most 100 values.
    fn check(&self, encoder: &Encoder<'_>) -> Result<(), NotInRevision> {
        if self.values.len() <= MAX_VALUES || encoder.revision().is_none() {
            return Ok(());
        }
        let error = encoder.not_in_revision(Reason::TooMany { limit: MAX_VALUES });
        Err(error.under_key("values"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Revision, Wire};

    #[test]
    fn a_hundred_values_and_one_more() {
        let values = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
        let json = |completion: &Completion| completion.to_json(Revision::LATEST);
        assert!(json(&Completion::new(values(100))).is_ok());
        let error = json(&Completion::new(values(101))).unwrap_err();
        assert_eq!(error.reason(), &Reason::TooMany { limit: 100 });
        let ranked = Completion::ranked(values(101));
        assert!(json(&ranked).is_ok());
        assert_eq!(
            (ranked.values.len(), ranked.total, ranked.has_more),
            (100, Some(101), Some(true))
        );
        // A list of a peer that is too long is still read.
        let text = format!("{{\"values\":[{}]}}", vec!["\"\""; 101].join(","));
        assert_eq!(Completion::from_json(&text).unwrap().values.len(), 101);
    }
}
