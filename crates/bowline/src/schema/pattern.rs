//! The cost of patterns: to compile them, and to match each byte of a text.
//!
//! A pattern is measured as `jsonschema` compiles it: in the same translation, parsed by the
//! parser of the engine. The cost of parsing and translating is bounded before, by the length of
//! the text. Patterns with lookaround are [matched here](super::lookaround), and measured as built
//! there.

use std::collections::HashMap;
use std::sync::Arc;

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind, Look, Repetition};
use regex_syntax::utf8::Utf8Sequences;

use super::lookaround::LookaroundPattern;
use super::{MAX_PATTERN, MAX_PATTERN_TEXT, MAX_PATTERNS, SchemaError};

/// The overhead of a pattern besides its states: its automaton is set up, and keeps its memory.
pub(super) const PER_PATTERN: u64 = 512;

/// All patterns of a schema. Each is compiled once, however often it occurs.
#[derive(Default)]
pub(super) struct Patterns<'s> {
    known: HashMap<&'s str, Result<PatternCost, SchemaError>>,
    states: u64,
    text: u64,
}

/// The cost of a pattern.
#[derive(Clone)]
pub(super) struct PatternCost {
    /// The approximate number of states of its automaton.
    size: u64,
    /// The maximum number of states that it can be in at once, which is the cost per byte.
    pub(super) active_states: u64,
    /// The compiled pattern, if it has lookaround, which the engine doesn't support.
    pub(super) lookaround: Option<Arc<LookaroundPattern>>,
}

impl<'s> Patterns<'s> {
    /// Measures a pattern. Fails if this pattern or all patterns together are too large, or if the
    /// pattern isn't supported.
    pub(super) fn add(&mut self, pattern: &'s str) -> Result<PatternCost, SchemaError> {
        if let Some(known) = self.known.get(pattern) {
            return known.clone();
        }
        let measured = self.measure(pattern);
        // That all patterns are too large depends on the others, so it is not cached for this one.
        if !matches!(measured, Err(SchemaError::PatternsTooLarge)) {
            self.known.insert(pattern, measured.clone());
        }
        measured
    }

    fn measure(&mut self, pattern: &'s str) -> Result<PatternCost, SchemaError> {
        let large = || SchemaError::PatternTooLarge(pattern.to_owned());
        let text = parse_cost(pattern);
        if text > MAX_PATTERN_TEXT {
            return Err(large());
        }
        self.text = self.text.saturating_add(text);
        if self.text > MAX_PATTERN_TEXT {
            return Err(SchemaError::PatternsTooLarge);
        }
        let measured = PatternCost::measure(pattern)?;
        if measured.size > MAX_PATTERN {
            return Err(large());
        }
        let states = self.states.saturating_add(measured.size);
        self.states = states.saturating_add(PER_PATTERN);
        if self.states > MAX_PATTERNS {
            return Err(SchemaError::PatternsTooLarge);
        }
        Ok(measured)
    }
}

impl PatternCost {
    /// Text that isn't a valid pattern has the minimal cost: its compilation fails anyway.
    fn measure(pattern: &str) -> Result<Self, SchemaError> {
        if let Some(parsed) = parse_pattern(pattern) {
            return Ok(Self::by_engine(&parsed));
        }
        if let Some(lookaround) = LookaroundPattern::new(pattern) {
            return Ok(Self {
                size: lookaround.size(),
                active_states: lookaround.size(),
                lookaround: Some(Arc::new(lookaround)),
            });
        }
        if jsonschema_regex::is_valid_ecma_regex(pattern) {
            return Err(SchemaError::UnsupportedPattern(pattern.to_owned()));
        }
        Ok(Self {
            size: 1,
            active_states: 1,
            lookaround: None,
        })
    }

    fn by_engine(parsed: &Hir) -> Self {
        let states = state_count(parsed).max(1);
        // A pattern without an anchor starts anew at every byte.
        let is_anchored = parsed.properties().look_set_prefix().contains(Look::Start);
        let active_states = if is_anchored {
            active_states(parsed).clamp(1, states)
        } else {
            states
        };
        Self {
            size: states,
            active_states,
            lookaround: None,
        }
    }
}

/// Returns the cost of parsing a pattern, in bytes. Each of JavaScript's character classes is
/// translated in a pass of its own, and the result is parsed again. Unicode classes are long, and
/// longer if they ignore case.
fn parse_cost(pattern: &str) -> u64 {
    let bytes = |of: usize| u64::try_from(of).unwrap_or(u64::MAX);
    let (mut passes, mut length) = (1_u64, bytes(pattern.len()));
    let mut listed = 0_u64;
    for next in pattern.split('\\').skip(1) {
        match next.as_bytes().first() {
            Some(b'd' | b'D' | b'w' | b'W' | b'c') => (passes, length) = (passes + 1, length + 16),
            Some(b's' | b'S') => (passes, length) = (passes + 1, length + 192),
            Some(b'p' | b'P') => listed += 64,
            _ => {}
        }
    }
    let folds = if has_flags(pattern) { 16 } else { 1 };
    let read = passes.saturating_mul(length.saturating_add(listed));
    read.saturating_mul(folds)
}

/// Returns `true` if the pattern may contain flags, such as `(?i)`.
pub(super) fn has_flags(pattern: &str) -> bool {
    let mut groups = pattern.split("(?").skip(1);
    groups.any(|group| !group.starts_with([':', 'P', '<', '=', '!']))
}

/// Parses a pattern with the syntax of the engine. Returns `None` if that fails.
pub(super) fn parse_pattern(pattern: &str) -> Option<Hir> {
    let translated = jsonschema_regex::to_rust_regex(pattern).ok()?;
    regex_syntax::parse(&translated).ok()
}

/// Returns the maximum number of states that an anchored pattern can be in at once. A part after
/// parts of fixed length is anchored too: fixed patterns, such as a date, are in one state at a
/// time.
fn active_states(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Literal(_) => 1,
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(_) => state_count(hir),
        HirKind::Capture(capture) => active_states(&capture.sub).saturating_add(2),
        HirKind::Repetition(repeated) => {
            let is_fixed = repeated.max == Some(repeated.min) && has_fixed_length(&repeated.sub);
            if is_fixed {
                active_states(&repeated.sub).saturating_add(1)
            } else {
                state_count(hir)
            }
        }
        HirKind::Concat(parts) => {
            let (mut widest, mut rest, mut is_anchored) = (0_u64, 0_u64, true);
            for part in parts {
                // A part of length zero is active together with the part after it.
                let is_empty = part.properties().maximum_len() == Some(0);
                if is_anchored && !is_empty {
                    widest = widest.max(active_states(part));
                } else {
                    rest = rest.saturating_add(state_count(part));
                }
                is_anchored &= has_fixed_length(part);
            }
            widest.saturating_add(rest)
        }
        HirKind::Alternation(branches) => {
            let branches = branches
                .iter()
                .map(|branch| active_states(branch).saturating_add(1));
            branches.fold(1, u64::saturating_add)
        }
    }
}

/// Returns `true` if all matches have the same number of bytes.
fn has_fixed_length(hir: &Hir) -> bool {
    let known = hir.properties();
    known.minimum_len().is_some() && known.minimum_len() == known.maximum_len()
}

/// Returns the number of states. Recurses as deep as the parser allows nesting.
pub(super) fn state_count(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => u64::try_from(literal.0.len()).unwrap_or(u64::MAX),
        HirKind::Class(Class::Bytes(_)) => 1,
        HirKind::Class(Class::Unicode(class)) => class_states(class),
        HirKind::Repetition(repeated) => repetition_states(repeated),
        HirKind::Capture(capture) => state_count(&capture.sub).saturating_add(2),
        HirKind::Concat(parts) => parts.iter().map(state_count).fold(0, u64::saturating_add),
        HirKind::Alternation(branches) => {
            let branches = branches
                .iter()
                .map(|branch| state_count(branch).saturating_add(1));
            branches.fold(1, u64::saturating_add)
        }
    }
}

/// Returns the states of a class: one for all characters of one byte, and one for each byte range
/// of the others.
fn class_states(class: &ClassUnicode) -> u64 {
    let mut states = 1_u64;
    for range in class.ranges() {
        for sequence in Utf8Sequences::new(range.start(), range.end()) {
            if sequence.len() > 1 {
                states += u64::try_from(sequence.len()).unwrap_or(u64::MAX);
            }
        }
    }
    states
}

/// Returns the states of a repetition: a copy for each required repetition, and a copy with a
/// choice for each optional one.
fn repetition_states(repeated: &Repetition) -> u64 {
    let sub = state_count(&repeated.sub);
    let must = u64::from(repeated.min);
    let may = match repeated.max {
        Some(max) => u64::from(max).saturating_sub(must),
        None if must == 0 => 1,
        None => 0,
    };
    let needed = sub.saturating_mul(must);
    let possible = sub.saturating_add(1).saturating_mul(may);
    needed.saturating_add(possible).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(pattern: &str) -> PatternCost {
        PatternCost::measure(pattern).expect("a supported pattern, or an invalid one")
    }

    fn size(pattern: &str) -> u64 {
        cost(pattern).size
    }

    #[test]
    fn repetition_multiplies_the_size_of_a_pattern() {
        for (pattern, expected) in [
            ("", 1),
            ("abc", 3),
            ("a{3}", 4),
            ("a{2,7}", 2 + 5 * 2 + 1),
            ("a{5,}", 6),
            ("a*", 3),
            ("(ab){10}", 41),
            ("((a{10}){10}){10}", 10 * (10 * (11 + 2) + 1 + 2) + 1),
            (r"\{9\}", 3),
            (r"\d{4}", 5),
            ("[a-z]{2}", 3),
            ("ab|[cd]", 1 + 3 + 2),
            ("(?x)[ab]*a[ab]{ 200 }c", 3 + 1 + 201 + 1),
            // Two programs, each with its match state.
            ("(?=a)b", 2 + 3),
            // Not a valid pattern.
            ("(a", 1),
        ] {
            assert_eq!(size(pattern), expected, "{pattern}");
        }
        assert!(size(r"\p{L}") > 1_000);
        assert!(size(r"\p{L}{31}") > 31_000);
        // An intersection in other dialects, but not in JavaScript.
        assert!(size(r"[\p{L}&&a]") > 1_000);
        assert_eq!(size(r"\w"), 1);
        assert_eq!(size(&"(".repeat(10_000)), 1);
        let huge = "(((a{99999999}){99999999}){99999999}){99999999}";
        assert_eq!(size(huge), u64::MAX);
        for unsupported in [r"(a)\1", "a{99999999999}", "(?=a{99999})b"] {
            let error = PatternCost::measure(unsupported).err();
            assert_eq!(
                error,
                Some(SchemaError::UnsupportedPattern(unsupported.to_owned()))
            );
        }
    }

    #[test]
    fn a_pattern_of_fixed_length_is_in_few_states_at_once() {
        for (pattern, expected) in [
            (r"^\d{4}-\d{2}-\d{2}$", 2 + 2),
            ("^abcdef", 1 + 1),
            ("^(ab|cd)[0-9]{9}", 1 + (2 + 1 + 2 * 2)),
            // The rest may begin anywhere.
            ("^a+[ab]{300}", 1 + 2 + 301),
            ("^[aé][ab]{300}", 1 + 3 + 301),
            // The pattern itself may begin anywhere.
            ("[ab]{300}", 301),
            ("(^|a)[ab]{300}", 308),
            ("^[ab]{300}|c", 1 + 303 + 2),
        ] {
            let PatternCost {
                size,
                active_states,
                ..
            } = cost(pattern);
            assert_eq!(active_states, expected, "{pattern}");
            assert!(active_states <= size, "{pattern}");
        }
    }

    #[test]
    fn classes_and_flags_increase_the_cost_of_parsing() {
        assert_eq!(parse_cost("abc"), 3);
        assert_eq!(parse_cost(r"\d\d"), 3 * (4 + 32));
        assert_eq!(parse_cost(r"\s"), 2 * (2 + 192));
        assert_eq!(parse_cost(r"\p{L}"), 5 + 64);
        assert_eq!(parse_cost("(?i)a"), 16 * 5);
        for group in ["(?:a)", "(?P<n>a)", "(?<n>a)", "(?=a)", "(?!a)"] {
            assert_eq!(
                parse_cost(group),
                u64::try_from(group.len()).expect("small")
            );
        }
    }
}
