//! Events in any order: only legal edges, nothing reported twice, nothing left behind.

use std::collections::BTreeSet;
use std::time::Duration;

use bowline_proto::connection::StreamEnd;
use bowline_proto::link::{CallKey, LinkCall, LinkState, StopOutcome};
use bowline_proto::{CallRequest, Instant};

use super::events::EVENTS;
use super::rig::{Rig, call_id, seconds};

/// The edges of docs/state-machine.md.
const EDGES: &[(LinkState, &[LinkState])] = &[
    (
        LinkState::Starting,
        &[
            LinkState::Starting,
            LinkState::Initializing,
            LinkState::Backoff,
            LinkState::Closing,
            LinkState::Closed,
        ],
    ),
    (
        LinkState::Initializing,
        &[
            LinkState::Starting,
            LinkState::Ready,
            LinkState::Backoff,
            LinkState::Closing,
            LinkState::Closed,
        ],
    ),
    (
        LinkState::Ready,
        &[
            LinkState::Starting,
            LinkState::Initializing,
            LinkState::Backoff,
            LinkState::Closing,
            LinkState::Closed,
        ],
    ),
    (
        LinkState::Backoff,
        &[LinkState::Starting, LinkState::Closed],
    ),
    (LinkState::Closing, &[LinkState::Closed]),
    (LinkState::Closed, &[]),
];

// proves: CN-2, CN-7, CN-25, F-LC-11
#[test]
fn any_order_of_events() {
    for seed in 0..300 {
        walk(seed);
    }
}

fn walk(seed: u64) {
    let mut chance = Chance(seed);
    let mut rig = match chance.below(2) {
        0 => Rig::new(|_| {}),
        _ => Rig::http(),
    };
    let mut made = BTreeSet::new();
    for _ in 0..300 {
        step(&mut rig, &mut chance, &mut made);
        rig.discard_effects();
        let due = rig.link.poll_timeout();
        let is_past = due.is_some_and(|due| due < rig.now);
        assert!(!is_past, "{seed}: {due:?} is past");
        if chance.below(3) == 0 {
            let most = due.map_or(seconds(1), |due| due.since(rig.now));
            rig.wait(most.min(seconds(40)) / 2 * chance.below(3));
            rig.discard_effects();
        }
        assert!(rig.link.pending() + rig.ended.len() == made.len(), "{seed}");
    }
    check_transitions(&rig, seed);
    let was_over = [LinkState::Closing, LinkState::Closed].contains(&rig.link.state());
    let stop = rig.link.stop(rig.now);
    assert_eq!(stop == StopOutcome::AlreadyClosing, was_over);
    rig.discard_effects();
    assert_eq!(rig.link.pending(), 0, "{seed}");
    rig.wait(Duration::from_millis(50));
    rig.discard_effects();
    assert_eq!(rig.link.state(), LinkState::Closed, "{seed}");
    assert_eq!(rig.link.poll_timeout(), None, "{seed}");
    let ended: BTreeSet<_> = rig.ended.iter().copied().collect();
    assert_eq!(ended.len(), rig.ended.len(), "{seed}: a call ended twice");
    assert_eq!(ended, made, "{seed}");
}

/// Something happens; what ends a link for good happens rarely.
fn step(rig: &mut Rig, chance: &mut Chance, made: &mut BTreeSet<CallKey>) {
    match chance.below(10) {
        8 => rig.end_stream(match chance.below(4) {
            0 => StreamEnd::Complete,
            1 => StreamEnd::Refused(503),
            2 => StreamEnd::Lost("reset".into()),
            _ => StreamEnd::NotSent("refused".into()),
        }),
        9 => {
            let id = rig.last_id.saturating_sub(u64::from(chance.below(3)));
            if let Some(connection_id) = rig.connection_id {
                rig.link
                    .handle_session_expired(rig.now, connection_id, call_id(id));
            }
        }
        0 | 1 => {
            let mut call = LinkCall::new(CallRequest::new("x", &b""[..]));
            if chance.below(2) == 0 {
                call = call.wait_for_ready();
            }
            if chance.below(2) == 0 {
                call = call.idempotent();
            }
            if let Ok(call) = rig.link.call(rig.now, call) {
                made.insert(call);
                rig.pending = Some(call);
            }
        }
        2 | 3 => drop(super::subjects::opened(rig)),
        4 => rig.initialized(),
        _ => {
            let names = [
                "stop",
                "driver crashes too often",
                "opening refused for good",
            ];
            let calls = ["call", "call that may wait", "user ping"];
            let fits = |name: &str| !names.contains(&name) && !calls.contains(&name);
            let events: Vec<_> = EVENTS.iter().filter(|event| fits(event.name)).collect();
            let place = chance.below(u32::try_from(events.len()).expect("few"));
            let before = rig.pending;
            // `cancel` expects a call that has not been cancelled before.
            let event = events[place as usize];
            rig.pending = before.filter(|call| !rig.ended.contains(call));
            (event.apply)(rig);
        }
    }
}

/// Transitions are reported without a gap, by legal edges only, and remembered.
fn check_transitions(rig: &Rig, seed: u64) {
    let mut state = LinkState::Starting;
    let mut session = 0;
    let mut at = Instant::START;
    for transition in &rig.transitions {
        assert_eq!(transition.from, state, "{seed}: a gap");
        assert!(transition.at >= at, "{seed}: time goes back");
        let edges = EDGES.iter().find(|(from, _)| *from == state);
        let (_, to) = edges.expect("every state has its edges");
        assert!(to.contains(&transition.to), "{seed}: {transition}");
        let is_new = u64::from(transition.to == LinkState::Ready);
        assert_eq!(transition.session, session + is_new, "{seed}: {transition}");
        (state, session, at) = (transition.to, transition.session, transition.at);
    }
    assert_eq!(rig.link.state(), state);
    let history: Vec<_> = rig.link.history().collect();
    let last = rig.transitions.len().saturating_sub(64);
    assert_eq!(history, rig.transitions[last..].iter().collect::<Vec<_>>());
}

/// Numbers that look random.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(self.0 >> 33).expect("31 bits") % most
    }
}
