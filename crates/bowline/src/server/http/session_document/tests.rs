use super::*;

fn document() -> SessionDocument {
    let record = br#"{"v":1,"revision":"2025-06-18","ready":true,"logLevel":"info","subscribed":["file:///a\n"],"nextCall":4,"nextRequest":9}"#;
    let info = r#"{"name":"probe","version":"1","title":"A \"probe\""}"#;
    let capabilities = r#"{"roots":{"listChanged":true},"elicitation":{},"x-other":{"a":[1]}}"#;
    SessionDocument {
        record: SessionRecord::decode(record).unwrap(),
        client: Some(Arc::new(ClientInfo::new(
            Implementation::from_json(info).unwrap(),
            ClientCapabilities::from_json(capabilities).unwrap(),
            Revision::V2025_06_18,
        ))),
        principal: Some(Principal::new("ali\u{0}@\"x\"").claim("scope", "a b")),
    }
}

#[test]
fn a_document_is_read_as_it_was_written() {
    let full = document();
    let without_principal = SessionDocument {
        principal: None,
        ..document()
    };
    let bare = SessionDocument {
        client: None,
        ..without_principal.clone()
    };
    for document in [full, without_principal, bare] {
        let bytes = document.encode().unwrap();
        assert!(!bytes.contains(&b'\n'));
        let read = SessionDocument::decode(&bytes).unwrap();
        assert_eq!(read.record, document.record);
        assert_eq!(read.client, document.client);
        assert_eq!(read.principal, document.principal);
        let claims = |document: &SessionDocument| {
            let principal = document.principal.as_ref();
            principal.map(|principal| principal.claims().clone())
        };
        assert_eq!(claims(&read), claims(&document));
        assert_eq!(read.encode().unwrap(), bytes);
    }
}

#[test]
fn what_is_no_document_is_an_error() {
    let good = String::from_utf8(document().encode().unwrap()).unwrap();
    for (part, other, expected) in [
        (
            r#"{"v":1,"session""#,
            r#"{"v":2,"session""#,
            BadRecord::UnknownVersion,
        ),
        (
            r#""session":{"v":1"#,
            r#""session":{"v":2"#,
            BadRecord::UnknownVersion,
        ),
        (r#"{"v":1,"session""#, r#"{"session""#, BadRecord::Malformed),
        (r#""session""#, r#""sessions""#, BadRecord::Malformed),
        (r#""client":{"#, r#""client":{"b":1,"#, BadRecord::Malformed),
        (r#"{"info""#, r#"{"capabilities""#, BadRecord::Malformed),
        (r#""name":"probe","#, "", BadRecord::Malformed),
        (r#""id""#, r#""ids""#, BadRecord::Malformed),
        (r#""claims":{"#, r#""claims":[{"#, BadRecord::Malformed),
        (r#""principal""#, r#""client""#, BadRecord::Malformed),
        (r#""nextCall":4"#, r#""nextCall":0"#, BadRecord::Malformed),
    ] {
        let text = good.replacen(part, other, 1);
        assert_ne!(text, good, "{part}");
        let error = SessionDocument::decode(text.as_bytes()).map(drop);
        assert_eq!(error, Err(expected), "{text}");
    }
    for end in 0..good.len() {
        let cut = SessionDocument::decode(&good.as_bytes()[..end]).map(drop);
        assert_eq!(cut, Err(BadRecord::Malformed), "{end}");
    }
    for byte in 0..good.len() {
        let mut changed = good.clone().into_bytes();
        for other in [b'"', b'0', b'{', 0xff, b',', b'\\'] {
            changed[byte] = other;
            // No panic: most are errors, a few are other texts.
            let _ = SessionDocument::decode(&changed);
        }
    }
}
