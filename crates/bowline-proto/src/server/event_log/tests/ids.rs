//! Ids, records and heads as text, and events in an event stream.

use bytes::BytesMut;
use proptest::prelude::*;

use super::*;
use crate::codec::{SseDecoder, SseItem, write_comment, write_retry};

// proves: F-SE-12
#[test]
fn ids_have_one_text() {
    for good in [
        "0-1",
        "7-12",
        "10-100",
        "18446744073709551615-18446744073709551615",
    ] {
        assert_eq!(id(good).to_string(), good);
        assert_eq!(id(good).text().as_str(), good);
    }
    let long = "1".repeat(64 << 10);
    for (bad, why) in [
        ("", BadEventId::Empty),
        (&*long, BadEventId::TooLong),
        (
            "111111111111111111111-11111111111111111111",
            BadEventId::TooLong,
        ),
        ("18446744073709551616-1", BadEventId::Overflow),
        ("1-18446744073709551616", BadEventId::Overflow),
        ("99999999999999999999-1", BadEventId::Overflow),
        ("7", BadEventId::Malformed),
        ("-", BadEventId::Malformed),
        ("7-", BadEventId::Malformed),
        ("-7", BadEventId::Malformed),
        ("7-0", BadEventId::Malformed),
        ("07-1", BadEventId::Malformed),
        ("7-01", BadEventId::Malformed),
        ("+7-1", BadEventId::Malformed),
        ("7--1", BadEventId::Malformed),
        ("7-1-1", BadEventId::Malformed),
        (" 7-1", BadEventId::Malformed),
        ("7-1\0", BadEventId::Malformed),
        ("7-\u{661}", BadEventId::Malformed),
        ("../../etc", BadEventId::Malformed),
    ] {
        assert_eq!(bad.parse::<EventId>(), Err(why), "{bad:.60}");
    }
    assert_eq!(EventId::parse(b"7-\xff"), Err(BadEventId::Malformed));
}

proptest! {
    #[test]
    fn every_parsed_event_id_is_canonical(text in "[0-9]{0,21}-?[0-9]{0,21}-?") {
        if let Ok(id) = text.parse::<EventId>() {
            prop_assert_eq!(id.to_string(), text);
        }
    }

    #[test]
    fn records_survive_a_store(
        number: u64,
        sequence in 1..=u64::MAX,
        kind in 0..3,
        data: Vec<u8>,
    ) {
        let id = EventId::new(stream(number), NonZeroU64::new(sequence).unwrap());
        let data = match kind {
            0 => EventData::Priming,
            1 => EventData::Message(data.into()),
            _ => EventData::FinalResponse(data.into()),
        };
        let record = EventRecord::new(id, data);
        let mut bytes = BytesMut::new();
        record.encode(&mut bytes);
        prop_assert_eq!(EventRecord::decode(&bytes.freeze()), Ok(record));
    }

    #[test]
    fn decoding_garbage_does_not_panic(bytes: Vec<u8>, tail in "[pmr] [0-9-]{0,5}\n?.{0,3}") {
        let bytes = Bytes::from(bytes);
        let decoded = EventRecord::decode(&bytes);
        if let Ok(record) = decoded {
            let mut again = Vec::new();
            record.encode(&mut again);
            prop_assert_eq!(again, bytes.to_vec());
        }
        let _ = StreamHead::decode(&bytes);
        let _ = EventRecord::decode(&Bytes::from(format!("1{tail}")));
    }
}

#[test]
fn malformed_records_are_refused() {
    for bad in [
        "",
        "1",
        "1m",
        "1m 7-1",
        "1x 7-1\n",
        "1m7-1\n",
        "1p 7-1\nx",
        "1m 7-0\n",
    ] {
        assert_eq!(
            EventRecord::decode(&Bytes::copy_from_slice(bad.as_bytes())),
            Err(BadRecord::Malformed),
            "{bad}"
        );
    }
    let newer = Bytes::from_static(b"2m 7-1\n");
    assert_eq!(EventRecord::decode(&newer), Err(BadRecord::UnknownVersion));
}

#[test]
fn heads_survive_a_store() {
    for text in [
        "1 7 0 0 open",
        "1 7 12 0 polling",
        "1 7 12 3 ended evicted",
        "1 0 12 12 open expired",
    ] {
        let head = StreamHead::decode(text.as_bytes()).unwrap();
        assert_eq!(head.to_string(), text);
    }
    for bad in [
        "1",
        "1 7 3 4 open evicted",
        "1 7 3 2 open",
        "1 7 3 0 open evicted",
        "1 7 3 0 shut",
        "1 7 3 0 open ",
        "1 07 3 0 open",
        "1 7 3 2 open evicted x",
    ] {
        assert_eq!(
            StreamHead::decode(bad.as_bytes()),
            Err(BadRecord::Malformed),
            "{bad}"
        );
    }
    let newer = StreamHead::decode(b"2 7 0 0 open");
    assert_eq!(newer, Err(BadRecord::UnknownVersion));
}

// proves: F-SS-04
#[test]
fn events_are_written_as_an_event_stream() {
    let mut out = BytesMut::new();
    let retry = Duration::from_millis(500);
    EventRecord::new(id("7-1"), EventData::Priming).write_sse(&mut out, Some(retry));
    EventRecord::new(id("7-2"), message("{\n}")).write_sse(&mut out, None);
    write_comment(&mut out, "alive\nstill");
    EventRecord::new(id("7-3"), response("{}")).write_sse(&mut out, Some(retry));
    write_retry(&mut out, Duration::from_secs(2));
    assert_eq!(
        &*out,
        b"id: 7-1\nretry: 500\ndata: \n\nid: 7-2\ndata: {\ndata: }\n\n: alive\n: still\n\n\
          id: 7-3\ndata: {}\n\nretry: 2000\n\n"
    );
    let mut decoder = SseDecoder::new(100);
    decoder.push(&out);
    let items: Vec<_> = std::iter::from_fn(|| decoder.poll()).collect();
    let event = |data: &'static str| SseItem::Event {
        name: "message".into(),
        data: data.into(),
    };
    assert_eq!(
        items,
        [
            SseItem::Retry(retry),
            event(""),
            event("{\n}"),
            SseItem::Comment,
            SseItem::Comment,
            event("{}"),
            SseItem::Retry(Duration::from_secs(2)),
        ]
    );
    assert_eq!(decoder.last_event_id(), "7-3");
}
