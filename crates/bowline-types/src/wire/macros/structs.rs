//! `wire_struct!`: objects with named members.
//!
//! The syntax. The parts after the wire name are optional, in this order:
//!
//! ```text
//! wire_struct! {
//!     /// Documentation.
//!     pub struct Name
//!         [since(V2025_03_26)]                      revisions that have the type; default all
//!         checked by function                       additional check before encoding
//!         , requiring TABLE                         the same check as conditions of the shape
//!     {
//!         @required "type" = "audio";               member with a constant value
//!         @lenient "resultType" = "complete", in …; the same, with absence meaning the value
//!         /// Documentation.
//!         req field: Type = "wireName";             required; a parameter of `new`
//!         opt field: Type = "wireName",             optional; has a setter
//!             in since(V2025_06_18),                revisions that have the member; default all
//!             must only(V2025_11_25),               revisions that require it; default none
//!             renamed "newName" since V2026_07_28,  another wire name from that revision on;
//!                                                   excludes `in` and `must`
//!             or error,                             `NotInRevision` where it is unsupported
//!             when guard,                           omitted unless `guard(&value, revision)`
//!             default "0",                          value if required and not set
//!             shaped &SHAPE,                        shape, if not that of the type
//!             skipping invalid;                     items that don't decode are skipped
//!         ..extras;                                 unknown members are kept here
//!         !skipped_items;                           skipped items are reported here
//!     }
//! }
//! ```
//!
//! Kinds of members:
//!
//! - `req` is required.
//! - `opt` is optional.
//! - `def` is required when written, and empty if absent when read.
//! - `hint` is optional, and treated as absent if it doesn't decode.
//! - `nul` is required, and may be `null`.
//! - `any` is optional, and `null` is a value.
//! - `meta` is an optional `_meta`.

macro_rules! wire_struct {
    (
        $(#[$type_attribute:meta])*
        pub struct $name:ident $([$type_revisions:expr])? $(checked by $check:path)?
            $(, requiring $conditions:path)?
        {
            $(
                @ $literal_kind:ident $literal:literal = $literal_value:literal
                $(, in $literal_revisions:expr)? ;
            )*
            $(
                $(#[$attribute:meta])*
                $kind:ident $field:ident : $type:ty = $wire:literal
                $(, in $revisions:expr)?
                $(, must $must:expr)?
                $(, renamed $new_wire:literal since $renamed_since:ident)?
                $(, or $essential:ident)?
                $(, when $guard:expr)?
                $(, default $default:literal)?
                $(, shaped $shape:expr)?
                $(, skipping $skipped:ident)?
                ;
            )*
            $(.. $extras:ident ;)?
            $(! $skipped_items:ident ;)?
        }
    ) => {
        $(#[$type_attribute])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $(
                $(#[$attribute])*
                pub $field: wire_struct!(@type $kind $type),
            )*
            $(
                /// Unknown members.
                pub $extras: $crate::json::JsonObject,
            )?
            $(
                /// Items that could not be decoded. Never written.
                pub $skipped_items: $crate::pagination::SkippedItems,
            )?
        }

        wire_struct!(@new $name [] [$($extras)? $($skipped_items)?] $($kind $field: $type;)*);

        impl $name {
            const REVISIONS: $crate::revision::Revisions = revisions!($($type_revisions)?);
            #[allow(dead_code, reason = "only types that keep unknown members need it")]
            const NAMES: &'static [&'static str] = &[$($literal,)* $($wire,)*];

            $(wire_struct!(@setter $kind $field $type);)*
        }

        impl $crate::wire::Decode for $name {
            fn decode(
                reader: &mut $crate::json::Reader<'_>,
            ) -> Result<Self, $crate::json::DecodeError> {
                $(let mut $field: Option<$type> = None;)*
                $(let mut $extras = $crate::json::JsonObject::new();)?
                #[allow(unused_mut, unused_variables, reason = "only lists skip items")]
                let mut skipped_items = $crate::pagination::SkippedItems::default();
                reader.object(|reader, key| match key {
                    $($wire $(| $new_wire)? =>
                        wire_struct!(@decode $kind $field reader $wire skipped_items [$($skipped)?]),)*
                    $($literal => $crate::wire::expect_literal(reader, $literal_value),)*
                    _ => {
                        let _value = reader.raw()?;
                        $($extras.append(key, _value);)?
                        Ok(())
                    }
                })?;
                Ok(Self {
                    $($field: wire_struct!(@finish $kind $field reader $wire),)*
                    $($extras,)?
                    $($skipped_items: skipped_items,)?
                })
            }
        }

        impl $crate::wire::EncodeMembers for $name {
            #[allow(unused_variables, reason = "some types have no members, some no `_meta`")]
            fn encode_members(
                &self,
                encoder: &mut $crate::json::Encoder<'_>,
                with_meta: bool,
            ) -> Result<(), $crate::json::NotInRevision> {
                encoder.require_revision(stringify!($name), Self::REVISIONS)?;
                $($check(self, encoder)?;)?
                $(
                    encoder.write_literal(
                        revisions!($($literal_revisions)?),
                        concat!("\"", $literal, "\":\"", $literal_value, "\""),
                        wire_struct!(@is_lenient $literal_kind),
                    );
                )*
                $({
                    let rule = wire_struct!(@rule encoder $kind $wire
                        [$($revisions)?] [$($must)?] [$($new_wire $renamed_since)?]
                        [$($essential)?] [$($default)?]);
                    wire_struct!(@encode $kind encoder rule with_meta self.$field [$($guard)?]);
                })*
                $(
                    encoder.write_extras(&self.$extras, Self::NAMES);
                )?
                Ok(())
            }
        }

        impl $crate::wire::Encode for $name {
            fn encode(
                &self,
                encoder: &mut $crate::json::Encoder<'_>,
            ) -> Result<(), $crate::json::NotInRevision> {
                encoder.begin_object();
                $crate::wire::EncodeMembers::encode_members(self, encoder, true)?;
                encoder.end_object();
                Ok(())
            }
        }

        impl $crate::wire::Wire for $name {
            const SHAPE: &'static $crate::wire::Shape =
                &$crate::wire::Shape::Struct(&$crate::wire::Struct::new(
                    stringify!($name),
                    Self::REVISIONS,
                    &[
                        $($crate::wire::Member::new(
                            $literal,
                            &$crate::wire::Shape::Literal($literal_value),
                            Self::REVISIONS.intersection(revisions!($($literal_revisions)?)),
                            $crate::revision::Revisions::ALL,
                        ),)*
                        $(
                            $crate::wire::Member::new(
                                $wire,
                                wire_struct!(@shape $kind $type, $($shape)?),
                                Self::REVISIONS
                                    .intersection(revisions!($($revisions)?))
                                    $(.without(revisions!(since($renamed_since))))?,
                                wire_struct!(@required $kind [$($must)?]),
                            ),
                            $($crate::wire::Member::new(
                                $new_wire,
                                wire_struct!(@shape $kind $type,),
                                Self::REVISIONS.intersection(revisions!(since($renamed_since))),
                                wire_struct!(@required $kind []),
                            ),)?
                        )*
                    ],
                    wire_struct!(@is_open $($extras)?),
                )$(.with_conditions(&$conditions))?);
        }

        $crate::wire::serde_through_json!($name);
    };

    (@type req $type:ty) => { $type };
    (@type def $type:ty) => { $type };
    (@type $optional:ident $type:ty) => { Option<$type> };

    // The constructor takes the required members; all others are empty.
    (@new $name:ident [$($rest:ident)*] [$($extras:ident)?]) => {
        impl $name {
            /// Creates a value with nothing set.
            pub fn new() -> Self {
                Self {
                    $($rest: Default::default(),)*
                    $($extras: Default::default(),)?
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new()
            }
        }
    };
    (@new $name:ident [$($rest:ident)*] [$($extras:ident)?] | $($required:ident: $type:ty),+) => {
        impl $name {
            /// Creates a value from the members that all revisions require.
            pub fn new($($required: impl Into<$type>),+) -> Self {
                Self {
                    $($required: $required.into(),)+
                    $($rest: Default::default(),)*
                    $($extras: Default::default(),)?
                }
            }
        }
    };
    (@new $name:ident [$($rest:ident)*] $extras:tt
        req $field:ident: $type:ty; $($more:tt)*
    ) => {
        wire_struct!(@new_required $name [$($rest)*] $extras [$field: $type] $($more)*);
    };
    (@new $name:ident [$($rest:ident)*] $extras:tt
        $kind:ident $field:ident: $type:ty; $($more:tt)*
    ) => {
        wire_struct!(@new $name [$($rest)* $field] $extras $($more)*);
    };
    (@new_required $name:ident $rest:tt $extras:tt [$($required:tt)*]) => {
        wire_struct!(@new $name $rest $extras | $($required)*);
    };
    (@new_required $name:ident $rest:tt $extras:tt [$($required:tt)*]
        req $field:ident: $type:ty; $($more:tt)*
    ) => {
        wire_struct!(@new_required $name $rest $extras [$($required)*, $field: $type] $($more)*);
    };
    (@new_required $name:ident [$($rest:ident)*] $extras:tt $required:tt
        $kind:ident $field:ident: $type:ty; $($more:tt)*
    ) => {
        wire_struct!(@new_required $name [$($rest)* $field] $extras $required $($more)*);
    };

    (@setter req $field:ident $type:ty) => {};
    (@setter def $field:ident $type:ty) => {
        #[doc = concat!("Sets `", stringify!($field), "`.")]
        #[must_use]
        pub fn $field(mut self, value: impl Into<$type>) -> Self {
            self.$field = value.into();
            self
        }
    };
    (@setter $optional:ident $field:ident $type:ty) => {
        #[doc = concat!("Sets `", stringify!($field), "`.")]
        #[must_use]
        pub fn $field(mut self, value: impl Into<$type>) -> Self {
            self.$field = Some(value.into());
            self
        }
    };

    (@decode req $field:ident $reader:ident $wire:literal $skipped_items:ident [invalid]) => {
        $crate::wire::decode_items(&mut $field, $reader, $wire, &mut $skipped_items)
    };
    (@decode req $field:ident $reader:ident $($rest:tt)*) => {
        $crate::wire::decode_member(&mut $field, $reader)
    };
    (@decode hint $field:ident $reader:ident $($rest:tt)*) => {
        $crate::wire::decode_hint_member(&mut $field, $reader)
    };
    (@decode any $field:ident $reader:ident $($rest:tt)*) => {
        $crate::wire::decode_member(&mut $field, $reader)
    };
    (@decode $optional:ident $field:ident $reader:ident $($rest:tt)*) => {
        $crate::wire::decode_optional_member(&mut $field, $reader)
    };

    (@finish req $field:ident $reader:ident $wire:literal) => {
        $field.ok_or_else(|| $reader.problem($crate::json::Problem::Missing($wire)))?
    };
    (@finish def $field:ident $reader:ident $wire:literal) => { $field.unwrap_or_default() };
    (@finish $optional:ident $field:ident $reader:ident $wire:literal) => { $field };

    (@is_lenient required) => { false };
    (@is_lenient lenient) => { true };

    (@rule $encoder:ident $kind:ident $wire:literal $revisions:tt $must:tt [] $essential:tt $default:tt) => {
        const { &wire_struct!(@rule_for $wire $kind $revisions $must $essential $default) }
    };
    (@rule $encoder:ident $kind:ident $wire:literal $revisions:tt $must:tt
        [$new_wire:literal $since:ident] $essential:tt $default:tt
    ) => {
        if $encoder.has_revision_in(revisions!(since($since))) {
            const { &wire_struct!(@rule_for $new_wire $kind $revisions $must $essential $default) }
        } else {
            const { &wire_struct!(@rule_for $wire $kind $revisions $must $essential $default) }
        }
    };
    (@rule_for $wire:literal $kind:ident [$($revisions:expr)?] $must:tt [$($essential:ident)?] [$($default:literal)?]) => {
        $crate::wire::MemberRule {
            name: $wire,
            key: concat!("\"", $wire, "\":"),
            revisions: revisions!($($revisions)?),
            required: wire_struct!(@required $kind $must),
            is_essential: wire_struct!(@is_essential $($essential)?),
            default: wire_struct!(@default $($default)?),
        }
    };
    (@is_essential) => { false };
    (@is_essential error) => { true };
    (@default) => { None };
    (@default $default:literal) => { Some($default) };

    (@encode req $encoder:ident $rule:ident $with_meta:ident $self:ident.$field:ident []) => {
        $encoder.write_required($rule, &$self.$field)?
    };
    (@encode def $encoder:ident $rule:ident $with_meta:ident $self:ident.$field:ident []) => {
        $encoder.write_required($rule, &$self.$field)?
    };
    (@encode nul $encoder:ident $rule:ident $with_meta:ident $self:ident.$field:ident []) => {
        $encoder.write_nullable($rule, $self.$field.as_ref())?
    };
    (@encode meta $encoder:ident $rule:ident $with_meta:ident $self:ident.$field:ident []) => {
        if $with_meta {
            $encoder.write_optional($rule, $self.$field.as_ref())?
        }
    };
    (@encode $optional:ident $encoder:ident $rule:ident $with_meta:ident $self:ident.$field:ident []) => {
        $encoder.write_optional($rule, $self.$field.as_ref())?
    };
    (@encode $optional:ident $encoder:ident $rule:ident $with_meta:ident $self:ident.$field:ident [$guard:expr]) => {
        let supported = $self.$field.as_ref().filter(|value| {
            $encoder.revision().is_none_or(|revision| $guard(value, revision))
        });
        $encoder.write_optional($rule, supported)?
    };

    (@shape $kind:ident $type:ty, $shape:expr) => { $shape };
    (@shape nul $type:ty,) => {
        &$crate::wire::Shape::Nullable(<$type as $crate::wire::Wire>::SHAPE)
    };
    (@shape $kind:ident $type:ty,) => { <$type as $crate::wire::Wire>::SHAPE };

    (@required req $must:tt) => { $crate::revision::Revisions::ALL };
    (@required def $must:tt) => { $crate::revision::Revisions::ALL };
    (@required nul $must:tt) => { $crate::revision::Revisions::ALL };
    (@required $optional:ident []) => { $crate::revision::Revisions::NONE };
    (@required $optional:ident [$must:expr]) => { revisions!($must) };

    (@is_open) => { false };
    (@is_open $extras:ident) => { true };
}
