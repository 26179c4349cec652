//! A second opinion on frames, from full parses by `serde_json`.
//!
//! The property tests and the fuzz target share it. Three parses determine what a frame is:
//!
//! - [`RawValue`]: if it is JSON. It follows the grammar to any depth and, like the
//!   envelope pass, minds neither the size of a number nor a lone surrogate.
//! - One level of members, each a `RawValue`: which there are, and so every fault that the pass
//!   may name.
//! - [`Value`]: what a message means to an ordinary parser.
//!
//! The pass may refuse what `Value` takes: members of the envelope that stand twice or in other
//! letters, and nesting beyond [`MAX_DEPTH`]. It may take what `Value` refuses: numbers beyond a
//! double's range and lone surrogates, inside payloads. Everything else is a disagreement.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use bowline_types::envelope::{Envelope, EnvelopeError, Fault, MessageKind};
use bowline_types::json::MAX_DEPTH;
use bowline_types::result::RequestParams;
use bowline_types::wire::{Member, Shape};
use bowline_types::{Method, RawJsonRef, RequestId, Wire};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// Panics when the envelope pass and the full parses disagree about `frame`.
pub(crate) fn check(frame: &[u8]) {
    let parsed = Envelope::parse(frame);
    let Ok(text) = std::str::from_utf8(frame) else {
        let error = parsed.expect_err("not UTF-8");
        assert_eq!(error.fault(), &Fault::InvalidUtf8);
        check_rest(frame, &error);
        return;
    };
    let Ok(json) = serde_json::from_str::<&RawValue>(text) else {
        let error = parsed.expect_err("not JSON");
        // What is too deep is left without minding its grammar.
        let is_named = matches!(error.fault(), Fault::Syntax(_)) || depth(text) > MAX_DEPTH;
        assert!(is_named, "{error:?} of what isn't JSON");
        assert!(error.offset() <= text.len());
        return;
    };
    let json = json.get();
    if json.starts_with('[') {
        check_batch(json, parsed);
    } else {
        check_message(json, parsed);
    }
}

/// The content of a frame that is not UTF-8, without the bytes that are not.
fn check_rest(frame: &[u8], error: &EnvelopeError) {
    let text = String::from_utf8_lossy(frame);
    let Ok(members) = serde_json::from_str::<Members<'_>>(&text) else {
        return;
    };
    let id = members
        .id()
        .filter(|id| !id.contains(['\u{fffd}', '\u{7f}']));
    assert_eq!(error.id().map(RequestId::to_string), id);
    assert_eq!(error.message_kind(), members.message_kind());
}

fn check_batch(json: &str, parsed: Result<Envelope<'_>, EnvelopeError>) {
    let parts: Vec<&RawValue> = serde_json::from_str(json).expect("an array");
    let fault = if depth(json) > MAX_DEPTH {
        Some(Fault::TooDeep)
    } else if parts.is_empty() {
        Some(Fault::EmptyBatch)
    } else {
        None
    };
    if let Some(fault) = fault {
        let error = parsed.expect_err("a batch with a fault");
        assert_eq!((error.fault(), error.id()), (&fault, None));
        return;
    }
    let Ok(Envelope::Batch(batch)) = parsed else {
        panic!("{parsed:?} of a batch");
    };
    assert_eq!(batch.len(), parts.len());
    let mut parsed = batch.messages();
    for part in parts {
        let parsed = parsed.next().expect("as many parts as the batch has");
        if part.get().starts_with('[') {
            let error = parsed.expect_err("a batch in a batch");
            assert_eq!(error.fault(), &Fault::NestedBatch);
        } else {
            check_message(part.get(), parsed);
        }
    }
    assert!(parsed.next().is_none(), "no more parts than the batch has");
}

fn check_message(json: &str, parsed: Result<Envelope<'_>, EnvelopeError>) {
    if !json.starts_with('{') {
        let error = parsed.expect_err("not an object");
        assert_eq!(error.fault(), &Fault::NotAMessage);
        return;
    }
    let members: Members<'_> = serde_json::from_str(json).expect("an object");
    let mut faults = members.faults();
    if depth(json) > MAX_DEPTH {
        faults.push(Fault::TooDeep);
    }
    let ambiguous = members.ambiguous_params();
    match parsed {
        Ok(envelope) => {
            let found = MessageContent::of(&envelope);
            assert!(faults.is_empty(), "{found:?} in spite of {faults:?}");
            assert!(!ambiguous, "{found:?} with names that are not clear");
            let expected = members.content();
            assert_eq!(found, expected);
            // The very bytes of the frame, not a copy of them.
            assert_eq!(
                found.payload.map(str::as_ptr),
                expected.payload.map(str::as_ptr)
            );
            check_value(json, &found);
        }
        Err(error) => {
            let is_true = match error.fault() {
                Fault::Params(_) => ambiguous,
                fault => faults.contains(fault),
            };
            assert!(is_true, "{error:?} is none of {faults:?}");
            assert_eq!(error.id().map(RequestId::to_string), members.id());
            assert_eq!(error.message_kind(), members.message_kind());
        }
    }
}

/// Compares with what an ordinary parser makes of the message.
fn check_value(json: &str, found: &MessageContent<'_>) {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    // It is no deeper than our limit, which is one level more than this one.
    deserializer.disable_recursion_limit();
    let value = match Value::deserialize(&mut deserializer) {
        Ok(value) => value,
        Err(error) => {
            // The grammar is followed, so this is all that can be. The last two are surrogates.
            let allowed = [
                "number out of range",
                "lone leading surrogate",
                "unexpected end of hex escape",
            ];
            let reason = error.to_string();
            let is_allowed = allowed.iter().any(|start| reason.starts_with(start));
            assert!(is_allowed, "{reason}");
            return;
        }
    };
    let payload_text = |name| value.get(name).filter(|member| !member.is_null());
    let has = |name| match name {
        "result" | "error" => payload_text(name).is_some(),
        _ => value.get(name).is_some(),
    };
    let kind = Kind::of(has("method"), has("id"), has("result"), has("error"));
    let parse = |json| serde_json::from_str(json).expect("a part of what has been parsed");
    let id: Option<Value> = found.id.as_deref().map(parse);
    let payload: Option<Value> = found.payload.map(parse);
    assert_eq!(value.get("jsonrpc"), Some(&Value::from("2.0")));
    assert_eq!(kind, Some(found.kind));
    let written = value.get("id").filter(|id| !id.is_null());
    match written
        .and_then(Value::as_f64)
        .filter(|_| written != id.as_ref())
    {
        // An integer that is not written as one.
        Some(double) => assert_eq!(id.as_ref().and_then(Value::as_f64), Some(double)),
        None => assert_eq!(written, id.as_ref()),
    }
    assert_eq!(
        value.get("method"),
        found.method.as_deref().map(Value::from).as_ref()
    );
    assert_eq!(payload_text(found.kind.payload()), payload.as_ref());
}

/// The content of a message.
#[derive(Debug, PartialEq)]
struct MessageContent<'a> {
    kind: Kind,
    /// As JSON.
    id: Option<String>,
    method: Option<String>,
    /// As it is written.
    payload: Option<&'a str>,
}

impl<'a> MessageContent<'a> {
    fn of(envelope: &Envelope<'a>) -> Self {
        let (kind, id, method, payload) = match envelope {
            Envelope::Request(request) => (
                Kind::Request,
                Some(&request.id),
                Some(&request.method),
                request.params,
            ),
            Envelope::Notification(notification) => (
                Kind::Notification,
                None,
                Some(&notification.method),
                notification.params,
            ),
            Envelope::Success(success) => {
                (Kind::Success, Some(&success.id), None, Some(success.result))
            }
            Envelope::Failure(failure) => (
                Kind::Failure,
                failure.id.as_ref(),
                None,
                Some(failure.error),
            ),
            Envelope::Batch(batch) => panic!("{batch:?} of a message"),
        };
        Self {
            kind,
            id: id.map(RequestId::to_string),
            method: method.map(ToString::to_string),
            payload: payload.map(RawJsonRef::as_str),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Request,
    Notification,
    Success,
    Failure,
}

impl Kind {
    fn of(method: bool, id: bool, result: bool, error: bool) -> Option<Self> {
        match (method, id, result, error) {
            (true, true, false, false) => Some(Self::Request),
            (true, false, false, false) => Some(Self::Notification),
            (false, true, true, false) => Some(Self::Success),
            (false, _, false, true) => Some(Self::Failure),
            _ => None,
        }
    }

    fn payload(self) -> &'static str {
        match self {
            Self::Request | Self::Notification => "params",
            Self::Success => "result",
            Self::Failure => "error",
        }
    }
}

/// The members of an object in order: the name, or what is written of one with a lone surrogate in
/// it, and the text of the value.
struct Members<'a>(Vec<(Result<String, &'a str>, &'a str)>);

impl<'a> Members<'a> {
    /// Everything that is wrong, in no order.
    fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for name in NAMES {
            if self.all(name).count() > 1 {
                faults.push(Fault::Duplicate(name));
            }
            if self
                .names_as_read()
                .any(|key| key != name && fold(&key) == name)
            {
                faults.push(Fault::AmbiguousName(name));
            }
        }
        let mut demand = |name, is_valid: fn(&str) -> bool, otherwise| {
            if !self.all(name).all(is_valid) {
                faults.push(otherwise);
            }
        };
        demand("jsonrpc", is_version, Fault::WrongVersion);
        if self.is_answer() {
            demand("id", is_id_of_answer_or_null, Fault::InvalidId)
        } else {
            demand("id", is_id_or_null, Fault::InvalidId)
        }
        demand("method", is_string, Fault::InvalidMethod);
        demand("params", is_object_or_null, Fault::ParamsNotAnObject);
        demand("result", is_object_or_null, Fault::ResultNotAnObject);
        demand("error", is_object_or_null, Fault::ErrorNotAnObject);
        faults.extend(self.faults_of_the_whole());
        faults
    }

    /// Returns `true` if another parser may read the parameters differently.
    fn ambiguous_params(&self) -> bool {
        let method = self.all("method").last().and_then(string);
        let params: Option<Members<'_>> = self
            .all("params")
            .last()
            .and_then(|json| serde_json::from_str(json).ok());
        let (Some(method), Some(params)) = (method, params) else {
            return false;
        };
        let mut known = Vec::new();
        match method.parse::<Method>() {
            Ok(method) => collect(method.params(), &mut known),
            Err(_) => collect(RequestParams::SHAPE, &mut known),
        }
        let nested = known.iter().any(|member| {
            let names = match member.shape {
                Shape::Struct(meta) if member.name == "_meta" => meta.members,
                Shape::Object | Shape::Map(_) => &[],
                _ => return false,
            };
            let names = names.iter().map(|member| member.name).collect();
            let mut values = params.all(member.name);
            values.any(|json| {
                let object = serde_json::from_str::<Members<'_>>(json);
                object.is_ok_and(|object| object.are_ambiguous(&names))
            })
        });
        nested || params.are_ambiguous(&known.iter().map(|member| member.name).collect())
    }

    fn are_ambiguous(&self, known: &BTreeSet<&str>) -> bool {
        let mut seen = BTreeSet::new();
        let twice = self.0.iter().any(|(key, _)| !seen.insert(key));
        let is_like = |key: &str, name: &&str| !known.contains(key) && fold(key) == fold(name);
        twice
            || self
                .names_as_read()
                .any(|key| known.iter().any(|name| is_like(&key, name)))
    }

    fn faults_of_the_whole(&self) -> impl Iterator<Item = Fault> {
        let has = |name| self.all(name).next().is_some();
        // `null` is no value beside one, and no response alone.
        let has_value = |name| self.all(name).any(|json| json != "null");
        let (method, result, error) = (has("method"), has_value("result"), has_value("error"));
        let is_silent = !method && !result && !error;
        let is_null = self.all("id").all(|json| json == "null");
        [
            (!has("jsonrpc"), Fault::WrongVersion),
            (method && has("id") && is_null, Fault::InvalidId),
            (result && is_null, Fault::MissingId),
            (!method && result && error, Fault::ResultAndError),
            (method && (result || error), Fault::MethodAndResponse),
            (is_silent && has("result"), Fault::ResultNotAnObject),
            (is_silent && has("error"), Fault::ErrorNotAnObject),
            (
                is_silent && !has("result") && !has("error"),
                Fault::NoMethodResultOrError,
            ),
        ]
        .into_iter()
        .filter_map(|(is_wrong, fault)| is_wrong.then_some(fault))
    }

    /// Returns the content of a message without faults.
    fn content(&self) -> MessageContent<'a> {
        let one = |name| self.all(name).next();
        let has = |name| match name {
            "result" | "error" => one(name).is_some_and(|json| json != "null"),
            _ => one(name).is_some(),
        };
        let kind = Kind::of(has("method"), has("id"), has("result"), has("error"));
        let kind = kind.expect("a message without faults is of some kind");
        MessageContent {
            kind,
            id: self.id(),
            method: one("method").and_then(string),
            payload: one(kind.payload()).filter(|json| *json != "null"),
        }
    }

    /// The id as JSON. None when there are several that differ.
    fn id(&self) -> Option<String> {
        let id = if self.is_answer() { id_of_answer } else { id };
        let mut ids = self.all("id").map(id);
        let first = ids.next()?;
        ids.all(|other| other == first).then_some(first)?
    }

    fn is_answer(&self) -> bool {
        self.message_kind() == MessageKind::Response
    }

    fn message_kind(&self) -> MessageKind {
        let has = |name| self.all(name).next().is_some();
        let is_method = self.all("method").last().and_then(string).is_some();
        let has_id = self.names_as_read().any(|key| fold(&key) == "id");
        if is_method && !has_id && !has("result") && !has("error") {
            MessageKind::Notification
        } else if has("method") {
            MessageKind::Request
        } else if has("result") || has("error") {
            MessageKind::Response
        } else {
            MessageKind::Unknown
        }
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(key, _)| key.as_deref() == Ok(name))
            .map(|(_, json)| *json)
    }

    /// The names that a parser may read. One that ends names at a NUL doesn't see a lone surrogate
    /// behind it.
    fn names_as_read(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.0.iter().filter_map(|(key, _)| match key {
            Ok(key) => Some(Cow::Borrowed(key.as_str())),
            Err(written) => through_nul(written).map(Cow::Owned),
        })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((key, json)) = map.next_entry::<&RawValue, &RawValue>()? {
                    members.push((string(key.get()).ok_or(key.get()), json.get()));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

const NAMES: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

/// The beginning of a name that ends with its first NUL, if it has one and can be read so far.
fn through_nul(written: &str) -> Option<String> {
    const NUL: &str = r"\u0000";
    let is_escape = |at: usize| {
        let before = written.get(..at).unwrap_or_default();
        let backslashes = before.bytes().rev().take_while(|byte| *byte == b'\\');
        backslashes.count() % 2 == 0
    };
    let (at, _) = written.match_indices(NUL).find(|(at, _)| is_escape(*at))?;
    let beginning = written.get(..at + NUL.len())?;
    string(&format!("{beginning}\""))
}

/// The name to a parser that ends it at a NUL, drops what isn't seen, knows one width of
/// letters, and ignores case, be it by upper or by lower case.
fn fold(name: &str) -> String {
    let fold = |character: char| {
        let mut upper = character.to_uppercase();
        let upper = match (upper.next(), upper.next()) {
            (Some(single), None) => single,
            _ => character,
        };
        upper.to_lowercase().next().unwrap_or(upper)
    };
    let name = name.split('\0').next().unwrap_or_default();
    let seen = name.chars().filter(|character| !is_unseen(*character));
    seen.map(|character| match u32::from(character) {
        wide @ 0xff01..=0xff5e => char::from_u32(wide - 0xff00 + 0x20).unwrap_or(character),
        _ => character,
    })
    .map(fold)
    .collect()
}

/// The members of a type, of all its alternatives.
fn collect(shape: &'static Shape, members: &mut Vec<&'static Member>) {
    match shape {
        Shape::Struct(object) => {
            members.extend(object.members);
            members.extend(
                object
                    .includes
                    .iter()
                    .flat_map(|(included, _)| included.members),
            );
        }
        Shape::Union(union) => {
            for variant in union.variants {
                collect(variant.shape, members);
            }
        }
        _ => {}
    }
}

/// From Unicode's DerivedCoreProperties.txt, Default_Ignorable_Code_Point, and with them white
/// space, control characters and the replacement of what can't be decoded.
fn is_unseen(character: char) -> bool {
    const IGNORABLE: [(u32, u32); 18] = [
        (0x00ad, 0x00ad),
        (0x034f, 0x034f),
        (0x061c, 0x061c),
        (0x115f, 0x1160),
        (0x17b4, 0x17b5),
        (0x180b, 0x180f),
        (0x200b, 0x200f),
        (0x202a, 0x202e),
        (0x2060, 0x206f),
        (0x3164, 0x3164),
        (0xfe00, 0xfe0f),
        (0xfeff, 0xfeff),
        (0xffa0, 0xffa0),
        (0xfff0, 0xfff8),
        (0xfffd, 0xfffd),
        (0x1bca0, 0x1bca3),
        (0x1d173, 0x1d17a),
        (0xe0000, 0xe0fff),
    ];
    let code = u32::from(character);
    let is_ignorable = IGNORABLE
        .iter()
        .any(|(first, last)| (*first..=*last).contains(&code));
    is_ignorable || character.is_control() || character.is_whitespace()
}

fn string(json: &str) -> Option<String> {
    serde_json::from_str(json).ok()
}

/// An id as JSON: a string in its usual form, an integer as it is written.
fn id(json: &str) -> Option<String> {
    match string(json) {
        Some(string) => serde_json::to_string(&string).ok(),
        None => {
            let digits = json.strip_prefix('-').unwrap_or(json);
            let is_integer = digits.bytes().all(|byte| byte.is_ascii_digit());
            is_integer.then(|| json.to_owned())
        }
    }
}

/// The same, and an integer of 64 bits with its point moved.
fn id_of_answer(json: &str) -> Option<String> {
    id(json).or_else(|| {
        let (sign, number) = json
            .strip_prefix('-')
            .map_or(("", json), |rest| ("-", rest));
        if !number.starts_with(|first: char| first.is_ascii_digit()) {
            return None;
        }
        let (number, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if [whole, fraction]
            .concat()
            .bytes()
            .all(|digit| digit == b'0')
        {
            return Some("0".to_owned());
        }
        let exponent: i32 = exponent
            .parse()
            .ok()
            .filter(|by| (-9999..9999).contains(by))?;
        let by = usize::try_from(exponent.unsigned_abs()).ok()?;
        // As many zeros on both sides as the point is moved.
        let zeros = "0".repeat(by);
        let (whole, fraction) = (zeros.clone() + whole, fraction.to_owned() + &zeros);
        let point = if exponent < 0 {
            whole.len() - by
        } else {
            whole.len() + by
        };
        let digits = whole + &fraction;
        let (whole, fraction) = digits.split_at(point);
        let integer: i64 = format!("{sign}{whole}").parse().ok()?;
        fraction
            .bytes()
            .all(|digit| digit == b'0')
            .then(|| integer.to_string())
    })
}

fn is_id_of_answer_or_null(json: &str) -> bool {
    json == "null" || id_of_answer(json).is_some()
}

fn is_id_or_null(json: &str) -> bool {
    json == "null" || id(json).is_some()
}

fn is_version(json: &str) -> bool {
    string(json).as_deref() == Some("2.0")
}

fn is_string(json: &str) -> bool {
    string(json).is_some()
}

fn is_object_or_null(json: &str) -> bool {
    json.starts_with('{') || json == "null"
}

/// How deep `json` is nested. Exact when it follows the grammar.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                while let Some(byte) = bytes.next().filter(|byte| *byte != b'"') {
                    if byte == b'\\' {
                        bytes.next();
                    }
                }
            }
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}
