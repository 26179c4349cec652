//! JSON Schemas of others, checked with bounded work.
//!
//! A schema comes from a peer, or from whoever wrote a tool, and so may be hostile: it may name
//! other documents, be large, refer to itself, or try every way through a choice of choices.
//! This module owns what may be compiled and what may be checked; `jsonschema` decides whether
//! a value fits, and never appears outside. It has no limits of its own, so they are set here:
//!
//! - **Nothing is fetched.** A reference to anything but a place in the schema itself is refused
//!   before `jsonschema` sees it, and what resolves references there refuses everything.
//! - **Size.** The text, its nesting and its subschemas are limited ([`MAX_BYTES`],
//!   [`MAX_DEPTH`], [`MAX_SUBSCHEMAS`]).
//! - **In place.** Subschemas that apply to the same value (`allOf`, `anyOf`, `$ref`, …) must not
//!   come back to themselves, which would never end, nor unfold to more than
//!   [`MAX_UNFOLDED`] or nest deeper than [`MAX_CHAIN`]. All of that is known without a value.
//! - **Patterns** run on an engine that is linear in the text, and are limited in size, each
//!   ([`MAX_PATTERN`]) and all together ([`MAX_PATTERNS`], [`MAX_PATTERN_TEXT`]), so that
//!   compiling them is quick. Those that look around are [matched here](lookaround), in linear time
//!   too. References back, which only backtracking can do, are refused, or [skipped](Unrunnable).
//!   A text costs its length times the states that the pattern can be in at once.
//! - **Work.** What remains depends on the value: each level of it may meet a subschema more than
//!   once, and a recursive one multiplies that with every level. No bound of a schema alone would
//!   let recursive schemas pass and be of use, so [the same walk](cost) is done first without
//!   judging anything: every branch is taken, each meeting of a subschema and a value costs
//!   what it costs at most, and the walk stops when [`MAX_WORK`] is spent. What it doesn't
//!   finish is not checked but refused. So the walk is bounded, and `jsonschema`, which takes
//!   no more branches than all, is too. The depth of the walk bounds the stack
//!   ([`MAX_NESTED`]).
//!
//! Formats are annotations, as 2020-12 has it, and are not asserted in older drafts either.

mod cost;
mod graph;
mod lookaround;
mod messages;
mod pattern;
mod reader;
mod rewrite;
#[cfg(feature = "server")]
mod type_schema;

use std::fmt;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use graph::Plan;
use messages::shortened;
use rewrite::{Changes, LOOKING, Skipped};

#[cfg(feature = "server")]
pub(crate) use type_schema::is_enforced_by_decoding;

/// The longest schema, in bytes.
pub(crate) const MAX_BYTES: usize = 256 << 10;
/// How deep a schema's objects and lists may nest.
pub(crate) const MAX_DEPTH: usize = 64;
/// How many subschemas there may be.
pub(crate) const MAX_SUBSCHEMAS: usize = 4_096;
/// How many subschemas may apply to one value in one place, with references followed.
pub(crate) const MAX_UNFOLDED: u64 = 10_000;
/// How many subschemas in a row may hand one value on.
pub(crate) const MAX_CHAIN: u64 = 64;
/// How many `unevaluatedProperties` and `unevaluatedItems` there may be: each makes what is
/// below it compiled again.
pub(crate) const MAX_UNEVALUATED: usize = 16;
/// How many subschemas may be compiled, with those that are compiled again.
pub(crate) const MAX_COMPILED: u64 = 65_536;
/// The largest pattern, in states of its machine.
pub(crate) const MAX_PATTERN: u64 = 16_384;
/// How many states all patterns may have, with [some for each](pattern::EACH): less
/// than a microsecond is spent for each when they are compiled.
pub(crate) const MAX_PATTERNS: u64 = 49_152;
/// How many bytes of patterns may be read until all are translated.
pub(crate) const MAX_PATTERN_TEXT: u64 = 65_536;
/// The largest value that is checked, in bytes.
pub(crate) const MAX_INSTANCE: usize = 4 << 20;
/// How many values may be in it: each takes twenty times its text and more while it is checked.
pub(crate) const MAX_VALUES: usize = 250_000;
/// How much work a check may be: meetings of a subschema and a value, more for long texts and
/// long lists of choices. It stands for 50 ms.
pub(crate) const MAX_WORK: u64 = 1_000_000;
/// How many of them may be within each other.
pub(crate) const MAX_NESTED: u32 = 256;

/// What a compiled pattern may take: more than [`MAX_PATTERN`] needs.
const PATTERN_BYTES: usize = 2 << 20;
/// What it may remember of texts. It keeps that, so it is little: there may be a hundred.
const PATTERN_CACHE: usize = 256 << 10;

/// A schema that values can be checked against.
pub(crate) struct Schema {
    validator: Validator,
    plan: Plan,
    skipped: Option<Skipped>,
}

/// What becomes of a `pattern` that nobody can run in bounded time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unrunnable {
    /// The schema is refused: nothing passes that was not looked at.
    #[cfg_attr(
        not(feature = "server"),
        allow(dead_code, reason = "a server's choice")
    )]
    Refused,
    /// Everything else is checked. What fits that is [not checked](Misfit::Unchecked), and what
    /// doesn't fit it is wrong.
    #[cfg_attr(
        not(feature = "client"),
        allow(dead_code, reason = "a client's choice")
    )]
    Skipped,
}

impl Schema {
    /// Makes it ready, within the limits, with all that it has.
    #[cfg(any(feature = "server", test))]
    pub(crate) fn compile(text: &str) -> Result<Self, Refused> {
        Self::compile_with(text, Unrunnable::Refused)
    }

    pub(crate) fn compile_with(text: &str, unrunnable: Unrunnable) -> Result<Self, Refused> {
        if text.len() > MAX_BYTES {
            return Err(Refused::Large { bytes: text.len() });
        }
        // It nests no deeper than 128, or isn't read at all.
        let schema: Value = serde_json::from_str(text).map_err(|_| Refused::Deep)?;
        if depth(&schema) > MAX_DEPTH {
            return Err(Refused::Deep);
        }
        let (plan, changes) = Plan::of(&schema, Changes::new(unrunnable))?;
        let patterns = PatternOptions::regex()
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_CACHE);
        let mut options = jsonschema::options()
            .with_draft(plan.draft())
            .offline()
            .should_validate_formats(false)
            .with_pattern_options(patterns);
        let changed = changes.applied(&schema);
        if changed.is_some() {
            let lookings = changes.lookings();
            options = options.with_keyword(LOOKING, move |_, pattern, _| {
                Ok(rewrite::keyword(&lookings, pattern))
            });
        }
        let validator = options
            .build(changed.as_ref().unwrap_or(&schema))
            .map_err(|error| Refused::Invalid(messages::of_schema(&error)))?;
        Ok(Self {
            validator,
            plan,
            skipped: changes.skipped(),
        })
    }

    /// Checks a value.
    pub(crate) fn check(&self, text: &str) -> Result<(), Misfit> {
        if text.len() > MAX_INSTANCE {
            let words = format!(
                "{} bytes, and at most {MAX_INSTANCE} are checked",
                text.len()
            );
            return Err(Misfit::Unchecked(words));
        }
        let values = values(text);
        if values > MAX_VALUES {
            let words = format!("{values} values, and at most {MAX_VALUES} are checked");
            return Err(Misfit::Unchecked(words));
        }
        let value: Value = serde_json::from_str(text)
            .map_err(|_| Misfit::Unchecked("it is nested too deeply to be checked".to_owned()))?;
        self.plan.work(&value)?;
        let judged = self.judged(&value);
        match &self.skipped {
            None => judged,
            Some(skipped) if judged.is_err() && skipped.is_misfit_sure => judged,
            Some(skipped) => Err(Misfit::Unchecked(skipped.words.clone())),
        }
    }

    fn judged(&self, value: &Value) -> Result<(), Misfit> {
        if self.validator.is_valid(value) {
            return Ok(());
        }
        match self.validator.validate(value) {
            Ok(()) => Ok(()),
            Err(error) => Err(messages::of_value(&error, value)),
        }
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Schema")
    }
}

/// Why a schema is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Large {
        bytes: usize,
    },
    Deep,
    Subschemas,
    /// It refers to another document.
    Remote(String),
    /// It refers to what it doesn't have.
    Missing(String),
    /// Another language than the drafts that are known.
    Dialect(String),
    /// A document within the document, which references would begin at.
    Embedded(String),
    /// It refers to itself for the same value.
    Endless,
    /// It unfolds to too much.
    Unfolds,
    Unevaluated,
    Pattern(String),
    /// A pattern that refers back, or is otherwise more than is known here.
    Unrunnable(String),
    /// All of them together.
    Patterns,
    /// It is no schema.
    Invalid(String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Large { bytes } => {
                write!(f, "it has {bytes} bytes, and may have {MAX_BYTES}")
            }
            Self::Deep => write!(f, "it is nested deeper than {MAX_DEPTH} levels"),
            Self::Subschemas => write!(f, "it has more than {MAX_SUBSCHEMAS} subschemas"),
            Self::Remote(to) => write!(
                f,
                "it refers to {}, and nothing outside of it is fetched",
                shortened(to)
            ),
            Self::Missing(to) => {
                write!(f, "it refers to {}, which it doesn't have", shortened(to))
            }
            Self::Dialect(uri) => {
                write!(f, "its $schema {} is none that is known", shortened(uri))
            }
            Self::Embedded(id) => {
                write!(
                    f,
                    "it has another schema with the $id {} in it",
                    shortened(id)
                )
            }
            Self::Endless => f.write_str("it refers to itself without going into the value"),
            Self::Unfolds => f.write_str("its alternatives and references unfold to too much"),
            Self::Unevaluated => write!(
                f,
                "it has more than {MAX_UNEVALUATED} unevaluatedProperties and unevaluatedItems"
            ),
            Self::Pattern(pattern) => write!(f, "the pattern {} is too large", shortened(pattern)),
            Self::Unrunnable(pattern) => {
                write!(f, "the pattern {} can't be checked", shortened(pattern))
            }
            Self::Patterns => f.write_str("its patterns are too large together"),
            Self::Invalid(words) => f.write_str(words),
        }
    }
}

impl std::error::Error for Refused {}

/// Why a value doesn't fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// What is wrong with it, and where: words that name the place but not the value.
    Wrong(String),
    /// Nobody knows: it would take too much to find out.
    Unchecked(String),
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong(words) | Self::Unchecked(words) => f.write_str(words),
        }
    }
}

impl std::error::Error for Misfit {}

/// How many values are in a value, at most: an empty list counts as one that has something in it.
fn values(text: &str) -> usize {
    let (mut count, mut in_string, mut is_escaped) = (1, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}

fn depth(value: &Value) -> usize {
    let below = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(members) => members.values().map(depth).max(),
        _ => return 0,
    };
    1 + below.unwrap_or(0)
}

#[cfg(test)]
mod tests;
