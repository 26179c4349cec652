use super::*;
use crate::server::{Routed, RouterConfig, route};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}"#;
const REQUEST: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#;
const NOTIFICATION: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const RESULT: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
const ERROR: &str = r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"m"}}"#;

fn all() -> HandshakeHttpConfig {
    HandshakeHttpConfig::new(Revisions::ALL)
}

/// Returns what becomes of a request, in words. `what` is `GET`, `DELETE` or the body of a POST;
/// `lines` are its headers as `version|session`, where `-` is none and `,` stands between repeated
/// ones.
fn words(config: &HandshakeHttpConfig, what: &str, lines: &str) -> String {
    let (version, session) = lines.split_once('|').unwrap();
    let each = |name, values: &'static str| {
        let values = values.split(',').filter(|value| *value != "-");
        values.map(move |value| (name, value)).collect::<Vec<_>>()
    };
    // Tests live as long as their headers.
    let leaked = |text: &str| -> &'static str { text.to_owned().leak() };
    let mut pairs = each("MCP-Protocol-Version", leaked(version));
    pairs.extend(each("mcp-session-id", leaked(session)));
    let headers = Headers::collect(pairs);
    let outcome = match what {
        "GET" => route_handshake_request(config, HandshakeHttpRequest::Get, &headers),
        "DELETE" => route_handshake_request(config, HandshakeHttpRequest::Delete, &headers),
        body => {
            let message = Envelope::parse(body.as_bytes()).unwrap();
            route_handshake_request(config, HandshakeHttpRequest::Post(&message), &headers)
        }
    };
    let within = |session: RequestSession| {
        let id = session.id.map_or("-".into(), |id| id.as_str().to_owned());
        format!("{id} {}", session.revision)
    };
    match outcome {
        Ok(HandshakeRoute::OpenSession) => "open".into(),
        Ok(HandshakeRoute::Respond(session)) => format!("ask {}", within(session)),
        Ok(HandshakeRoute::Accept(session)) => format!("accept {}", within(session)),
        Ok(HandshakeRoute::OpenStream(session)) => format!("listen {}", within(session)),
        Ok(HandshakeRoute::EndSession(id)) => format!("end {}", id.as_str()),
        Ok(HandshakeRoute::Ignore) => "ignore".into(),
        Err(refusal) => {
            let id = refusal.id.map(|id| format!(" id {id}"));
            let id = id.unwrap_or_default();
            format!("{} {}{id}", refusal.status, refusal.error.code)
        }
    }
}

#[test]
fn initialize_opens_a_session() {
    for (lines, expected) in [
        ("-|-", "open"),
        ("2025-03-26|-", "open"),
        ("2025-06-18|-", "open"),
        ("2025-11-25|-", "open"),
        ("2024-11-05|-", "open"),
        // The id of a session that is gone is not looked at: a new one is wanted.
        ("-|gone", "open"),
        ("-|not allowed", "open"),
        ("-|a,b", "open"),
        ("v999.0.0|-", "400 -32600 id 7"),
        ("|-", "400 -32600 id 7"),
        ("2025-11-25,2025-11-25|-", "400 -32600 id 7"),
    ] {
        assert_eq!(words(&all(), INITIALIZE, lines), expected, "{lines}");
    }
    // The handshake decides what to do with a revision that the server does not support.
    let old = HandshakeHttpConfig::new(Revisions::only(Revision::V2025_03_26));
    assert_eq!(words(&old, INITIALIZE, "2025-11-25|-"), "open");
    assert_eq!(words(&old, INITIALIZE, "2026-07-28|-"), "400 -32600 id 7");
}

#[test]
fn messages_belong_to_a_session() {
    for (body, expected) in [
        (REQUEST, "ask s 2025-11-25"),
        (NOTIFICATION, "accept s 2025-11-25"),
        (RESULT, "accept s 2025-11-25"),
        (ERROR, "accept s 2025-11-25"),
        ("GET", "listen s 2025-11-25"),
        ("DELETE", "end s"),
    ] {
        assert_eq!(words(&all(), body, "2025-11-25|s"), expected, "{body}");
    }
    for (body, expected) in [
        (REQUEST, "400 -32600 id 7"),
        (NOTIFICATION, "400 -32600"),
        // The id of a response is the server's own.
        (RESULT, "400 -32600"),
        (ERROR, "400 -32600"),
        ("GET", "400 -32600"),
        ("DELETE", "400 -32600"),
    ] {
        assert_eq!(words(&all(), body, "2025-11-25|-"), expected, "{body}");
        assert_eq!(words(&all(), body, "-|-"), expected, "{body}");
        assert_eq!(words(&all(), body, "2025-11-25|s,s"), expected, "{body}");
    }
}

// proves: F-SE-03
#[test]
fn ids_of_sessions_that_can_be_none() {
    let (longest, longer) = ("x".repeat(256), "x".repeat(257));
    for id in ["a b", "a\u{7f}", "ä", "", &longer, &"x".repeat(64 << 10)] {
        let lines = format!("2025-11-25|{id}");
        assert_eq!(words(&all(), REQUEST, &lines), "400 -32600 id 7");
        for what in [NOTIFICATION, "GET", "DELETE"] {
            assert_eq!(words(&all(), what, &lines), "400 -32600");
        }
    }
    for id in ["!~", &longest] {
        let lines = format!("2025-11-25|{id}");
        assert_eq!(words(&all(), "DELETE", &lines), format!("end {id}"));
    }
    // What was sent is not repeated.
    let headers = Headers::collect([("mcp-session-id", "my secret")]);
    let refusal = route_handshake_request(&all(), HandshakeHttpRequest::Get, &headers).unwrap_err();
    assert!(!refusal.error.message.contains("secret"));
}

#[test]
fn any_version_that_is_served_is_taken() {
    for (lines, expected) in [
        ("2025-03-26|s", "ask s 2025-03-26"),
        ("2025-06-18|s", "ask s 2025-06-18"),
        ("2025-11-25|s", "ask s 2025-11-25"),
        ("2024-11-05|s", "ask s 2024-11-05"),
        // Without the header it is the revision that had none.
        ("-|s", "ask s 2025-03-26"),
        ("v999.0.0|s", "400 -32600 id 7"),
        ("2025-11-2|s", "400 -32600 id 7"),
        ("|s", "400 -32600 id 7"),
        ("2025-06-18,2025-11-25|s", "400 -32600 id 7"),
    ] {
        assert_eq!(words(&all(), REQUEST, lines), expected, "{lines}");
    }
    for what in [NOTIFICATION, "GET", "DELETE"] {
        assert_eq!(words(&all(), what, "v999.0.0|s"), "400 -32600", "{what}");
    }
    let newer = HandshakeHttpConfig::new(Revisions::since(Revision::V2025_06_18));
    for (lines, expected) in [
        ("2025-06-18|s", "ask s 2025-06-18"),
        ("2025-03-26|s", "400 -32600 id 7"),
        // Who serves no client from before the header must not guess.
        ("-|s", "400 -32020 id 7"),
    ] {
        assert_eq!(words(&newer, REQUEST, lines), expected, "{lines}");
    }
    assert_eq!(words(&newer, INITIALIZE, "-|-"), "open");
}

#[test]
fn a_refused_version_is_named_with_those_that_are_served() {
    let headers = Headers::collect([("mcp-protocol-version", "v999.0.0")]);
    let config = HandshakeHttpConfig::new(Revisions::only(Revision::V2025_06_18));
    let refusal =
        route_handshake_request(&config, HandshakeHttpRequest::Get, &headers).unwrap_err();
    assert_eq!(
        refusal.error.message,
        r#"unsupported MCP-Protocol-Version "v999.0.0" (supported: 2025-06-18)"#
    );
    let long = "9".repeat(10_000);
    let headers = Headers::collect([("mcp-protocol-version", &*long)]);
    let refusal =
        route_handshake_request(&config, HandshakeHttpRequest::Get, &headers).unwrap_err();
    assert!(refusal.error.message.len() < 200);
}

#[test]
fn batches_are_what_their_parts_are() {
    for (body, expected) in [
        (
            format!("[{NOTIFICATION},{RESULT},{ERROR}]"),
            "accept s 2025-03-26",
        ),
        (format!("[{NOTIFICATION},{REQUEST}]"), "ask s 2025-03-26"),
        // A part that is no message is answered with an error.
        (format!("[{NOTIFICATION},1]"), "ask s 2025-03-26"),
        (format!("[{REQUEST},{INITIALIZE}]"), "400 -32600"),
        (format!("[{INITIALIZE}]"), "400 -32600"),
    ] {
        assert_eq!(words(&all(), &body, "-|s"), expected, "{body}");
    }
    assert_eq!(
        words(&all(), &format!("[{INITIALIZE}]"), "-|-"),
        "400 -32600"
    );
}

#[test]
fn without_sessions_no_id_is_needed_or_looked_at() {
    let config = all().without_sessions();
    for lines in [
        "2025-11-25|-",
        "2025-11-25|s",
        "2025-11-25|not allowed",
        "2025-11-25|a,b",
    ] {
        for (what, expected) in [
            (INITIALIZE, "open"),
            (REQUEST, "ask - 2025-11-25"),
            (NOTIFICATION, "accept - 2025-11-25"),
            ("GET", "listen - 2025-11-25"),
            ("DELETE", "405 -32600"),
        ] {
            assert_eq!(words(&config, what, lines), expected, "{what} {lines}");
        }
    }
}

#[test]
fn other_requests_of_the_stateless_era_are_ignored_or_refused() {
    let stateless = HandshakeHttpConfig::new(Revisions::only(Revision::V2026_07_28));
    for (config, lines) in [
        (all(), "2026-07-28|-"),
        (all(), "2026-07-28|s"),
        (stateless, "2026-07-28|-"),
        (stateless, "2025-11-25|s"),
        (stateless, "-|-"),
    ] {
        for (what, expected) in [
            (NOTIFICATION, "ignore"),
            (RESULT, "400 -32600"),
            ("GET", "405 -32600"),
            ("DELETE", "405 -32600"),
        ] {
            assert_eq!(words(&config, what, lines), expected, "{what} {lines}");
        }
    }
    // Where it is not served, it is a version like any other that isn't.
    let old = HandshakeHttpConfig::new(Era::Handshake.revisions());
    for what in [NOTIFICATION, "GET"] {
        assert_eq!(words(&old, what, "2026-07-28|s"), "400 -32600", "{what}");
    }
}

#[test]
fn forwarded_messages_belong_to_the_handshake_era() {
    let headers = Headers::collect([
        ("mcp-protocol-version", "v999.0.0"),
        ("mcp-session-id", "s"),
    ]);
    let config = RouterConfig::new(Revisions::ALL);
    let Routed::Session(message) = route(&config, REQUEST.as_bytes(), Some(&headers)) else {
        panic!();
    };
    let refusal = route_handshake_request(&all(), HandshakeHttpRequest::Post(&message), &headers)
        .unwrap_err();
    assert_eq!((refusal.status, refusal.id), (400, Some(7.into())));
}
