//! Durations for readers and for programs.

use std::time::Duration;

/// Formats `time` for a reader, with useful precision: `0.4 ms`, `12 ms`, `1.25 s`.
pub(crate) fn shown(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1000.0;
    // A value that would be rounded up to the next unit uses that unit.
    if millis < 9.95 {
        format!("{millis:.1} ms")
    } else if millis < 999.5 {
        format!("{millis:.0} ms")
    } else {
        format!("{:.2} s", time.as_secs_f64())
    }
}

/// Returns `time` in milliseconds, to the microsecond.
pub(crate) fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1_000_000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_as_exact_as_is_of_use() {
        for (nanos, text, number) in [
            (0, "0.0 ms", 0.0),
            (412_345, "0.4 ms", 0.412),
            (9_940_000, "9.9 ms", 9.94),
            (9_960_000, "10 ms", 9.96),
            (999_400_000, "999 ms", 999.4),
            (999_600_000, "1.00 s", 999.6),
            (1_250_000_000, "1.25 s", 1250.0),
        ] {
            let time = Duration::from_nanos(nanos);
            assert_eq!((shown(time).as_str(), millis(time)), (text, number));
        }
    }
}
