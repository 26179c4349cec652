//! Wrapped texts, and rows of a label and a text.
//!
//! A text is wrapped between words, once: lines that its author has broken already are joined again
//! where they don't fit. Widths are columns of a terminal, not characters.

use unicode_width::UnicodeWidthStr as _;

use crate::escape;
use crate::printer::{self, Piece, Printer, Tone};

/// Prints a label and a text, which is wrapped below itself.
///
/// # Errors
///
/// The output can't be written.
pub(crate) fn row(printer: &mut Printer, label: &str, text: &str) -> anyhow::Result<()> {
    let mut label = label;
    for line in lines(text, printer::width().saturating_sub(LABEL)) {
        let column = format!("{} ", padded(label, LABEL - 1));
        let pieces = if line.is_empty() {
            vec![Piece::new(Tone::Aside, column.trim_end())]
        } else {
            vec![Piece::new(Tone::Aside, column), Piece::plain(line)]
        };
        printer.pieces(0, &pieces)?;
        label = "";
    }
    Ok(())
}

/// Prints a wrapped text, indented by `depth` levels.
///
/// # Errors
///
/// The output can't be written.
pub(crate) fn indented(printer: &mut Printer, depth: usize, text: &str) -> anyhow::Result<()> {
    let lines = lines(text, printer::width().saturating_sub(2 * depth));
    for line in lines {
        // No trailing spaces on an empty line.
        let depth = if line.is_empty() { 0 } else { depth };
        printer.line(depth, Tone::Plain, &line)?;
    }
    Ok(())
}

/// Prints the beginning of a text, indented by `depth` levels: its first paragraph, in a few lines.
///
/// # Errors
///
/// The output can't be written.
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

/// Returns the lines of a text, wrapped where they are too long, without blank lines at the end.
fn lines(text: &str, width: usize) -> Vec<String> {
    let text = text.trim_end();
    let lines: Vec<_> = text.lines().map(printable).collect();
    let paragraphs = lines.split(|line| line.is_empty());
    let mut broken = Vec::new();
    for (index, paragraph) in paragraphs.enumerate() {
        if index > 0 {
            broken.push(String::new());
        }
        let longest = paragraph.iter().map(|line| columns(line)).max();
        match longest.filter(|longest| *longest > width) {
            // The line breaks of the author fit.
            None => broken.extend_from_slice(paragraph),
            Some(longest) => {
                for line in unbroken(paragraph, longest) {
                    broken.extend(wrapped(&line, width));
                }
            }
        }
    }
    if broken.is_empty() {
        broken.push(String::new());
    }
    broken
}

/// Returns a line as it is printed, which decides its width.
fn printable(line: &str) -> String {
    let line = line.trim_end().replace('\t', "    ");
    escape::for_terminal(&line).into_owned()
}

/// Joins the lines of a paragraph that were broken only because they were too long for `longest`
/// columns. What looks like an item of a list, or is indented, begins a line.
fn unbroken(paragraph: &[String], longest: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut last = 0;
    for line in paragraph {
        let word = line.split(' ').next().unwrap_or_default();
        let had_no_room = last + 1 + columns(word) > longest;
        match lines.last_mut() {
            Some(open) if had_no_room && !begins_item(line) => {
                open.push(' ');
                open.push_str(line);
            }
            _ => lines.push(line.clone()),
        }
        last = columns(line);
    }
    lines
}

/// Returns `true` if a line begins a block of its own: an item, a heading, a quote or code.
fn begins_item(line: &str) -> bool {
    if line.starts_with([' ', '-', '*', '+', '#', '>', '|', '`']) {
        return true;
    }
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    number.len() < line.len() && number.starts_with(['.', ')'])
}

/// Wraps `text` in lines of at most `width` columns, unless a word is wider. Its indentation is
/// kept.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let words = text.trim_start_matches(' ');
    let indent = &text[..(text.len() - words.len()).min(width / 2)];
    let width = width - indent.len();
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in words.split(' ') {
        let wide = columns(word);
        match lines.last_mut() {
            Some(line) if line.is_empty() => {
                line.push_str(word);
                used = wide;
            }
            Some(line) if used + 1 + wide <= width => {
                line.push(' ');
                line.push_str(word);
                used += 1 + wide;
            }
            _ => {
                lines.push(word.to_owned());
                used = wide;
            }
        }
    }
    if !indent.is_empty() && !words.is_empty() {
        lines.iter_mut().for_each(|line| line.insert_str(0, indent));
    }
    lines
}

/// Returns the width of `text` in columns.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// Pads `text` with spaces to `width` columns. Any width is valid, unlike those of `format!`.
pub(crate) fn padded(text: &str, width: usize) -> String {
    let spaces = width.saturating_sub(columns(text));
    format!("{text}{}", " ".repeat(spaces))
}

/// The width of labels.
const LABEL: usize = 14;

/// The number of lines of a beginning.
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
    fn lines_are_as_wide_as_a_terminal_prints_them() {
        // Two columns each; a mark that takes none.
        assert_eq!(wrapped("全角 文字 x", 9), ["全角 文字", "x"]);
        assert_eq!(wrapped("全角 文字 x", 8), ["全角", "文字 x"]);
        assert_eq!(wrapped("e\u{301}e e", 4), ["e\u{301}e e"]);
        assert_eq!(lines("a\u{1b}b c", 9), ["a\\u{1b}b", "c"]);
        assert_eq!(padded("全", 4), "全  ");
        assert_eq!(padded("wide", 2), "wide");
        assert_eq!(padded("x", 70_000).len(), 70_000);
    }

    #[test]
    fn lines_broken_by_the_author_are_wrapped_once() {
        let text = "one two three four\nfive six seven\nend\n\nshort\nlines";
        // All of it fits.
        assert_eq!(lines(text, 18).join("\n"), text);
        // The first paragraph doesn't, and the line that had room ends where it ended.
        let expected = "one two three\nfour five six\nseven\nend\n\nshort\nlines";
        assert_eq!(lines(text, 13).join("\n"), expected);
        let list = "to do one thing\n- another\n1. third\n  inner\n12 more things";
        let expected = "to do one\nthing\n- another\n1. third\n  inner\n12 more\nthings";
        assert_eq!(lines(list, 10).join("\n"), expected);
    }

    #[test]
    fn rows_go_on_below_themselves() {
        let (mut printer, page) = Printer::captured();
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
            let (mut printer, page) = Printer::captured();
            opening(&mut printer, 1, text).unwrap();
            assert_eq!(page.text(), shown);
        }
    }
}
