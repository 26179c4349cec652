//! Files with one variable `NAME=value` per line, as named by `envFile` in VS Code and Cursor.

/// Parses the variables of a file, in order.
///
/// # Errors
///
/// The number of the first invalid line.
pub(crate) fn parse(text: &str) -> Result<Vec<(String, String)>, usize> {
    let mut variables = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let variable = line
            .split_once('=')
            .map(|(name, value)| (name.trim(), value));
        let Some((name, value)) = variable.filter(|(name, _)| is_name(name)) else {
            return Err(index + 1);
        };
        variables.push((name.to_owned(), unquoted(value.trim())));
    }
    Ok(variables)
}

/// Returns `true` for a valid name. More lenient than shells, which don't support all such names.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.contains(|character: char| character.is_whitespace() || character.is_control())
}

/// Returns the value without its quotes, or without a comment after ` #`.
fn unquoted(value: &str) -> String {
    for quote in ['"', '\''] {
        let inner = value
            .strip_prefix(quote)
            .and_then(|rest| rest.split_once(quote));
        if let Some((inner, after)) = inner
            && (after.trim().is_empty() || after.trim().starts_with('#'))
        {
            return match quote {
                '"' => inner.replace("\\n", "\n"),
                _ => inner.to_owned(),
            };
        }
    }
    let value = value.split(" #").next().unwrap_or(value);
    value.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read_in_common_syntax() {
        let text = "# a comment\n\nA=1\r\nexport B = two words # not this\nC=\"x # y\" # z\n\
                    D='a\\nb'\nE=\"a\\nb\"\nF=\nG=a=b#c\nH=\"open\nurl=http://x/#y\n";
        let expected = [
            ("A", "1"),
            ("B", "two words"),
            ("C", "x # y"),
            ("D", "a\\nb"),
            ("E", "a\nb"),
            ("F", ""),
            ("G", "a=b#c"),
            ("H", "\"open"),
            ("url", "http://x/#y"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(parse(text).unwrap(), expected);
    }

    #[test]
    fn an_invalid_line_is_reported() {
        for (text, line) in [("A=1\nnonsense", 2), ("=x", 1), ("\n\na b=c", 3)] {
            assert_eq!(parse(text), Err(line));
        }
    }
}
