//! The pass over a frame.

use std::borrow::Cow;

use super::batch::Batch;
use super::{
    About, Envelope, EnvelopeError, Fault, JsonRpcErrorResponse, JsonRpcNotification,
    JsonRpcRequest, JsonRpcResultResponse,
};
use crate::id::RequestId;
use crate::json::{
    Kind, MAX_DEPTH, RawJsonRef, RawStr, Reader, Scanner, SyntaxError, SyntaxErrorKind,
};
use crate::wire::Decode;

pub(super) fn parse(frame: &[u8]) -> Result<Envelope<'_>, EnvelopeError> {
    let text = std::str::from_utf8(frame).map_err(|error| {
        EnvelopeError::new(
            Fault::InvalidUtf8,
            error.valid_up_to(),
            None,
            About::Unknown,
        )
    })?;
    match Scanner::new(text).peek() {
        Some(b'[') => Batch::parse(text).map(Envelope::Batch),
        _ => message(text),
    }
}

/// One message, not a batch.
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
    result: Member<RawJsonRef<'a>>,
    error: Member<RawJsonRef<'a>>,
    /// The first fault that didn't keep us from reading on.
    fault: Option<(Fault, usize)>,
}

#[derive(Default, PartialEq)]
enum Id {
    #[default]
    Absent,
    Null,
    /// Only in other letters: whoever wrote it wants an answer.
    Varied,
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

    /// The same without a `null` that says nothing.
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

    /// A method, a result or an error is present from its key on: a text that breaks off
    /// inside it still tells what the message was about.
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
            self.params = self.object(scanner, Fault::ParamsNotAnObject)?;
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
            let varied = [JSONRPC, ID, METHOD, PARAMS, RESULT, ERROR]
                .into_iter()
                .find(|name| key.is_ignoring_case(name));
            if let Some(name) = varied {
                self.blame(Fault::CaseVaried(name), at);
                if name == ID && self.id == Id::Absent {
                    self.id = Id::Varied;
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
                Err(_) => Id::Invalid,
            },
            None => Id::Invalid,
        };
        if id == Id::Invalid {
            self.blame(Fault::InvalidId, at);
        }
        // Two ids that differ don't tell whose message it is.
        let is_clear = matches!(self.id, Id::Absent | Id::Varied) || self.id == id;
        self.id = if is_clear { id } else { Id::Invalid };
        Ok(())
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

    /// Which members are present says what the message is.
    fn decide(mut self, end: usize) -> Result<Envelope<'a>, EnvelopeError> {
        if let Some((fault, at)) = self.fault.take() {
            return Err(self.refuse(fault, at));
        }
        if !self.has_version {
            return Err(self.refuse(Fault::WrongVersion, end));
        }
        // A `null` says nothing beside something that does; alone it is no answer.
        let is_said = |member: &Member<RawJsonRef<'_>>| matches!(member, Member::Valid(_));
        if !self.method.is_present() && !is_said(&self.result) && !is_said(&self.error) {
            if self.result.is_present() {
                return Err(self.refuse(Fault::ResultNotAnObject, end));
            }
            if self.error.is_present() {
                return Err(self.refuse(Fault::ErrorNotAnObject, end));
            }
        }
        let (result, error) = (self.result.or_absent(), self.error.or_absent());
        // No fault, so what is present is valid.
        match (self.method, self.id, result, error) {
            (Member::Valid(method), id, Member::Absent, Member::Absent) => {
                let params = match self.params {
                    Member::Valid(params) => Some(params),
                    Member::Absent | Member::Null | Member::Invalid => None,
                };
                match id {
                    Id::Valid(id) => Ok(Envelope::Request(JsonRpcRequest { id, method, params })),
                    Id::Absent => Ok(Envelope::Notification(JsonRpcNotification {
                        method,
                        params,
                    })),
                    Id::Null | Id::Varied | Id::Invalid => {
                        Err(refuse(Fault::InvalidId, end, About::Request))
                    }
                }
            }
            (Member::Absent, Id::Valid(id), Member::Valid(result), Member::Absent) => {
                Ok(Envelope::Success(JsonRpcResultResponse { id, result }))
            }
            (Member::Absent, _, Member::Valid(_), Member::Absent) => {
                Err(refuse(Fault::MissingId, end, About::Answer))
            }
            (Member::Absent, id, Member::Absent, Member::Valid(error)) => {
                let id = match id {
                    Id::Valid(id) => Some(id),
                    Id::Absent | Id::Null | Id::Varied | Id::Invalid => None,
                };
                Ok(Envelope::Failure(JsonRpcErrorResponse { id, error }))
            }
            (method, id, result, error) => {
                let fault = match (&method, &result, &error) {
                    (Member::Absent, Member::Absent, Member::Absent) => Fault::NothingSaid,
                    (Member::Absent, _, _) => Fault::ResultAndError,
                    _ => Fault::MethodAndAnswer,
                };
                let seen = Self {
                    id,
                    method,
                    result,
                    error,
                    ..Self::default()
                };
                Err(seen.refuse(fault, end))
            }
        }
    }

    fn refuse(self, fault: Fault, at: usize) -> EnvelopeError {
        let about = if self.wants_no_answer(&fault) {
            About::Notification
        } else if self.method.is_present() {
            About::Request
        } else if self.result.is_present() || self.error.is_present() {
            About::Answer
        } else {
            About::Unknown
        };
        let id = match self.id {
            Id::Valid(id) => Some(id),
            Id::Absent | Id::Null | Id::Varied | Id::Invalid => None,
        };
        EnvelopeError::new(fault, at, id, about)
    }

    /// Whether it would be a notification without its fault. Of a text that breaks off nobody
    /// knows.
    fn wants_no_answer(&self, fault: &Fault) -> bool {
        let is_whole = !matches!(fault, Fault::Syntax(_));
        let is_answer = self.result.is_present() || self.error.is_present();
        let has_method = matches!(self.method, Member::Valid(_));
        is_whole && has_method && !is_answer && self.id == Id::Absent
    }

    fn refuse_syntax(self, error: SyntaxError) -> EnvelopeError {
        self.refuse(Fault::Syntax(error.kind), error.offset)
    }
}

fn refuse(fault: Fault, at: usize, about: About) -> EnvelopeError {
    EnvelopeError::new(fault, at, None, about)
}
