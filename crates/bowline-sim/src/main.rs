//! Runs worlds: many seeds, or one with a chart. See `scripts/sim --help`.

use std::io::{stderr, stdout};
use std::process::ExitCode;

use bowline_sim::{Carrying, Failure, Fault, World, run_many};

const USAGE: &str = "\
usage: scripts/sim --seeds N [--from M] [--carrier pipe|http]
                                   runs N seeds from M on, on all cores
       scripts/sim --seed N [--carrier pipe|http] [--trace]
                                   runs one seed, and shows what happens in it
       scripts/sim --defects [--seeds N]
                                   shows within how many seeds each defect is found
       scripts/sim --faults        lists what can go wrong
";

fn main() -> ExitCode {
    let wanted = match Wanted::read(std::env::args().skip(1)) {
        Ok(wanted) => wanted,
        Err(problem) => {
            say(&mut stderr(), &format!("{problem}\n{USAGE}"));
            return ExitCode::from(2);
        }
    };
    let is_well = match wanted.what {
        What::Help => {
            say(&mut stdout(), USAGE);
            true
        }
        What::Faults => list_faults(),
        What::One(seed) => run_one(seed, &wanted),
        What::Many => run_all(&wanted),
        What::Defects => show_defects(wanted.seeds),
    };
    match is_well {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// What is to be done.
enum What {
    Help,
    Faults,
    One(u64),
    Many,
    Defects,
}

struct Wanted {
    what: What,
    seeds: u64,
    first: u64,
    carrying: Option<Carrying>,
    has_trace: bool,
}

impl Wanted {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut wanted = Self {
            what: What::Many,
            seeds: 20_000,
            first: 0,
            carrying: None,
            has_trace: false,
        };
        while let Some(argument) = arguments.next() {
            let mut number = || {
                let text = arguments.next().unwrap_or_default();
                text.parse()
                    .map_err(|_| format!("{argument} needs a number"))
            };
            match argument.as_str() {
                "--seeds" => wanted.seeds = number()?,
                "--from" => wanted.first = number()?,
                "--seed" => wanted.what = What::One(number()?),
                "--trace" => wanted.has_trace = true,
                "--defects" => wanted.what = What::Defects,
                "--faults" => wanted.what = What::Faults,
                "--help" | "-h" => wanted.what = What::Help,
                "--carrier" => {
                    let name = arguments.next().unwrap_or_default();
                    let carrying = Carrying::named(&name).ok_or("pipe or http")?;
                    wanted.carrying = Some(carrying);
                }
                other => return Err(format!("what is {other}?")),
            }
        }
        Ok(wanted)
    }
}

fn list_faults() -> bool {
    for fault in Fault::ALL {
        say(&mut stdout(), &format!("{fault}\n"));
    }
    true
}

fn run_one(seed: u64, wanted: &Wanted) -> bool {
    let carrying = wanted.carrying.unwrap_or(Carrying::of_seed(seed));
    let report = World::new(seed, carrying, wanted.has_trace).run();
    say(&mut stdout(), &report.chart);
    let name = carrying.name();
    let verdict = report.violation.as_deref().unwrap_or("all holds");
    let line = format!(
        "seed {seed} over {name}: {} steps, {} calls, {} sessions, {}: {verdict}\n",
        report.steps, report.calls, report.sessions, report.state
    );
    say(&mut stdout(), &line);
    report.violation.is_none()
}

fn run_all(wanted: &Wanted) -> bool {
    #[expect(
        clippy::disallowed_types,
        reason = "the one place where real time counts: how fast it was"
    )]
    let began = std::time::Instant::now();
    let summary = run_many(wanted.first, wanted.seeds, wanted.carrying);
    let seconds = began.elapsed().as_secs_f64().max(0.001);
    for failure in summary.failures.iter().take(20) {
        say(&mut stdout(), &replay(failure));
    }
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = summary.worlds as f64 / seconds;
    let line = format!(
        "{} seeds from {}, {} steps, {} calls, {} sessions, {} violations; {seconds:.1} s, {rate:.0} seeds a second\n",
        summary.worlds,
        wanted.first,
        summary.steps,
        summary.calls,
        summary.sessions,
        summary.failures.len()
    );
    say(&mut stdout(), &line);
    summary.failures.is_empty()
}

fn replay(failure: &Failure) -> String {
    let Failure {
        seed,
        carrying,
        violation,
        ..
    } = failure;
    let carrier = carrying.name();
    format!("{violation}\n    scripts/sim --seed {seed} --carrier {carrier} --trace\n")
}

#[cfg(not(feature = "defects"))]
fn show_defects(_seeds: u64) -> bool {
    say(&mut stderr(), "the feature `defects` is not built in\n");
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
        say(&mut stdout(), &line);
    }
    bowline_proto::defect::set(None);
    is_well
}

fn say(out: &mut impl std::io::Write, text: &str) {
    // A reader that has gone away has seen enough.
    let _ = out.write_all(text.as_bytes());
}
