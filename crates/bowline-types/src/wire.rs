//! Encoding and decoding of the protocol's types for each revision.
//!
//! Each MCP type is declared once, with `wire_struct!`, `wire_choice!` or `wire_union!`. The
//! declaration lists each member, its wire name and its revisions. It generates the Rust type with
//! its constructor and setters, the [`Decode`] and [`Encode`] implementations, and a [`Shape`]
//! that describes the same as data. `bowline explain` checks messages against the shapes, and the
//! tests compare them with the official schema files.
//!
//! Decoding is lenient, since a peer may be newer than this crate: unknown members are kept or
//! ignored, and `null` counts as absent where a member is optional. Encoding is strict: a member
//! that the revision lacks is omitted, or the value fails with [`NotInRevision`] if the omission
//! would change its meaning.
//!
//! - `macros/`: the declarations. Every type goes through them; a type with its own encoding
//!   implements the traits by hand beside its declaration.
//! - `primitives`: strings, numbers, lists, and the decoding of a single member.
//! - `member_rule`: the encoding of a single member.
//! - `shape` and `check`: types as data, and validation against them.
//! - `map`: the ordered map.
//!
//! ```
//! use bowline_types::tools::Tool;
//! use bowline_types::{InputSchema, Revision, Wire};
//!
//! let tool = Tool::new("add", InputSchema::empty()).title("Addition");
//! let new = tool.to_json(Revision::V2025_06_18)?;
//! assert_eq!(new.as_str(), r#"{"name":"add","title":"Addition","inputSchema":{"type":"object"}}"#);
//! // Titles came with 2025-06-18.
//! let old = tool.to_json(Revision::V2025_03_26)?;
//! assert_eq!(old.as_str(), r#"{"name":"add","inputSchema":{"type":"object"}}"#);
//! assert_eq!(Tool::from_json(new.as_str())?, tool);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod primitives;
#[macro_use]
mod macros;
mod map;
mod member_rule;
mod shape;

use crate::json::{DecodeError, Encoder, NotInRevision, RawJson, RawJsonRef, Reader};
use crate::revision::Revision;

pub use check::{Finding, MAX_FINDINGS, Severity, check};
pub use map::Map;
pub use shape::{Choice, Condition, Member, Shape, Struct, Union, Variant};

pub(crate) use member_rule::MemberRule;
pub(crate) use primitives::{
    decode_hint_member, decode_items, decode_member, decode_optional_member, expect_literal,
    serde_through_json,
};

/// A type that can be decoded from JSON text.
pub trait Decode: Sized {
    /// Decodes one value.
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;
}

/// A type that can be encoded for a revision.
pub trait Encode {
    /// Encodes the value. On an error the buffer holds a part of it.
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), NotInRevision>;
}

/// A type of the protocol, which can be decoded, encoded, and described by a shape.
pub trait Wire: Decode + Encode {
    /// The wire format of the type, in all revisions.
    const SHAPE: &'static Shape;

    /// Decodes a value from a text that holds nothing else.
    fn from_json(text: &str) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(text);
        let value = Self::decode(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }

    /// Decodes a value from validated JSON text.
    fn from_json_ref(json: RawJsonRef<'_>) -> Result<Self, DecodeError> {
        Self::decode(&mut json.reader())
    }

    /// Encodes the value for `revision`.
    fn to_json(&self, revision: Revision) -> Result<RawJson, NotInRevision> {
        let mut text = Vec::new();
        self.encode(&mut Encoder::new(&mut text, revision))?;
        Ok(RawJson::written(text))
    }

    /// Appends the value, encoded for `revision`, to `out`. On an error `out` is unchanged.
    fn encode_into(&self, revision: Revision, out: &mut Vec<u8>) -> Result<(), NotInRevision> {
        let start = out.len();
        let outcome = self.encode(&mut Encoder::new(out, revision));
        if outcome.is_err() {
            out.truncate(start);
        }
        outcome
    }

    /// Encodes everything that is set, with the newest member names, for display and storage.
    /// `serde` serializes the same.
    fn to_lossless_json(&self) -> Result<RawJson, NotInRevision> {
        let mut text = Vec::new();
        self.encode(&mut Encoder::lossless(&mut text))?;
        Ok(RawJson::written(text))
    }
}

/// A type whose members can be encoded without the braces around them.
///
/// The head of a request (id, `_meta`) changes with each attempt and each connection, its body
/// does not. The body is encoded alone, and shared by all attempts.
pub trait EncodeMembers: Wire {
    /// Encodes the members, with or without `_meta`.
    fn encode_members(
        &self,
        encoder: &mut Encoder<'_>,
        with_meta: bool,
    ) -> Result<(), NotInRevision>;
}
