//! JSON objects that are not decoded yet, or already encoded.

use std::fmt;

use bowline_types::envelope::SeenParams;
use bowline_types::{
    DecodeError, Encoder, JsonObject, NotInRevision, RawJson, RawJsonRef, Revision, Wire,
};
use bytes::Bytes;

/// A frame that is larger is not kept for the sake of a small part.
const WASTE: usize = 4096;

/// What is larger is a good part of the chunk that it was read with.
const LARGE: usize = 64 * 1024;

/// A JSON object as text: a slice of the frame that it came in, or what was encoded to be
/// sent. Cloning it copies nothing.
///
/// ```
/// use bowline_proto::Payload;
/// use bowline_types::tools::CallToolResult;
/// use bowline_types::Revision;
///
/// let payload = Payload::encode(&CallToolResult::text("hi"), Revision::V2025_06_18)?;
/// assert_eq!(payload.as_str(), r#"{"content":[{"type":"text","text":"hi"}]}"#);
/// # Ok::<(), bowline_types::NotInRevision>(())
/// ```
#[derive(Clone)]
pub struct Payload {
    text: Bytes,
    /// Where the members of a call are in the text, if they are known and there are no others but
    /// `_meta`.
    call: Option<CallPlaces>,
}

/// Where `name` and `arguments` are. The latter may be missing.
#[derive(Clone, Copy)]
struct CallPlaces {
    name: Place,
    arguments: Option<Place>,
}

/// A part of a text: where it begins and ends.
type Place = (u32, u32);

impl Payload {
    /// `{}`
    pub const EMPTY: Self = Self::of(Bytes::from_static(b"{}"));

    const fn of(text: Bytes) -> Self {
        Self { text, call: None }
    }

    /// Encodes a value for a revision. A value that is no object is no valid result.
    ///
    /// # Errors
    ///
    /// Fails if the revision doesn't have the value.
    pub fn encode<T: Wire>(value: &T, revision: Revision) -> Result<Self, NotInRevision> {
        let mut text = Vec::with_capacity(256);
        value.encode(&mut Encoder::new(&mut text, revision))?;
        Ok(Self::of(Bytes::from(text)))
    }

    /// Encodes an object for a revision, and adds members that are encoded already, without
    /// braces.
    ///
    /// ```
    /// use bowline_proto::Payload;
    /// use bowline_types::roots::ListRootsResult;
    /// use bowline_types::Revision;
    ///
    /// let result = ListRootsResult::new([]);
    /// let payload = Payload::encode_with(&result, Revision::V2025_06_18, r#""a":1"#)?;
    /// assert_eq!(payload.as_str(), r#"{"roots":[],"a":1}"#);
    /// # Ok::<(), bowline_types::NotInRevision>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`encode`](Self::encode).
    pub fn encode_with<T: Wire>(
        value: &T,
        revision: Revision,
        members: &str,
    ) -> Result<Self, NotInRevision> {
        let mut text = Vec::with_capacity(256 + members.len());
        value.encode(&mut Encoder::new(&mut text, revision))?;
        if !members.is_empty() && text.pop_if(|last| *last == b'}').is_some() {
            if text.len() > 1 {
                text.push(b',');
            }
            text.extend_from_slice(members.as_bytes());
            text.push(b'}');
        }
        Ok(Self::of(Bytes::from(text)))
    }

    /// Encodes parameters of a call for a revision. The members of `_meta` that the connection adds
    /// may be missing.
    ///
    /// # Errors
    ///
    /// Fails if the revision doesn't have the value.
    pub fn encode_params<T: Wire>(value: &T, revision: Revision) -> Result<Self, NotInRevision> {
        let mut text = Vec::with_capacity(256);
        value.encode(&mut Encoder::new(&mut text, revision).allow_missing_meta())?;
        Ok(Self::of(Bytes::from(text)))
    }

    /// Creates a part of a frame, without copying it, unless it would keep alive a large frame of
    /// which it is a small part.
    pub(crate) fn part(frame: &Bytes, part: RawJsonRef<'_>) -> Self {
        let part = part.as_str().as_bytes();
        let is_wasteful = frame.len() > WASTE && part.len() < frame.len() / 4;
        Self::of(if is_wasteful {
            Bytes::copy_from_slice(part)
        } else {
            sliced(frame, part)
        })
    }

    /// Creates a part of a frame that may be kept for long, and beside many others: one that is not
    /// large is copied, since a slice keeps all that was read together with it.
    pub(crate) fn kept_part(frame: &Bytes, part: RawJsonRef<'_>) -> Self {
        if part.as_str().len() < LARGE {
            Self::of(Bytes::copy_from_slice(part.as_str().as_bytes()))
        } else {
            Self::part(frame, part)
        }
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        // The envelope pass or the encoder has checked it.
        std::str::from_utf8(&self.text).unwrap_or_default()
    }

    /// Returns the bytes of the text. As opposed to [`as_str`](Self::as_str) it doesn't go over
    /// them.
    pub fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    /// Returns the value, which is not checked again.
    pub fn as_json(&self) -> RawJsonRef<'_> {
        RawJsonRef::new_unchecked(self.as_str())
    }

    /// Returns the bytes, without copying them.
    pub fn into_bytes(self) -> Bytes {
        self.text
    }

    /// Remembers where the members of a call are. `params` is the same text.
    pub(crate) fn having(mut self, params: RawJsonRef<'_>, seen: SeenParams<'_>) -> Self {
        let Some(name) = seen.name.filter(|_| !seen.has_others) else {
            return self;
        };
        let place = |part| place_in(params.as_str(), part);
        let arguments = seen.arguments.map(place);
        // A place that isn't known must not be taken for a missing member.
        if arguments != Some(None) {
            let arguments = arguments.flatten();
            self.call = place(name).map(|name| CallPlaces { name, arguments });
        }
        self
    }

    /// Returns `name` and `arguments` if the envelope pass has found them in these parameters, and
    /// nothing else but `_meta`. `None` says nothing about them.
    pub fn call_members(&self) -> Option<(RawJsonRef<'_>, Option<RawJsonRef<'_>>)> {
        let CallPlaces { name, arguments } = self.call?;
        let part = |(start, end): Place| {
            let part = self.text.get(start as usize..end as usize)?;
            Some(RawJsonRef::new_unchecked(std::str::from_utf8(part).ok()?))
        };
        let arguments = match arguments {
            Some(arguments) => Some(part(arguments)?),
            None => None,
        };
        Some((part(name)?, arguments))
    }

    /// Returns the number of bytes of the text.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns a member that is a string.
    pub(crate) fn peek_tag(&self, name: &str) -> Option<String> {
        let tag = self.as_json().reader().peek_tag(name).ok()??;
        Some(tag.into_owned())
    }

    /// Returns a member as it is written, without copying it.
    pub(crate) fn peek_raw(&self, name: &str) -> Option<Bytes> {
        let member = self.as_json().reader().peek_member(name).ok()??;
        Some(sliced(&self.text, member.as_str().as_bytes()))
    }

    /// Decodes the object.
    ///
    /// # Errors
    ///
    /// Fails if the object is no valid `T`.
    pub fn decode<T: Wire>(&self) -> Result<T, DecodeError> {
        T::from_json_ref(self.as_json())
    }
}

/// Payloads are equal when their texts are.
impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Payload {}

impl From<JsonObject> for Payload {
    fn from(object: JsonObject) -> Self {
        Self::of(Bytes::from(RawJson::from(object).into_string()))
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns where a part of a text is in it.
fn place_in(text: &str, part: RawJsonRef<'_>) -> Option<Place> {
    let part = part.as_str();
    let start = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    let end = start
        .checked_add(part.len())
        .filter(|end| *end <= text.len())?;
    Some((start.try_into().ok()?, end.try_into().ok()?))
}

/// Returns a part of a frame as a slice of it. What is no part of it is copied.
fn sliced(frame: &Bytes, part: &[u8]) -> Bytes {
    let start = (part.as_ptr() as usize).checked_sub(frame.as_ptr() as usize);
    let slice = start.filter(|start| {
        let end = start.checked_add(part.len());
        end.is_some_and(|end| end <= frame.len())
    });
    match slice {
        Some(start) => frame.slice(start..start + part.len()),
        None => Bytes::copy_from_slice(part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_copied_when_it_would_waste_or_is_none() {
        let text = format!(r#"{{"x":"{}","params":{{"a":1}}}}"#, "y".repeat(LARGE));
        let frame = Bytes::from(text);
        let is_shared = |payload: &Payload| {
            let frame = frame.as_ptr() as usize..frame.as_ptr() as usize + frame.len();
            frame.contains(&(payload.text.as_ptr() as usize))
        };
        let whole = RawJsonRef::parse(std::str::from_utf8(&frame).unwrap()).unwrap();
        let small = whole.reader().peek_member("params").unwrap().unwrap();
        assert!(is_shared(&Payload::part(&frame, whole)));
        assert!(!is_shared(&Payload::part(&frame, small)));
        assert!(is_shared(&Payload::kept_part(&frame, whole)));
        let short = Bytes::from_static(br#"{"a":{"b":1}}"#);
        let whole = RawJsonRef::parse(std::str::from_utf8(&short).unwrap()).unwrap();
        assert_eq!(Payload::part(&short, whole).text.as_ptr(), short.as_ptr());
        assert_ne!(
            Payload::kept_part(&short, whole).text.as_ptr(),
            short.as_ptr()
        );
        let elsewhere = RawJsonRef::parse("{}").unwrap();
        assert_eq!(Payload::part(&short, elsewhere), Payload::EMPTY);
    }
}
