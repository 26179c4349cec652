use super::*;
use crate::server::Headers;

/// Returns a schema with these members of `properties`.
fn schema(properties: &str) -> String {
    format!(r#"{{"type":"object","properties":{{{properties}}}}}"#)
}

fn found(schema: &str) -> Result<ParamHeaders, BadAnnotation> {
    ParamHeaders::from_schema(RawJsonRef::parse(schema).unwrap())
}

/// One annotated property of each type, one without annotation, and one inside an object.
fn tool() -> ParamHeaders {
    found(&schema(
        r#""region":{"type":"string","x-mcp-header":"Region"},
           "count":{"x-mcp-header":"Count","type":"integer"},
           "dry":{"type":"boolean","x-mcp-header":"Dry"},
           "query":{"type":"string"},
           "where":{"type":"object","properties":{"zone":{"type":"string","x-mcp-header":"Zone"}}}"#,
    ))
    .unwrap()
}

/// Returns what a client sends, as `name: value` lines.
fn sent(arguments: &str) -> Vec<String> {
    let headers = tool();
    let values = headers.values(RawJsonRef::parse(arguments).unwrap());
    values
        .map(|(name, value)| format!("{name}: {value}"))
        .collect()
}

#[test]
fn a_client_sends_what_is_present() {
    for (arguments, expected) in [
        ("{}", &[][..]),
        (r#"{"query":"x"}"#, &[]),
        (r#"{"region":null,"where":{"zone":null}}"#, &[]),
        (r#"{"where":null}"#, &[]),
        (r#"{"where":"zone"}"#, &[]),
        (
            r#"{"where":{"zone":"z"},"dry":false,"count":-7,"region":"us-west1"}"#,
            &[
                "Mcp-Param-Region: us-west1",
                "Mcp-Param-Count: -7",
                "Mcp-Param-Dry: false",
                "Mcp-Param-Zone: z",
            ],
        ),
        (r#"{"dry":true}"#, &["Mcp-Param-Dry: true"]),
        (r#"{"region":""}"#, &["Mcp-Param-Region: "]),
        (
            r#"{"region":"us west 1"}"#,
            &["Mcp-Param-Region: us west 1"],
        ),
        (
            r#"{"region":" us-west1"}"#,
            &["Mcp-Param-Region: =?base64?IHVzLXdlc3Qx?="],
        ),
        (
            r#"{"region":"Hello, 世界"}"#,
            &["Mcp-Param-Region: =?base64?SGVsbG8sIOS4lueVjA==?="],
        ),
        (
            r#"{"region":"line1\nline2"}"#,
            &["Mcp-Param-Region: =?base64?bGluZTEKbGluZTI=?="],
        ),
        (
            r#"{"region":"=?base64?literal?="}"#,
            &["Mcp-Param-Region: =?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="],
        ),
        (r#"{"r\u0065gion":"\u0061"}"#, &["Mcp-Param-Region: a"]),
        (r#"{"count":42.0}"#, &["Mcp-Param-Count: 42"]),
        (r#"{"count":4.2e1}"#, &["Mcp-Param-Count: 42"]),
        (r#"{"count":-0}"#, &["Mcp-Param-Count: 0"]),
        (
            r#"{"count":9007199254740991}"#,
            &["Mcp-Param-Count: 9007199254740991"],
        ),
        (
            r#"{"count":-9007199254740991}"#,
            &["Mcp-Param-Count: -9007199254740991"],
        ),
        // A value that no header can carry.
        (r#"{"count":9007199254740992}"#, &[]),
        (r#"{"count":-9007199254740992}"#, &[]),
        (r#"{"count":1.5}"#, &[]),
        (r#"{"count":1e400}"#, &[]),
        (r#"{"region":["a"],"dry":{}}"#, &[]),
        (r#"{"region":"\ud800"}"#, &[]),
        (r#"{"region":"a","region":"b"}"#, &[]),
        ("[]", &[]),
    ] {
        assert_eq!(sent(arguments), expected, "{arguments}");
    }
}

/// Checks `arguments` against headers as `name: value` lines.
fn checked(arguments: &str, lines: &[&str]) -> Result<(), ParamProblem> {
    let headers = lines.iter().map(|line| line.split_once(':').unwrap());
    let outcome = tool().check(RawJsonRef::parse(arguments).unwrap(), headers);
    outcome.map_err(|mismatch| mismatch.problem())
}

#[test]
fn a_server_accepts_headers_that_repeat_the_arguments() {
    for (arguments, lines) in [
        ("{}", &[][..]),
        (r#"{"region":null,"where":{}}"#, &[]),
        (
            r#"{"query":"x"}"#,
            &["Mcp-Param-Query: y", "Mcp-Param-Other: z"],
        ),
        (r#"{"region":"us-west1"}"#, &["MCP-PARAM-REGION: us-west1"]),
        (r#"{"region":"us-west1"}"#, &["mcp-param-region:us-west1"]),
        (
            r#"{"region":"us-west1"}"#,
            &["Mcp-Param-Region: \t us-west1 \t"],
        ),
        (
            r#"{"region":"us west 1"}"#,
            &["Mcp-Param-Region: us west 1"],
        ),
        (r#"{"region":""}"#, &["Mcp-Param-Region:"]),
        (r#"{"region":""}"#, &["Mcp-Param-Region: =?base64??="]),
        (
            r#"{"region":"Hello"}"#,
            &["Mcp-Param-Region: =?base64?SGVsbG8=?="],
        ),
        (
            r#"{"region":" us-west1"}"#,
            &["Mcp-Param-Region: =?base64?IHVzLXdlc3Qx?="],
        ),
        (
            r#"{"region":"=?BASE64?SGVsbG8=?="}"#,
            &["Mcp-Param-Region: =?BASE64?SGVsbG8=?="],
        ),
        (
            r#"{"region":"=?base64?SGVsbG8="}"#,
            &["Mcp-Param-Region: =?base64?SGVsbG8="],
        ),
        (
            r#"{"region":"SGVsbG8=?="}"#,
            &["Mcp-Param-Region: SGVsbG8=?="],
        ),
        (r#"{"count":42}"#, &["Mcp-Param-Count: 42.0"]),
        (r#"{"count":42.0}"#, &["Mcp-Param-Count: 42"]),
        (r#"{"count":42}"#, &["Mcp-Param-Count: =?base64?NDI=?="]),
        (
            r#"{"count":9007199254740991}"#,
            &["Mcp-Param-Count: 9007199254740991"],
        ),
        (
            r#"{"dry":true,"where":{"zone":"z"}}"#,
            &["Mcp-Param-Zone: z", "Mcp-Param-Dry: true"],
        ),
        // The parameters are invalid, which the handler reports.
        (r#"{"count":1.5,"region":{}}"#, &[]),
    ] {
        assert_eq!(checked(arguments, lines), Ok(()), "{arguments} {lines:?}");
    }
}

#[test]
fn a_server_refuses_headers_that_say_something_else() {
    use ParamProblem::*;
    for (arguments, lines, problem) in [
        (r#"{"region":"a"}"#, &[][..], Missing),
        (r#"{"region":""}"#, &[], Missing),
        (r#"{"count":0}"#, &["Mcp-Param-Region2: 0"], Missing),
        (r#"{"where":{"zone":"z"}}"#, &[], Missing),
        (r#"{"region":"a"}"#, &["Mcp-Param-Region: b"], Different),
        (r#"{"region":"a"}"#, &["Mcp-Param-Region: A"], Different),
        (r#"{"region":"a"}"#, &["Mcp-Param-Region:"], Different),
        (r#"{"region":"42"}"#, &["Mcp-Param-Region: 42.0"], Different),
        (
            r#"{"region":"Hello"}"#,
            &["Mcp-Param-Region: =?BASE64?SGVsbG8=?="],
            Different,
        ),
        (
            r#"{"region":"Hello"}"#,
            &["Mcp-Param-Region: SGVsbG8=?="],
            Different,
        ),
        (
            r#"{"region":"Hello"}"#,
            &["Mcp-Param-Region: =?base64?SGVsbG8="],
            Different,
        ),
        (r#"{"dry":true}"#, &["Mcp-Param-Dry: True"], Different),
        (r#"{"dry":true}"#, &["Mcp-Param-Dry: 1"], Different),
        (r#"{"count":42}"#, &["Mcp-Param-Count: 43"], Different),
        (r#"{"count":42}"#, &["Mcp-Param-Count: +42"], Different),
        (r#"{"count":42}"#, &["Mcp-Param-Count: 0x2a"], Different),
        (r#"{"count":42}"#, &["Mcp-Param-Count: 042"], Different),
        (r#"{"count":42}"#, &["Mcp-Param-Count: \"42\""], Different),
        (
            r#"{"region":"Hello"}"#,
            &["Mcp-Param-Region: =?base64?SGVsbG8?="],
            Unreadable,
        ),
        (
            r#"{"region":"Hello"}"#,
            &["Mcp-Param-Region: =?base64?SGVs!!!bG8=?="],
            Unreadable,
        ),
        (
            r#"{"region":"Hello"}"#,
            &["Mcp-Param-Region: =?base64?/w==?="],
            Unreadable,
        ),
        (r#"{"region":"é"}"#, &["Mcp-Param-Region: é"], Unreadable),
        (
            r#"{"region":"a\u0001"}"#,
            &["Mcp-Param-Region: a\u{1}"],
            Unreadable,
        ),
        ("{}", &["Mcp-Param-Region: a"], Unexpected),
        (r#"{"region":null}"#, &["Mcp-Param-Region:"], Unexpected),
        (r#"{"region":{}}"#, &["Mcp-Param-Region: {}"], Unexpected),
        (
            r#"{"count":9007199254740992}"#,
            &["Mcp-Param-Count: 9007199254740992"],
            Unexpected,
        ),
        (
            r#"{"region":"a"}"#,
            &["Mcp-Param-Region: a", "mcp-param-region: a"],
            Repeated,
        ),
        (
            "{}",
            &["Mcp-Param-Region: a", "mcp-param-region: a"],
            Repeated,
        ),
        (
            r#"{"region":"a","region":"b"}"#,
            &["Mcp-Param-Region: b"],
            Ambiguous,
        ),
        (r#"{"region":"a","region":"a"}"#, &[], Ambiguous),
    ] {
        assert_eq!(
            checked(arguments, lines),
            Err(problem),
            "{arguments} {lines:?}"
        );
    }
}

#[test]
fn a_server_accepts_the_headers_of_a_client() {
    let headers = tool();
    for arguments in [
        "{}",
        r#"{"region":"","count":0,"dry":false,"where":{"zone":"=?base64?="}}"#,
        r#"{"region":"\t","count":-9007199254740991,"dry":true,"where":{"zone":"\u0000"}}"#,
        r#"{"region":"~ ~","count":1e3,"where":{"zone":"=?base64?YQ==?="}}"#,
        r#"{"region":[],"count":0.5,"dry":null,"where":{"zone":"\ud83d\ude00"}}"#,
    ] {
        let arguments = RawJsonRef::parse(arguments).unwrap();
        let sent: Vec<_> = headers.values(arguments).collect();
        let pairs = sent.iter().map(|(name, value)| (*name, &**value));
        assert_eq!(headers.check(arguments, pairs), Ok(()), "{arguments}");
    }
}

#[test]
fn a_mismatch_becomes_a_refusal() {
    let arguments = RawJsonRef::parse(r#"{"region":"a"}"#).unwrap();
    let mismatch = tool().check(arguments, []).unwrap_err();
    assert_eq!(mismatch.header(), "Mcp-Param-Region");
    let refusal = mismatch.refusal(&7.into());
    assert_eq!((refusal.status, refusal.error.code), (400, -32020));
    assert_eq!(refusal.id, Some(7.into()));
    assert_eq!(
        refusal.error.message,
        "the header Mcp-Param-Region is missing"
    );
}

#[test]
fn a_parameter_called_like_a_standard_header_is_another_header() {
    let headers = found(&schema(r#""m":{"type":"string","x-mcp-header":"Method"}"#)).unwrap();
    let pairs = [("Mcp-Method", "tools/call"), ("Mcp-Param-Method", "GET")];
    let arguments = RawJsonRef::parse(r#"{"m":"GET"}"#).unwrap();
    assert_eq!(headers.check(arguments, pairs), Ok(()));
    assert_eq!(Headers::collect(pairs).method, Some("tools/call"));
}
