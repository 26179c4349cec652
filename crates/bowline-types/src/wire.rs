//! How types reach the wire: reading, writing in the words of a revision, and shapes.
//!
//! Every MCP type is declared once, with `wire_struct!`, `wire_choice!` or
//! `wire_union!`. The declaration names each member, its wire name and the revisions
//! that have it, and from it follow the Rust type with its constructor and setters, the
//! [`Decode`] and [`Encode`] implementations, and a [`Shape`] that says the same thing
//! as data. The shapes are what `bowline explain` checks messages against, and what
//! the tests compare with the official schema files.
//!
//! Reading is lenient, since a peer may be newer than we are: unknown members are kept
//! or ignored, `null` counts as absent where a member is optional. Writing is strict:
//! what the revision doesn't have is left out, and a value that would mean something
//! else without it is [`NotInRevision`].
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

/// A type that can be read from JSON text.
pub trait Decode: Sized {
    /// Reads one value.
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;
}

/// A type that can be written in the words of a revision.
pub trait Encode {
    /// Writes the value. On an error the buffer holds a part of it.
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), NotInRevision>;
}

/// A type of the protocol: readable, writable, and described by a shape.
pub trait Wire: Decode + Encode {
    /// What the type looks like on the wire, in all revisions.
    const SHAPE: &'static Shape;

    /// Reads a value from a text that holds nothing else.
    fn from_json(text: &str) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(text);
        let value = Self::decode(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }

    /// Reads a value from a text that was checked before, as far as it is JSON.
    fn from_json_ref(json: RawJsonRef<'_>) -> Result<Self, DecodeError> {
        Self::decode(&mut json.reader())
    }

    /// Writes the value in the words of `revision`.
    fn to_json(&self, revision: Revision) -> Result<RawJson, NotInRevision> {
        let mut text = Vec::new();
        self.encode(&mut Encoder::new(&mut text, revision))?;
        Ok(RawJson::written(text))
    }

    /// Appends the value to `out` in the words of `revision`. On an error `out` is as
    /// it was.
    fn encode_into(&self, revision: Revision, out: &mut Vec<u8>) -> Result<(), NotInRevision> {
        let start = out.len();
        let outcome = self.encode(&mut Encoder::new(out, revision));
        if outcome.is_err() {
            out.truncate(start);
        }
        outcome
    }

    /// Writes everything that is set, in its newest spelling, for showing and storing.
    /// This is also what `serde` serializes.
    fn to_lossless_json(&self) -> Result<RawJson, NotInRevision> {
        let mut text = Vec::new();
        self.encode(&mut Encoder::lossless(&mut text))?;
        Ok(RawJson::written(text))
    }
}

/// A type whose members can be written without the braces around them.
///
/// A request's head (id, `_meta`) changes with every attempt and every connection,
/// its body does not. This writes the body alone, to be shared by all attempts.
pub trait Members: Wire {
    /// Writes the members, with `_meta` among them or not.
    fn encode_members(
        &self,
        encoder: &mut Encoder<'_>,
        with_meta: bool,
    ) -> Result<(), NotInRevision>;
}
