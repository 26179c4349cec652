use bowline_types::elicitation::{ElicitFormParams, FormSchema, PrimitiveSchema};
use bowline_types::roots::ListRootsParams;

use super::*;

/// Changes nothing and adds a checksum over both: enough to show what is bound.
struct Checked;

impl Seal for Checked {
    fn seal(&self, plain: &[u8], binding: &[u8]) -> String {
        let text = String::from_utf8(plain.to_vec()).unwrap();
        let text = text.replace('"', "'");
        format!("{}:{text}", checksum(text.as_bytes(), binding))
    }

    fn open(&self, sealed: &str, binding: &[u8]) -> Option<Vec<u8>> {
        let (sum, text) = sealed.split_once(':')?;
        let is_right = sum.parse() == Ok(checksum(text.as_bytes(), binding));
        is_right.then(|| text.replace('\'', "\"").into_bytes())
    }
}

fn checksum(text: &[u8], binding: &[u8]) -> u64 {
    let bytes = text.iter().chain(b"|").chain(binding);
    bytes.fold(7, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u64::from(*byte))
    })
}

const PARAMS: &str = r#"{"name":"x","arguments":{"a":1}}"#;

fn binding(principal: &str, params: &str) -> Binding {
    Binding::new(principal, "tools/call", params).unwrap()
}

/// Returns a first run that asks `key`, and the state that the client keeps.
fn asked(key: &str) -> String {
    let bound = binding("alice", PARAMS);
    let mut rounds = Rounds::open(PARAMS, &Checked, &bound, 100).unwrap();
    assert!(rounds.response(key).is_none());
    assert!(rounds.once("charge"));
    rounds.request_input(key, ListRootsParams::new());
    match rounds.finish(&Checked, &bound, StateMark::new("n1", 200)) {
        Round::InputRequired(result) => result.request_state.unwrap(),
        Round::Done => panic!("it asked"),
    }
}

/// Returns the parameters of the next round.
fn answered(state: &str, responses: &str) -> String {
    format!(
        r#"{{"arguments":{{"a":1}},"name":"x","inputResponses":{responses},"requestState":"{state}","_meta":{{"x":1}}}}"#
    )
}

#[test]
fn answers_of_all_rounds_are_there_in_the_last() {
    let first = asked("one");
    let params = answered(&first, r#"{"one":{"roots":[]},"never asked":{}}"#);
    let bound = binding("alice", &params);
    let mut rounds = Rounds::open(&params, &Checked, &bound, 199).unwrap();
    assert_eq!(rounds.state_mark(), Some(&StateMark::new("n1", 200)));
    assert!(rounds.response("one").is_some());
    assert!(rounds.response("never asked").is_none());
    assert!(!rounds.once("charge"), "it was done in the first round");
    rounds.request_input("two", ListRootsParams::new());
    let Round::InputRequired(result) = rounds.finish(&Checked, &bound, StateMark::new("n2", 300))
    else {
        panic!("it asked");
    };
    let params = answered(&result.request_state.unwrap(), r#"{"two":{"roots":[]}}"#);
    let rounds = Rounds::open(&params, &Checked, &bound, 250).unwrap();
    assert!(rounds.response("one").is_some() && rounds.response("two").is_some());
    let mark = StateMark::new("n2", 300);
    assert_eq!(rounds.state_mark(), Some(&mark));
    let third = StateMark::new("n3", 400);
    assert_eq!(rounds.finish(&Checked, &bound, third), Round::Done);
}

#[test]
fn a_key_that_is_used_again_is_another_question() {
    let bound = binding("alice", PARAMS);
    let mut rounds = Rounds::new();
    let (first, other) = (rounds.next_name("age"), rounds.next_name("name"));
    assert_eq!((&*first, &*other), ("age", "name"));
    rounds.request_input(&first, ListRootsParams::new());
    assert_eq!(rounds.request_count(), 1);
    let Round::InputRequired(result) = rounds.finish(&Checked, &bound, StateMark::new("n1", 200))
    else {
        panic!("it asked");
    };
    let params = answered(
        &result.request_state.unwrap(),
        r#"{"age":{"roots":[]},"age#2":{"roots":[]}}"#,
    );
    let mut rounds = Rounds::open(&params, &Checked, &bound, 150).unwrap();
    assert_eq!(rounds.next_name("age"), "age", "each run begins anew");
    assert!(rounds.response("age").is_some());
    let second = rounds.next_name("age");
    assert_eq!(second, "age#2");
    assert!(rounds.response(&second).is_none(), "it was not asked yet");
    rounds.request_input(&second, ListRootsParams::new());
    assert_eq!(rounds.request_count(), 2);
}

#[test]
fn no_two_questions_have_the_same_name() {
    let mut rounds = Rounds::new();
    let keys = [
        "a", "a#2", "a#", "#", "#2", "", "a#2#2", "a#1", "a-2", "a#x",
    ];
    let names = (0..3).flat_map(|_| keys.map(|key| rounds.next_name(key)));
    let names: BTreeSet<_> = names.collect();
    assert_eq!(names.len(), 3 * keys.len(), "{names:?}");
}

// proves: F-OA-20
#[test]
fn a_state_opens_for_its_request_alone() {
    let state = asked("one");
    let open = |principal: &str, params: &str, now| {
        let bound = binding(principal, params);
        Rounds::open(params, &Checked, &bound, now).map(drop)
    };
    let params = answered(&state, "{}");
    assert_eq!(open("alice", &params, 199), Ok(()));
    assert_eq!(open("alice", &params, 200), Err(RoundsError::ExpiredState));
    assert_eq!(
        open("mallory", &params, 150),
        Err(RoundsError::InvalidState)
    );
    let other = params.replace("\"a\":1", "\"a\":2");
    assert_eq!(open("alice", &other, 150), Err(RoundsError::InvalidState));
    let tampered = params.replace("'expires':200", "'expires':900");
    assert_ne!(tampered, params);
    assert_eq!(
        open("alice", &tampered, 150),
        Err(RoundsError::InvalidState)
    );
    for broken in [r#""""#, "7", "{}"] {
        let params = format!(r#"{{"name":"x","arguments":{{"a":1}},"requestState":{broken}}}"#);
        assert_eq!(open("alice", &params, 150), Err(RoundsError::InvalidState));
    }
    let bad = answered(&state, "[]");
    assert_eq!(open("alice", &bad, 150), Err(RoundsError::InvalidParams));
    assert_eq!(RoundsError::InvalidState.to_error().code, -32602);
}

#[test]
fn an_answer_that_is_none_to_its_question_is_refused_by_its_key() {
    let bound = binding("alice", PARAMS);
    let form = FormSchema::new([("a", PrimitiveSchema::string())]);
    let mut rounds = Rounds::new();
    rounds.request_input("who", ElicitFormParams::new("Who?", form));
    rounds.request_input("where", ListRootsParams::new());
    let Round::InputRequired(result) = rounds.finish(&Checked, &bound, StateMark::new("n", 200))
    else {
        panic!("it asked");
    };
    let state = result.request_state.unwrap();
    for (answers, wrong) in [
        (r#"{"who":5}"#, Some("params.inputResponses.who")),
        (r#"{"who":null}"#, Some("params.inputResponses.who")),
        (r#"{"who":[]}"#, Some("params.inputResponses.who")),
        (r#"{"who":{"roots":[]}}"#, Some("params.inputResponses.who")),
        (
            r#"{"who":{"action":"decline"},"where":{}}"#,
            Some("params.inputResponses.where"),
        ),
        // Some are missing, and one was not requested.
        (r#"{"who":{"action":"decline"},"why":5}"#, None),
        ("{}", None),
    ] {
        let params = answered(&state, answers);
        let opened = Rounds::open(&params, &Checked, &bound, 100);
        match (opened, wrong) {
            (Ok(rounds), None) => {
                assert_eq!(rounds.response("who").is_some(), answers.contains("who"));
                assert!(rounds.response("where").is_none());
            }
            (Err(error), Some(key)) => {
                let error = error.to_error();
                assert_eq!(error.code, -32602);
                assert!(error.message.contains(key), "{answers}: {}", error.message);
            }
            (opened, _) => panic!("{answers}: {opened:?}"),
        }
    }
}

#[test]
fn answers_without_a_state_are_for_questions_of_their_names_and_types() {
    let params = r#"{"name":"x","inputResponses":{"one":{"roots":[]},"two":5,"three":{}}}"#;
    let bound = binding("alice", params);
    let mut rounds = Rounds::open(params, &Checked, &bound, 1).unwrap();
    assert!(rounds.state_mark().is_none());
    assert!(rounds.response("one").is_none(), "it was not asked yet");
    let roots = InputRequest::from(ListRootsParams::new());
    assert!(rounds.early_response("one", &roots).is_some());
    assert!(rounds.response("one").is_some());
    assert_eq!(rounds.request_count(), 1);
    for wrong in ["two", "three", "four"] {
        assert!(rounds.early_response(wrong, &roots).is_none(), "{wrong}");
    }
    // It goes on as any other answer.
    rounds.request_input("two", ListRootsParams::new());
    let Round::InputRequired(result) = rounds.finish(&Checked, &bound, StateMark::new("n1", 200))
    else {
        panic!("it asked");
    };
    let state = result.request_state.unwrap();
    let params = format!(
        r#"{{"name":"x","inputResponses":{{"two":{{"roots":[]}}}},"requestState":"{state}"}}"#
    );
    let rounds = Rounds::open(&params, &Checked, &bound, 100).unwrap();
    assert!(rounds.response("one").is_some() && rounds.response("two").is_some());
}

#[test]
fn answers_that_are_no_object_are_refused_without_a_state_too() {
    for given in ["5", "[]", "true"] {
        let params = format!(r#"{{"name":"x","inputResponses":{given}}}"#);
        let bound = binding("alice", &params);
        let refused = Rounds::open(&params, &Checked, &bound, 1);
        assert_eq!(refused.unwrap_err(), RoundsError::InvalidParams, "{given}");
    }
}

#[test]
fn a_binding_is_the_same_in_any_order_and_prints_nothing() {
    let one = binding("a", r#"{"x":1,"y":[2]}"#);
    assert_eq!(one, binding("a", r#"{"y":[2],"_meta":{},"x":1}"#));
    assert_ne!(one, binding("a", r#"{"x":1,"y":[3]}"#));
    assert_ne!(binding("a\",\"b", "{}"), binding("a", "{}"));
    assert_eq!(format!("{one:?}"), "Binding(…)");
    assert_eq!(
        Binding::new("a", "b", "[]"),
        Err(RoundsError::InvalidParams)
    );
}
