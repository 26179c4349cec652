//! Types as data: what a value looks like on the wire, and in which revisions.

use crate::json::RawJsonRef;
use crate::revision::{Revision, Revisions};

/// What a value looks like on the wire.
#[derive(Debug)]
#[non_exhaustive]
pub enum Shape {
    /// Any string.
    String,
    /// An integer.
    Integer,
    /// An integer that is not negative.
    Natural,
    /// Any number.
    Number,
    /// A number from 0 to 1.
    Fraction,
    /// `true` or `false`.
    Boolean,
    /// A string or an integer, as request ids and progress tokens are.
    Id,
    /// Any value.
    Any,
    /// Any object.
    Object,
    /// One string.
    Literal(&'static str),
    /// An array.
    Array(&'static Self),
    /// An array of so many elements at most.
    UpTo(usize, &'static Self),
    /// An object whose members are all alike.
    Map(&'static Self),
    /// A value or `null`.
    Nullable(&'static Self),
    /// A value, or an array of such values from some revisions on.
    OneOrMany(&'static Self, Revisions),
    /// One shape in some revisions, another one in the rest.
    In(Revisions, &'static Self, &'static Self),
    /// One of several strings.
    Choice(&'static Choice),
    /// An object with members of its own.
    Struct(&'static Struct),
    /// One of several shapes.
    Union(&'static Union),
}

/// A set of strings that may grow.
#[derive(Debug)]
#[non_exhaustive]
pub struct Choice {
    /// The name of the Rust type.
    pub name: &'static str,
    /// The strings that are known.
    pub known: &'static [&'static str],
}

/// An object type.
#[derive(Debug)]
#[non_exhaustive]
pub struct Struct {
    /// The name of the Rust type.
    pub name: &'static str,
    /// The revisions that have the type.
    pub revisions: Revisions,
    /// The members.
    pub members: &'static [Member],
    /// Types whose members stand among these, and the revisions in which they do.
    pub includes: &'static [(&'static Self, Revisions)],
    /// Members that are demanded by the value of another one.
    pub conditions: &'static [Condition],
    /// Whether unknown members are kept.
    pub is_open: bool,
}

/// Members that are demanded by the value of another one.
#[derive(Debug)]
#[non_exhaustive]
pub struct Condition {
    /// The member that decides.
    pub member: &'static str,
    /// The string that it must be.
    pub is: &'static str,
    /// The members of which one at least must be there then.
    pub requires: &'static [&'static str],
    /// The revisions in which it must.
    pub revisions: Revisions,
}

/// A member of an object type.
#[derive(Debug)]
#[non_exhaustive]
pub struct Member {
    /// The wire name.
    pub name: &'static str,
    /// What its value looks like.
    pub shape: &'static Shape,
    /// The revisions that have it.
    pub revisions: Revisions,
    /// The revisions that demand it.
    pub required: Revisions,
}

/// A type that is one of several.
#[derive(Debug)]
#[non_exhaustive]
pub struct Union {
    /// The name of the Rust type.
    pub name: &'static str,
    /// What decides, in words.
    pub decided_by: &'static str,
    /// The alternatives.
    pub variants: &'static [Variant],
    /// Finds the alternative that a value is, by its index. `None` when it is unknown.
    pub select: fn(RawJsonRef<'_>) -> Option<usize>,
}

/// An alternative of a union.
#[derive(Debug)]
#[non_exhaustive]
pub struct Variant {
    /// What it is called: the tag's value where a tag decides.
    pub name: &'static str,
    /// The revisions that have it.
    pub revisions: Revisions,
    /// What it looks like.
    pub shape: &'static Shape,
}

// The declarations below are constant expressions in generated code; the types are
// `#[non_exhaustive]` outside this crate, so these are the one way to make them.
impl Struct {
    pub(crate) const fn new(
        name: &'static str,
        revisions: Revisions,
        members: &'static [Member],
        is_open: bool,
    ) -> Self {
        Self {
            name,
            revisions,
            members,
            includes: &[],
            conditions: &[],
            is_open,
        }
    }

    pub(crate) const fn with_included(
        mut self,
        includes: &'static [(&'static Self, Revisions)],
    ) -> Self {
        self.includes = includes;
        self
    }

    pub(crate) const fn with_conditions(mut self, conditions: &'static [Condition]) -> Self {
        self.conditions = conditions;
        self
    }

    /// The members that a value has in `revision`, its own and the included ones.
    pub fn members_in(&self, revision: Revision) -> impl Iterator<Item = &'static Member> {
        let included = self.included(revision).flat_map(|shape| shape.members);
        let all = self.members.iter().chain(included);
        all.filter(move |member| member.revisions.contains(revision))
    }

    /// The conditions that hold in `revision`, its own and the included ones.
    pub fn conditions_in(&self, revision: Revision) -> impl Iterator<Item = &'static Condition> {
        let included = self.included(revision).flat_map(|shape| shape.conditions);
        let all = self.conditions.iter().chain(included);
        all.filter(move |condition| condition.revisions.contains(revision))
    }

    fn included(&self, revision: Revision) -> impl Iterator<Item = &'static Self> {
        self.includes
            .iter()
            .filter(move |(_, revisions)| revisions.contains(revision))
            .map(|(shape, _)| *shape)
    }

    /// The revisions that have a member of that name.
    pub fn revisions_of(&self, name: &str) -> Revisions {
        Revision::ALL
            .into_iter()
            .filter(|revision| self.members_in(*revision).any(|member| member.name == name))
            .collect()
    }
}

impl Shape {
    /// The object type that it is.
    pub(crate) const fn as_struct(&'static self) -> &'static Struct {
        match self {
            Self::Struct(shape) => shape,
            _ => panic!("the shape of a declaration is a struct"),
        }
    }
}

impl Member {
    pub(crate) const fn new(
        name: &'static str,
        shape: &'static Shape,
        revisions: Revisions,
        required: Revisions,
    ) -> Self {
        Self {
            name,
            shape,
            revisions,
            required: required.intersection(revisions),
        }
    }
}
