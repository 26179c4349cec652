//! The characters that a terminal can show.

use std::ffi::OsString;

/// The characters to draw with. Text of servers is not affected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Charset {
    /// Unicode.
    Unicode,
    /// ASCII only.
    Ascii,
}

impl Charset {
    /// Returns the charset of the locale, from the first of its variables that is set.
    pub(crate) fn of_locale(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .filter_map(variable)
            .find(|value| !value.is_empty());
        let name = locale.unwrap_or_default();
        let name = name.to_string_lossy().to_ascii_lowercase();
        if name.contains("utf-8") || name.contains("utf8") {
            Self::Unicode
        } else {
            Self::Ascii
        }
    }

    /// Returns the variant for this charset.
    pub(crate) fn pick<T>(self, unicode: T, ascii: T) -> T {
        match self {
            Self::Unicode => unicode,
            Self::Ascii => ascii,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_decides() {
        for (variables, expected) in [
            (&[][..], Charset::Ascii),
            (&[("LANG", "C")], Charset::Ascii),
            (&[("LANG", "de_DE.UTF-8")], Charset::Unicode),
            (&[("LANG", "de_DE.utf8")], Charset::Unicode),
            (&[("LANG", "de_DE.UTF-8"), ("LC_ALL", "C")], Charset::Ascii),
            (&[("LANG", "en_US.UTF-8"), ("LC_ALL", "")], Charset::Unicode),
            (&[("LANG", "C"), ("LC_CTYPE", "C.UTF-8")], Charset::Unicode),
        ] {
            let variable = |name: &str| {
                let found = variables.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| OsString::from(value))
            };
            assert_eq!(Charset::of_locale(variable), expected, "{variables:?}");
        }
    }
}
