//! The grammar of `_meta` keys and extension ids.

use crate::revision::Revision;

/// Returns `true` if `key` follows the grammar of `_meta` keys: an optional prefix of labels
/// separated by dots and followed by a slash, then a name.
///
/// ```
/// use bowline_types::meta::is_valid_key;
///
/// assert!(is_valid_key("com.example/tenant") && is_valid_key("progressToken"));
/// assert!(!is_valid_key("-x") && !is_valid_key("1com/x"));
/// ```
pub fn is_valid_key(key: &str) -> bool {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    prefix.is_none_or(|prefix| prefix.split('.').all(is_label)) && is_name(name)
}

/// Returns `true` if the protocol reserves `key` in `revision`.
///
/// Up to 2025-06-18 a prefix is reserved if `modelcontextprotocol` or `mcp` is any of its labels
/// but the last; since 2025-11-25, if it is the second one. Avoid keys that either rule reserves.
pub fn is_reserved_key(key: &str, revision: Revision) -> bool {
    let Some((prefix, _)) = key.split_once('/') else {
        return false;
    };
    let is_protocol_label = |label: &&str| matches!(*label, "modelcontextprotocol" | "mcp");
    let labels: Vec<_> = prefix.split('.').collect();
    if revision >= Revision::V2025_11_25 {
        labels.get(1).is_some_and(is_protocol_label)
    } else {
        // `mcp.dev/` and `tools.mcp.com/` are reserved, `com.example.mcp/` is not.
        labels.iter().rev().skip(1).any(is_protocol_label)
    }
}

fn is_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

fn is_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return true;
    };
    first.is_ascii_alphanumeric()
        && last.is_ascii_alphanumeric()
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_follow_the_grammar() {
        for valid in [
            "a",
            "progressToken",
            "io.modelcontextprotocol/x",
            "a/",
            "a-b.c/d_e.f-g",
            "x9/1",
        ] {
            assert!(is_valid_key(valid), "{valid}");
        }
        for invalid in [
            "_x", "x_", "a b", "/x", "a..b/x", "9a/x", "a-/x", "a/b/c", "é",
        ] {
            assert!(!is_valid_key(invalid), "{invalid}");
        }
        assert!(is_valid_key(""));
    }

    #[test]
    fn reserved_prefixes_changed_with_2025_11_25() {
        use Revision::*;
        for (key, old, new) in [
            ("io.modelcontextprotocol/x", false, true),
            ("com.mcp.tools/x", true, true),
            ("mcp.dev/x", true, false),
            ("com.example.mcp/x", false, false),
            ("com.example/x", false, false),
            ("mcp", false, false),
        ] {
            assert_eq!(is_reserved_key(key, V2025_06_18), old, "{key}");
            assert_eq!(is_reserved_key(key, V2025_11_25), new, "{key}");
        }
    }
}
