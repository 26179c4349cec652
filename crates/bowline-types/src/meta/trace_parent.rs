//! The `traceparent` of W3C Trace Context.

use std::fmt;
use std::str::FromStr;

/// A `traceparent`: the trace and the span that a request belongs to.
///
/// ```
/// use bowline_types::meta::TraceParent;
///
/// let parent: TraceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".parse()?;
/// assert!(parent.is_sampled());
/// # Ok::<(), bowline_types::meta::TraceParentError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceParent {
    trace_id: u128,
    parent_id: u64,
    flags: u8,
}

impl TraceParent {
    /// Creates a `traceparent`. Returns `None` if an id is zero, which means "invalid".
    pub const fn new(trace_id: u128, parent_id: u64, flags: u8) -> Option<Self> {
        if trace_id == 0 || parent_id == 0 {
            return None;
        }
        Some(Self {
            trace_id,
            parent_id,
            flags,
        })
    }

    /// Returns the id of the trace.
    pub const fn trace_id(self) -> u128 {
        self.trace_id
    }

    /// Returns the id of the calling span.
    pub const fn parent_id(self) -> u64 {
        self.parent_id
    }

    /// Returns the flags.
    pub const fn flags(self) -> u8 {
        self.flags
    }

    /// Returns `true` if the caller may have recorded the trace.
    pub const fn is_sampled(self) -> bool {
        self.flags & 1 != 0
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            trace_id,
            parent_id,
            flags,
        } = self;
        write!(f, "00-{trace_id:032x}-{parent_id:016x}-{flags:02x}")
    }
}

impl FromStr for TraceParent {
    type Err = TraceParentError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or(TraceParentError)
    }
}

/// The text is not of the form `00-<32 hex>-<16 hex>-<2 hex>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParentError;

impl fmt::Display for TraceParentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a W3C traceparent: expected 00-<32 hex>-<16 hex>-<2 hex> with nonzero ids")
    }
}

impl std::error::Error for TraceParentError {}

fn parse(text: &str) -> Option<TraceParent> {
    let mut fields = text.split('-');
    let mut field = |length: usize| {
        let digits = fields.next()?;
        let is_lower_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (digits.len() == length && digits.bytes().all(is_lower_hex)).then_some(digits)
    };
    let version = field(2)?;
    let trace_id = u128::from_str_radix(field(32)?, 16).ok()?;
    let parent_id = u64::from_str_radix(field(16)?, 16).ok()?;
    let flags = u8::from_str_radix(field(2)?, 16).ok()?;
    // Later versions may append fields. `ff` is not a version.
    if version == "ff" || (version == "00" && fields.next().is_some()) {
        return None;
    }
    TraceParent::new(trace_id, parent_id, flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_w3c_form_is_accepted() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
        let parent: TraceParent = good.parse().unwrap();
        assert_eq!(
            (parent.to_string().as_str(), parent.is_sampled()),
            (good, false)
        );
        assert_eq!(parent.parent_id(), 0xb7ad6b7169203331);
        assert_eq!(parent.trace_id() >> 96, 0x0af76519);
        let later = "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03-more";
        assert_eq!(later.parse::<TraceParent>().unwrap().flags(), 3);
        for bad in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
            "00-00000000000000000000000000000000-b7ad6b7169203331-00",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-00",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00-x",
        ] {
            assert_eq!(bad.parse::<TraceParent>(), Err(TraceParentError), "{bad}");
        }
    }
}
