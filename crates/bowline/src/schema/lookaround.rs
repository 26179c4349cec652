//! Patterns that look around, matched in time that is linear in the text.
//!
//! JavaScript's patterns may look around, and generated schemas do: the addresses, host names and
//! durations of zod. The engine that `jsonschema` has for that backtracks. Its limit counts how
//! often it goes back and not what it does in between, where a counted repetition of what takes no
//! character goes on for as long as it likes. So they are matched here.
//!
//! Each look-around is taken out of the pattern, inner ones first. Where in a text it holds is
//! found out for all places in one pass: `(?=a)` by going backward from every place where an `a`
//! may end, `(?<=a)` by going forward from every place where one may begin. What remains is a
//! pattern whose states may ask whether a look-around holds where they are, which is one more
//! pass. In a pass each state is met once at each place.
//!
//! References back are not regular, and nothing is linear for them: such a pattern is none here.

use std::fmt::Write as _;

use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

use super::MAX_PATTERN;
use super::pattern::{has_flags, parsed, states};

/// What a look-around is called once it is taken out. A pattern that has it itself is refused.
const NAME: &str = "bowline_look_";

/// The most states of a program. It has fewer than twice as many as were counted, so that this
/// is met only where counting goes wrong.
const MOST: usize = 4 * MAX_PATTERN as usize;

/// A pattern that looks around.
#[derive(Debug)]
pub(super) struct Looking {
    /// What its look-arounds look for: each before those that it stands in.
    looks: Vec<Program>,
    rest: Program,
}

impl Looking {
    /// `None` when it refers back, has flags, can't be read, or is too large.
    pub(super) fn new(pattern: &str) -> Option<Self> {
        // A flag would have to be carried into what is taken apart.
        if has_flags(pattern) {
            return None;
        }
        let (looks, rest) = taken_apart(pattern)?;
        let mut parts = Vec::with_capacity(looks.len() + 1);
        for (direction, body) in looks {
            parts.push((direction, parsed(&body)?));
        }
        parts.push((Direction::Forward, parsed(&rest)?));
        // Nothing is built of what is too large.
        let sizes = parts.iter().map(|(_, part)| states(part));
        if sizes.fold(0, u64::saturating_add) > MAX_PATTERN {
            return None;
        }
        let built = parts
            .iter()
            .map(|(direction, part)| Program::new(part, *direction));
        let mut looks = built.collect::<Option<Vec<_>>>()?;
        let rest = looks.pop()?;
        Some(Self { looks, rest })
    }

    /// How many states it has.
    pub(super) fn size(&self) -> u64 {
        let all = self.looks.iter().chain([&self.rest]);
        let states: usize = all.map(|program| program.states.len()).sum();
        u64::try_from(states).unwrap_or(u64::MAX)
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let mut holds = Vec::with_capacity(self.looks.len());
        for look in &self.looks {
            let places = look.places(&text, &holds);
            holds.push(places);
        }
        self.rest.places(&text, &holds).contains(&true)
    }
}

/// Look-arounds of a pattern with what they look for, and the pattern without them.
type Parts = (Vec<(Direction, String)>, String);

/// Takes the look-arounds out: an empty group with a name stands for each.
fn taken_apart(pattern: &str) -> Option<Parts> {
    if pattern.contains(NAME) {
        return None;
    }
    let (mut looks, mut text) = (Vec::new(), String::new());
    // What stands before each open group, if it is a look-around.
    let mut open: Vec<Option<(Around, String)>> = Vec::new();
    let (mut rest, mut in_class) = (pattern, false);
    while let Some(next) = rest.chars().next() {
        let around = Around::of(rest).filter(|_| !in_class);
        if let Some((around, length)) = around {
            open.push(Some((around, std::mem::take(&mut text))));
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
                if let Some((around, before)) = open.pop()? {
                    let body = std::mem::replace(&mut text, before);
                    let sign = if around.is_negative { 'n' } else { 'p' };
                    // Writing to a string can't go wrong.
                    let _ = write!(text, "(?P<{NAME}{sign}{}>)", looks.len());
                    looks.push((around.direction, body));
                    continue;
                }
            }
            _ => {}
        }
        text.push(next);
    }
    open.is_empty().then_some((looks, text))
}

struct Around {
    /// In which direction its body is matched, to end where the look-around stands.
    direction: Direction,
    is_negative: bool,
}

impl Around {
    /// The one that a text begins with, and how long its beginning is.
    fn of(text: &str) -> Option<(Self, usize)> {
        let (direction, is_negative, length) = match text.strip_prefix("(?")?.as_bytes() {
            [b'=', ..] => (Direction::Backward, false, 3),
            [b'!', ..] => (Direction::Backward, true, 3),
            [b'<', b'=', ..] => (Direction::Forward, false, 4),
            [b'<', b'!', ..] => (Direction::Forward, true, 4),
            _ => return None,
        };
        let around = Self {
            direction,
            is_negative,
        };
        Some((around, length))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

/// A pattern without look-arounds, to be gone through in one direction.
#[derive(Debug)]
struct Program {
    direction: Direction,
    /// The first is where it begins, and the last is where it has matched.
    states: Vec<State>,
}

#[derive(Debug)]
enum State {
    /// A character in one of the ranges, which are in order; then the next state.
    Character(Box<[(char, char)]>),
    /// Something about the place; then the next state.
    Place(Place),
    /// Either of two others.
    Either(usize, usize),
    Found,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Start,
    End,
    Word { is_boundary: bool },
    Look { number: usize, is_negative: bool },
}

impl Program {
    fn new(pattern: &Hir, direction: Direction) -> Option<Self> {
        let mut program = Self {
            direction,
            states: Vec::new(),
        };
        program.push(pattern)?;
        program.states.push(State::Found);
        Some(program)
    }

    fn push(&mut self, hir: &Hir) -> Option<()> {
        if self.states.len() > MOST {
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
                let states = characters.into_iter().map(|it| Box::from([(it, it)]));
                self.states.extend(states.map(State::Character));
            }
            HirKind::Class(Class::Unicode(class)) => {
                let ranges = class.ranges().iter().map(|it| (it.start(), it.end()));
                self.states.push(State::Character(ranges.collect()));
            }
            HirKind::Class(Class::Bytes(_)) => return None,
            HirKind::Look(look) => self.states.push(State::Place(place(*look)?)),
            HirKind::Repetition(repeated) => self.push_repeated(repeated)?,
            HirKind::Capture(capture) => match capture.name.as_deref().map(look_of) {
                Some(Some(look)) => self.states.push(State::Place(look)),
                _ => self.push(&capture.sub)?,
            },
            HirKind::Concat(parts) => match self.direction {
                Direction::Forward => parts.iter().try_for_each(|it| self.push(it))?,
                Direction::Backward => parts.iter().rev().try_for_each(|it| self.push(it))?,
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
            // The last one that must be may be again: one more of it would double what is in it,
            // at each level of nesting.
            None if repeated.min > 0 => {
                let end = self.open();
                self.states[end] = State::Either(last, end + 1);
            }
            None => {
                let again = self.open();
                self.push(&repeated.sub)?;
                let end = self.open();
                self.states[end] = State::Either(again, again);
                self.states[again] = State::Either(again + 1, self.states.len());
            }
            Some(max) => {
                let mut choices = Vec::new();
                for _ in repeated.min..max {
                    choices.push(self.open());
                    self.push(&repeated.sub)?;
                }
                for choice in choices {
                    self.states[choice] = State::Either(choice + 1, self.states.len());
                }
            }
        }
        Some(())
    }

    fn push_branches(&mut self, branches: &[Hir]) -> Option<()> {
        let mut ends = Vec::new();
        for branch in branches {
            let choice = self.open();
            self.push(branch)?;
            ends.push(self.open());
            self.states[choice] = State::Either(choice + 1, self.states.len());
        }
        // Nothing is left after the last one.
        let dead = self.states.len();
        self.states.push(State::Character(Box::default()));
        for end in ends {
            self.states[end] = State::Either(dead + 1, dead + 1);
        }
        Some(())
    }

    /// A choice that is made later.
    fn open(&mut self) -> usize {
        self.states.push(State::Found);
        self.states.len() - 1
    }

    /// At which places of a text it has matched, from wherever it began.
    fn places(&self, text: &[char], holds: &[Vec<bool>]) -> Vec<bool> {
        let mut found = vec![false; text.len() + 1];
        let mut met = vec![usize::MAX; self.states.len()];
        // States that are to be looked at here, and at the next place.
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
                        if ahead.is_some_and(|it| is_within(*it, ranges)) {
                            next.push(state + 1);
                        }
                    }
                    State::Place(place) => {
                        if place.holds(text, at, holds) {
                            here.push(state + 1);
                        }
                    }
                    State::Either(one, other) => here.extend([*one, *other]),
                    State::Found => found[at] = true,
                }
            }
            std::mem::swap(&mut here, &mut next);
        }
        found
    }
}

impl Place {
    fn holds(self, text: &[char], at: usize, holds: &[Vec<bool>]) -> bool {
        match self {
            Self::Start => at == 0,
            Self::End => at == text.len(),
            Self::Word { is_boundary } => {
                let before = at.checked_sub(1).and_then(|before| text.get(before));
                let is_word = |it: Option<&char>| {
                    it.is_some_and(|it| it.is_ascii_alphanumeric() || *it == '_')
                };
                (is_word(before) != is_word(text.get(at))) == is_boundary
            }
            Self::Look {
                number,
                is_negative,
            } => {
                let holds = holds.get(number).and_then(|places| places.get(at));
                holds == Some(&!is_negative)
            }
        }
    }
}

/// The look-around that a group stands for.
fn look_of(name: &str) -> Option<Place> {
    let name = name.strip_prefix(NAME)?;
    Some(Place::Look {
        is_negative: name.starts_with('n'),
        number: name.get(1..)?.parse().ok()?,
    })
}

/// `None` for what JavaScript has only with flags, or not at all.
fn place(look: Look) -> Option<Place> {
    Some(match look {
        Look::Start => Place::Start,
        Look::End => Place::End,
        // Letters that are not ASCII are none of a word there.
        Look::WordAscii | Look::WordUnicode => Place::Word { is_boundary: true },
        Look::WordAsciiNegate | Look::WordUnicodeNegate => Place::Word { is_boundary: false },
        _ => return None,
    })
}

fn is_within(character: char, ranges: &[(char, char)]) -> bool {
    let after = ranges.partition_point(|(first, _)| *first <= character);
    after > 0 && character <= ranges[after - 1].1
}
