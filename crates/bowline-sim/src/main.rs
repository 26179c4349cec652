//! Runs worlds: many seeds, or one with a trace. See `scripts/sim --help`.

use std::io::{stderr, stdout};
use std::process::ExitCode;

use bowline_sim::{
    Failure, Fault, Scenario, ServerCounts, ServerWorld, SimCarrier, World, run_many,
};

const USAGE: &str = "\
usage: scripts/sim --seeds N [--from M] [--carrier pipe|http | --server]
                                   runs N seeds from M on, on all cores: links over either
                                   carrier, and for every seventh seed a server, too
       scripts/sim --seed N [--carrier pipe|http | --server] [--trace]
                                   runs one seed, and shows what happens in it: to a link,
                                   or to the HTTP sessions of a server
       scripts/sim --defects [--seeds N]
                                   shows within how many seeds each defect is found
       scripts/sim --faults        lists what can go wrong
";

fn main() -> ExitCode {
    let options = match Options::read(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(problem) => {
            print_line(&mut stderr(), &format!("{problem}\n{USAGE}"));
            return ExitCode::from(2);
        }
    };
    let is_well = match options.command {
        Command::Help => {
            print_line(&mut stdout(), USAGE);
            true
        }
        Command::Faults => list_faults(),
        Command::One(seed) => run_one(seed, &options),
        Command::Many => run_all(&options),
        Command::Defects => show_defects(options.seeds),
    };
    if is_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// What is to be done.
enum Command {
    Help,
    Faults,
    One(u64),
    Many,
    Defects,
}

struct Options {
    command: Command,
    seeds: u64,
    first: u64,
    scenario: Option<Scenario>,
    has_trace: bool,
}

impl Options {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            command: Command::Many,
            seeds: 20_000,
            first: 0,
            scenario: None,
            has_trace: false,
        };
        while let Some(argument) = arguments.next() {
            let mut number = || {
                let text = arguments.next().unwrap_or_default();
                text.parse()
                    .map_err(|_| format!("{argument} needs a number"))
            };
            match argument.as_str() {
                "--seeds" => options.seeds = number()?,
                "--from" => options.first = number()?,
                "--seed" => options.command = Command::One(number()?),
                "--trace" => options.has_trace = true,
                "--defects" => options.command = Command::Defects,
                "--faults" => options.command = Command::Faults,
                "--help" | "-h" => options.command = Command::Help,
                "--carrier" => {
                    let name = arguments.next().unwrap_or_default();
                    let carrier = SimCarrier::named(&name).ok_or("pipe or http")?;
                    options.scenario = Some(Scenario::Link(carrier));
                }
                "--server" => options.scenario = Some(Scenario::Server),
                other => return Err(format!("what is {other}?")),
            }
        }
        Ok(options)
    }
}

fn list_faults() -> bool {
    for (world, faults) in [("link", Fault::LINK), ("server", Fault::SERVER)] {
        for fault in faults {
            print_line(&mut stdout(), &format!("{world}: {fault}\n"));
        }
    }
    true
}

fn run_one(seed: u64, options: &Options) -> bool {
    let carrier = match options.scenario {
        Some(Scenario::Server) => return run_server(seed, options.has_trace),
        Some(Scenario::Link(carrier)) => carrier,
        _ => SimCarrier::of_seed(seed),
    };
    let report = World::new(seed, carrier, options.has_trace).run();
    print_line(&mut stdout(), &report.trace);
    let name = carrier.name();
    let verdict = report.violation.as_deref().unwrap_or("all holds");
    let line = format!(
        "seed {seed} over {name}: {} steps, {} calls, {} sessions, {}: {verdict}\n",
        report.steps, report.calls, report.sessions, report.state
    );
    print_line(&mut stdout(), &line);
    report.violation.is_none()
}

fn run_server(seed: u64, has_trace: bool) -> bool {
    let report = ServerWorld::new(seed, has_trace).run();
    print_line(&mut stdout(), &report.trace);
    let verdict = report.violation.as_deref().unwrap_or("all holds");
    let counts = describe_server(&report.counts);
    print_line(
        &mut stdout(),
        &format!("seed {seed}: {counts}: {verdict}\n"),
    );
    report.violation.is_none()
}

/// Returns what happened in worlds of a server.
fn describe_server(counts: &ServerCounts) -> String {
    let ServerCounts {
        worlds,
        steps,
        sessions,
        answers,
        losses,
        resumed,
        refused,
        log,
        ..
    } = counts;
    let (evicted, expired) = (log.evicted, log.expired);
    let faults: Vec<String> = counts
        .faults()
        .map(|(fault, times)| format!("{fault} {times}"))
        .collect();
    format!(
        "{worlds} servers, {steps} steps, {sessions} sessions, {answers} answers, {losses} losses, \
         {resumed} streams resumed, {refused} refused, {evicted} events evicted, {expired} expired\n\
         faults: {}",
        faults.join(", ")
    )
}

fn run_all(options: &Options) -> bool {
    #[expect(
        clippy::disallowed_types,
        reason = "the one place where real time counts: how fast it was"
    )]
    let began = std::time::Instant::now();
    let summary = run_many(options.first, options.seeds, options.scenario);
    let seconds = began.elapsed().as_secs_f64().max(0.001);
    for failure in summary.failures.iter().take(20) {
        print_line(&mut stdout(), &replay(failure));
    }
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = options.seeds as f64 / seconds;
    let line = format!(
        "{} seeds from {}, {} steps, {} calls, {} sessions, {} violations; {seconds:.1} s, {rate:.0} seeds a second\n",
        options.seeds,
        options.first,
        summary.steps,
        summary.calls,
        summary.sessions,
        summary.failures.len()
    );
    if summary.server.worlds > 0 {
        let counts = describe_server(&summary.server);
        print_line(&mut stdout(), &format!("{counts}\n"));
    }
    print_line(&mut stdout(), &line);
    summary.failures.is_empty()
}

fn replay(failure: &Failure) -> String {
    let Failure {
        seed,
        scenario,
        violation,
        ..
    } = failure;
    let world = match scenario {
        Scenario::Link(carrier) => format!("--carrier {}", carrier.name()),
        _ => "--server".into(),
    };
    format!("{violation}\n    scripts/sim --seed {seed} {world} --trace\n")
}

#[cfg(not(feature = "defects"))]
fn show_defects(_seeds: u64) -> bool {
    print_line(&mut stderr(), "the feature `defects` is not built in\n");
    false
}

#[cfg(feature = "defects")]
fn show_defects(seeds: u64) -> bool {
    let mut is_well = true;
    for defect in bowline_proto::defect::Defect::ALL {
        bowline_proto::defect::set(Some(*defect));
        let found = bowline_sim::find_violation(0, seeds);
        is_well &= found.is_some();
        let line = match found {
            Some(found) => format!(
                "{:<28} {:>6} seeds  {}\n",
                defect.name(),
                found.seeds,
                found.failure.violation
            ),
            None => format!("{:<28} not found in {seeds} seeds\n", defect.name()),
        };
        print_line(&mut stdout(), &line);
    }
    bowline_proto::defect::set(None);
    is_well
}

fn print_line(out: &mut impl std::io::Write, text: &str) {
    // A reader that has gone away has seen enough.
    let _ = out.write_all(text.as_bytes());
}
