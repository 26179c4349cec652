//! Patterns with lookaround, and unsupported patterns.

use serde_json::{Value, json};

use super::super::*;
use super::compile;

/// Patterns that zod generates.
const EMAIL: &str = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$";
const HOST: &str = r"^(?=.{1,253}\.?$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[-0-9a-zA-Z]{0,61}[0-9a-zA-Z])?)*\.?$";
const DURATION: &str = r"^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$";
const EMOJI: &str = r"^(\p{Extended_Pictographic}|\p{Emoji_Component})+$";

#[test]
fn patterns_with_lookaround_are_matched() {
    let long = format!("{}.de", "a.".repeat(130));
    for (pattern, fit, others) in [
        (
            EMAIL,
            vec!["a.b@c.de", "o'k@x-y.org"],
            vec![".a@b.cd", "a..b@c.de", "a@b"],
        ),
        (
            HOST,
            vec!["example.com", "a-b.c."],
            vec!["-a.b", "", &*long],
        ),
        (
            DURATION,
            vec!["P3W", "P1Y2M", "PT0.5S", "P1DT2H"],
            vec!["P", "PT", "P1W2D", "P1DT"],
        ),
        (EMOJI, vec!["🙂"], vec!["a"]),
        ("(?=a)b", vec![], vec!["ab", "b", ""]),
        ("(?=a)", vec!["xa"], vec!["b", ""]),
        ("(?!a)[ab]$", vec!["b", "ab"], vec!["a", "ba"]),
        ("(?<=ab)c", vec!["xabc"], vec!["bc", "acb"]),
        ("(?<!ab)c", vec!["c", "bc"], vec!["abc", ""]),
        (
            "^(?:(?=ab|c)[a-c]b?)+$",
            vec!["abc", "cab", "cb"],
            vec!["a", "aba", ""],
        ),
        // Nested, and in both directions.
        ("^(?=a(?!b))..$", vec!["ac"], vec!["ab"]),
        ("^(?!(?=a)(?=.b)).+$", vec!["ac", "bb"], vec!["ab"]),
        ("x(?<=(?<!a)x)y", vec!["xy", "bxy"], vec!["axy"]),
        (
            r"^(?=.*\d)(?=.*[a-z])\S{4,}$",
            vec!["abc1"],
            vec!["abcd", "1234", "a 12"],
        ),
        (r"\b(?!end)\w+\b$", vec!["an", "the an"], vec!["end", "é"]),
        (r"(?=a)\B", vec!["ba"], vec!["a", " a"]),
        // Text that only looks like a lookaround.
        (r"^[(?=]\(?=(?=b)", vec!["?(=b", "(=b"], vec!["=b", "?(=a"]),
        ("^(?=a){3}a$", vec!["a"], vec!["b"]),
        ("^(?=a)?b$", vec!["b"], vec!["a"]),
        ("^(?:(?=a)|b)+a$", vec!["a", "ba"], vec!["b", "ca"]),
        (
            "^(?=(?:ab){2,3}$)",
            vec!["abab", "ababab"],
            vec!["ab", "abababab"],
        ),
        ("^(?=é{2}$)..$", vec!["éé"], vec!["e\u{301}é"]),
    ] {
        let schema = json!({"pattern": pattern});
        let schema = compile(&schema).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        for text in fit {
            assert_eq!(
                schema.check(&json!(text).to_string()),
                Ok(()),
                "{pattern} {text}"
            );
        }
        for text in others {
            let message =
                CheckError::Invalid(format!("must match the pattern {}", shortened(pattern)));
            let judged = schema.check(&json!(text).to_string());
            assert_eq!(judged, Err(message), "{pattern} {text}");
        }
        assert_eq!(schema.check("3"), Ok(()), "{pattern}");
    }
}

#[test]
fn a_failure_has_the_path_of_the_pattern() {
    let schema = json!({"properties": {"mail": {"type": "string", "pattern": "^(?!x)"}}, "const": {"mail": "x", "pattern": "^(?!x)"}});
    let schema = compile(&schema).expect("a schema");
    // A constant isn't a schema, even if it looks like one.
    let value = r#"{"mail":"x","pattern":"^(?!x)"}"#;
    let message = "mail: must match the pattern ^(?!x)".to_owned();
    assert_eq!(schema.check(value), Err(CheckError::Invalid(message)));
}

// proves: F-HD-14
#[test]
fn lookaround_takes_bounded_time() {
    // Each of these takes very long with backtracking.
    for pattern in [
        "^(?=(a+)+$)",
        "^(?:(?=a*)a)*$",
        "(?<=(a|a)*)b",
        "^(?!(?:a?){30}b)(?:a?){30}a{30}$",
    ] {
        let schema = compile(&json!({"pattern": pattern})).expect("a pattern");
        let evil = format!("\"{}!\"", "a".repeat(5_000));
        let wrong = CheckError::Invalid(format!("must match the pattern {pattern}"));
        assert_eq!(schema.check(&evil), Err(wrong), "{pattern}");
        let longer = format!("\"{}!\"", "a".repeat(500_000));
        let judged = schema.check(&longer);
        assert!(matches!(judged, Err(CheckError::Unchecked(_))), "{pattern}");
    }
    for large in [
        "(?=((a{999}){999}){999})",
        "(?=a)((b{999}){999}){999}",
        "(?!a{20000})b",
        "(?=a{9000})(?=a{9000})",
    ] {
        let error = compile(&json!({"pattern": large})).expect_err("too large");
        assert_eq!(error, SchemaError::UnsupportedPattern(large.to_owned()));
    }
    // The body of an unbounded repetition has one copy, at any depth.
    let deep = format!("(?=b){}a{}", "(".repeat(30), ")+".repeat(30));
    let schema = compile(&json!({"pattern": deep})).expect("a pattern");
    assert!(matches!(
        schema.check("\"aa\""),
        Err(CheckError::Invalid(_))
    ));
    // Nothing is built for a pattern that is too large, so a thousand of them cost only their
    // text.
    let many: Vec<_> = (0..1_000)
        .map(|at| json!({"pattern": format!("(?=a{{16000}})b{{999}}{at}")}))
        .collect();
    let many = json!({"prefixItems": many}).to_string();
    assert!(Schema::compile_with(&many, UnsupportedPatterns::Skip).is_ok());
    // The states of all patterns together.
    let many: Vec<_> = (0..100)
        .map(|at| json!({"pattern": format!("(?=a{{400}})b{at}")}))
        .collect();
    let error = compile(&json!({"prefixItems": many})).expect_err("too many");
    assert_eq!(error, SchemaError::PatternsTooLarge);
}

#[test]
fn flags_are_not_supported() {
    for pattern in ["(?i)^(?=[a-z]).*$", "(?i:^(?!admin).*)", "(?s)(?=a.b)"] {
        let error = compile(&json!({"pattern": pattern})).expect_err("flags");
        // Some are not valid in JavaScript.
        let is_rejected = matches!(
            error,
            SchemaError::UnsupportedPattern(_) | SchemaError::Invalid(_)
        );
        assert!(is_rejected, "{pattern}: {error}");
    }
}

#[test]
fn required_repetitions_may_repeat() {
    for (pattern, fits, wrong) in [
        ("^(?=.)(?:ab)+$", "abab", "aba"),
        ("^(?=.)(?:ab){2,}$", "ababab", "ab"),
        ("^(?=(?:ab){2,}$)", "abab", "ab"),
        ("(?<=^(?:ab)+)c", "ababc", "abac"),
    ] {
        let schema = compile(&json!({"pattern": pattern})).expect("a pattern");
        assert_eq!(schema.check(&format!("\"{fits}\"")), Ok(()), "{pattern}");
        assert!(schema.check(&format!("\"{wrong}\"")).is_err(), "{pattern}");
    }
}

#[test]
fn name_patterns_with_lookaround_are_rejected() {
    let schema = json!({"patternProperties": {"^(?!x-)": {"type": "null"}}});
    for patterns in [UnsupportedPatterns::Reject, UnsupportedPatterns::Skip] {
        let error = Schema::compile_with(&schema.to_string(), patterns).expect_err("a name");
        assert_eq!(error, SchemaError::UnsupportedPattern("^(?!x-)".to_owned()));
    }
    let message = "unsupported pattern ^(?!x-)";
    assert_eq!(compile(&schema).expect_err("a name").to_string(), message);
}

/// Checks a value, and skips unsupported patterns.
fn check(schema: &Value, value: &Value) -> Result<(), CheckError> {
    let schema = Schema::compile_with(&schema.to_string(), UnsupportedPatterns::Skip);
    schema.expect("a schema").check(&value.to_string())
}

#[test]
fn an_unsupported_pattern_may_be_skipped() {
    let back = json!({"pattern": r"^(a)\1$"});
    let unchecked = Err(CheckError::Unchecked(
        r"unsupported pattern ^(a)\1$".to_owned(),
    ));
    let schema = json!({"properties": {"a": back, "b": {"type": "null"}}});
    assert_eq!(check(&schema, &json!({"a": "aa", "b": null})), unchecked);
    assert_eq!(check(&schema, &json!({"a": "xy", "b": null})), unchecked);
    let wrong = Err(CheckError::Invalid("b: must be null".to_owned()));
    assert_eq!(check(&schema, &json!({"a": "aa", "b": 1})), wrong);
    // A pattern that is too large.
    let large = json!({"pattern": "a".repeat(20_000)});
    let judged = check(&large, &json!("b"));
    assert!(
        matches!(judged, Err(CheckError::Unchecked(_))),
        "{judged:?}"
    );
    // If the schema is not monotone, a failure is not certain.
    for schema in [
        json!({"not": back}),
        json!({"oneOf": [back, {"pattern": "^(b)\\1"}]}),
        json!({"if": back, "then": {"type": "null"}}),
        json!({"contains": back, "maxContains": 1}),
    ] {
        for value in [json!("aa"), json!(["aa", "xy"])] {
            let judged = check(&schema, &value);
            assert_eq!(judged, unchecked, "{schema} {value}");
        }
    }
    let either = json!({"anyOf": [back, {"type": "null"}]});
    assert_eq!(check(&either, &json!("x")), unchecked);
}
