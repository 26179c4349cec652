use proptest::collection::btree_set;
use proptest::prelude::*;

use super::*;

fn encoded(record: &SessionRecord) -> Vec<u8> {
    let mut bytes = Vec::new();
    record.encode(&mut bytes);
    bytes
}

fn record() -> impl Strategy<Value = SessionRecord> {
    let handshake = Revision::ALL.into_iter();
    let handshake = handshake.filter(|revision| revision.era() == Era::Handshake);
    let revision = proptest::sample::select(handshake.collect::<Vec<_>>());
    let level = prop_oneof![
        Just(None),
        Just(Some(LoggingLevel::Warning)),
        any::<String>().prop_map(|name| Some(LoggingLevel::from(&*name))),
    ];
    let subscribed = btree_set(any::<String>(), 0..5);
    let ids = (1..1_u64 << 53, 1..1_u64 << 53);
    (revision, any::<bool>(), level, subscribed, ids).prop_map(
        |(revision, is_ready, log_level, subscribed, (next_call, next_request))| SessionRecord {
            revision,
            is_ready,
            log_level,
            subscribed,
            next_call: IdCounter::starting_at(next_call),
            next_request,
        },
    )
}

proptest! {
    #[test]
    fn a_record_is_read_as_it_was_written(record in record()) {
        let bytes = encoded(&record);
        prop_assert!(!bytes.contains(&b'\n'));
        prop_assert_eq!(SessionRecord::decode(&bytes), Ok(record));
    }

    #[test]
    fn cut_and_changed_records_are_errors_or_records(
        record in record(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = encoded(&record);
        let at = at.index(bytes.len());
        prop_assert_eq!(SessionRecord::decode(&bytes[..at]), Err(BadRecord::Malformed));
        bytes[at] = byte;
        if let Ok(changed) = SessionRecord::decode(&bytes) {
            prop_assert_eq!(SessionRecord::decode(&encoded(&changed)), Ok(changed));
        }
    }

    #[test]
    fn bytes_of_any_kind_never_panic(bytes in any::<Vec<u8>>()) {
        let _ = SessionRecord::decode(&bytes);
    }
}

#[test]
fn what_no_session_has_is_refused() {
    let good = r#"{"v":1,"revision":"2025-06-18","ready":true,"subscribed":["a"],"nextCall":7,"nextRequest":9}"#;
    let record = SessionRecord::decode(good.as_bytes()).unwrap();
    assert_eq!(encoded(&record), good.as_bytes());
    assert!(record.is_subscribed("a") && record.is_ready());
    for (part, other, expected) in [
        (r#""v":1"#, r#""v":2"#, BadRecord::UnknownVersion),
        (r#""v":1"#, r#""v":"1""#, BadRecord::UnknownVersion),
        (r#""v":1,"#, "", BadRecord::Malformed),
        ("2025-06-18", "2026-07-28", BadRecord::Malformed),
        ("2025-06-18", "2099-01-01", BadRecord::Malformed),
        (r#""ready":true,"#, "", BadRecord::Malformed),
        (r#""ready":true"#, r#""ready":1"#, BadRecord::Malformed),
        (
            r#""ready":true"#,
            r#""ready":true,"ready":true"#,
            BadRecord::Malformed,
        ),
        (
            r#""ready":true"#,
            r#""ready":true,"other":1"#,
            BadRecord::Malformed,
        ),
        (r#"["a"]"#, r#"["a","a"]"#, BadRecord::Malformed),
        (r#"["a"]"#, r#"[1]"#, BadRecord::Malformed),
        (":7", ":0", BadRecord::Malformed),
        (":7", ":-1", BadRecord::Malformed),
        (":9", ":0", BadRecord::Malformed),
        (":9", ":1.5", BadRecord::Malformed),
        (":9", ":99999999999999999999", BadRecord::Malformed),
        (":9}", ":9}}", BadRecord::Malformed),
    ] {
        let text = good.replacen(part, other, 1);
        assert_ne!(text, good, "{part}");
        assert_eq!(
            SessionRecord::decode(text.as_bytes()),
            Err(expected),
            "{text}"
        );
    }
}

#[test]
fn settings_are_compared_without_ids() {
    let record = SessionRecord::new(Revision::V2025_06_18);
    let later = SessionRecord {
        next_request: 9,
        ..record.clone().with_first_call(7)
    };
    assert!(record.has_same_settings(&later) && record != later);
    for changed in [
        SessionRecord {
            is_ready: false,
            ..record.clone()
        },
        SessionRecord {
            revision: Revision::V2025_03_26,
            ..record.clone()
        },
        SessionRecord {
            log_level: Some(LoggingLevel::Info),
            ..record.clone()
        },
        SessionRecord {
            subscribed: BTreeSet::from(["a".to_owned()]),
            ..record.clone()
        },
    ] {
        assert!(!record.has_same_settings(&changed), "{changed:?}");
    }
}
