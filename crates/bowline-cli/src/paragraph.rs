//! Texts in lines that a terminal has room for, and rows of a label and a text.

use crate::printer::{self, Piece, Printer, Tone};

/// A label and a text, which goes on below itself when it is long or has several lines.
///
/// # Errors
///
/// What the printer says.
pub(crate) fn row(printer: &mut Printer, label: &str, text: &str) -> anyhow::Result<()> {
    let mut label = label;
    for line in lines(text, printer::width().saturating_sub(LABEL)) {
        let column = format!("{label:<width$} ", width = LABEL - 1);
        let pieces = match line.is_empty() {
            true => vec![Piece::new(Tone::Aside, column.trim_end())],
            false => vec![Piece::new(Tone::Aside, column), Piece::plain(line)],
        };
        printer.pieces(0, &pieces)?;
        label = "";
    }
    Ok(())
}

/// A text, `depth` levels indented, in lines that a terminal has room for.
///
/// # Errors
///
/// What the printer says.
pub(crate) fn indented(printer: &mut Printer, depth: usize, text: &str) -> anyhow::Result<()> {
    let lines = lines(text, printer::width().saturating_sub(2 * depth));
    for line in lines {
        // No blanks at the end of a line that has nothing else.
        let depth = if line.is_empty() { 0 } else { depth };
        printer.line(depth, Tone::Plain, &line)?;
    }
    Ok(())
}

/// The beginning of a text, `depth` levels indented: its first paragraph, in a few lines.
///
/// # Errors
///
/// What the printer says.
pub(crate) fn opening(printer: &mut Printer, depth: usize, text: &str) -> anyhow::Result<()> {
    let mut lines = lines(text.trim(), printer::width().saturating_sub(2 * depth));
    let end = lines.iter().position(String::is_empty);
    let end = end.unwrap_or(lines.len()).min(MAX_OPENING);
    let is_cut = end < lines.len();
    lines.truncate(end);
    if let Some(last) = lines.last_mut().filter(|_| is_cut) {
        last.push_str(" …");
    }
    for line in lines {
        printer.line(depth, Tone::Plain, &line)?;
    }
    Ok(())
}

/// The lines of a text, each broken where it is too long. What is blank at the end is left
/// out.
fn lines(text: &str, width: usize) -> Vec<String> {
    let lines = text.trim_end().lines();
    let broken: Vec<_> = lines
        .flat_map(|line| wrapped(&line.trim_end().replace('\t', "    "), width))
        .collect();
    match broken.is_empty() {
        true => vec![String::new()],
        false => broken,
    }
}

/// `text` in lines of at most `width` columns, unless a word is longer.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let columns = word.chars().count();
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + columns <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Columns of labels.
const LABEL: usize = 14;

/// Lines of a beginning.
const MAX_OPENING: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrapped("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrapped("aa bb cc", 4), ["aa", "bb", "cc"]);
        assert_eq!(wrapped("a longer word", 3), ["a", "longer", "word"]);
        assert_eq!(wrapped("", 3), [""]);
    }

    #[test]
    fn rows_go_on_below_themselves() {
        let (mut printer, page) = Printer::on_page();
        row(&mut printer, "label", "one\n\ntwo\n").unwrap();
        row(&mut printer, "other", "").unwrap();
        indented(&mut printer, 1, "a\n\nb").unwrap();
        assert_eq!(
            page.text(),
            "label         one\n\n              two\nother\n  a\n\n  b\n"
        );
    }

    #[test]
    fn a_beginning_is_a_paragraph_or_less() {
        for (text, shown) in [
            ("", ""),
            ("\n one", "  one\n"),
            ("one\ntwo\n\nthree", "  one\n  two …\n"),
            ("1\n2\n3\n4\n5", "  1\n  2\n  3\n  4 …\n"),
        ] {
            let (mut printer, page) = Printer::on_page();
            opening(&mut printer, 1, text).unwrap();
            assert_eq!(page.text(), shown);
        }
    }
}
