//! Finds the annotations of an input schema, and refuses those that the specification does.
//!
//! 2026-07-28, basic/transports/streamable-http, `x-mcp-header`: the name is a token, unique
//! in the schema whatever its case; the property is an integer, a string or a boolean; and
//! from the root to it lead names of `properties` alone. One that is anywhere else makes the
//! tool invalid, so every place where a schema may stand is looked at, and the values that
//! are mere data are not.

use std::borrow::Cow;
use std::fmt;

use bowline_types::RawJsonRef;
use bowline_types::json::MAX_DEPTH;

use super::json_tokens::{Token, Tokens};
use super::{Param, ParamHeaders};
use crate::server::route::shown;

/// An annotation that is not allowed, which makes its tool invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadAnnotation {
    path: String,
    fault: AnnotationFault,
}

impl BadAnnotation {
    /// Returns the place of the annotated schema, as a JSON pointer with long names shortened.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the problem.
    pub fn fault(&self) -> AnnotationFault {
        self.fault
    }
}

impl fmt::Display for BadAnnotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "x-mcp-header at {:?} {}", self.path, self.fault)
    }
}

impl std::error::Error for BadAnnotation {}

/// A problem with an annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnnotationFault {
    /// It is no string.
    NotAString,
    /// It is empty or has characters that a header's name may not have.
    NotAToken,
    /// More than names of `properties` leads to it.
    OutOfReach,
    /// It is next to a $ref, so that the schema is somewhere else.
    BesideReference,
    /// The property has no type, several, or none of those that a header can carry.
    WrongType,
    /// Another property has the same name, upper and lower case aside.
    NotUnique,
    /// There are more than [`ParamHeaders::MAX`].
    TooMany,
    /// The schema is nested too deep to be looked through.
    TooDeep,
}

impl fmt::Display for AnnotationFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAString => f.write_str("is not a string"),
            Self::NotAToken => f.write_str("is not a valid header name"),
            Self::OutOfReach => f.write_str("is below a keyword other than `properties`"),
            Self::BesideReference => f.write_str("is next to a $ref"),
            Self::WrongType => {
                f.write_str("is on a property that is not an integer, string or boolean")
            }
            Self::NotUnique => f.write_str("has the same name as another x-mcp-header"),
            Self::TooMany => write!(f, "exceeds the limit of {} headers", ParamHeaders::MAX),
            Self::TooDeep => f.write_str("can't be found: the schema is nested too deeply"),
        }
    }
}

/// Finds the annotations of a schema that is known to be JSON.
pub(super) fn find(schema: &str) -> Result<Vec<Param>, BadAnnotation> {
    let mut search = Search {
        frames: Vec::new(),
        found: Vec::new(),
    };
    for token in Tokens::new(schema) {
        match token {
            Token::Key(key) => search.key(key),
            Token::Scalar(value) => search.value(value),
            Token::Object => search.open("{", Step::None)?,
            Token::Array => search.open("[", Step::Index(0))?,
            Token::Close => search.close()?,
        }
    }
    Ok(search.found)
}

/// The pass over a schema: the containers around the current place, outermost first, and
/// what was found before it.
struct Search<'a> {
    frames: Vec<Frame<'a>>,
    found: Vec<Param>,
}

/// A container that is gone through.
struct Frame<'a> {
    place: Place,
    step: Step<'a>,
    /// The members of a schema that decide, as text. Of several of one name the last one
    /// counts, as with most parsers.
    annotation: Option<&'a str>,
    kind: Option<&'a str>,
    is_reference: bool,
}

/// The role of a container in the schema.
#[derive(Clone, Copy)]
enum Place {
    /// A schema, or an array of them.
    Schema(Reach),
    /// Schemas by name: its members are no keywords.
    Names(Reach),
    /// An instance, such as a default.
    Data,
}

/// How a schema is reached.
#[derive(Clone, Copy, PartialEq)]
enum Reach {
    Root,
    /// Through names of `properties` alone.
    Property,
    Elsewhere,
}

/// Where in a container the pass is.
enum Step<'a> {
    /// Before the first member, or at one whose name is half of a surrogate pair.
    None,
    Member(Cow<'a, str>),
    /// Elements that have begun.
    Index(usize),
}

impl<'a> Search<'a> {
    fn key(&mut self, key: &'a str) {
        if let Some(frame) = self.frames.last_mut() {
            frame.step = string(key).map_or(Step::None, Step::Member);
        }
    }

    /// Records a value that begins.
    fn value(&mut self, text: &'a str) {
        let Some(frame) = self.frames.last_mut() else {
            return;
        };
        match (&mut frame.step, frame.place) {
            (Step::Index(index), _) => *index += 1,
            (Step::Member(key), Place::Schema(_)) => match &**key {
                "x-mcp-header" => frame.annotation = Some(text),
                "type" => frame.kind = Some(text),
                "$ref" | "$dynamicRef" | "$recursiveRef" => frame.is_reference = true,
                _ => {}
            },
            (Step::Member(_), Place::Names(_) | Place::Data) | (Step::None, _) => {}
        }
    }

    fn open(&mut self, bracket: &'a str, step: Step<'a>) -> Result<(), BadAnnotation> {
        self.value(bracket);
        if self.frames.len() >= MAX_DEPTH {
            return Err(self.bad(AnnotationFault::TooDeep));
        }
        let place = self
            .frames
            .last()
            .map_or(Place::Schema(Reach::Root), within);
        self.frames.push(Frame {
            place,
            step,
            annotation: None,
            kind: None,
            is_reference: false,
        });
        Ok(())
    }

    /// Checks the annotation of a schema at its end, where all its members are known.
    fn close(&mut self) -> Result<(), BadAnnotation> {
        let Some(frame) = self.frames.pop() else {
            return Ok(());
        };
        let (Place::Schema(reach), Some(annotation)) = (frame.place, frame.annotation) else {
            return Ok(());
        };
        let header = self
            .header(&frame, reach, annotation)
            .map_err(|fault| self.bad(fault))?;
        let path = self.frames.iter().filter_map(|frame| match frame {
            Frame {
                place: Place::Names(_),
                step: Step::Member(name),
                ..
            } => Some(name.to_string()),
            _ => None,
        });
        let path = path.collect();
        self.found.push(Param { header, path });
        Ok(())
    }

    /// Returns the name of the header, when the annotation is allowed.
    fn header(
        &self,
        frame: &Frame<'_>,
        reach: Reach,
        annotation: &str,
    ) -> Result<String, AnnotationFault> {
        let name = string(annotation).ok_or(AnnotationFault::NotAString)?;
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(AnnotationFault::NotAToken);
        }
        if reach != Reach::Property {
            return Err(AnnotationFault::OutOfReach);
        }
        if frame.is_reference {
            return Err(AnnotationFault::BesideReference);
        }
        let kind = frame.kind.and_then(string);
        if !matches!(kind.as_deref(), Some("integer" | "string" | "boolean")) {
            return Err(AnnotationFault::WrongType);
        }
        let header = format!("Mcp-Param-{name}");
        let is_taken = |other: &Param| other.header.eq_ignore_ascii_case(&header);
        if self.found.iter().any(is_taken) {
            return Err(AnnotationFault::NotUnique);
        }
        if self.found.len() >= ParamHeaders::MAX {
            return Err(AnnotationFault::TooMany);
        }
        Ok(header)
    }

    fn bad(&self, fault: AnnotationFault) -> BadAnnotation {
        let mut path = String::new();
        for frame in &self.frames {
            path.push('/');
            match &frame.step {
                Step::Member(name) => {
                    path.push_str(&shown(name).replace('~', "~0").replace('/', "~1"));
                }
                Step::Index(begun) => path.push_str(&begun.saturating_sub(1).to_string()),
                Step::None => path.push('?'),
            }
        }
        BadAnnotation { path, fault }
    }
}

/// Returns the role of a container that begins at the current place of `frame`.
fn within(frame: &Frame<'_>) -> Place {
    let Step::Member(key) = &frame.step else {
        return match frame.place {
            Place::Data => Place::Data,
            Place::Schema(_) | Place::Names(_) => Place::Schema(Reach::Elsewhere),
        };
    };
    match frame.place {
        Place::Data => Place::Data,
        Place::Names(reach) => Place::Schema(reach),
        Place::Schema(reach) => match &**key {
            "properties" if reach == Reach::Elsewhere => Place::Names(Reach::Elsewhere),
            "properties" => Place::Names(Reach::Property),
            "patternProperties" | "dependentSchemas" | "dependencies" | "$defs" | "definitions" => {
                Place::Names(Reach::Elsewhere)
            }
            "default" | "const" | "enum" | "examples" | "dependentRequired" => Place::Data,
            // An unknown keyword may be the target of a reference.
            _ => Place::Schema(Reach::Elsewhere),
        },
    }
}

/// RFC 9110, 5.6.2: the characters of a token.
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}

/// Returns the string that `json` is. `None` when it is none, or half of a surrogate pair.
fn string(json: &str) -> Option<Cow<'_, str>> {
    RawJsonRef::parse(json).ok()?.reader().string().ok()
}

#[cfg(test)]
mod tests;
