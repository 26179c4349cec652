//! Instructions, counted exactly and held to the limits of a file.
//!
//! A benchmark runs itself under valgrind, once with few rounds of each scenario and once with
//! more. The difference is what the rounds cost: it doesn't depend on how busy the machine is,
//! and start and end cancel out. It does depend on the compiler, the C library and the
//! processor (which of several `memcpy` is taken), by a few percent: a limit is a tenth above
//! what was measured, and no more than what is promised. After a change that is worth its instructions, or of the compiler,
//! `-- --update` writes the file anew. The limits are those of x86-64; elsewhere the figures
//! are only printed.
//!
//! It exits with 1 when a limit is passed. Without valgrind it does nothing but report that.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::process::{Command, ExitCode};
use std::{env, fs};

/// What is counted, and where the limits are.
pub(crate) struct InstructionGate {
    pub(crate) file: &'static str,
    /// What the figures are those of, in words.
    pub(crate) of: &'static str,
    pub(crate) scenarios: &'static [&'static str],
    /// What a scenario may never take, whatever the file allows.
    pub(crate) promised: &'static [(&'static str, u64)],
    pub(crate) run: Run,
}

/// Runs so many rounds of a scenario.
type Run = fn(scenario: &str, rounds: usize) -> Result<(), Box<dyn Error>>;

impl InstructionGate {
    pub(crate) fn main(&self) -> Result<ExitCode, Box<dyn Error>> {
        let arguments: Vec<String> = env::args().skip(1).collect();
        // cargo adds `--bench`.
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match *arguments {
            ["rounds", scenario, rounds] => {
                (self.run)(scenario, rounds.parse()?)?;
                Ok(ExitCode::SUCCESS)
            }
            [] | ["--bench"] => self.check(),
            ["--update"] | ["--update", "--bench"] => self.update(),
            _ => Err("usage: instructions [--update]".into()),
        }
    }

    /// Counts everything and compares.
    fn check(&self) -> Result<ExitCode, Box<dyn Error>> {
        if !has_valgrind() {
            println!("skipped: there is no valgrind");
            return Ok(ExitCode::SUCCESS);
        }
        let text = fs::read_to_string(self.file)?;
        let limits = self.read(&text)?;
        let mut passed = Vec::new();
        println!("{:<30} {:>12} {:>12}", "instructions", "now", "limit");
        for scenario in self.scenarios {
            let limit = *limits
                .get(*scenario)
                .ok_or_else(|| format!("{} has no {scenario}", self.file))?;
            let limit = limit.min(self.promised(scenario));
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
    fn update(&self) -> Result<ExitCode, Box<dyn Error>> {
        if !has_valgrind() {
            return Err("there is no valgrind".into());
        }
        let mut text = format!(
            "# Instructions of {}, and the limit that holds them: a tenth more.\n\
             # Written by scripts/instructions --update. They change with the compiler as well.\n",
            self.of
        );
        for scenario in self.scenarios {
            let now = count(scenario)?;
            let limit = (now + now / 10).min(self.promised(scenario));
            writeln!(text, "{scenario:<30} {now:>9} {limit:>9}")?;
        }
        fs::write(self.file, &text)?;
        println!("{text}");
        Ok(ExitCode::SUCCESS)
    }

    fn promised(&self, scenario: &str) -> u64 {
        let mut promised = self.promised.iter();
        let found = promised.find(|(promised, _)| *promised == scenario);
        found.map_or(u64::MAX, |(_, most)| *most)
    }

    /// Scenarios and their limits.
    fn read<'t>(&self, text: &'t str) -> Result<BTreeMap<&'t str, u64>, Box<dyn Error>> {
        let mut limits = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split_whitespace();
            let (Some(scenario), Some(_), Some(limit), None) =
                (words.next(), words.next(), words.next(), words.next())
            else {
                let file = self.file;
                return Err(format!("{file}: {line:?} is no scenario, count and limit").into());
            };
            limits.insert(scenario, limit.parse()?);
        }
        Ok(limits)
    }
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
    let report = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{scenario} under valgrind: {report}").into());
    }
    // ==7== I   refs:      1,234,567
    let line = report.lines().find(|line| line.contains("refs:"));
    let digits: String = line
        .and_then(|line| line.rsplit(' ').next())
        .unwrap_or_default()
        .chars()
        .filter(|character| *character != ',')
        .collect();
    digits
        .parse()
        .map_err(|_| format!("valgrind gave no count: {report}").into())
}

fn has_valgrind() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok()
}
