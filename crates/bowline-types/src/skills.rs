//! Skills: instructions and files for a model, served as resources. The extension
//! `io.modelcontextprotocol/skills` of 2026-07-28 (SEP-2640).
//!
//! A skill is a directory of resources with a `SKILL.md`, whose front matter has a name and a
//! description. A server lists its skills with the digest and size of each file, so that a client
//! can verify what it reads.
//!
//! ```
//! use bowline_types::JsonObject;
//! use bowline_types::skills::{Skill, SkillFile, SkillFiles};
//!
//! let front_matter = JsonObject::parse(r#"{"name":"invoices","description":"Reads invoices"}"#)?;
//! let file = SkillFile::new("skill://invoices/SKILL.md", format!("sha256:{}", "0".repeat(64)), 120);
//! let skill = Skill::new("skill://invoices/SKILL.md", front_matter, SkillFiles::Listed(vec![file]));
//! assert_eq!(skill.name().as_deref(), Some("invoices"));
//! # Ok::<(), bowline_types::DecodeError>(())
//! ```

use crate::caching::CacheScope;
use crate::json::{DecodeError, Encoder, JsonObject, Kind, NotInRevision, Reader};
use crate::meta::{Meta, RequestMeta, ResultMeta};
use crate::resources::Resource;
use crate::wire::{Decode, Encode, Shape, Union, Variant, Wire, expect_literal};

/// The id of the skills extension.
pub const EXTENSION: &str = "io.modelcontextprotocol/skills";

wire_struct! {
    /// The settings with which a server declares the extension.
    pub struct SkillsCapability [since(V2026_07_28)] {
        /// The server supports `resources/directory/read`.
        opt directory_read: bool = "directoryRead";
        ..extras;
    }
}

wire_struct! {
    /// A skill as a server lists it.
    pub struct Skill [since(V2026_07_28)] {
        /// The URI of the `SKILL.md`.
        req uri: String = "uri";
        /// The front matter of the `SKILL.md`, as JSON.
        req frontmatter: JsonObject = "frontmatter";
        /// The files.
        req resources: SkillFiles = "resources";
        /// Additional metadata.
        meta meta: Meta = "_meta";
        ..extras;
    }
}

impl Skill {
    /// Returns the name in the front matter.
    pub fn name(&self) -> Option<String> {
        self.frontmatter.get("name")?.to().ok()
    }

    /// Returns the description in the front matter.
    pub fn description(&self) -> Option<String> {
        self.frontmatter.get("description")?.to().ok()
    }
}

/// The files of a skill.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SkillFiles {
    /// The list of all files, including `SKILL.md`.
    Listed(Vec<SkillFile>),
    /// The files change too often to be listed.
    Dynamic,
}

const DYNAMIC: &str = "dynamic";

impl Decode for SkillFiles {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match reader.kind()? {
            Kind::String => expect_literal(reader, DYNAMIC).map(|()| Self::Dynamic),
            _ => Vec::decode(reader).map(Self::Listed),
        }
    }
}

impl Encode for SkillFiles {
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), NotInRevision> {
        match self {
            Self::Listed(files) => files.encode(encoder),
            Self::Dynamic => DYNAMIC.encode(encoder),
        }
    }
}

impl Wire for SkillFiles {
    const SHAPE: &'static Shape = &Shape::Union(&Union {
        name: "SkillFiles",
        decided_by: "its JSON type",
        variants: &[
            Variant {
                name: "array",
                revisions: revisions!(since(V2026_07_28)),
                shape: <Vec<SkillFile>>::SHAPE,
            },
            Variant {
                name: "string",
                revisions: revisions!(since(V2026_07_28)),
                shape: &Shape::Literal(DYNAMIC),
            },
        ],
        select: |json| match json.kind() {
            Kind::Array => Some(0),
            Kind::String => Some(1),
            _ => None,
        },
    });
}

crate::wire::serde_through_json!(SkillFiles);

wire_struct! {
    /// A file of a skill.
    pub struct SkillFile [since(V2026_07_28)] {
        /// The URI, inside the directory of the skill.
        req uri: String = "uri";
        /// The digest: `sha256:` and 64 lower-case hexadecimal digits.
        req digest: String = "digest";
        /// The size in bytes.
        req size: i64 = "size";
    }
}

list_result! {
    /// The result of `skills/list`.
    pub struct ListSkillsResult [since(V2026_07_28)] {
        /// The skills of the page.
        skills: Vec<Skill> = "skills";
    }
}

wire_struct! {
    /// The parameters of `skills/get`.
    pub struct GetSkillParams [since(V2026_07_28)] {
        /// The URI of the `SKILL.md`.
        req uri: String = "uri";
        /// Additional metadata.
        meta meta: RequestMeta = "_meta", must since(V2026_07_28);
    }
}

wire_struct! {
    /// The result of `skills/get`.
    pub struct GetSkillResult [since(V2026_07_28)] {
        @lenient "resultType" = "complete";
        /// The skill.
        req skill: Skill = "skill";
        /// How long the result may be cached, in milliseconds.
        hint ttl_ms: i64 = "ttlMs", must since(V2026_07_28),
            when crate::caching::is_duration, default "0", shaped &crate::wire::Shape::Natural;
        /// Which clients may share a cached copy.
        hint cache_scope: CacheScope = "cacheScope", must since(V2026_07_28), default "\"private\"";
        /// Additional metadata.
        meta meta: ResultMeta = "_meta";
    }
}

wire_struct! {
    /// The parameters of `resources/directory/read`.
    pub struct ReadDirectoryParams [since(V2026_07_28)] {
        /// The URI of the directory.
        req uri: String = "uri";
        /// The cursor of the page; the first page if absent.
        opt cursor: String = "cursor";
        /// Additional metadata.
        meta meta: RequestMeta = "_meta", must since(V2026_07_28);
    }
}

wire_struct! {
    /// The result of `resources/directory/read`: the direct entries of a directory. Directories
    /// have the media type `inode/directory`.
    pub struct ReadDirectoryResult [since(V2026_07_28)] {
        @lenient "resultType" = "complete";
        /// The files and directories of the page.
        req resources: Vec<Resource> = "resources";
        /// The cursor of the next page; absent on the last page.
        opt next_cursor: String = "nextCursor";
        /// How long the result may be cached, in milliseconds.
        hint ttl_ms: i64 = "ttlMs", when crate::caching::is_duration,
            shaped &crate::wire::Shape::Natural;
        /// Which clients may share a cached copy.
        hint cache_scope: CacheScope = "cacheScope";
        /// Additional metadata.
        meta meta: ResultMeta = "_meta";
    }
}
