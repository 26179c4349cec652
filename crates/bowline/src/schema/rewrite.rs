//! What `jsonschema` is given of a schema: without the patterns that its engine can't run.
//!
//! Those that [look around](Looking) are replaced by a keyword of our own. Those that nobody can
//! run in bounded time are refused, or skipped for whoever would rather have the rest checked.

use std::collections::HashMap;
use std::sync::Arc;

use jsonschema::{Keyword, ValidationError};
use serde_json::{Map, Value};

use super::lookaround::Looking;
use super::messages::shortened;
use super::pattern::Measured;
use super::{Refused, Unrunnable};

/// The keyword for a pattern that looks around. Nobody's schema has it.
pub(super) const LOOKING: &str = "\u{0}looking";

/// What has to be changed in a schema.
pub(super) struct Changes<'s> {
    unrunnable: Unrunnable,
    /// By the members of the subschema whose pattern it is.
    changes: HashMap<*const Map<String, Value>, Change<'s>>,
    /// The first one that is skipped.
    skipped: Option<Refused>,
    /// Whether more fits when a part of it fits more.
    is_monotone: bool,
}

#[derive(Clone)]
enum Change<'s> {
    Looks(&'s str, Arc<Looking>),
    Skipped,
}

/// Why part of a schema is not checked.
#[derive(Clone, Debug)]
pub(super) struct Skipped {
    pub(super) words: String,
    /// Whether what doesn't fit the rest doesn't fit at all.
    pub(super) is_misfit_sure: bool,
}

/// Patterns that look around, by their text.
pub(super) type Lookings = HashMap<String, Arc<Looking>>;

impl<'s> Changes<'s> {
    pub(super) fn new(unrunnable: Unrunnable) -> Self {
        Self {
            unrunnable,
            changes: HashMap::new(),
            skipped: None,
            is_monotone: true,
        }
    }

    /// A keyword of a subschema.
    pub(super) fn meet(&mut self, keyword: &str) {
        if let "not" | "if" | "oneOf" | "maxContains" = keyword {
            self.is_monotone = false;
        }
    }

    /// What the pattern of a subschema costs for each byte.
    pub(super) fn width(
        &mut self,
        members: &'s Map<String, Value>,
        pattern: &'s str,
        measured: Result<Measured, Refused>,
    ) -> Result<u64, Refused> {
        let place = std::ptr::from_ref(members);
        match (measured, self.unrunnable) {
            (Ok(measured), _) => {
                if let Some(looking) = measured.looking {
                    let change = Change::Looks(pattern, looking);
                    self.changes.insert(place, change);
                }
                Ok(measured.width)
            }
            (
                Err(refused @ (Refused::Pattern(_) | Refused::Unrunnable(_))),
                Unrunnable::Skipped,
            ) => {
                self.skipped.get_or_insert(refused);
                self.changes.insert(place, Change::Skipped);
                Ok(0)
            }
            (Err(refused), _) => Err(refused),
        }
    }

    /// The schema with the changes. `None` when there are none.
    pub(super) fn applied(&self, schema: &Value) -> Option<Value> {
        (!self.changes.is_empty()).then(|| self.changed(schema))
    }

    fn changed(&self, value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(|it| self.changed(it)).collect(),
            Value::Object(members) => {
                let change = self.changes.get(&std::ptr::from_ref(members));
                let kept = members.iter().filter(|(key, _)| {
                    let is_changed = change.is_some() && *key == "pattern";
                    *key != LOOKING && !is_changed
                });
                let kept = kept.map(|(key, value)| (key.clone(), self.changed(value)));
                let mut kept: Map<_, _> = kept.collect();
                if let Some(Change::Looks(pattern, _)) = change {
                    kept.insert(LOOKING.to_owned(), (*pattern).into());
                }
                kept.into()
            }
            other => other.clone(),
        }
    }

    pub(super) fn lookings(&self) -> Lookings {
        let looks = self.changes.values().filter_map(|change| match change {
            Change::Looks(pattern, looking) => Some(((*pattern).to_owned(), Arc::clone(looking))),
            Change::Skipped => None,
        });
        looks.collect()
    }

    pub(super) fn skipped(&self) -> Option<Skipped> {
        let refused = self.skipped.as_ref()?;
        Some(Skipped {
            words: refused.to_string(),
            is_misfit_sure: self.is_monotone,
        })
    }
}

/// The keyword for one pattern.
pub(super) fn keyword(lookings: &Lookings, pattern: &Value) -> Box<dyn for<'i> Keyword<'i>> {
    let pattern = pattern.as_str().unwrap_or_default();
    Box::new(Matching {
        looking: lookings.get(pattern).map(Arc::clone),
        pattern: pattern.to_owned(),
    })
}

struct Matching {
    pattern: String,
    looking: Option<Arc<Looking>>,
}

impl<'i> Keyword<'i> for Matching {
    fn validate(&self, value: &'i Value) -> Result<(), ValidationError<'i>> {
        match self.is_valid(value) {
            true => Ok(()),
            false => {
                let words = format!("must match the pattern {}", shortened(&self.pattern));
                Err(ValidationError::custom(words))
            }
        }
    }

    fn is_valid(&self, value: &'i Value) -> bool {
        match (value, &self.looking) {
            (Value::String(text), Some(looking)) => looking.is_match(text),
            _ => true,
        }
    }
}
