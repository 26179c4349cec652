//! A part of a template without a query: literals, with a variable between each two.

use super::decoded;

/// Literals, with a variable between each two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sequence {
    /// The literal at the beginning.
    first: String,
    rest: Vec<Step>,
}

/// A variable, and the literal after it, which is empty at the end alone.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    variable: Variable,
    literal: String,
}

/// A variable, which is never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// The most characters that it has.
    pub(super) most: Option<usize>,
}

/// What a variable may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `{name}`: nothing that separates the parts of a URI.
    Simple,
    /// `{;name}`: nor the next parameter.
    Parameter,
    /// `{name*}`: commas, too, between the values of a list.
    List,
    /// `{/name*}`: slashes, too.
    Path,
    /// `{+name}`: everything.
    Reserved,
    /// `{+a,b}`: everything but what separates the two.
    ReservedInList,
}

impl Kind {
    /// Returns `true` if the variable ends at this byte at the latest.
    fn stops_at(self, byte: u8) -> bool {
        match byte {
            b'/' => matches!(self, Self::Simple | Self::Parameter | Self::List),
            b',' => !matches!(self, Self::List | Self::Reserved),
            b'?' | b'#' | b'&' => !matches!(self, Self::Reserved | Self::ReservedInList),
            b';' => self == Self::Parameter,
            _ => false,
        }
    }
}

impl Sequence {
    pub(super) fn literal(&mut self, text: &str) {
        let last = self.rest.last_mut().map(|step| &mut step.literal);
        last.unwrap_or(&mut self.first).push_str(text);
    }

    /// Adds a variable. Returns it as an error if another one ends where it begins.
    pub(super) fn variable(&mut self, variable: Variable) -> Result<(), Variable> {
        if self.rest.last().is_some_and(|step| step.literal.is_empty()) {
            return Err(variable);
        }
        self.rest.push(Step {
            variable,
            literal: String::new(),
        });
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_empty() && self.rest.is_empty()
    }

    pub(super) fn begins_with(&self, character: char) -> bool {
        self.first.starts_with(character)
    }

    /// Returns how often a character occurs in its literals.
    pub(super) fn count(&self, character: char) -> usize {
        let literals = self.rest.iter().map(|step| &step.literal);
        let literals = literals.chain([&self.first]);
        literals
            .map(|literal| literal.matches(character).count())
            .sum()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.rest.iter().map(|step| step.variable.name.as_str())
    }

    /// Returns the variables of a text that matches. Where there are several ways, each variable,
    /// from the first on, is as short as it can be.
    pub(super) fn matches(&self, text: &str) -> Option<Vec<(String, String)>> {
        let text = text.strip_prefix(self.first.as_str())?;
        let Some(last) = self.rest.last() else {
            return text.is_empty().then(Vec::new);
        };
        let text = text.strip_suffix(last.literal.as_str())?;
        let ends = self.ends(text)?;
        let mut found = Vec::with_capacity(self.rest.len());
        let mut begin = 0;
        for (step, ends) in self.rest.iter().zip(ends) {
            let end = ends.first_after(begin)?;
            found.push((step.variable.name.clone(), decoded(&text[begin..end])?));
            begin = end + step.literal.len();
        }
        Some(found)
    }

    /// Returns where each variable may end, so that what comes after it follows the rest of the
    /// sequence. One pass over the text for each, from the back.
    fn ends(&self, text: &str) -> Option<Vec<Positions>> {
        let has_prefix = self.rest.iter().any(|step| step.variable.most.is_some());
        let characters = has_prefix.then(|| Characters::of(text));
        let mut all = Vec::with_capacity(self.rest.len());
        let mut ends = Positions::up_to(text.len());
        ends.insert(text.len());
        for (at, step) in self.rest.iter().enumerate().rev() {
            let before = at.checked_sub(1).map(|at| self.rest[at].literal.as_bytes());
            let mut ends_before = Positions::up_to(text.len());
            // Where the variable ends, if it begins at a place, and whether it may begin there.
            let (mut end, mut may_begin) = (None, false);
            for (begin, &byte) in text.as_bytes().iter().enumerate().rev() {
                count_step();
                if step.variable.kind.stops_at(byte) {
                    end = None;
                } else if ends.contains(begin + 1) {
                    end = Some(begin + 1);
                }
                may_begin = match (end, step.variable.most, &characters) {
                    (None, ..) => false,
                    (Some(end), Some(most), Some(characters)) => {
                        characters.between(begin, end) <= most
                    }
                    (Some(_), ..) => true,
                };
                if let Some(before) = before
                    && may_begin
                    && text.as_bytes()[..begin].ends_with(before)
                {
                    ends_before.insert(begin - before.len());
                }
            }
            all.push(ends);
            ends = ends_before;
            if before.is_none() && !may_begin {
                return None;
            }
        }
        all.reverse();
        Some(all)
    }
}

/// Places in a text: a bit for each, since a client chooses how long it is.
struct Positions(Vec<u64>);

impl Positions {
    fn up_to(last: usize) -> Self {
        Self(vec![0; last / 64 + 1])
    }

    fn insert(&mut self, at: usize) {
        if let Some(word) = self.0.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
    }

    fn contains(&self, at: usize) -> bool {
        self.0
            .get(at / 64)
            .is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    fn first_after(&self, at: usize) -> Option<usize> {
        (at + 1..self.0.len() * 64).find(|at| {
            count_step();
            self.contains(*at)
        })
    }
}

/// How many characters there are before each place of a text. One that is written with percent
/// signs is one, however many bytes it has (RFC 6570, 2.4.1).
struct Characters(Vec<u32>);

impl Characters {
    fn of(text: &str) -> Self {
        let mut counts = Vec::with_capacity(text.len() + 1);
        let (mut count, mut digits) = (0_u32, 0_u8);
        counts.push(count);
        for (at, &byte) in text.as_bytes().iter().enumerate() {
            count_step();
            let begins = match (digits, byte) {
                // The digits of a byte that was counted at its sign.
                (1.., _) => {
                    digits -= 1;
                    false
                }
                (0, b'%') => {
                    digits = 2;
                    let first = text.as_bytes().get(at + 1);
                    // What goes on with a character begins with 8, 9, A or B.
                    !first.is_some_and(|first| b"89abAB".contains(first))
                }
                (0, byte) => !(0x80..0xC0).contains(&byte),
            };
            count += u32::from(begins);
            counts.push(count);
        }
        Self(counts)
    }

    /// Counts the characters that begin between two places.
    fn between(&self, begin: usize, end: usize) -> usize {
        let at = |place: usize| self.0.get(place).copied().unwrap_or_default();
        at(end).saturating_sub(at(begin)) as usize
    }
}

#[cfg(not(test))]
fn count_step() {}

#[cfg(test)]
use super::tests::count_step;
