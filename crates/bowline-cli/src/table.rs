//! Tables.
//!
//! On a terminal a table has its width: cells are wrapped between words. Elsewhere rows are as wide
//! as their texts need, and the last cell is never broken, so that it can be searched for.

use crate::escape;
use crate::paragraph::{columns, padded, wrapped};
use crate::printer::{self, Printer, Tone};

/// Rows of aligned cells. Columns that are empty in all rows are left out.
#[derive(Debug)]
pub(crate) struct Table<const COLUMNS: usize> {
    head: [&'static str; COLUMNS],
    rows: Vec<Row<COLUMNS>>,
}

/// A row, and the note below it.
#[derive(Debug)]
struct Row<const COLUMNS: usize> {
    tone: Tone,
    cells: [String; COLUMNS],
    note: Option<String>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    /// Creates a table without rows.
    pub(crate) fn new(head: [&'static str; COLUMNS]) -> Self {
        Self {
            head,
            rows: Vec::new(),
        }
    }

    /// Adds a row, and the note below it.
    pub(crate) fn row(&mut self, tone: Tone, cells: [String; COLUMNS], note: Option<String>) {
        let mut index = 0;
        // Escaped here, since the printed form decides the width.
        let cells = cells.map(|cell| {
            let cell = escape::for_terminal(&cell);
            index += 1;
            if index == COLUMNS {
                cell.into_owned()
            } else {
                without_long_words(&cell)
            }
        });
        self.rows.push(Row { tone, cells, note });
    }

    /// Prints the table.
    ///
    /// # Errors
    ///
    /// The output can't be written.
    pub(crate) fn print(&self, printer: &mut Printer) -> anyhow::Result<()> {
        let widths = self.widths(printer::screen());
        printer.line(0, Tone::Aside, &aligned(&self.head, &widths))?;
        for row in &self.rows {
            for line in row.lines(&widths) {
                printer.line(0, row.tone, &line)?;
            }
            if let Some(note) = &row.note {
                printer.line(1, Tone::Bad, note)?;
            }
        }
        Ok(())
    }

    /// Returns the width of each column for a screen of that many columns. 0: the column is left
    /// out.
    fn widths(&self, screen: Option<usize>) -> [usize; COLUMNS] {
        let mut widths = [0; COLUMNS];
        // The widest word of each column.
        let mut narrowest = [0; COLUMNS];
        for row in &self.rows {
            for (column, cell) in row.cells.iter().enumerate() {
                let words = cell.split(' ').map(columns);
                narrowest[column] = words.max().unwrap_or(0).max(narrowest[column]);
                widths[column] = columns(cell).max(widths[column]);
            }
        }
        let last = COLUMNS.saturating_sub(1);
        for (column, width) in widths.iter_mut().enumerate().filter(|(_, it)| **it > 0) {
            let head = columns(self.head[column]);
            let most = if column == last { usize::MAX } else { WIDEST };
            *width = (*width).min(most).max(head);
            narrowest[column] = narrowest[column].max(head).min(*width);
        }
        if let Some(screen) = screen {
            narrow(&mut widths, &narrowest, screen);
        }
        widths
    }
}

impl<const COLUMNS: usize> Row<COLUMNS> {
    /// Returns the lines of a row.
    fn lines(&self, widths: &[usize; COLUMNS]) -> Vec<String> {
        let cells = self.cells.iter().zip(widths);
        let cells: Vec<_> = cells.map(|(cell, width)| wrapped(cell, *width)).collect();
        let count = cells.iter().map(Vec::len).max().unwrap_or(0);
        let line = |index: usize| {
            let parts = cells.iter().map(|lines| lines.get(index));
            let parts: Vec<_> = parts.map(|part| part.map_or("", String::as_str)).collect();
            aligned(&parts, widths)
        };
        (0..count).map(line).collect()
    }
}

/// Narrows the widest columns until all fit, or no column can be narrowed.
fn narrow(widths: &mut [usize], narrowest: &[usize], screen: usize) {
    let gaps = widths.iter().filter(|width| **width > 0).count();
    let room = screen.saturating_sub(gaps.saturating_sub(1) * GAP.len());
    // No column is wider than the screen if it can be narrower, so this ends soon.
    for (width, narrowest) in widths.iter_mut().zip(narrowest) {
        *width = (*width).min(screen.max(*narrowest));
    }
    while widths.iter().sum::<usize>() > room {
        let columns = widths.iter_mut().zip(narrowest);
        let wide = columns.filter(|(width, narrowest)| **width > **narrowest);
        let Some((widest, _)) = wide.max_by_key(|(width, _)| **width) else {
            return;
        };
        *widest -= 1;
    }
}

/// Returns the cells of a row on one line.
fn aligned(cells: &[&str], widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(widths).filter(|(_, width)| **width > 0) {
        line.push_str(&padded(cell, *width));
        line.push_str(GAP);
    }
    line.truncate(line.trim_end().len());
    line
}

/// Cuts words that are wider than a column may be, so that a cell leaves space for its neighbours.
fn without_long_words(cell: &str) -> String {
    let words: Vec<_> = cell.split(' ').map(cut).collect();
    words.join(" ")
}

fn cut(word: &str) -> String {
    if columns(word) <= WIDEST {
        return word.to_owned();
    }
    let mut kept = String::new();
    for character in word.chars() {
        kept.push(character);
        if columns(&kept) >= WIDEST {
            kept.pop();
            break;
        }
    }
    kept + "…"
}

/// The maximum width of a cell, except in the last column.
const WIDEST: usize = 48;

/// The gap between two cells.
const GAP: &str = "  ";

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the rows as they are printed on a screen.
    fn lines<const COLUMNS: usize>(table: &Table<COLUMNS>, screen: Option<usize>) -> Vec<String> {
        let widths = table.widths(screen);
        let rows = table.rows.iter().flat_map(|row| row.lines(&widths));
        rows.collect()
    }

    fn row<const COLUMNS: usize>(cells: [&str; COLUMNS]) -> [String; COLUMNS] {
        cells.map(str::to_owned)
    }

    #[test]
    fn columns_are_aligned_and_empty_ones_left_out() {
        let mut table = Table::new(["A", "LONG", "EMPTY", "Z"]);
        table.row(Tone::Plain, row(["ü", "x", "", "last one"]), None);
        let note = Some("note".to_owned());
        table.row(Tone::Bad, row(["a\nb", "longer", "", ""]), note);
        let (mut printer, page) = Printer::captured();
        table.print(&mut printer).unwrap();
        assert_eq!(
            page.text(),
            "A     LONG    Z\nü     x       last one\na\\nb  longer\n  note\n"
        );
    }

    // proves: F-CL-01
    #[test]
    fn a_cell_is_as_wide_as_it_is_printed_and_of_any_length() {
        let mut table = Table::new(["A", "B"]);
        let long = "x".repeat(70_000);
        table.row(Tone::Plain, row(["\u{1b}全", &long]), None);
        table.row(Tone::Plain, row([&long, "y"]), None);
        for screen in [None, Some(40)] {
            let cut = format!("{}…", "x".repeat(WIDEST - 1));
            let blanks = " ".repeat(WIDEST - 8);
            let expected = [format!("\\u{{1b}}全{blanks}  {long}"), format!("{cut}  y")];
            assert_eq!(lines(&table, screen), expected);
        }
    }

    #[test]
    fn cells_go_on_below_themselves_between_words() {
        let mut table = Table::new(["A", "ABOUT", "Z"]);
        let about = "one word or two 全角 more";
        table.row(Tone::Plain, row(["a", about, "the last of them"]), None);
        table.row(Tone::Plain, row(["b", "", "x:y"]), None);
        assert_eq!(
            lines(&table, Some(25)),
            [
                "a  one word    the last",
                "   or two      of them",
                "   全角 more",
                "b              x:y",
            ]
        );
        // With room, and where nothing limits it.
        for screen in [None, Some(47)] {
            assert_eq!(
                lines(&table, screen)[0],
                format!("a  {about}  the last of them")
            );
        }
        // Nothing is broken within words, and the last column not at all.
        let mut table = Table::new(["A", "Z"]);
        let long = "word ".repeat(20);
        table.row(Tone::Plain, row([long.trim(), long.trim()]), None);
        let lines = lines(&table, None);
        assert!(lines[0].ends_with(&format!("  {}", long.trim())));
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[2], ["word"; 2].join(" "));
    }
}
