//! Suggestions for a misspelt name of a server, tool or argument.

/// Returns a question that suggests the nearest of `candidates`, if one is near enough.
pub(crate) fn did_you_mean<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(name, candidates).map(|right| format!("did you mean `{right}`?"))
}

/// Returns the nearest of `candidates`, if one is near enough; of equally near ones the first.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let wanted = folded(name)?;
    let candidates = candidates.into_iter().take(MAX_CANDIDATES);
    let near = candidates.filter_map(|candidate| {
        let cost = cost(&wanted, &folded(candidate)?)?;
        Some((cost, candidate))
    });
    // `min_by_key` returns the first of equals.
    near.min_by_key(|(cost, _)| *cost)
        .map(|(_, candidate)| candidate)
}

/// Returns how far apart two names are, or `None` if they are too different.
fn cost(wanted: &[char], candidate: &[char]) -> Option<usize> {
    let distance = distance(wanted, candidate);
    let longer = wanted.len().max(candidate.len());
    // One typing error in three letters, and always one.
    if distance <= (longer / 3).max(1) && distance < longer {
        return Some(distance);
    }
    // `everything` for `server-everything`: a part of the name.
    let is_part = wanted.len() >= SHORTEST_PART
        && candidate
            .windows(wanted.len())
            .any(|window| window == wanted);
    is_part.then_some(longer + distance)
}

/// Returns the number of letters to insert, remove, replace or swap with their neighbour (optimal
/// string alignment).
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let replaced = last[j] + usize::from(a != b);
            let mut best = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == to[j - 1] && from[i - 1] == *b {
                best = best.min(before_last[j - 1] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

/// Returns the letters in lower case, with `-` for `_`, or `None` if the name is too long to
/// compare.
fn folded(name: &str) -> Option<Vec<char>> {
    if name.len() > MAX_NAME {
        return None;
    }
    let letters = name.chars().flat_map(char::to_lowercase);
    Some(letters.map(|c| if c == '_' { '-' } else { c }).collect())
}

/// Longer names are not compared: a server may have chosen them.
const MAX_NAME: usize = 256;

/// The number of names that are compared.
const MAX_CANDIDATES: usize = 10_000;

/// Shorter parts match too many names.
const SHORTEST_PART: usize = 3;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn slips_are_understood_and_guesses_are_not_made() {
        for (name, candidates, expected) in [
            ("ad", &["add", "echo"][..], Some("add")),
            ("fielsystem", &["filesystem", "memory"], Some("filesystem")),
            ("File_System", &["file-system"], Some("file-system")),
            (
                "everything",
                &["time", "server-everything"],
                Some("server-everything"),
            ),
            ("addd", &["bad", "add"], Some("add")),
            ("b", &["a"], None),
            ("xyz", &["add", "echo"], None),
            ("", &["a", ""], None),
            ("add", &[], None),
            // A name that differs only in case is the nearest.
            ("ADD", &["ADDX", "add"], Some("add")),
        ] {
            assert_eq!(
                nearest(name, candidates.iter().copied()),
                expected,
                "{name}"
            );
        }
        assert_eq!(
            did_you_mean("ad", ["add"]).as_deref(),
            Some("did you mean `add`?")
        );
    }

    #[test]
    fn names_without_measure_are_not_compared() {
        let longest = "x".repeat(MAX_NAME);
        let typed = format!("{}y", &longest[1..]);
        assert_eq!(nearest(&typed, [longest.as_str()]), Some(longest.as_str()));
        let longer = format!("{longest}x");
        assert_eq!(nearest(&longest, [longer.as_str()]), None);
        let many = std::iter::repeat_n("other", MAX_CANDIDATES);
        assert_eq!(
            nearest("add", many.clone().skip(1).chain(["add"])),
            Some("add")
        );
        assert_eq!(nearest("add", many.chain(["add"])), None);
    }

    proptest! {
        #[test]
        fn the_distance_is_one(from in "[a-c]{0,8}", to in "[a-c]{0,8}") {
            let (from, to): (Vec<_>, Vec<_>) = (from.chars().collect(), to.chars().collect());
            let there = distance(&from, &to);
            prop_assert_eq!(there, distance(&to, &from));
            prop_assert_eq!(there == 0, from == to);
            prop_assert!(there >= from.len().abs_diff(to.len()));
            prop_assert!(there <= from.len().max(to.len()));
        }

        #[test]
        fn one_slip_in_a_word_is_found(word in "[a-z]{3,20}", at in 0usize..20, letter in "[a-z]") {
            let mut typed: Vec<char> = word.chars().collect();
            typed.insert(at % word.len(), letter.chars().next().unwrap());
            let typed: String = typed.into_iter().collect();
            prop_assert_eq!(nearest(&typed, ["0000", word.as_str()]), Some(word.as_str()));
        }
    }
}
