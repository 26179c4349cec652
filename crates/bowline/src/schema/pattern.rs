//! How large patterns are: what they cost to compile, and for each byte of a text.
//!
//! They are measured as `jsonschema` compiles them: in the same translation, parsed by what the
//! engine parses with. What parsing and translating cost is bounded before that, by the text.
//! Those that look around are [matched here](super::lookaround), and measured as they are there.

use std::collections::HashMap;
use std::sync::Arc;

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind, Look, Repetition};
use regex_syntax::utf8::Utf8Sequences;

use super::lookaround::Looking;
use super::{MAX_PATTERN, MAX_PATTERN_TEXT, MAX_PATTERNS, Refused};

/// What a pattern costs beside its states: its machine is set up, and keeps its memory.
pub(super) const EACH: u64 = 512;

/// All patterns of a schema. Each is compiled once, wherever it stands.
#[derive(Default)]
pub(super) struct Patterns<'s> {
    known: HashMap<&'s str, Result<Measured, Refused>>,
    states: u64,
    text: u64,
}

/// What is known of a pattern.
#[derive(Clone)]
pub(super) struct Measured {
    /// The states of its machine, about.
    size: u64,
    /// How many of them it can be in at once, for each byte of a text.
    pub(super) width: u64,
    /// For one that the engine can't run, since it looks around.
    pub(super) looking: Option<Arc<Looking>>,
}

impl<'s> Patterns<'s> {
    /// Measures a pattern. Refused if it, or all of them, are too much, or nobody can run it.
    pub(super) fn add(&mut self, pattern: &'s str) -> Result<Measured, Refused> {
        if let Some(known) = self.known.get(pattern) {
            return known.clone();
        }
        let measured = self.measure(pattern);
        // What all are together is no fault of this one.
        if !matches!(measured, Err(Refused::Patterns)) {
            self.known.insert(pattern, measured.clone());
        }
        measured
    }

    fn measure(&mut self, pattern: &'s str) -> Result<Measured, Refused> {
        let large = || Refused::Pattern(pattern.to_owned());
        let text = reading(pattern);
        if text > MAX_PATTERN_TEXT {
            return Err(large());
        }
        self.text = self.text.saturating_add(text);
        if self.text > MAX_PATTERN_TEXT {
            return Err(Refused::Patterns);
        }
        let measured = Measured::of(pattern)?;
        if measured.size > MAX_PATTERN {
            return Err(large());
        }
        let states = self.states.saturating_add(measured.size);
        self.states = states.saturating_add(EACH);
        if self.states > MAX_PATTERNS {
            return Err(Refused::Patterns);
        }
        Ok(measured)
    }
}

impl Measured {
    /// One that is none has next to no states: it is refused when it is compiled.
    fn of(pattern: &str) -> Result<Self, Refused> {
        if let Some(parsed) = parsed(pattern) {
            return Ok(Self::by_engine(&parsed));
        }
        if let Some(looking) = Looking::new(pattern) {
            return Ok(Self {
                size: looking.size(),
                width: looking.size(),
                looking: Some(Arc::new(looking)),
            });
        }
        match jsonschema_regex::is_valid_ecma_regex(pattern) {
            true => Err(Refused::Unrunnable(pattern.to_owned())),
            false => Ok(Self {
                size: 1,
                width: 1,
                looking: None,
            }),
        }
    }

    fn by_engine(parsed: &Hir) -> Self {
        let states = states(parsed).max(1);
        // Without that it begins anew at every byte.
        let begins_once = parsed.properties().look_set_prefix().contains(Look::Start);
        let width = match begins_once {
            true => width(parsed).clamp(1, states),
            false => states,
        };
        Self {
            size: states,
            width,
            looking: None,
        }
    }
}

/// What it costs to read a pattern, in bytes that are parsed. Each of JavaScript's classes is
/// translated by itself, and all is parsed again after it. What Unicode lists is long, and longer
/// where upper and lower case are the same.
fn reading(pattern: &str) -> u64 {
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
    let folds = match has_flags(pattern) {
        true => 16,
        false => 1,
    };
    let read = passes.saturating_mul(length.saturating_add(listed));
    read.saturating_mul(folds)
}

/// Whether there may be flags within it, such as `(?i)`.
pub(super) fn has_flags(pattern: &str) -> bool {
    let mut groups = pattern.split("(?").skip(1);
    groups.any(|group| !group.starts_with([':', 'P', '<', '=', '!']))
}

/// A pattern as the engine reads it, if it can.
pub(super) fn parsed(pattern: &str) -> Option<Hir> {
    let translated = jsonschema_regex::to_rust_regex(pattern).ok()?;
    regex_syntax::parse(&translated).ok()
}

/// How many states it can be in at once, if it begins at one place only. So does what follows a
/// part whose length is known: fixed patterns, as of a date, are in one state at a time.
fn width(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Literal(_) => 1,
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(_) => states(hir),
        HirKind::Capture(capture) => width(&capture.sub).saturating_add(2),
        HirKind::Repetition(repeated) => {
            let is_fixed = repeated.max == Some(repeated.min) && has_one_length(&repeated.sub);
            match is_fixed {
                true => width(&repeated.sub).saturating_add(1),
                false => states(hir),
            }
        }
        HirKind::Concat(parts) => {
            let (mut widest, mut rest, mut begins_once) = (0_u64, 0_u64, true);
            for part in parts {
                match begins_once {
                    // What takes no byte is beside what follows it.
                    true if part.properties().maximum_len() == Some(0) => {
                        rest = rest.saturating_add(states(part));
                    }
                    true => widest = widest.max(width(part)),
                    false => rest = rest.saturating_add(states(part)),
                }
                begins_once &= has_one_length(part);
            }
            widest.saturating_add(rest)
        }
        HirKind::Alternation(branches) => {
            let branches = branches.iter().map(|it| width(it).saturating_add(1));
            branches.fold(1, u64::saturating_add)
        }
    }
}

/// Whether all that it matches has the same number of bytes.
fn has_one_length(hir: &Hir) -> bool {
    let known = hir.properties();
    known.minimum_len().is_some() && known.minimum_len() == known.maximum_len()
}

/// It nests no deeper than the parser allows.
pub(super) fn states(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => u64::try_from(literal.0.len()).unwrap_or(u64::MAX),
        HirKind::Class(Class::Bytes(_)) => 1,
        HirKind::Class(Class::Unicode(class)) => class_states(class),
        HirKind::Repetition(repeated) => repetition_states(repeated),
        HirKind::Capture(capture) => states(&capture.sub).saturating_add(2),
        HirKind::Concat(parts) => parts.iter().map(states).fold(0, u64::saturating_add),
        HirKind::Alternation(branches) => {
            let branches = branches.iter().map(|it| states(it).saturating_add(1));
            branches.fold(1, u64::saturating_add)
        }
    }
}

/// Characters of one byte are one state together, others are one for each range of bytes.
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

/// It is written out: as often as it must be, and once more with a choice as often as it may be.
fn repetition_states(repeated: &Repetition) -> u64 {
    let sub = states(&repeated.sub);
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

    fn measured(pattern: &str) -> Measured {
        Measured::of(pattern).expect("it can be run, or is none")
    }

    fn size(pattern: &str) -> u64 {
        measured(pattern).size
    }

    #[test]
    fn a_pattern_is_as_large_as_what_it_repeats() {
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
            // Two passes, each of which ends.
            ("(?=a)b", 2 + 3),
            // Nobody can read it.
            ("(a", 1),
        ] {
            assert_eq!(size(pattern), expected, "{pattern}");
        }
        assert!(size(r"\p{L}") > 1_000);
        assert!(size(r"\p{L}{31}") > 31_000);
        // An intersection elsewhere, but not in JavaScript.
        assert!(size(r"[\p{L}&&a]") > 1_000);
        assert_eq!(size(r"\w"), 1);
        assert_eq!(size(&"(".repeat(10_000)), 1);
        let huge = "(((a{99999999}){99999999}){99999999}){99999999}";
        assert_eq!(size(huge), u64::MAX);
        for unrunnable in [r"(a)\1", "a{99999999999}", "(?=a{99999})b"] {
            let refused = Measured::of(unrunnable).err();
            assert_eq!(refused, Some(Refused::Unrunnable(unrunnable.to_owned())));
        }
    }

    #[test]
    fn a_pattern_of_known_length_is_in_few_states_at_once() {
        for (pattern, expected) in [
            (r"^\d{4}-\d{2}-\d{2}$", 2 + 2),
            ("^abcdef", 1 + 1),
            ("^(ab|cd)[0-9]{9}", 1 + (2 + 1 + 2 * 2)),
            // All that follows may begin anywhere.
            ("^a+[ab]{300}", 1 + 2 + 301),
            ("^[aé][ab]{300}", 1 + 3 + 301),
            // It may begin anywhere itself.
            ("[ab]{300}", 301),
            ("(^|a)[ab]{300}", 308),
            ("^[ab]{300}|c", 1 + 303 + 2),
        ] {
            let Measured { size, width, .. } = measured(pattern);
            assert_eq!(width, expected, "{pattern}");
            assert!(width <= size, "{pattern}");
        }
    }

    #[test]
    fn what_is_read_again_and_again_costs_more() {
        assert_eq!(reading("abc"), 3);
        assert_eq!(reading(r"\d\d"), 3 * (4 + 32));
        assert_eq!(reading(r"\s"), 2 * (2 + 192));
        assert_eq!(reading(r"\p{L}"), 5 + 64);
        assert_eq!(reading("(?i)a"), 16 * 5);
        for group in ["(?:a)", "(?P<n>a)", "(?<n>a)", "(?=a)", "(?!a)"] {
            assert_eq!(reading(group), u64::try_from(group.len()).expect("small"));
        }
    }
}
