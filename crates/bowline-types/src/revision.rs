//! Protocol revisions, the two eras they belong to, and sets of revisions.
//!
//! MCP names its revisions by date. Each declaration in this crate that depends on the revision (a
//! member, a method, an error code) states its revisions as a [`Revisions`] set, in one place.

use std::fmt;
use std::str::FromStr;

/// A revision of the protocol.
///
/// Revisions order by date. The wire name is both what [`Display`](fmt::Display) prints and what
/// [`FromStr`] parses.
///
/// ```
/// use bowline_types::{Era, Revision};
///
/// let revision: Revision = "2025-06-18".parse()?;
/// assert!(revision < Revision::LATEST);
/// assert_eq!(revision.era(), Era::Handshake);
/// assert_eq!(revision.to_string(), "2025-06-18");
/// # Ok::<(), bowline_types::UnknownRevision>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Revision {
    /// First release: tools, resources, prompts, sampling, roots, logging.
    V2024_11_05,
    /// Adds Streamable HTTP, batches, audio, tool annotations, the completions capability.
    V2025_03_26,
    /// Adds elicitation, structured tool output, resource links, titles; removes batches.
    V2025_06_18,
    /// Adds icons, tasks (experimental), URL elicitation, tools in sampling.
    V2025_11_25,
    /// Stateless: no handshake, `_meta` on each request, discovery, input rounds.
    V2026_07_28,
}

impl Revision {
    /// The newest revision that this crate knows.
    pub const LATEST: Self = Self::V2026_07_28;

    /// The newest revision of the handshake era, which opens with `initialize`.
    pub const LATEST_HANDSHAKE: Self = Self::V2025_11_25;

    /// Every known revision, oldest first.
    pub const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// Returns the wire name, a date.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Returns the era of the revision.
    pub const fn era(self) -> Era {
        match self {
            Self::V2024_11_05 | Self::V2025_03_26 | Self::V2025_06_18 | Self::V2025_11_25 => {
                Era::Handshake
            }
            Self::V2026_07_28 => Era::Stateless,
        }
    }

    /// Returns `true` if a frame may be an array of messages. Only 2025-03-26 has batches.
    pub const fn has_batches(self) -> bool {
        matches!(self, Self::V2025_03_26)
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Revision {
    type Err = UnknownRevision;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|revision| revision.as_str() == name)
            .ok_or_else(|| UnknownRevision(name.into()))
    }
}

impl From<Revision> for String {
    fn from(revision: Revision) -> Self {
        revision.as_str().into()
    }
}

/// A revision name that this crate does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRevision(Box<str>);

impl UnknownRevision {
    /// Returns the name as received.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UnknownRevision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unsupported protocol version {:?} (supported: ", self.0)?;
        write!(f, "{})", Revisions::ALL)
    }
}

impl std::error::Error for UnknownRevision {}

/// How a connection of a revision begins, and where its state is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a third era would be another protocol"
)]
pub enum Era {
    /// The connection opens with `initialize`; revision and capabilities hold for the session. All
    /// revisions up to 2025-11-25.
    Handshake,
    /// Each request carries its revision and capabilities. Since 2026-07-28.
    Stateless,
}

impl Era {
    /// Returns the revisions of the era.
    pub const fn revisions(self) -> Revisions {
        match self {
            Self::Handshake => Revisions::until(Revision::LATEST_HANDSHAKE),
            Self::Stateless => Revisions::since(Revision::V2026_07_28),
        }
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Handshake => "handshake",
            Self::Stateless => "stateless",
        })
    }
}

/// A set of revisions.
///
/// ```
/// use bowline_types::{Revision, Revisions};
///
/// let titled = Revisions::since(Revision::V2025_06_18);
/// assert!(titled.contains(Revision::V2025_11_25));
/// assert!(!titled.contains(Revision::V2025_03_26));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Revisions(u8);

impl Revisions {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// Every known revision.
    pub const ALL: Self = Self::since(Revision::V2024_11_05);

    /// Returns the set of `revision` and all newer revisions.
    pub const fn since(revision: Revision) -> Self {
        let known = (1 << Revision::ALL.len()) - 1;
        Self(known & !(revision.bit() - 1))
    }

    /// Returns the set of `revision` and all older revisions.
    pub const fn until(revision: Revision) -> Self {
        Self((revision.bit() - 1) | revision.bit())
    }

    /// Returns the set of `revision` alone.
    pub const fn only(revision: Revision) -> Self {
        Self(revision.bit())
    }

    /// Returns the set of `first`, `last` and all revisions between them.
    pub const fn between(first: Revision, last: Revision) -> Self {
        Self::since(first).intersection(Self::until(last))
    }

    /// Returns the revisions that are in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the revisions that are in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the revisions that are in this set and not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the set with `revision` added.
    #[must_use]
    pub const fn with(self, revision: Revision) -> Self {
        self.union(Self::only(revision))
    }

    /// Returns `true` if `revision` is in the set.
    pub const fn contains(self, revision: Revision) -> bool {
        self.0 & revision.bit() != 0
    }

    /// Returns `true` if the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns an iterator over the members, oldest first.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Revision> {
        Revision::ALL
            .into_iter()
            .filter(move |revision| self.contains(*revision))
    }

    /// Returns the newest member.
    pub fn newest(self) -> Option<Revision> {
        self.iter().next_back()
    }

    /// Returns the oldest member.
    pub fn oldest(self) -> Option<Revision> {
        self.iter().next()
    }
}

impl FromIterator<Revision> for Revisions {
    fn from_iter<I: IntoIterator<Item = Revision>>(revisions: I) -> Self {
        revisions.into_iter().fold(Self::NONE, Self::with)
    }
}

impl From<Revision> for Revisions {
    fn from(revision: Revision) -> Self {
        Self::only(revision)
    }
}

impl fmt::Debug for Revisions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// Prints the names separated by commas, or `none` for the empty set.
impl fmt::Display for Revisions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for revision in self.iter() {
            write!(f, "{separator}{revision}")?;
            separator = ", ";
        }
        if self.is_empty() {
            f.write_str("none")?;
        }
        Ok(())
    }
}

/// The names that declarations use for sets of revisions.
pub(crate) mod terms {
    pub(crate) use super::Revision::*;
    use super::{Revision, Revisions};

    pub(crate) const fn since(revision: Revision) -> Revisions {
        Revisions::since(revision)
    }

    pub(crate) const fn until(revision: Revision) -> Revisions {
        Revisions::until(revision)
    }

    pub(crate) const fn only(revision: Revision) -> Revisions {
        Revisions::only(revision)
    }

    pub(crate) const fn between(first: Revision, last: Revision) -> Revisions {
        Revisions::between(first, last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: PV-1
    #[test]
    fn names_round_trip_and_order_by_date() {
        for pair in Revision::ALL.windows(2) {
            assert!(pair[0] < pair[1] && pair[0].as_str() < pair[1].as_str());
        }
        for revision in Revision::ALL {
            assert_eq!(revision.as_str().parse(), Ok(revision));
        }
    }

    #[test]
    fn an_unknown_name_is_rejected_with_the_supported_ones() {
        let error = "2025-99-99".parse::<Revision>().unwrap_err();
        assert_eq!(error.name(), "2025-99-99");
        assert_eq!(
            error.to_string(),
            "unsupported protocol version \"2025-99-99\" (supported: 2024-11-05, 2025-03-26, \
             2025-06-18, 2025-11-25, 2026-07-28)"
        );
    }

    #[test]
    fn set_constructors_contain_the_expected_revisions() {
        use Revision::*;
        let check = |set: Revisions, expected: &[Revision]| {
            assert_eq!(set.iter().collect::<Vec<_>>(), expected);
            assert_eq!(expected.iter().copied().collect::<Revisions>(), set);
        };
        check(Revisions::ALL, &Revision::ALL);
        check(Revisions::NONE, &[]);
        check(Revisions::since(V2025_11_25), &[V2025_11_25, V2026_07_28]);
        check(Revisions::until(V2025_03_26), &[V2024_11_05, V2025_03_26]);
        check(Revisions::only(V2025_06_18), &[V2025_06_18]);
        check(
            Revisions::between(V2025_03_26, V2025_11_25),
            &[V2025_03_26, V2025_06_18, V2025_11_25],
        );
        assert_eq!(Revisions::NONE.to_string(), "none");
        assert_eq!(
            Era::Handshake.revisions().newest(),
            Some(Revision::LATEST_HANDSHAKE)
        );
        assert_eq!(Era::Stateless.revisions().oldest(), Some(V2026_07_28));
    }
}
