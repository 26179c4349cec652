//! What is refused, with which words.

use super::*;

/// Checks the error of `words`, which is always the user's.
fn refused(words: &[&str], schema: &Value, message: &str, hint: &str) {
    let error = read_with(words, schema, "").unwrap_err();
    let found = Failure::hint_of(&error).unwrap();
    assert_eq!(
        (format!("{error:#}").as_str(), found),
        (message, hint),
        "{words:?}"
    );
    assert_eq!(Failure::status_of(&error), ExitStatus::Usage);
}

#[test]
fn an_array_without_its_quotes_is_no_text() {
    let hint = |key: &str| {
        let quoted = format!(r#"quote the value for the shell: '{key}=["a","b"]'; "#);
        quoted + &format!(r#"{key}:='["[x"]' sends a string that begins with ["#)
    };
    for word in ["tags=[a,b]", "tags= [a", "one_or_many=[a,b]"] {
        let (key, text) = word.split_once('=').unwrap();
        let message = format!("{key}: expected a JSON array, found `{text}`");
        refused(&[word], &schema(), &message, &hint(key));
    }
}

#[test]
fn invalid_words_are_refused() {
    let schema = schema();
    let as_json = |key: &str| format!("{key}:=… sends any JSON value unchanged");
    for (words, message, hint) in [
        (&["=x"][..], "`=x` has no name before =", "write key=value"),
        (&[":=x"], "`:=x` has no name before =", "write key=value"),
        (
            &["count"],
            "`count` is not an argument",
            "give it a value: count=…",
        ),
        (
            &["coutn"],
            "`coutn` is not an argument",
            "write key=value; did you mean `count`?",
        ),
        (
            &["zzzzzz"],
            "`zzzzzz` is not an argument",
            "write key=value, key:=json, key=@file, or one JSON object",
        ),
        (
            &["coutn=1"],
            "no argument named `coutn`",
            "did you mean `count`?",
        ),
        (
            &["place.z=1"],
            "no argument named `place.z`",
            "did you mean `place.x`?",
        ),
        (
            &["place.zzzzzz=1"],
            "no argument named `place.zzzzzz`",
            "the arguments are place.x, place.y, place.name",
        ),
        (
            &["zzzzzz=1"],
            "no argument named `zzzzzz`",
            "the arguments are text, count, ratio, flag, nothing, maybe, either, tags, numbers, grid, one_or_many, mode, …",
        ),
        (
            &["count=abc"],
            "count: expected an integer, found `abc`",
            &as_json("count"),
        ),
        (
            &["count=1.5"],
            "count: expected an integer, found `1.5`",
            &as_json("count"),
        ),
        (
            &["count=007"],
            "count: expected an integer, found `007`",
            &as_json("count"),
        ),
        (
            &["count=-"],
            "count: expected an integer, found `-`",
            &as_json("count"),
        ),
        (
            &["count="],
            "count: expected an integer, found ``",
            &as_json("count"),
        ),
        (
            &["ratio=NaN"],
            "ratio: expected a number, found `NaN`",
            &as_json("ratio"),
        ),
        (
            &["ratio=1e999"],
            "ratio: expected a number in the range of a double, up to 1.8e308, found `1e999`",
            &as_json("ratio"),
        ),
        (
            &["count=1e999"],
            "count: expected a 64-bit integer, found `1e999`",
            &as_json("count"),
        ),
        // More than any machine has, in the exponent itself.
        (
            &["count=1.5e-2147483648"],
            "count: expected a 64-bit integer, found `1.5e-2147483648`",
            &as_json("count"),
        ),
        (
            &["count=1.5e-2147483649"],
            "count: expected a 64-bit integer, found `1.5e-2147483649`",
            &as_json("count"),
        ),
        (
            &["count=1.8446744073709551616e19"],
            "count: expected a 64-bit integer, found `1.8446744073709551616e19`",
            &as_json("count"),
        ),
        (
            &["count=10e-2"],
            "count: expected an integer, found `10e-2`",
            &as_json("count"),
        ),
        (
            &["count=1.5"],
            "count: expected an integer, found `1.5`",
            &as_json("count"),
        ),
        (
            &["flag=maybe"],
            "flag: expected true or false, found `maybe`",
            &as_json("flag"),
        ),
        (
            &["nothing=x"],
            "nothing: expected null, found `x`",
            &as_json("nothing"),
        ),
        (
            &["maybe=x"],
            "maybe: expected integer | null, found `x`",
            &as_json("maybe"),
        ),
        (
            &["numbers=1,2"],
            "numbers: expected an array, integer[], found `1,2`",
            "repeat the name for each element: numbers=1 numbers=2",
        ),
        (
            &["numbers=1, 2, 3"],
            "numbers: expected an array, integer[], found `1, 2, 3`",
            "repeat the name for each element: numbers=1 numbers=2 …",
        ),
        (
            &["numbers=1,x"],
            "numbers: expected an array, integer[], found `1,x`",
            &as_json("numbers"),
        ),
        (
            &["numbers=x"],
            "numbers: expected an array, integer[], found `x`",
            &as_json("numbers"),
        ),
        (
            &["numbers=1", "numbers=x"],
            "numbers: expected an integer, found `x`",
            &as_json("numbers"),
        ),
        (
            &["grid=1", "grid=2"],
            "grid: expected an array, integer[], found `1`",
            &as_json("grid"),
        ),
        (
            &["free=x"],
            "free: expected a JSON object, found `x`",
            &as_json("free"),
        ),
        (
            &["never=x"],
            "never: expected no value (the schema allows none), found `x`",
            &as_json("never"),
        ),
        (
            &["level=hihg"],
            "level: expected one of \"low\" | \"high\", found `hihg`",
            "did you mean `high`?",
        ),
        (
            &["fixed=zz"],
            "fixed: expected \"x\", found `zz`",
            &as_json("fixed"),
        ),
        (
            &["count=1", "count=2"],
            "count is given twice, and is not an array",
            "give it once",
        ),
        (
            &["place={}", "place.x=1"],
            "place is given both as a whole and by its members (place.x)",
            "give it in one of the two ways",
        ),
        (
            &["place.x=1", "place={}"],
            "place is given both as a whole and by its members (place)",
            "give it in one of the two ways",
        ),
        (
            &["place.x=1"],
            "missing argument: place.y (integer)",
            "add place.y=…",
        ),
        (
            &["{}", "{}"],
            "`{}` is a second JSON object",
            "put all arguments into one, or write key=value",
        ),
        (
            &["{"],
            "the JSON object is not a JSON object: EOF while parsing an object at line 1 column 1",
            "write '{\"key\": \"value\"}', or key=value",
        ),
        (
            &[r#"{"i":1,"count":2,"i":2}"#],
            "the JSON object has `i` twice",
            "give it once",
        ),
        (
            &[r#"{"txet":"a"}"#],
            "no argument named `txet`",
            "did you mean `text`?",
        ),
        (
            &["any:=x"],
            "any: invalid JSON after :=: expected value at line 1 column 1",
            "write any=… for a string",
        ),
        (
            &["@/no/such/file"],
            "/no/such/file: there is no such file",
            "name a file with a JSON object, or - for stdin",
        ),
        (
            &["text=@/no/such/file"],
            "text: /no/such/file: there is no such file",
            "for a string that begins with @, write text:='\"@…\"'",
        ),
        (
            &["text=@-", "any=@-"],
            "any: stdin can be read only once",
            "for a string that begins with @, write any:='\"@…\"'",
        ),
        (
            &["-"],
            "stdin is not a JSON object: EOF while parsing a value at line 1 column 0",
            "write '{\"key\": \"value\"}', or key=value",
        ),
    ] {
        refused(words, &schema, message, hint);
    }
    let long = format!("count={}", "x".repeat(41));
    let shown = format!("count: expected an integer, found `{}…`", "x".repeat(40));
    refused(&[&long], &schema, &shown, &as_json("count"));
}

#[test]
fn everything_that_is_missing_is_named() {
    let schema = json!({"properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "y"]}, "c": {}},
        "required": ["a", "b"]});
    refused(
        &[],
        &schema,
        "missing arguments: a (integer), b (\"x\" | \"y\")",
        "add a=… b=…",
    );
    refused(
        &["b=x", "c=1"],
        &schema,
        "missing argument: a (integer)",
        "add a=…",
    );
    // An object is sent as it is, and its members count for words beside it.
    assert_eq!(read_with(&["{}"], &schema, "").unwrap(), "{}");
    let both = read_with(&[r#"{"a": 1}"#, "b=x"], &schema, "").unwrap();
    assert_eq!(both, r#"{"a":1,"b":"x"}"#);
    refused(
        &[r#"{"c": 1}"#, "b=x"],
        &schema,
        "missing argument: a (integer)",
        "add a=…",
    );
}

#[test]
fn a_tool_that_requires_without_measure_is_answered_with_measure() {
    let names: Vec<_> = (0..100_000).map(|i| format!("a{i}")).collect();
    let properties = names
        .iter()
        .map(|name| (name.clone(), json!({"type": "null"})));
    let properties: serde_json::Map<_, _> = properties.collect();
    let schema = json!({"properties": properties, "required": names});
    let error = read_with(&[], &schema, "").unwrap_err().to_string();
    assert!(
        error.starts_with("missing arguments: a0 (null), a1 (null)"),
        "{error}"
    );
    assert!(error.ends_with("a11 (null), …"), "{error}");
}

#[test]
fn a_tool_may_take_anything_or_nothing() {
    assert_eq!(
        read_with(&["x=1", "y.z=2"], &json!({"type": "object"}), "").unwrap(),
        r#"{"x":"1","y.z":"2"}"#
    );
    let numbers = json!({"properties": {}, "additionalProperties": {"type": "integer"}});
    assert_eq!(read_with(&["x=1"], &numbers, "").unwrap(), r#"{"x":1}"#);
    let none = json!({"type": "object", "properties": {}});
    refused(
        &["x=1"],
        &none,
        "no argument named `x`",
        "there are no arguments",
    );
    assert_eq!(read_with(&[], &none, "").unwrap(), "{}");
}

#[test]
fn names_in_an_object_are_those_that_the_schema_allows() {
    let with = |others: Value| {
        json!({"type": "object", "properties": {"text": {"type": "string"}},
            "additionalProperties": others})
    };
    let closed = with(json!(false));
    refused(
        &[r#"{"other":1}"#],
        &closed,
        "no argument named `other`",
        "the arguments are text",
    );
    refused(
        &[r#"{"text":"a","txt":"b"}"#],
        &closed,
        "no argument named `txt`",
        "did you mean `text`?",
    );
    for open in [json!(true), json!({"type": "integer"})] {
        let sent = read_with(&[r#"{"txet":1}"#], &with(open), "").unwrap();
        assert_eq!(sent, r#"{"txet":1}"#);
    }
}
