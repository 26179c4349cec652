//! `x-mcp-header`: arguments of a tool that an HTTP request repeats as `Mcp-Param-…`.
//!
//! A server annotates properties of a tool's input schema. The client sends the values of the
//! annotated arguments as headers beside the message, so that intermediaries can route by them;
//! the server refuses a call whose headers and arguments differ. Since 2026-07-28, and on HTTP
//! only. [`annotations`] finds the annotations; [`headers`](super::headers) encodes values.
//!
//! [`json_tokens`] goes over the arguments.

mod annotations;
mod json_tokens;

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;

use bowline_types::json::Kind;
use bowline_types::{ErrorCode, RawJsonRef, RequestId};

use super::headers::{encode_value, meaning};
use super::route::{Refusal, refusal};

pub use annotations::{AnnotationFault, BadAnnotation};

/// The headers of calls of one tool, as annotated in its input schema.
///
/// ```
/// use bowline_proto::server::ParamHeaders;
/// use bowline_types::RawJsonRef;
///
/// let schema = r#"{"type":"object","properties":{
///     "region":{"type":"string","x-mcp-header":"Region"},
///     "query":{"type":"string"}}}"#;
/// let headers = ParamHeaders::from_schema(RawJsonRef::parse(schema)?)?;
///
/// let arguments = RawJsonRef::parse(r#"{"region":"us-west1","query":"x"}"#)?;
/// let sent: Vec<_> = headers.values(arguments).collect();
/// assert_eq!(sent, [("Mcp-Param-Region", "us-west1".into())]);
///
/// assert!(headers.check(arguments, [("mcp-param-region", "us-west1")]).is_ok());
/// assert!(headers.check(arguments, [("mcp-param-region", "us-east1")]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParamHeaders {
    params: Vec<Param>,
}

/// An argument that is repeated in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Param {
    /// The name of the header.
    header: String,
    /// The names of the properties from the arguments to the value.
    path: Vec<String>,
}

impl ParamHeaders {
    /// As many properties of one tool may be annotated. HTTP servers take about a hundred
    /// headers in all, so a tool with more could not be called.
    pub const MAX: usize = 64;

    /// Finds the annotations of a tool's `inputSchema`.
    ///
    /// Goes over the text once, whatever its size, with memory for its depth only.
    ///
    /// # Errors
    ///
    /// Fails for an annotation that the specification forbids. A client must not offer a tool that
    /// has one; the error names the place and the reason.
    pub fn from_schema(input_schema: RawJsonRef<'_>) -> Result<Self, BadAnnotation> {
        let params = annotations::find(input_schema.as_str())?;
        Ok(Self { params })
    }

    /// Returns `true` if no property is annotated.
    pub fn is_empty(&self) -> bool {
        self.params.is_empty()
    }

    /// Returns the names of the headers, `Mcp-Param-…`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.params.iter().map(|param| param.header.as_str())
    }

    /// Returns the headers that a client sends with a call: those of the arguments that are present
    /// and not `null`, values encoded.
    ///
    /// Values that no header can carry are left out, too: objects, arrays, and numbers that are no
    /// integer of 53 bits. Such arguments are invalid, and the server refuses them.
    pub fn values<'a>(
        &'a self,
        arguments: RawJsonRef<'a>,
    ) -> impl Iterator<Item = (&'a str, Cow<'a, str>)> {
        self.params.iter().filter_map(move |param| {
            let value = match argument(arguments, &param.path) {
                Argument::Text(text) => match encode_value(&text) {
                    Cow::Borrowed(_) => text,
                    Cow::Owned(encoded) => encoded.into(),
                },
                Argument::Integer(integer) => integer.to_string().into(),
                Argument::Absent | Argument::NotRepresentable | Argument::Repeated => return None,
            };
            Some((param.header.as_str(), value))
        })
    }

    /// Compares the headers of a call with its arguments, before a server serves it. `headers` are
    /// all those of the request, as pairs of name and value; other headers are ignored.
    ///
    /// # Errors
    ///
    /// Fails for an argument without its header or with a wrong, repeated or malformed one; also
    /// for a header without its argument, since an intermediary may have routed by it.
    pub fn check<'h>(
        &self,
        arguments: RawJsonRef<'_>,
        headers: impl IntoIterator<Item = (&'h str, &'h str)>,
    ) -> Result<(), ParamMismatch> {
        if self.is_empty() {
            return Ok(());
        }
        let mut found: Vec<(&Param, Option<&str>)> =
            self.params.iter().map(|param| (param, None)).collect();
        for (name, value) in headers {
            let slot = found
                .iter_mut()
                .find(|(param, _)| param.header.eq_ignore_ascii_case(name));
            if let Some((param, slot)) = slot
                && slot.replace(value).is_some()
            {
                return Err(param.mismatch(ParamProblem::Repeated));
            }
        }
        found.into_iter().try_for_each(|(param, header)| {
            let outcome = compare(argument(arguments, &param.path), header);
            outcome.map_err(|problem| param.mismatch(problem))
        })
    }
}

impl Param {
    fn mismatch(&self, problem: ParamProblem) -> ParamMismatch {
        ParamMismatch {
            header: self.header.clone(),
            problem,
        }
    }
}

/// Why a call is refused before it is served: a header and an argument disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamMismatch {
    header: String,
    problem: ParamProblem,
}

impl ParamMismatch {
    /// Returns the header, `Mcp-Param-…`.
    pub fn header(&self) -> &str {
        &self.header
    }

    /// Returns the problem.
    pub fn problem(&self) -> ParamProblem {
        self.problem
    }

    /// Returns the refusal of the request with that id: 400 and −32020.
    pub fn refusal(&self, id: &RequestId) -> Refusal {
        refusal(id, ErrorCode::HeaderMismatch, self.to_string().into())
    }
}

impl fmt::Display for ParamMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the header {} {}", self.header, self.problem)
    }
}

impl std::error::Error for ParamMismatch {}

/// A problem with the header of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParamProblem {
    /// The argument is present and the header isn't.
    Missing,
    /// The header is repeated.
    Repeated,
    /// The header has forbidden characters, or invalid Base64.
    Unreadable,
    /// The header and the argument have different values.
    Different,
    /// The header is present and the argument isn't, or has a value that no header can carry.
    Unexpected,
    /// The argument is repeated.
    Ambiguous,
}

impl fmt::Display for ParamProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "is missing",
            Self::Repeated => "was sent more than once",
            Self::Unreadable => "can't be decoded",
            Self::Different => "and its argument differ",
            Self::Unexpected => "is present, but its argument is missing",
            Self::Ambiguous => "belongs to an argument that occurs more than once",
        })
    }
}

/// An argument, as a header can carry it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Argument<'a> {
    /// Not there, or `null`.
    Absent,
    /// A string, or a boolean in words.
    Text(Cow<'a, str>),
    Integer(i64),
    /// A value that no header can carry.
    NotRepresentable,
    /// A repeated argument: its value is ambiguous.
    Repeated,
}

/// The integers that a header can carry: those that a double represents exactly.
const REPRESENTABLE_INTEGERS: RangeInclusive<i64> = 1 - (1 << 53)..=(1 << 53) - 1;

fn argument<'a>(arguments: RawJsonRef<'a>, path: &[String]) -> Argument<'a> {
    let mut value = arguments;
    for name in path {
        let mut members = members(value, name).into_iter().flatten();
        value = match (members.next(), members.next()) {
            (Some(member), None) => member,
            (Some(_), Some(_)) => return Argument::Repeated,
            (None, _) => return Argument::Absent,
        };
    }
    match value.kind() {
        Kind::Null => Argument::Absent,
        Kind::String => match value.reader().string() {
            Ok(text) => Argument::Text(text),
            // Half of a surrogate pair is no text.
            Err(_) => Argument::NotRepresentable,
        },
        Kind::Boolean => Argument::Text(value.as_str().into()),
        // 42.0 is an integer to JSON Schema, and so it is to a header.
        Kind::Number => match value.reader().integer() {
            Ok(integer) if REPRESENTABLE_INTEGERS.contains(&integer) => Argument::Integer(integer),
            Ok(_) | Err(_) => Argument::NotRepresentable,
        },
        Kind::Object | Kind::Array => Argument::NotRepresentable,
    }
}

/// Returns the first two members of that name; none when `object` isn't one.
fn members<'a>(object: RawJsonRef<'a>, name: &str) -> [Option<RawJsonRef<'a>>; 2] {
    let mut found = [None; 2];
    // The text is valid JSON, so the only error is that of a value which is no object.
    let _ = object.reader().object(|reader, key| {
        let value = reader.raw()?;
        if key == name
            && let Some(slot) = found.iter_mut().find(|slot| slot.is_none())
        {
            *slot = Some(value);
        }
        Ok(())
    });
    found
}

fn compare(argument: Argument<'_>, header: Option<&str>) -> Result<(), ParamProblem> {
    let Some(header) = header else {
        return match argument {
            // 2026-07-28, basic/transports/streamable-http: a server must not expect the
            // header of an argument that is null or absent.
            Argument::Absent | Argument::NotRepresentable => Ok(()),
            Argument::Text(_) | Argument::Integer(_) => Err(ParamProblem::Missing),
            Argument::Repeated => Err(ParamProblem::Ambiguous),
        };
    };
    let header = meaning(header).ok_or(ParamProblem::Unreadable)?;
    let is_equal = match argument {
        Argument::Absent | Argument::NotRepresentable => return Err(ParamProblem::Unexpected),
        Argument::Repeated => return Err(ParamProblem::Ambiguous),
        Argument::Text(text) => header == text,
        Argument::Integer(integer) => {
            let number = RawJsonRef::parse(&header).ok();
            number.and_then(|number| number.reader().integer().ok()) == Some(integer)
        }
    };
    is_equal.then_some(()).ok_or(ParamProblem::Different)
}

#[cfg(test)]
mod tests;
