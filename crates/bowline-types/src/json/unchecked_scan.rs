//! Finding the parts of a text that is known to be JSON.
//!
//! A text is scanned several times: by the envelope pass, and then by each reader of a part of it.
//! After the first pass it needs no further checks: only the ends of its values are searched, by
//! skipping strings and counting brackets. In a text that is not JSON the result is a wrong place,
//! never a panic or an endless loop.

use memchr::memchr2;

use super::raw_string::quote_of_first;

/// The end of a string: the place behind its quote, and whether there are escapes in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StringEnd {
    pub(super) end: usize,
    pub(super) is_escaped: bool,
}

/// Returns the end of the value that begins at `at`, at any depth. Returns `None` if the text ends
/// first.
#[inline]
pub(super) fn value_end(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' => string_end(bytes, at + 1).map(|string| string.end),
        b'{' | b'[' => container_end(bytes, at),
        _ => {
            let rest = bytes.get(at..)?;
            let is_behind =
                |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
            let length = rest.iter().position(is_behind).unwrap_or(rest.len());
            (length > 0).then_some(at + length)
        }
    }
}

/// Returns the end of the string whose first byte after the quote is at `at`.
#[inline]
pub(super) fn string_end(bytes: &[u8], at: usize) -> Option<StringEnd> {
    let rest = bytes.get(at..)?;
    // Most strings are names.
    match quote_of_first(rest) {
        Some(length) => Some(StringEnd {
            end: at + length + 1,
            is_escaped: false,
        }),
        None => long_string_end(bytes, at),
    }
}

#[inline(never)]
fn long_string_end(bytes: &[u8], mut at: usize) -> Option<StringEnd> {
    let mut is_escaped = false;
    loop {
        let special = at + memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(special) == Some(&b'"') {
            let end = special + 1;
            return Some(StringEnd { end, is_escaped });
        }
        is_escaped = true;
        at = special + 2;
    }
}

fn container_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut open = 0_usize;
    loop {
        let byte = bytes.get(at)?;
        at += 1;
        match byte {
            b'"' => at = string_end(bytes, at)?.end,
            b'{' | b'[' => open += 1,
            b'}' | b']' => {
                // The first byte was a bracket.
                open -= 1;
                if open == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
}

/// Returns the next position that is not white space.
#[inline]
pub(super) fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Scanner;
    use super::*;

    fn check(text: &str) {
        let mut scanner = Scanner::new(text);
        let value = scanner.value(0).expect("JSON");
        let start = skip_space(text.as_bytes(), 0);
        let end = value_end(text.as_bytes(), start).expect("an end");
        assert_eq!(text.get(start..end), Some(value), "{text}");
    }

    #[test]
    fn values_end_where_they_do_for_the_checking_scan() {
        for text in [
            "0",
            " -1.5e3 ,",
            "true]",
            "null}",
            "\"\"",
            "\"\\\"\" , 1",
            "\"\\\\\"",
            "\"1234567\" ",
            "\"12345678\" ",
            "\"12345678\\\"x\" ",
            "{} {}",
            "[[],{\"]\":\"}\"},\"\\\\\"] ]",
            " {\"a\" : [ 1 , \"é\\u00e9😀\" ] } ",
        ] {
            check(text);
        }
    }

    #[test]
    fn a_text_that_is_no_json_has_an_end_or_none() {
        for text in [
            "",
            "\"",
            "\"abc\\",
            "\"12345678\\",
            "{",
            "[{\"a",
            "{\"a\":[}",
            "]",
            ",",
        ] {
            let end = value_end(text.as_bytes(), 0);
            assert!(end.is_none_or(|end| end <= text.len()), "{text}");
        }
        assert_eq!(value_end(b"1", 7), None);
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            "\\PC{0,40}|[\"\\\\\n]{0,12}".prop_map(Into::into),
        ];
        leaf.prop_recursive(5, 40, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                proptest::collection::btree_map("\\PC{0,12}", inner, 0..6)
                    .prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
            #[test]
            fn so_do_those_of_any_value(value in json(), is_pretty in any::<bool>()) {
                let text = if is_pretty {
    serde_json::to_string_pretty(&value)
    } else {
    serde_json::to_string(&value)
    };
                check(&text.expect("JSON"));
            }
        }
}
