//! `wire_choice!`: enumerations of strings.

/// Declares an enumeration of strings. A peer may know other values.
macro_rules! wire_choice {
    (
        $(#[$type_attribute:meta])*
        pub enum $name:ident {
            $($(#[$attribute:meta])* $variant:ident = $wire:literal,)+
        }
    ) => {
        $(#[$type_attribute])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$attribute])* $variant,)+
            /// An unknown value.
            Other(Box<str>),
        }

        impl $name {
            /// Returns the wire name.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $wire,)+
                    Self::Other(other) => other,
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl From<&str> for $name {
            fn from(name: &str) -> Self {
                match name {
                    $($wire => Self::$variant,)+
                    other => Self::Other(other.into()),
                }
            }
        }

        impl $crate::wire::Decode for $name {
            fn decode(
                reader: &mut $crate::json::Reader<'_>,
            ) -> Result<Self, $crate::json::DecodeError> {
                Ok(Self::from(&*reader.string()?))
            }
        }

        impl $crate::wire::Encode for $name {
            fn encode(
                &self,
                encoder: &mut $crate::json::Encoder<'_>,
            ) -> Result<(), $crate::json::NotInRevision> {
                encoder.string(self.as_str());
                Ok(())
            }
        }

        impl $crate::wire::Wire for $name {
            const SHAPE: &'static $crate::wire::Shape =
                &$crate::wire::Shape::Choice(&$crate::wire::Choice {
                    name: stringify!($name),
                    known: &[$($wire),+],
                });
        }

        $crate::wire::serde_through_json!($name);
    };
}
