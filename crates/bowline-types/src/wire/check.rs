//! Validation of a JSON value against a shape, for one revision.

use std::fmt;

use crate::json::{JsonObject, Kind, RawJsonRef, index_path, key_path, shortened};
use crate::revision::Revision;
use crate::wire::{Condition, Member, Shape, Struct, Union};

/// Validates `json` against `shape` for `revision`.
///
/// Reports at most [`MAX_FINDINGS`].
pub fn check(json: RawJsonRef<'_>, shape: &Shape, revision: Revision) -> Vec<Finding> {
    let mut checker = Checker {
        revision,
        findings: Vec::new(),
    };
    checker.check_value(&Location::Root, json, shape);
    checker.findings
}

/// The maximum number of findings: the first faults of a message describe it well enough.
pub const MAX_FINDINGS: usize = 16;

/// A fault of a value, or a note about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The severity.
    pub severity: Severity,
    /// The path, such as `params.content[0]`; empty for the value itself.
    pub path: String,
    /// A description.
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

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Severity {
    /// The value is not valid.
    Error,
    /// The receiver will ignore it.
    Ignored,
    /// A note.
    Note,
}

/// The path to a value, as a linked list on the stack. It becomes text only for a finding.
enum Location<'a> {
    Root,
    Key(&'a Self, &'a str),
    Index(&'a Self, usize),
}

impl Location<'_> {
    fn path(&self) -> String {
        let mut path = String::new();
        let mut location = self;
        loop {
            match location {
                Self::Root => return path,
                Self::Key(outer, key) => {
                    path = key_path(key, &path);
                    location = outer;
                }
                Self::Index(outer, index) => {
                    path = index_path(*index, &path);
                    location = outer;
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
    fn check_value(&mut self, location: &Location<'_>, json: RawJsonRef<'_>, shape: &Shape) {
        match shape {
            Shape::Any => {}
            Shape::String => self.check_kind(location, json, Kind::String),
            Shape::Number => self.check_kind(location, json, Kind::Number),
            Shape::Boolean => self.check_kind(location, json, Kind::Boolean),
            Shape::Object => self.check_kind(location, json, Kind::Object),
            Shape::Integer => self.check_integer(location, json, "an integer"),
            Shape::Natural => {
                self.check_integer(location, json, "an integer");
                if json.as_str().starts_with('-') {
                    self.report_error(location, "must not be negative".into());
                }
            }
            Shape::Fraction => {
                self.check_kind(location, json, Kind::Number);
                let number = json.reader().number();
                if number.is_ok_and(|number| !(0.0..=1.0).contains(&number.as_f64())) {
                    self.report_error(location, "must be between 0 and 1".into());
                }
            }
            Shape::Id if json.kind() == Kind::String => {}
            Shape::Id => self.check_integer(location, json, "a string or an integer"),
            Shape::Literal(literal) => self.check_choice(location, json, &[literal]),
            Shape::Choice(choice) => self.check_choice(location, json, choice.known),
            Shape::Nullable(_) if json.kind() == Kind::Null => {}
            Shape::Nullable(inner) => self.check_value(location, json, inner),
            Shape::Array(element) => {
                self.check_array(location, json, element);
            }
            Shape::UpTo(limit, element) => {
                if self.check_array(location, json, element) > *limit {
                    self.report_error(location, format!("more than {limit} elements"));
                }
            }
            Shape::OneOrMany(element, many) => {
                if json.kind() != Kind::Array {
                    self.check_value(location, json, element);
                } else if many.contains(self.revision) {
                    self.check_array(location, json, element);
                } else {
                    self.report_error(location, format!("an array is allowed in {many} only"));
                }
            }
            Shape::Map(value) => self.for_each_member(location, json, |checker, location, json| {
                checker.check_value(location, json, value);
            }),
            Shape::In(revisions, shape, otherwise) => {
                let applies = revisions.contains(self.revision);
                self.check_value(location, json, if applies { shape } else { otherwise });
            }
            Shape::Struct(shape) => self.check_object(location, json, shape),
            Shape::Union(shape) => self.check_union(location, json, shape),
        }
    }

    fn check_object(&mut self, location: &Location<'_>, json: RawJsonRef<'_>, shape: &Struct) {
        if !shape.revisions.contains(self.revision) {
            let Struct {
                name, revisions, ..
            } = shape;
            return self.report_error(location, format!("{name} exists in {revisions} only"));
        }
        let mut present = Vec::new();
        self.for_each_member(location, json, |checker, location, json| {
            let Location::Key(_, key) = location else {
                return;
            };
            present.push((*key).to_owned());
            checker.check_member(location, json, shape, key);
        });
        if json.kind() != Kind::Object {
            return;
        }
        for Member { name, required, .. } in shape.members_in(self.revision) {
            if required.contains(self.revision) && !present.iter().any(|key| key == name) {
                self.report_error(location, format!("required member `{name}` is missing"));
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
                self.report_error(
                    location,
                    format!("`{names}` is required if {member} is {is}"),
                );
            }
        }
    }

    fn check_member(
        &mut self,
        location: &Location<'_>,
        json: RawJsonRef<'_>,
        shape: &Struct,
        key: &str,
    ) {
        let mut members = shape.members_in(self.revision);
        if let Some(member) = members.find(|member| member.name == key) {
            return self.check_value(location, json, member.shape);
        }
        let known_in = shape.revisions_of(key);
        if !known_in.is_empty() {
            self.report_ignored(location, format!("{key} exists in {known_in} only"));
        } else if !shape.is_open {
            self.report_ignored(location, format!("{} has no such member", shape.name));
        }
    }

    fn check_union(&mut self, location: &Location<'_>, json: RawJsonRef<'_>, shape: &Union) {
        let selected = (shape.select)(json).and_then(|index| shape.variants.get(index));
        match selected {
            Some(variant) if variant.revisions.contains(self.revision) => {
                self.check_value(location, json, variant.shape);
            }
            Some(variant) => {
                let (name, known_in) = (variant.name, variant.revisions);
                self.report_error(location, format!("`{name}` exists in {known_in} only"));
            }
            None => {
                let names: Vec<_> = shape.variants.iter().map(|variant| variant.name).collect();
                let (name, decided_by) = (shape.name, shape.decided_by);
                self.report_error(
                    location,
                    format!(
                        "not a known {name}: {decided_by} must be one of {}",
                        names.join(", ")
                    ),
                );
            }
        }
    }

    fn check_array(
        &mut self,
        location: &Location<'_>,
        json: RawJsonRef<'_>,
        element: &Shape,
    ) -> usize {
        self.check_kind(location, json, Kind::Array);
        let mut index = 0;
        // A value that isn't an array has been reported; the text itself is valid JSON.
        let _ = json.reader().array(|reader| {
            let json = reader.raw()?;
            self.check_value(&Location::Index(location, index), json, element);
            index += 1;
            Ok(())
        });
        index
    }

    fn for_each_member(
        &mut self,
        location: &Location<'_>,
        json: RawJsonRef<'_>,
        mut member: impl FnMut(&mut Self, &Location<'_>, RawJsonRef<'_>),
    ) {
        self.check_kind(location, json, Kind::Object);
        let Ok(object) = JsonObject::parse(json.as_str()) else {
            return;
        };
        for (key, json) in object.iter() {
            match key.unescape() {
                Some(key) => member(self, &Location::Key(location, &key), json),
                None => self.report_error(location, "key with an unpaired surrogate".into()),
            }
        }
    }

    fn check_choice(&mut self, location: &Location<'_>, json: RawJsonRef<'_>, known: &[&str]) {
        self.check_kind(location, json, Kind::String);
        let Ok(found) = json.reader().string() else {
            return;
        };
        if !known.contains(&&*found) {
            let expected = known.join(", ");
            self.report_error(
                location,
                format!("{:?} is not one of {expected}", shortened(&found)),
            );
        }
    }

    fn check_integer(&mut self, location: &Location<'_>, json: RawJsonRef<'_>, expected: &str) {
        let found = json.kind();
        // An integer may exceed 64 bits; only a fraction is not an integer.
        let is_integer = found == Kind::Number
            && (json.reader().integer().is_ok() || !json.as_str().contains(['.', 'e', 'E']));
        if !is_integer {
            let found = if found == Kind::Number {
                "a fraction"
            } else {
                found.as_str()
            };
            self.report_error(location, format!("expected {expected}, found {found}"));
        }
    }

    fn check_kind(&mut self, location: &Location<'_>, json: RawJsonRef<'_>, expected: Kind) {
        let found = json.kind();
        if found != expected {
            self.report_error(location, format!("expected {expected}, found {found}"));
        }
    }

    fn report_error(&mut self, location: &Location<'_>, message: String) {
        self.report(Severity::Error, location, message);
    }

    fn report_ignored(&mut self, location: &Location<'_>, message: String) {
        self.report(Severity::Ignored, location, message);
    }

    /// Errors replace other findings if the limit is reached.
    fn report(&mut self, severity: Severity, location: &Location<'_>, message: String) {
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
            path: location.path(),
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
    fn findings_have_a_message_and_a_path() {
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
                "Error content[1]: not a known ContentBlock: `type` must be one of text, image, audio, \
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
