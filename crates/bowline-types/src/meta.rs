//! `_meta`: the open map of metadata on messages and items.
//!
//! Each place has a type of its own: [`RequestMeta`], [`ServerRequestMeta`], [`ResultMeta`],
//! [`SubscriptionResultMeta`], [`NotificationMeta`], and [`Meta`] for items such as tools and
//! content. All keep every entry unchanged. [`MetaKey`] constants give typed access, to the keys
//! that the protocol reserves ([`keys`]) and to your own:
//!
//! ```
//! use bowline_types::meta::{MetaKey, RequestMeta, keys};
//!
//! const TENANT: MetaKey<String> = MetaKey::new("com.example/tenant");
//!
//! let meta = RequestMeta::new()
//!     .with(keys::PROTOCOL_VERSION, "2026-07-28")
//!     .with(keys::PROGRESS_TOKEN, 7)
//!     .with(TENANT, "acme");
//! assert_eq!(meta.read(keys::PROTOCOL_VERSION)?.as_deref(), Some("2026-07-28"));
//! assert_eq!(meta.read(TENANT)?.as_deref(), Some("acme"));
//! assert_eq!(meta.read(keys::LOG_LEVEL)?, None);
//! # Ok::<(), bowline_types::DecodeError>(())
//! ```
//!
//! `key_grammar` checks keys, `trace_parent` parses the trace context.

mod key_grammar;
mod trace_parent;

use std::fmt;
use std::marker::PhantomData;

use crate::capabilities::ClientCapabilities;
use crate::common::Implementation;
use crate::id::{ProgressToken, RequestId};
use crate::json::{
    DecodeError, Encoder, JsonObject, Kind, Members as Entries, NotInRevision, RawJson, RawJsonRef,
    Reader, Reason,
};
use crate::logging::LoggingLevel;
use crate::revision::{Revision, Revisions};
use crate::tasks::RelatedTask;
use crate::wire::{Decode, Encode, Member, Shape, Struct, Wire};

pub use key_grammar::{is_reserved_key, is_valid_key};
pub use trace_parent::{TraceParent, TraceParentError};

/// The key of a `_meta` entry, with the type of its value.
pub struct MetaKey<T> {
    name: &'static str,
    value: PhantomData<fn() -> T>,
}

impl<T> MetaKey<T> {
    /// Creates a key of your own. Use a prefix that you own, such as `com.example/`.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            value: PhantomData,
        }
    }

    /// Returns the name of the key.
    pub const fn name(self) -> &'static str {
        self.name
    }
}

impl<T> Clone for MetaKey<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for MetaKey<T> {}

impl<T> fmt::Debug for MetaKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MetaKey").field(&self.name).finish()
    }
}

/// The keys that the protocol reserves.
pub mod keys {
    use super::*;

    /// In a request: the token for progress notifications.
    pub const PROGRESS_TOKEN: MetaKey<ProgressToken> = MetaKey::new("progressToken");
    /// In a request since 2026-07-28, required: the revision of the request.
    pub const PROTOCOL_VERSION: MetaKey<String> =
        MetaKey::new("io.modelcontextprotocol/protocolVersion");
    /// In a request since 2026-07-28, required: the capabilities of the client.
    pub const CLIENT_CAPABILITIES: MetaKey<ClientCapabilities> =
        MetaKey::new("io.modelcontextprotocol/clientCapabilities");
    /// In a request since 2026-07-28: the name and version of the client.
    pub const CLIENT_INFO: MetaKey<Implementation> =
        MetaKey::new("io.modelcontextprotocol/clientInfo");
    /// In a request since 2026-07-28: the minimum level of log messages.
    pub const LOG_LEVEL: MetaKey<LoggingLevel> = MetaKey::new("io.modelcontextprotocol/logLevel");
    /// In a result since 2026-07-28: the name and version of the server.
    pub const SERVER_INFO: MetaKey<Implementation> =
        MetaKey::new("io.modelcontextprotocol/serverInfo");
    /// In messages of a subscription since 2026-07-28: the id of its `subscriptions/listen`.
    pub const SUBSCRIPTION_ID: MetaKey<RequestId> =
        MetaKey::new("io.modelcontextprotocol/subscriptionId");
    /// In 2025-11-25: the task that the message belongs to.
    pub const RELATED_TASK: MetaKey<RelatedTask> =
        MetaKey::new("io.modelcontextprotocol/related-task");
    /// In a task handle of 2025-11-25: text for the model while the task runs.
    pub const MODEL_IMMEDIATE_RESPONSE: MetaKey<String> =
        MetaKey::new("io.modelcontextprotocol/model-immediate-response");
    /// W3C Trace Context: the calling span. See also [`TraceParent`].
    pub const TRACEPARENT: MetaKey<String> = MetaKey::new("traceparent");
    /// W3C Trace Context: vendor-specific data.
    pub const TRACESTATE: MetaKey<String> = MetaKey::new("tracestate");
    /// W3C Baggage.
    pub const BAGGAGE: MetaKey<String> = MetaKey::new("baggage");
}

/// Declares a `_meta` type. Writing fails if a key is missing that the revision requires.
macro_rules! meta_type {
    (
        $(#[$attribute:meta])*
        $name:ident {
            $($key:path: $type:ty $(, in $revisions:expr)? $(, must $must:expr)? ;)*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name(JsonObject);

        impl $name {
            /// Creates an empty map.
            pub const fn new() -> Self {
                Self(JsonObject::new())
            }

            /// Returns the value of a key, or `None` if it is absent. Fails if the value has
            /// another type.
            pub fn read<T: Decode>(&self, key: MetaKey<T>) -> Result<Option<T>, DecodeError> {
                let value = self.0.get(key.name).filter(|value| value.kind() != Kind::Null);
                let Some(value) = value else {
                    return Ok(None);
                };
                let value = T::decode(&mut value.reader());
                value.map(Some).map_err(|error| error.under_key(key.name))
            }

            /// Sets a key. When the map is written, a key that the protocol reserves is encoded
            /// for the revision, and omitted if the revision lacks it.
            pub fn set<T: Wire>(&mut self, key: MetaKey<T>, value: impl Into<T>) {
                // Without a revision only a number that is not finite fails to encode. It becomes
                // `null`, which reads back as absent.
                let value = value.into().to_lossless_json().unwrap_or_else(|_| RawJson::null());
                self.0.insert(key.name, value);
            }

            /// Returns the map with a key set.
            #[must_use]
            pub fn with<T: Wire>(mut self, key: MetaKey<T>, value: impl Into<T>) -> Self {
                self.set(key, value);
                self
            }

            /// Removes a key.
            pub fn remove(&mut self, key: &str) -> Option<RawJson> {
                self.0.remove(key)
            }

            /// Returns the value of any key as JSON.
            pub fn get(&self, key: &str) -> Option<RawJsonRef<'_>> {
                self.0.get(key)
            }

            /// Sets any key to any value.
            pub fn insert(&mut self, key: &str, value: impl Into<RawJson>) {
                self.0.insert(key, value);
            }

            /// Returns an iterator over the entries, in order.
            pub fn iter(&self) -> Entries<'_> {
                self.0.iter()
            }

            /// Returns `true` if the map has no entries.
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }

            /// Returns the map as a JSON object.
            pub fn as_object(&self) -> &JsonObject {
                &self.0
            }

            /// Returns the calling span, if it is present and well formed.
            pub fn trace_parent(&self) -> Option<TraceParent> {
                self.read(keys::TRACEPARENT).ok()??.parse().ok()
            }
        }

        impl From<JsonObject> for $name {
            fn from(object: JsonObject) -> Self {
                Self(object)
            }
        }

        impl Decode for $name {
            fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                JsonObject::decode(reader).map(Self)
            }
        }

        impl Encode for $name {
            fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), NotInRevision> {
                for member in Self::SHAPE.as_struct().members {
                    let is_required = encoder
                        .revision()
                        .is_some_and(|revision| member.required.contains(revision));
                    let is_required = is_required && !encoder.allows_missing_meta();
                    if is_required && !self.0.contains_key(member.name) {
                        return Err(encoder.not_in_revision(Reason::Missing(member.name)));
                    }
                }
                encoder.begin_object();
                for (key, value) in self.0.iter() {
                    $(if key.is($key.name()) {
                        let revisions = revisions!($($revisions)?);
                        encode_reserved::<$type>(encoder, $key.name(), revisions, value)?;
                        continue;
                    })*
                    if key.is(keys::RELATED_TASK.name()) {
                        let revisions = Revisions::only(Revision::V2025_11_25);
                        let name = keys::RELATED_TASK.name();
                        encode_reserved::<RelatedTask>(encoder, name, revisions, value)?;
                        continue;
                    }
                    encoder.raw_member(key, value);
                }
                encoder.end_object();
                Ok(())
            }
        }

        impl Wire for $name {
            const SHAPE: &'static Shape = &Shape::Struct(&Struct::new(
                stringify!($name),
                Revisions::ALL,
                &[
                    $(Member::new(
                        $key.name(),
                        <$type as Wire>::SHAPE,
                        revisions!($($revisions)?),
                        meta_type!(@required $($must)?),
                    ),)*
                    Member::new(
                        keys::RELATED_TASK.name(),
                        RelatedTask::SHAPE,
                        Revisions::only(Revision::V2025_11_25),
                        Revisions::NONE,
                    ),
                    Member::new(keys::TRACEPARENT.name(), &Shape::String, Revisions::ALL, Revisions::NONE),
                    Member::new(keys::TRACESTATE.name(), &Shape::String, Revisions::ALL, Revisions::NONE),
                    Member::new(keys::BAGGAGE.name(), &Shape::String, Revisions::ALL, Revisions::NONE),
                ],
                true,
            ));
        }

        crate::wire::serde_through_json!($name);
    };
    (@required) => { Revisions::NONE };
    (@required $must:expr) => { revisions!($must) };
}

/// Writes the value of a key that the protocol reserves, encoded for the revision.
fn encode_reserved<T: Wire>(
    encoder: &mut Encoder<'_>,
    name: &'static str,
    revisions: Revisions,
    value: RawJsonRef<'_>,
) -> Result<(), NotInRevision> {
    if encoder.revision().is_none() {
        return encoder.member(name, &value);
    }
    if !encoder.has_revision_in(revisions) {
        return Ok(());
    }
    match T::decode(&mut value.reader()) {
        Ok(value) => encoder.member(name, &value),
        Err(_) => Err(encoder.not_in_revision(Reason::Invalid(name))),
    }
}

meta_type! {
    /// `_meta` of a tool, a resource, a content block and other items.
    Meta {}
}

meta_type! {
    /// `_meta` of a request's parameters.
    ///
    /// Since 2026-07-28 each request carries the revision and the capabilities of the client here.
    /// Writing it without them fails.
    RequestMeta {
        keys::PROGRESS_TOKEN: ProgressToken;
        keys::PROTOCOL_VERSION: String, in since(V2026_07_28), must since(V2026_07_28);
        keys::CLIENT_CAPABILITIES: ClientCapabilities, in since(V2026_07_28), must since(V2026_07_28);
        keys::CLIENT_INFO: Implementation, in since(V2026_07_28);
        keys::LOG_LEVEL: LoggingLevel, in since(V2026_07_28);
    }
}

meta_type! {
    /// `_meta` of the parameters of a server's request, or of an input request.
    ServerRequestMeta {
        keys::PROGRESS_TOKEN: ProgressToken, in until(V2025_11_25);
    }
}

meta_type! {
    /// `_meta` of a result.
    ResultMeta {
        keys::SERVER_INFO: Implementation, in since(V2026_07_28);
    }
}

meta_type! {
    /// `_meta` of a notification's parameters.
    NotificationMeta {
        keys::SUBSCRIPTION_ID: RequestId, in since(V2026_07_28);
    }
}

meta_type! {
    /// `_meta` of the result that ends a subscription, with the id of the subscription.
    SubscriptionResultMeta {
        keys::SERVER_INFO: Implementation, in since(V2026_07_28);
        keys::SUBSCRIPTION_ID: RequestId, in since(V2026_07_28), must since(V2026_07_28);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_are_kept_unchanged() {
        let text = r#"{"x/y":{"deep":[1.0]},"progressToken":"t"}"#;
        let mut meta = RequestMeta::from_json(text).unwrap();
        assert_eq!(meta.to_json(Revision::V2024_11_05).unwrap().as_str(), text);
        assert_eq!(
            meta.get("x/y").map(RawJsonRef::as_str),
            Some(r#"{"deep":[1.0]}"#)
        );
        assert_eq!(meta.remove("x/y").unwrap().as_str(), r#"{"deep":[1.0]}"#);
        assert_eq!(meta.iter().count(), 1);
    }

    #[test]
    fn a_value_of_the_wrong_type_names_its_key() {
        let meta = RequestMeta::from_json(r#"{"io.modelcontextprotocol/logLevel":3}"#).unwrap();
        let error = meta.read(keys::LOG_LEVEL).unwrap_err();
        assert_eq!(error.path(), r#"["io.modelcontextprotocol/logLevel"]"#);
    }

    // proves: PV-3
    #[test]
    fn a_stateless_request_names_its_revision_and_capabilities() {
        let revision = Revision::V2026_07_28;
        let bare = RequestMeta::new();
        let error = bare.to_json(revision).unwrap_err();
        assert_eq!(
            error.reason(),
            &Reason::Missing(keys::PROTOCOL_VERSION.name())
        );
        assert!(bare.to_json(Revision::V2025_11_25).is_ok());
        let full = bare
            .with(keys::PROTOCOL_VERSION, revision.as_str())
            .with(keys::CLIENT_CAPABILITIES, ClientCapabilities::new());
        assert!(full.to_json(revision).is_ok());
    }

    // proves: TE-3
    #[test]
    fn trace_context_is_typed_and_lenient() {
        let span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let meta = Meta::new().with(keys::TRACEPARENT, span);
        assert_eq!(meta.trace_parent().unwrap().to_string(), span);
        assert_eq!(
            Meta::new().with(keys::TRACEPARENT, "junk").trace_parent(),
            None
        );
    }

    // proves: PV-5
    #[test]
    fn reserved_keys_follow_the_revision() {
        use crate::capabilities::{ClientTasksCapability, RootsCapability};
        let capabilities = ClientCapabilities::new()
            .roots(RootsCapability::new().list_changed(true))
            .tasks(ClientTasksCapability::new());
        let meta = RequestMeta::new()
            .with(keys::PROTOCOL_VERSION, "2026-07-28")
            .with(keys::CLIENT_CAPABILITIES, capabilities.clone())
            .with(keys::RELATED_TASK, RelatedTask::new("t"))
            .with(keys::PROGRESS_TOKEN, 1);
        let new = meta.to_json(Revision::V2026_07_28).unwrap();
        let new: RequestMeta = Wire::from_json(new.as_str()).unwrap();
        let written = capabilities.to_json(Revision::V2026_07_28).unwrap();
        let name = keys::CLIENT_CAPABILITIES.name();
        assert_eq!(
            new.get(name).map(RawJsonRef::as_str),
            Some(written.as_str())
        );
        assert_eq!(new.get(keys::RELATED_TASK.name()), None);
        let old = meta.to_json(Revision::V2025_11_25).unwrap();
        assert_eq!(
            old.as_str(),
            r#"{"io.modelcontextprotocol/related-task":{"taskId":"t"},"progressToken":1}"#
        );
        let invalid = r#"{"io.modelcontextprotocol/protocolVersion":5,"io.modelcontextprotocol/clientCapabilities":{}}"#;
        let invalid = RequestMeta::from_json(invalid).unwrap();
        let error = invalid.to_json(Revision::V2026_07_28).unwrap_err();
        assert_eq!(
            error.reason(),
            &Reason::Invalid(keys::PROTOCOL_VERSION.name())
        );
    }

    #[test]
    fn null_counts_as_absent() {
        let meta = RequestMeta::from_json(r#"{"progressToken":null}"#).unwrap();
        assert_eq!(meta.read(keys::PROGRESS_TOKEN), Ok(None));
    }
}
