//! Rounds of input on a server of the stateless era.
//!
//! A handler that needs input of the client ends its request with an input request, and is run
//! again from the top when the response arrives. The server keeps nothing in between: earlier
//! responses travel with the client, sealed, so that any node may serve the next round.
//!
//! ```
//! use bowline_proto::server::{Binding, Round, Rounds, StateMark};
//! # use bowline_proto::server::Seal;
//! # struct Plain;
//! # impl Seal for Plain {
//! #     fn seal(&self, plain: &[u8], _: &[u8]) -> String { String::from_utf8_lossy(plain).into() }
//! #     fn open(&self, sealed: &str, _: &[u8]) -> Option<Vec<u8>> { Some(sealed.into()) }
//! # }
//! # let seal = Plain;
//! use bowline_types::roots::ListRootsParams;
//!
//! let params = r#"{"name":"tidy"}"#;
//! let binding = Binding::new("alice", "tools/call", params)?;
//! let mut rounds = Rounds::open(params, &seal, &binding, 1_000)?;
//! // The handler, from the top:
//! let name = rounds.next_name("roots");
//! if rounds.response(&name).is_none() {
//!     rounds.request_input(&name, ListRootsParams::new());
//! }
//! // The nonce is drawn by chance.
//! let mark = StateMark::new("5e1f", 1_600);
//! assert!(matches!(rounds.finish(&seal, &binding, mark), Round::InputRequired(_)));
//! # Ok::<(), bowline_proto::server::RoundsError>(())
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use bowline_types::input::{InputRequest, InputRequiredResult, InputResponse};
use bowline_types::json::Reader;
use bowline_types::wire::Map;
use bowline_types::{
    DecodeError, Encoder, ErrorObject, JsonObject, Method, RawJson, RawJsonRef, Wire,
};
use memchr::memchr3_iter;

/// Seals the state that a client keeps for a server, so that it can neither be read nor changed.
///
/// Several nodes share a key. A state that was sealed for one `binding` opens for no other.
pub trait Seal {
    /// Seals a state. The text needs no escapes in a JSON string.
    fn seal(&self, plain: &[u8], binding: &[u8]) -> String;

    /// Opens a sealed state. Returns `None` if it was not sealed with this key and binding.
    fn open(&self, sealed: &str, binding: &[u8]) -> Option<Vec<u8>>;
}

/// The binding of the rounds of one request: its principal, method and parameters.
#[derive(Clone, PartialEq, Eq)]
pub struct Binding(Vec<u8>);

impl Binding {
    /// Binds to a principal, a method and its parameters, except for those that change from round
    /// to round. The order of the parameters doesn't matter; their values must be encoded as
    /// before.
    ///
    /// # Errors
    ///
    /// Fails if the parameters are no object.
    pub fn new(principal: &str, method: &str, params: &str) -> Result<Self, RoundsError> {
        let mut members = Vec::new();
        let read = Reader::new(params).object(|reader, key| {
            let value = reader.raw()?;
            if !["_meta", "inputResponses", "requestState"].contains(&key) {
                members.push((key.to_owned(), value));
            }
            Ok(())
        });
        read.map_err(|_| RoundsError::InvalidParams)?;
        members.sort_by(|one, other| one.0.cmp(&other.0));
        let mut bound = Vec::with_capacity(params.len() + 64);
        let mut encoder = Encoder::lossless(&mut bound);
        // As JSON, so that no two different ones look alike.
        encoder.begin_array();
        encoder.string(principal);
        encoder.separate();
        encoder.string(method);
        encoder.separate();
        encoder.begin_object();
        for (key, value) in members {
            encoder.key(&key);
            encoder.raw(value);
        }
        encoder.end_object();
        encoder.end_array();
        Ok(Self(bound))
    }
}

/// Prints nothing of the principal and the parameters.
impl fmt::Debug for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Binding(…)")
    }
}

/// The identity of a sealed state, and its expiry. A server that accepts each state once (MR-13)
/// remembers the marks of used states until they expire.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct StateMark {
    /// The expiry of the state, in seconds of the clock that all nodes share.
    pub expires: u64,
    /// A unique value: drawn by the caller, since the core has no randomness.
    pub nonce: String,
}

impl StateMark {
    /// Creates the mark of a state.
    pub fn new(nonce: impl Into<String>, expires: u64) -> Self {
        Self {
            expires,
            nonce: nonce.into(),
        }
    }
}

/// Why a request can't continue after a round of input.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RoundsError {
    /// The parameters, or the input responses in them, can't be decoded.
    InvalidParams,
    /// A response does not match its input request: its place, and the reason.
    InvalidResponse(DecodeError),
    /// `requestState` was not issued by this server for this request.
    InvalidState,
    /// `requestState` has expired.
    ExpiredState,
    /// `requestState` was used before, on a server that accepts each once.
    UsedState,
}

impl RoundsError {
    /// Returns the error for the client.
    pub fn to_error(&self) -> ErrorObject {
        ErrorObject::invalid_params(self.to_string())
    }
}

impl fmt::Display for RoundsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidResponse(error) => return error.fmt(f),
            Self::InvalidParams => "the parameters or inputResponses can't be decoded",
            Self::InvalidState => "requestState was not issued for this request",
            Self::ExpiredState => "requestState has expired: send the request again without it",
            Self::UsedState => "requestState was already used: send the request again without it",
        })
    }
}

impl std::error::Error for RoundsError {}

/// The end of a run of a handler.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Round {
    /// The handler requested no input: its result counts.
    Done,
    /// The handler requested input: this is the result instead.
    InputRequired(Box<InputRequiredResult>),
}

/// The responses of earlier rounds, and the input requests of this one.
#[derive(Debug, Default)]
pub struct Rounds {
    responses: JsonObject,
    /// The responses of a first round, to input requests that are still to be made.
    early: JsonObject,
    done: BTreeSet<String>,
    requests: Map<InputRequest>,
    /// How often each key was used in this run.
    uses: BTreeMap<String, u64>,
    state_mark: Option<StateMark>,
}

impl Rounds {
    /// Opens the rounds of a request. `now` is in seconds of any clock that all nodes share.
    /// The caller checks if its state [was used](Self::state_mark) before.
    ///
    /// Responses without a state are kept for the questions of [their
    /// names](Self::early_response): a client that knows what it will be asked may answer at once.
    ///
    /// # Errors
    ///
    /// Fails if the responses are no object, if the state is not for this request, or has expired,
    /// or if a response does not match its input request (MR-14). Unexpected responses are ignored,
    /// and missing ones are requested again.
    pub fn open(
        params: &str,
        seal: &dyn Seal,
        binding: &Binding,
        now: u64,
    ) -> Result<Self, RoundsError> {
        if !Self::has_round(params) {
            return Ok(Self::new());
        }
        let member = |name| Reader::new(params).peek_member(name);
        let state = member("requestState").map_err(|_| RoundsError::InvalidParams)?;
        let given = member("inputResponses").map_err(|_| RoundsError::InvalidParams)?;
        let Some(state) = state else {
            return given.map_or_else(|| Ok(Self::new()), Self::with_early_responses);
        };
        let state = state.reader().string();
        let sealed = state.map_err(|_| RoundsError::InvalidState)?;
        let plain = seal
            .open(&sealed, &binding.0)
            .ok_or(RoundsError::InvalidState)?;
        let mut rounds = StatePayload::read(&plain, now)?;
        if let Some(given) = given {
            rounds.accept_responses(given)?;
        }
        Ok(rounds.known)
    }

    fn with_early_responses(given: RawJsonRef<'_>) -> Result<Self, RoundsError> {
        let mut rounds = Self::new();
        let early = JsonObject::parse(given.as_str());
        rounds.early = early.map_err(|_| RoundsError::InvalidParams)?;
        Ok(rounds)
    }

    /// Returns `true` if parameters may bring answers or the state of an earlier round, from a look
    /// at the text. Those that don't need no [opening](Self::open), nor a binding for it.
    pub fn has_round(params: impl AsRef<[u8]>) -> bool {
        // An escape may hide any name. The letters are seldom: looking for them takes a fraction
        // of what looking for the names does.
        let text = params.as_ref();
        memchr3_iter(b'S', b'R', b'\\', text).any(|at| {
            let (before, rest) = text.split_at(at);
            before.ends_with(b"request") && rest.starts_with(b"State\"")
                || before.ends_with(b"input") && rest.starts_with(b"Responses\"")
                || rest.starts_with(b"\\u")
        })
    }

    /// Creates the first round of a request, without responses.
    pub fn new() -> Self {
        Self {
            responses: JsonObject::new(),
            early: JsonObject::new(),
            done: BTreeSet::new(),
            requests: Map::new(),
            uses: BTreeMap::new(),
            state_mark: None,
        }
    }

    /// Returns the mark of the state that the request carries. `None` in the first round.
    pub fn state_mark(&self) -> Option<&StateMark> {
        self.state_mark.as_ref()
    }

    /// Returns the name of the next input request with this key, for
    /// [`response`](Self::response) and [`request_input`](Self::request_input).
    ///
    /// Each use of a key is an input request of its own. Every run counts the uses from the first
    /// one on, so that the handler gets the responses in the order of its requests.
    pub fn next_name(&mut self, key: &str) -> String {
        let uses = self.uses.entry(key.to_owned()).or_default();
        *uses += 1;
        name_of(key, *uses)
    }

    /// Returns the number of input requests of all rounds, this one included.
    pub fn request_count(&self) -> usize {
        self.responses.iter().count() + self.requests.len()
    }

    /// Returns the response to the input request of this name. `None` if the client has not sent it.
    pub fn response(&self, name: &str) -> Option<InputResponse> {
        let response = self.responses.get(name)?;
        InputResponse::from_json(response.as_str()).ok()
    }

    /// Returns the response that came with the first round to an input request of this name, and
    /// keeps it for later rounds. `None` if there is none, and if it doesn't match the request: then
    /// the input has to be [requested](Self::request_input).
    pub fn early_response(&mut self, name: &str, request: &InputRequest) -> Option<InputResponse> {
        let response = self.early.get(name)?;
        check_response(response, method(request)).ok()?;
        self.responses.insert(name, response);
        self.response(name)
    }

    /// Adds an input request. All input requests of one run are sent together.
    pub fn request_input(&mut self, name: &str, request: impl Into<InputRequest>) {
        self.requests.insert(name, request.into());
    }

    /// Returns `true` if an operation with an effect is still to be done: `true` once in all
    /// rounds, as long as none of them is repeated. The state of the request records it, so a
    /// client that sends an earlier state again repeats it, unless the caller of
    /// [`open`](Self::open) accepts each state once. Call it right before the operation.
    pub fn once(&mut self, key: &str) -> bool {
        self.done.insert(key.to_owned())
    }

    /// Ends the run of the handler. Its input requests go to the client, with a state of this
    /// mark.
    pub fn finish(self, seal: &dyn Seal, binding: &Binding, mark: StateMark) -> Round {
        if self.requests.iter().next().is_none() {
            return Round::Done;
        }
        let plain = StatePayload::write(&self, &mark);
        let mut result = InputRequiredResult::new();
        result.request_state = Some(seal.seal(plain.as_bytes(), &binding.0));
        result.input_requests = Some(self.requests);
        Round::InputRequired(Box::new(result))
    }
}

/// Returns the name of an input request in the protocol. Each name is unique, so that a key that
/// looks like the name of a later input request gets a number at once.
fn name_of(key: &str, uses: u64) -> String {
    let number = key.rsplit_once(NUMBER).map(|(_, number)| number);
    let looks_numbered =
        number.is_some_and(|suffix| suffix.bytes().all(|byte| byte.is_ascii_digit()));
    match uses {
        1 if !looks_numbered => key.to_owned(),
        _ => format!("{key}{NUMBER}{uses}"),
    }
}

/// What is between a key and the number of its use.
const NUMBER: char = '#';

/// The content of a sealed state: its mark, the input requests, the responses, the operations.
struct StatePayload {
    known: Rounds,
    /// The names of the input requests, and their methods.
    asked: BTreeMap<String, String>,
}

impl StatePayload {
    fn write(rounds: &Rounds, mark: &StateMark) -> String {
        let asked = rounds.requests.iter();
        let asked: JsonObject = asked
            .map(|(key, request)| (key, RawJson::from(method(request))))
            .collect();
        let done = rounds.done.iter();
        let done: JsonObject = done.map(|key| (key.as_str(), true)).collect();
        let mut kept = JsonObject::new();
        kept.insert("expires", i64::try_from(mark.expires).unwrap_or(i64::MAX));
        kept.insert("nonce", mark.nonce.as_str());
        kept.insert("asked", asked);
        kept.insert("done", done);
        kept.insert("answers", rounds.responses.clone());
        kept.as_str().to_owned()
    }

    fn read(plain: &[u8], now: u64) -> Result<Self, RoundsError> {
        let broken = |_| RoundsError::InvalidState;
        let text = std::str::from_utf8(plain).map_err(|_| RoundsError::InvalidState)?;
        let mut mark = StateMark::new("", 0);
        let mut kept = Self {
            known: Rounds::new(),
            asked: BTreeMap::new(),
        };
        let read = Reader::new(text).object(|reader, key| match key {
            "expires" => {
                mark.expires = u64::try_from(reader.integer()?).unwrap_or(0);
                Ok(())
            }
            "nonce" => {
                mark.nonce = reader.string()?.into_owned();
                Ok(())
            }
            "asked" => reader.object(|reader, key| {
                let method = reader.string()?.into_owned();
                kept.asked.insert(key.to_owned(), method);
                Ok(())
            }),
            "done" => reader.object(|reader, key| {
                kept.known.done.insert(key.to_owned());
                reader.raw().map(drop)
            }),
            "answers" => {
                kept.known.responses = JsonObject::parse(reader.raw()?.as_str())?;
                Ok(())
            }
            _ => reader.raw().map(drop),
        });
        read.map_err(broken)?;
        if mark.nonce.is_empty() {
            return Err(RoundsError::InvalidState);
        }
        if now >= mark.expires {
            return Err(RoundsError::ExpiredState);
        }
        kept.known.state_mark = Some(mark);
        Ok(kept)
    }

    /// Accepts the responses to the input requests. Others are ignored.
    fn accept_responses(&mut self, given: RawJsonRef<'_>) -> Result<(), RoundsError> {
        let (asked, responses) = (&self.asked, &mut self.known.responses);
        let mut wrong = None;
        let read = given.reader().object(|reader, key| {
            let response = reader.raw()?;
            if let Some(method) = asked.get(key) {
                if let Err(error) = check_response(response, method) {
                    wrong.get_or_insert(error.under_key(key));
                }
                responses.insert(key, response);
            }
            Ok(())
        });
        read.map_err(|_| RoundsError::InvalidParams)?;
        let at = |error: DecodeError| error.under_key("inputResponses").under_key("params");
        wrong.map_or(Ok(()), |error| Err(RoundsError::InvalidResponse(at(error))))
    }
}

/// Returns the method of a request, which determines the type of its response.
fn method(request: &InputRequest) -> &'static str {
    match request {
        InputRequest::Elicit(_) => Method::Elicit.as_str(),
        InputRequest::CreateMessage(_) => Method::CreateMessage.as_str(),
        InputRequest::ListRoots(_) => Method::ListRoots.as_str(),
        // The enum is of another crate and non-exhaustive: any object is a response.
        _ => "",
    }
}

/// Checks that a response matches the method of its input request.
fn check_response(response: RawJsonRef<'_>, method: &str) -> Result<(), DecodeError> {
    let response = InputResponse::from_json(response.as_str())?;
    match method.parse() {
        Ok(Method::Elicit) => response.elicitation().map(drop),
        Ok(Method::CreateMessage) => response.sampling().map(drop),
        Ok(Method::ListRoots) => response.roots().map(drop),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
