//! The names of members in parameters, so that every parser reads them as we do: what a filter
//! in front has let through is what runs.
//!
//! The rule is that of the envelope. In the parameters of a request or a notification and in
//! their `_meta` no member stands twice, and none has a name that is not the one of a member of
//! the method, in any revision, though some parsers take it for that (`Name`, `"name\u0000"`). In
//! members that the user fills, such as `arguments` of a tool, no member stands twice either; any
//! name may be used there. What is nested deeper is for the type that it is decoded as: those of
//! this crate and structs of `serde` refuse members that stand twice; maps and
//! `serde_json::Value` take the last one.
//!
//! Escapes make no other name: `"n\u0061me"` is `name`. Members that the protocol doesn't have may
//! stand in parameters, each once. Of a method that the protocol doesn't have, only `_meta` is
//! known.
//!
//! Most messages have a few members with names that are known. The envelope pass sees that on its
//! way ([`Names`], [`Level`]), and [`check_params`] goes over the parameters of the others.

use std::borrow::Cow;

use crate::json::{DecodeError, Key, Problem, RawJsonRef, RawStr};
use crate::method::Method;
use crate::result::RequestParams;
use crate::wire::{Member, Shape, Wire};

/// Names that are compared one by one.
const FEW: usize = 8;

/// The names of an object, as long as it is seen at a glance that no two are the same.
#[derive(Default)]
pub(super) struct Names<'a> {
    few: [&'a str; FEW],
    count: usize,
}

impl<'a> Names<'a> {
    /// Returns `true` if it is certain that the name is none of those before.
    #[inline]
    pub(super) fn add(&mut self, name: RawStr<'a>) -> bool {
        let written = name.as_written();
        if name.is_escaped() || self.few.iter().take(self.count).any(|few| *few == written) {
            return false;
        }
        let Some(slot) = self.few.get_mut(self.count) else {
            return false;
        };
        *slot = written;
        self.count += 1;
        true
    }
}

/// An object whose names the envelope pass looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// The parameters.
    Params,
    /// Their `_meta`.
    Meta,
    /// A member that the user fills.
    Free,
}

/// What is seen of a member at a glance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Glance {
    /// Its name is the one of a member, or any will do.
    Plain,
    /// Its names are looked at, too.
    Object(Level),
    /// Its name has to be compared with those that the method has.
    Unsure,
}

impl Level {
    /// Containers around the values of its members.
    pub(super) fn depth(self) -> usize {
        match self {
            Self::Params => 2,
            Self::Meta | Self::Free => 3,
        }
    }

    /// Names that are often sent are known here; the rest is a matter of [`check_params`].
    #[inline]
    pub(super) fn glance(self, name: RawStr<'_>) -> Glance {
        match (self, name.as_written()) {
            (Self::Free, _) => Glance::Plain,
            (Self::Params, "_meta") => Glance::Object(Self::Meta),
            (Self::Params, "arguments") => Glance::Object(Self::Free),
            (Self::Params, name) if PARAMS.contains(&name) => Glance::Plain,
            (Self::Meta, name) if META.contains(&name) => Glance::Plain,
            (Self::Params, _) if name.is_escaped() && name.is("_meta") => {
                Glance::Object(Self::Meta)
            }
            (Self::Params | Self::Meta, _) => Glance::Unsure,
        }
    }
}

/// Members that are often sent. A table is searched with fewer instructions than a `match` takes.
const PARAMS: [&str; 12] = [
    "name",
    "uri",
    "cursor",
    "progressToken",
    "progress",
    "total",
    "message",
    "protocolVersion",
    "capabilities",
    "clientInfo",
    "requestId",
    "reason",
];

/// Entries of `_meta` that are often sent.
const META: [&str; 6] = [
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/clientInfo",
    "progressToken",
    "traceparent",
    "dev.bowline/session",
];

/// Checks the names in the parameters of a message.
///
/// # Errors
///
/// A member that breaks the rule, by its place in the parameters.
#[cold]
pub(super) fn check_params(
    method: Option<Method>,
    params: RawJsonRef<'_>,
) -> Result<(), DecodeError> {
    let shape = method.map_or(RequestParams::SHAPE, Method::params);
    let check = Check {
        whole: params.as_str(),
    };
    check.object(params, Some(shape), |key, member, value| {
        let shape = match member.shape {
            _ if member.name == "_meta" => Some(member.shape),
            Shape::Object | Shape::Map(_) => None,
            _ => return Ok(()),
        };
        let checked = check.object(value, shape, |_, _, _| Ok(()));
        checked.map_err(|error| under(error, key))
    })
}

/// A check of parameters.
struct Check<'a> {
    whole: &'a str,
}

impl<'a> Check<'a> {
    /// Checks the names of an object. `known` is called with each member that `shape` has.
    fn object(
        &self,
        object: RawJsonRef<'a>,
        shape: Option<&'static Shape>,
        known: impl Fn(Key<'a>, &'static Member, RawJsonRef<'a>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let mut names = Names::default();
        let mut are_compared = true;
        for (key, value) in members_of(object) {
            are_compared &= names.add(key.as_raw());
            let Some(shape) = shape else {
                continue;
            };
            if let Some(member) = find(shape, &|member| key.is(member.name)) {
                known(key, member, value)?;
            } else if let Some(member) = find(shape, &|member| key.may_be_read_as(member.name)) {
                return Err(self.problem(Problem::AmbiguousName(member.name), key));
            }
        }
        match (!are_compared).then(|| duplicate(object)).flatten() {
            Some(key) => Err(self.problem(Problem::Duplicate, key)),
            None => Ok(()),
        }
    }

    fn problem(&self, problem: Problem, key: Key<'_>) -> DecodeError {
        let start = self.whole.as_ptr() as usize;
        let quote = (key.as_written().as_ptr() as usize).saturating_sub(1);
        under(DecodeError::new(problem, quote.saturating_sub(start)), key)
    }
}

/// Returns the second one of two members of one name.
fn duplicate(object: RawJsonRef<'_>) -> Option<Key<'_>> {
    let mut few = [None; FEW];
    let mut slots = few.iter_mut();
    for (key, _) in members_of(object) {
        match slots.next() {
            Some(slot) => *slot = Some(key),
            None => return duplicate_of_many(object),
        }
    }
    let keys = || few.into_iter().flatten();
    let mut later = keys().enumerate();
    let twice = later.find(|(at, key)| keys().take(*at).any(|other| key.is_same_as(other)));
    twice.map(|(_, key)| key)
}

/// Does the same as [`duplicate`], by sorting: a peer decides how many members there are.
fn duplicate_of_many(object: RawJsonRef<'_>) -> Option<Key<'_>> {
    let mut names: Vec<_> = members_of(object).map(|(key, _)| shown(key)).collect();
    names.sort_unstable();
    let name = names.windows(2).find_map(|pair| match pair {
        [first, second] if first == second => Some(first),
        _ => None,
    })?;
    let mut same = members_of(object).filter(|(key, _)| shown(*key) == *name);
    same.nth(1).map(|(key, _)| key)
}

/// Returns the members of an object. What is no object is refused later, by the type of the member.
fn members_of(value: RawJsonRef<'_>) -> impl Iterator<Item = (Key<'_>, RawJsonRef<'_>)> {
    value.members().into_iter().flatten()
}

/// Returns the name, or what is written of one with half of a surrogate pair.
fn shown(key: Key<'_>) -> Cow<'_, str> {
    key.unescape().unwrap_or(Cow::Borrowed(key.as_written()))
}

fn under(error: DecodeError, key: Key<'_>) -> DecodeError {
    error.under_key(&shown(key))
}

/// Returns a member of a shape, of any of its alternatives.
fn find(shape: &'static Shape, is_wanted: &impl Fn(&Member) -> bool) -> Option<&'static Member> {
    match shape {
        Shape::Struct(object) => {
            let own = object.members.iter().find(|member| is_wanted(member));
            own.or_else(|| {
                let included = object.includes.iter().flat_map(|(shape, _)| shape.members);
                included.into_iter().find(|member| is_wanted(member))
            })
        }
        Shape::Union(union) => {
            let mut shapes = union.variants.iter().map(|variant| variant.shape);
            shapes.find_map(|shape| find(shape, is_wanted))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(method: Method, params: &str) -> String {
        let checked = check_params(Some(method), RawJsonRef::parse(params).unwrap());
        checked.map_or_else(|error| error.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn every_member_of_every_method_is_known() {
        for &method in Method::ALL {
            let Shape::Struct(shape) = method.params() else {
                continue;
            };
            for member in shape.members {
                let name = member.name;
                let twice = format!(r#"{{"{name}":null,"x":1,"{name}":null}}"#);
                let expected = format!("{name}: duplicate member");
                assert!(problem(method, &twice).starts_with(&expected), "{method}");
                let ambiguous = format!(r#"{{"{}":null}}"#, name.to_uppercase());
                let expected = format!("some parsers read it as `{name}`");
                assert!(problem(method, &ambiguous).contains(&expected), "{method}");
            }
        }
        let elicit = problem(Method::Elicit, r#"{"URL":"x","requestedschema":{}}"#);
        assert!(elicit.contains("`url`"), "{elicit}");
    }

    /// A name that is plain at a glance is ambiguous nowhere, and an object that is looked into is
    /// one that the user fills.
    #[test]
    fn names_that_a_glance_allows_are_allowed_by_every_method() {
        let mut names = vec!["x", "dev.bowline/session"];
        for &method in Method::ALL {
            collect(method.params(), &mut names);
        }
        let glance = |level: Level, name| level.glance(RawStr::new(name, false, 0));
        let (mut plain, mut unsure) = (0, 0);
        for &method in Method::ALL {
            for name in &names {
                let params = match glance(Level::Params, name) {
                    Glance::Unsure => {
                        unsure += 1;
                        continue;
                    }
                    Glance::Plain | Glance::Object(_) => format!(r#"{{"{name}":1}}"#),
                };
                plain += 1;
                assert_eq!(problem(method, &params), "fine", "{method}");
            }
            for name in names
                .iter()
                .filter(|name| glance(Level::Meta, name) == Glance::Plain)
            {
                let params = format!(r#"{{"_meta":{{"{name}":1}}}}"#);
                assert_eq!(problem(method, &params), "fine", "{method}");
            }
            if let Some(member) = find(method.params(), &|member| member.name == "arguments") {
                assert!(
                    matches!(member.shape, Shape::Object | Shape::Map(_)),
                    "{method}"
                );
            }
        }
        assert!(plain > 100 && unsure > 100, "{plain} {unsure}");
    }

    /// The names of the members of parameters and of their `_meta`.
    fn collect(shape: &'static Shape, names: &mut Vec<&'static str>) {
        match shape {
            Shape::Struct(object) => {
                for member in object.members {
                    names.push(member.name);
                    if member.name == "_meta" {
                        collect(member.shape, names);
                    }
                }
            }
            Shape::Union(union) => {
                for variant in union.variants {
                    collect(variant.shape, names);
                }
            }
            _ => {}
        }
    }

    #[test]
    fn the_place_is_named() {
        for (params, expected) in [
            (
                r#"{ "name":"a", "name":"b"}"#,
                "name: duplicate member (byte 14)",
            ),
            (
                r#"{"arguments":{"é x":1, "\u00e9 x":2}}"#,
                "arguments[\"é x\"]: duplicate member (byte 24)",
            ),
            (
                r#"{"_meta":{"progresstoken":1}}"#,
                "_meta.progresstoken: ambiguous member name: some parsers read it as \
                 `progressToken` (byte 10)",
            ),
            (
                r#"{"_meta":{"a/b":1,"a\/b":1}}"#,
                "_meta[\"a/b\"]: duplicate member (byte 18)",
            ),
        ] {
            assert_eq!(problem(Method::CallTool, params), expected);
        }
    }

    #[test]
    fn many_members_are_compared_as_few_are() {
        for count in [1, 2, FEW - 1, FEW, FEW + 1, 1000] {
            let names: Vec<_> = (0..count).map(|at| format!(r#""n{at}":{at}"#)).collect();
            let object = |more: &str| format!(r#"{{"arguments":{{{}{more}}}}}"#, names.join(","));
            assert_eq!(problem(Method::CallTool, &object("")), "fine");
            for more in [r#","n0":0"#, r#","\u006e0":0"#] {
                let found = problem(Method::CallTool, &object(more));
                assert!(
                    found.starts_with("arguments.n0: duplicate member"),
                    "{found}"
                );
            }
        }
    }

    #[test]
    fn unknown_members_may_occur_once() {
        for params in [
            "{}",
            r#"{"name":"a","x":1,"X":2,"arguments":null,"_meta":null}"#,
            r#"{"name":"a","arguments":[{"a":1,"a":2}],"_meta":3}"#,
            r#"{"arguments":{"Name":1,"name":2,"\ud800":1,"\ud801":1}}"#,
            r#"{"arguments":{"nested":{"a":1,"a":2}}}"#,
            r#"{"_meta":{"com.example/a":{"b":1,"b":2}}}"#,
        ] {
            assert_eq!(problem(Method::CallTool, params), "fine", "{params}");
        }
        let unknown = |params| check_params(None, RawJsonRef::parse(params).unwrap());
        assert!(unknown(r#"{"Name":1,"name":2,"_meta":{}}"#).is_ok());
        assert!(unknown(r#"{"name":1,"name":2}"#).is_err());
        assert!(unknown(r#"{"_Meta":1}"#).is_err());
        assert!(unknown(r#"{"_meta":{"progressToken":1,"progressToken":1}}"#).is_err());
    }
}
