//! `wire_union!`: values of one of several types.

/// Declares a type that is one of several. `decided by` names a function that inspects the reader
/// and returns the name of the variant. A value whose variant isn't listed is kept unchanged as
/// `Other`. `else` names a function that converts a variant for revisions that lack it. With
/// `keeps invalid` a value that doesn't decode as its variant is kept as `Other`, too.
macro_rules! wire_union {
    (
        $(#[$type_attribute:meta])*
        pub enum $name:ident decided by $select:expr, $decision:literal $(, else $fallback:path)? $(, keeps $invalid:ident)? {
            $(
                $(#[$attribute:meta])*
                $variant:ident($type:ty) = $wire:literal $(, in $revisions:expr)? ;
            )+
        }
    ) => {
        $(#[$type_attribute])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$attribute])* $variant($type),)+
            /// A value of an unknown kind, unchanged.
            Other($crate::json::RawJson),
        }

        $(
            impl From<$type> for $name {
                fn from(value: $type) -> Self {
                    Self::$variant(value)
                }
            }
        )+

        impl $crate::wire::Decode for $name {
            fn decode(
                reader: &mut $crate::json::Reader<'_>,
            ) -> Result<Self, $crate::json::DecodeError> {
                let selected = $select(reader)?;
                let before = reader.clone();
                let decoded = match &*selected {
                    $($wire => <$type as $crate::wire::Decode>::decode(reader).map(Self::$variant),)+
                    _ => Ok(Self::Other(reader.raw()?.to_owned())),
                };
                match decoded {
                    Err(_) if wire_union!(@keeps $($invalid)?) => {
                        *reader = before;
                        Ok(Self::Other(reader.raw()?.to_owned()))
                    }
                    decoded => decoded,
                }
            }
        }

        impl $crate::wire::Encode for $name {
            fn encode(
                &self,
                encoder: &mut $crate::json::Encoder<'_>,
            ) -> Result<(), $crate::json::NotInRevision> {
                let (name, known_in) = match self {
                    $(Self::$variant(_) => ($wire, revisions!($($revisions)?)),)+
                    Self::Other(_) => ("", $crate::revision::Revisions::ALL),
                };
                if !encoder.has_revision_in(known_in) {
                    $(
                        if let Some(replacement) = $fallback(self) {
                            return $crate::wire::Encode::encode(&replacement, encoder);
                        }
                    )?
                    encoder.require_revision(name, known_in)?;
                }
                match self {
                    $(Self::$variant(value) => $crate::wire::Encode::encode(value, encoder),)+
                    Self::Other(other) => $crate::wire::Encode::encode(other, encoder),
                }
            }
        }

        impl $crate::wire::Wire for $name {
            const SHAPE: &'static $crate::wire::Shape =
                &$crate::wire::Shape::Union(&$crate::wire::Union {
                    name: stringify!($name),
                    decided_by: $decision,
                    variants: &[$($crate::wire::Variant {
                        name: $wire,
                        revisions: revisions!($($revisions)?),
                        shape: <$type as $crate::wire::Wire>::SHAPE,
                    }),+],
                    select: |json| {
                        let selected = $select(&mut json.reader()).ok()?;
                        [$($wire),+].iter().position(|name| selected == **name)
                    },
                });
        }

        $crate::wire::serde_through_json!($name);
    };
    (@keeps) => { false };
    (@keeps invalid) => { true };
}
