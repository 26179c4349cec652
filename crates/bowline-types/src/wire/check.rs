//! Checking a JSON value against a shape, in the eyes of one revision.

use std::fmt;

use crate::json::{JsonObject, Kind, RawJsonRef, index_path, key_path, shortened};
use crate::revision::Revision;
use crate::wire::{Condition, Member, Shape, Struct, Union};

/// Checks `json` against `shape` as `revision` has it.
///
/// At most [`MAX_FINDINGS`] are reported.
pub fn check(json: RawJsonRef<'_>, shape: &Shape, revision: Revision) -> Vec<Finding> {
    let mut checker = Checker {
        revision,
        findings: Vec::new(),
    };
    checker.value(&Place::Root, json, shape);
    checker.findings
}

/// A message with a thousand faults is described well enough by the first of them.
pub const MAX_FINDINGS: usize = 16;

/// Something that was found in a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Whether it makes the value invalid.
    pub severity: Severity,
    /// Where it is, such as `params.content[0]`; empty for the value itself.
    pub path: String,
    /// What it is, in words.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Severity {
    /// The value is not valid.
    Error,
    /// The receiver will ignore it.
    Ignored,
    /// Something that is good to know.
    Note,
}

/// The way to a value. Built on the stack; it becomes text only for a finding.
enum Place<'a> {
    Root,
    Key(&'a Self, &'a str),
    Index(&'a Self, usize),
}

impl Place<'_> {
    fn path(&self) -> String {
        let mut path = String::new();
        let mut place = self;
        loop {
            match place {
                Self::Root => return path,
                Self::Key(outer, key) => {
                    path = key_path(key, &path);
                    place = outer;
                }
                Self::Index(outer, index) => {
                    path = index_path(*index, &path);
                    place = outer;
                }
            }
        }
    }
}

struct Checker {
    revision: Revision,
    findings: Vec<Finding>,
}

impl Checker {
    fn value(&mut self, place: &Place<'_>, json: RawJsonRef<'_>, shape: &Shape) {
        match shape {
            Shape::Any => {}
            Shape::String => self.kind(place, json, Kind::String),
            Shape::Number => self.kind(place, json, Kind::Number),
            Shape::Boolean => self.kind(place, json, Kind::Boolean),
            Shape::Object => self.kind(place, json, Kind::Object),
            Shape::Integer => self.integer(place, json, "an integer"),
            Shape::Natural => {
                self.integer(place, json, "an integer");
                if json.as_str().starts_with('-') {
                    self.error(place, "must not be negative".into());
                }
            }
            Shape::Fraction => {
                self.kind(place, json, Kind::Number);
                let number = json.reader().number();
                if number.is_ok_and(|number| !(0.0..=1.0).contains(&number.as_f64())) {
                    self.error(place, "must be between 0 and 1".into());
                }
            }
            Shape::Id if json.kind() == Kind::String => {}
            Shape::Id => self.integer(place, json, "a string or an integer"),
            Shape::Literal(literal) => self.one_of(place, json, &[literal]),
            Shape::Choice(choice) => self.one_of(place, json, choice.known),
            Shape::Nullable(_) if json.kind() == Kind::Null => {}
            Shape::Nullable(inner) => self.value(place, json, inner),
            Shape::Array(element) => {
                self.array(place, json, element);
            }
            Shape::UpTo(limit, element) => {
                if self.array(place, json, element) > *limit {
                    self.error(place, format!("more than {limit} elements"));
                }
            }
            Shape::OneOrMany(element, many) => {
                if json.kind() != Kind::Array {
                    self.value(place, json, element);
                } else if many.contains(self.revision) {
                    self.array(place, json, element);
                } else {
                    self.error(place, format!("an array is allowed in {many} only"));
                }
            }
            Shape::Map(value) => self.members(place, json, |checker, place, json| {
                checker.value(place, json, value);
            }),
            Shape::In(revisions, shape, otherwise) => {
                let applies = revisions.contains(self.revision);
                self.value(place, json, if applies { shape } else { otherwise });
            }
            Shape::Struct(shape) => self.object(place, json, shape),
            Shape::Union(shape) => self.union(place, json, shape),
        }
    }

    fn object(&mut self, place: &Place<'_>, json: RawJsonRef<'_>, shape: &Struct) {
        if !shape.revisions.contains(self.revision) {
            let Struct {
                name, revisions, ..
            } = shape;
            return self.error(place, format!("{name} exists in {revisions} only"));
        }
        let mut present = Vec::new();
        self.members(place, json, |checker, place, json| {
            let Place::Key(_, key) = place else { return };
            present.push((*key).to_owned());
            checker.member(place, json, shape, key);
        });
        if json.kind() != Kind::Object {
            return;
        }
        for Member { name, required, .. } in shape.members_in(self.revision) {
            if required.contains(self.revision) && !present.iter().any(|key| key == name) {
                self.error(place, format!("required member `{name}` is missing"));
            }
        }
        for condition in shape.conditions_in(self.revision) {
            let Condition {
                member,
                is,
                requires,
                ..
            } = condition;
            let applies = matches!(json.reader().peek_tag(member), Ok(Some(found)) if found == *is);
            let is_met = requires
                .iter()
                .any(|name| present.iter().any(|key| key == name));
            if applies && !is_met {
                let names = requires.join("` or `");
                self.error(place, format!("`{names}` is missing: {member} is {is}"));
            }
        }
    }

    fn member(&mut self, place: &Place<'_>, json: RawJsonRef<'_>, shape: &Struct, key: &str) {
        let mut members = shape.members_in(self.revision);
        if let Some(member) = members.find(|member| member.name == key) {
            return self.value(place, json, member.shape);
        }
        let known_in = shape.revisions_of(key);
        if !known_in.is_empty() {
            self.ignored(place, format!("{key} exists in {known_in} only"));
        } else if !shape.is_open {
            self.ignored(place, format!("{} has no such member", shape.name));
        }
    }

    fn union(&mut self, place: &Place<'_>, json: RawJsonRef<'_>, shape: &Union) {
        let selected = (shape.select)(json).and_then(|index| shape.variants.get(index));
        match selected {
            Some(variant) if variant.revisions.contains(self.revision) => {
                self.value(place, json, variant.shape);
            }
            Some(variant) => {
                let (name, known_in) = (variant.name, variant.revisions);
                self.error(place, format!("`{name}` exists in {known_in} only"));
            }
            None => {
                let names: Vec<_> = shape.variants.iter().map(|variant| variant.name).collect();
                let (name, decided_by) = (shape.name, shape.decided_by);
                self.error(
                    place,
                    format!(
                        "not a known {name}: {decided_by} must say one of {}",
                        names.join(", ")
                    ),
                );
            }
        }
    }

    fn array(&mut self, place: &Place<'_>, json: RawJsonRef<'_>, element: &Shape) -> usize {
        self.kind(place, json, Kind::Array);
        let mut index = 0;
        // What isn't an array has been reported; the text itself is valid JSON.
        let _ = json.reader().array(|reader| {
            let json = reader.raw()?;
            self.value(&Place::Index(place, index), json, element);
            index += 1;
            Ok(())
        });
        index
    }

    fn members(
        &mut self,
        place: &Place<'_>,
        json: RawJsonRef<'_>,
        mut member: impl FnMut(&mut Self, &Place<'_>, RawJsonRef<'_>),
    ) {
        self.kind(place, json, Kind::Object);
        let Ok(object) = JsonObject::parse(json.as_str()) else {
            return;
        };
        for (key, json) in object.iter() {
            match key.unescape() {
                Some(key) => member(self, &Place::Key(place, &key), json),
                None => self.error(place, "a key with the escape of a lone surrogate".into()),
            }
        }
    }

    fn one_of(&mut self, place: &Place<'_>, json: RawJsonRef<'_>, known: &[&str]) {
        self.kind(place, json, Kind::String);
        let Ok(found) = json.reader().string() else {
            return;
        };
        if !known.contains(&&*found) {
            let expected = known.join(", ");
            self.error(
                place,
                format!("{:?} is not one of {expected}", shortened(&found)),
            );
        }
    }

    fn integer(&mut self, place: &Place<'_>, json: RawJsonRef<'_>, expected: &str) {
        let found = json.kind();
        // An integer may be longer than 64 bits; only a fraction is none.
        let is_integer = found == Kind::Number
            && (json.reader().integer().is_ok() || !json.as_str().contains(['.', 'e', 'E']));
        if !is_integer {
            let found = if found == Kind::Number {
                "a fraction"
            } else {
                found.as_str()
            };
            self.error(place, format!("expected {expected}, found {found}"));
        }
    }

    fn kind(&mut self, place: &Place<'_>, json: RawJsonRef<'_>, expected: Kind) {
        let found = json.kind();
        if found != expected {
            self.error(place, format!("expected {expected}, found {found}"));
        }
    }

    fn error(&mut self, place: &Place<'_>, message: String) {
        self.report(Severity::Error, place, message);
    }

    fn ignored(&mut self, place: &Place<'_>, message: String) {
        self.report(Severity::Ignored, place, message);
    }

    /// Errors take the place of the rest when there is no room for both.
    fn report(&mut self, severity: Severity, place: &Place<'_>, message: String) {
        if self.findings.len() >= MAX_FINDINGS {
            let other = self
                .findings
                .iter()
                .rposition(|finding| finding.severity != Severity::Error);
            match other {
                Some(at) if severity == Severity::Error => drop(self.findings.remove(at)),
                Some(_) | None => return,
            }
        }
        self.findings.push(Finding {
            severity,
            path: place.path(),
            message,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::{CallToolResult, Tool};
    use crate::wire::Wire;

    fn findings(shape: &Shape, text: &str, revision: Revision) -> Vec<String> {
        let findings = check(RawJsonRef::parse(text).unwrap(), shape, revision);
        findings
            .iter()
            .map(|finding| format!("{:?} {finding}", finding.severity))
            .collect()
    }

    #[test]
    fn findings_say_what_and_where() {
        let text = r#"{"name":1,"title":"T","inputSchema":{"type":"object","required":[1]}}"#;
        assert_eq!(
            findings(Tool::SHAPE, text, Revision::V2025_03_26),
            [
                "Error name: expected a string, found a number",
                "Ignored title: title exists in 2025-06-18, 2025-11-25, 2026-07-28 only",
                "Error inputSchema.required[0]: expected a string, found a number",
            ]
        );
        assert_eq!(
            findings(Tool::SHAPE, "{}", Revision::LATEST),
            [
                "Error required member `name` is missing",
                "Error required member `inputSchema` is missing",
            ]
        );
        assert_eq!(
            findings(Tool::SHAPE, "[]", Revision::LATEST),
            ["Error expected an object, found an array"]
        );
    }

    #[test]
    fn unions_are_decided_before_they_are_checked() {
        let text = r#"{"content":[{"type":"audio","data":"","mimeType":""},{"type":"smell"}]}"#;
        let found = findings(CallToolResult::SHAPE, text, Revision::V2024_11_05);
        assert_eq!(
            found,
            [
                "Error content[0]: `audio` exists in 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28 only",
                "Error content[1]: not a known ContentBlock: `type` must say one of text, image, audio, \
                 resource_link, resource",
            ]
        );
    }

    #[test]
    fn findings_are_bounded_and_errors_come_first() {
        let notes: String = (0..40).map(|n| format!("\"n{n}\":0,")).collect();
        let text = format!("{{{notes}\"message\":1}}");
        let found = findings(crate::error::ErrorObject::SHAPE, &text, Revision::LATEST);
        assert_eq!(found.len(), MAX_FINDINGS);
        let errors = found.iter().filter(|finding| finding.starts_with("Error"));
        assert_eq!(errors.count(), 2);
    }
}
