use super::*;

const NEW: &str = "2026-07-28";

/// Routes a request over HTTP with headers `version|method|name`, where `-` is none.
fn over_http(headers: &str, frame: &str) -> String {
    let mut fields = headers
        .split('|')
        .map(|field| (field != "-").then_some(field));
    let mut field = || fields.next().flatten();
    let headers = Headers {
        protocol_version: field(),
        method: field(),
        name: field(),
        ..Headers::new()
    };
    words(&route(
        &RouterConfig::new(Revisions::ALL),
        frame.as_bytes(),
        Some(&headers),
    ))
}

fn on_stdio(frame: &str) -> String {
    words(&route(
        &RouterConfig::new(Revisions::ALL),
        frame.as_bytes(),
        None,
    ))
}

/// Routes on a server that serves no handshake, over HTTP when there are headers.
fn without_handshake(headers: Option<&Headers<'_>>, frame: &str) -> String {
    let config = RouterConfig::new(Revisions::only(Revision::V2026_07_28));
    words(&route(&config, frame.as_bytes(), headers))
}

fn words(routed: &Routed<'_>) -> String {
    match routed {
        Routed::Stateless(request) => format!("serve {} id {}", request.method, request.id),
        Routed::Unknown(request) => format!("unknown {} id {}", request.method, request.id),
        Routed::Session(_) => "session".into(),
        Routed::Refused(refusal) => {
            let id = refusal
                .id
                .as_ref()
                .map(|id| format!(" id {id}"))
                .unwrap_or_default();
            format!("{} {}{id}", refusal.status, refusal.error.code)
        }
    }
}

// proves: SV-1
#[test]
fn methods_that_the_protocol_lacks_are_handed_on_where_that_is_wanted() {
    let config = RouterConfig {
        forward_unknown_methods: true,
        ..RouterConfig::new(Revisions::ALL)
    };
    for (method, refused, wanted) in [
        ("acme/echo", "404 -32601 id 7", "unknown acme/echo id 7"),
        // The protocol has it, from the other side.
        ("roots/list", "404 -32601 id 7", "404 -32601 id 7"),
        (
            "tools/list",
            "serve tools/list id 7",
            "serve tools/list id 7",
        ),
    ] {
        let frame = request(method, "2026-07-28", "");
        assert_eq!(on_stdio(&frame), refused);
        assert_eq!(words(&route(&config, frame.as_bytes(), None)), wanted);
    }
}

/// Returns a request with a complete `_meta` of a version.
fn request(method: &str, version: &str, members: &str) -> String {
    let comma = if members.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{{}}}}{comma}{members}}}}}"#
    )
}

#[test]
fn a_complete_request_is_served() {
    let list = request("tools/list", NEW, "");
    assert_eq!(on_stdio(&list), "serve tools/list id 7");
    assert_eq!(
        over_http("2026-07-28|tools/list|-", &list),
        "serve tools/list id 7"
    );
    let call = request("tools/call", NEW, r#""name":"add""#);
    assert_eq!(
        over_http("2026-07-28|tools/call|add", &call),
        "serve tools/call id 7"
    );
    let encoded = request("tools/call", NEW, "\"name\":\" us-west1\"");
    assert_eq!(
        over_http("2026-07-28|tools/call|=?base64?IHVzLXdlc3Qx?=", &encoded),
        "serve tools/call id 7"
    );
}

#[test]
fn the_era_shows_in_the_message() {
    let old = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}"#;
    assert_eq!(on_stdio(old), "session");
    assert_eq!(over_http("2025-11-25|-|-", old), "session");
    assert_eq!(over_http("-|-|-", old), "session");
    let plain = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    assert_eq!(on_stdio(plain), "session");
    // Other headers are never looked at in the old era.
    assert_eq!(over_http("2025-06-18|wrong|wrong", plain), "session");
    for frame in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
    ] {
        assert_eq!(on_stdio(frame), "session");
    }
}

// proves: F-JR-14, HS-3, TR-115
#[test]
fn members_that_meta_must_have() {
    let bare = r#"{"jsonrpc":"2.0","id":7,"method":"server/discover"}"#;
    assert_eq!(on_stdio(bare), "400 -32602 id 7");
    assert_eq!(
        over_http("2026-07-28|server/discover|-", bare),
        "400 -32602 id 7"
    );
    let listed = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}"#;
    assert_eq!(
        over_http("2026-07-28|tools/list|-", listed),
        "400 -32602 id 7"
    );
    for meta in [
        r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#,
        r#"{"io.modelcontextprotocol/clientCapabilities":{}}"#,
        r#"{"io.modelcontextprotocol/protocolVersion":7,"io.modelcontextprotocol/clientCapabilities":{}}"#,
        r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":[]}"#,
        r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":{}}"#,
        r#"[]"#,
    ] {
        let frame = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{{"_meta":{meta}}}}}"#
        );
        assert_eq!(
            over_http("2026-07-28|server/discover|-", &frame),
            "400 -32602 id 7",
            "{meta}"
        );
    }
    // Who the client is may be left out.
    assert_eq!(
        on_stdio(&request("server/discover", NEW, "")),
        "serve server/discover id 7"
    );
    // However its name is written.
    let list = request("tools/list", NEW, "");
    for name in [
        "_m\\u0065ta",
        "\\u005fmeta",
        "\\u005F\\u006d\\u0065\\u0074\\u0061",
    ] {
        let escaped = list.replace("_meta", name);
        assert_ne!(escaped, list);
        assert_eq!(on_stdio(&escaped), "serve tools/list id 7", "{name}");
    }
    let other = list.replace("_meta", "_metadata");
    assert_eq!(on_stdio(&other), "session");
}

/// What a gateway in front reads is what runs.
#[test]
fn ambiguous_requests_are_refused() {
    let headers = "2026-07-28|tools/call|add";
    let call = request("tools/call", NEW, r#""name":"add""#);
    assert_eq!(over_http(headers, &call), "serve tools/call id 7");
    for more in [
        r#""name":"add","name":"echo""#,
        r#""name":"add","Name":"echo""#,
        r#""name":"add","name\u0000":"echo""#,
        r#""name":"add","_meta":{}"#,
        r#""name":"add","_Meta":{}"#,
        r#""name":"add","arguments":{"a":1,"a":2}"#,
    ] {
        let frame = call.replace(r#""name":"add""#, more);
        assert_ne!(frame, call);
        assert_eq!(over_http(headers, &frame), "400 -32602 id 7", "{more}");
        assert_eq!(on_stdio(&frame), "400 -32602 id 7", "{more}");
    }
    for name in ["protocolVersion", "clientCapabilities", "protocolversion"] {
        let twice = format!(r#""_meta":{{"io.modelcontextprotocol/{name}":1,"#);
        let frame = call.replace(r#""_meta":{"#, &twice);
        assert_eq!(on_stdio(&frame), "400 -32602 id 7", "{name}");
    }
}

// proves: HS-4, TR-115
#[test]
fn revisions_that_are_not_served() {
    let unknown = request("tools/list", "v999.0.0", "");
    assert_eq!(
        over_http("v999.0.0|tools/list|-", &unknown),
        "400 -32022 id 7"
    );
    assert_eq!(
        over_http("2026-07-28|tools/list|-", &unknown),
        "400 -32020 id 7"
    );
    assert_eq!(on_stdio(&unknown), "400 -32022 id 7");
    // A revision of the old era is no revision of this one.
    assert_eq!(
        on_stdio(&request("tools/list", "2025-11-25", "")),
        "400 -32022 id 7"
    );
    assert_eq!(
        over_http(
            "2025-11-25|tools/list|-",
            &request("tools/list", "2025-11-25", "")
        ),
        "400 -32022 id 7"
    );
    let config = RouterConfig::new(Revisions::ALL);
    let Routed::Refused(refusal) = route(&config, unknown.as_bytes(), None) else {
        panic!();
    };
    let data: UnsupportedVersionData = refusal.error.data_as().unwrap().unwrap();
    assert_eq!(data.requested, "v999.0.0");
    assert_eq!(data.supported.len(), 5);
}

// proves: F-HT-13, SE-9
#[test]
fn headers_repeat_the_message() {
    let call = request("tools/call", NEW, r#""name":"add""#);
    for headers in [
        "-|tools/call|add",
        "2025-11-25|tools/call|add",
        "2026-07-28|-|add",
        "2026-07-28|TOOLS/CALL|add",
        "2026-07-28|tools/list|add",
        "2026-07-28|tools/call|-",
        "2026-07-28|tools/call|sub",
        "2026-07-28|tools/call|=?base64?SGVsbG8?=",
        "2026-07-28|tools/call|add\u{7f}",
    ] {
        assert_eq!(over_http(headers, &call), "400 -32020 id 7", "{headers}");
    }
    let read = request("resources/read", NEW, r#""uri":"file:///a""#);
    assert_eq!(
        over_http("2026-07-28|resources/read|file:///a", &read),
        "serve resources/read id 7"
    );
    assert_eq!(
        over_http("2026-07-28|resources/read|file:///b", &read),
        "400 -32020 id 7"
    );
    let twice = Headers::collect([
        ("mcp-protocol-version", NEW),
        ("mcp-method", "tools/call"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "add"),
    ]);
    let routed = route(
        &RouterConfig::new(Revisions::ALL),
        call.as_bytes(),
        Some(&twice),
    );
    assert_eq!(words(&routed), "400 -32020 id 7");
    // What a header can't carry must be encoded, even when both sides agree.
    let plain = request("tools/call", NEW, r#""name":"世界""#);
    assert_eq!(
        over_http("2026-07-28|tools/call|世界", &plain),
        "400 -32020 id 7"
    );
    assert_eq!(
        over_http("2026-07-28|tools/call|=?base64?5LiW55WM?=", &plain),
        "serve tools/call id 7"
    );
}

#[test]
fn sessions_are_not_looked_at_in_the_new_era() {
    let list = request("tools/list", NEW, "");
    for ids in [&["known"][..], &["a", "b"], &["not allowed"]] {
        let standard = [("mcp-protocol-version", NEW), ("mcp-method", "tools/list")];
        let ids = ids.iter().map(|id| ("mcp-session-id", *id));
        let headers = Headers::collect(standard.into_iter().chain(ids));
        let config = RouterConfig::new(Revisions::ALL);
        let routed = route(&config, list.as_bytes(), Some(&headers));
        assert_eq!(words(&routed), "serve tools/list id 7");
    }
}

// proves: F-JR-13, HS-5, TR-114
#[test]
fn methods_that_are_unknown_or_gone() {
    for method in [
        "nonsense",
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/result",
        "tasks/list",
        "roots/list",
        "notifications/progress",
    ] {
        let frame = request(method, NEW, "");
        assert_eq!(
            over_http(&format!("2026-07-28|{method}|-"), &frame),
            "404 -32601 id 7",
            "{method}"
        );
        assert_eq!(on_stdio(&frame), "404 -32601 id 7", "{method}");
    }
}

// LG-3.
#[test]
fn an_unknown_log_level_is_refused() {
    let asks = |level: &str| {
        let frame = request("tools/list", NEW, "");
        let level = format!(r#""_meta":{{"io.modelcontextprotocol/logLevel":{level},"#);
        let asks = frame.replacen(r#""_meta":{"#, &level, 1);
        assert_ne!(asks, frame);
        asks
    };
    for level in [r#""debug""#, r#""emergency""#, "null"] {
        assert_eq!(on_stdio(&asks(level)), "serve tools/list id 7", "{level}");
    }
    let long = format!("{:?}", "x".repeat(1000));
    for level in [r#""loud""#, r#""Debug""#, r#""""#, "5", &long] {
        let frame = asks(level);
        assert_eq!(on_stdio(&frame), "400 -32602 id 7", "{level}");
        assert_eq!(
            over_http("2026-07-28|tools/list|-", &frame),
            "400 -32602 id 7"
        );
    }
    let frame = asks(r#""loud""#);
    let config = RouterConfig::new(Revisions::ALL);
    let Routed::Refused(refusal) = route(&config, frame.as_bytes(), None) else {
        panic!("it is refused");
    };
    assert_eq!(
        refusal.error.message,
        r#"params._meta.io.modelcontextprotocol/logLevel: "loud" is not a known log level"#
    );
}

// proves: F-JR-15
#[test]
fn frames_that_are_no_messages_are_refused() {
    for (frame, expected) in [
        ("{", "400 -32700"),
        ("[]", "400 -32600"),
        ("7", "400 -32600"),
        (r#"{"id":7,"method":"x"}"#, "400 -32600 id 7"),
        (
            r#"{"jsonrpc":"1.0","id":7,"method":"x"}"#,
            "400 -32600 id 7",
        ),
        (r#"{"jsonrpc":2.0,"id":7,"method":"x"}"#, "400 -32600 id 7"),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"x","params":[]}"#,
            "400 -32602 id 7",
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"x","params":3}"#,
            "400 -32602 id 7",
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{}}"#,
            "400 -32600",
        ),
        (r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, "400 -32600"),
    ] {
        assert_eq!(on_stdio(frame), expected, "{frame}");
        assert_eq!(over_http("2026-07-28|x|-", frame), expected, "{frame}");
    }
}

#[test]
fn a_request_brings_what_a_handler_needs() {
    let frame = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/logLevel":"info","progressToken":5}}}"#;
    let Routed::Stateless(request) =
        route(&RouterConfig::new(Revisions::ALL), frame.as_bytes(), None)
    else {
        panic!();
    };
    assert!(request.context.capabilities.sampling.is_some());
    assert_eq!(request.context.client_info().unwrap().name, "c");
    assert_eq!(request.context.log_level, Some(LoggingLevel::Info));
    assert_eq!(request.context.progress_token, Some(5.into()));
    assert_eq!(request.context.revision, Revision::V2026_07_28);
}

#[test]
fn a_server_without_the_handshake_refuses_it_itself() {
    const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}"#;
    const PLAIN: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#;
    const BARE: &str = r#"{"jsonrpc":"2.0","id":7,"method":"initialize"}"#;
    for frame in [INITIALIZE, PLAIN, BARE] {
        for version in [None, Some("2025-11-25"), Some("v999.0.0")] {
            let headers = Headers {
                protocol_version: version,
                session_id: Some("s"),
                ..Headers::new()
            };
            let routed = without_handshake(Some(&headers), frame);
            assert_eq!(routed, "400 -32020 id 7", "{version:?} {frame}");
        }
    }
    assert_eq!(without_handshake(None, INITIALIZE), "400 -32022 id 7");
    assert_eq!(without_handshake(None, BARE), "400 -32022 id 7");
    // Any other request lacks what its `_meta` must have.
    assert_eq!(without_handshake(None, PLAIN), "400 -32602 id 7");

    for headers in [None, Some(Headers::new())] {
        let config = RouterConfig::new(Revisions::only(Revision::V2026_07_28));
        let routed = route(&config, INITIALIZE.as_bytes(), headers.as_ref());
        let Routed::Refused(refusal) = routed else {
            panic!();
        };
        let data: UnsupportedVersionData = refusal.error.data_as().unwrap().unwrap();
        assert_eq!(data.supported, ["2026-07-28"]);
        assert_eq!(data.requested, "2025-11-25");
        let batch = format!("[{PLAIN}]");
        assert_eq!(without_handshake(headers.as_ref(), &batch), "400 -32600");
        // There is nothing to refuse about what wants no response.
        for frame in [
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        ] {
            assert_eq!(without_handshake(headers.as_ref(), frame), "session");
        }
    }
    // What is of its own era it serves and refuses as ever.
    let headers = Headers::collect([("mcp-protocol-version", NEW), ("mcp-method", "initialize")]);
    let gone = request("initialize", NEW, "");
    assert_eq!(without_handshake(Some(&headers), &gone), "404 -32601 id 7");
    let list = request("tools/list", NEW, "");
    assert_eq!(without_handshake(None, &list), "serve tools/list id 7");
}

#[test]
fn an_unknown_version_in_the_header_alone_shows_no_era() {
    let plain = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    assert_eq!(over_http("v999.0.0|tools/list|-", plain), "session");
}
