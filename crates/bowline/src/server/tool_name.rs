//! What a tool may be called.
//!
//! Spec 2025-11-25, server/tools: names have 1 to 128 characters, which are A-Z, a-z, 0-9, `_`,
//! `-` and `.`. It only recommends that. What no client can be expected to cope with is refused;
//! what some can't is logged, since servers that use `/` are in use. Clients take any name that a
//! server lists.

/// The most characters of a name.
const MAX_CHARACTERS: usize = 128;

/// More characters than this are refused by the interfaces of some models.
const MODEL_CHARACTERS: usize = 64;

const ALLOWED: &str = "1 to 128 characters A-Z, a-z, 0-9, \"_\", \"-\", \".\"";

/// Returns why a tool can't have this name.
pub(super) fn problem(name: &str) -> Option<String> {
    let characters = name.chars().count();
    if characters > MAX_CHARACTERS {
        let begin: String = name.chars().take(MODEL_CHARACTERS).collect();
        return Some(format!(
            "tool \"{}…\": its name has {characters} characters (the limit is {MAX_CHARACTERS})",
            begin.escape_debug()
        ));
    }
    if name.is_empty() {
        return Some(format!("tool \"\": its name is empty (allowed: {ALLOWED})"));
    }
    let (place, character) = find(name, |character| {
        character.is_whitespace() || character.is_control()
    })?;
    Some(format!(
        "tool {name:?}: its name has {character:?} at character {place} (allowed: {ALLOWED})"
    ))
}

/// Returns what some clients may not like about a name that is allowed.
pub(super) fn caution(name: &str) -> Option<String> {
    let is_usual =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.');
    if let Some((place, character)) = find(name, |character| !is_usual(character)) {
        return Some(format!(
            "tool {name:?}: its name has {character:?} at character {place}, which clients need \
             not accept (recommended: {ALLOWED})"
        ));
    }
    let characters = name.chars().count();
    (characters > MODEL_CHARACTERS).then(|| {
        format!(
            "tool {name:?}: its name has {characters} characters, and some models accept \
             {MODEL_CHARACTERS} at most"
        )
    })
}

/// Returns the first character that is so, and its place from 1 on.
fn find(name: &str, is_wanted: impl Fn(char) -> bool) -> Option<(usize, char)> {
    let mut characters = (1..).zip(name.chars());
    characters.find(|(_, character)| is_wanted(*character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusual_names_are_allowed_with_a_caution() {
        for (name, expected) in [
            ("files/read", "has '/' at character 6, which clients"),
            ("größe", "has 'ö' at character 3, which clients"),
            ("a\u{200b}", "has '\\u{200b}' at character 2, which clients"),
            (
                &"a".repeat(65),
                "has 65 characters, and some models accept 64",
            ),
        ] {
            assert_eq!(problem(name), None, "{name}");
            let caution = caution(name).expect(name);
            assert!(caution.contains(expected), "{caution}");
        }
        for name in ["a", "A-z_0.9", &"a".repeat(64)] {
            assert_eq!((problem(name), caution(name)), (None, None), "{name}");
        }
    }
}
