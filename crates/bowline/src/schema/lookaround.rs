//! Patterns with lookaround, matched in time that is linear in the text.
//!
//! Patterns of JavaScript may have lookaround, and generated schemas use it: the e-mail addresses,
//! host names and durations of zod. The engine that `jsonschema` has for such patterns backtracks.
//! Its limit counts backtracking steps but not the work between them, where a counted repetition
//! that consumes no character runs without bound. So these patterns are matched here.
//!
//! Each lookaround is extracted from the pattern, inner ones first. One pass over the text finds
//! all positions at which it holds: for `(?=a)` the pass goes backward from every position where
//! an `a` may end, for `(?<=a)` forward from every position where one may begin. The remainder is
//! a pattern whose states may test a lookaround at their position, which takes one more pass. A
//! pass visits each state once per position.
//!
//! Back-references are not regular, and can't be matched in linear time: such patterns are not
//! supported.

use std::fmt::Write as _;

use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

use super::MAX_PATTERN;
use super::pattern::{has_flags, parse_pattern, state_count};

/// The prefix of the group name that replaces a lookaround. A pattern that contains it is
/// rejected.
const GROUP_PREFIX: &str = "bowline_look_";

/// The maximum number of states of a program. A program has fewer than twice the counted states,
/// so the limit is reached only if the count is wrong.
const MAX_STATES: usize = 4 * MAX_PATTERN as usize;

/// A pattern with lookaround.
#[derive(Debug)]
pub(super) struct LookaroundPattern {
    /// The lookarounds, inner ones before those that contain them.
    lookarounds: Vec<Program>,
    remainder: Program,
}

impl LookaroundPattern {
    /// Returns `None` if the pattern has a back-reference or flags, can't be parsed, or is too
    /// large.
    pub(super) fn new(pattern: &str) -> Option<Self> {
        // A flag would have to be applied to each extracted part.
        if has_flags(pattern) {
            return None;
        }
        let (lookarounds, remainder) = extract_lookarounds(pattern)?;
        let mut parts = Vec::with_capacity(lookarounds.len() + 1);
        for (direction, body) in lookarounds {
            parts.push((direction, parse_pattern(&body)?));
        }
        parts.push((Direction::Forward, parse_pattern(&remainder)?));
        // The size is checked before anything is built.
        let sizes = parts.iter().map(|(_, part)| state_count(part));
        if sizes.fold(0, u64::saturating_add) > MAX_PATTERN {
            return None;
        }
        let built = parts
            .iter()
            .map(|(direction, part)| Program::new(part, *direction));
        let mut lookarounds = built.collect::<Option<Vec<_>>>()?;
        let remainder = lookarounds.pop()?;
        Some(Self {
            lookarounds,
            remainder,
        })
    }

    /// Returns the number of states.
    pub(super) fn size(&self) -> u64 {
        let all = self.lookarounds.iter().chain([&self.remainder]);
        let states: usize = all.map(|program| program.states.len()).sum();
        u64::try_from(states).unwrap_or(u64::MAX)
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let mut holds = Vec::with_capacity(self.lookarounds.len());
        for look in &self.lookarounds {
            let places = look.match_positions(&text, &holds);
            holds.push(places);
        }
        self.remainder
            .match_positions(&text, &holds)
            .contains(&true)
    }
}

/// The bodies of the extracted lookarounds with their directions, and the remaining pattern.
type Parts = (Vec<(Direction, String)>, String);

/// Extracts the lookarounds, and replaces each by an empty named group.
fn extract_lookarounds(pattern: &str) -> Option<Parts> {
    if pattern.contains(GROUP_PREFIX) {
        return None;
    }
    let (mut lookarounds, mut text) = (Vec::new(), String::new());
    // For each open group, the text before it if it is a lookaround.
    let mut open: Vec<Option<(LookaroundSyntax, String)>> = Vec::new();
    let (mut rest, mut in_class) = (pattern, false);
    while let Some(next) = rest.chars().next() {
        let syntax = LookaroundSyntax::of(rest).filter(|_| !in_class);
        if let Some((syntax, length)) = syntax {
            open.push(Some((syntax, std::mem::take(&mut text))));
            rest = &rest[length..];
            continue;
        }
        rest = &rest[next.len_utf8()..];
        match next {
            '\\' => {
                let escaped = rest.chars().next()?;
                if !in_class && matches!(escaped, '1'..='9' | 'k') {
                    return None;
                }
                rest = &rest[escaped.len_utf8()..];
                text.extend([next, escaped]);
                continue;
            }
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => open.push(None),
            ')' if !in_class => {
                if let Some((syntax, before)) = open.pop()? {
                    let body = std::mem::replace(&mut text, before);
                    let sign = if syntax.is_negative { 'n' } else { 'p' };
                    // Writing to a string doesn't fail.
                    let _ = write!(text, "(?P<{GROUP_PREFIX}{sign}{}>)", lookarounds.len());
                    lookarounds.push((syntax.direction, body));
                    continue;
                }
            }
            _ => {}
        }
        text.push(next);
    }
    open.is_empty().then_some((lookarounds, text))
}

struct LookaroundSyntax {
    /// The direction in which the body is matched, so that the match ends at the lookaround.
    direction: Direction,
    is_negative: bool,
}

impl LookaroundSyntax {
    /// Parses the beginning of a lookaround, and returns it with its length.
    fn of(text: &str) -> Option<(Self, usize)> {
        let (direction, is_negative, length) = match text.strip_prefix("(?")?.as_bytes() {
            [b'=', ..] => (Direction::Backward, false, 3),
            [b'!', ..] => (Direction::Backward, true, 3),
            [b'<', b'=', ..] => (Direction::Forward, false, 4),
            [b'<', b'!', ..] => (Direction::Forward, true, 4),
            _ => return None,
        };
        let syntax = Self {
            direction,
            is_negative,
        };
        Some((syntax, length))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

/// A pattern without lookaround, compiled for one direction.
#[derive(Debug)]
struct Program {
    direction: Direction,
    /// The first state is the start, the last one is the match.
    states: Vec<State>,
}

#[derive(Debug)]
enum State {
    /// Matches a character in one of the sorted ranges, then continues with the next state.
    Character(Box<[(char, char)]>),
    /// Tests the position, then continues with the next state.
    Assertion(Assertion),
    /// Continues with both states.
    Split(usize, usize),
    Match,
}

#[derive(Clone, Copy, Debug)]
enum Assertion {
    Start,
    End,
    Word { is_boundary: bool },
    Lookaround { number: usize, is_negative: bool },
}

impl Program {
    fn new(pattern: &Hir, direction: Direction) -> Option<Self> {
        let mut program = Self {
            direction,
            states: Vec::new(),
        };
        program.push(pattern)?;
        program.states.push(State::Match);
        Some(program)
    }

    fn push(&mut self, hir: &Hir) -> Option<()> {
        if self.states.len() > MAX_STATES {
            return None;
        }
        match hir.kind() {
            HirKind::Empty => {}
            HirKind::Literal(literal) => {
                let mut characters: Vec<char> =
                    std::str::from_utf8(&literal.0).ok()?.chars().collect();
                if self.direction == Direction::Backward {
                    characters.reverse();
                }
                let states = characters
                    .into_iter()
                    .map(|literal| Box::from([(literal, literal)]));
                self.states.extend(states.map(State::Character));
            }
            HirKind::Class(Class::Unicode(class)) => {
                let ranges = class
                    .ranges()
                    .iter()
                    .map(|range| (range.start(), range.end()));
                self.states.push(State::Character(ranges.collect()));
            }
            HirKind::Class(Class::Bytes(_)) => return None,
            HirKind::Look(look) => self.states.push(State::Assertion(assertion(*look)?)),
            HirKind::Repetition(repeated) => self.push_repeated(repeated)?,
            HirKind::Capture(capture) => match capture.name.as_deref().map(lookaround_of) {
                Some(Some(look)) => self.states.push(State::Assertion(look)),
                _ => self.push(&capture.sub)?,
            },
            HirKind::Concat(parts) => match self.direction {
                Direction::Forward => parts.iter().try_for_each(|part| self.push(part))?,
                Direction::Backward => parts.iter().rev().try_for_each(|part| self.push(part))?,
            },
            HirKind::Alternation(branches) => self.push_branches(branches)?,
        }
        Some(())
    }

    fn push_repeated(&mut self, repeated: &Repetition) -> Option<()> {
        let mut last = self.states.len();
        for _ in 0..repeated.min {
            last = self.states.len();
            self.push(&repeated.sub)?;
        }
        match repeated.max {
            // The last required copy is repeated: one more copy would double the size at each
            // level of nesting.
            None if repeated.min > 0 => {
                let end = self.push_placeholder();
                self.states[end] = State::Split(last, end + 1);
            }
            None => {
                let again = self.push_placeholder();
                self.push(&repeated.sub)?;
                let end = self.push_placeholder();
                self.states[end] = State::Split(again, again);
                self.states[again] = State::Split(again + 1, self.states.len());
            }
            Some(max) => {
                let mut choices = Vec::new();
                for _ in repeated.min..max {
                    choices.push(self.push_placeholder());
                    self.push(&repeated.sub)?;
                }
                for choice in choices {
                    self.states[choice] = State::Split(choice + 1, self.states.len());
                }
            }
        }
        Some(())
    }

    fn push_branches(&mut self, branches: &[Hir]) -> Option<()> {
        let mut ends = Vec::new();
        for branch in branches {
            let choice = self.push_placeholder();
            self.push(branch)?;
            ends.push(self.push_placeholder());
            self.states[choice] = State::Split(choice + 1, self.states.len());
        }
        // There is no alternative after the last branch.
        let dead = self.states.len();
        self.states.push(State::Character(Box::default()));
        for end in ends {
            self.states[end] = State::Split(dead + 1, dead + 1);
        }
        Some(())
    }

    /// Pushes a state that is set later, and returns its index.
    fn push_placeholder(&mut self) -> usize {
        self.states.push(State::Match);
        self.states.len() - 1
    }

    /// Returns for each position of a text whether a match that began anywhere ends there.
    fn match_positions(&self, text: &[char], holds: &[Vec<bool>]) -> Vec<bool> {
        let mut found = vec![false; text.len() + 1];
        let mut met = vec![usize::MAX; self.states.len()];
        // The states to visit at this position, and at the next one.
        let (mut here, mut next) = (Vec::new(), Vec::new());
        for step in 0..=text.len() {
            let (at, ahead) = match self.direction {
                Direction::Forward => (step, text.get(step)),
                Direction::Backward => {
                    let at = text.len() - step;
                    (at, at.checked_sub(1).and_then(|before| text.get(before)))
                }
            };
            here.push(0);
            while let Some(state) = here.pop() {
                if std::mem::replace(&mut met[state], step) == step {
                    continue;
                }
                match &self.states[state] {
                    State::Character(ranges) => {
                        if ahead.is_some_and(|character| is_in_ranges(*character, ranges)) {
                            next.push(state + 1);
                        }
                    }
                    State::Assertion(place) => {
                        if place.holds(text, at, holds) {
                            here.push(state + 1);
                        }
                    }
                    State::Split(one, other) => here.extend([*one, *other]),
                    State::Match => found[at] = true,
                }
            }
            std::mem::swap(&mut here, &mut next);
        }
        found
    }
}

impl Assertion {
    fn holds(self, text: &[char], at: usize, holds: &[Vec<bool>]) -> bool {
        match self {
            Self::Start => at == 0,
            Self::End => at == text.len(),
            Self::Word { is_boundary } => {
                let before = at.checked_sub(1).and_then(|before| text.get(before));
                let is_word = |character: Option<&char>| {
                    character.is_some_and(|character| {
                        character.is_ascii_alphanumeric() || *character == '_'
                    })
                };
                (is_word(before) != is_word(text.get(at))) == is_boundary
            }
            Self::Lookaround {
                number,
                is_negative,
            } => {
                let holds = holds.get(number).and_then(|places| places.get(at));
                holds == Some(&!is_negative)
            }
        }
    }
}

/// Returns the lookaround that a group name stands for.
fn lookaround_of(name: &str) -> Option<Assertion> {
    let name = name.strip_prefix(GROUP_PREFIX)?;
    Some(Assertion::Lookaround {
        is_negative: name.starts_with('n'),
        number: name.get(1..)?.parse().ok()?,
    })
}

/// Returns `None` for assertions that JavaScript has only with flags, or not at all.
fn assertion(look: Look) -> Option<Assertion> {
    Some(match look {
        Look::Start => Assertion::Start,
        Look::End => Assertion::End,
        // In JavaScript only ASCII letters are word characters.
        Look::WordAscii | Look::WordUnicode => Assertion::Word { is_boundary: true },
        Look::WordAsciiNegate | Look::WordUnicodeNegate => Assertion::Word { is_boundary: false },
        _ => return None,
    })
}

fn is_in_ranges(character: char, ranges: &[(char, char)]) -> bool {
    let after = ranges.partition_point(|(first, _)| *first <= character);
    after > 0 && character <= ranges[after - 1].1
}
