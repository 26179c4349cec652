//! Finding the item that the user named, such as a tool or a prompt.

use anyhow::anyhow;

use crate::failure::usage;
use crate::suggestion::did_you_mean;

/// Returns the item of a name. `kind` is the word for an item.
///
/// # Errors
///
/// There is no item of that name (a usage error). The hint is the nearest name, or the first ones.
pub(super) fn find_by_name<T>(
    kind: &str,
    wanted: &str,
    items: Vec<T>,
    name: impl Fn(&T) -> &str,
) -> anyhow::Result<T> {
    if let Some(at) = items.iter().position(|item| name(item) == wanted) {
        let mut items = items;
        return Ok(items.swap_remove(at));
    }
    let names = items.iter().map(&name);
    let hint = match did_you_mean(wanted, names.clone()) {
        Some(question) => question,
        None if items.is_empty() => format!("the server lists no {kind}s"),
        None => {
            let some: Vec<_> = names.take(MAX_NAMES).collect();
            let more = if items.len() > MAX_NAMES { ", …" } else { "" };
            format!("the server has {}{more}", some.join(", "))
        }
    };
    Err(usage(anyhow!("no {kind} named `{wanted}`"), hint))
}

/// The number of names that an error lists.
const MAX_NAMES: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;

    #[test]
    fn a_wrong_name_is_answered_with_suggestions() {
        let find_by_name = |wanted: &str, names: &[String]| {
            find_by_name("tool", wanted, names.to_vec(), String::as_str)
        };
        let names: Vec<String> = (0..13).map(|number| format!("tool-{number}")).collect();
        assert_eq!(find_by_name("tool-7", &names).unwrap(), "tool-7");
        for (wanted, names, hint) in [
            ("tool_1x", &names[..], "did you mean `tool-1`?"),
            ("zzzzzzzz", &names[..2], "the server has tool-0, tool-1"),
            ("x", &[], "the server lists no tools"),
        ] {
            let error = find_by_name(wanted, names).unwrap_err();
            assert_eq!(error.to_string(), format!("no tool named `{wanted}`"));
            assert_eq!(Failure::hint_of(&error), Some(hint));
        }
        let error = find_by_name("zzzzzzzz", &names).unwrap_err();
        let hint = Failure::hint_of(&error).unwrap();
        assert!(hint.ends_with("tool-11, …"), "{hint}");
    }
}
