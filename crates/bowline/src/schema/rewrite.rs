//! Rewrites a schema for `jsonschema`: replaces the patterns that its engine can't match.
//!
//! A pattern [with lookaround](LookaroundPattern) is replaced by a keyword of our own. A pattern
//! that can't be matched in bounded time makes the schema invalid, or is removed if the caller
//! prefers that the rest is checked.

use std::collections::HashMap;
use std::sync::Arc;

use jsonschema::{Keyword, ValidationError};
use serde_json::{Map, Value};

use super::lookaround::LookaroundPattern;
use super::messages::shortened;
use super::pattern::PatternCost;
use super::{SchemaError, UnsupportedPatterns};

/// The keyword for a pattern with lookaround. No schema of a peer can have it, since it is
/// removed.
pub(super) const LOOKAROUND_KEYWORD: &str = "\u{0}lookaround";

/// The rewrites of a schema.
pub(super) struct Rewrites<'s> {
    policy: UnsupportedPatterns,
    /// By the members of the subschema that has the pattern.
    rewrites: HashMap<*const Map<String, Value>, Rewrite<'s>>,
    /// The error of the first skipped pattern.
    skipped: Option<SchemaError>,
    /// `true` if a value that matches more subschemas never matches the schema less.
    is_monotone: bool,
}

#[derive(Clone)]
enum Rewrite<'s> {
    Lookaround(&'s str, Arc<LookaroundPattern>),
    Skipped,
}

/// Why a part of a schema is not checked.
#[derive(Clone, Debug)]
pub(super) struct SkippedPattern {
    pub(super) reason: String,
    /// `true` if a value that doesn't match the rest can't match the whole schema.
    pub(super) is_failure_certain: bool,
}

/// Compiled patterns with lookaround, by their text.
pub(super) type LookaroundPatterns = HashMap<String, Arc<LookaroundPattern>>;

impl<'s> Rewrites<'s> {
    pub(super) fn new(policy: UnsupportedPatterns) -> Self {
        Self {
            policy,
            rewrites: HashMap::new(),
            skipped: None,
            is_monotone: true,
        }
    }

    /// Records a keyword of a subschema.
    pub(super) fn observe_keyword(&mut self, keyword: &str) {
        if let "not" | "if" | "oneOf" | "maxContains" = keyword {
            self.is_monotone = false;
        }
    }

    /// Records the pattern of a subschema, and returns its cost per byte.
    pub(super) fn record_pattern(
        &mut self,
        members: &'s Map<String, Value>,
        pattern: &'s str,
        cost: Result<PatternCost, SchemaError>,
    ) -> Result<u64, SchemaError> {
        let place = std::ptr::from_ref(members);
        match (cost, self.policy) {
            (Ok(cost), _) => {
                if let Some(lookaround) = cost.lookaround {
                    let replacement = Rewrite::Lookaround(pattern, lookaround);
                    self.rewrites.insert(place, replacement);
                }
                Ok(cost.active_states)
            }
            (
                Err(error @ (SchemaError::PatternTooLarge(_) | SchemaError::UnsupportedPattern(_))),
                UnsupportedPatterns::Skip,
            ) => {
                self.skipped.get_or_insert(error);
                self.rewrites.insert(place, Rewrite::Skipped);
                Ok(0)
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Returns the rewritten schema, or `None` if there is nothing to rewrite.
    pub(super) fn apply(&self, schema: &Value) -> Option<Value> {
        (!self.rewrites.is_empty()).then(|| self.rewrite(schema))
    }

    fn rewrite(&self, value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(|item| self.rewrite(item)).collect(),
            Value::Object(members) => {
                let replacement = self.rewrites.get(&std::ptr::from_ref(members));
                let kept = members.iter().filter(|(key, _)| {
                    let is_replaced = replacement.is_some() && *key == "pattern";
                    *key != LOOKAROUND_KEYWORD && !is_replaced
                });
                let kept = kept.map(|(key, value)| (key.clone(), self.rewrite(value)));
                let mut kept: Map<_, _> = kept.collect();
                if let Some(Rewrite::Lookaround(pattern, _)) = replacement {
                    kept.insert(LOOKAROUND_KEYWORD.to_owned(), (*pattern).into());
                }
                kept.into()
            }
            other => other.clone(),
        }
    }

    pub(super) fn lookarounds(&self) -> LookaroundPatterns {
        let patterns = self
            .rewrites
            .values()
            .filter_map(|replacement| match replacement {
                Rewrite::Lookaround(pattern, lookaround) => {
                    Some(((*pattern).to_owned(), Arc::clone(lookaround)))
                }
                Rewrite::Skipped => None,
            });
        patterns.collect()
    }

    pub(super) fn skipped(&self) -> Option<SkippedPattern> {
        let error = self.skipped.as_ref()?;
        Some(SkippedPattern {
            reason: error.to_string(),
            is_failure_certain: self.is_monotone,
        })
    }
}

/// Creates the keyword for one pattern.
pub(super) fn lookaround_keyword(
    lookarounds: &LookaroundPatterns,
    pattern: &Value,
) -> Box<dyn for<'i> Keyword<'i>> {
    let pattern = pattern.as_str().unwrap_or_default();
    Box::new(LookaroundKeyword {
        lookaround: lookarounds.get(pattern).map(Arc::clone),
        pattern: pattern.to_owned(),
    })
}

struct LookaroundKeyword {
    pattern: String,
    lookaround: Option<Arc<LookaroundPattern>>,
}

impl<'i> Keyword<'i> for LookaroundKeyword {
    fn validate(&self, value: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(value) {
            return Ok(());
        }
        let message = format!("must match the pattern {}", shortened(&self.pattern));
        Err(ValidationError::custom(message))
    }

    fn is_valid(&self, value: &'i Value) -> bool {
        match (value, &self.lookaround) {
            (Value::String(text), Some(lookaround)) => lookaround.is_match(text),
            _ => true,
        }
    }
}
