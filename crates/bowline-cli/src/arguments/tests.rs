use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::schema::tests::any_schema;
use crate::scratch::Scratch;

mod refusals;

/// A tool with an argument of every kind.
fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "count": {"type": "integer"},
            "ratio": {"type": "number"},
            "flag": {"type": "boolean"},
            "nothing": {"type": "null"},
            "maybe": {"type": ["integer", "null"]},
            "either": {"anyOf": [{"type": "boolean"}, {"type": "string"}]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "numbers": {"type": "array", "items": {"type": "integer"}},
            "grid": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
            "one_or_many": {"type": ["string", "array"], "items": {"type": "string"}},
            "mode": {"enum": ["fast", "slow", 3, null]},
            "fixed": {"const": "x"},
            "level": {"$ref": "#/$defs/level"},
            "place": {"$ref": "#/$defs/place"},
            "free": {"type": "object"},
            "any": {},
            "dotted.name": {"type": "integer"},
            "never": false
        },
        "$defs": {
            "level": {"enum": ["low", "high"]},
            "place": {"type": "object", "required": ["x", "y"], "properties": {
                "x": {"type": "integer"}, "y": {"type": "integer"}, "name": {"type": "string"}}}
        }
    })
}

fn read_with(words: &[&str], schema: &Value, stdin: &str) -> anyhow::Result<String> {
    let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
    let arguments = Arguments::read(&words, schema, &mut stdin.as_bytes())?;
    Ok(serde_json::to_string(&arguments).unwrap())
}

fn read(words: &[&str]) -> anyhow::Result<String> {
    read_with(words, &schema(), "")
}

#[test]
fn texts_are_converted_by_the_schema() {
    for (word, expected) in [
        ("text=hello", r#"{"text":"hello"}"#),
        ("text=5", r#"{"text":"5"}"#),
        ("text=a=b:=c", r#"{"text":"a=b:=c"}"#),
        ("text=", r#"{"text":""}"#),
        ("text= x ", r#"{"text":" x "}"#),
        ("count=5", r#"{"count":5}"#),
        ("count=-5", r#"{"count":-5}"#),
        // Larger than any machine's integers, and exact.
        (
            "count=123456789012345678901234567890",
            r#"{"count":123456789012345678901234567890}"#,
        ),
        ("ratio=1.50", r#"{"ratio":1.50}"#),
        ("ratio=1e3", r#"{"ratio":1e3}"#),
        ("flag=true", r#"{"flag":true}"#),
        ("flag=Yes", r#"{"flag":true}"#),
        ("flag=NO", r#"{"flag":false}"#),
        ("flag=FALSE", r#"{"flag":false}"#),
        ("count=1.0", r#"{"count":1}"#),
        ("count=1e3", r#"{"count":1000}"#),
        ("count=-1.50E+1", r#"{"count":-15}"#),
        ("count=12000e-3", r#"{"count":12}"#),
        ("count=-0.0", r#"{"count":0}"#),
        ("count=0e99", r#"{"count":0}"#),
        (
            "count=1.8446744073709551615e19",
            r#"{"count":18446744073709551615}"#,
        ),
        ("numbers=1e1", r#"{"numbers":[10]}"#),
        ("nothing=null", r#"{"nothing":null}"#),
        ("maybe=null", r#"{"maybe":null}"#),
        ("maybe=7", r#"{"maybe":7}"#),
        ("either=true", r#"{"either":true}"#),
        ("either=truth", r#"{"either":"truth"}"#),
        // Where a text is allowed, it is one.
        ("either=yes", r#"{"either":"yes"}"#),
        ("mode=fast", r#"{"mode":"fast"}"#),
        ("mode=3", r#"{"mode":3}"#),
        ("mode=null", r#"{"mode":null}"#),
        ("fixed=x", r#"{"fixed":"x"}"#),
        ("level=low", r#"{"level":"low"}"#),
        ("any=5", r#"{"any":"5"}"#),
        (r#"free={"a": 1}"#, r#"{"free":{"a": 1}}"#),
        ("dotted.name=1", r#"{"dotted.name":1}"#),
    ] {
        assert_eq!(read(&[word]).unwrap(), expected);
    }
}

#[test]
fn arrays_are_given_whole_or_by_their_elements() {
    for (words, expected) in [
        (&["tags=a"][..], r#"{"tags":["a"]}"#),
        (
            &["tags=a", "text=x", "tags=b"],
            r#"{"tags":["a","b"],"text":"x"}"#,
        ),
        (&[r#"tags=["a","b"]"#], r#"{"tags":["a","b"]}"#),
        (&[r#"tags:=["[a"]"#], r#"{"tags":["[a"]}"#),
        (&["tags=a", "tags=[b"], r#"{"tags":["a","[b"]}"#),
        (&["numbers=1"], r#"{"numbers":[1]}"#),
        (&["numbers=1", "numbers=2"], r#"{"numbers":[1,2]}"#),
        (&["numbers=1", "numbers:=2"], r#"{"numbers":[1,2]}"#),
        (&["numbers:=[]"], r#"{"numbers":[]}"#),
        (&["one_or_many=a"], r#"{"one_or_many":"a"}"#),
        (
            &["one_or_many=a", "one_or_many=b"],
            r#"{"one_or_many":["a","b"]}"#,
        ),
        (&["grid=[[1],[2]]"], r#"{"grid":[[1],[2]]}"#),
        (&["grid=[1]", "grid=[2]"], r#"{"grid":[[1],[2]]}"#),
    ] {
        assert_eq!(read(words).unwrap(), expected);
    }
}

#[test]
fn objects_are_given_whole_or_by_their_members() {
    for (words, expected) in [
        (
            &["place.x=1", "place.y=2"][..],
            r#"{"place":{"x":1,"y":2}}"#,
        ),
        (
            &["place.name=a", "count=1", "place.x=1", "place.y=2"],
            r#"{"place":{"name":"a","x":1,"y":2},"count":1}"#,
        ),
        (&["free.a.b=1"], r#"{"free":{"a.b":"1"}}"#),
        (&["any.a=1", "any.b:=2"], r#"{"any":{"a":"1","b":2}}"#),
        (&["place:={}"], r#"{"place":{}}"#),
    ] {
        assert_eq!(read(words).unwrap(), expected);
    }
}

#[test]
fn a_word_that_is_more_special_than_a_text_is_a_text_as_json() {
    let schema = json!({"properties": {"a": {"type": ["string", "null"]}}});
    for (word, expected) in [
        ("a=null", r#"{"a":null}"#),
        (r#"a:="null""#, r#"{"a":"null"}"#),
        ("a=nul", r#"{"a":"nul"}"#),
    ] {
        assert_eq!(read_with(&[word], &schema, "").unwrap(), expected);
    }
}

#[test]
fn json_is_sent_as_it_is() {
    for (words, expected) in [
        (&["count:=\"no integer\""][..], r#"{"count":"no integer"}"#),
        (&["text:=1.00"], r#"{"text":1.00}"#),
        (
            &[r#"{"unknown": 1.0, "b": [ ]}"#],
            r#"{"unknown":1.0,"b":[ ]}"#,
        ),
        (&["{}"], "{}"),
        (
            &[r#"{"count": 1, "x": 2}"#, "count=5", "text=a"],
            r#"{"count":5,"x":2,"text":"a"}"#,
        ),
        (&["count=5", r#"{"count": 1}"#], r#"{"count":5}"#),
        // Near to a name that is given beside it.
        (
            &[r#"{"count": 1, "counts": 2}"#],
            r#"{"count":1,"counts":2}"#,
        ),
    ] {
        assert_eq!(read(words).unwrap(), expected);
    }
}

#[test]
fn values_come_from_files_and_stdin() {
    let scratch = Scratch::new();
    let text = scratch.write("text", "two\nlines\n");
    let number = scratch.write("number", "5\n");
    let object = scratch.write("object", "{\"count\": 1}\n");
    let word = |start: &str, path: &std::path::Path| format!("{start}@{}", path.display());
    for (word, expected) in [
        (word("text=", &text), r#"{"text":"two\nlines\n"}"#),
        (word("count=", &number), r#"{"count":5}"#),
        (word("count:=", &number), r#"{"count":5}"#),
        (word("free:=", &object), r#"{"free":{"count": 1}}"#),
        (word("free=", &object), r#"{"free":{"count": 1}}"#),
        (word("", &object), r#"{"count":1}"#),
    ] {
        assert_eq!(read(&[&word]).unwrap(), expected, "{word}");
    }
    for (word, stdin, expected) in [
        ("-", "{\"count\": 1}", r#"{"count":1}"#),
        ("@-", "{\"count\": 1}", r#"{"count":1}"#),
        ("text=@-", "hi", r#"{"text":"hi"}"#),
        ("any:=@-", " [1] ", r#"{"any":[1]}"#),
    ] {
        assert_eq!(read_with(&[word], &schema(), stdin).unwrap(), expected);
    }
}

#[test]
fn an_array_of_itself_is_no_trap() {
    // Found by the property below: one element stood for an array of one element, and so on.
    let schema = json!({"properties": {"a": {"type": ["array", "null"], "items": {"$ref": "#/properties/a"}}}});
    assert!(read_with(&["a=x"], &schema, "").is_err());
    assert_eq!(
        read_with(&["a=null"], &schema, "").unwrap(),
        r#"{"a":null}"#
    );
    assert_eq!(
        read_with(&["a=null", "a=[null]"], &schema, "").unwrap(),
        r#"{"a":[null,[null]]}"#
    );
}

#[test]
fn names_within_names_end_somewhere() {
    let schema = json!({"properties": {"a": {"$ref": "#"}}});
    let deep = |levels: usize| format!("{}=1", vec!["a"; levels].join("."));
    assert!(
        read_with(&[&deep(builder::MAX_DEPTH + 1)], &schema, "").is_err(),
        "a is an object"
    );
    let schema = json!({"properties": {"a": {"$ref": "#"}, "b": {}}});
    let deep = |levels: usize| format!("{}.b=1", vec!["a"; levels].join("."));
    assert!(read_with(&[&deep(builder::MAX_DEPTH)], &schema, "").is_ok());
    assert!(read_with(&[&deep(builder::MAX_DEPTH + 1)], &schema, "").is_err());
}

proptest! {
    #[test]
    fn a_text_arrives_as_it_was_typed(value in "\\PC{0,20}", count in any::<i64>(), flag in any::<bool>()) {
        prop_assume!(!value.starts_with('@'));
        let words = [format!("text={value}"), format!("count={count}"), format!("flag={flag}")];
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let found: Value = serde_json::from_str(&read(&words).unwrap()).unwrap();
        prop_assert_eq!(found, json!({"text": value, "count": count, "flag": flag}));
    }

    #[test]
    fn repeated_texts_are_an_array_of_them(values in prop::collection::vec("[a-z\\[{]{0,8}", 2..6)) {
        let words: Vec<_> = values.iter().map(|value| format!("tags={value}")).collect();
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let found: Value = serde_json::from_str(&read(&words).unwrap()).unwrap();
        prop_assert_eq!(found, json!({"tags": values}));
    }

    #[test]
    fn arguments_are_sent_as_json_or_refused(
        schema in any_schema(),
        words in prop::collection::vec("(a|b|b\\.c|a\\.a|a\\.b\\.c)(=|:=)([0-9]{0,2}|x|\\[1\\]|null)", 0..5),
    ) {
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        match read_with(&words, &schema, "") {
            Ok(text) => prop_assert!(serde_json::from_str::<serde_json::Map<_, _>>(&text).is_ok()),
            Err(error) => prop_assert_eq!(Failure::status_of(&error), ExitStatus::Usage),
        }
    }
}
