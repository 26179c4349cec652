//! Every cell of docs/state-machine.md: six states, every event, also where nothing happens.
//!
//! [`events`] has the matrix: what each event does in each of the six states. [`cases`] has
//! what needs a preparation of its own. [`document`] holds both against the document: a row
//! without a cell or a case is a failure, and so is a name that no row has.
//!
//! What is compared is all that can be seen from outside: what is refused, what is to be
//! done with the transport, what is sent, how calls end, where the link stands, and when its
//! timer is due.

mod cases;
mod document;
mod events;
mod prepared_links;
mod random;
mod rig;
mod subjects;

use bowline_proto::link::LinkState;

use rig::Rig;

/// Applies an input to a rig. Returns what the method returned, if anything.
type Apply = fn(&mut Rig) -> Option<String>;

/// Applies an event. Returns a description of all its effects.
fn apply(rig: &mut Rig, event: Apply) -> String {
    let returned = event(rig);
    let mut effects: Vec<String> = returned.into_iter().collect();
    effects.extend(rig.effects());
    effects.push(format!("{:?}", rig.link.state()));
    effects.push(rig.timer());
    effects.join("; ")
}

/// Compares all of them, so that one run shows every difference.
fn compare(found: &[(String, String, String)]) {
    let differing: Vec<_> = found
        .iter()
        .filter(|(_, expected, found)| expected != found)
        .map(|(name, expected, found)| format!("{name}\n  expected {expected}\n  found    {found}"))
        .collect();
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

// proves: CN-1, CN-29, F-LC-12
#[test]
fn every_event_in_every_state() {
    let mut found = Vec::new();
    for event in events::EVENTS {
        for (state, expected) in LinkState::ALL.into_iter().zip(event.cells) {
            let mut rig = Rig::of(state);
            let unchanged = format!("{state:?}; {}", rig.timer());
            let expected = match expected {
                "ignored" => unchanged,
                expected => expected.into(),
            };
            let name = format!("{} in {state:?}", event.name);
            let words = apply(&mut rig, event.apply);
            found.push((name, expected, words));
        }
    }
    compare(&found);
}

#[test]
fn cells_that_need_a_preparation() {
    let found: Vec<_> = cases::CASES
        .iter()
        .map(|case| {
            let mut rig = (case.prepare)();
            let words = apply(&mut rig, case.apply);
            (case.name.into(), case.expected.into(), words)
        })
        .collect();
    compare(&found);
}
