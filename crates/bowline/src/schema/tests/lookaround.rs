//! Patterns that look around, and those that nobody can run.

use serde_json::{Value, json};

use super::super::*;
use super::compile;

/// What zod generates.
const EMAIL: &str = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$";
const HOST: &str = r"^(?=.{1,253}\.?$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[-0-9a-zA-Z]{0,61}[0-9a-zA-Z])?)*\.?$";
const DURATION: &str = r"^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$";
const EMOJI: &str = r"^(\p{Extended_Pictographic}|\p{Emoji_Component})+$";

#[test]
fn patterns_that_look_around_are_matched() {
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
        // Within each other, and both ways.
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
        // What looks like one and is none.
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
            let words = Misfit::Wrong(format!("must match the pattern {}", shortened(pattern)));
            let judged = schema.check(&json!(text).to_string());
            assert_eq!(judged, Err(words), "{pattern} {text}");
        }
        assert_eq!(schema.check("3"), Ok(()), "{pattern}");
    }
}

#[test]
fn what_is_wrong_is_named_where_it_is() {
    let schema = json!({"properties": {"mail": {"type": "string", "pattern": "^(?!x)"}}, "const": {"mail": "x", "pattern": "^(?!x)"}});
    let schema = compile(&schema).expect("a schema");
    // A constant is no schema, whatever it looks like.
    let value = r#"{"mail":"x","pattern":"^(?!x)"}"#;
    let words = "mail: must match the pattern ^(?!x)".to_owned();
    assert_eq!(schema.check(value), Err(Misfit::Wrong(words)));
}

// proves: F-HD-14
#[test]
fn looking_around_is_bounded_work() {
    // Each goes on for very long where somebody backtracks.
    for pattern in [
        "^(?=(a+)+$)",
        "^(?:(?=a*)a)*$",
        "(?<=(a|a)*)b",
        "^(?!(?:a?){30}b)(?:a?){30}a{30}$",
    ] {
        let schema = compile(&json!({"pattern": pattern})).expect("a pattern");
        let evil = format!("\"{}!\"", "a".repeat(5_000));
        let wrong = Misfit::Wrong(format!("must match the pattern {pattern}"));
        assert_eq!(schema.check(&evil), Err(wrong), "{pattern}");
        let longer = format!("\"{}!\"", "a".repeat(500_000));
        let judged = schema.check(&longer);
        assert!(matches!(judged, Err(Misfit::Unchecked(_))), "{pattern}");
    }
    for large in [
        "(?=((a{999}){999}){999})",
        "(?=a)((b{999}){999}){999}",
        "(?!a{20000})b",
        "(?=a{9000})(?=a{9000})",
    ] {
        let refused = compile(&json!({"pattern": large})).expect_err("too large");
        assert_eq!(refused, Refused::Unrunnable(large.to_owned()));
    }
    // What is in a repetition is there once, however deep it is.
    let deep = format!("(?=b){}a{}", "(".repeat(30), ")+".repeat(30));
    let schema = compile(&json!({"pattern": deep})).expect("a pattern");
    assert!(matches!(schema.check("\"aa\""), Err(Misfit::Wrong(_))));
    // Nothing is built of what is too large, so that a thousand of them are no more work than their text.
    let many: Vec<_> = (0..1_000)
        .map(|at| json!({"pattern": format!("(?=a{{16000}})b{{999}}{at}")}))
        .collect();
    let many = json!({"prefixItems": many}).to_string();
    assert!(Schema::compile_with(&many, Unrunnable::Skipped).is_ok());
    // States of all of them together.
    let many: Vec<_> = (0..100)
        .map(|at| json!({"pattern": format!("(?=a{{400}})b{at}")}))
        .collect();
    let refused = compile(&json!({"prefixItems": many})).expect_err("too many");
    assert_eq!(refused, Refused::Patterns);
}

#[test]
fn flags_are_not_guessed_at() {
    for pattern in ["(?i)^(?=[a-z]).*$", "(?i:^(?!admin).*)", "(?s)(?=a.b)"] {
        let refused = compile(&json!({"pattern": pattern})).expect_err("flags");
        // Some are no patterns of JavaScript.
        let is_refused = matches!(refused, Refused::Unrunnable(_) | Refused::Invalid(_));
        assert!(is_refused, "{pattern}: {refused}");
    }
}

#[test]
fn what_must_be_once_may_be_again() {
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
fn names_that_look_around_are_refused() {
    let schema = json!({"patternProperties": {"^(?!x-)": {"type": "null"}}});
    for unrunnable in [Unrunnable::Refused, Unrunnable::Skipped] {
        let refused = Schema::compile_with(&schema.to_string(), unrunnable).expect_err("a name");
        assert_eq!(refused, Refused::Unrunnable("^(?!x-)".to_owned()));
    }
    let words = "the pattern ^(?!x-) can't be checked";
    assert_eq!(compile(&schema).expect_err("a name").to_string(), words);
}

/// A check that skips patterns which nobody can run.
fn check(schema: &Value, value: &Value) -> Result<(), Misfit> {
    let schema = Schema::compile_with(&schema.to_string(), Unrunnable::Skipped);
    schema.expect("a schema").check(&value.to_string())
}

#[test]
fn a_pattern_that_nobody_can_run_may_be_skipped() {
    let back = json!({"pattern": r"^(a)\1$"});
    let unchecked = Err(Misfit::Unchecked(
        r"the pattern ^(a)\1$ can't be checked".to_owned(),
    ));
    let schema = json!({"properties": {"a": back, "b": {"type": "null"}}});
    assert_eq!(check(&schema, &json!({"a": "aa", "b": null})), unchecked);
    assert_eq!(check(&schema, &json!({"a": "xy", "b": null})), unchecked);
    let wrong = Err(Misfit::Wrong("b: must be null".to_owned()));
    assert_eq!(check(&schema, &json!({"a": "aa", "b": 1})), wrong);
    // One that is too large.
    let large = json!({"pattern": "a".repeat(20_000)});
    let judged = check(&large, &json!("b"));
    assert!(matches!(judged, Err(Misfit::Unchecked(_))), "{judged:?}");
    // Where less may fit when more does, nothing is sure.
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
