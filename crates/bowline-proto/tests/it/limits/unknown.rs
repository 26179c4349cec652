//! Forwarding methods that the protocol doesn't have.

use bowline_proto::Payload;

use super::*;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

/// A request of the handshake era or of the stateless one.
fn asked(id: u32, method: &str, is_stateless: bool) -> String {
    let meta = if is_stateless { META } else { "" };
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{meta}}}}}"#)
}

fn wanting(configure: impl FnOnce(&mut SessionConfig)) -> Session {
    server(|config| {
        config.forward_unknown_methods(true);
        configure(config);
    })
}

// proves: SV-1
#[test]
fn unknown_methods_are_forwarded_only_if_configured() {
    for is_stateless in [false, true] {
        let mut session = server(|_| {});
        ask(&mut session, ZERO, &asked(1, "acme/echo", is_stateless));
        assert!(requests(&mut session).is_empty());
        assert!(answers(&mut session)[0].contains("-32601"));

        let mut session = wanting(|_| {});
        ask(&mut session, ZERO, &asked(1, "acme/echo", is_stateless));
        let event = session.poll_event();
        let Some(SessionEvent::UnknownRequest {
            request,
            method,
            context,
            ..
        }) = event
        else {
            panic!("an unexpected event: {event:?}");
        };
        assert_eq!((&*method, context.is_some()), ("acme/echo", is_stateless));
        let responded = session.respond(ZERO, request, Payload::EMPTY);
        responded.expect("it is open");
        assert!(answers(&mut session)[0].contains(r#""id":1,"result":{}"#));
        // What the protocol has elsewhere is not served here either.
        for known in ["sampling/createMessage", "notifications/initialized"] {
            ask(&mut session, ZERO, &asked(2, known, is_stateless));
            assert!(requests(&mut session).is_empty());
            assert!(answers(&mut session)[0].contains("-32601"), "{known}");
        }
    }
}

#[test]
fn unknown_requests_are_bounded_as_all_requests_are() {
    for is_stateless in [false, true] {
        let mut session = wanting(|config| {
            config.limits().max_peer_requests(2);
        });
        for (id, is_busy) in [(1, false), (2, false), (3, true)] {
            ask(&mut session, ZERO, &asked(id, "acme/echo", is_stateless));
            let answers = answers(&mut session).concat();
            assert_eq!(answers.contains("busy"), is_busy, "{answers}");
        }
        assert_eq!(requests(&mut session).len(), 2);
    }
    // Their names count, since a client chooses them. Two bytes are `{}`.
    let mut session = wanting(|config| {
        config.limits().max_peer_request_bytes(100);
    });
    for (id, bytes, is_busy) in [(1, 58, false), (2, 39, true), (3, 38, false)] {
        ask(&mut session, ZERO, &asked(id, &"y".repeat(bytes), false));
        let answers = answers(&mut session).concat();
        assert_eq!(answers.contains("busy"), is_busy, "{id}: {answers}");
    }
}

#[test]
fn unknown_requests_are_cancelled_and_end_in_time_as_all_requests_do() {
    let mut session = wanting(|config| {
        config.handler_timeout(Some(5 * SECOND));
    });
    ask(&mut session, ZERO, &asked(1, "acme/echo", false));
    let cancelled =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let key = requests(&mut session)[0];
    ask(&mut session, ZERO, cancelled);
    assert_eq!(
        session.poll_event(),
        Some(SessionEvent::RequestCancelled(key))
    );
    assert!(session.respond(ZERO, key, Payload::EMPTY).is_err());
    assert!(answers(&mut session).is_empty(), "none after that");
    ask(&mut session, ZERO, &asked(2, "acme/echo", false));
    let key = requests(&mut session)[0];
    session.handle_timeout(at(5));
    assert_eq!(
        session.poll_event(),
        Some(SessionEvent::RequestTimedOut(key))
    );
}

#[test]
fn unknown_notifications_are_forwarded_while_the_session_serves() {
    let note = r#"{"jsonrpc":"2.0","method":"acme/ping","params":{"a":1}}"#;
    let is_forwarded = |session: &mut Session| {
        ask(session, ZERO, note);
        match session.poll_event() {
            Some(SessionEvent::UnknownNotification { method, params }) => {
                assert_eq!(&*method, "acme/ping");
                assert_eq!(params.expect("its own").as_str(), r#"{"a":1}"#);
                true
            }
            other => {
                assert_eq!(other, None);
                false
            }
        }
    };
    assert!(!is_forwarded(&mut server(|_| {})));
    assert!(is_forwarded(&mut wanting(|_| {})));
    let mut ending = wanting(|_| {});
    ending.shut_down();
    assert!(!is_forwarded(&mut ending));
    // In the stateless era there is no `initialize`.
    for (revisions, expected) in [
        (Revisions::ALL, true),
        (Revisions::only(Revision::V2025_11_25), false),
    ] {
        let mut config = SessionConfig::new(Implementation::new("limits", "0"));
        config.forward_unknown_methods(true).revisions(revisions);
        assert_eq!(is_forwarded(&mut Session::new(ZERO, config)), expected);
    }
}
