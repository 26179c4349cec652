//! Instructions of a call, counted exactly, and held to the limits in `instructions.txt`.
//!
//! `cargo bench -p bowline-proto --bench instructions` runs itself under valgrind, once with
//! few rounds of each scenario and once with more. The difference is what the rounds cost:
//! it doesn't depend on how busy the machine is, and start and end cancel out. It does
//! depend on the compiler, the C library and the processor (which of several `memcpy` is
//! taken), by a few percent: a limit is a tenth above what was measured. After a change
//! that is worth its instructions, or of the compiler, `-- --update` writes the file anew.
//! The limits are those of x86-64; elsewhere the figures are only printed.
//!
//! It exits with 1 when a limit is passed. Without valgrind it does nothing and says so.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "support/both_sides.rs"]
mod both_sides;

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::process::{Command, ExitCode};
use std::{env, fs};

use bowline_proto::Outcome;
use bowline_types::{Era, ErrorObject};
use bytes::Bytes;

use both_sides::{Answer, BothSides, Offers, body, result};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    // cargo adds `--bench`.
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *arguments {
        ["rounds", scenario, rounds] => {
            run(scenario, rounds.parse()?)?;
            Ok(ExitCode::SUCCESS)
        }
        [] | ["--bench"] => check(),
        ["--update"] | ["--update", "--bench"] => update(),
        _ => Err("usage: instructions [--update]".into()),
    }
}

/// What is counted.
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

/// Counts everything and compares.
fn check() -> Result<ExitCode, Box<dyn Error>> {
    if !has_valgrind() {
        println!("skipped: there is no valgrind");
        return Ok(ExitCode::SUCCESS);
    }
    let text = fs::read_to_string(FILE)?;
    let limits = read(&text)?;
    let mut passed = Vec::new();
    println!("{:<30} {:>12} {:>12}", "instructions", "now", "limit");
    for scenario in SCENARIOS {
        let limit = *limits
            .get(*scenario)
            .ok_or_else(|| format!("{FILE} has no {scenario}"))?;
        let now = count(scenario)?;
        let is_ok = now <= limit || !cfg!(target_arch = "x86_64");
        let verdict = if is_ok { "ok" } else { "PASSED" };
        println!("{scenario:<30} {now:>12} {limit:>12} {verdict}");
        if !is_ok {
            passed.push(*scenario);
        }
    }
    if passed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("\nlimits passed: {}", passed.join(", "));
    println!("find out why, or accept it with scripts/instructions --update");
    Ok(ExitCode::FAILURE)
}

/// Counts everything and writes the file.
fn update() -> Result<ExitCode, Box<dyn Error>> {
    if !has_valgrind() {
        return Err("there is no valgrind".into());
    }
    let mut text = String::from(HEAD);
    for scenario in SCENARIOS {
        let now = count(scenario)?;
        writeln!(text, "{scenario:<28} {now:>9} {:>9}", now + now / 10)?;
    }
    fs::write(FILE, &text)?;
    println!("{text}");
    Ok(ExitCode::SUCCESS)
}

/// Scenarios and their limits.
fn read(text: &str) -> Result<BTreeMap<&str, u64>, Box<dyn Error>> {
    let mut limits = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let (Some(scenario), Some(_), Some(limit), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(format!("{FILE}: {line:?} is no scenario, count and limit").into());
        };
        limits.insert(scenario, limit.parse()?);
    }
    Ok(limits)
}

/// Instructions of one round.
fn count(scenario: &str) -> Result<u64, Box<dyn Error>> {
    let (few, many) = (1000, 3000);
    let more = total(scenario, many)?.saturating_sub(total(scenario, few)?);
    Ok(more / (many - few))
}

/// Instructions of a whole run.
fn total(scenario: &str, rounds: u64) -> Result<u64, Box<dyn Error>> {
    let output = Command::new("valgrind")
        // Of the tools that count exactly, the fastest.
        .args(["--tool=cachegrind", "--cache-sim=no"])
        .arg("--cachegrind-out-file=/dev/null")
        .arg(env::current_exe()?)
        .args(["rounds", scenario, &rounds.to_string()])
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{scenario} under valgrind: {said}").into());
    }
    // ==7== I   refs:      1,234,567
    let line = said.lines().find(|line| line.contains("refs:"));
    let digits: String = line
        .and_then(|line| line.rsplit(' ').next())
        .unwrap_or_default()
        .chars()
        .filter(|character| *character != ',')
        .collect();
    digits
        .parse()
        .map_err(|_| format!("valgrind gave no count: {said}").into())
}

fn has_valgrind() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok()
}

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/instructions.txt");

const HEAD: &str = "\
# Instructions of one round on both sides together, and the limit that holds them: a tenth more.
# Written by scripts/instructions --update. They change with the compiler as well.
";
