use super::*;

/// A schema with these members of `properties`.
fn schema(properties: &str) -> String {
    format!(r#"{{"type":"object","properties":{{{properties}}}}}"#)
}

fn found(schema: &str) -> Result<ParamHeaders, BadAnnotation> {
    ParamHeaders::from_schema(RawJsonRef::parse(schema).unwrap())
}

/// The headers with the paths of their arguments, or the fault and its place.
fn words(schema: &str) -> String {
    match found(schema) {
        Ok(headers) => {
            let words = headers.params.iter();
            let words = words.map(|param| format!("{}={}", param.header, param.path.join(".")));
            words.collect::<Vec<_>>().join(" ")
        }
        Err(error) => format!("{:?} {}", error.fault(), error.path()),
    }
}

#[test]
fn annotations_are_found_through_properties() {
    for (properties, expected) in [
        ("", ""),
        (r#""a":{"type":"string"}"#, ""),
        (
            r#""a":{"type":"string","x-mcp-header":"Method"}"#,
            "Mcp-Param-Method=a",
        ),
        (
            r#""a":{"x-mcp-header":"A","oneOf":[{"const":"x"}],"type":"string"}"#,
            "Mcp-Param-A=a",
        ),
        (
            r#""a":{"type":"object","properties":{"b":{"properties":{"c":{"type":"integer","x-mcp-header":"C"}}},"d":{"type":"boolean","x-mcp-header":"D"}}}"#,
            "Mcp-Param-C=a.b.c Mcp-Param-D=a.d",
        ),
        // Names of properties are no keywords, and keywords are no names.
        (r#""x-mcp-header":{"type":"string"}"#, ""),
        (
            r#""items":{"type":"string","x-mcp-header":"A"},"type":{"type":"string","x-mcp-header":"B"},"$ref":{"type":"string","x-mcp-header":"C"}"#,
            "Mcp-Param-A=items Mcp-Param-B=type Mcp-Param-C=$ref",
        ),
        (
            r#""properties":{"type":"object","properties":{"properties":{"type":"string","x-mcp-header":"A"}}}"#,
            "Mcp-Param-A=properties.properties",
        ),
        // Instances have no annotations.
        (
            r#""a":{"type":"object","default":{"x-mcp-header":1},"examples":[{"properties":{"x-mcp-header":""}}],"enum":[{"x-mcp-header":{}}],"const":{"a":[{"x-mcp-header":"A"}]}}"#,
            "",
        ),
        (
            r#""\u0061":{"ty\u0070e":"strin\u0067","x-mcp-h\u0065ader":"\u0041"}"#,
            "Mcp-Param-A=a",
        ),
    ] {
        assert_eq!(words(&schema(properties)), expected, "{properties}");
    }
}

#[test]
fn names_of_headers_are_tokens() {
    for name in ["A", "a-b_c.d", "!#$%&'*+-.^_`|~09azAZ"] {
        let properties = format!(r#""a":{{"type":"string","x-mcp-header":"{name}"}}"#);
        assert_eq!(words(&schema(&properties)), format!("Mcp-Param-{name}=a"));
    }
    for name in [
        "", " ", "a b", " a", "a:b", "a/b", "a,b", "(a)", "a@b", "é", r"a\nb", r"\t", r"\u0000",
        "a\u{7f}", "[a]", "{a}", r#"\"a\""#, "a=b", "a;b", "<a>", "a?b", r"a\\b",
    ] {
        let properties = format!(r#""a":{{"type":"string","x-mcp-header":"{name}"}}"#);
        assert_eq!(
            words(&schema(&properties)),
            "NotAToken /properties/a",
            "{name}"
        );
    }
    for value in ["null", "1", "true", "{}", "[\"A\"]", r#""\ud800""#] {
        let properties = format!(r#""a":{{"type":"string","x-mcp-header":{value}}}"#);
        assert_eq!(
            words(&schema(&properties)),
            "NotAString /properties/a",
            "{value}"
        );
    }
}

#[test]
fn names_of_headers_are_unique_in_any_case() {
    for second in ["Region", "REGION", "rEGION"] {
        let properties = format!(
            r#""a":{{"type":"string","x-mcp-header":"Region"}},"b":{{"properties":{{"c":{{"type":"string","x-mcp-header":"{second}"}}}}}}"#
        );
        assert_eq!(
            words(&schema(&properties)),
            "NotUnique /properties/b/properties/c"
        );
    }
}

#[test]
fn types_that_a_header_can_carry() {
    for kind in [r#""integer""#, r#""string""#, r#""boolean""#] {
        let properties = format!(r#""a":{{"x-mcp-header":"A","type":{kind}}}"#);
        assert_eq!(words(&schema(&properties)), "Mcp-Param-A=a", "{kind}");
    }
    for kind in [
        r#""number""#,
        r#""object""#,
        r#""array""#,
        r#""null""#,
        r#""String""#,
        r#"["string"]"#,
        r#"["string","null"]"#,
        "null",
        "{}",
    ] {
        let properties = format!(r#""a":{{"x-mcp-header":"A","type":{kind}}}"#);
        assert_eq!(
            words(&schema(&properties)),
            "WrongType /properties/a",
            "{kind}"
        );
    }
    let untyped = schema(r#""a":{"x-mcp-header":"A"}"#);
    assert_eq!(words(&untyped), "WrongType /properties/a");
}

#[test]
fn annotations_out_of_reach_are_refused() {
    const MARK: &str = r#"{"type":"string","x-mcp-header":"A"}"#;
    for (property, expected) in [
        (format!(r#"{{"items":{MARK}}}"#), "items"),
        (
            format!(r#"{{"prefixItems":[{{}},{MARK}]}}"#),
            "prefixItems/1",
        ),
        (format!(r#"{{"contains":{MARK}}}"#), "contains"),
        (format!(r#"{{"oneOf":[{MARK}]}}"#), "oneOf/0"),
        (format!(r#"{{"anyOf":[1,[],{MARK}]}}"#), "anyOf/2"),
        (
            format!(r#"{{"allOf":[{{"properties":{{"b":{MARK}}}}}]}}"#),
            "allOf/0/properties/b",
        ),
        (format!(r#"{{"not":{MARK}}}"#), "not"),
        (format!(r#"{{"if":{MARK}}}"#), "if"),
        (
            format!(r#"{{"then":{{"properties":{{"b":{MARK}}}}}}}"#),
            "then/properties/b",
        ),
        (format!(r#"{{"else":{MARK}}}"#), "else"),
        (
            format!(r#"{{"additionalProperties":{MARK}}}"#),
            "additionalProperties",
        ),
        (
            format!(r#"{{"patternProperties":{{"^a/~":{MARK}}}}}"#),
            "patternProperties/^a~1~0",
        ),
        (
            format!(r#"{{"dependentSchemas":{{"b":{MARK}}}}}"#),
            "dependentSchemas/b",
        ),
        (format!(r#"{{"$defs":{{"b":{MARK}}}}}"#), "$defs/b"),
        (
            format!(r#"{{"definitions":{{"default":{MARK}}}}}"#),
            "definitions/default",
        ),
        (format!(r#"{{"x-else":{{"b":{MARK}}}}}"#), "x-else/b"),
        (format!(r#"{{"properties":[{MARK}]}}"#), "properties/0"),
        (
            format!(r#"{{"properties":{{"\ud800":{MARK}}}}}"#),
            "properties/?",
        ),
    ] {
        let inside = schema(&format!(r#""a":{property}"#));
        assert_eq!(
            words(&inside),
            format!("OutOfReach /properties/a/{expected}")
        );
        assert_eq!(words(&property), format!("OutOfReach /{expected}"));
    }
    assert_eq!(words(MARK), "OutOfReach ");
    for reference in ["$ref", "$dynamicRef"] {
        let beside = schema(&format!(
            r##""a":{{"x-mcp-header":"A","type":"string","{reference}":"#/$defs/b"}}"##
        ));
        assert_eq!(words(&beside), "BesideReference /properties/a");
    }
}

#[test]
fn as_many_annotations_as_a_request_has_room_for() {
    let many = |count: usize| {
        let property = |n| format!(r#""p{n}":{{"type":"string","x-mcp-header":"P{n}"}}"#);
        schema(&(0..count).map(property).collect::<Vec<_>>().join(","))
    };
    let headers = found(&many(ParamHeaders::MAX)).unwrap();
    assert_eq!(headers.names().count(), ParamHeaders::MAX);
    assert_eq!(
        words(&many(ParamHeaders::MAX + 1)),
        format!("TooMany /properties/p{}", ParamHeaders::MAX)
    );
}

#[test]
fn schemas_as_deep_as_json_may_be() {
    // Each step is two containers; the innermost schema is one, and its array another.
    let nested = |steps: usize, inner: &str| {
        let inner = format!(r#"{{"type":"string","x-mcp-header":"A","enum":[{inner}]}}"#);
        (0..steps).fold(inner, |inner, _| {
            format!(r#"{{"properties":{{"a":{inner}}}}}"#)
        })
    };
    let deepest = found(&nested(63, "")).unwrap();
    assert_eq!(deepest.params[0].path.len(), 63);
    let deeper = nested(63, "[]");
    assert!(RawJsonRef::parse(&deeper).is_err());
    // Should such a text come all the same, it is refused here as well.
    let error = find(&deeper).unwrap_err();
    assert_eq!(error.fault(), AnnotationFault::TooDeep);
}

#[test]
fn errors_say_where_and_why() {
    let error = found(&schema(r#""a\n":{"x-mcp-header":"A","type":"number"}"#)).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"x-mcp-header at "/properties/a\n" is on a property that is not an integer, string or boolean"#
    );
    let long = schema(&format!(r#""{}":{{"x-mcp-header":1}}"#, "k".repeat(1000)));
    assert!(found(&long).unwrap_err().to_string().len() < 200);
}
