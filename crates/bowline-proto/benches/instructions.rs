//! Instructions of a call, counted exactly, and held to the limits in `instructions.txt`: see
//! `support/instruction_gate.rs`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "support/both_sides.rs"]
mod both_sides;
#[path = "support/instruction_gate.rs"]
mod instruction_gate;

use std::error::Error;
use std::process::ExitCode;

use bowline_proto::Outcome;
use bowline_types::{Era, ErrorObject};
use bytes::Bytes;

use both_sides::{Answer, BothSides, Offers, body, result};
use instruction_gate::InstructionGate;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let gate = InstructionGate {
        file: concat!(env!("CARGO_MANIFEST_DIR"), "/benches/instructions.txt"),
        of: "one round on both sides together",
        scenarios: SCENARIOS,
        promised: &[],
        run,
    };
    gate.main()
}

/// What is gate.
const SCENARIOS: &[&str] = &[
    "handshake-call-200",
    "handshake-call-10k",
    "handshake-call-200-of-1000",
    "handshake-error",
    "handshake-notification",
    "handshake-open",
    "stateless-call-200",
    "stateless-call-10k",
    "stateless-call-200-of-1000",
    "stateless-error",
    "stateless-open",
];

fn run(scenario: &str, rounds: usize) -> Result<(), Box<dyn Error>> {
    let (era, what) = match scenario.split_once('-') {
        Some(("handshake", what)) => (Era::Handshake, what),
        Some(("stateless", what)) => (Era::Stateless, what),
        _ => return Err(format!("no scenario {scenario}").into()),
    };
    match what {
        "call-200" => call(era, rounds, 200, 0),
        "call-10k" => call(era, rounds, 10_000, 0),
        "call-200-of-1000" => call(era, rounds, 200, 999),
        "error" => error(era, rounds),
        "notification" => notification(era, rounds),
        "open" => {
            for _ in 0..rounds {
                BothSides::new(Offers::only(era)).shake_hands();
            }
        }
        _ => return Err(format!("no scenario {scenario}").into()),
    }
    Ok(())
}

fn call(era: Era, rounds: usize, size: usize, others: usize) {
    let (body, result) = (body(size), result(size));
    let mut sides = BothSides::ready(era);
    sides.hold(others);
    for _ in 0..rounds {
        let outcome = sides.call(&body, Answer::Result(&result));
        assert!(matches!(outcome, Outcome::Result(_)), "{outcome:?}");
    }
}

fn error(era: Era, rounds: usize) {
    let body = body(200);
    let error = ErrorObject::new(-32602, "unknown tool: search");
    let mut sides = BothSides::ready(era);
    for _ in 0..rounds {
        let outcome = sides.call(&body, Answer::Error(&error));
        assert!(matches!(outcome, Outcome::Error(_)), "{outcome:?}");
    }
}

fn notification(era: Era, rounds: usize) {
    let body = Bytes::from_static(br#""uri":"file:///a""#);
    let mut sides = BothSides::ready(era);
    for _ in 0..rounds {
        sides.notify(&body);
    }
}
