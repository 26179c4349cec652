//! Errors on the wire: the object, the codes, and what they mean in each revision.
//!
//! ```
//! use bowline_types::error::{ErrorCode, ErrorObject};
//! use bowline_types::Revision;
//!
//! // A missing resource has a code of its own up to 2025-11-25, and none since.
//! assert_eq!(ErrorCode::ResourceNotFound.code(Revision::V2025_11_25), Some(-32002));
//! assert_eq!(ErrorCode::ResourceNotFound.code(Revision::V2026_07_28), Some(-32602));
//!
//! let error = ErrorObject::new(-32602, "unknown tool \"ad\"");
//! assert_eq!(error.error_code(Revision::LATEST), Some(ErrorCode::InvalidParams));
//! ```

pub mod codes;

use std::fmt;

use crate::capabilities::ClientCapabilities;
use crate::elicitation::ElicitUrlParams;
use crate::json::{DecodeError, RawJson};
use crate::revision::{Revision, Revisions};
use crate::wire::{Shape, Wire};

wire_struct! {
    /// The error of a response.
    pub struct ErrorObject {
        /// What kind of error; [`ErrorCode`] has those of the protocol.
        req code: i64 = "code";
        /// What happened, in one sentence.
        req message: String = "message";
        /// More, of a form that the code decides.
        any data: RawJson = "data";
    }
}

impl ErrorObject {
    /// Creates the error for a message that is not JSON.
    pub fn parse_error(message: impl Into<String>) -> Self {
        Self::new(codes::PARSE_ERROR, message)
    }

    /// Creates the error for a message that is no JSON-RPC, or not allowed now.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(codes::INVALID_REQUEST, message)
    }

    /// Creates the error for a method that is unknown, or of a capability that isn't offered.
    pub fn method_not_found(message: impl Into<String>) -> Self {
        Self::new(codes::METHOD_NOT_FOUND, message)
    }

    /// Creates the error for wrong parameters: an unknown tool, a bad cursor, and so on.
    ///
    /// ```
    /// use bowline_types::ErrorObject;
    ///
    /// let error = ErrorObject::invalid_params("there is no tool \"ad\"");
    /// assert_eq!(error.code, -32602);
    /// ```
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(codes::INVALID_PARAMS, message)
    }

    /// Creates the error for a failure of the receiver.
    pub fn internal_error(message: impl Into<String>) -> Self {
        Self::new(codes::INTERNAL_ERROR, message)
    }

    /// Creates the error for a resource that doesn't exist. Its `data` repeat the beginning of the
    /// URI. The code depends on the revision.
    pub fn resource_not_found(uri: &str, revision: Revision) -> Self {
        let code = ErrorCode::ResourceNotFound.code(revision);
        let uri: String = uri.chars().take(SHOWN_URI).collect();
        let code = code.unwrap_or(codes::INVALID_PARAMS);
        Self::new(code, "there is no such resource").with_data(&ResourceNotFoundData::new(uri))
    }

    /// Creates an error of the protocol. Returns `None` if `revision` has no code for it.
    pub fn with_code(
        code: ErrorCode,
        revision: Revision,
        message: impl Into<String>,
    ) -> Option<Self> {
        Some(Self::new(code.code(revision)?, message))
    }

    /// Sets one of the types below as the `data`. Data that can't be encoded
    /// are left out.
    #[must_use]
    pub fn with_data<T: Wire>(mut self, data: &T) -> Self {
        self.data = data.to_lossless_json().ok();
        self
    }

    /// Returns what the code means in `revision`; `None` when the protocol doesn't define it.
    pub fn error_code(&self, revision: Revision) -> Option<ErrorCode> {
        ErrorCode::from_code(self.code, revision)
    }

    /// Returns `data` as one of the types below. `None` when there is none.
    pub fn data_as<T: Wire>(&self) -> Result<Option<T>, DecodeError> {
        let Some(data) = &self.data else {
            return Ok(None);
        };
        let data = T::decode(&mut data.as_ref().reader());
        data.map(Some).map_err(|error| error.under_key("data"))
    }
}

/// A peer decides how long its URIs are; this much of one is repeated.
const SHOWN_URI: usize = 2048;

/// A peer decides how long its messages are; this much of one is shown.
const SHOWN_MESSAGE: usize = 1024;

impl fmt::Display for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message.char_indices().nth(SHOWN_MESSAGE) {
            Some((end, _)) => write!(f, "{}…", self.message.get(..end).unwrap_or_default())?,
            None => f.write_str(&self.message)?,
        }
        write!(f, " (code {})", self.code)
    }
}

impl std::error::Error for ErrorObject {}

/// The errors that the protocol knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// The message is not JSON.
    ParseError,
    /// The message is no JSON-RPC, or not allowed now.
    InvalidRequest,
    /// The method is unknown, or of a capability that isn't offered.
    MethodNotFound,
    /// The parameters are wrong: an unknown tool, a bad cursor, and so on.
    InvalidParams,
    /// The receiver failed.
    InternalError,
    /// The resource doesn't exist. Since 2026-07-28 it has the code of
    /// [`InvalidParams`](Self::InvalidParams).
    ResourceNotFound,
    /// The user has to visit pages first. Only in 2025-11-25.
    UrlElicitationRequired,
    /// A header and the message disagree. Since 2026-07-28.
    HeaderMismatch,
    /// The client lacks a capability that the request needs. Since 2026-07-28.
    MissingRequiredClientCapability,
    /// The server doesn't speak the revision of the request. Since 2026-07-28.
    UnsupportedProtocolVersion,
    /// The user refused a sampling request. Up to 2025-11-25.
    UserRejected,
}

/// Which code means what, and in which revisions: the one table of error codes.
const CODES: [(i64, ErrorCode, Revisions); 11] = {
    use crate::revision::terms::*;
    [
        (codes::PARSE_ERROR, ErrorCode::ParseError, Revisions::ALL),
        (
            codes::INVALID_REQUEST,
            ErrorCode::InvalidRequest,
            Revisions::ALL,
        ),
        (
            codes::METHOD_NOT_FOUND,
            ErrorCode::MethodNotFound,
            Revisions::ALL,
        ),
        (
            codes::INVALID_PARAMS,
            ErrorCode::InvalidParams,
            Revisions::ALL,
        ),
        (
            codes::INTERNAL_ERROR,
            ErrorCode::InternalError,
            Revisions::ALL,
        ),
        (
            codes::RESOURCE_NOT_FOUND,
            ErrorCode::ResourceNotFound,
            until(V2025_11_25),
        ),
        (
            codes::URL_ELICITATION_REQUIRED,
            ErrorCode::UrlElicitationRequired,
            only(V2025_11_25),
        ),
        (
            codes::HEADER_MISMATCH,
            ErrorCode::HeaderMismatch,
            since(V2026_07_28),
        ),
        (
            codes::MISSING_REQUIRED_CLIENT_CAPABILITY,
            ErrorCode::MissingRequiredClientCapability,
            since(V2026_07_28),
        ),
        (
            codes::UNSUPPORTED_PROTOCOL_VERSION,
            ErrorCode::UnsupportedProtocolVersion,
            since(V2026_07_28),
        ),
        (
            codes::USER_REJECTED,
            ErrorCode::UserRejected,
            until(V2025_11_25),
        ),
    ]
};

impl ErrorCode {
    /// Returns every kind.
    pub fn all() -> impl Iterator<Item = Self> {
        CODES.into_iter().map(|(_, kind, _)| kind)
    }

    /// Returns the code of the kind in `revision`. `None` if the revision doesn't have it.
    pub fn code(self, revision: Revision) -> Option<i64> {
        // 2026-07-28, server/resources: not found is an invalid parameter.
        let kind = match self {
            Self::ResourceNotFound if revision >= Revision::V2026_07_28 => Self::InvalidParams,
            other => other,
        };
        CODES
            .into_iter()
            .find(|(_, known, revisions)| *known == kind && revisions.contains(revision))
            .map(|(code, _, _)| code)
    }

    /// Returns the kind that `code` means in `revision`. `None` when the protocol gives it no
    /// meaning there: codes of applications, and reserved ones.
    ///
    /// -32002 is understood in every revision: 2026-07-28 forbids it, and asks clients to
    /// accept it all the same.
    pub fn from_code(code: i64, revision: Revision) -> Option<Self> {
        CODES
            .into_iter()
            .find(|(known, kind, revisions)| {
                let is_accepted = *kind == Self::ResourceNotFound || revisions.contains(revision);
                *known == code && is_accepted
            })
            .map(|(_, kind, _)| kind)
    }

    /// Returns the shape of the `data` that `revision` demands with it. `None` when it demands
    /// none.
    pub fn data(self, revision: Revision) -> Option<&'static Shape> {
        self.code(revision)?;
        match self {
            Self::UrlElicitationRequired => Some(UrlElicitationData::SHAPE),
            Self::MissingRequiredClientCapability => Some(MissingCapabilityData::SHAPE),
            Self::UnsupportedProtocolVersion => Some(UnsupportedVersionData::SHAPE),
            Self::ParseError
            | Self::InvalidRequest
            | Self::MethodNotFound
            | Self::InvalidParams
            | Self::InternalError
            | Self::ResourceNotFound
            | Self::HeaderMismatch
            | Self::UserRejected => None,
        }
    }

    /// Returns the revisions that have a code for it.
    pub fn revisions(self) -> Revisions {
        Revision::ALL
            .into_iter()
            .filter(|revision| self.code(*revision).is_some())
            .collect()
    }

    /// Returns the name that the protocol gives it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ParseError => "parse error",
            Self::InvalidRequest => "invalid request",
            Self::MethodNotFound => "method not found",
            Self::InvalidParams => "invalid params",
            Self::InternalError => "internal error",
            Self::ResourceNotFound => "resource not found",
            Self::UrlElicitationRequired => "URL elicitation required",
            Self::HeaderMismatch => "header mismatch",
            Self::MissingRequiredClientCapability => "missing required client capability",
            Self::UnsupportedProtocolVersion => "unsupported protocol version",
            Self::UserRejected => "user rejected",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns `true` if an implementation may send `code` in `revision`: the codes that the revision
/// defines, and those outside the range that JSON-RPC and MCP reserve.
pub fn can_send(code: i64, revision: Revision) -> bool {
    let is_defined = ErrorCode::all().any(|kind| kind.code(revision) == Some(code));
    let is_reserved = if revision >= Revision::V2026_07_28 {
        // 2026-07-28, basic: -32000 to -32019 are for old implementations, -32020 to
        // -32099 for the specification.
        (-32768..=-32000).contains(&code)
    } else {
        (-32768..=-32100).contains(&code)
    };
    is_defined || !is_reserved
}

wire_struct! {
    /// `data` of [`ErrorCode::UnsupportedProtocolVersion`].
    pub struct UnsupportedVersionData {
        /// The revisions that the server speaks.
        req supported: Vec<String> = "supported";
        /// The one that was asked for.
        req requested: String = "requested";
    }
}

wire_struct! {
    /// `data` of [`ErrorCode::MissingRequiredClientCapability`].
    pub struct MissingCapabilityData {
        /// What the request needs.
        req required_capabilities: ClientCapabilities = "requiredCapabilities";
    }
}

wire_struct! {
    /// `data` of [`ErrorCode::UrlElicitationRequired`].
    pub struct UrlElicitationData [only(V2025_11_25)] {
        /// The pages.
        req elicitations: Vec<ElicitUrlParams> = "elicitations";
        ..extras;
    }
}

wire_struct! {
    /// `data` of [`ErrorCode::ResourceNotFound`].
    pub struct ResourceNotFoundData {
        /// The resource.
        req uri: String = "uri";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: ER-3
    #[test]
    fn codes_map_both_ways_in_every_revision() {
        for revision in Revision::ALL {
            for kind in ErrorCode::all() {
                let Some(code) = kind.code(revision) else {
                    continue;
                };
                let back = ErrorCode::from_code(code, revision).unwrap();
                let folded =
                    kind == ErrorCode::ResourceNotFound && revision.era() == crate::Era::Stateless;
                let expected = if folded {
                    ErrorCode::InvalidParams
                } else {
                    kind
                };
                assert_eq!(back, expected, "{code} in {revision}");
                assert!(can_send(code, revision));
            }
        }
    }

    #[test]
    fn codes_that_changed_with_the_revisions() {
        use ErrorCode::*;
        let (old, new) = (Revision::V2025_11_25, Revision::V2026_07_28);
        for (kind, in_old, in_new) in [
            (ResourceNotFound, Some(-32002), Some(-32602)),
            (UrlElicitationRequired, Some(-32042), None),
            (HeaderMismatch, None, Some(-32020)),
            (MissingRequiredClientCapability, None, Some(-32021)),
            (UnsupportedProtocolVersion, None, Some(-32022)),
            (UserRejected, Some(-1), None),
        ] {
            assert_eq!((kind.code(old), kind.code(new)), (in_old, in_new), "{kind}");
        }
        assert_eq!(UrlElicitationRequired.revisions().to_string(), "2025-11-25");
        // Read from a stateless server, though it may not send it.
        assert_eq!(ErrorCode::from_code(-32002, new), Some(ResourceNotFound));
        for forbidden in [-32002, -32042, -32001, -32050] {
            assert!(!can_send(forbidden, new), "{forbidden}");
        }
        assert!(can_send(-1, new) && can_send(7, new) && can_send(-32001, old));
    }

    #[test]
    fn a_resource_that_is_not_found_has_the_code_of_the_revision() {
        for (revision, code) in [
            (Revision::V2025_11_25, codes::RESOURCE_NOT_FOUND),
            (Revision::V2026_07_28, codes::INVALID_PARAMS),
        ] {
            let error = ErrorObject::resource_not_found(&"é".repeat(5000), revision);
            assert_eq!(error.code, code);
            assert_eq!(
                error.error_code(Revision::V2025_11_25),
                ErrorCode::from_code(code, revision)
            );
            let data: ResourceNotFoundData = error.data_as().unwrap().unwrap();
            assert_eq!(data.uri.chars().count(), SHOWN_URI);
        }
    }

    // proves: F-JR-21
    #[test]
    fn foreign_codes_and_long_messages_are_kept_and_shown_in_part() {
        for code in [-32001, -32099, 0, i64::MAX] {
            let error =
                ErrorObject::from_json(&format!(r#"{{"code":{code},"message":"m"}}"#)).unwrap();
            assert_eq!(
                (error.code, error.error_code(Revision::LATEST)),
                (code, None)
            );
        }
        let long = ErrorObject::new(-32603, "é".repeat(1 << 20));
        assert_eq!(long.message.len(), 2 << 20);
        assert_eq!(
            long.to_string().chars().count(),
            SHOWN_MESSAGE + "… (code -32603)".chars().count()
        );
    }

    #[test]
    fn an_error_needs_an_integer_code_and_a_message() {
        for bad in [
            r#"{"message":"m"}"#,
            r#"{"code":1.5,"message":"m"}"#,
            r#"{"code":1}"#,
            "\"oops\"",
        ] {
            assert!(ErrorObject::from_json(bad).is_err(), "{bad}");
        }
        let error = ErrorObject::new(-32022, "no")
            .data(serde_json::json!({"supported": [], "requested": "x"}));
        let data: UnsupportedVersionData = error.data_as().unwrap().unwrap();
        assert_eq!(data.requested, "x");
        let wrong = error.data_as::<ResourceNotFoundData>().unwrap_err();
        assert_eq!(wrong.path(), "data");
    }
}
