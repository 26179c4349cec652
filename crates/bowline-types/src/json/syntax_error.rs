//! What can be wrong with a JSON text.

use std::fmt;

use super::MAX_DEPTH;

/// What is wrong with a JSON text, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The fault.
    pub kind: SyntaxErrorKind,
    /// Bytes before the fault.
    pub offset: usize,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.kind, self.offset)
    }
}

impl std::error::Error for SyntaxError {}

/// The ways in which a text can fail to be JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyntaxErrorKind {
    /// The text ends inside a value.
    UnexpectedEnd,
    /// A byte that can't stand here.
    UnexpectedByte(u8),
    /// A control character inside a string, where only its escape is allowed.
    ControlCharacter(u8),
    /// A backslash followed by something that is no escape.
    BadEscape,
    /// A `\u` escape of half a surrogate pair, where the text is needed as a string.
    LoneSurrogate,
    /// A number with a leading zero, a lone minus, or no digit where one must be.
    BadNumber,
    /// Containers nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// Something other than white space after the value.
    TrailingText,
}

impl fmt::Display for SyntaxErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::UnexpectedEnd => f.write_str("the text ends inside a value"),
            Self::UnexpectedByte(byte) => {
                write!(f, "unexpected `{}`", [byte].escape_ascii())
            }
            Self::ControlCharacter(byte) => {
                write!(f, "unescaped control character 0x{byte:02x} in a string")
            }
            Self::BadEscape => f.write_str("unknown escape in a string"),
            Self::LoneSurrogate => f.write_str("escape of a lone surrogate in a string"),
            Self::BadNumber => f.write_str("malformed number"),
            Self::TooDeep => write!(f, "nested deeper than {MAX_DEPTH} levels"),
            Self::TrailingText => f.write_str("text after the end of the value"),
        }
    }
}
