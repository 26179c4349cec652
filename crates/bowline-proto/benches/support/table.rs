//! The figures of a benchmark beside what was promised.

use std::process::ExitCode;

/// Prints a row for each figure, and remembers whether a promise was broken.
#[derive(Debug)]
pub(crate) struct Table {
    broken: Vec<String>,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    Nanos,
    Bytes,
    Count,
    Ratio,
}

/// A figure beyond its promise by this factor is no matter of a busy machine. Work that
/// grows with the square of its input is beyond it wherever a ratio is promised here.
const MARGIN: f64 = 1.5;

impl Table {
    pub(crate) fn new() -> Self {
        println!("{:<58} {:>12} {:>12}", "", "figure", "promise");
        Self { broken: Vec::new() }
    }

    pub(crate) fn heading(&mut self, heading: &str) {
        println!("\n{heading}");
    }

    /// A figure that must keep its promise.
    pub(crate) fn hold(&mut self, name: &str, figure: f64, unit: Unit, promise: f64) {
        if figure > promise * MARGIN {
            self.broken.push(name.to_owned());
        }
        self.watch(name, figure, unit, Some(promise));
    }

    /// A figure with an aim, which depends on the machine.
    pub(crate) fn watch(&mut self, name: &str, figure: f64, unit: Unit, aim: Option<f64>) {
        let Some(aim) = aim else {
            return self.note(name, figure, unit);
        };
        let verdict = if figure <= aim { "ok" } else { "short" };
        let (figure, aim) = (unit.show(figure), unit.show(aim));
        println!("  {name:<56} {figure:>12} {aim:>12} {verdict}");
    }

    /// A figure to know.
    pub(crate) fn note(&mut self, name: &str, figure: f64, unit: Unit) {
        println!("  {name:<56} {:>12}", unit.show(figure));
    }

    /// Success, unless a promise was broken.
    pub(crate) fn finish(self) -> ExitCode {
        if self.broken.is_empty() {
            return ExitCode::SUCCESS;
        }
        println!("\nbroken: {}", self.broken.join("; "));
        ExitCode::FAILURE
    }
}

impl Unit {
    fn show(self, figure: f64) -> String {
        match self {
            Self::Nanos if figure < 10_000.0 => format!("{figure:.0} ns"),
            Self::Nanos if figure < 10_000_000.0 => format!("{:.1} µs", figure / 1e3),
            Self::Nanos => format!("{:.1} ms", figure / 1e6),
            Self::Bytes => format!("{figure:.0} B"),
            Self::Count => format!("{figure:.0}"),
            Self::Ratio => format!("{figure:.2}"),
        }
    }
}
