//! Types as data: the wire format of a value in each revision.

use crate::json::RawJsonRef;
use crate::revision::{Revision, Revisions};

/// The wire format of a value.
#[derive(Debug)]
#[non_exhaustive]
pub enum Shape {
    /// Any string.
    String,
    /// Any integer.
    Integer,
    /// A non-negative integer.
    Natural,
    /// Any number.
    Number,
    /// A number from 0 to 1.
    Fraction,
    /// `true` or `false`.
    Boolean,
    /// A string or an integer, such as a request id or a progress token.
    Id,
    /// Any value.
    Any,
    /// Any object.
    Object,
    /// A single string value.
    Literal(&'static str),
    /// An array.
    Array(&'static Self),
    /// An array with a maximum number of elements.
    UpTo(usize, &'static Self),
    /// An object whose members all have the same shape.
    Map(&'static Self),
    /// A value or `null`.
    Nullable(&'static Self),
    /// A value, or in some revisions also an array of such values.
    OneOrMany(&'static Self, Revisions),
    /// The first shape in the given revisions, the second one in all others.
    In(Revisions, &'static Self, &'static Self),
    /// One of several strings, or an unknown one.
    Choice(&'static Choice),
    /// An object with named members.
    Struct(&'static Struct),
    /// One of several shapes.
    Union(&'static Union),
}

/// An open set of strings.
#[derive(Debug)]
#[non_exhaustive]
pub struct Choice {
    /// The name of the Rust type.
    pub name: &'static str,
    /// The known strings.
    pub known: &'static [&'static str],
}

/// The shape of an object type.
#[derive(Debug)]
#[non_exhaustive]
pub struct Struct {
    /// The name of the Rust type.
    pub name: &'static str,
    /// The revisions that have the type.
    pub revisions: Revisions,
    /// The members.
    pub members: &'static [Member],
    /// Types whose members are included, with the revisions in which they are.
    pub includes: &'static [(&'static Self, Revisions)],
    /// Members that are required by the value of another member.
    pub conditions: &'static [Condition],
    /// `true` if unknown members are kept.
    pub is_open: bool,
}

/// Members that are required by the value of another member.
#[derive(Debug)]
#[non_exhaustive]
pub struct Condition {
    /// The member that decides.
    pub member: &'static str,
    /// The value of that member for which the condition applies.
    pub is: &'static str,
    /// The members of which at least one is required.
    pub requires: &'static [&'static str],
    /// The revisions in which the condition applies.
    pub revisions: Revisions,
}

/// A member of an object type.
#[derive(Debug)]
#[non_exhaustive]
pub struct Member {
    /// The wire name.
    pub name: &'static str,
    /// The shape of the value.
    pub shape: &'static Shape,
    /// The revisions that have the member.
    pub revisions: Revisions,
    /// The revisions that require the member.
    pub required: Revisions,
}

/// The shape of a type that is one of several.
#[derive(Debug)]
#[non_exhaustive]
pub struct Union {
    /// The name of the Rust type.
    pub name: &'static str,
    /// A description of what decides between the variants.
    pub decided_by: &'static str,
    /// The variants.
    pub variants: &'static [Variant],
    /// Returns the index of the variant of a value, or `None` if it is unknown.
    pub select: fn(RawJsonRef<'_>) -> Option<usize>,
}

/// A variant of a union.
#[derive(Debug)]
#[non_exhaustive]
pub struct Variant {
    /// The name: the value of the tag, where a tag decides.
    pub name: &'static str,
    /// The revisions that have the variant.
    pub revisions: Revisions,
    /// The shape of the variant.
    pub shape: &'static Shape,
}

// Generated code uses these constructors in constant expressions. Other crates can't create the
// types, since they are `#[non_exhaustive]`.
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

    /// Returns the members in `revision`, including those of included types.
    pub fn members_in(&self, revision: Revision) -> impl Iterator<Item = &'static Member> {
        let included = self.included(revision).flat_map(|shape| shape.members);
        let all = self.members.iter().chain(included);
        all.filter(move |member| member.revisions.contains(revision))
    }

    /// Returns the conditions in `revision`, including those of included types.
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

    /// Returns the revisions that have a member of that name.
    pub fn revisions_of(&self, name: &str) -> Revisions {
        Revision::ALL
            .into_iter()
            .filter(|revision| self.members_in(*revision).any(|member| member.name == name))
            .collect()
    }
}

impl Shape {
    /// Returns the shape of an object type.
    pub(crate) const fn as_struct(&'static self) -> &'static Struct {
        match self {
            Self::Struct(shape) => shape,
            _ => panic!("the declared type is a struct"),
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
