//! The pass over a frame.
//!
//! `classification` determines the kind of the message from the members that were seen.

mod classification;

use std::borrow::Cow;

use super::batch::Batch;
use super::param_names::{Glance, Level, Names};
use super::{Envelope, EnvelopeError, Fault, MessageKind, SeenParams};
use crate::id::RequestId;
use crate::json::{
    Kind, MAX_DEPTH, RawJsonRef, RawStr, Reader, Scanner, SyntaxError, SyntaxErrorKind,
};
use crate::wire::Decode;

pub(super) fn parse(frame: &[u8]) -> Result<Envelope<'_>, EnvelopeError> {
    let text = match std::str::from_utf8(frame) {
        Ok(text) => text,
        Err(error) => return Err(not_utf8(frame, error.valid_up_to())),
    };
    match Scanner::new(text).peek() {
        Some(b'[') => Batch::parse(text).map(Envelope::Batch),
        _ => message(text),
    }
}

/// Stands for bytes that are no UTF-8 while the rest of a frame is looked at: as long as the
/// shortest of them, and no part of a name or an id in use.
const SUBSTITUTE: char = '\u{7f}';

/// Returns the error for a frame that is not UTF-8, with what could be read of it.
#[cold]
fn not_utf8(frame: &[u8], offset: usize) -> EnvelopeError {
    let mut text = String::with_capacity(frame.len());
    for chunk in frame.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(SUBSTITUTE);
        }
    }
    let (id, about) = match message(&text) {
        Ok(Envelope::Request(request)) => (Some(request.id), MessageKind::Request),
        Ok(Envelope::Notification(_)) => (None, MessageKind::Notification),
        Ok(Envelope::Success(success)) => (Some(success.id), MessageKind::Response),
        Ok(Envelope::Failure(failure)) => (failure.id, MessageKind::Response),
        Ok(Envelope::Batch(_)) => (None, MessageKind::Unknown),
        Err(error) => (error.id().cloned(), error.message_kind()),
    };
    // An id that had such bytes in it is none that was read.
    let id = id.filter(|id| !id.as_str().is_some_and(|text| text.contains(SUBSTITUTE)));
    EnvelopeError::new(Fault::InvalidUtf8, offset, id, about)
}

/// Parses one message, not a batch.
pub(super) fn message(text: &str) -> Result<Envelope<'_>, EnvelopeError> {
    let mut scanner = Scanner::new(text);
    let mut seen = Seen::default();
    match seen.read(&mut scanner) {
        Ok(()) => seen.decide(scanner.position()),
        Err(error) => Err(seen.refuse_syntax(error)),
    }
}

/// The names of the envelope's members.
const JSONRPC: &str = "jsonrpc";
const ID: &str = "id";
const METHOD: &str = "method";
const PARAMS: &str = "params";
const RESULT: &str = "result";
const ERROR: &str = "error";

/// What has been read of a message.
#[derive(Default)]
struct Seen<'a> {
    has_version: bool,
    id: Id,
    method: Member<Cow<'a, str>>,
    params: Member<RawJsonRef<'a>>,
    /// `_meta` of the parameters.
    meta: Option<RawJsonRef<'a>>,
    seen_params: SeenParams<'a>,
    result: Member<RawJsonRef<'a>>,
    error: Member<RawJsonRef<'a>>,
    /// The place of an id that is an integer and not written as one, which only a response may
    /// have.
    unusual_id: Option<usize>,
    /// The place of parameters whose names are to be looked at closely.
    unsure_params: Option<usize>,
    /// The first fault that didn't keep us from reading on.
    fault: Option<(Fault, usize)>,
}

#[derive(Default, PartialEq)]
enum Id {
    #[default]
    Absent,
    Null,
    /// Only under an ambiguous name: its sender wants a response.
    Ambiguous,
    /// Not an id, or two that differ.
    Invalid,
    Valid(RequestId),
}

#[derive(Default)]
enum Member<T> {
    #[default]
    Absent,
    /// `null`, which some peers write for a member that they don't have.
    Null,
    /// There, but of the wrong kind or nested too deep.
    Invalid,
    Valid(T),
}

impl<T> Member<T> {
    fn is_present(&self) -> bool {
        !matches!(self, Self::Absent)
    }

    /// Returns the member, with `null` as absent.
    fn or_absent(self) -> Self {
        match self {
            Self::Null => Self::Absent,
            other => other,
        }
    }
}

impl<'a> Seen<'a> {
    fn read(&mut self, scanner: &mut Scanner<'a>) -> Result<(), SyntaxError> {
        if scanner.peek() != Some(b'{') {
            // Still a fault of its own when it is JSON at all.
            let start = scanner.position();
            self.skip(scanner, 0)?;
            scanner.finish()?;
            self.blame(Fault::NotAMessage, start);
            return Ok(());
        }
        scanner.advance();
        if !scanner.take(b'}') {
            loop {
                scanner.peek();
                let at = scanner.position();
                let key = scanner.string()?;
                scanner.expect(b':')?;
                self.member(scanner, key, at)?;
                if !scanner.take(b',') {
                    break;
                }
            }
            scanner.expect(b'}')?;
        }
        scanner.finish()
    }

    /// A method, a result or an error is present from its key on: the kind of a text that
    /// breaks off inside it is known.
    fn member(
        &mut self,
        scanner: &mut Scanner<'a>,
        key: RawStr<'a>,
        at: usize,
    ) -> Result<(), SyntaxError> {
        if key.is(JSONRPC) {
            self.once(JSONRPC, self.has_version, at);
            self.version(scanner)
        } else if key.is(ID) {
            self.once(ID, self.id != Id::Absent, at);
            self.id(scanner)
        } else if key.is(METHOD) {
            self.once(METHOD, self.method.is_present(), at);
            self.method = Member::Invalid;
            self.method(scanner)
        } else if key.is(PARAMS) {
            self.once(PARAMS, self.params.is_present(), at);
            self.params = self.params(scanner)?;
            Ok(())
        } else if key.is(RESULT) {
            self.once(RESULT, self.result.is_present(), at);
            self.result = Member::Invalid;
            self.result = self.object(scanner, Fault::ResultNotAnObject)?;
            Ok(())
        } else if key.is(ERROR) {
            self.once(ERROR, self.error.is_present(), at);
            self.error = Member::Invalid;
            self.error = self.object(scanner, Fault::ErrorNotAnObject)?;
            Ok(())
        } else {
            let ambiguous = [JSONRPC, ID, METHOD, PARAMS, RESULT, ERROR]
                .into_iter()
                .find(|name| key.may_be_read_as(name));
            if let Some(name) = ambiguous {
                self.blame(Fault::AmbiguousName(name), at);
                if name == ID && self.id == Id::Absent {
                    self.id = Id::Ambiguous;
                }
            }
            self.skip(scanner, 1).map(drop)
        }
    }

    fn version(&mut self, scanner: &mut Scanner<'a>) -> Result<(), SyntaxError> {
        self.has_version = true;
        let is_string = scanner.peek() == Some(b'"');
        let at = scanner.position();
        let is_right = if is_string {
            scanner.string()?.is("2.0")
        } else {
            self.skip(scanner, 1)?;
            false
        };
        if !is_right {
            self.blame(Fault::WrongVersion, at);
        }
        Ok(())
    }

    fn id(&mut self, scanner: &mut Scanner<'a>) -> Result<(), SyntaxError> {
        scanner.peek();
        let at = scanner.position();
        let id = match self.skip(scanner, 1)? {
            Some(value) if value.kind() == Kind::Null => Id::Null,
            // The text breaks off here, perhaps in the middle of the number.
            Some(value) if value.kind() == Kind::Number && scanner.peek().is_none() => Id::Invalid,
            Some(value) => match RequestId::decode(&mut Reader::new(value.as_str())) {
                Ok(id) => Id::Valid(id),
                Err(_) => self.unusual_id(value, at),
            },
            None => Id::Invalid,
        };
        if id == Id::Invalid {
            self.blame(Fault::InvalidId, at);
        }
        // With two ids that differ, the request is unknown.
        let is_clear = matches!(self.id, Id::Absent | Id::Ambiguous) || self.id == id;
        self.id = if is_clear { id } else { Id::Invalid };
        Ok(())
    }

    #[cold]
    fn unusual_id(&mut self, value: RawJsonRef<'a>, at: usize) -> Id {
        match RequestId::from_response(value.as_str()) {
            Some(id) => {
                self.unusual_id.get_or_insert(at);
                Id::Valid(id)
            }
            None => Id::Invalid,
        }
    }

    fn method(&mut self, scanner: &mut Scanner<'a>) -> Result<(), SyntaxError> {
        let is_string = scanner.peek() == Some(b'"');
        let at = scanner.position();
        let name = if is_string {
            scanner.string()?.unescape().ok()
        } else {
            self.skip(scanner, 1)?;
            None
        };
        self.method = match name {
            Some(name) => Member::Valid(name),
            None => {
                self.blame(Fault::InvalidMethod, at);
                Member::Invalid
            }
        };
        Ok(())
    }

    fn params(&mut self, scanner: &mut Scanner<'a>) -> Result<Member<RawJsonRef<'a>>, SyntaxError> {
        if scanner.peek() != Some(b'{') {
            return self.object(scanner, Fault::ParamsNotAnObject);
        }
        let start = scanner.position();
        if !self.names(scanner, Level::Params)? {
            self.unsure_params = Some(start);
        }
        let params = RawJsonRef::validated(scanner.text_since(start));
        Ok(Member::Valid(params))
    }

    /// Goes over an object in parameters. Returns `true` if its names are plain.
    fn names(&mut self, scanner: &mut Scanner<'a>, level: Level) -> Result<bool, SyntaxError> {
        scanner.advance();
        let mut are_plain = true;
        if scanner.take(b'}') {
            return Ok(are_plain);
        }
        let mut names = Names::default();
        loop {
            let key = scanner.string()?;
            scanner.expect(b':')?;
            are_plain &= names.add(key);
            match level.glance(key) {
                Glance::Object(inner) => {
                    let is_object = scanner.peek() == Some(b'{');
                    let start = scanner.position();
                    if is_object {
                        are_plain &= self.names(scanner, inner)?;
                    } else {
                        self.skip(scanner, level.depth())?;
                    }
                    let value = RawJsonRef::validated(scanner.text_since(start));
                    match inner {
                        Level::Meta => self.meta = Some(value),
                        Level::Free => self.seen_params.arguments = Some(value),
                        Level::Params => {}
                    }
                }
                glance => {
                    are_plain &= glance != Glance::Unsure;
                    let value = self.skip(scanner, level.depth())?;
                    if level == Level::Params {
                        if key.is("name") {
                            self.seen_params.name = value;
                        } else {
                            self.seen_params.has_others = true;
                        }
                    }
                }
            }
            if !scanner.take(b',') {
                break;
            }
        }
        scanner.expect(b'}')?;
        Ok(are_plain)
    }

    fn object(
        &mut self,
        scanner: &mut Scanner<'a>,
        otherwise: Fault,
    ) -> Result<Member<RawJsonRef<'a>>, SyntaxError> {
        let is_object = scanner.peek() == Some(b'{');
        let at = scanner.position();
        let value = self.skip(scanner, 1)?;
        Ok(match value {
            Some(value) if is_object => Member::Valid(value),
            Some(value) if value.kind() == Kind::Null => Member::Null,
            Some(_) | None => {
                if !is_object {
                    self.blame(otherwise, at);
                }
                Member::Invalid
            }
        })
    }

    /// Goes over a value inside `outer` containers. `None` when it is nested too deep,
    /// which is blamed; what stands behind it is still read.
    fn skip(
        &mut self,
        scanner: &mut Scanner<'a>,
        outer: usize,
    ) -> Result<Option<RawJsonRef<'a>>, SyntaxError> {
        match scanner.value(outer) {
            Ok(value) => Ok(Some(RawJsonRef::validated(value))),
            Err(error) if error.kind == SyntaxErrorKind::TooDeep => {
                self.blame(Fault::TooDeep, error.offset);
                scanner.leave(MAX_DEPTH - outer)?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn once(&mut self, name: &'static str, is_present: bool, at: usize) {
        if is_present {
            self.blame(Fault::Duplicate(name), at);
        }
    }

    fn blame(&mut self, fault: Fault, at: usize) {
        self.fault.get_or_insert((fault, at));
    }
}
