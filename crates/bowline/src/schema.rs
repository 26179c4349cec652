//! JSON Schemas of a peer or a tool, compiled and checked with bounded work.
//!
//! A schema comes from a peer or from the author of a tool, and so may be hostile: it may refer to
//! other documents, be large, refer to itself, or multiply the alternatives that have to be tried.
//! This module decides what may be compiled and what may be checked; `jsonschema` decides whether
//! a value is valid, and is never visible outside. It has no limits of its own, so they are set
//! here:
//!
//! - **Nothing is fetched.** A reference to anything outside of the schema is rejected before
//!   `jsonschema` sees it, and the retriever that resolves references there rejects everything.
//! - **Size.** The text, its nesting and its subschemas are limited ([`MAX_BYTES`],
//!   [`MAX_DEPTH`], [`MAX_SUBSCHEMAS`]).
//! - **In place.** Subschemas that apply to the same value (`allOf`, `anyOf`, `$ref`, …) must not
//!   form a cycle, which would never end, nor unfold to more than [`MAX_UNFOLDED`] or nest deeper
//!   than [`MAX_CHAIN`]. All of that is known without a value.
//! - **Patterns** run on an engine that is linear in the text, and are limited in size, each
//!   ([`MAX_PATTERN`]) and all together ([`MAX_PATTERNS`], [`MAX_PATTERN_TEXT`]), so that
//!   compilation is quick. Patterns with lookaround are [matched here](lookaround), in linear time
//!   too. Back-references, which only backtracking can match, are rejected or
//!   [skipped](UnsupportedPatterns). A text costs its length times the number of states that the
//!   pattern can be in at once.
//! - **Work.** The rest depends on the value: each of its levels may be checked by a subschema more
//!   than once, and a recursive subschema multiplies that with each level. A limit that depends on
//!   the schema alone would reject useful recursive schemas, so [the same walk](cost) is done first
//!   without validation: every branch is taken, each visit of a subschema and a value costs its
//!   maximum, and the walk stops when [`MAX_COST`] is spent. A value whose walk doesn't finish is
//!   not checked but rejected. So the walk is bounded, and `jsonschema`, which takes at most all
//!   branches, is too. The depth of the walk bounds the stack ([`MAX_WALK_DEPTH`]).
//!
//! Formats are annotations, as in 2020-12, and are not asserted in older drafts either.
//!
//! Files: `reader` reads the subschemas and resolves references, `graph` holds them and checks the
//! limits of a schema, `cost` those of a value. `pattern` measures patterns, `lookaround` matches
//! those with lookaround, `rewrite` replaces them before compilation. `messages` describes errors,
//! `type_schema` finds schemas that decoding already enforces. Every limit has a test at the limit
//! and one past it in `tests`; a new keyword that applies a subschema must be added to `reader`.

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

use graph::SchemaGraph;
use messages::shortened;
use rewrite::{LOOKAROUND_KEYWORD, Rewrites, SkippedPattern};

#[cfg(feature = "server")]
pub(crate) use type_schema::is_enforced_by_decoding;

/// The maximum length of a schema, in bytes.
pub(crate) const MAX_BYTES: usize = 256 << 10;
/// The maximum nesting of objects and arrays in a schema.
pub(crate) const MAX_DEPTH: usize = 64;
/// The maximum number of subschemas.
pub(crate) const MAX_SUBSCHEMAS: usize = 4_096;
/// The maximum number of subschemas that apply to one value in place, with references followed.
pub(crate) const MAX_UNFOLDED: u64 = 10_000;
/// The maximum length of a chain of subschemas that apply to the same value.
pub(crate) const MAX_CHAIN: u64 = 64;
/// The maximum number of `unevaluatedProperties` and `unevaluatedItems`. For each of them the
/// subschemas below it are compiled again.
pub(crate) const MAX_UNEVALUATED: usize = 16;
/// The maximum number of compiled subschemas, with those that are compiled again.
pub(crate) const MAX_COMPILED: u64 = 65_536;
/// The maximum size of a pattern, in states of its automaton.
pub(crate) const MAX_PATTERN: u64 = 16_384;
/// The maximum number of states of all patterns, with [an overhead for each](pattern::PER_PATTERN).
/// Compilation takes less than a microsecond per state.
pub(crate) const MAX_PATTERNS: u64 = 49_152;
/// The maximum number of bytes of patterns that are parsed until all patterns are translated.
pub(crate) const MAX_PATTERN_TEXT: u64 = 65_536;
/// The maximum length of a value that is checked, in bytes.
pub(crate) const MAX_INSTANCE: usize = 4 << 20;
/// The maximum number of values in it. Each takes at least twenty times its text while it is
/// checked.
pub(crate) const MAX_VALUES: usize = 250_000;
/// The maximum cost of a check: visits of a subschema and a value, more for long texts and
/// long lists of choices. It corresponds to 50 ms.
pub(crate) const MAX_COST: u64 = 1_000_000;
/// The maximum nesting of visits.
pub(crate) const MAX_WALK_DEPTH: u32 = 256;

/// The memory of a compiled pattern, in bytes: more than [`MAX_PATTERN`] needs.
const PATTERN_BYTES: usize = 2 << 20;
/// The cache of a pattern, in bytes. It is kept, so it is small: there may be a hundred patterns.
const PATTERN_CACHE: usize = 256 << 10;

/// A compiled schema.
pub(crate) struct Schema {
    validator: Validator,
    graph: SchemaGraph,
    skipped: Option<SkippedPattern>,
}

/// How a `pattern` is handled that no engine matches in bounded time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnsupportedPatterns {
    /// The schema is rejected, so that no value passes without a full check.
    #[cfg_attr(
        not(feature = "server"),
        allow(dead_code, reason = "a server's choice")
    )]
    Reject,
    /// The rest of the schema is checked. A value that matches the rest is
    /// [unchecked](CheckError::Unchecked), any other value is invalid.
    #[cfg_attr(
        not(feature = "client"),
        allow(dead_code, reason = "a client's choice")
    )]
    Skip,
}

impl Schema {
    /// Compiles a schema within the limits. Unsupported patterns are rejected.
    #[cfg(any(feature = "server", test))]
    pub(crate) fn compile(text: &str) -> Result<Self, SchemaError> {
        Self::compile_with(text, UnsupportedPatterns::Reject)
    }

    /// Compiles a schema within the limits.
    pub(crate) fn compile_with(
        text: &str,
        patterns: UnsupportedPatterns,
    ) -> Result<Self, SchemaError> {
        if text.len() > MAX_BYTES {
            return Err(SchemaError::TooLarge { bytes: text.len() });
        }
        // The parser fails at a nesting of 128.
        let schema: Value = serde_json::from_str(text).map_err(|_| SchemaError::TooDeep)?;
        if nesting_depth(&schema) > MAX_DEPTH {
            return Err(SchemaError::TooDeep);
        }
        let (graph, rewrites) = SchemaGraph::build(&schema, Rewrites::new(patterns))?;
        let patterns = PatternOptions::regex()
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_CACHE);
        let mut options = jsonschema::options()
            .with_draft(graph.draft())
            .offline()
            .should_validate_formats(false)
            .with_pattern_options(patterns);
        let rewritten = rewrites.apply(&schema);
        if rewritten.is_some() {
            let lookarounds = rewrites.lookarounds();
            options = options.with_keyword(LOOKAROUND_KEYWORD, move |_, pattern, _| {
                Ok(rewrite::lookaround_keyword(&lookarounds, pattern))
            });
        }
        let validator = options
            .build(rewritten.as_ref().unwrap_or(&schema))
            .map_err(|error| SchemaError::Invalid(messages::describe_schema_error(&error)))?;
        Ok(Self {
            validator,
            graph,
            skipped: rewrites.skipped(),
        })
    }

    /// Checks a value, given as JSON text.
    pub(crate) fn check(&self, text: &str) -> Result<(), CheckError> {
        if text.len() > MAX_INSTANCE {
            let reason = format!("too large: {} bytes (limit {MAX_INSTANCE})", text.len());
            return Err(CheckError::Unchecked(reason));
        }
        let values = count_values(text);
        if values > MAX_VALUES {
            let reason = format!("too many values: {values} (limit {MAX_VALUES})");
            return Err(CheckError::Unchecked(reason));
        }
        let value: Value = serde_json::from_str(text)
            .map_err(|_| CheckError::Unchecked("nested too deeply".to_owned()))?;
        self.graph.check_cost(&value)?;
        let outcome = self.validate(&value);
        match &self.skipped {
            None => outcome,
            Some(skipped) if outcome.is_err() && skipped.is_failure_certain => outcome,
            Some(skipped) => Err(CheckError::Unchecked(skipped.reason.clone())),
        }
    }

    fn validate(&self, value: &Value) -> Result<(), CheckError> {
        if self.validator.is_valid(value) {
            return Ok(());
        }
        match self.validator.validate(value) {
            Ok(()) => Ok(()),
            Err(error) => Err(messages::describe_value_error(&error, value)),
        }
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Schema")
    }
}

/// Why a schema is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SchemaError {
    TooLarge {
        bytes: usize,
    },
    TooDeep,
    TooManySubschemas,
    /// A reference to another document.
    ExternalReference(String),
    /// A reference to a place that the schema doesn't have.
    UnresolvedReference(String),
    /// A `$schema` that is not a supported draft.
    UnsupportedDialect(String),
    /// A subschema with a URI of its own, from which references would be resolved.
    EmbeddedSchema(String),
    /// A subschema refers to itself for the same value.
    EndlessRecursion,
    /// The subschemas unfold to more than the limit.
    TooComplex,
    TooManyUnevaluated,
    PatternTooLarge(String),
    /// A pattern with a back-reference, or with other syntax that isn't supported here.
    UnsupportedPattern(String),
    /// All patterns together are too large.
    PatternsTooLarge,
    /// Not a valid JSON Schema.
    Invalid(String),
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { bytes } => {
                write!(f, "schema too large: {bytes} bytes (limit {MAX_BYTES})")
            }
            Self::TooDeep => write!(f, "schema nested deeper than {MAX_DEPTH} levels"),
            Self::TooManySubschemas => {
                write!(f, "schema has more than {MAX_SUBSCHEMAS} subschemas")
            }
            Self::ExternalReference(to) => write!(
                f,
                "external reference {} (only references inside the schema are supported)",
                shortened(to)
            ),
            Self::UnresolvedReference(to) => {
                write!(f, "unresolved reference {}", shortened(to))
            }
            Self::UnsupportedDialect(uri) => {
                write!(f, "unsupported $schema {}", shortened(uri))
            }
            Self::EmbeddedSchema(id) => {
                write!(f, "unsupported embedded schema with $id {}", shortened(id))
            }
            Self::EndlessRecursion => {
                f.write_str("endless recursion: a subschema refers to itself for the same value")
            }
            Self::TooComplex => f.write_str(
                "schema too complex: its alternatives and references expand to too many subschemas",
            ),
            Self::TooManyUnevaluated => write!(
                f,
                "schema has more than {MAX_UNEVALUATED} unevaluatedProperties and unevaluatedItems"
            ),
            Self::PatternTooLarge(pattern) => {
                write!(f, "pattern too large: {}", shortened(pattern))
            }
            Self::UnsupportedPattern(pattern) => {
                write!(f, "unsupported pattern {}", shortened(pattern))
            }
            Self::PatternsTooLarge => f.write_str("patterns too large in total"),
            Self::Invalid(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for SchemaError {}

/// Why a check didn't succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CheckError {
    /// The value is invalid. The message has the path and the expectation, but not the value.
    Invalid(String),
    /// The value was not checked, since the check would exceed a limit.
    Unchecked(String),
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(message) | Self::Unchecked(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for CheckError {}

/// Returns an upper bound of the number of values in a JSON text: an empty array counts as one
/// with an item.
fn count_values(text: &str) -> usize {
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

fn nesting_depth(value: &Value) -> usize {
    let below = match value {
        Value::Array(items) => items.iter().map(nesting_depth).max(),
        Value::Object(members) => members.values().map(nesting_depth).max(),
        _ => return 0,
    };
    1 + below.unwrap_or(0)
}

#[cfg(test)]
mod tests;
