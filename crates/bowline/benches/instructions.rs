//! Instructions of a call that the server answers, counted exactly, and held to the limits in
//! `instructions.txt`: see `support/instruction_gate.rs` of bowline-proto.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "../../bowline-proto/benches/support/instruction_gate.rs"]
mod instruction_gate;
#[path = "support/scripted_client.rs"]
mod scripted_client;

use std::error::Error;
use std::process::ExitCode;

use bowline::types::Era;
use tokio::runtime::Builder;

use instruction_gate::InstructionGate;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let gate = InstructionGate {
        file: concat!(env!("CARGO_MANIFEST_DIR"), "/benches/instructions.txt"),
        of: "one call that the server answers",
        scenarios: &[
            "handshake-1-tool-window-1",
            "handshake-1-tool-window-64",
            "handshake-1000-tools-window-64",
            "stateless-1-tool-window-1",
            "stateless-1-tool-window-64",
        ],
        // However many tools there are.
        promised: &[
            ("handshake-1-tool-window-64", 15_000),
            ("handshake-1000-tools-window-64", 15_000),
        ],
        run,
    };
    gate.main()
}

fn run(scenario: &str, rounds: usize) -> Result<(), Box<dyn Error>> {
    let words: Vec<&str> = scenario.split('-').collect();
    let [era, tools, _, _, window] = *words else {
        return Err(format!("no scenario {scenario}").into());
    };
    let era = match era {
        "handshake" => Era::Handshake,
        _ => Era::Stateless,
    };
    let server = scripted_client::echo(tools.parse()?)?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(scripted_client::call(&server, era, window.parse()?, rounds))
}
