//! Numbers that keep what was written: `5` and `5.0` stay apart.

use std::fmt;

/// A JSON number: an integer of 64 bits, or a double.
///
/// ```
/// use bowline_types::Number;
///
/// let progress = Number::from(50);
/// assert_eq!(progress.as_f64(), 50.0);
/// assert_eq!(Number::from(0.5).to_string(), "0.5");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number(Repr);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Repr {
    Signed(i64),
    /// Above `i64::MAX` only, so that equal integers are equal.
    Unsigned(u64),
    Double(f64),
}

impl Number {
    /// Parses `text`, a JSON number. Returns `None` beyond the range of a double.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Ok(integer) = text.parse::<i64>() {
            // `-0` is a double in disguise: the sign would be lost.
            if integer != 0 || !text.starts_with('-') {
                return Some(Self(Repr::Signed(integer)));
            }
        }
        if let Ok(integer) = text.parse::<u64>() {
            return Some(integer.into());
        }
        let double = text
            .parse::<f64>()
            .ok()
            .filter(|double| double.is_finite())?;
        Some(Self(Repr::Double(double)))
    }

    /// Returns the nearest double.
    pub fn as_f64(self) -> f64 {
        match self.0 {
            Repr::Signed(integer) => integer as f64,
            Repr::Unsigned(integer) => integer as f64,
            Repr::Double(double) => double,
        }
    }

    /// Returns the number as an integer, if it is one and fits.
    pub fn as_i64(self) -> Option<i64> {
        match self.0 {
            Repr::Signed(integer) => Some(integer),
            Repr::Unsigned(_) => None,
            // Two to the 63rd is an exact double, and the first that doesn't fit.
            Repr::Double(double) => {
                let bound = -(i64::MIN as f64);
                let fits = (-bound..bound).contains(&double);
                (fits && double.fract() == 0.0).then_some(double as i64)
            }
        }
    }

    /// Returns `false` for NaN and the infinities, which JSON doesn't have.
    pub fn is_finite(self) -> bool {
        match self.0 {
            Repr::Signed(_) | Repr::Unsigned(_) => true,
            Repr::Double(double) => double.is_finite(),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Repr::Signed(integer) => integer.fmt(f),
            Repr::Unsigned(integer) => integer.fmt(f),
            // The shortest form that reads back the same; always with a point or exponent.
            Repr::Double(double) => write!(f, "{double:?}"),
        }
    }
}

impl PartialEq<f64> for Number {
    fn eq(&self, other: &f64) -> bool {
        self.as_f64() == *other
    }
}

impl From<f64> for Number {
    fn from(double: f64) -> Self {
        Self(Repr::Double(double))
    }
}

impl From<f32> for Number {
    fn from(single: f32) -> Self {
        Self(Repr::Double(single.into()))
    }
}

impl From<i64> for Number {
    fn from(integer: i64) -> Self {
        Self(Repr::Signed(integer))
    }
}

impl From<i32> for Number {
    fn from(integer: i32) -> Self {
        Self(Repr::Signed(integer.into()))
    }
}

impl From<u32> for Number {
    fn from(integer: u32) -> Self {
        Self(Repr::Signed(integer.into()))
    }
}

impl From<usize> for Number {
    fn from(integer: usize) -> Self {
        Self::from(integer as u64)
    }
}

impl From<u64> for Number {
    fn from(integer: u64) -> Self {
        Self(match i64::try_from(integer) {
            Ok(signed) => Repr::Signed(signed),
            Err(_) => Repr::Unsigned(integer),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: F-JR-10
    #[test]
    fn a_number_is_written_as_it_was_read() {
        for text in [
            "0",
            "-1",
            "5.0",
            "0.5",
            "-0.0",
            "18446744073709551615",
            "1e300",
            "1.5e-7",
        ] {
            assert_eq!(Number::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Number::parse("-0").unwrap().to_string(), "-0.0");
        assert_eq!(Number::parse("1e400"), None);
        assert_eq!(Number::parse(&"9".repeat(100_000)), None);
    }

    #[test]
    fn integers_are_recognized_within_their_range() {
        assert_eq!(Number::from(3.0).as_i64(), Some(3));
        assert_eq!(Number::from(3.5).as_i64(), None);
        assert_eq!(Number::from(f64::NAN).as_i64(), None);
        assert_eq!(Number::from(9.3e18).as_i64(), None);
        assert_eq!(Number::from(i64::MIN as f64).as_i64(), Some(i64::MIN));
        assert_eq!(Number::from(u64::MAX).as_i64(), None);
        assert_eq!(Number::from(7_u64), Number::from(7));
        assert!(!Number::from(f64::INFINITY).is_finite());
    }
}
