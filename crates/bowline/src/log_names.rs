//! What events and spans have in common: names as they have them, and how a span is entered.

#[cfg(feature = "server")]
use tracing::{Span, span::EnteredSpan};

/// The longest name that an event or a span has, in characters.
const LONGEST: usize = 128;

/// Returns a name for an event: no longer than a line, and without control characters,
/// also if a peer chose it.
pub(crate) fn shortened(name: &str) -> String {
    let name = name.chars().take(LONGEST);
    let visible = |char: char| {
        if char.is_control() {
            char::REPLACEMENT_CHARACTER
        } else {
            char
        }
    };
    name.map(visible).collect()
}

/// Enters a span, if a subscriber is interested in it.
#[cfg(feature = "server")]
pub(crate) fn entered(span: &Span) -> Option<EnteredSpan> {
    (!span.is_disabled()).then(|| span.clone().entered())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_an_event_is_one_short_line() {
        assert_eq!(shortened("a name"), "a name");
        assert_eq!(shortened("a\nb\u{1b}[0m"), "a\u{fffd}b\u{fffd}[0m");
        assert_eq!(shortened(&"é".repeat(129)), "é".repeat(128));
    }
}
